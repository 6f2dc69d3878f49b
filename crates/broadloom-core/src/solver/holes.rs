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

/// What was open before closing.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    /// The rows of parameters that nobody was seen to speak of.
    params: Vec<u32>,
    /// Whether a row could have had axes, for all rows if there are such parameters.
    open: Vec<bool>,
}

impl Solver {
    /// Who was silent; to be asked before closing.
    pub(crate) fn silence(&self) -> Silence {
        let silent = |row: &u32| self.rows.role(*row) == Role::Param && self.is_silent(*row);
        let params: Vec<u32> = self.rows.leaves().iter().copied().filter(silent).collect();
        let is_open = |row: u32| self.ranks.hi(row) > 0;
        let open =
            if params.is_empty() { Vec::new() } else { (0..self.rows.len() as u32).map(is_open).collect() };
        Silence { params, open }
    }

    fn is_silent(&self, row: u32) -> bool {
        !self.rows.is_fixed(row) && self.ranks.lo(row) == 0 && self.ariths.of_row(row).is_empty()
    }

    /// Those silent rows that have no axes, and that meet nothing that says so.
    fn unanswered_rows(&self, Silence { params, open }: &Silence) -> Vec<u32> {
        let mut rows: Vec<u32> = params.iter().copied().filter(|row| self.ranks.lo(*row) == 0).collect();
        if !rows.is_empty() {
            let answered = self.answered_rows(open);
            rows.retain(|row| !answered[*row as usize]);
        }
        rows
    }

    /// The rows that have axes, or meet a row with axes or a tensor that has axes elsewhere only; `open` are those
    /// whose rank closing chose.
    fn answered_rows(&self, open: &[bool]) -> Vec<bool> {
        let has_axes = |row: u32| self.ranks.lo(row) > 0 || !self.ariths.of_row(row).is_empty();
        let mut answered: Vec<bool> = (0..self.rows.len() as u32).map(has_axes).collect();
        loop {
            let said = self.said_rows(open, &answered);
            let mut more = false;
            for absence in self.absences.iter().filter(|absence| self.is_absent(absence)) {
                let own = absence.own == NIL || said[absence.own as usize];
                more |= own && !std::mem::replace(&mut answered[absence.row as usize], true);
            }
            more |= self.pass_answers(&mut answered);
            if !more {
                return answered;
            }
        }
    }

    /// Takes answers from results to operands. A leaf passes on its axes, but not what others say about it: it
    /// might as well have been declared. Returns whether anything is new.
    fn pass_answers(&self, answered: &mut [bool]) -> bool {
        let passes = |answered: &[bool], row: u32| {
            answered[row as usize] && (self.rows.role(row) == Role::Interior || self.ranks.lo(row) > 0)
        };
        let (mut any, mut more) = (false, true);
        while std::mem::take(&mut more) {
            // Results are usually made after their operands.
            for con in (0..self.rows.con_count()).rev() {
                let RowCon { res, opnd, kind, .. } = self.rows.con(con);
                let mut pass = |from: Term, to: Term| {
                    let says = from.flanks() > 0 || (from.hole != NIL && passes(answered, from.hole));
                    more |=
                        to.hole != NIL && says && !std::mem::replace(&mut answered[to.hole as usize], true);
                };
                pass(res, opnd);
                if kind == Kind::Eq {
                    pass(opnd, res);
                } else if opnd.hole == NIL && res.hole != NIL {
                    // Somebody wrote down that there need be no axes.
                    more |= !std::mem::replace(&mut answered[res.hole as usize], true);
                }
            }
            any |= more;
        }
        any
    }

    /// The rows of which it is known that they have no axes, and not only assumed for want of an answer: constraints
    /// say so, or they are leaves that were answered, or made of such rows.
    fn said_rows(&self, open: &[bool], answered: &[bool]) -> Vec<bool> {
        let mut said: Vec<bool> = (0..self.rows.len() as u32)
            .map(|row| {
                let leaf = matches!(self.rows.role(row), Role::Leaf | Role::Param);
                !open[row as usize] || (leaf && answered[row as usize])
            })
            .collect();
        // Results are usually made after their operands.
        for support in 0..self.supports.len() {
            let mut terms = self.supports.terms(support).iter();
            let all = terms.all(|term| term.hole == NIL || said[term.hole as usize]);
            said[self.supports.get(support).res as usize] |= all;
        }
        said
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
