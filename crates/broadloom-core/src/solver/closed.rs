//! The answer of closing, and a closed system to read values and reasons from.

use crate::form::{Form, Symbol};
use crate::ids::{IdVec, StepId};
use crate::order::{Dim, FormId, Row};
use crate::solver::closing::holes::{Gaps, Silence, Unfilled};
use crate::solver::closing::short::Short;
use crate::solver::closing::symbols::{final_form, remaining_checks};
use crate::solver::cores::Core;
use crate::solver::explain::chain::Cause;
use crate::solver::explain::chain::{Link, chain_dim, chain_row};
use crate::solver::known::symbol_bounds;
use crate::solver::report::DimShape;
use crate::solver::shortest::{Derived, policy_of, shortest_dim, shortest_rank};
use crate::solver::stores::ranks::RankCause;
use crate::solver::stores::reason::{Limit, Policy, Reason};
use crate::solver::stores::state::{Mark, State, Stats};
use crate::solver::stores::symbols::Check;
use crate::term::{DimTerm, DimVar, Hole, Role, RowTerm, RowVar};

/// The answer of closing.
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

/// The way in which a variable got its value.
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
    pub(crate) state: &'a mut State,
    pub(crate) mark: Mark,
    pub(crate) closing: Closing,
}

/// The results of closing besides the solver's state.
#[derive(Debug, Default)]
pub(crate) struct Closing {
    /// The preferred marker of each row variable.
    pub markers: IdVec<RowVar, u32>,
    /// Marks the caller's dimension variables, in their order, that were ground before closing.
    pub forced_dims: Vec<bool>,
    /// Marks the rows that were.
    pub forced_rows: Vec<bool>,
    /// The parameters that no constraint restricted before.
    pub silence: Silence,
    pub gaps: Gaps,
    pub searched: bool,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.state.dims.closing = false;
        self.state.undo(self.mark);
    }
}

impl Closed<'_> {
    /// The value of a dimension variable.
    pub fn dim(&self, var: DimVar) -> Dim {
        closed_dim(self.state, var.into())
    }

    /// The marker of a row variable, which may have fewer axes.
    pub(crate) fn marker(&self, var: RowVar) -> u32 {
        let chosen = || self.closing.markers.get(var).copied().unwrap_or(0);
        self.state.rows.marker(var).unwrap_or_else(chosen)
    }

    /// The value of a row variable.
    pub fn row(&self, var: RowVar) -> Row {
        let state = &*self.state;
        let rank = state.ranks.lo(var);
        let axes = (0..rank).map(|at| closed_dim(state, state.row_axis(var, at)));
        let marker = self.marker(var).min(rank) as usize;
        let axes: Vec<Dim> = axes.collect();
        Row::new(axes[..marker].iter().copied(), axes[marker..].iter().copied())
    }

    /// Calls `each` with every axis of a row term, from the front.
    pub fn each_axis(&self, row: RowTerm<'_>, mut each: impl FnMut(Dim)) {
        self.each_term(row, |term| each(self.state.ground(term).unwrap_or(Dim::Unit)));
    }

    /// All dimensions that occur, by [`DimTerm::ground_index`].
    pub fn dims(&self) -> Vec<Dim> {
        let state = &*self.state;
        let atoms = state.atoms.ids().map(DimTerm::interned);
        let atoms = atoms.map(|atom| state.ground(atom).unwrap_or(Dim::Unit));
        std::iter::once(Dim::Unit).chain(atoms).collect()
    }

    /// Calls `each` with every axis of a row term as a ground term, from the front;
    /// [`Closed::dims`] tells what it is.
    pub fn each_term(&self, row: RowTerm<'_>, mut each: impl FnMut(DimTerm)) {
        let state = &*self.state;
        let value = |term: DimTerm| {
            let value = state.dims.resolve(term);
            if value.is_ground() && !value.is_none() { value } else { DimTerm::UNIT }
        };
        row.lead.iter().for_each(|axis| each(value(*axis)));
        if let Hole::Var(var) = row.hole {
            state.each_row_axis(var, |axis| each(value(axis)));
        }
        row.trail.iter().for_each(|axis| each(value(*axis)));
    }

    /// The expression of a symbolic dimension.
    pub fn form(&self, id: FormId) -> Form {
        final_form(self.state, id)
    }

    /// The range of a symbol, as far as the constraints narrow it.
    pub fn symbol_bounds(&self, symbol: Symbol) -> (u64, Option<u64>) {
        symbol_bounds(self.state, symbol)
    }

    /// The conditions that hold only for some sizes of the symbols, and have to be checked when they are known.
    pub fn checks(&self) -> Vec<Check> {
        remaining_checks(self.state)
    }

    /// Dimensions of leaves that are units because another leaf would have another size, and nothing says which of
    /// them has it. (Those of parameters are holes.)
    pub fn gave_way(&self) -> &[Unfilled] {
        &self.closing.gaps.gave_way
    }

    /// The way in which a dimension variable got its value.
    pub fn how_dim(&self, var: DimVar) -> How {
        let state = &*self.state;
        let made = state.dim_vars.binary_search_by_key(&var, |(node, _)| *node);
        if made.is_ok_and(|at| self.closing.forced_dims.get(at) == Some(&true)) {
            return How::Forced;
        }
        let role = state.dim_role(var);
        let closed = if role == Role::Interior { How::Interior } else { How::Leaf };
        if state.dims.value(state.dims.find(var)).is_none() {
            return closed;
        }
        let searched = |link: &Link| matches!(link.cause, Cause::Policy(policy, _) if policy.is_search());
        match state.dims.reason_at(state.dims.value_reason(state.dims.value_node(var))) {
            Some(Reason::Policy(_)) => How::Leaf,
            _ if self.closing.searched && self.why_dim(var).iter().any(searched) => How::Search,
            Some(Reason::FlowDown { .. } | Reason::FlowUp { .. }) => How::Leaf,
            _ => closed,
        }
    }

    /// The way in which a row variable got its value.
    pub fn how_row(&self, var: RowVar) -> How {
        let state = &*self.state;
        let policy = |step: StepId| state.policies.get(step).map(|choice| choice.policy);
        if policy(state.rows.marker_policy(var)) == Some(Policy::SearchMarker) {
            return How::Search;
        }
        if self.closing.forced_rows.get(var.index()) == Some(&true) {
            return How::Forced;
        }
        let by = |cause| if let RankCause::Policy(step) = cause { policy(step) } else { None };
        match (by(state.ranks.lo_cause(var)), by(state.ranks.hi_cause(var))) {
            (Some(Policy::SearchRank), _) | (_, Some(Policy::SearchRank)) => How::Search,
            (Some(Policy::LeafRank), _) | (_, Some(Policy::LeafRank)) => How::Leaf,
            _ if state.rows.role(var) != Role::Interior => How::Leaf,
            _ => How::Interior,
        }
    }

    /// The chain of constraints and policies that fixed a dimension variable.
    pub fn why_dim(&self, var: DimVar) -> Vec<Link> {
        chain_dim(self.state, var)
    }

    /// The chain of constraints and policies that fixed a row variable.
    pub fn why_row(&self, var: RowVar) -> Vec<Link> {
        chain_row(self.state, var)
    }

    /// Counters, including the work of closing.
    pub fn stats(&self) -> Stats {
        self.state.stats()
    }
}

