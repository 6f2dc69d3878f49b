//! Closing of ranks where every marker is declared: the usual case, and the fast one.
//!
//! With declared markers an inequality aligns whatever is certain as soon as it is certain, so when the
//! least ranks are taken there is usually nothing left to do: no axis is moved and no constraint looked at
//! again. Rows are left as they are and read at their least rank ([`State::row_axis`]). Only rows of
//! constraints that are not aligned in full, and rows whose known ends overlap, are laid out.

use crate::solver::closing::counted::close_counted_ranks;
use crate::solver::closing::leaf_ranks::raise_leaf_ranks;
use crate::solver::closing::short::all_long_enough;
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::stores::ranks::Pred;
use crate::solver::stores::reason::{Outcome, Policy};
use crate::solver::stores::rows::{Kind, RowCon};
use crate::solver::stores::state::State;
use crate::term::{Role, RowVar};

/// Steps 1 and 2. Leaves take what their uses have; then counted rows divide up their elements, and
/// leaves look again; then fillers take what there is.
fn close_leaf_ranks(state: &mut State) -> Outcome {
    let leaf = |role: Role| matches!(role, Role::Leaf | Role::Param);
    raise_leaf_ranks(state, leaf)?;
    if close_counted_ranks(state)? {
        raise_leaf_ranks(state, leaf)?;
    }
    settle_above_fillers(state);
    raise_leaf_ranks(state, |role| role == Role::Filler)?;
    all_long_enough(state)
}

/// Leaves that refine a filler and have axes are as long as they get, if that can be: the filler takes theirs, and adds
/// none. A row without axes is not constrained yet, and the filler may still constrain it.
fn settle_above_fillers(state: &mut State) {
    let rows = above_fillers(state);
    if rows.is_empty() {
        return;
    }
    let mark = state.mark();
    let step = state.choose(Policy::LeastRank, RowVar::NIL);
    let settled = rows.into_iter().try_for_each(|row| {
        let rank = i64::from(state.ranks.lo(row));
        state.ranks.at_most(&mut state.trail, row, rank, Pred::policy(step))
    });
    match settled.and_then(|()| propagate(state)) {
        Ok(()) => state.forget(mark),
        Err(_) => state.undo(mark),
    }
}

/// The leaves that have axes and refine an open filler, each once.
fn above_fillers(state: &State) -> Vec<RowVar> {
    let open = |row: RowVar| row != RowVar::NIL && !state.rows.is_fixed(row);
    let is_filler = |row: RowVar| open(row) && state.rows.role(row) == Role::Filler;
    if !state.rows.leaves().iter().any(|row| is_filler(*row)) {
        return Vec::new();
    }
    let refines = |con: &RowCon| con.kind == Kind::Le && open(con.res.hole) && is_filler(con.opnd.hole);
    let above = state.rows.cons().filter(refines).map(|con| con.res.hole);
    let is_leaf = |row: RowVar| matches!(state.rows.role(row), Role::Leaf | Role::Param);
    let has_axes = |row: &RowVar| is_leaf(*row) && state.ranks.lo(*row) > 0;
    let mut rows: Vec<RowVar> = above.filter(has_axes).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// Steps 1-4 of closing.
pub(crate) fn close_ranks_in_place(state: &mut State) -> Outcome {
    close_leaf_ranks(state)?;
    let rows = unsettled_rows(state);
    if rows.is_empty() {
        return Ok(());
    }
    let step = state.choose(Policy::LeastRank, RowVar::NIL);
    for row in rows {
        let least = i64::from(state.ranks.lo(row));
        state.ranks.at_most(&mut state.trail, row, least, Pred::policy(step))?;
    }
    propagate(state)
}

/// The open rows for which taking the least rank is not the end of it.
fn unsettled_rows(state: &State) -> Vec<RowVar> {
    let mut rows = Vec::new();
    for con in state.rows.cons().filter(|con| !con.done) {
        if !aligned_at_least(state, &con) {
            let open = |hole: &RowVar| *hole != RowVar::NIL && !state.rows.is_fixed(*hole);
            rows.extend([con.res.hole, con.opnd.hole].into_iter().filter(open));
        }
    }
    let overlapping = |row: &RowVar| {
        let least = state.ranks.lo(*row) as usize;
        !state.rows.is_fixed(*row)
            && state
                .rows
                .partial(*row)
                .is_some_and(|partial| partial.front.len() + partial.back.len() > least)
    };
    rows.extend(state.rows.ids().filter(overlapping));
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// True if a constraint has nothing left to align if its rows take their least ranks.
fn aligned_at_least(state: &State, con: &RowCon) -> bool {
    let rank = |hole: RowVar| if hole == RowVar::NIL { 0 } else { state.ranks.lo(hole) };
    let needed = con.opnd.flanks() + rank(con.opnd.hole);
    con.left + con.right >= needed
        && (con.kind == Kind::Le || needed == con.res.flanks() + rank(con.res.hole))
}
