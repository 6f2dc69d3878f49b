//! Closing of ranks where every marker is declared: the usual case, and the fast one.
//!
//! With declared markers an inequality aligns whatever is certain as soon as it is certain, so when the
//! least ranks are taken there is usually nothing left to do: no axis is moved and no constraint looked at
//! again. Rows are left as they are and read at their least rank ([`Solver::row_axis`]). Only rows of
//! constraints that are not aligned in full, and rows whose known ends overlap, are laid out.

use smallvec::SmallVec;

use super::Solver;
use super::extents::{Below, Extent, ready_leaves};
use super::ranks::Pred;
use super::reason::{NIL, Policy, Step};
use super::rows::{Kind, RowCon};
use super::trail::Cell;
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

    /// Every axis of a row, from the front, read at its least rank if the rank is open.
    #[inline]
    pub(crate) fn each_row_axis(&self, row: u32, mut each: impl FnMut(DimTerm)) {
        let rank = self.ranks.lo(row);
        if rank > 0 {
            (0..rank).for_each(|at| each(self.row_axis(row, at)));
        }
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
        let mut extents = self.leaf_extents(&markers, &committed);
        for _ in 0..MOST_ROUNDS {
            let ready = ready_leaves(&leaves, &extents);
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
            if self.ranks_moved(logged, &committed, &extents) {
                extents = self.leaf_extents(&markers, &committed);
            }
        }
        Ok(())
    }

    /// Whether a least rank rose, since a point of the trail, beyond what the extents foresaw.
    fn ranks_moved(&self, logged: usize, committed: &[bool], extents: &[Option<Extent>]) -> bool {
        let foreseen =
            |row: u32| extents[row as usize].is_some_and(|e| e.lead + e.trail >= self.ranks.lo(row));
        let mut moved = self.trail.entries[logged..].iter().filter(|entry| entry.cell == Cell::Lo);
        moved.any(|entry| !committed[entry.at as usize] && !foreseen(entry.at))
    }

    /// The joins of the caps of all open rows. Caps travel up through open rows, and between rows that are
    /// equal; where they go round in a circle the components are needed, and the general method is used.
    ///
    /// Results are made after their operands, so going backwards almost every row is visited after those
    /// below it, and once; the stack is for the others.
    fn leaf_extents(&self, markers: &[u32], committed: &[bool]) -> Vec<Option<Extent>> {
        let mut visits = Visits { rows: vec![Visit::New; self.rows.len()], markers, committed };
        let mut stack: Vec<u32> = Vec::new();
        for row in (0..self.rows.len() as u32).rev().filter(|row| !self.rows.is_fixed(*row)) {
            stack.push(row);
            while let Some(row) = stack.last().copied() {
                let before = stack.len();
                if !matches!(visits.rows[row as usize], Visit::Done(_))
                    && !self.visit(row, &mut visits, &mut stack)
                {
                    return self.extents(markers);
                }
                if stack.len() == before {
                    stack.pop();
                }
            }
        }
        let extent = |visit: Visit| if let Visit::Done(extent) = visit { extent } else { None };
        // Of the same size, so the memory is used again.
        visits.rows.into_iter().map(extent).collect()
    }

    /// Joins the caps of a row and of all that are equal to it, or pushes the rows that have to be
    /// visited first. False if they go round in a circle.
    fn visit(&self, row: u32, visits: &mut Visits<'_>, stack: &mut Vec<u32>) -> bool {
        let group = if self.rows.is_equated(row) {
            self.equal_rows(row)
        } else {
            smallvec::smallvec![Member::alone(row)]
        };
        let first = matches!(visits.rows[row as usize], Visit::New);
        group.iter().for_each(|member| visits.rows[member.row as usize] = Visit::Open);
        let (before, mut join) = (stack.len(), None::<Extent>);
        for member in &group {
            for con in self.rows.watchers(member.row) {
                let RowCon { res, opnd, kind, .. } = self.rows.con(con);
                if kind != Kind::Le || opnd.hole != member.row || res.hole == member.row {
                    continue;
                }
                let below = match visits.below(self, res.hole) {
                    Ok(below) => below,
                    Err(Visit::New) => {
                        stack.push(res.hole);
                        continue;
                    }
                    Err(_) if first || stack.len() == before => return false,
                    Err(_) => continue,
                };
                if stack.len() == before
                    && let Some(cap) = self.residue(res, opnd, visits.markers, below)
                {
                    let cap = cap.shifted(member.lead, member.trail);
                    join = Some(join.map_or(cap, |join| join.with(cap)));
                }
            }
        }
        if stack.len() == before {
            for member in &group {
                let own = join.map(|join| join.shifted(-member.lead, -member.trail));
                visits.rows[member.row as usize] = Visit::Done(own);
            }
        }
        true
    }

    /// The open rows that equalities tie to a row, itself first, each with its place relative to it.
    fn equal_rows(&self, row: u32) -> SmallVec<[Member; 2]> {
        let mut group: SmallVec<[Member; 2]> = smallvec::smallvec![Member::alone(row)];
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
}

/// How far the joins have come, and what they depend on.
struct Visits<'a> {
    rows: Vec<Visit>,
    markers: &'a [u32],
    committed: &'a [bool],
}

impl Visits<'_> {
    /// What is known of a row below another; an error if it was not visited to the end.
    fn below(&self, solver: &Solver, row: u32) -> Result<Below, Visit> {
        if row == NIL || solver.rows.is_fixed(row) || self.committed[row as usize] {
            return Ok(Below::Firm);
        }
        match self.rows[row as usize] {
            Visit::Done(extent) => Ok(Below::Join(extent)),
            visit => Err(visit),
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

impl Member {
    fn alone(row: u32) -> Member {
        Member { row, lead: 0, trail: 0 }
    }
}
