//! Element counts: an equation between products of sizes.

use crate::ids::ArithId;
use crate::number::gcd;
use crate::solver::known::{Known, size_of};
use crate::solver::propagate::align::fresh_axis;
use crate::solver::propagate::arith::narrow::narrow;
use crate::solver::propagate::arith::symbolic::run_count_symbolic;
use crate::solver::stores::ariths::Arith;
use crate::solver::stores::reason::{Conflict, Outcome, Side};
use crate::solver::stores::rows::{Slot, Spot, Term};
use crate::solver::stores::sizes::{ANY, Watcher};
use crate::solver::stores::state::State;
use crate::term::{DimTerm, Numerator, Piece, RowVar};
use smallvec::SmallVec;

/// The axes of the pieces, if every rank is fixed; axes that have no variable yet get one.
fn flatten(state: &mut State, con: ArithId) -> Option<Vec<DimTerm>> {
    let pieces = state.ariths.get(con).pieces().to_vec();
    let mut axes = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Dim(dim) => axes.push(dim),
            Piece::Row(row) if state.rows.is_fixed(row) => {
                for at in 0..state.ranks.lo(row) {
                    let axis = state.rows.axis(row, at);
                    axes.push(if axis.is_none() { fresh_axis(state, Slot::Axis { row, at }) } else { axis });
                }
            }
            Piece::Row(_) => return None,
        }
    }
    Some(axes)
}

/// `denom·∏ axes·∏ divided_by = coeff·over`, once the ranks are fixed.
pub(crate) fn run_count(state: &mut State, con: ArithId) -> Outcome {
    let Some(axes) = flatten(state, con) else { return Ok(()) };
    if state.ariths.expand(&mut state.trail, con) {
        for node in axes.iter().filter_map(|axis| axis.var()) {
            let extra = state.dims.extra(&mut state.trail, node);
            state.dims.sizes.watch(&mut state.trail, extra, Watcher::Arith(con));
        }
    }
    if !state.symbols.is_empty() && run_count_symbolic(state, con, &axes)? {
        return Ok(());
    }
    let Arith::Count { numerator, divided_by, .. } = state.ariths.get(con) else { return Ok(()) };
    let Numerator { coeff, over, denom } = *numerator;
    let mut product = Product { left: u128::from(denom), right: u128::from(coeff), open: SmallVec::new() };
    let mut settled = true;
    for (dim, exponent) in axes.iter().chain(divided_by).map(|dim| (*dim, 1)).chain(over.map(|dim| (dim, -1)))
    {
        let known = size_of(state, dim);
        settled &= known.root.is_none();
        if !product.multiply(known, exponent) {
            return Err(Conflict::Arith { con });
        }
    }
    if settled {
        state.ariths.finish(&mut state.trail, con);
    }
    let Some(bounds) = product.bounds() else { return Err(Conflict::Arith { con }) };
    for (known, (lo, hi)) in product.open.iter().map(|(known, _)| *known).zip(bounds) {
        if lo > known.lo || hi < known.hi {
            narrow(state, con, known.root, (lo, hi), lo.max(known.lo) == hi.min(known.hi))?;
        }
    }
    Ok(())
}

/// The rank that a count or a list leaves to one of its rows, when all other rows have theirs: no
/// further axes if that can do, else one axis of the size that is missing.
pub(crate) fn counted_rank(state: &State, row: RowVar) -> Option<u32> {
    let least = state.ranks.lo(row);
    let counted = |con: &ArithId| {
        let arith = state.ariths.get(*con);
        let Arith::Count { pieces, numerator, divided_by, .. } = arith else { return least };
        let others_open = arith.rows().any(|other| other != row && !state.rows.is_fixed(other));
        if others_open && arith.rest() != Some(row) {
            return least;
        }
        let Numerator { coeff, over, denom } = *numerator;
        let mut product =
            Product { left: u128::from(denom), right: u128::from(coeff), open: SmallVec::new() };
        let mut multiply = |dim: DimTerm, exponent: i32| {
            let unnamed = Known { root: DimTerm::NONE, lo: 1, hi: ANY };
            let known = if dim.is_none() { unnamed } else { size_of(state, dim) };
            product.multiply(known, exponent)
        };
        let mut fits = divided_by.iter().all(|dim| multiply(*dim, 1));
        fits &= over.is_none_or(|dim| multiply(dim, -1));
        for piece in pieces {
            match *piece {
                Piece::Dim(dim) => fits &= multiply(dim, 1),
                Piece::Row(row) => {
                    let term = Term { start: 0, lead: 0, trail: 0, hole: row };
                    for at in 0..state.ranks.lo(row) {
                        fits &= match state.rows.spot(&state.ranks, term, Side::Left, at) {
                            Spot::Known(dim) => multiply(dim, 1),
                            _ => multiply(DimTerm::NONE, 1),
                        };
                    }
                }
            }
        }
        if fits && product.bounds().is_some() { least } else { least + 1 }
    };
    state.ariths.of_row(row).iter().map(counted).max()
}

