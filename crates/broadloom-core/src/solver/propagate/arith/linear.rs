//! Linear equations between sizes: affine axes and concatenations.

use crate::ids::ArithId;
use crate::solver::known::{Known, size_of};
use crate::solver::propagate::arith::basis::share_basis;
use crate::solver::propagate::arith::narrow::narrow;
use crate::solver::propagate::arith::symbolic::run_linear_symbolic;
use crate::solver::stores::ariths::Arith;
use crate::solver::stores::reason::{Conflict, Outcome};
use crate::solver::stores::sizes::ANY;
use crate::solver::stores::state::State;
use smallvec::SmallVec;

/// `0 = constant + Σ coeff·size`, or between that and the slack: bounds consistency, then bases.
pub(crate) fn run_linear(state: &mut State, con: ArithId) -> Outcome {
    if !state.symbols.is_empty() && run_linear_symbolic(state, con)? {
        return Ok(());
    }
    let slack = state.ariths.get(con).slack();
    let Arith::Linear { items, constant, .. } = state.ariths.get(con) else { return Ok(()) };
    // Classes without a fixed size, with their coefficients added up; the rest is constant.
    let mut open: SmallVec<[(Known, i128); 4]> = SmallVec::new();
    let mut constant = *constant;
    for item in items {
        let known = size_of(state, item.dim);
        let coeff = item.coeff;
        match known.fixed() {
            Some(size) => constant = constant.saturating_add(coeff.saturating_mul(i128::from(size))),
            None => match open.iter_mut().find(|(other, _)| other.root == known.root) {
                Some((_, sum)) => *sum += coeff,
                None => open.push((known, coeff)),
            },
        }
    }
    open.retain(|(_, coeff)| *coeff != 0);
    if open.is_empty() && !(-slack..=0).contains(&constant) {
        return Err(Conflict::Arith { con });
    }
    for at in 0..open.len() {
        let (known, coeff) = open[at];
        // coeff·x = −(constant + the others), somewhere between the two.
        let (mut least, mut greatest) = (Some(constant), Some(constant.saturating_add(slack)));
        for (other, factor) in open.iter().enumerate().filter(|(at_other, _)| *at_other != at).map(|(_, o)| o)
        {
            let (low, high) = (i128::from(other.lo), (other.hi != ANY).then_some(i128::from(other.hi)));
            let (down, up) = if *factor > 0 { (Some(low), high) } else { (high, Some(low)) };
            least = least.zip(down).map(|(sum, size)| sum.saturating_add(factor.saturating_mul(size)));
            greatest = greatest.zip(up).map(|(sum, size)| sum.saturating_add(factor.saturating_mul(size)));
        }
        let (from, to) = (greatest.map(i128::saturating_neg), least.map(i128::saturating_neg));
        let (from, to) = if coeff > 0 {
            (from, to)
        } else {
            (to.map(i128::saturating_neg), from.map(i128::saturating_neg))
        };
        let coeff = coeff.abs();
        let lo = from.map_or(0, |from| div_ceil(from, coeff));
        let most = to.map(|to| to.div_euclid(coeff));
        if most.is_some_and(|most| most < 0) {
            return Err(Conflict::Arith { con });
        }
        let hi = most.map_or(ANY, |most| u64::try_from(most).unwrap_or(ANY));
        // A size that no machine word holds is no size.
        let Some(lo) = u64::try_from(lo.max(0)).ok().filter(|lo| *lo < ANY) else {
            return Err(Conflict::Arith { con });
        };
        if lo > known.lo || hi < known.hi {
            if lo > hi {
                return Err(Conflict::Arith { con });
            }
            narrow(state, con, known.root, (lo, hi), lo.max(known.lo) == hi.min(known.hi))?;
        }
    }
    // If the sizes were not all known, the equation is looked at again when they are.
    share_basis(state, con, open.is_empty())
}

fn div_ceil(a: i128, b: i128) -> i128 {
    a.saturating_neg().div_euclid(b).saturating_neg()
}
