//! Closing of ranks where every marker is declared: the usual case, and the fast one.
//!
//! With declared markers an inequality aligns whatever is certain as soon as it is certain, so when the
//! least ranks are taken there is usually nothing left to do: no axis is moved and no constraint looked at
//! again. Rows are left as they are and read at their least rank ([`Solver::row_axis`]). Only rows of
//! constraints that are not aligned in full, and rows whose known ends overlap, are laid out.

use super::Solver;
use super::ranks::Pred;
use super::reason::{NIL, Policy, Step};
use super::rows::{Kind, RowCon};
use crate::term::DimTerm;

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
        self.close_leaf_ranks()?;
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
}
