//! Closing as a whole: the policy, search where it fails, and the answer.

use crate::ids::{IdVec, StepId};
use crate::solver::canonical::canonical_order;
use crate::solver::closed::{Answer, Closed, Closing};
use crate::solver::closing::close_policy;
use crate::solver::closing::guess::close_sizes;
use crate::solver::closing::holes::{find_gaps, find_silence};
use crate::solver::closing::leaf_dims::close_leaf_dims;
use crate::solver::closing::markers::final_markers;
use crate::solver::closing::short::{short_axis, short_row};
use crate::solver::closing::symbols::close_symbols;
use crate::solver::cores::{Core, core_from};
use crate::solver::explain::blame::blame;
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::propagate::held::release;
use crate::solver::search::{Search, Verdict, settle_choices};
use crate::solver::stores::ranks::Pred;
use crate::solver::stores::reason::{Conflict, Limit, Outcome, Policy};
use crate::solver::stores::state::{Mark, State};
use crate::solver::subsystem::{Subsystem, subsystem};
use crate::term::{DimTerm, RowVar};

/// A cycle of ranks through more constraints than this is reported as it was found, without
/// shrinking it. Its constraints have no solution, and a reader gains little from a slightly
/// shorter list.
const LONG_CYCLE: usize = 256;

pub(crate) fn close(state: &mut State, history: bool) -> Answer<'_> {
    release(state);
    state.branches = 0;
    state.failures.clear();
    state.rivalries.clear();
    state.undecided = None;
    if let Some(conflict) = state.conflict {
        return refuse(state, conflict);
    }
    let mut closing = if history { forced_values(state) } else { Closing::default() };
    closing.silence = find_silence(state);
    let mark = state.mark();
    state.dims.closing = true;
    match close_policy(state, &mut closing.markers) {
        Ok(()) => return finish_closing(state, mark, closing),
        // In another order there would be as many of them.
        Err(Conflict::TooMuch(limit @ (Limit::Axes | Limit::RankMoves))) => {
            abandon(state, mark);
            return Answer::GaveUp(limit);
        }
        Err(Conflict::Short { support }) => {
            let short = short_row(state, support);
            abandon(state, mark);
            return Answer::Unsupported(short);
        }
        Err(_) => abandon(state, mark),
    }
    // The choices that are tried, and their number, must not depend on the order of the
    // constraints: the search runs on a copy in canonical order, and its decisions are taken over.
    let mut copy = subsystem(state, &canonical_order(state));
    let mut search = Search::new(state.budget.branches);
    let mut verdict = settle_choices(&mut copy.state, &mut search, &mut IdVec::default());
    state.branches = search.failed;
    // A role chooses among solutions. If looking for the choice is too much, any solution will do.
    if verdict == Verdict::Unknown(Limit::Branches) && !state.rows.leaves().is_empty() {
        copy = subsystem(state, &canonical_order(state));
        copy.state.rows.forget_roles();
        search = Search::new(state.budget.branches);
        verdict = settle_choices(&mut copy.state, &mut search, &mut IdVec::default());
        state.branches += search.failed;
    }
    match verdict {
        Verdict::Satisfiable => {
            let mark = state.mark();
            state.dims.closing = true;
            closing.searched = true;
            match take_over(state, &copy, &mut closing.markers) {
                Ok(()) => finish_closing(state, mark, closing),
                // In another order, an equation may ask for a check that a choice must not ask for.
                Err(Conflict::TooMuch(limit)) => {
                    abandon(state, mark);
                    Answer::GaveUp(limit)
                }
                // The decisions solved the constraints; expressions over symbols may be decided in another order here, and
                // then not agree. That is no answer.
                Err(_) => {
                    abandon(state, mark);
                    Answer::GaveUp(Limit::Expressions)
                }
            }
        }
        Verdict::Unknown(limit) => Answer::GaveUp(limit),
        Verdict::Unsatisfiable => {
            let all = || state.constraints.ids().collect();
            let refuted = search.refuted.map(|ids| ids.iter().map(|id| copy.original_id(*id)).collect());
            Answer::Unsatisfiable(core_from(state, refuted.unwrap_or_else(all)))
        }
    }
}

/// Leaves closing without an answer.
fn abandon(state: &mut State, mark: Mark) {
    state.undo(mark);
    state.dims.closing = false;
}

/// Decides as a copy of the system did. If markers are declared, only what the copy had to choose against the policy is
/// taken over, where that can be, and the policy decides the rest anew: what it preferred was asked for row by row, before
/// later rows had got their axes.
fn take_over(state: &mut State, copy: &Subsystem, markers: &mut IdVec<RowVar, u32>) -> Outcome {
    if state.rows.all_declared() {
        let mark = state.mark();
        match take_over_ranks(state, copy).and_then(|()| close_policy(state, markers)) {
            Ok(()) => {
                state.forget(mark);
                return Ok(());
            }
            Err(_) => {
                state.undo(mark);
                state.failures.clear();
            }
        }
    }
    take_over_all(state, copy, markers)?;
    close_sizes(state)
}

