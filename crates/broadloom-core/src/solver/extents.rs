//! How many axes a row could take from below: the join of its caps (Formal Core, Prop. 2.7).

use super::Solver;
use super::components::{Components, components};
use super::reason::NIL;
use super::rows::{Kind, RowCon, Term};
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

    /// The same extent in terms of a row that begins and ends elsewhere.
    pub fn shifted(self, lead: i64, trail: i64) -> Extent {
        let shift = |length: u32, by: i64| (i64::from(length) + by).max(0) as u32;
        Extent { lead: shift(self.lead, lead), trail: shift(self.trail, trail), ..self }
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
pub(crate) fn ready_leaves(leaves: &[u32], extents: &[Option<Extent>]) -> Vec<(u32, Extent)> {
    let known = leaves.iter().filter_map(|row| Some((*row, extents[*row as usize]?)));
    let firm = known.clone().any(|(_, extent)| extent.firm);
    known.filter(|(_, extent)| extent.firm || !firm).collect()
}

impl Solver {
    /// How many axes each open row could take from below: the join of its caps (Prop. 2.7). Caps travel
    /// up through open rows, so rows are visited from below; among rows on a cycle, which are equal,
    /// only caps from outside count.
    pub(crate) fn extents(&self, markers: &[u32]) -> Vec<Option<Extent>> {
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
    pub(crate) fn join_extent(
        &self,
        row: u32,
        markers: &[u32],
        below: impl Fn(u32) -> Below,
    ) -> Option<Extent> {
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
    pub(crate) fn residue(&self, res: Term, opnd: Term, markers: &[u32], below: Below) -> Option<Extent> {
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
        // A row that may still grow and offers nothing is no cap, unless somebody says that it has no axes.
        let spoken = res.hole == NIL || (self.rows.all_declared() && self.rows.is_grounded(res.hole));
        if !firm && axes == 0 && !spoken {
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
