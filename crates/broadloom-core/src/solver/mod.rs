//! The solver (Formal Core, §4-6): constraints in, sizes and reasons out.
//!
//! Solving has two parts. *Propagation* runs as constraints are added and takes only semantic steps:
//! every fact it records is entailed. *Closing* ([`Solver::close`]) takes policy steps on a trail, so
//! that it can be undone: looking at final shapes changes nothing.
//!
//! [`Solver`] is the public face. The facts are kept in stores, which [`State`](stores::state::State) owns;
//! everything else is functions over that state, in layers. A module uses the modules above it in this table,
//! never one below; `tests/modules.rs` holds the table and checks it.
//!
//! | module | holds |
//! |---|---|
//! | `components` | strongly connected components of a graph |
//! | `stores` | the facts: classes of dimensions, ranks, rows, sizes, arithmetic, supports, symbols; reasons; the trail |
//! | `known`, `forms`, `canonical` | readings of the stores: sizes, sizes as expressions, an order that does not depend on arrival |
//! | `propagate` | the rules (Defs. 4.2 and 4.3, arithmetic, supports), and the loop that runs them |
//! | `stated`, `report` | the constraints read back; bindings and residual bounds (Thm. 5.6) |
//! | `subsystem` | some of the constraints as a system of their own; taking constraints back |
//! | `explain` | the constraints and policy steps behind a fact or a conflict |
//! | `closing` | the closing policy (Def. 6.1), step by step |
//! | `search` | choice points, when a policy step fails (Remark 6.7) |
//! | `cores` | minimal unsatisfiable cores; minimal chains |
//! | `shortest` | the shortest derivation of a size or a rank |
//! | `closed`, `close` | the answer; closing as a whole |

mod canonical;
mod close;
mod closed;
mod closing;
mod components;
mod cores;
mod explain;
mod forms;
mod known;
mod propagate;
mod report;
mod search;
mod shortest;
mod stated;
mod stores;
mod subsystem;

pub use closed::{Answer, Closed, How};
pub use closing::holes::Unfilled;
pub use closing::short::Short;
pub use cores::Core;
pub use cores::clash::Clash;
pub use explain::chain::{Cause, Link};
pub use report::{Binding, Bound, DimShape, Middle, Report, RowShape};
pub use shortest::{Derived, Written};
pub use stores::reason::{Limit, Policy};
pub use stores::state::{Budget, Point, Stats};
pub use stores::symbols::{Check, Need};

use close::close;
use cores::chains::{why_dim, why_row};
use forms::observe_form;
use known::{observe_symbol, size_bounds, symbol_bounds, symbol_var};
use propagate::add::add;
use propagate::held::{hold, release};
use report::{observe_dim, observe_row, report};
use stated::{each_constraint, is_discardable};
use stores::sizes::ANY;
use stores::state::State;
use subsystem::retract;

use crate::form::{Form, Symbol};
use crate::order::{Atom, Dim, FormId};
use crate::term::{Constraint, ConstraintId, DimTerm, DimVar, Role, RowVar};

/// A system of constraints, solved as it grows.
///
/// ```
/// use broadloom_core::{Answer, Constraint, Role, Solver, order::Dim};
/// let mut solver = Solver::new();
/// let a = solver.dim_var(Role::Leaf);
/// let three = solver.size(3);
/// solver.add(Constraint::DimLe { res: three, opnd: a.into() });
/// // Nothing forces `a`; as a leaf it closes to its cap.
/// let Answer::Solved(closed) = solver.close() else { panic!("satisfiable") };
/// assert_eq!(closed.dim(a), Dim::sized(3));
/// ```
///
/// Among equals, the variable made first goes first: a caller that
/// makes its variables in the order of their names gets answers that depend on names alone.
#[derive(Clone, Debug, Default)]
pub struct Solver {
    state: State,
}

impl Solver {
    /// An empty system.
    pub fn new() -> Solver {
        Solver::default()
    }

    /// An empty system with its own limits on search.
    pub fn with_budget(budget: Budget) -> Solver {
        Solver { state: State::with_budget(budget) }
    }

