//! Ranks of leaves whose markers are not declared: the join of their caps (Formal Core, Prop. 2.7).
//!
//! A row of which it is open where it broadcasts can follow its uses at both edges, so the join of caps, which keeps
//! the shorter flank on each side, says how many axes it takes, and where its marker stands. (Rows with declared
//! markers grow at one place; [`leaf_ranks`](super::leaf_ranks) is about those.)

use crate::ids::IdVec;
use crate::solver::components::{Components, components};
use crate::solver::propagate::arith::count::counted_rank;
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::stores::ranks::Pred;
use crate::solver::stores::reason::{Outcome, Policy};
use crate::solver::stores::rows::{Kind, RowCon, Term};
use crate::solver::stores::state::State;
use crate::solver::stores::trail::Cell;
use crate::term::{Role, RowVar};

/// The join of a leaf row's caps: how many axes before and after the marker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub lead: u32,
    pub trail: u32,
    /// No cap can still grow.
    pub firm: bool,
}

impl Extent {
    /// The join of two (Prop. 2.7): the shorter flank on each side.
    pub fn with(self, other: Extent) -> Extent {
        Extent {
            lead: self.lead.min(other.lead),
            trail: self.trail.min(other.trail),
            firm: self.firm && other.firm,
        }
    }
}

/// The known bounds of an open row below another.
pub(crate) enum Below {
    /// It is on a cycle with the other.
    Cycle,
    /// Its rank is decided.
    Firm,
    /// The join of its own caps.
    Join(Option<Extent>),
}

/// The leaves that commit next, each to its extent: those whose caps can no longer grow, or else all.
fn ready_leaves(leaves: &[RowVar], extents: &IdVec<RowVar, Option<Extent>>) -> Vec<(RowVar, Extent)> {
    let known = leaves.iter().filter_map(|row| Some((*row, extents[*row]?)));
    let firm = known.clone().any(|(_, extent)| extent.firm);
    known.filter(|(_, extent)| extent.firm || !firm).collect()
}

/// Step 1 of closing. Each leaf commits once; the extents are computed anew only if a commitment moved the
/// rank of another row.
pub(crate) fn join_leaf_ranks(state: &mut State, markers: &mut IdVec<RowVar, u32>) -> Outcome {
    let mut leaves: Vec<RowVar> = state.rows.leaves().to_vec();
    leaves.retain(|row| !state.rows.is_fixed(*row));
    if leaves.is_empty() {
        return Ok(());
    }
    let mut rounds = 0;
    let mut extents = find_extents(state, markers);
    loop {
        leaves.retain(|row| !state.rows.is_fixed(*row));
        let ready = ready_leaves(&leaves, &extents);
        if ready.is_empty() {
            return Ok(());
        }
        let logged = state.trail.entries.len();
        for (row, extent) in ready {
            if state.rows.is_fixed(row) {
                continue;
            }
            let rank = (extent.lead + extent.trail).clamp(state.ranks.lo(row), state.ranks.hi(row));
            if state.rows.declared(row).is_none() {
                markers[row] = markers[row].max(extent.lead);
            }
            let step = state.choose(Policy::LeafRank, row);
            state.ranks.at_least(&mut state.trail, row, rank, Pred::policy(step))?;
            state.ranks.at_most(&mut state.trail, row, i64::from(rank), Pred::policy(step))?;
            propagate(state)?;
        }
        // Chains of leaves that enable each other are cut off, to stay near linear.
        rounds += 1;
        if rounds < 32 && others_moved(state, logged) {
            extents = find_extents(state, markers);
        }
    }
}

/// True if the least rank of an open row, or of an interior one, rose since a point of the trail.
fn others_moved(state: &State, logged: usize) -> bool {
    let moved =
        state.trail.entries[logged..].iter().filter(|entry| matches!(entry.cell, Cell::Lo | Cell::Axes));
    moved
        .into_iter()
        .map(|entry| RowVar(entry.at))
        .any(|row| state.rows.role(row) == Role::Interior || !state.rows.is_fixed(row))
}

