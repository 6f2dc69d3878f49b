//! Constraints that arrive together.
//!
//! One by one, each constraint moves ranks at once, so that everything is known at any time. A chain of rows, each one
//! longer than the next, then raises all earlier rows with every line: quadratic work, and a cycle is noticed at
//! its last line only. Constraints that are all there before anybody asks are better looked at together: the
//! ranks of all rows are found in one pass ([`Ranks::settle`](super::ranks::Ranks::settle)), before any axes are spoken of.

use super::Solver;
use super::reason::{NIL, Step};
use super::rows::{Kind, RowCon};

impl Solver {
    /// Holds the constraints that follow, until [`release`](Solver::release) or [`close`](Solver::close). The solver then
    /// knows the same as if they had come one by one; of large systems it knows it sooner. Until then nothing is
    /// known of the rows they mention.
    ///
    /// ```
    /// use broadloom_core::{Constraint, Role, RowTerm, Solver};
    /// let mut solver = Solver::new();
    /// let rows: Vec<_> = (0..20_000).map(|_| solver.row_var(Role::Interior)).collect();
    /// let axis = [solver.size(3)];
    /// solver.hold();
    /// // Each row is longer than the next, and the last one longer than the first.
    /// for (at, row) in rows.iter().enumerate() {
    ///     let next = RowTerm { lead: &axis, ..RowTerm::var(rows[(at + 1) % rows.len()]) };
    ///     solver.add(Constraint::RowLe { res: RowTerm::var(*row), opnd: next });
    /// }
    /// solver.release();
    /// assert!(solver.is_failed());
    /// ```
    pub fn hold(&mut self) {
        self.held.get_or_insert(self.rows.con_count());
    }

    /// Looks at the constraints that were held, if any were.
    pub fn release(&mut self) {
        if self.held.is_some() {
            let outcome = self.look_at_held();
            self.fail(outcome);
        }
    }

    /// Records the rank facts of a row constraint without moving any rank.
    pub(super) fn hold_row(&mut self, con: u32) -> Step {
        let RowCon { res, opnd, kind, .. } = self.rows.con(con);
        if res.hole == NIL || opnd.hole == NIL {
            self.held_bounds.push(con);
            return Ok(());
        }
        let longer = opnd.flanks() as i32 - res.flanks() as i32;
        self.ranks.hold_edge(opnd.hole, res.hole, longer, con)?;
        if kind == Kind::Eq { self.ranks.hold_edge(res.hole, opnd.hole, -longer, con) } else { Ok(()) }
    }

    /// Finds the ranks of all rows, then aligns all that was held.
    fn look_at_held(&mut self) -> Step {
        let Some(first) = self.held.take() else { return Ok(()) };
        let bounded = std::mem::take(&mut self.held_bounds);
        if self.conflict.is_some() {
            return Ok(());
        }
        self.ranks.settle(&mut self.trail)?;
        for con in bounded {
            self.rank_facts(con)?;
        }
        for con in first..self.rows.con_count() {
            if self.rows.con(con).kind == Kind::Eq {
                self.bind_middle(con)?;
            }
        }
        for con in (first..self.rows.con_count()).rev() {
            self.rows.set_queued(con, true);
            self.queue.push(con);
        }
        self.propagate()
    }
}
