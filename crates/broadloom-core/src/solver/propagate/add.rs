//! Adding constraints.

use crate::solver::propagate::align::{align, align_fresh, bind_middle, is_fresh_result, rank_facts};
use crate::solver::propagate::arith::{add_arith, require_at_least, require_at_most};
use crate::solver::propagate::fixpoint::{propagate, record_failure};
use crate::solver::propagate::held::{hold_row, release};
use crate::solver::propagate::support::add_support;
use crate::solver::stores::ariths::{Arith, Summand};
use crate::solver::stores::constraints::Stored;
use crate::solver::stores::reason::{Outcome, ReasonId};
use crate::solver::stores::rows::Kind;
use crate::solver::stores::state::State;
use crate::term::{Constraint, ConstraintId, Hole, RowTerm};

/// Adds a constraint and takes every semantic step it allows.
#[inline]
pub(crate) fn add(state: &mut State, constraint: Constraint<'_>) -> ConstraintId {
    let id = state.constraints.next();
    let outcome = match constraint {
        Constraint::RowEq(a, b) => add_row(state, Kind::Eq, a, b, id),
        Constraint::RowLe { res, opnd } => add_row(state, Kind::Le, res, opnd, id),
        other => add_other(state, other, id),
    };
    if outcome.is_err() {
        record_failure(state, outcome);
    }
    id
}

/// Adds a constraint that is not about two rows.
fn add_other(state: &mut State, constraint: Constraint<'_>, id: ConstraintId) -> Outcome {
    let reason = ReasonId::constraint(id);
    let failed = state.conflict.is_some();
    match constraint {
        Constraint::DimEq(a, b) => {
            state.constraints.push(Stored::DimEq(a, b));
            if !failed {
                state.dims.equate(&mut state.trail, a, b, reason)?;
            }
        }
        Constraint::DimLe { res, opnd } => {
            state.constraints.push(Stored::DimLe(res, opnd));
            if !failed {
                state.dims.refine(&mut state.trail, res, opnd, reason)?;
            }
        }
        Constraint::AtLeast(dim, least) => {
            state.constraints.push(Stored::AtLeast(dim, least));
            if !failed {
                require_at_least(state, dim, least, id)?;
            }
        }
        Constraint::AtMost(dim, most) => {
            state.constraints.push(Stored::AtMost(dim, most));
            if !failed {
                require_at_most(state, dim, most, id)?;
            }
        }
        Constraint::MadeOf { res, opnds } => {
            release(state);
            state.constraints.push(Stored::Support(state.supports.next()));
            add_support(state, res, opnds, id)?;
        }
        other => {
            release(state);
            state.constraints.push(Stored::Arith(state.ariths.next()));
            if let Some(what) = arithmetic(other) {
                add_arith(state, what, id)?;
            }
        }
    }
    if state.conflict.is_some() { Ok(()) } else { propagate(state) }
}

/// Adds an arithmetic constraint in the form it is kept in.
pub(crate) fn add_stored(state: &mut State, what: Arith) -> ConstraintId {
    let id = state.constraints.next();
    release(state);
    state.constraints.push(Stored::Arith(state.ariths.next()));
    let mut outcome = add_arith(state, what, id);
    if outcome.is_ok() && state.conflict.is_none() {
        outcome = propagate(state);
    }
    record_failure(state, outcome);
    id
}

fn add_row(state: &mut State, kind: Kind, res: RowTerm<'_>, opnd: RowTerm<'_>, id: ConstraintId) -> Outcome {
    state.declared_markers |= opnd.hole == Hole::Marker && !opnd.lead.is_empty();
    state.declared_markers |= kind == Kind::Eq && res.hole == Hole::Marker && !res.lead.is_empty();
    let (res, opnd) = (state.rows.store(res), state.rows.store(opnd));
    let fresh = kind == Kind::Le && is_fresh_result(state, res, opnd);
    let con = state.rows.watch(kind, res, opnd, id);
    state.constraints.push(Stored::Row(con));
    if state.conflict.is_some() {
        return Ok(());
    }
    if state.held.is_some() {
        return hold_row(state, con);
    }
    if fresh {
        align_fresh(state, con)?;
        return if state.dims.woken.is_empty() { Ok(()) } else { propagate(state) };
    }
    // Ranks first: a row must not be bound to axes it cannot have.
    rank_facts(state, con)?;
    if kind == Kind::Eq {
        bind_middle(state, con)?;
    }
    if state.ranks.touched.is_empty() && state.ranks.moved.is_empty() {
        align(state, con)?;
        if state.dims.woken.is_empty() {
            return Ok(());
        }
    } else {
        state.rows.set_queued(con, true);
        state.queue.push(con);
    }
    propagate(state)
}

/// An arithmetic constraint in the form the solver keeps; none for the others.
fn arithmetic(constraint: Constraint<'_>) -> Option<Arith> {
    Some(match constraint {
        Constraint::Affine { axis, form, over, kernel } => {
            let (per_kernel, constant) = form.equation();
            let item = |coeff, dim, carries| Summand { coeff, dim, carries, claims: true };
            let kernel = kernel.map(|dim| item(per_kernel.into(), dim, false));
            let sides = [item(-1, axis, true), item(form.stride.into(), over, true)];
            Arith::Linear { items: sides.into_iter().chain(kernel).collect(), constant, form: Some(form) }
        }
        Constraint::Concat { axis, components, literal } => {
            let item = |coeff, dim| Summand { coeff, dim, carries: true, claims: false };
            let components = components.iter().map(|dim| item(1, *dim));
            Arith::Linear {
                items: [item(-1, axis)].into_iter().chain(components).collect(),
                constant: literal.into(),
                form: None,
            }
        }
        Constraint::Count { pieces, numerator, divided_by, rest } => {
            Arith::Count { pieces: pieces.to_vec(), numerator, divided_by: divided_by.to_vec(), rest }
        }
        Constraint::Exact { pieces, axes, rest } => {
            Arith::Exact { pieces: pieces.to_vec(), axes: axes.to_vec(), rest }
        }
        Constraint::DimEq(..)
        | Constraint::DimLe { .. }
        | Constraint::RowEq(..)
        | Constraint::RowLe { .. }
        | Constraint::MadeOf { .. }
        | Constraint::AtLeast(..)
        | Constraint::AtMost(..) => return None,
    })
}
