//! The row rules (Formal Core, Def. 4.3): alignment of two row terms at their outer edges.
//!
//! Both rules work outside in. A position counted from an edge is either literal, or a certain axis
//! of a row variable, or it depends on an open rank; in the last case the constraint waits, and the
//! rank graph wakes it when the rank moves. Progress is a pair of counters per constraint, so a
//! position is aligned once.
//!
//! The inequality follows the one-shot reading (Remark 2.15): an operand's leading flank faces the
//! result's first axes, its trailing flank the last ones, and the axes of the operand's row
//! variable face one or the other depending on its marker, unless the ranks agree.

use crate::ids::RowConId;
use crate::solver::stores::ranks::Pred;
use crate::solver::stores::reason::{Conflict, Outcome, Reason, ReasonId, Side};
use crate::solver::stores::rows::{Kind, RowCon, Slot, Spot, Term};
use crate::solver::stores::state::State;
use crate::term::{DimTerm, RowVar};

/// The rank facts of a row constraint (Def. 5.2.1).
pub(crate) fn rank_facts(state: &mut State, con: RowConId) -> Outcome {
    let RowCon { res, opnd, kind, .. } = state.rows.con(con);
    rank_fact(state, con, res, opnd)?;
    if kind == Kind::Eq { rank_fact(state, con, opnd, res) } else { Ok(()) }
}

/// `rank res ≥ rank opnd`, with the flanks moved to the constant side.
fn rank_fact(state: &mut State, con: RowConId, res: Term, opnd: Term) -> Outcome {
    let k = i64::from(opnd.flanks()) - i64::from(res.flanks());
    let State { ranks, trail, .. } = state;
    match (res.hole, opnd.hole) {
        (RowVar::NIL, RowVar::NIL) if k > 0 => Err(Conflict::Overflow { con }),
        (RowVar::NIL, RowVar::NIL) => Ok(()),
        (res, RowVar::NIL) => ranks.at_least(trail, res, k.max(0) as u32, Pred::constraint(con)),
        (RowVar::NIL, opnd) => ranks.at_most(trail, opnd, -k, Pred::constraint(con)),
        (res, opnd) => ranks.add_edge(trail, opnd, res, k as i32, con),
    }
}

/// Equality case (b): a row variable whose axes have no terms yet takes the uncovered middle of
/// the closed side as its axes. The content is entailed; the marker stays open (Remark 2.11).
pub(crate) fn bind_middle(state: &mut State, con: RowConId) -> Outcome {
    let RowCon { res, opnd, id, .. } = state.rows.con(con);
    let (open, closed) = match (res.hole, opnd.hole) {
        (RowVar::NIL, RowVar::NIL) => return Ok(()),
        (_, RowVar::NIL) => (res, opnd),
        (RowVar::NIL, _) => (opnd, res),
        _ => return Ok(()),
    };
    let row = open.hole;
    if open.flanks() <= closed.flanks() && !state.rows.is_fixed(row) && state.rows.partial(row).is_none() {
        state.rows.bind_literals(&mut state.trail, row, closed.start + open.lead, con);
        if !state.discardable.is_empty() {
            for at in 0..closed.flanks() - open.flanks() {
                require_elements(state, state.rows.axis(row, at), ReasonId::constraint(id))?;
            }
        }
    }
    Ok(())
}

/// Aligns as much of a row constraint as is certain by now.
pub(crate) fn align(state: &mut State, con: RowConId) -> Outcome {
    state.steps += 1;
    match state.rows.con(con).kind {
        Kind::Eq => align_equal(state, con),
        Kind::Le => align_refine(state, con),
    }
}

/// Equality `R₁ ≈ R₂`, all cases: equate what faces each other from either edge. With both
/// ranks fixed this is the flat zip of case (a); with open ranks it stops where a position
/// depends on a rank, which is how the split-surplus case (c) and the rotational case (d) wait.
fn align_equal(state: &mut State, con: RowConId) -> Outcome {
    let row_con = state.rows.con(con);
    let RowCon { res, opnd, .. } = row_con;
    let total = match (state.rows.rank(&state.ranks, res), state.rows.rank(&state.ranks, opnd)) {
        (Some(a), Some(_)) => Some(a),
        _ => None,
    };
    let goal = |other: u32, own: u32| total.map_or(u32::MAX, |total| total.saturating_sub(other).max(own));
    let left = align_side(state, con, Side::Left, row_con.left, goal(row_con.right, row_con.left))?;
    let right = align_side(state, con, Side::Right, row_con.right, goal(left, row_con.right))?;
    let done = total.is_some_and(|total| left + right >= total);
    state.rows.advance(&mut state.trail, con, left, right, done);
    Ok(())
}