fn closed_dim(state: &State, term: DimTerm) -> Dim {
    if term.is_none() {
        return Dim::Unit;
    }
    state.ground(state.dims.resolve(term)).unwrap_or(Dim::Unit)
}

/// Derivations and policies of a closed system.
impl Closed<'_> {
    /// The shortest chain that leads to the value of a dimension; empty if nothing says what it is.
    ///
    /// ```
    /// # use broadloom_core::{Answer, Cause, Constraint, DimShape, Policy, Role, Solver};
    /// let mut solver = Solver::new();
    /// let (a, b, c) = (solver.dim_var(Role::Leaf), solver.dim_var(Role::Leaf), solver.dim_var(Role::Leaf));
    /// let three = solver.size(3);
    /// let vars = [a, b, c].map(|var| var.into());
    /// solver.add(Constraint::DimEq(vars[0], three));
    /// solver.add(Constraint::DimEq(vars[0], vars[1]));
    /// solver.add(Constraint::DimEq(vars[1], vars[2]));
    /// let direct = solver.add(Constraint::DimEq(vars[2], three));
    /// let Answer::Solved(closed) = solver.close() else { panic!("satisfiable") };
    /// let chain = closed.shortest_dim(DimShape::Var(c));
    /// assert_eq!(chain.len(), 1);
    /// assert_eq!(chain[0].cause, Cause::Constraint(direct));
    /// ```
    pub fn shortest_dim(&self, dim: DimShape) -> Vec<Derived> {
        shortest_dim(self.state, |row| self.marker(row), dim)
    }

    /// The shortest chain that leads to the number of axes of a row variable.
    pub fn shortest_rank(&self, row: RowVar) -> Vec<Derived> {
        shortest_rank(self.state, row)
    }

    /// The policy step that gave an axis its value, if one did directly.
    pub fn policy_of(&self, dim: DimShape) -> Option<Policy> {
        policy_of(self.state, dim)
    }

    /// The policy step that decided how many axes a row variable has, if one did directly.
    pub fn rank_policy_of(&self, row: RowVar) -> Option<Policy> {
        self.state.rank_policy(row).map(|(policy, _)| policy)
    }

    /// True if anything was decided without a reason: a size that arithmetic leaves open, the axes of what is only
    /// counted, a number of axes that took a search.
    pub fn has_guessed(&self) -> bool {
        let guess =
            |policy: Policy| matches!(policy, Policy::GuessedSize | Policy::CountedRank | Policy::SearchRank);
        self.state.policies.iter().any(|choice| guess(choice.policy))
    }

    /// The number of axes of a row variable.
    pub fn rank(&self, row: RowVar) -> u32 {
        self.state.ranks.lo(row)
    }
}
