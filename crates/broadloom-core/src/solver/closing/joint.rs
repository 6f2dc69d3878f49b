//! Linear equations taken together.
//!
//! Propagation looks at one equation at a time; `c = 3·a` and `c = a + 1` push each other's bounds for ever
//! without noticing that `2·a = 1` has no whole solution. Before sizes are guessed, the open equations are
//! therefore eliminated as a system: exactly, in integers.

use crate::ids::ArithId;
use crate::number::gcd;
use crate::solver::known::{observe_symbol, size_bounds};
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::stores::ariths::Arith;
use crate::solver::stores::reason::{Conflict, Outcome, Policy, Reason};
use crate::solver::stores::sizes::ANY;
use crate::solver::stores::state::State;
use crate::term::{DimVar, RowVar};
use smallvec::SmallVec;

/// Larger systems are left to propagation and search.
const MOST_ROWS: usize = 64;

/// `0 = constant + Σ coefficient·class`.
#[derive(Clone)]
struct Equation {
    terms: SmallVec<[(DimVar, i128); 4]>,
    constant: i128,
    con: ArithId,
}

impl Equation {
    fn coefficient(&self, class: DimVar) -> i128 {
        self.terms.iter().find(|(other, _)| *other == class).map_or(0, |(_, coeff)| *coeff)
    }

    /// Adds to the row `factor` times another, after multiplying it by `own`; none if numbers overflow.
    fn combine(&self, own: i128, other: &Equation, factor: i128) -> Option<Equation> {
        let mut terms: SmallVec<[(DimVar, i128); 4]> = SmallVec::new();
        for (class, coeff) in &self.terms {
            terms.push((*class, coeff.checked_mul(own)?));
        }
        for (class, coeff) in &other.terms {
            let more = coeff.checked_mul(factor)?;
            match terms.iter_mut().find(|(known, _)| known == class) {
                Some((_, sum)) => *sum = sum.checked_add(more)?,
                None => terms.push((*class, more)),
            }
        }
        terms.retain(|(_, coeff)| *coeff != 0);
        let constant = self.constant.checked_mul(own)?.checked_add(other.constant.checked_mul(factor)?)?;
        Some(Equation { terms, constant, con: self.con }.reduced())
    }

    /// Divided by what all its numbers have in common.
    fn reduced(mut self) -> Equation {
        let common =
            self.terms.iter().fold(self.constant.unsigned_abs(), |acc, (_, c)| gcd(acc, c.unsigned_abs()));
        if common > 1
            && let Ok(common) = i128::try_from(common)
        {
            self.constant /= common;
            self.terms.iter_mut().for_each(|(_, coeff)| *coeff /= common);
        }
        self
    }

    /// True if integers could satisfy the row.
    fn is_possible(&self) -> bool {
        let common = self.terms.iter().fold(0, |acc, (_, coeff)| gcd(acc, coeff.unsigned_abs()));
        match common {
            0 => self.constant == 0,
            common => self.constant.unsigned_abs().is_multiple_of(common),
        }
    }
}

/// Eliminates the open equations. Fails if they exclude each other; fixes the sizes they determine.
pub(crate) fn solve_jointly(state: &mut State) -> Outcome {
    let rows = open_rows(state);
    if rows.len() < 2 || rows.len() > MOST_ROWS {
        return Ok(());
    }
    let Some(rows) = eliminate(rows) else { return Ok(()) };
    for row in rows {
        if !row.is_possible() || !within_bounds(state, &row) || equates_symbols(state, &row) {
            return Err(Conflict::Arith { con: row.con });
        }
        if let [(class, coeff)] = row.terms.as_slice() {
            // A symbol that closing left symbolic is no longer free to take a size.
            if state.dims.value(*class).is_some() {
                return Err(Conflict::Arith { con: row.con });
            }
            let size = u64::try_from(-row.constant / coeff).ok().filter(|size| *size < ANY);
            let Some(size) = size else { return Err(Conflict::Arith { con: row.con }) };
            let step = state.choose(Policy::JointSizes, RowVar::NIL);
            let reason = state.dims.reason(Reason::Policy(step));
            state.dims.narrow(&mut state.trail, *class, (size, size), reason)?;
        }
    }
    propagate(state)
}