/// `left·∏ openᵉ = right`, exponents of either sign.
struct Product {
    left: u128,
    right: u128,
    open: SmallVec<[(Known, i32); 8]>,
}

impl Product {
    /// False if the numbers are beyond all reason.
    fn multiply(&mut self, known: Known, exponent: i32) -> bool {
        match known.fixed() {
            Some(size) => {
                let side = if exponent > 0 { &mut self.left } else { &mut self.right };
                match side.checked_mul(u128::from(size)) {
                    Some(product) => *side = product,
                    None => return false,
                }
            }
            None => {
                // A factor that may be zero does not cancel out: it is kept for each side.
                let same = |(other, sum): &&mut (Known, i32)| {
                    other.root == known.root && !known.root.is_none() && (known.lo > 0 || *sum * exponent > 0)
                };
                match self.open.iter_mut().find(same) {
                    Some((_, sum)) => *sum += exponent,
                    None => self.open.push((known, exponent)),
                }
            }
        }
        true
    }

    /// Bounds for each open factor; none if there is no solution.
    fn bounds(&mut self) -> Option<SmallVec<[(u64, u64); 8]>> {
        let Product { left, right, open } = self;
        let all = (0, ANY);
        // If one side is not zero, no factor of the other side is.
        let positive = |constant: u128, sign: i32| {
            let may_vanish = |(known, exponent): &(Known, i32)| *exponent * sign >= 0 && known.lo == 0;
            constant > 0 && !open.iter().any(may_vanish)
        };
        if open.iter().any(|(known, _)| known.lo == 0) {
            let (left_is, right_is) = (positive(*left, 1), positive(*right, -1));
            let least = |exponent: i32| {
                let opposite = if exponent > 0 { right_is } else { left_is };
                if opposite && exponent != 0 { (1, ANY) } else { all }
            };
            return Some(open.iter().map(|(_, exponent)| least(*exponent)).collect());
        }
        open.retain(|(_, exponent)| *exponent != 0);
        match (*left, *right) {
            (0, 0) => return Some(open.iter().map(|_| all).collect()),
            (0, _) | (_, 0) => return None,
            _ => {}
        }
        let common = gcd(*left, *right);
        let (left, right) = (*left / common, *right / common);
        match open.as_slice() {
            [] => (left == right).then(SmallVec::new),
            [(_, exponent)] => {
                let (from, to) = if *exponent > 0 { (left, right) } else { (right, left) };
                let root = (from == 1).then(|| integer_root(to, exponent.unsigned_abs())).flatten()?;
                Some(SmallVec::from_slice(&[(root, root)]))
            }
            [(_, 1), (_, -1)] | [(_, -1), (_, 1)] => {
                // `left·x = right·y` in lowest terms: both are their factor times one number.
                let factor = |exponent: i32| if exponent > 0 { right } else { left };
                let common = open.iter().fold((1, u128::MAX), |(least, most), (known, exponent)| {
                    let of = factor(*exponent);
                    let own = if known.hi == ANY { u128::MAX } else { u128::from(known.hi) / of };
                    (least.max(u128::from(known.lo).div_ceil(of)), most.min(own))
                });
                if common.0 > common.1 {
                    return None;
                }
                // A size that no machine word holds is no size.
                let bounds = |exponent: i32| {
                    let times = |number: u128| u64::try_from(number.checked_mul(factor(exponent))?).ok();
                    Some((times(common.0).filter(|least| *least < ANY)?, times(common.1).unwrap_or(ANY)))
                };
                open.iter().map(|(_, exponent)| bounds(*exponent)).collect()
            }
            // Several unknowns on one side: together they are the quotient, so each is at most that.
            open if open.iter().all(|(_, exponent)| *exponent > 0) => {
                if left != 1 {
                    return None;
                }
                let power =
                    |known: &Known, exponent: i32| u128::from(known.lo).saturating_pow(exponent as u32);
                let least =
                    open.iter().fold(1u128, |product, (known, e)| product.saturating_mul(power(known, *e)));
                if least > right {
                    return None;
                }
                let most = |known: &Known, exponent: i32| {
                    let others = least / power(known, exponent).max(1);
                    u64::try_from(right / others.max(1)).unwrap_or(ANY)
                };
                Some(open.iter().map(|(known, exponent)| (0, most(known, *exponent))).collect())
            }
            open => Some(open.iter().map(|_| all).collect()),
        }
    }
}

fn integer_root(value: u128, exponent: u32) -> Option<u64> {
    if exponent == 1 {
        return u64::try_from(value).ok();
    }
    let root = (1..=64u32).rev().fold(0u128, |root, bit| {
        let next = root | 1 << (bit - 1);
        if next.checked_pow(exponent).is_some_and(|power| power <= value) { next } else { root }
    });
    (root.checked_pow(exponent) == Some(value)).then(|| u64::try_from(root).ok()).flatten()
}
