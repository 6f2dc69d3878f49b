//! The propagation loop: runs every rule that an event woke, until nothing is left to do.

use crate::solver::propagate::align::align;
use crate::solver::propagate::arith::{check_bounds, run_arith};
use crate::solver::propagate::support::{run_clause, run_support};
use crate::solver::stores::reason::{Outcome, Reason};
use crate::solver::stores::state::State;
use crate::term::RowVar;

pub(crate) fn record_failure(state: &mut State, outcome: Outcome) {
    if let Err(conflict) = outcome {
        state.clear_queues();
        state.conflict.get_or_insert(conflict);
    }
}

/// Runs every constraint that a rank event woke, to the fixpoint.
pub(crate) fn propagate(state: &mut State) -> Outcome {
    if state.held.is_some() {
        return Ok(());
    }
    loop {
        while let Some(row) = state.ranks.touched.pop() {
            settle_row(state, row)?;
        }
        if let Some(con) = state.queue.pop() {
            state.rows.set_queued(con, false);
            align(state, con)?;
        } else if let Some(row) = state.ranks.moved.pop() {
            state.supports.wake(row);
        } else if let Some(support) = state.supports.pop() {
            run_support(state, support)?;
        } else if let Some(clause) = state.supports.pop_clause() {
            run_clause(state, clause)?;
        } else if state.ariths.is_empty() && state.dims.woken.is_empty() {
            return Ok(());
        } else if let Some(class) = state.dims.woken.pop() {
            check_bounds(state, class)?;
        } else if let Some(con) = state.ariths.pop() {
            run_arith(state, con)?;
        } else {
            return Ok(());
        }
    }
}

/// A row's least rank rose, or its rank became fixed: lay out its axes and wake who waits.
fn settle_row(state: &mut State, row: RowVar) -> Outcome {
    if let Some(rank) = state.ranks.fixed(row)
        && !state.rows.is_fixed(row)
    {
        state.spend(rank)?;
        for (at, front, back) in state.rows.lay_out(&mut state.trail, row, rank) {
            let reason = state.dims.reason(Reason::Overlap { row, at });
            state.dims.equate(&mut state.trail, front, back, reason)?;
        }
    }
    state.rows.wake(&state.ranks, row, &mut state.queue);
    state.ariths.enqueue_row(row);
    Ok(())
}
