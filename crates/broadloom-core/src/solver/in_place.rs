//! Closing of ranks where every marker is declared: the usual case, and the fast one.
//!
//! With declared markers an inequality aligns whatever is certain as soon as it is certain, so when the
//! least ranks are taken there is usually nothing left to do: no axis is moved and no constraint looked at
//! again. Rows are left as they are and read at their least rank ([`Solver::row_axis`]). Only rows of
//! constraints that are not aligned in full, and rows whose known ends overlap, are laid out.

use smallvec::SmallVec;

use super::Solver;
use super::closing::{Below, Extent};
use super::ranks::Pred;
use super::reason::{NIL, Policy, Step};
use super::rows::{Kind, RowCon};
use crate::term::DimTerm;

/// Chains of leaves that enable each other are cut off, to stay near linear.
const MOST_ROUNDS: usize = 32;

/// How far the search for a row's extent has come.
#[derive(Clone, Copy)]
enum Visit {
    New,
    Open,
    Done(Option<Extent>),
}

impl Solver {
    /// An axis of a row, read at its least rank if the rank is open.
    #[inline]
    pub(crate) fn row_axis(&self, row: u32, at: u32) -> DimTerm {
        if self.rows.is_fixed(row) {
            return self.rows.axis(row, at);
        }
        let Some(partial) = self.rows.partial(row) else { return DimTerm::NONE };
        let front = partial.front.get(at as usize).map_or(DimTerm::NONE, |axis| axis.term);
        if !front.is_none() {
            return front;
        }
        let back = self.ranks.lo(row) - 1 - at;
        partial.back.get(back as usize).map_or(DimTerm::NONE, |axis| axis.term)
    }

    /// Steps 1-4 of closing.
    pub(crate) fn close_ranks_in_place(&mut self) -> Step {
        let leaves = self.rows.leaves().iter().copied();
        // A leaf whose elements are counted takes what its uses offer; then the counts divide up the
        // rest; then the other leaves see what that gives.
        let (counted, others): (Vec<u32>, Vec<u32>) =
            leaves.partition(|row| !self.ariths.of_row(*row).is_empty());
        self.raise_leaf_ranks(counted)?;
        self.close_counted_ranks()?;
        self.raise_leaf_ranks(others)?;
        let rows = self.unsettled_rows();
        if rows.is_empty() {
            return Ok(());
        }
        let step = self.choose(Policy::LeastRank, NIL);
        for row in rows {
            let least = i64::from(self.ranks.lo(row));
            self.ranks.at_most(&mut self.trail, row, least, Pred::policy(step))?;
        }
        self.propagate()
    }

