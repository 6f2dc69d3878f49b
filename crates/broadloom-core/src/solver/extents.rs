//! How many axes leaves take whose markers nobody declared: the join of their caps (Formal Core, Prop. 2.7).
//!
//! A row of which it is open where it broadcasts can follow its uses at both edges, so the join of caps, which keeps
//! the shorter flank on each side, says how many axes it takes, and where its marker stands. (Rows with declared
//! markers grow at one place; [`leaf_ranks`](super::leaf_ranks) is about those.)

use super::Solver;
use super::components::{Components, components};
use super::ranks::Pred;
use super::reason::{NIL, Policy, Step};
use super::rows::{Kind, RowCon, Term};
use super::trail::Cell;
use crate::term::Role;

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

/// What is known of an open row below another.
pub(crate) enum Below {
    /// It is on a cycle with the other.
    Cycle,
    /// Its rank is decided.
    Firm,
    /// The join of its own caps.
    Join(Option<Extent>),
}

/// The leaves that commit next, each to its extent: those whose caps can no longer grow, or else all.
fn ready_leaves(leaves: &[u32], extents: &[Option<Extent>]) -> Vec<(u32, Extent)> {
    let known = leaves.iter().filter_map(|row| Some((*row, extents[*row as usize]?)));
    let firm = known.clone().any(|(_, extent)| extent.firm);
    known.filter(|(_, extent)| extent.firm || !firm).collect()
}

impl Solver {
    /// Step 1 of closing. Each leaf commits once; the extents are computed anew only if a commitment moved the
    /// rank of another row.
    pub(crate) fn join_leaf_ranks(&mut self, markers: &mut [u32]) -> Step {
        let mut leaves: Vec<u32> = self.rows.leaves().to_vec();
        leaves.retain(|row| !self.rows.is_fixed(*row));
        if leaves.is_empty() {
            return Ok(());
        }
        let mut rounds = 0;
        let mut extents = self.extents(markers);
        loop {
            leaves.retain(|row| !self.rows.is_fixed(*row));
            let ready = ready_leaves(&leaves, &extents);
            if ready.is_empty() {
                return Ok(());
            }
            let logged = self.trail.entries.len();
            for (row, extent) in ready {
                if self.rows.is_fixed(row) {
                    continue;
                }
                let rank = (extent.lead + extent.trail).clamp(self.ranks.lo(row), self.ranks.hi(row));
                if self.rows.declared(row).is_none() {
                    markers[row as usize] = markers[row as usize].max(extent.lead);
                }
                let step = self.choose(Policy::LeafRank, row);
                self.ranks.at_least(&mut self.trail, row, rank, Pred::policy(step))?;
                self.ranks.at_most(&mut self.trail, row, i64::from(rank), Pred::policy(step))?;
                self.propagate()?;
            }
            // Chains of leaves that enable each other are cut off, to stay near linear.
            rounds += 1;
            if rounds < 32 && self.others_moved(logged) {
                extents = self.extents(markers);
            }
        }
    }

    /// Whether the least rank of an open row, or of an interior one, rose since a point of the trail.
    fn others_moved(&self, logged: usize) -> bool {
        let moved =
            self.trail.entries[logged..].iter().filter(|entry| matches!(entry.cell, Cell::Lo | Cell::Axes));
        moved
            .into_iter()
            .any(|entry| self.rows.role(entry.at) == Role::Interior || !self.rows.is_fixed(entry.at))
    }

    /// How many axes each open row could take from below: the join of its caps (Prop. 2.7). Caps travel
    /// up through open rows, so rows are visited from below; among rows on a cycle, which are equal,
    /// only caps from outside count.
    fn extents(&self, markers: &[u32]) -> Vec<Option<Extent>> {
        let above = |row: u32| {
            self.rows.watchers(row).filter_map(move |con| {
                let RowCon { res, opnd, kind, .. } = self.rows.con(con);
                let open =
                    kind == Kind::Le && res.hole == row && opnd.hole != NIL && !self.rows.is_fixed(opnd.hole);
                open.then_some(opnd.hole)
            })
        };
        let Components { of: component, order } = components(self.rows.len(), |row, out| {
            if !self.rows.is_fixed(row) {
                out.extend(above(row));
            }
        });
        let mut joins = vec![None; self.rows.len()];
        for row in order.into_iter().rev().filter(|row| !self.rows.is_fixed(*row)) {
            joins[row as usize] = self.join_extent(row, markers, |below| {
                if component[below as usize] == component[row as usize] {
                    Below::Cycle
                } else {
                    Below::Join(joins[below as usize])
                }
            });
        }
        joins
    }

    /// The join of the caps of one row, given what is known of the open rows below it. An adjacency to
    /// a row of which nothing is known is no cap (Def. 4.1).
    fn join_extent(&self, row: u32, markers: &[u32], below: impl Fn(u32) -> Below) -> Option<Extent> {
        let mut join: Option<Extent> = None;
        for con in self.rows.watchers(row) {
            let RowCon { res, opnd, kind, .. } = self.rows.con(con);
            if kind != Kind::Le || opnd.hole != row || res.hole == row {
                continue;
            }
            let under = if res.hole == NIL { Below::Firm } else { below(res.hole) };
            let Some(cap) = self.residue(res, opnd, markers, under) else { continue };
            join = Some(join.map_or(cap, |join| join.with(cap)));
        }
        join
    }

    /// What a result offers to the row variable of its operand.
    fn residue(&self, res: Term, opnd: Term, markers: &[u32], below: Below) -> Option<Extent> {
        let (inner, marker, firm) = match res.hole {
            NIL => (0, 0, true),
            row => {
                let least = self.ranks.lo(row);
                let split = markers[row as usize].min(least);
                match below {
                    _ if self.rows.is_fixed(row) => (least, split, true),
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
        if !firm && axes == 0 && res.hole != NIL {
            return None;
        }
        let lead = (res.lead + marker).saturating_sub(opnd.lead).min(axes);
        Some(Extent { lead, trail: axes - lead, firm })
    }

    /// Where the join of a row's caps has its marker.
    pub(crate) fn join_lead(&self, row: u32, markers: &[u32]) -> Option<u32> {
        self.join_extent(row, markers, |_| Below::Join(None)).map(|extent| extent.lead)
    }

    /// The rank the policy prefers for a row variable.
    pub(crate) fn preferred_rank(&self, row: u32, markers: &[u32]) -> u32 {
        let (lo, hi) = (self.ranks.lo(row), self.ranks.hi(row));
        let lo = self.counted_rank(row).map_or(lo, |rank| rank.clamp(lo, hi));
        if self.rows.role(row) == Role::Interior {
            return lo;
        }
        self.join_extent(row, markers, |_| Below::Join(None))
            .map_or(lo, |extent| (extent.lead + extent.trail).clamp(lo, hi))
    }
}