/// Inequality `res ⊑ opnd`. The flanks of the operand face the result's outer axes (cases (iii)
/// and (iv) are rank facts); what faces the operand's inserted middle is unconstrained (case
/// (ii)); the middle of an open operand is a cap (case (i)), which closing joins.
fn align_refine(state: &mut State, con: RowConId) -> Outcome {
    let row_con = state.rows.con(con);
    let RowCon { res, opnd, .. } = row_con;
    let (mut left, mut right) = (opnd.lead, opnd.trail);
    let mut complete = opnd.hole == RowVar::NIL;
    if let Some(marker) = (opnd.hole != RowVar::NIL).then(|| state.rows.declared(opnd.hole)).flatten() {
        // Axes that are certain to lie before, or after, a declared marker need not wait for the rank.
        let least = state.ranks.lo(opnd.hole);
        left += marker.min(least);
        right += least.saturating_sub(marker);
        complete = state.rows.is_fixed(opnd.hole);
    } else if opnd.hole != RowVar::NIL && state.rows.is_fixed(opnd.hole) {
        let rank = state.ranks.lo(opnd.hole);
        let tight = state.rows.rank(&state.ranks, res) == Some(opnd.flanks() + rank);
        // At equal ranks nothing is inserted, so the marker is not consulted.
        if tight || rank == 0 {
            left += rank;
            complete = true;
        } else if let Some(marker) = state.rows.marker(opnd.hole) {
            left += marker;
            right += rank - marker;
            complete = true;
        }
    }
    let done_left = align_side(state, con, Side::Left, row_con.left, left)?;
    let done_right = align_side(state, con, Side::Right, row_con.right, right)?;
    let done = complete && done_left >= left && done_right >= right;
    state.rows.advance(&mut state.trail, con, done_left, done_right, done);
    Ok(())
}

/// An inequality whose result is a row variable that occurs for the first time, as in the
/// constraint between the result of an operation and its first operand. Its rank and its axes
/// follow from the operand at once, and no watcher has to be woken.
pub(crate) fn align_fresh(state: &mut State, con: RowConId) -> Outcome {
    state.steps += 1;
    let RowCon { res, opnd, .. } = state.rows.con(con);
    let State { ranks, trail, .. } = state;
    ranks.start_from(trail, res.hole, opnd.hole, opnd.flanks(), con);
    align_refine(state, con)
}

/// True if [`align_fresh`](align_fresh) applies to a constraint about to be added.
pub(crate) fn is_fresh_result(state: &State, res: Term, opnd: Term) -> bool {
    res.hole != RowVar::NIL
        && res.flanks() == 0
        && res.hole != opnd.hole
        && state.rows.is_unmentioned(res.hole)
        && state.ranks.is_untouched(res.hole)
}

/// Relates the pairs of positions from one edge that are certain, from `at` up to a goal. Returns
/// how many are related by now.
#[inline]
fn align_side(state: &mut State, con: RowConId, side: Side, at: u32, goal: u32) -> Outcome<u32> {
    if at < goal { align_side_from(state, con, side, at, goal) } else { Ok(at) }
}

fn align_side_from(state: &mut State, con: RowConId, side: Side, mut at: u32, goal: u32) -> Outcome<u32> {
    let RowCon { res, opnd, kind, .. } = state.rows.con(con);
    while at < goal {
        let below = state.rows.spot(&state.ranks, res, side, at);
        let above = state.rows.spot(&state.ranks, opnd, side, at);
        if below == Spot::Unknown || above == Spot::Unknown {
            break;
        }
        // In the declared world what has no term on either side is related from the right alone.
        if kind == Kind::Eq && side == Side::Left && both_unnamed(below, above) && state.rows.all_declared() {
            break;
        }
        // Each position names at most two axes.
        state
            .spend(u32::from(matches!(below, Spot::Empty(_))) + u32::from(matches!(above, Spot::Empty(_))))?;
        let reason = Reason::Align { con, side, at };
        match kind {
            Kind::Eq => relate_equal(state, below, above, reason)?,
            Kind::Le => relate_refine(state, below, above, reason)?,
        }
        at += 1;
    }
    Ok(at)
}

