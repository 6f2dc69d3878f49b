//! Holes of parameters: positions that closing had to fill without anybody asking for it.
//!
//! A parameter takes its shape from its uses. Where no use says anything, an ordinary leaf takes the
//! least shape; for a parameter that is almost certainly a mistake (a hidden size that was never
//! written), so it is reported.
//!
//! A row of a parameter that takes no axes is a hole unless that is an answer and not a silence: it meets a
//! row that has axes, or a tensor that has axes elsewhere and none here. (A number has none anywhere, and says
//! nothing.) It meets what stands beside it in a result, and in the results that this one goes into. An axis
//! is a hole if nothing gave it a size, or only a guess did.

use super::closing::{Closing, Unfilled};
use super::reason::{NIL, Policy};
use super::rows::{Kind, RowCon, Term};
use super::{Absence, Solver};
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

    /// Those silent rows that have no axes, and that meet nothing that says so.
    fn unanswered_rows(&self, silent: &[u32]) -> Vec<u32> {
        let mut open: Vec<u32> = silent.iter().copied().filter(|row| self.ranks.lo(*row) == 0).collect();
        if !open.is_empty() {
            let answered = self.answered_rows();
            open.retain(|row| !answered[*row as usize]);
        }
        open
    }

    /// The rows that have axes, or meet a row with axes or a tensor that has axes elsewhere only.
    pub(crate) fn answered_rows(&self) -> Vec<bool> {
        let mut answered: Vec<bool> = (0..self.rows.len() as u32)
            .map(|row| self.ranks.lo(row) > 0 || !self.ariths.of_row(row).is_empty())
            .collect();
        for absence in self.absences.iter().filter(|absence| self.is_absent(absence)) {
            answered[absence.row as usize] = true;
        }
        // From results to operands. A leaf passes on its axes, but not what others say about it: it might as well
        // have been declared.
        let passes = |answered: &[bool], row: u32| {
            answered[row as usize] && (self.rows.role(row) == Role::Interior || self.ranks.lo(row) > 0)
        };
        let mut more = true;
        while std::mem::take(&mut more) {
            // Results are usually made after their operands.
            for RowCon { res, opnd, kind, .. } in
                (0..self.rows.con_count()).rev().map(|con| self.rows.con(con))
            {
                let mut pass = |from: Term, to: Term| {
                    let says = from.flanks() > 0 || (from.hole != NIL && passes(&answered, from.hole));
                    if to.hole != NIL && !answered[to.hole as usize] && says {
                        answered[to.hole as usize] = true;
                        more = true;
                    }
                };
                pass(res, opnd);
                if kind == Kind::Eq {
                    pass(opnd, res);
                } else if opnd.hole == NIL && res.hole != NIL {
                    // Somebody wrote down that there need be no axes.
                    more |= !std::mem::replace(&mut answered[res.hole as usize], true);
                }
            }
        }
        answered
    }

    /// Whether an operand has axes, and none in the row it was met by.
    pub(super) fn is_absent(&self, Absence { own, beside, .. }: &Absence) -> bool {
        (*own == NIL || self.ranks.lo(*own) == 0)
            && (beside.is_empty() || beside.iter().any(|row| self.ranks.lo(*row) > 0))
    }

    /// Parameters with a hole, after all commitments.
    pub(crate) fn find_unfilled(&self, closing: &mut Closing) {
        let (mut unfilled, mut gave_way) = (Vec::new(), Vec::new());
        for (node, role) in &self.leaf_dims {
            let at = Unfilled::Dim(DimVar(*node));
            self.judge_leaf(*role, DimTerm(*node), at, &mut unfilled, &mut gave_way);
        }
        let unanswered = self.unanswered_rows(&closing.silent);
        unfilled.extend(unanswered.into_iter().map(|row| Unfilled::Row(RowVar(row))));
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
