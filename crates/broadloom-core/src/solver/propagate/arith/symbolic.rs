//! Arithmetic on symbolic sizes, while closing: the same equations, with expressions in place of numbers.
//!
//! If all sizes of an equation but one are literal or symbolic, the last one follows and is an expression
//! over symbols. If all are, the equation is proved, refuted, or left to be checked at run time:
//!
//! | difference of the two sides | |
//! |---|---|
//! | nothing | the equation holds for all sizes |
//! | something that is never zero within the ranges | there is no solution |
//! | a multiple of `s - t`, for two named symbols | no solution: a symbol never meets another |
//! | anything else | a [`Check`](crate::Check) |
//!
//! A quotient of an expression and a number is accepted, with a check that it is whole. A quotient of two
//! expressions has to be an expression itself, or to follow from another equation.
//!
//! Checks belong to consequences of the constraints. A size that closing merely chooses must do
//! without checks: at other sizes of the symbols it would choose another one.

use crate::form::Form;
use crate::ids::ArithId;
use crate::order::Basis;
use crate::solver::forms::{bounded_by, expressed};
use crate::solver::known::{may_be_zero, range_before_closing, size_bounds, symbol_bounds, symbolic_atom};
use crate::solver::propagate::arith::basis::share_basis;
use crate::solver::propagate::arith::narrow::narrow;
use crate::solver::stores::ariths::Arith;
use crate::solver::stores::reason::{Conflict, Limit, Outcome, Reason};
use crate::solver::stores::sizes::ANY;
use crate::solver::stores::state::State;
use crate::solver::stores::symbols::{Check, Need};
use crate::term::{ConstraintId, DimTerm, DimVar, Numerator};
use smallvec::SmallVec;

/// Sizes that are not known even symbolically: their classes, and the number of times each occurs.
type Open = SmallVec<[(DimVar, i128); 4]>;

fn occurs(open: &mut Open, class: DimVar, times: i128) {
    match open.iter_mut().find(|(own, _)| *own == class) {
        Some((_, sum)) => *sum += times,
        None => open.push((class, times)),
    }
}