/// True if a row says that two different named symbols are equal.
fn equates_symbols(state: &State, row: &Equation) -> bool {
    let [(a, x), (b, y)] = row.terms.as_slice() else { return false };
    let named = |class: DimVar| {
        let symbol = observe_symbol(state, class.into())?;
        (!state.is_dynamic(symbol)).then_some(symbol)
    };
    row.constant == 0 && *x == -*y && named(*a).zip(named(*b)).is_some_and(|(a, b)| a != b)
}

/// True if the bounds of the classes leave room for zero.
fn within_bounds(state: &State, row: &Equation) -> bool {
    let (mut least, mut most) = (Some(row.constant), Some(row.constant));
    for (class, coeff) in &row.terms {
        let (lo, hi) = size_bounds(state, (*class).into());
        let (lo, hi) = (Some(i128::from(lo)), (hi != ANY).then_some(i128::from(hi)));
        let (down, up) = if *coeff > 0 { (lo, hi) } else { (hi, lo) };
        least = least.zip(down).map(|(sum, size)| sum.saturating_add(coeff.saturating_mul(size)));
        most = most.zip(up).map(|(sum, size)| sum.saturating_add(coeff.saturating_mul(size)));
    }
    least.is_none_or(|least| least <= 0) && most.is_none_or(|most| most >= 0)
}

/// The linear equations with open classes; sizes that are fixed are constants.
fn open_rows(state: &State) -> Vec<Equation> {
    let row = |con: ArithId| {
        let arith = state.ariths.get(con);
        let Arith::Linear { items, constant, .. } = arith else { return None };
        if arith.slack() > 0 {
            return None;
        }
        let mut row = Equation { terms: SmallVec::new(), constant: *constant, con };
        for item in items {
            let (lo, hi) = size_bounds(state, item.dim);
            if lo == hi {
                row.constant = row.constant.checked_add(item.coeff.checked_mul(i128::from(lo))?)?;
                continue;
            }
            let class = state.dims.find(item.dim.var()?);
            match row.terms.iter_mut().find(|(known, _)| *known == class) {
                Some((_, sum)) => *sum = sum.checked_add(item.coeff)?,
                None => row.terms.push((class, item.coeff)),
            }
        }
        row.terms.retain(|(_, coeff)| *coeff != 0);
        (!row.terms.is_empty()).then_some(row)
    };
    state.ariths.pending().filter_map(row).collect()
}

/// Gauss-Jordan elimination over the integers; none if numbers overflow.
fn eliminate(mut rows: Vec<Equation>) -> Option<Vec<Equation>> {
    for at in 0..rows.len() {
        let Some((class, pivot)) =
            rows[at].terms.iter().copied().min_by_key(|(_, coeff)| coeff.unsigned_abs())
        else {
            continue;
        };
        let pivot_row = rows[at].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            let coeff = row.coefficient(class);
            if coeff != 0 {
                *row = row.combine(pivot, &pivot_row, coeff.checked_neg()?)?;
            }
        }
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use crate::{Affine, Answer, Constraint, Role, Solver};

    #[test]
    fn equations_that_exclude_each_other_only_together() {
        let mut solver = Solver::new();
        let (a, c) = (solver.dim_var(Role::Interior), solver.dim_var(Role::Interior));
        let form = |stride, offset| Affine::strided(stride).with_offset(offset);
        for form in [form(3, 0), form(1, 1)] {
            solver.add(Constraint::Affine { axis: c.into(), form, over: a.into(), kernel: None });
        }
        assert!(matches!(solver.close(), Answer::Unsatisfiable(_)));
    }

    /// `b = a + c` and `c = b + d` leave `0 = a + d`, which no size of `d` allows; each equation alone has
    /// solutions of any size, so nothing but the sum of both bounds it.
    #[test]
    fn sizes_of_eliminated_equations_have_bounds() {
        let mut solver = Solver::new();
        let a = solver.discardable_var(Role::Interior).into();
        let [b, c, d] = [(); 3].map(|()| solver.dim_var(Role::Interior).into());
        solver.add(Constraint::Concat { axis: b, components: &[a, c], literal: 0 });
        solver.add(Constraint::Concat { axis: c, components: &[b, d], literal: 0 });
        let Answer::Unsatisfiable(core) = solver.close() else { panic!("no size of d fits") };
        assert!(core.minimal && core.constraints.len() == 2);
    }
}
