//! Closing (Formal Core, Def. 6.1): from bounds to shapes, by policy.
//!
//! Leaves close downward, to the join of their caps; interiors close upward, to no further axes and
//! to the unit. Every step is taken on the trail, so that asking for final shapes changes nothing.
//!
//! 1. *Leaf ranks.* A leaf row takes the axes of what it is used with ([`leaf_ranks`](super::leaf_ranks)); where
//!    markers are not declared, as many as the join of its caps has ([`extents`](super::extents)).
//! 2. *Counted ranks.* Rows whose elements are counted or whose axes are listed divide them up.
//! 3. *Least ranks.* Every other row takes its least rank. The least ranks are a model of all rank
//!    facts together, so this step cannot break one.
//! 4. *Markers.* An operand that broadcasts into a longer result is marked at its preferred place, unless
//!    its marker is declared.
//! 5. *Leaf dimensions.* With ranks and markers fixed, only dimensions are left, and their caps have
//!    travelled to the fixpoint. Leaves commit to their caps in rounds; leaves that would pin one
//!    dimension to two atoms relax to the unit together. What is left is the unit.
//!
//! 6. *Sizes* that arithmetic leaves open ([`guess`](super::guess)): known sizes get a basis, the rest the
//!    least size that fits.
//!
//! If steps 1-4 contradict a constraint, or no sizes fit, [`search`](super::search) decides ranks and markers,
//! on a copy of the system in canonical order. Step 5 cannot fail.
//!
//! In the numbering of *Shape inference and projection inference*: stage 1 is propagation, as constraints
//! are added; stage 3 is step 1; stages 4 and 5 are steps 2, 5 and 6; stage 6 is step 3; stage 7 is the
//! end of steps 5 and 6. Ranks are settled before sizes, because a count can wait for sizes but an
//! alignment cannot do without ranks; and every choice can be undone, so none is premature.

use super::cores::{Core, Subsystem, Verdict};
use super::explain::{self, Link};
use super::holes::Silence;
use super::ranks::{Cause, Pred};
use super::reason::{Conflict, Limit, NIL, Policy, Reason, Step};
use super::search::{Choice, Search};
use super::symbols::Check;
use super::{Mark, Solver};
use crate::form::{Form, Symbol};
use crate::order::{Dim, FormId, Row};
use crate::term::{ConstraintId, DimTerm, DimVar, Hole, Role, RowTerm, RowVar};

/// A cycle of ranks through more constraints than this is told as it was found. Its constraints have no solution, and
/// nobody reads so many for whether one of them could be left out.
const LONG_CYCLE: usize = 256;

/// What closing found.
///
/// ```
/// # use broadloom_core::{Answer, Clash, Constraint, Role, Solver};
/// let mut solver = Solver::new();
/// let (a, three, five) = (solver.dim_var(Role::Interior), solver.size(3), solver.size(5));
/// solver.add(Constraint::DimEq(a.into(), three));
/// solver.add(Constraint::DimEq(a.into(), five));
/// match solver.close() {
///     Answer::Solved(closed) => println!("a = {}", closed.dim(a)),
///     Answer::Underdetermined(_, holes) => println!("{} positions have no size", holes.len()),
///     Answer::Unsupported(short) => println!("an operand of {:?} is too short", short.row),
///     Answer::GaveUp(limit) => println!("ran out of {limit:?}"),
///     Answer::Unsatisfiable(core) => {
///         assert_eq!(core.constraints.len(), 2);
///         assert!(core.minimal && matches!(core.clash, Clash::Dims { .. }));
///     }
/// }
/// ```
#[derive(Debug)]
pub enum Answer<'a> {
    /// Every variable has a value that satisfies every constraint.
    Solved(Closed<'a>),
    /// There are solutions, but a parameter has a hole.
    Underdetermined(Closed<'a>, Vec<Unfilled>),
    /// There are solutions, but a result claims what closing gives to none of its operands, and several of them
    /// could have it.
    Unsupported(Short),
    /// There is no solution.
    Unsatisfiable(Core),
    /// A limit was reached before an answer was found.
    GaveUp(Limit),
}

/// A position of a parameter that nothing determines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfilled {
    /// A dimension variable.
    Dim(DimVar),
    /// An axis of a row variable, counted from the front.
    Axis(RowVar, u32),
    /// A row variable that has no axes, with nothing to say that it should have none.
    Row(RowVar),
}

