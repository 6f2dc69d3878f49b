//! Results that are made of their operands ([`Constraint::MadeOf`](crate::Constraint::MadeOf)):
//! each of their axes and sizes comes from an operand.
//!
//! An inequality lets a result have more axes than its operand, and claim sizes where the operand
//! claims none. That is right for a system of constraints; the result of a sum, however, is the
//! broadcast of its operands. A *support* requires that of a row and its operands:
//!
//! - *Ranks.* The row has as many axes as the longest operand at most. Where one operand alone can be long
//!   enough, it is.
//! - *Sizes.* When all ranks are known, each axis of the row faces certain axes of operands. If it claims
//!   a size, one of those claims it (a [`Clause`](crate::solver::stores::supports::Clause)). Where all of them are units, so is the axis; where all
//!   but one are, the axis is that one.
//!
//! For example `z` made of `a` and `[3, _]`, read as `[3, 4]`: only `a` can have the 4, so `a` has two axes,
//! and its last one is 4.

use crate::ids::{AdjacencyId, ClauseId, SupportId};
use crate::solver::propagate::align::{fresh_axis, term_at};
use crate::solver::stores::ranks::{Pred, UNBOUNDED};
use crate::solver::stores::reason::{Outcome, Reason, Side};
use crate::solver::stores::rows::{Slot, Term};
use crate::solver::stores::sizes::Watcher;
use crate::solver::stores::state::State;
use crate::solver::stores::supports::Support;
use crate::term::{ConstraintId, DimTerm, DimVar, RowTerm, RowVar};
use smallvec::SmallVec;

/// The present standing of a clause.
pub(crate) enum Standing {
    /// An operand claims what the axis claims, or the axis claims nothing.
    Supported,
    /// Several operands could.
    Open,
    /// None can: the axis is the unit.
    Unit,
    /// Only this one can.
    Sole(DimTerm),
}