    /// The open rows for which taking the least rank is not the end of it.
    fn unsettled_rows(&self) -> Vec<u32> {
        let mut rows = Vec::new();
        for con in self.rows.cons().filter(|con| !con.done) {
            if !self.aligned_at_least(&con) {
                let open = |hole: &u32| *hole != NIL && !self.rows.is_fixed(*hole);
                rows.extend([con.res.hole, con.opnd.hole].into_iter().filter(open));
            }
        }
        let overlapping = |row: &u32| {
            let least = self.ranks.lo(*row) as usize;
            !self.rows.is_fixed(*row)
                && self
                    .rows
                    .partial(*row)
                    .is_some_and(|partial| partial.front.len() + partial.back.len() > least)
        };
        rows.extend((0..self.rows.len() as u32).filter(overlapping));
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Whether a constraint has nothing left to align if its rows take their least ranks.
    fn aligned_at_least(&self, con: &RowCon) -> bool {
        let rank = |hole: u32| if hole == NIL { 0 } else { self.ranks.lo(hole) };
        let needed = con.opnd.flanks() + rank(con.opnd.hole);
        con.left + con.right >= needed
            && (con.kind == Kind::Le || needed == con.res.flanks() + rank(con.res.hole))
    }

    /// Step 1: leaves take as many axes as the join of their caps has. Nothing holds a leaf to that from
    /// above: the least ranks are a model of all rank facts, whatever raised them.
    fn raise_leaf_ranks(&mut self, mut leaves: Vec<u32>) -> Step {
        leaves.retain(|row| !self.rows.is_fixed(*row));
        if leaves.is_empty() {
            return Ok(());
        }
        let markers = self.rows.declared_markers();
        let mut committed = vec![false; self.rows.len()];
        let mut extents = self.leaf_extents(&leaves, &markers, &committed);
        for _ in 0..MOST_ROUNDS {
            let known = |row: &u32| extents[*row as usize];
            let firm = leaves.iter().any(|row| known(row).is_some_and(|extent| extent.firm));
            let ready: Vec<(u32, Extent)> = leaves
                .iter()
                .filter_map(|row| Some((*row, known(row)?)))
                .filter(|(_, extent)| extent.firm || !firm)
                .collect();
            if ready.is_empty() {
                break;
            }
            let logged = self.trail.entries.len();
            for (row, extent) in ready {
                let rank = (extent.lead + extent.trail).clamp(self.ranks.lo(row), self.ranks.hi(row));
                committed[row as usize] = true;
                if rank > self.ranks.lo(row) {
                    let step = self.choose(Policy::LeafRank, row);
                    self.ranks.at_least(&mut self.trail, row, rank, Pred::policy(step))?;
                    self.propagate()?;
                }
            }
            leaves.retain(|row| !committed[*row as usize] && !self.rows.is_fixed(*row));
            if leaves.is_empty() {
                break;
            }
            if self.ranks_moved(logged, &committed) {
                extents = self.leaf_extents(&leaves, &markers, &committed);
            }
        }
        Ok(())
    }

    /// Whether the least rank of a row other than a committed leaf rose since a point of the trail.
    fn ranks_moved(&self, logged: usize, committed: &[bool]) -> bool {
        use super::trail::Cell;
        let mut moved = self.trail.entries[logged..].iter().filter(|entry| entry.cell == Cell::Lo);
        moved.any(|entry| !committed[entry.at as usize])
    }

    /// The joins of the caps of some rows. Caps travel up through open rows, and between rows that are
    /// equal; where they go round in a circle the components are needed, and the general method is used.
    fn leaf_extents(&self, leaves: &[u32], markers: &[u32], committed: &[bool]) -> Vec<Option<Extent>> {
        let mut visits = vec![Visit::New; self.rows.len()];
        let mut stack: Vec<u32> = Vec::new();
        for leaf in leaves {
            stack.push(*leaf);
            while let Some(row) = stack.last().copied() {
                if matches!(visits[row as usize], Visit::Done(_)) {
                    stack.pop();
                    continue;
                }
                let group = self.equal_rows(row);
                let first = matches!(visits[row as usize], Visit::New);
                let before = stack.len();
                if first {
                    group.iter().for_each(|member| visits[member.row as usize] = Visit::Open);
                    for below in group.iter().flat_map(|member| self.open_below(member.row, committed)) {
                        match visits[below as usize] {
                            Visit::New => stack.push(below),
                            Visit::Open => return self.extents(markers),
                            Visit::Done(_) => {}
                        }
                    }
                }
                if stack.len() == before {
                    self.visit_group(&group, markers, committed, &mut visits);
                    stack.pop();
                }
            }
        }
        visits.into_iter().map(|visit| if let Visit::Done(extent) = visit { extent } else { None }).collect()
    }

    /// The open rows that equalities tie to a row, itself first, each with its place relative to it.
    fn equal_rows(&self, row: u32) -> SmallVec<[Member; 2]> {
        let mut group: SmallVec<[Member; 2]> = smallvec::smallvec![Member { row, lead: 0, trail: 0 }];
        let mut at = 0;
        while at < group.len() {
            let member = group[at];
            at += 1;
            for con in self.rows.watchers(member.row) {
                let RowCon { res, opnd, kind, .. } = self.rows.con(con);
                if kind != Kind::Eq || res.hole == opnd.hole {
                    continue;
                }
                let (own, other) = if res.hole == member.row { (res, opnd) } else { (opnd, res) };
                let known = other.hole == NIL || self.rows.is_fixed(other.hole);
                if !known && group.iter().all(|member| member.row != other.hole) {
                    // Position p of the other row is position p + shift of this one.
                    let lead = member.lead + i64::from(other.lead) - i64::from(own.lead);
                    let trail = member.trail + i64::from(other.trail) - i64::from(own.trail);
                    group.push(Member { row: other.hole, lead, trail });
                }
            }
        }
        group
    }

    /// The open rows directly below a row.
    fn open_below<'a>(&'a self, row: u32, committed: &'a [bool]) -> impl Iterator<Item = u32> + 'a {
        self.rows.watchers(row).filter_map(move |con| {
            let RowCon { res, opnd, kind, .. } = self.rows.con(con);
            let below = kind == Kind::Le && opnd.hole == row && res.hole != row && res.hole != NIL;
            (below && !self.rows.is_fixed(res.hole) && !committed[res.hole as usize]).then_some(res.hole)
        })
    }

    /// Joins the caps of all members of a group, and gives each the join in its own terms.
    fn visit_group(&self, group: &[Member], markers: &[u32], committed: &[bool], visits: &mut [Visit]) {
        let mut join: Option<Extent> = None;
        for member in group {
            let own = self.join_extent(member.row, markers, |below| match visits[below as usize] {
                _ if committed[below as usize] => Below::Firm,
                Visit::Done(extent) => Below::Join(extent),
                Visit::New | Visit::Open => Below::Join(None),
            });
            if let Some(extent) = own.map(|extent| extent.shifted(member.lead, member.trail)) {
                join = Some(join.map_or(extent, |join| join.with(extent)));
            }
        }
        for member in group {
            let own = join.map(|join| join.shifted(-member.lead, -member.trail));
            visits[member.row as usize] = Visit::Done(own);
        }
    }
}

/// A row of a group of equal rows, and where it begins and ends relative to the first.
#[derive(Clone, Copy)]
struct Member {
    row: u32,
    lead: i64,
    trail: i64,
}