/// A result that claims more than closing gives to its operands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Short {
    /// The row of the result.
    pub row: RowVar,
    /// The axis that no operand has the size of, counted from the front; none if the row is longer than all of them.
    pub at: Option<u32>,
    /// The constraint that says what the row is made of.
    pub made_of: ConstraintId,
    /// The constraints behind its length, or behind the size of the axis.
    pub because: Vec<ConstraintId>,
}

/// How a variable came by its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// Entailed by the constraints; for a row, up to its marker.
    Forced,
    /// By the policy for leaves.
    Leaf,
    /// By the policy for interiors.
    Interior,
    /// By search, after the policy's first choice failed.
    Search,
}

/// A solution, and the solver in the state that proves it. Dropping it undoes closing.
///
/// ```
/// # use broadloom_core::{Answer, Constraint, How, Role, Solver, order::Dim};
/// let mut solver = Solver::new();
/// let (a, b) = (solver.dim_var(Role::Leaf), solver.dim_var(Role::Interior));
/// let three = solver.size(3);
/// let line = solver.add(Constraint::DimLe { res: three, opnd: a.into() });
/// if let Answer::Solved(closed) = solver.close() {
///     assert_eq!((closed.dim(a), closed.how_dim(a)), (Dim::sized(3), How::Leaf));
///     assert_eq!((closed.dim(b), closed.how_dim(b)), (Dim::Unit, How::Interior));
///     assert_eq!(closed.why_dim(a)[0].constraint(), Some(line));
/// }
/// // Looking changed nothing: `a` is still only bounded.
/// assert_eq!(solver.observe_dim(a), None);
/// ```
#[derive(Debug)]
pub struct Closed<'a> {
    solver: &'a mut Solver,
    mark: Mark,
    closing: Closing,
}

/// What closing leaves behind besides the solver's state.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    /// The preferred marker of each row variable.
    markers: Vec<u32>,
    /// Which of the caller's dimension variables, in their order, were ground before closing.
    forced_dims: Vec<bool>,
    /// Which rows were.
    forced_rows: Vec<bool>,
    /// What was open before.
    pub silent: Silence,
    pub unfilled: Vec<Unfilled>,
    pub gave_way: Vec<Unfilled>,
    searched: bool,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.solver.dims.closing = false;
        self.solver.undo(self.mark);
    }
}