/// The number of axes that each open row could take from below: the join of its caps (Prop. 2.7). Caps travel
/// up through open rows, so rows are visited from below; among rows on a cycle, which are equal,
/// only caps from outside count.
fn find_extents(state: &State, markers: &IdVec<RowVar, u32>) -> IdVec<RowVar, Option<Extent>> {
    let above = |row: RowVar| {
        state.rows.watchers(row).filter_map(move |con| {
            let RowCon { res, opnd, kind, .. } = state.rows.con(con);
            let open = kind == Kind::Le
                && res.hole == row
                && opnd.hole != RowVar::NIL
                && !state.rows.is_fixed(opnd.hole);
            open.then_some(opnd.hole)
        })
    };
    let Components { of: component, order } = components(state.rows.len(), |row, out| {
        if !state.rows.is_fixed(row) {
            out.extend(above(row));
        }
    });
    let mut joins = IdVec::filled(None, state.rows.len());
    for row in order.into_iter().rev().filter(|row| !state.rows.is_fixed(*row)) {
        joins[row] = join_extent(state, row, markers, |below| {
            if component[below] == component[row] { Below::Cycle } else { Below::Join(joins[below]) }
        });
    }
    joins
}

/// The join of the caps of one row, given what is known of the open rows below it. An adjacency to
/// a row of which nothing is known is no cap (Def. 4.1).
fn join_extent(
    state: &State,
    row: RowVar,
    markers: &IdVec<RowVar, u32>,
    below: impl Fn(RowVar) -> Below,
) -> Option<Extent> {
    let mut join: Option<Extent> = None;
    for con in state.rows.watchers(row) {
        let RowCon { res, opnd, kind, .. } = state.rows.con(con);
        if kind != Kind::Le || opnd.hole != row || res.hole == row {
            continue;
        }
        let under = if res.hole == RowVar::NIL { Below::Firm } else { below(res.hole) };
        let Some(cap) = residue(state, res, opnd, markers, under) else { continue };
        join = Some(join.map_or(cap, |join| join.with(cap)));
    }
    join
}

/// The extent that a result offers to the row variable of its operand.
fn residue(
    state: &State,
    res: Term,
    opnd: Term,
    markers: &IdVec<RowVar, u32>,
    below: Below,
) -> Option<Extent> {
    let (inner, marker, firm) = match res.hole {
        RowVar::NIL => (0, 0, true),
        row => {
            let least = state.ranks.lo(row);
            let split = markers[row].min(least);
            match below {
                _ if state.rows.is_fixed(row) => (least, split, true),
                Below::Firm => (least, split, true),
                Below::Cycle => return None,
                Below::Join(Some(join)) if join.lead + join.trail > least => {
                    (join.lead + join.trail, join.lead, join.firm)
                }
                Below::Join(_) => (least, split, false),
            }
        }
    };
    let axes = (res.flanks() + inner).saturating_sub(opnd.flanks());
    // A row that may still grow and offers nothing is no cap.
    if !firm && axes == 0 && res.hole != RowVar::NIL {
        return None;
    }
    let lead = (res.lead + marker).saturating_sub(opnd.lead).min(axes);
    Some(Extent { lead, trail: axes - lead, firm })
}

/// The marker of the join of a row's caps.
pub(crate) fn join_lead(state: &State, row: RowVar, markers: &IdVec<RowVar, u32>) -> Option<u32> {
    join_extent(state, row, markers, |_| Below::Join(None)).map(|extent| extent.lead)
}

/// The rank the policy prefers for a row variable.
pub(crate) fn preferred_rank(state: &State, row: RowVar, markers: &IdVec<RowVar, u32>) -> u32 {
    let (lo, hi) = (state.ranks.lo(row), state.ranks.hi(row));
    let lo = counted_rank(state, row).map_or(lo, |rank| rank.clamp(lo, hi));
    if state.rows.role(row) == Role::Interior {
        return lo;
    }
    join_extent(state, row, markers, |_| Below::Join(None))
        .map_or(lo, |extent| (extent.lead + extent.trail).clamp(lo, hi))
}