/// A linear equation in which something is symbolic. False if nothing follows symbolically.
pub(crate) fn run_linear_symbolic(state: &mut State, con: ArithId) -> Outcome<bool> {
    let Arith::Linear { items, constant, .. } = state.ariths.get(con) else { return Ok(false) };
    if !items.iter().any(|item| state.symbols.form_of(state.dims.resolve(item.dim)).is_some()) {
        return Ok(false);
    }
    let (mut sum, mut open) = (Some(Form::constant(*constant)), Open::new());
    for item in items {
        match expressed(state, item.dim) {
            Ok(form) => sum = sum.zip(form.scaled(item.coeff, 1)).and_then(|(sum, part)| sum.plus(&part)),
            Err(class) => occurs(&mut open, class, item.coeff),
        }
    }
    open.retain(|(_, coeff)| *coeff != 0);
    let Some(sum) = sum else { return Err(Conflict::Arith { con }) };
    let slack = state.ariths.get(con).slack();
    match open.as_slice() {
        [] => {
            share_basis(state, con, true)?;
            if slack == 0 {
                demand_zero(state, con, sum)?;
            } else {
                demand_slack(state, con, &sum, slack)?;
            }
        }
        [(class, coeff)] if slack > 0 => {
            // `coeff·x = −sum`, rounded down; not every expression has a rounded one.
            let class = *class;
            let value = coeff.checked_neg().filter(|coeff| *coeff < 0);
            let value = value.and_then(|coeff| sum.scaled(1, coeff)).and_then(|value| value.floor());
            let Some(value) = value else { return Ok(false) };
            share_basis(state, con, false)?;
            set_expressed(state, con, class, value)?;
        }
        [(class, coeff)] => {
            let value = coeff.checked_neg().and_then(|coeff| sum.scaled(1, coeff));
            let Some(value) = value else { return Err(Conflict::Arith { con }) };
            share_basis(state, con, false)?;
            set_expressed(state, con, *class, value)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// An element count in which something is symbolic. False if nothing follows symbolically.
pub(crate) fn run_count_symbolic(state: &mut State, con: ArithId, axes: &[DimTerm]) -> Outcome<bool> {
    let Arith::Count { numerator, divided_by, .. } = state.ariths.get(con) else { return Ok(false) };
    let Numerator { coeff, over, denom } = *numerator;
    let mentioned = || axes.iter().chain(divided_by).chain(over.as_ref());
    if !mentioned().any(|dim| state.symbols.form_of(state.dims.resolve(*dim)).is_some()) {
        return Ok(false);
    }
    // A size without a basis is not settled: it still has to be given one.
    let settled = mentioned().all(|dim| state.dims.resolve(*dim).is_ground());
    let mut sides = [Some(Form::constant(denom.into())), Some(Form::constant(coeff.into()))];
    let mut open = Open::new();
    let factors = axes.iter().chain(divided_by).map(|dim| (dim, 0)).chain(over.iter().map(|dim| (dim, 1)));
    for (dim, side) in factors {
        match expressed(state, *dim) {
            Ok(form) => sides[side] = sides[side].take().and_then(|product| product.times(&form)),
            Err(class) => occurs(&mut open, class, if side == 0 { 1 } else { -1 }),
        }
    }
    open.retain(|(_, exponent)| *exponent != 0);
    let [Some(left), Some(right)] = sides else { return Err(Conflict::Arith { con }) };
    match open.as_slice() {
        [] => {
            if settled {
                state.ariths.finish(&mut state.trail, con);
            }
            let Some(difference) = left.minus(&right) else { return Err(Conflict::Arith { con }) };
            demand_zero(state, con, difference)?;
        }
        [(class, exponent @ (1 | -1))] => {
            let (whole, part) = if *exponent == 1 { (&right, &left) } else { (&left, &right) };
            // The quotient is no expression, but another equation may give one.
            let Some(value) = whole.divided_by(part) else { return Ok(false) };
            set_expressed(state, con, *class, value)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Gives a class the size that follows from an equation.
fn set_expressed(state: &mut State, con: ArithId, class: DimVar, value: Form) -> Outcome {
    let impossible = Err(Conflict::Arith { con });
    let (lo, hi) = size_bounds(state, class.into());
    if let Some((numerator, denominator)) = value.as_constant() {
        let size = (numerator % denominator == 0).then(|| u64::try_from(numerator / denominator).ok());
        return match size.flatten() {
            Some(size) if (lo..=hi).contains(&size) => narrow(state, con, class.into(), (size, size), true),
            _ => impossible,
        };
    }
    let (least, most) = value.bounds(|symbol| symbol_bounds(state, symbol));
    let (low, high) = (i128::from(lo), if hi == ANY { i128::MAX } else { i128::from(hi) });
    if least.is_some_and(|least| least > high) || most.is_some_and(|most| most < low) {
        return impossible;
    }
    if value.is_fraction() {
        demand(state, state.ariths.id(con), value.clone(), Need::Whole)?;
    }
    let root = state.dims.find(class);
    let basis = state.dims.basis(root).unwrap_or(Basis::DEFAULT);
    let value = symbolic_atom(state, value, basis);
    let reason = state.dims.reason(Reason::Arith { con });
    state.dims.commit(&mut state.trail, root, value, reason)
}

/// Proves or refutes that an expression is between zero and minus the slack. There is no check for it, because
/// sizes are only ever rounded where that gives an expression.
fn demand_slack(state: &mut State, con: ArithId, form: &Form, slack: i128) -> Outcome {
    let (least, most) = form.bounds(|symbol| symbol_bounds(state, symbol));
    let inside = least.is_some_and(|least| least >= -slack) && most.is_some_and(|most| most <= 0);
    let outside = least.is_some_and(|least| least > 0) || most.is_some_and(|most| most < -slack);
    match (inside, outside) {
        (true, _) => Ok(()),
        (_, true) => Err(Conflict::Arith { con }),
        _ => Err(Conflict::TooMuch(Limit::Expressions)),
    }
}

/// Proves or refutes that an expression is zero, or leaves it to be checked.
fn demand_zero(state: &mut State, con: ArithId, form: Form) -> Outcome {
    if form.is_zero() {
        return Ok(());
    }
    if !may_be_zero(state, &form) {
        return Err(Conflict::Arith { con });
    }
    demand(state, state.ariths.id(con), form, Need::Zero)
}

/// Checks the bounds of a class with a symbolic size: they hold for all sizes of the symbols, or a
/// check is left for run time.
pub(crate) fn symbol_within(
    state: &mut State,
    root: DimVar,
    value: DimTerm,
    (lo, hi): (u64, u64),
) -> Outcome {
    let Some(form) = state.symbols.form_of(value).cloned() else { return Ok(()) };
    let (least, most) = form.bounds(|symbol| range_before_closing(state, symbol));
    let short = least.is_none_or(|least| least < i128::from(lo));
    let long = hi != ANY && most.is_none_or(|most| most > i128::from(hi));
    let constraint =
        if short || long { bounded_by(state, root).unwrap_or(ConstraintId(0)) } else { return Ok(()) };
    if short {
        demand(state, constraint, form.clone(), Need::AtLeast(lo))?;
    }
    if long { demand(state, constraint, form, Need::AtMost(hi)) } else { Ok(()) }
}

/// Leaves a condition to be checked at run time; for a size that is merely chosen it is an error.
fn demand(state: &mut State, constraint: ConstraintId, form: Form, need: Need) -> Outcome {
    if state.symbols.guessing {
        return Err(Conflict::TooMuch(Limit::Expressions));
    }
    let check = Check { constraint, form, need };
    if !state.symbols.checks.contains(&check) {
        state.symbols.checks.push(check);
    }
    Ok(())
}