impl Closed<'_> {
    /// The value of a dimension variable.
    pub fn dim(&self, var: DimVar) -> Dim {
        self.solver.closed_dim(var.into())
    }

    pub(crate) fn solver(&self) -> &Solver {
        self.solver
    }

    /// The marker of a row variable, which may have fewer axes.
    pub(crate) fn marker(&self, var: RowVar) -> u32 {
        let chosen = || self.closing.markers.get(var.index()).copied().unwrap_or(0);
        self.solver.rows.marker(var.0).unwrap_or_else(chosen)
    }

    /// The value of a row variable.
    pub fn row(&self, var: RowVar) -> Row {
        let solver = &*self.solver;
        let rank = solver.ranks.lo(var.0);
        let axes = (0..rank).map(|at| solver.closed_dim(solver.row_axis(var.0, at)));
        let marker = self.marker(var).min(rank) as usize;
        let axes: Vec<Dim> = axes.collect();
        Row::new(axes[..marker].iter().copied(), axes[marker..].iter().copied())
    }

    /// Calls `each` with every axis of a row term, from the front.
    pub fn each_axis(&self, row: RowTerm<'_>, mut each: impl FnMut(Dim)) {
        self.each_term(row, |term| each(self.solver.ground(term).unwrap_or(Dim::Unit)));
    }

    /// All dimensions that occur, by [`DimTerm::ground_index`].
    pub fn dims(&self) -> Vec<Dim> {
        let solver = &*self.solver;
        let atoms = (0..solver.atoms.len()).map(DimTerm::interned);
        let atoms = atoms.map(|atom| solver.ground(atom).unwrap_or(Dim::Unit));
        std::iter::once(Dim::Unit).chain(atoms).collect()
    }

    /// Calls `each` with every axis of a row term as a ground term, from the front;
    /// [`Closed::dims`] tells what it is.
    pub fn each_term(&self, row: RowTerm<'_>, mut each: impl FnMut(DimTerm)) {
        let solver = &*self.solver;
        let value = |term: DimTerm| {
            let value = solver.dims.resolve(term);
            if value.is_ground() && !value.is_none() { value } else { DimTerm::UNIT }
        };
        row.lead.iter().for_each(|axis| each(value(*axis)));
        if let Hole::Var(RowVar(var)) = row.hole {
            solver.each_row_axis(var, |axis| each(value(axis)));
        }
        row.trail.iter().for_each(|axis| each(value(*axis)));
    }

    /// The expression of a symbolic dimension.
    pub fn form(&self, id: FormId) -> Form {
        self.solver.final_form(id)
    }

    /// The range of a symbol, as far as the constraints narrow it.
    pub fn symbol_bounds(&self, symbol: Symbol) -> (u64, Option<u64>) {
        self.solver.symbol_bounds(symbol)
    }

    /// What holds only for some sizes of the symbols, and has to be checked when they are known.
    pub fn checks(&self) -> Vec<Check> {
        self.solver.remaining_checks()
    }

    /// Dimensions of leaves that are units because another leaf would have another size, and nothing says which of
    /// them has it. (Those of parameters are holes.)
    pub fn gave_way(&self) -> &[Unfilled] {
        &self.closing.gave_way
    }

    /// How a dimension variable came by its value.
    pub fn how_dim(&self, var: DimVar) -> How {
        let solver = &*self.solver;
        let made = solver.dim_vars.binary_search_by_key(&var.0, |(node, _)| *node);
        if made.is_ok_and(|at| self.closing.forced_dims.get(at) == Some(&true)) {
            return How::Forced;
        }
        let role = solver.dim_role(var);
        let closed = if role == Role::Interior { How::Interior } else { How::Leaf };
        if solver.dims.value(solver.dims.find(var.0)).is_none() {
            return closed;
        }
        let searched =
            |link: &Link| matches!(link.cause, explain::Cause::Policy(policy, _) if policy.is_search());
        match solver.dims.reason_at(solver.dims.value_reason(solver.dims.value_node(var.0))) {
            Some(Reason::Policy(_)) => How::Leaf,
            _ if self.closing.searched && self.why_dim(var).iter().any(searched) => How::Search,
            Some(Reason::FlowDown { .. } | Reason::FlowUp { .. }) => How::Leaf,
            _ => closed,
        }
    }

    /// How a row variable came by its value.
    pub fn how_row(&self, var: RowVar) -> How {
        let solver = &*self.solver;
        let policy = |step: u32| solver.policies.get(step as usize).map(|choice| choice.policy);
        if policy(solver.rows.marker_policy(var.0)) == Some(Policy::SearchMarker) {
            return How::Search;
        }
        if self.closing.forced_rows.get(var.index()) == Some(&true) {
            return How::Forced;
        }
        let by = |cause| if let Cause::Policy(step) = cause { policy(step) } else { None };
        match (by(solver.ranks.lo_cause(var.0)), by(solver.ranks.hi_cause(var.0))) {
            (Some(Policy::SearchRank), _) | (_, Some(Policy::SearchRank)) => How::Search,
            (Some(Policy::LeafRank), _) | (_, Some(Policy::LeafRank)) => How::Leaf,
            _ if solver.rows.role(var.0) != Role::Interior => How::Leaf,
            _ => How::Interior,
        }
    }

    /// The chain of constraints and policies that fixed a dimension variable.
    pub fn why_dim(&self, var: DimVar) -> Vec<Link> {
        self.solver.chain_dim(var)
    }

    /// The chain of constraints and policies that fixed a row variable.
    pub fn why_row(&self, var: RowVar) -> Vec<Link> {
        self.solver.chain_row(var)
    }

    /// Counters, including the work of closing.
    pub fn stats(&self) -> super::Stats {
        self.solver.stats()
    }
}

