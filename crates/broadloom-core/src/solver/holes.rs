//! Holes of parameters: positions that closing had to fill without anybody asking for it.
//!
//! A parameter takes its shape from its uses. Where no use says anything, an ordinary leaf takes the
//! least shape; for a parameter that is almost certainly a mistake (a hidden size that was never
//! written), so it is reported.
//!
//! A row of a parameter that takes no axes is a hole unless it is *grounded*: some chain of row
//! constraints leads from it to a row that is known, so "no axes" is an answer and not a silence. An axis
//! is a hole if nothing gave it a size, or only a guess did.

use super::Solver;
use super::closing::{Closing, Unfilled};
use super::reason::{NIL, Policy};
use super::rows::RowCon;
use crate::term::{DimTerm, DimVar, Role, RowVar};

impl Solver {
    /// The open rows of parameters that nobody was seen to speak of; to be asked before closing.
    pub(crate) fn silent_rows(&self) -> Vec<u32> {
        let silent = |row: &u32| self.rows.role(*row) == Role::Param && self.is_silent(*row);
        self.rows.leaves().iter().copied().filter(silent).collect()
    }

    fn is_silent(&self, row: u32) -> bool {
        !self.rows.is_fixed(row) && self.ranks.lo(row) == 0 && self.ariths.of_row(row).is_empty()
    }

    /// Those silent rows that have no axes and to which no known row is connected.
    fn ungrounded_rows(&self, silent: &[u32]) -> Vec<u32> {
        let mut open: Vec<u32> = silent.iter().copied().filter(|row| self.ranks.lo(*row) == 0).collect();
        if open.is_empty() {
            return open;
        }
        let mut groups = Groups::new(self.rows.len());
        for RowCon { res, opnd, .. } in self.rows.cons() {
            match (res.hole, opnd.hole) {
                (NIL, NIL) => {}
                (row, NIL) | (NIL, row) => groups.ground(row),
                (a, b) => groups.join(a, b),
            }
        }
        for row in 0..self.rows.len() as u32 {
            if self.ranks.lo(row) > 0 || !self.ariths.of_row(row).is_empty() {
                groups.ground(row);
            }
        }
        self.absences.iter().for_each(|absence| groups.ground(absence.row));
        open.retain(|row| !groups.is_grounded(*row));
        open
    }

    /// Parameters with a hole, after all commitments.
    pub(crate) fn find_unfilled(&self, closing: &mut Closing) {
        let (mut unfilled, mut gave_way) = (Vec::new(), Vec::new());
        for (node, role) in &self.leaf_dims {
            let at = Unfilled::Dim(DimVar(*node));
            self.judge_leaf(*role, DimTerm(*node), at, &mut unfilled, &mut gave_way);
        }
        let ungrounded = self.ungrounded_rows(&closing.silent);
        unfilled.extend(ungrounded.into_iter().map(|row| Unfilled::Row(RowVar(row))));
        for row in self.rows.leaves().iter().copied() {
            for at in 0..self.ranks.lo(row) {
                let (role, axis) = (self.rows.role(row), self.row_axis(row, at));
                let at = Unfilled::Axis(RowVar(row), at);
                self.judge_leaf(role, axis, at, &mut unfilled, &mut gave_way);
            }
        }
        (closing.unfilled, closing.gave_way) = (unfilled, gave_way);
    }

    /// Notes an axis of a leaf that lacks a size, or gave way to another leaf: it could have had one, and
    /// nothing says which of them.
    fn judge_leaf(
        &self,
        role: Role,
        term: DimTerm,
        at: Unfilled,
        unfilled: &mut Vec<Unfilled>,
        gave_way: &mut Vec<Unfilled>,
    ) {
        let relaxed = || self.value_policy(term) == Some(Policy::RelaxedLeaf);
        match role {
            Role::Param if self.lacks_size(term) || relaxed() => unfilled.push(at),
            Role::Leaf if relaxed() => gave_way.push(at),
            _ => {}
        }
    }

    fn lacks_size(&self, term: DimTerm) -> bool {
        let Some(node) = term.node().filter(|_| !term.is_none()) else { return term.is_none() };
        let root = self.dims.find(node);
        if self.dims.value(root).is_none() {
            return true;
        }
        // What had no size when guessing began has one by a guess.
        self.undecided.as_ref().is_some_and(|open| open.contains(&node))
    }
}

/// Rows joined by constraints, and whether one of them is known.
struct Groups {
    parent: Vec<u32>,
    grounded: Vec<bool>,
}

impl Groups {
    fn new(rows: usize) -> Groups {
        Groups { parent: (0..rows as u32).collect(), grounded: vec![false; rows] }
    }

    fn find(&mut self, mut row: u32) -> u32 {
        while self.parent[row as usize] != row {
            let parent = self.parent[row as usize];
            self.parent[row as usize] = self.parent[parent as usize];
            row = parent;
        }
        row
    }

    fn ground(&mut self, row: u32) {
        let root = self.find(row);
        self.grounded[root as usize] = true;
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.parent[a as usize] = b;
            self.grounded[b as usize] |= self.grounded[a as usize];
        }
    }

    fn is_grounded(&mut self, row: u32) -> bool {
        let root = self.find(row);
        self.grounded[root as usize]
    }
}