    /// Forgets every variable and constraint, and keeps the memory for the next system.
    ///
    /// ```
    /// # use broadloom_core::{Constraint, Role, Solver};
    /// let mut solver = Solver::new();
    /// let (a, three) = (solver.dim_var(Role::Leaf), solver.size(3));
    /// solver.add(Constraint::DimEq(a.into(), three));
    /// solver.clear();
    /// assert!(solver.is_empty());
    /// ```
    pub fn clear(&mut self) {
        self.state.clear()
    }

    /// A new dimension variable.
    pub fn dim_var(&mut self, role: Role) -> DimVar {
        self.state.dim_var(role)
    }

    /// A new dimension variable that may have size zero: a component of a concatenation that its
    /// operation may do without.
    pub fn discardable_var(&mut self, role: Role) -> DimVar {
        self.state.discardable_var(role)
    }

    /// True if a dimension variable may have size zero, because
    /// [`discardable_var`](Solver::discardable_var) made it.
    pub fn is_discardable(&self, var: DimVar) -> bool {
        is_discardable(&self.state, var)
    }

    /// A new row variable.
    pub fn row_var(&mut self, role: Role) -> RowVar {
        self.state.row_var(role)
    }

    /// The role that a row variable was made with.
    pub fn role(&self, row: RowVar) -> Role {
        self.state.rows.role(row)
    }

    /// The atom of a size with the default basis. Sizes are at least one; the unit is
    /// [`DimTerm::UNIT`].
    pub fn size(&mut self, size: u64) -> DimTerm {
        self.state.size(size)
    }

    /// An atom as a term.
    pub fn atom(&mut self, atom: Atom) -> DimTerm {
        self.state.atom(atom)
    }

    /// The ground dimension of a term, if it is one.
    pub fn ground(&self, term: DimTerm) -> Option<Dim> {
        self.state.ground(term)
    }

    /// Declares where the marker of a row variable stands: after its first `lead` axes, or after all of
    /// them if it has fewer. An undeclared marker is chosen by closing.
    ///
    /// Declare it before the variable is used in a constraint.
    pub fn declare_marker(&mut self, row: RowVar, lead: u32) {
        self.state.declare_marker(row, lead)
    }

    /// The declared place of a row variable's marker, if there is one.
    pub fn declared_marker(&self, row: RowVar) -> Option<u32> {
        self.state.declared_marker(row)
    }

    /// Records that a row meets an operand: by which row of it (none, if it has no axes there), and
    /// which other rows it has (none, if it is certain to have axes elsewhere). If the operand
    /// turns out to have axes, but none here, then no axes is an answer, and not a hole of a
    /// parameter; and a filler takes none.
    pub fn meets_no_axes(&mut self, row: RowVar, own: Option<RowVar>, beside: &[RowVar]) {
        self.state.meets_no_axes(row, own, beside)
    }

    /// A new symbol: a named size, which claims to be one and meets no other symbol. Its range is
    /// given by [`Constraint::AtLeast`](crate::Constraint::AtLeast) and
    /// [`Constraint::AtMost`](crate::Constraint::AtMost).
    ///
    /// ```
    /// use broadloom_core::{Answer, Constraint, Role, Solver, order::Dim};
    /// let mut solver = Solver::new();
    /// let (batch, a) = (solver.symbol(), solver.dim_var(Role::Leaf));
    /// solver.add(Constraint::AtMost(batch.into(), 64));
    /// solver.add(Constraint::DimLe { res: batch.into(), opnd: a.into() });
    /// let Answer::Solved(closed) = solver.close() else { panic!("satisfiable") };
    /// // The leaf takes what lies below it, and that is no number.
    /// assert_eq!(closed.dim(a), closed.dim(batch));
    /// assert!(matches!(closed.dim(a), Dim::Symbolic(_)));
    /// drop(closed);
    /// let eight = solver.size(8);
    /// solver.add(Constraint::DimEq(batch.into(), eight));
    /// let Answer::Solved(closed) = solver.close() else { panic!("8 is within the range") };
    /// assert_eq!(closed.dim(a), Dim::sized(8));
    /// ```
    pub fn symbol(&mut self) -> DimVar {
        self.state.symbol()
    }

    /// A new dynamic size: unknown until run time, unless something gives it a size or a name.
    pub fn dynamic(&mut self) -> DimVar {
        self.state.dynamic()
    }