impl Solver {
    /// Closes every variable. The answer borrows the solver; when it is dropped, the solver is as it
    /// was before, ready for more constraints.
    pub fn close(&mut self) -> Answer<'_> {
        self.close_with(true)
    }

    /// Closes every variable, for values only: how they came about is not recorded, so
    /// [`Closed::how_dim`] and [`Closed::how_row`] call nothing forced. Cheaper on large systems.
    pub fn close_values(&mut self) -> Answer<'_> {
        self.close_with(false)
    }

    fn close_with(&mut self, history: bool) -> Answer<'_> {
        self.release();
        self.branches = 0;
        self.failures.clear();
        self.rivalries.clear();
        self.undecided = None;
        if let Some(conflict) = self.conflict {
            return self.refuse(conflict);
        }
        let mut closing = if history { self.forced() } else { Closing::default() };
        closing.silent = self.silence();
        let mark = self.mark();
        self.dims.closing = true;
        match self.close_policy(&mut closing.markers) {
            Ok(()) => return self.finish_closing(mark, closing),
            Err(Conflict::TooMuch(limit)) => {
                self.abandon(mark);
                return Answer::GaveUp(limit);
            }
            Err(Conflict::Short { support }) => {
                let short = self.short_row(support);
                self.abandon(mark);
                return Answer::Unsupported(short);
            }
            Err(_) => self.abandon(mark),
        }
        // Which choices are tried, and how many, must not depend on the order of the constraints: the
        // search runs on a copy in canonical order, and its decisions are taken over.
        let mut copy = self.subsystem(&self.canonical_order());
        let mut search = Search::new(self.budget.branches);
        let mut verdict = copy.solver.settle_choices(&mut search, &mut Vec::new());
        self.branches = search.failed;
        // A role chooses among solutions. If looking for the choice is too much, any solution will do.
        if verdict == Verdict::Unknown(Limit::Branches) && !self.rows.leaves().is_empty() {
            copy = self.subsystem(&self.canonical_order());
            copy.solver.rows.forget_roles();
            search = Search::new(self.budget.branches);
            verdict = copy.solver.settle_choices(&mut search, &mut Vec::new());
            self.branches += search.failed;
        }
        match verdict {
            Verdict::Satisfiable => {
                let mark = self.mark();
                self.dims.closing = true;
                closing.searched = true;
                let outcome = self.take_over(&copy, &mut closing.markers);
                let outcome = outcome.and_then(|()| self.close_sizes());
                // In another order, an equation may ask for a check that a choice must not ask for.
                if let Err(Conflict::TooMuch(limit)) = outcome {
                    self.abandon(mark);
                    return Answer::GaveUp(limit);
                }
                debug_assert!(outcome.is_ok(), "the decisions solved the same constraints");
                self.finish_closing(mark, closing)
            }
            Verdict::Unknown(limit) => Answer::GaveUp(limit),
            Verdict::Unsatisfiable => {
                let all = || (0..self.constraints.len() as u32).collect();
                let refuted = search.refuted.map(|ids| ids.iter().map(|id| copy.original_id(*id)).collect());
                Answer::Unsatisfiable(self.core_from(refuted.unwrap_or_else(all)))
            }
        }
    }

    /// Leaves closing without an answer.
    fn abandon(&mut self, mark: Mark) {
        self.undo(mark);
        self.dims.closing = false;
    }

    /// Decides ranks and markers as a copy of the system did.
    fn take_over(&mut self, copy: &Subsystem, markers: &mut Vec<u32>) -> Step {
        self.close_symbols()?;
        let least = self.choose(Policy::LeastRank, NIL);
        for row in 0..self.rows.len() as u32 {
            if self.rows.is_fixed(row) {
                continue;
            }
            let (rank, step) = match copy.row(RowVar(row)) {
                None => (self.ranks.lo(row), least),
                Some(RowVar(twin)) => {
                    let chosen =
                        copy.solver.rank_policy(twin).filter(|(policy, _)| *policy != Policy::LeastRank);
                    let step = chosen.map_or(least, |(policy, theirs)| self.adopt(copy, policy, theirs, row));
                    (copy.solver.ranks.lo(twin), step)
                }
            };
            self.ranks.at_least(&mut self.trail, row, rank, Pred::policy(step))?;
            self.ranks.at_most(&mut self.trail, row, i64::from(rank), Pred::policy(step))?;
        }
        self.propagate()?;
        for row in 0..self.rows.len() as u32 {
            if let Some(RowVar(twin)) = copy.row(RowVar(row))
                && self.rows.declared(row).is_none()
                && let Some(marker) = copy.solver.rows.marker(twin)
            {
                let theirs = copy.solver.rows.marker_policy(twin);
                let policy = copy.solver.policies.get(theirs as usize).map(|choice| choice.policy);
                let step = self.adopt(copy, policy.unwrap_or(Policy::PreferredMarker), theirs, row);
                self.rows.set_marker(&mut self.trail, row, marker, step);
                self.rows.wake(&self.ranks, row, &mut self.queue);
            }
        }
        self.propagate()?;
        *markers = self.final_markers(&self.rows.declared_markers());
        Ok(())
    }

    /// Records a policy step of a copy, with the failure that led to it, as one of this system.
    fn adopt(&mut self, copy: &Subsystem, policy: Policy, theirs: u32, row: u32) -> u32 {
        let step = self.choose(policy, row);
        if let Some(because) = copy.solver.failures.get(&theirs) {
            self.failures.insert(step, because.iter().map(|id| copy.original_id(*id)).collect());
        }
        step
    }

    /// The policy step that decided a row's rank, if one did directly.
    pub(crate) fn rank_policy(&self, row: u32) -> Option<(Policy, u32)> {
        let by = |cause| match cause {
            Cause::Policy(step) => self.policies.get(step as usize).map(|choice| (choice.policy, step)),
            _ => None,
        };
        by(self.ranks.lo_cause(row)).or_else(|| by(self.ranks.hi_cause(row)))
    }

    fn refuse(&mut self, conflict: Conflict) -> Answer<'_> {
        if let Conflict::TooMuch(limit) = conflict {
            return Answer::GaveUp(limit);
        }
        let blamed = self.blame(conflict).constraints;
        let core = match conflict {
            Conflict::RankCycle { .. } if blamed.len() > LONG_CYCLE => Core::rank_cycle(blamed),
            _ => self.core_from(blamed),
        };
        Answer::Unsatisfiable(core)
    }

    fn finish_closing(&mut self, mark: Mark, mut closing: Closing) -> Answer<'_> {
        self.close_dims(&mut closing);
        if let Some(short) = self.short_axis() {
            self.abandon(mark);
            return Answer::Unsupported(short);
        }
        let unfilled = std::mem::take(&mut closing.unfilled);
        let closed = Closed { solver: self, mark, closing };
        if unfilled.is_empty() { Answer::Solved(closed) } else { Answer::Underdetermined(closed, unfilled) }
    }

    fn forced(&self) -> Closing {
        let ground = |term: DimTerm| self.dims.resolve(term).is_ground();
        let row_is_ground = |row: u32| {
            self.rows.is_fixed(row) && (0..self.ranks.lo(row)).all(|at| ground(self.rows.axis(row, at)))
        };
        Closing {
            forced_dims: self.dim_vars.iter().map(|(node, _)| ground(DimTerm(*node))).collect(),
            forced_rows: (0..self.rows.len() as u32).map(row_is_ground).collect(),
            ..Closing::default()
        }
    }

    fn closed_dim(&self, term: DimTerm) -> Dim {
        if term.is_none() {
            return Dim::Unit;
        }
        self.ground(self.dims.resolve(term)).unwrap_or(Dim::Unit)
    }

    /// Named sizes, ranks, markers and sizes, with every choice at its first value.
    pub(crate) fn close_policy(&mut self, markers: &mut Vec<u32>) -> Step {
        self.close_symbols()?;
        self.close_ranks(markers)?;
        self.close_sizes()
    }

    /// Steps 1-4, with every choice at its first value.
    pub(crate) fn close_ranks(&mut self, markers: &mut Vec<u32>) -> Step {
        if self.rows.all_declared() {
            return self.close_ranks_in_place();
        }
        *markers = self.preferred_markers(self.rows.declared_markers());
        self.join_leaf_ranks(markers)?;
        self.close_counted_ranks()?;
        self.all_long_enough()?;
        let step = self.choose(Policy::LeastRank, NIL);
        for row in 0..self.rows.len() as u32 {
            if !self.rows.is_fixed(row) {
                let least = i64::from(self.ranks.lo(row));
                self.ranks.at_most(&mut self.trail, row, least, Pred::policy(step))?;
            }
        }
        self.propagate()?;
        *markers = self.preferred_markers(std::mem::take(markers));
        self.close_markers(markers)
    }

    /// Records a policy step.
    pub(crate) fn choose(&mut self, policy: Policy, row: u32) -> u32 {
        self.policies.push(Choice { policy, row });
        self.policies.len() as u32 - 1
    }

    /// Steps 1 and 2. Leaves take what their uses have; then counted rows divide up their elements, and
    /// leaves look again; then fillers take what there is.
    pub(crate) fn close_leaf_ranks(&mut self) -> Step {
        let leaf = |role: Role| matches!(role, Role::Leaf | Role::Param);
        self.raise_leaf_ranks(leaf)?;
        if self.close_counted_ranks()? {
            self.raise_leaf_ranks(leaf)?;
        }
        self.raise_leaf_ranks(|role| role == Role::Filler)?;
        self.all_long_enough()
    }

    /// Step 2. Rows whose elements are counted, or whose axes are listed: all but the one that takes the
    /// rest get no further axes, then that one gets what is missing.
    /// Returns whether there were any.
    fn close_counted_ranks(&mut self) -> Step<bool> {
        let mut rows: Vec<(bool, u32)> = Vec::new();
        for con in self.ariths.pending() {
            let arith = self.ariths.get(con);
            rows.extend(arith.rows().map(|row| (arith.rest() == Some(RowVar(row)), row)));
        }
        rows.sort_unstable();
        let mut decided = false;
        for (_, row) in rows {
            if !self.rows.is_fixed(row) {
                decided = true;
                let rank = self.counted_rank(row).unwrap_or_else(|| self.ranks.lo(row));
                let step = self.choose(Policy::CountedRank, row);
                self.ranks.at_least(&mut self.trail, row, rank, Pred::policy(step))?;
                self.ranks.at_most(&mut self.trail, row, i64::from(rank), Pred::policy(step))?;
                self.propagate()?;
            }
        }
        Ok(decided)
    }
}