/// Takes over the ranks that the policy would not have chosen.
fn take_over_ranks(state: &mut State, copy: &Subsystem) -> Outcome {
    for row in state.rows.ids() {
        let Some(twin) = copy.row(row) else { continue };
        let Some((Policy::SearchRank, theirs)) = copy.state.rank_policy(twin) else { continue };
        let step = adopt(state, copy, Policy::SearchRank, theirs, row);
        let rank = copy.state.ranks.lo(twin);
        state.ranks.at_least(&mut state.trail, row, rank, Pred::policy(step))?;
        state.ranks.at_most(&mut state.trail, row, i64::from(rank), Pred::policy(step))?;
    }
    propagate(state)
}

/// Decides all ranks and markers as a copy of the system did.
fn take_over_all(state: &mut State, copy: &Subsystem, markers: &mut IdVec<RowVar, u32>) -> Outcome {
    close_symbols(state)?;
    let least = state.choose(Policy::LeastRank, RowVar::NIL);
    for row in state.rows.ids() {
        if state.rows.is_fixed(row) {
            continue;
        }
        let (rank, step) = match copy.row(row) {
            None => (state.ranks.lo(row), least),
            Some(twin) => {
                let chosen = copy.state.rank_policy(twin).filter(|(policy, _)| *policy != Policy::LeastRank);
                let step = chosen.map_or(least, |(policy, theirs)| adopt(state, copy, policy, theirs, row));
                (copy.state.ranks.lo(twin), step)
            }
        };
        state.ranks.at_least(&mut state.trail, row, rank, Pred::policy(step))?;
        state.ranks.at_most(&mut state.trail, row, i64::from(rank), Pred::policy(step))?;
    }
    propagate(state)?;
    for row in state.rows.ids() {
        if let Some(twin) = copy.row(row)
            && state.rows.declared(row).is_none()
            && let Some(marker) = copy.state.rows.marker(twin)
        {
            let theirs = copy.state.rows.marker_policy(twin);
            let policy = copy.state.policies.get(theirs).map(|choice| choice.policy);
            let step = adopt(state, copy, policy.unwrap_or(Policy::PreferredMarker), theirs, row);
            state.rows.set_marker(&mut state.trail, row, marker, step);
            state.rows.wake(&state.ranks, row, &mut state.queue);
        }
    }
    propagate(state)?;
    *markers = final_markers(state, &state.rows.declared_markers());
    Ok(())
}

/// Records a policy step of a copy, with the failure that led to it, as one of this system.
fn adopt(state: &mut State, copy: &Subsystem, policy: Policy, theirs: StepId, row: RowVar) -> StepId {
    let step = state.choose(policy, row);
    if let Some(because) = copy.state.failures.get(&theirs) {
        state.failures.insert(step, because.iter().map(|id| copy.original_id(*id)).collect());
    }
    step
}

fn refuse(state: &mut State, conflict: Conflict) -> Answer<'_> {
    if let Conflict::TooMuch(limit) = conflict {
        return Answer::GaveUp(limit);
    }
    let blamed = blame(state, conflict).constraints;
    let core = match conflict {
        Conflict::RankCycle { .. } if blamed.len() > LONG_CYCLE => Core::rank_cycle(blamed),
        _ => core_from(state, blamed),
    };
    Answer::Unsatisfiable(core)
}

fn finish_closing(state: &mut State, mark: Mark, mut closing: Closing) -> Answer<'_> {
    close_leaf_dims(state);
    closing.gaps = find_gaps(state, &closing.silence);
    if let Some(short) = short_axis(state) {
        abandon(state, mark);
        return Answer::Unsupported(short);
    }
    let unfilled = std::mem::take(&mut closing.gaps.unfilled);
    let closed = Closed { state, mark, closing };
    if unfilled.is_empty() { Answer::Solved(closed) } else { Answer::Underdetermined(closed, unfilled) }
}

fn forced_values(state: &State) -> Closing {
    let ground = |term: DimTerm| state.dims.resolve(term).is_ground();
    let row_is_ground = |row: RowVar| {
        state.rows.is_fixed(row) && (0..state.ranks.lo(row)).all(|at| ground(state.rows.axis(row, at)))
    };
    Closing {
        forced_dims: state.dim_vars.iter().map(|(node, _)| ground((*node).into())).collect(),
        forced_rows: state.rows.ids().map(row_is_ground).collect(),
        ..Closing::default()
    }
}