    /// The symbol that a variable was made as, if it is one.
    pub fn symbol_of(&self, var: DimVar) -> Option<Symbol> {
        self.state.symbol_of(var)
    }

    /// The variable of a symbol.
    pub fn symbol_var(&self, symbol: Symbol) -> Option<DimVar> {
        symbol_var(&self.state, symbol)
    }

    /// True if a symbol is a dynamic size.
    pub fn is_dynamic(&self, symbol: Symbol) -> bool {
        self.state.is_dynamic(symbol)
    }

    /// Adds a constraint and takes every semantic step it allows.
    ///
    /// After a contradiction the solver is [failed](Solver::is_failed): constraints are still
    /// recorded, for the core, but no longer looked at.
    ///
    /// # Panics
    /// Variables and atoms belong to the solver that made them, until it is cleared; those of another
    /// may panic here.
    #[inline]
    pub fn add(&mut self, constraint: Constraint<'_>) -> ConstraintId {
        add(&mut self.state, constraint)
    }

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
        hold(&mut self.state)
    }

    /// Looks at the constraints that were held, if any were.
    pub fn release(&mut self) {
        release(&mut self.state)
    }

    /// The current point; [`retract`](Solver::retract) returns to it.
    pub fn point(&self) -> Point {
        self.state.point()
    }

    /// Forgets every variable and constraint made after a point. Variables made before keep their
    /// names. The rest is solved anew: meant for the rare case that a constraint has to be taken back.
    ///
    /// ```
    /// # use broadloom_core::{Constraint, Role, Solver};
    /// let mut solver = Solver::new();
    /// let (a, three, four) = (solver.dim_var(Role::Leaf), solver.size(3), solver.size(4));
    /// solver.add(Constraint::DimEq(a.into(), three));
    /// let before = solver.point();
    /// solver.add(Constraint::DimEq(a.into(), four));
    /// assert!(solver.is_failed());
    /// solver.retract(before);
    /// assert!(!solver.is_failed() && solver.observe_dim(a).is_some());
    /// ```
    pub fn retract(&mut self, point: Point) {
        retract(&mut self.state, point)
    }

    /// Calls `each` with every constraint as it was added, in the order of addition.
    ///
    /// ```
    /// use broadloom_core::{Affine, Constraint, Role, Solver};
    /// let mut solver = Solver::new();
    /// let (axis, over) = (solver.size(8), solver.dim_var(Role::Interior));
    /// let form = Affine::strided(2);
    /// solver.add(Constraint::Affine { axis, form, over: over.into(), kernel: None });
    /// let mut seen = Vec::new();
    /// solver.each_constraint(|constraint| match constraint {
    ///     Constraint::Affine { axis, form, over, .. } => seen.push((solver.ground(axis), form, over.var())),
    ///     _ => unreachable!("nothing else was said"),
    /// });
    /// assert_eq!(seen, [(solver.ground(axis), form, Some(over))]);
    /// ```
    pub fn each_constraint(&self, each: impl FnMut(Constraint<'_>)) {
        each_constraint(&self.state, each)
    }

    /// The number of constraints added.
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// True if no constraint was added.
    pub fn is_empty(&self) -> bool {
        self.state.is_empty()
    }

    /// True if the constraints so far have no solution, as far as semantic steps tell. (A system
    /// whose contradiction depends on open ranks is found out by [`close`](Solver::close).)
    pub fn is_failed(&self) -> bool {
        self.state.is_failed()
    }

    /// True if propagation stopped: by a contradiction, or at a limit. What is known then is partial.
    pub fn is_stuck(&self) -> bool {
        self.state.is_stuck()
    }

    /// The work done so far.
    pub fn stats(&self) -> Stats {
        self.state.stats()
    }

    /// The value of a dimension variable, if it is known by now. Changes nothing.
    pub fn observe_dim(&self, var: DimVar) -> Option<Dim> {
        observe_dim(&self.state, var)
    }

    /// The axes of a row variable, as far as they are known by now. Changes nothing, and costs no more than the row.
    pub fn observe_row(&self, var: RowVar) -> RowShape {
        observe_row(&self.state, var)
    }

    /// The known bounds on the size of a dimension variable: the least and, if there is one, the greatest.
    ///
    /// ```
    /// # use broadloom_core::{Constraint, Role, Solver};
    /// let mut solver = Solver::new();
    /// let (whole, part) = (solver.size(7), solver.dim_var(Role::Interior));
    /// let rest = solver.dim_var(Role::Interior);
    /// solver.add(Constraint::Concat { axis: whole, components: &[part.into(), rest.into()], literal: 2 });
    /// assert_eq!(solver.observe_size(part), (1, Some(4)));
    /// ```
    pub fn observe_size(&self, var: DimVar) -> (u64, Option<u64>) {
        let (lo, hi) = size_bounds(&self.state, var.into());
        (lo, (hi != ANY).then_some(hi))
    }

    /// The symbol that a dimension is known to be, specialised or not. Changes nothing.
    pub fn observe_symbol(&self, term: DimTerm) -> Option<Symbol> {
        observe_symbol(&self.state, term)
    }

    /// The size of a dimension as an expression over symbols, as far as the constraints so far say it by name
    /// and by one equation after another. A size that is known may have one too. Changes nothing.
    pub fn observe_form(&self, term: DimTerm) -> Option<Form> {
        observe_form(&self.state, term)
    }

    /// An expression over symbols that a final dimension refers to.
    ///
    /// # Panics
    /// If the id belongs to another solver.
    pub fn form(&self, id: FormId) -> &Form {
        self.state.form(id)
    }

    /// The range of a symbol, as far as the constraints narrow it.
    pub fn symbol_bounds(&self, symbol: Symbol) -> (u64, Option<u64>) {
        symbol_bounds(&self.state, symbol)
    }

    /// Bindings, residual bounds, and whether they are principal. Changes nothing.
    ///
    /// ```
    /// # use broadloom_core::{Constraint, Role, Solver};
    /// let mut solver = Solver::new();
    /// let (a, three) = (solver.dim_var(Role::Leaf), solver.size(3));
    /// solver.add(Constraint::DimLe { res: three, opnd: a.into() });
    /// // Example 3.5: `3 ⊑ a` binds nothing, and has no principal model.
    /// let report = solver.report();
    /// assert!(report.bindings.is_empty() && !report.principal);
    /// assert_eq!(report.residual.len(), 1);
    /// ```
    ///
    /// Of a solver that has stopped ([`Solver::is_stuck`]) there is nothing to tell: what is known then is
    /// partial, and a contradiction entails everything.
    pub fn report(&self) -> Report {
        report(&self.state)
    }

    /// The chain of constraints that forces a dimension variable, if they do: minimal, sources first.
    /// ([`Closed::why_dim`](super::Closed::why_dim) also has policies.)
    ///
    /// ```
    /// # use broadloom_core::{Constraint, Role, Solver};
    /// let mut solver = Solver::new();
    /// let (a, b) = (solver.dim_var(Role::Leaf), solver.dim_var(Role::Leaf));
    /// let three = solver.size(3);
    /// let equal = solver.add(Constraint::DimEq(a.into(), b.into()));
    /// let sized = solver.add(Constraint::DimEq(a.into(), three));
    /// let chain = solver.why_dim(b).expect("forced");
    /// assert!(chain.contains(&equal) && chain.contains(&sized));
    /// ```
    pub fn why_dim(&self, var: DimVar) -> Option<Vec<ConstraintId>> {
        why_dim(&self.state, var)
    }

    /// The chain of constraints that forces the axes of a row variable, if they do.
    pub fn why_row(&self, var: RowVar) -> Option<Vec<ConstraintId>> {
        why_row(&self.state, var)
    }

    /// Closes every variable. The answer borrows the solver; when it is dropped, the solver is as it
    /// was before, ready for more constraints.
    pub fn close(&mut self) -> Answer<'_> {
        close(&mut self.state, true)
    }

    /// Closes every variable, for values only: how they came about is not recorded, so
    /// [`Closed::how_dim`] and [`Closed::how_row`] call nothing forced. Cheaper on large systems.
    pub fn close_values(&mut self) -> Answer<'_> {
        close(&mut self.state, false)
    }
}
