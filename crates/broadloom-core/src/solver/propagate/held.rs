//! Constraints that arrive together.
//!
//! One by one, each constraint moves ranks at once, so that everything is known at any time. A chain of rows, each one
//! longer than the next, then raises all earlier rows with every line: quadratic work, and a cycle is noticed at
//! its last line only. Constraints that are all there before anybody asks are better looked at together: the
//! ranks of all rows are found in one pass ([`Ranks::settle`](crate::solver::stores::ranks::Ranks::settle)), before any axes are mentioned.

use crate::ids::RowConId;
use crate::solver::propagate::align::{bind_middle, rank_facts};
use crate::solver::propagate::fixpoint::{propagate, record_failure};
use crate::solver::stores::reason::Outcome;
use crate::solver::stores::rows::{Kind, RowCon};
use crate::solver::stores::state::State;
use crate::term::RowVar;

/// Holds the constraints that follow, until [`release`](release) or [`close`](crate::Solver::close). The solver then
/// knows the same as if they had come one by one; of large systems it knows it sooner. Until then nothing is
/// known of the rows they mention.
pub(crate) fn hold(state: &mut State) {
    state.held.get_or_insert(state.rows.next_con());
}

/// Looks at the constraints that were held, if any were.
pub(crate) fn release(state: &mut State) {
    if state.held.is_some() {
        let outcome = propagate_held(state);
        record_failure(state, outcome);
    }
}

/// Records the rank facts of a row constraint without moving any rank.
pub(crate) fn hold_row(state: &mut State, con: RowConId) -> Outcome {
    let RowCon { res, opnd, kind, .. } = state.rows.con(con);
    if res.hole == RowVar::NIL || opnd.hole == RowVar::NIL {
        state.held_bounds.push(con);
        return Ok(());
    }
    let longer = opnd.flanks() as i32 - res.flanks() as i32;
    state.ranks.hold_edge(opnd.hole, res.hole, longer, con)?;
    if kind == Kind::Eq { state.ranks.hold_edge(res.hole, opnd.hole, -longer, con) } else { Ok(()) }
}

/// Finds the ranks of all rows, then aligns all that was held.
fn propagate_held(state: &mut State) -> Outcome {
    let Some(first) = state.held.take() else { return Ok(()) };
    let bounded = std::mem::take(&mut state.held_bounds);
    if state.conflict.is_some() {
        return Ok(());
    }
    state.ranks.settle(&mut state.trail)?;
    for con in bounded {
        rank_facts(state, con)?;
    }
    for con in state.rows.con_ids_from(first) {
        if state.rows.con(con).kind == Kind::Eq {
            bind_middle(state, con)?;
        }
    }
    for con in state.rows.con_ids_from(first).rev() {
        state.rows.set_queued(con, true);
        state.queue.push(con);
    }
    propagate(state)
}