fn relate_equal(state: &mut State, a: Spot, b: Spot, reason: Reason) -> Outcome {
    match (a, b) {
        (Spot::Known(a), Spot::Known(b)) if a == b => Ok(()),
        (Spot::Known(a), Spot::Known(b)) => {
            let reason = state.dims.reason(reason);
            state.dims.equate(&mut state.trail, a, b, reason)
        }
        (Spot::Known(term), Spot::Empty(slot)) | (Spot::Empty(slot), Spot::Known(term)) => {
            record_axis(state, slot, term, reason)
        }
        (Spot::Empty(a), Spot::Empty(b)) => {
            if a == b {
                return Ok(());
            }
            let term = fresh_axis(state, a);
            record_axis(state, b, term, reason)
        }
        (Spot::Unknown, _) | (_, Spot::Unknown) => Ok(()),
    }
}

fn relate_refine(state: &mut State, below: Spot, above: Spot, reason: Reason) -> Outcome {
    if let (Spot::Known(opnd), Some(_)) = (above, above.var()) {
        let value = state.dims.resolve(opnd);
        match below {
            // DI-top.
            _ if value == DimTerm::UNIT => return Ok(()),
            // DI-ground: nothing can change that.
            Spot::Known(res)
                if value.is_ground() && state.symbols.is_empty() && state.dims.resolve(res) == value =>
            {
                return Ok(());
            }
            // DI-pin: what is below an atom is that atom, so it needs no variable of its own.
            Spot::Empty(slot) if value.is_ground() => {
                let Reason::Align { con, side, at } = reason else { return Ok(()) };
                return record_axis(state, slot, opnd, Reason::Pinned { con, side, at });
            }
            _ => {}
        }
    }
    let (res, opnd) = match (below, above) {
        // DI-top and DI-refl, without a fresh variable.
        (_, Spot::Known(DimTerm::UNIT)) => return Ok(()),
        (Spot::Empty(a), Spot::Empty(b)) if a == b => return Ok(()),
        (Spot::Known(res), Spot::Known(opnd)) if res == opnd => return Ok(()),
        (Spot::Known(res), Spot::Known(opnd)) => (res, opnd),
        // DI-pin on an axis of which nothing is known: it is the atom.
        (Spot::Empty(slot), Spot::Known(opnd)) if opnd.is_ground() => {
            return record_axis(state, slot, opnd, reason);
        }
        // DI-pin-top likewise.
        (Spot::Known(DimTerm::UNIT), Spot::Empty(slot)) => {
            return record_axis(state, slot, DimTerm::UNIT, reason);
        }
        (below, above) => (term_at(state, below), term_at(state, above)),
    };
    let reason = state.dims.reason(reason);
    state.dims.refine(&mut state.trail, res, opnd, reason)
}

/// The term at a spot, a new variable if it has none.
pub(crate) fn term_at(state: &mut State, spot: Spot) -> DimTerm {
    match spot {
        Spot::Known(term) => term,
        Spot::Empty(slot) => fresh_axis(state, slot),
        Spot::Unknown => DimTerm::UNIT,
    }
}

/// Names an axis by a new variable: no claim, hence no reason.
pub(crate) fn fresh_axis(state: &mut State, slot: Slot) -> DimTerm {
    let term = state.dims.fresh().into();
    state.rows.fill(&mut state.trail, slot, term, ReasonId::NIL);
    term
}

/// Records what an axis is.
fn record_axis(state: &mut State, slot: Slot, term: DimTerm, reason: Reason) -> Outcome {
    let why = state.dims.reason(reason);
    state.rows.fill(&mut state.trail, slot, term, why);
    require_elements(state, term, why)
}

/// An axis of a row has elements, whatever else may be empty.
pub(crate) fn require_elements(state: &mut State, term: DimTerm, why: ReasonId) -> Outcome {
    match term.var() {
        Some(node) if !state.discardable.is_empty() => state.dims.not_empty(&mut state.trail, node, why),
        _ => Ok(()),
    }
}

fn both_unnamed(a: Spot, b: Spot) -> bool {
    matches!((a, b), (Spot::Empty(_), Spot::Empty(_)))
}