/// Adds a support.
pub(crate) fn add_support(
    state: &mut State,
    res: RowVar,
    opnds: &[RowTerm<'_>],
    id: ConstraintId,
) -> Outcome {
    let mut terms: SmallVec<[Term; 4]> = SmallVec::new();
    for opnd in opnds {
        terms.push(stored_operand(state, res, *opnd).unwrap_or_else(|| state.rows.store(*opnd)));
    }
    let support = state.supports.push(res, id, &terms);
    for hole in terms.iter().map(|term| term.hole) {
        if hole != RowVar::NIL && !state.rows.is_fixed(hole) {
            state.supports.wait_for(hole, support);
            state.ranks.watch_bounds(hole);
        }
    }
    state.supports.wait_for(res, support);
    state.ranks.watch_bounds(res);
    if state.conflict.is_some() {
        return Ok(());
    }
    state.supports.enqueue(support);
    Ok(())
}

/// A term that the row refines already, as it is stored.
fn stored_operand(state: &State, res: RowVar, opnd: RowTerm<'_>) -> Option<Term> {
    let same = |term: &Term| {
        let (lead, trail) = state.rows.literals(*term).split_at(term.lead as usize);
        state.rows.hole_of(opnd) == term.hole && lead == opnd.lead && trail == opnd.trail
    };
    let refined = state.rows.watchers(res).map(|con| state.rows.con(con));
    refined.filter(|con| con.res.hole == res).map(|con| con.opnd).find(same)
}

/// Looks at a support again: its ranks and, once they are all known, its axes.
pub(crate) fn run_support(state: &mut State, support: SupportId) -> Outcome {
    state.steps += 1;
    let Support { res, spread, .. } = state.supports.get(support);
    let (most, sole) = reach(state, support);
    if let Some(most) = most {
        state.ranks.at_most(&mut state.trail, res, i64::from(most), Pred::support(support))?;
    }
    if let Some((row, least)) = sole {
        state.ranks.at_least(&mut state.trail, row, least, Pred::support(support))?;
    }
    let open = |row: RowVar| row != RowVar::NIL && !state.rows.is_fixed(row);
    let waits = open(res) || state.supports.terms(support).iter().any(|term| open(term.hole));
    // Rows that just moved are aligned first.
    if spread || waits || !state.ranks.touched.is_empty() {
        return Ok(());
    }
    state.supports.set_spread(&mut state.trail, support);
    (0..state.ranks.lo(res)).try_for_each(|at| support_axis(state, support, at))
}

/// The greatest rank that the operands allow, if there is one; and the row that has to be longer if it
/// is the only one that can be, with its least rank.
fn reach(state: &State, support: SupportId) -> (Option<u32>, Option<(RowVar, u32)>) {
    let least = state.ranks.lo(state.supports.get(support).res);
    let (mut most, mut bounded) = (0, true);
    // The rows that can be long enough, each with the most axes written around it.
    let mut able: SmallVec<[(RowVar, u32); 4]> = SmallVec::new();
    for term in state.supports.terms(support) {
        let hi = if term.hole == RowVar::NIL { 0 } else { state.ranks.hi(term.hole) };
        bounded &= hi != UNBOUNDED;
        let reach = hi.saturating_add(term.flanks());
        most = most.max(reach);
        if reach >= least {
            match able.iter_mut().find(|(row, _)| *row == term.hole) {
                Some((_, flanks)) => *flanks = (*flanks).max(term.flanks()),
                None => able.push((term.hole, term.flanks())),
            }
        }
    }
    let sole = match able[..] {
        [(row, flanks)] if row != RowVar::NIL && least > flanks => Some((row, least - flanks)),
        _ => None,
    };
    (bounded.then_some(most), sole)
}

/// Derives the facts about an axis of a supported row that follow from its operands.
fn support_axis(state: &mut State, support: SupportId, at: u32) -> Outcome {
    let res = state.supports.get(support).res;
    let rank = state.ranks.lo(res);
    let terms: SmallVec<[Term; 4]> = state.supports.terms(support).iter().copied().collect();
    let mut facing: SmallVec<[DimTerm; 4]> = SmallVec::new();
    for term in terms {
        if let Some((side, place)) = facing_place(state, term, rank, at) {
            let spot = state.rows.spot(&state.ranks, term, side, place);
            facing.push(term_at(state, spot));
        }
    }
    let claimed = |term: &DimTerm| {
        let value = state.dims.resolve(*term);
        value.is_ground() && value != DimTerm::UNIT
    };
    let result = state.rows.axis(res, at);
    if let Some(claimed) = facing.iter().find(|term| claimed(term))
        && !result.is_none()
        && state.dims.resolve(result) == state.dims.resolve(*claimed)
    {
        return Ok(());
    }
    let result = if result.is_none() { fresh_axis(state, Slot::Axis { row: res, at }) } else { result };
    add_clause(state, support, at, result, &facing)
}

/// The axis of an operand that faces an axis of its result, and the edge from which it is counted,
/// if there is one.
pub(crate) fn facing_place(state: &State, term: Term, rank: u32, at: u32) -> Option<(Side, u32)> {
    let inner = if term.hole == RowVar::NIL { 0 } else { state.ranks.lo(term.hole) };
    let own = term.flanks() + inner;
    let marker =
        if term.hole == RowVar::NIL { 0 } else { state.rows.marker(term.hole).unwrap_or(0).min(inner) };
    let split = term.lead + marker;
    let behind = rank - 1 - at;
    if at < split || own >= rank {
        Some((Side::Left, at)).filter(|_| at < own)
    } else {
        Some((Side::Right, behind)).filter(|_| behind < own - split)
    }
}

fn add_clause(
    state: &mut State,
    support: SupportId,
    at: u32,
    result: DimTerm,
    facing: &[DimTerm],
) -> Outcome {
    let clause = state.supports.push_clause(support, at, result, facing);
    run_clause(state, clause)?;
    if matches!(judge_clause(state, clause), Standing::Open) {
        let nodes = facing.iter().chain([&result]).filter_map(|term| term.var());
        for node in nodes.collect::<SmallVec<[DimVar; 4]>>() {
            let extra = state.dims.extra(&mut state.trail, node);
            state.dims.sizes.watch(&mut state.trail, extra, Watcher::Clause(clause));
        }
    }
    Ok(())
}

/// The standing of a clause: what the operands leave of its axis.
fn judge_clause(state: &State, clause: ClauseId) -> Standing {
    let result = state.dims.resolve(state.supports.clause(clause).result);
    if result == DimTerm::UNIT {
        return Standing::Supported;
    }
    let mut able: Option<DimTerm> = None;
    for term in state.supports.facing(clause) {
        let value = state.dims.resolve(*term);
        if value == result {
            return Standing::Supported;
        }
        let other = |atom: DimTerm| result.is_ground() && atom != result;
        let unable = match value.var() {
            None => value == DimTerm::UNIT || other(value),
            Some(root) => state.dims.cap(root).is_some_and(other),
        };
        if unable || able == Some(value) {
            continue;
        }
        if able.is_some() {
            return Standing::Open;
        }
        able = Some(value);
    }
    able.map_or(Standing::Unit, Standing::Sole)
}

/// True if no further facts follow for rows that are made of others.
pub(crate) fn supports_settled(state: &State) -> bool {
    state.supports.ids().all(|support| state.supports.get(support).spread)
        && state
            .supports
            .clause_ids()
            .all(|clause| matches!(judge_clause(state, clause), Standing::Supported))
}

/// Takes the steps that a clause allows.
pub(crate) fn run_clause(state: &mut State, clause: ClauseId) -> Outcome {
    state.steps += 1;
    let term = state.supports.clause(clause).result;
    let result = state.dims.resolve(term);
    match judge_clause(state, clause) {
        Standing::Supported | Standing::Open => Ok(()),
        Standing::Unit => {
            let reason = state.dims.reason(Reason::Unsupported { clause });
            state.dims.equate(&mut state.trail, term, DimTerm::UNIT, reason)
        }
        Standing::Sole(other) => {
            // The axis claims a size, so the operand claims it; or the axis is below the operand, so
            // they are units together, or one size.
            let claims = result.var().is_none_or(|root| state.dims.claims(root));
            let below = edge_between(state, result, other);
            if !claims && below.is_none() {
                return Ok(());
            }
            let edge = if claims { AdjacencyId::NIL } else { below.unwrap_or(AdjacencyId::NIL) };
            let reason = state.dims.reason(Reason::Sole { clause, edge });
            let same = |term: &&DimTerm| state.dims.resolve(**term) == other;
            let other = state.supports.facing(clause).iter().find(same).copied().unwrap_or(other);
            state.dims.equate(&mut state.trail, term, other, reason)
        }
    }
}

/// The adjacency by which one class lies below another.
fn edge_between(state: &State, below: DimTerm, above: DimTerm) -> Option<AdjacencyId> {
    let (below, above) = (below.var()?, above.var()?);
    state.dims.up(below).find(|edge| state.dims.find(state.dims.edge(*edge).hi) == above)
}
