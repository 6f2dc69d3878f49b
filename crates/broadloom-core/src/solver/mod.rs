//! The solver (Formal Core, §4-6): constraints in, sizes and reasons out.
//!
//! Solving has two parts. *Propagation* runs as constraints are added and takes only semantic steps:
//! every fact it records is entailed. *Closing* ([`Solver::close`]) takes policy steps on a trail, so
//! that it can be undone: looking at final shapes changes nothing.
//!
//! The state is three stores that know nothing of each other, and the rules that join them:
//!
//! | file | holds |
//! |---|---|
//! | `dims` | classes of dimension variables, values, caps, adjacencies (Def. 4.2) |
//! | `ranks` | difference constraints on ranks, least and greatest solution (Def. 5.2.1) |
//! | `rows` | axes and markers of row variables, row constraints and who waits for what |
//! | `symbols` | named and dynamic sizes, and the expressions over them |
//! | `sizes`, `arith`, `joint` | bounds on sizes; affine axes, concatenation, counts, listed axes |
//! | `align` | the row rules (Def. 4.3), which turn rows into dimensions |
//! | `support` | results that are made of their operands |
//! | `closing` | the closing policy (Def. 6.1), step by step |
//! | `leaf_ranks`, `leaf_dims`, `guess` | how many axes leaves take, which sizes, and sizes that arithmetic leaves open |
//! | `extents`, `markers` | the same where nobody declared markers; those markers |
//! | `in_place` | closing of ranks where every marker is declared |
//! | `holes` | what parameters lack |
//! | `residues` | what a row's shifted constraints with itself say, whatever its rank |
//! | `search` | choice points, when a policy step fails (Remark 6.7) |
//! | `explain`, `shortest` | reasons read back: the chain behind a fact; the shortest one |
//! | `cores` | minimal unsatisfiable cores |
//! | `together` | constraints that arrive together |
//! | `components` | strongly connected components, for cycles of adjacencies |
//! | `report` | bindings and residual bounds (Thm. 5.6) |
//! | `stated` | the constraints, read back |

mod align;
mod arith;
mod closing;
mod components;
mod contents;
mod cores;
mod dims;
mod explain;
mod extents;
mod guess;
mod holes;
mod in_place;
mod joint;
mod leaf_dims;
mod leaf_ranks;
mod markers;
mod ranks;
mod reason;
mod report;
mod residues;
mod rows;
mod search;
mod shortest;
mod sizes;
mod stated;
mod support;
mod symbols;
mod together;
mod trail;

pub(crate) use arith::gcd;
pub use closing::{Answer, Closed, How, Short, Unfilled};
pub use cores::{Clash, Core};
pub use explain::{Cause, Link};
pub use reason::{Limit, Policy};
pub use report::{Binding, Bound, DimShape, Middle, Report, RowShape};
pub use shortest::{Derived, Written};

pub use symbols::{Check, Need};

use arith::{Arith, Ariths, Item};
use dims::{Dims, DimsMark};
use ranks::Ranks;
use reason::{Conflict, NIL, Reason, ReasonId, Step};
use rows::{Kind, Rows, RowsMark};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use support::{Supports, SupportsMark};
use symbols::Symbols;
use trail::{Floor, Trail};

use crate::order::{Atom, Basis, Dim};
use crate::term::{Constraint, ConstraintId, DimTerm, DimVar, Hole, Role, RowTerm, RowVar};

/// How much a solver may spend before it gives up.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Failed branches of the search.
    pub branches: u64,
    /// Axes laid out for row variables, besides a few for each constraint: bounds memory on systems
    /// that ask for enormous ranks.
    pub axes: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { branches: 100_000, axes: 1 << 22 }
    }
}

/// Counters of the work done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Constraints added.
    pub constraints: u64,
    /// Units of work: alignments, events, adjacencies and rank nodes looked at.
    pub steps: u64,
    /// Branches of the search that failed; zero on the usual program.
    pub branches: u64,
    /// Bytes held by the solver's stores.
    pub bytes: u64,
}

/// Where an added constraint is kept.
#[derive(Clone, Copy)]
enum Stored {
    DimEq(DimTerm, DimTerm),
    DimLe(DimTerm, DimTerm),
    Row(u32),
    AtLeast(DimTerm, u64),
    AtMost(DimTerm, u64),
    Arith(u32),
    Support(u32),
}

/// The added constraints, in order: a word each for the many that are about rows, which are kept
/// elsewhere, and a place in a list of their own for the others.
#[derive(Clone, Default)]
struct Constraints {
    words: Vec<u32>,
    others: Vec<Stored>,
}

impl Constraints {
    const OTHER: u32 = 1 << 31;

    fn len(&self) -> usize {
        self.words.len()
    }

    fn push(&mut self, stored: Stored) {
        let word = match stored {
            Stored::Row(con) => con,
            other => {
                self.others.push(other);
                Self::OTHER | (self.others.len() as u32 - 1)
            }
        };
        self.words.push(word);
    }

    fn get(&self, id: u32) -> Stored {
        let word = self.words[id as usize];
        if word & Self::OTHER == 0 { Stored::Row(word) } else { self.others[(word & !Self::OTHER) as usize] }
    }

    fn clear(&mut self) {
        self.words.clear();
        self.others.clear();
    }

    fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u32>() + self.others.capacity() * size_of::<Stored>()
    }
}

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
/// Where a choice must be made among equals, the variable made first goes first: a caller that
/// makes its variables in the order of their names gets answers that depend on names alone.
#[derive(Clone, Default)]
pub struct Solver {
    dims: Dims,
    ranks: Ranks,
    rows: Rows,
    ariths: Ariths,
    supports: Supports,
    symbols: Symbols,
    trail: Trail,
    /// Variables that may have size zero.
    discardable: FxHashSet<u32>,
    /// Role of each dimension variable the caller made; the solver's own nodes come between them.
    dim_vars: Vec<(u32, Role)>,
    /// Those of leaves and parameters.
    leaf_dims: Vec<(u32, Role)>,
    atoms: Vec<Atom>,
    atom_ids: FxHashMap<Atom, u32>,
    constraints: Constraints,
    /// Row constraints to align.
    queue: Vec<u32>,
    /// While constraints are held: the first row constraint of them, and those that bound a rank.
    held: Option<u32>,
    held_bounds: Vec<u32>,
    conflict: Option<Conflict>,
    policies: Vec<search::Choice>,
    /// Per policy step that search took, the constraints behind the failure of its last rival.
    failures: FxHashMap<u32, Vec<u32>>,
    /// Per policy step that relaxed a leaf, why it had to give way.
    rivalries: FxHashMap<u32, leaf_dims::Rivalry>,
    /// Dimensions of parameters that had no size when guessing began.
    undecided: Option<Vec<u32>>,
    absences: Vec<Absence>,
    /// Closed terms whose marker is not at the left edge; without any, markers need no thought.
    declared_markers: bool,
    budget: Budget,
    /// Axes laid out or spoken of, against the budget.
    axes_spent: u64,
    steps: u64,
    branches: u64,
}

impl std::fmt::Debug for Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solver").field("stats", &self.stats()).field("failed", &self.is_failed()).finish()
    }
}

/// A row that meets an operand which may have no axes there: see [`Solver::meets_no_axes`].
#[derive(Clone)]
struct Absence {
    row: u32,
    /// The operand's row, or `NIL` if it certainly has no axes.
    own: u32,
    /// Its other rows, or none if it certainly has axes there.
    beside: SmallVec<[u32; 2]>,
}

/// How much had been said to a solver at some time.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    absences: usize,
    constraints: usize,
    dims: usize,
    rows: usize,
}

/// A point to return to.
#[derive(Clone, Copy, Debug)]
struct Mark {
    entries: usize,
    dims: DimsMark,
    rows: RowsMark,
    supports: SupportsMark,
    policies: usize,
    axes: u64,
    moves: u64,
    /// What closing relied on by then.
    checks: usize,
    /// The floor of the mark around this one.
    floor: Floor,
}

impl Solver {
    /// An empty system.
    pub fn new() -> Solver {
        Solver::default()
    }

    /// An empty system with its own limits on search.
    pub fn with_budget(budget: Budget) -> Solver {
        Solver { budget, ..Solver::default() }
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
        self.dims.clear();
        self.ranks.clear();
        self.rows.clear();
        self.ariths.clear();
        self.supports.clear();
        self.symbols.clear();
        self.discardable.clear();
        self.trail = Trail::default();
        self.dim_vars.clear();
        self.leaf_dims.clear();
        self.atoms.clear();
        self.atom_ids.clear();
        self.constraints.clear();
        self.queue.clear();
        self.held = None;
        self.held_bounds.clear();
        self.conflict = None;
        self.policies.clear();
        self.failures.clear();
        self.rivalries.clear();
        self.absences.clear();
        self.declared_markers = false;
        (self.axes_spent, self.steps, self.branches) = (0, 0, 0);
    }

    /// A new dimension variable.
    pub fn dim_var(&mut self, role: Role) -> DimVar {
        let node = self.dims.fresh();
        self.name_dim(node, role)
    }

    fn name_dim(&mut self, node: u32, role: Role) -> DimVar {
        self.dim_vars.push((node, role));
        if role != Role::Interior {
            self.leaf_dims.push((node, role));
        }
        DimVar(node)
    }

    /// A new dimension variable that may have size zero: a component of a concatenation that its
    /// operation may do without.
    pub fn discardable_var(&mut self, role: Role) -> DimVar {
        let node = self.dims.fresh_discardable();
        self.discardable.insert(node);
        self.name_dim(node, role)
    }

    /// Declares where the marker of a row variable stands: after its first `lead` axes, or after all of
    /// them if it has fewer. An undeclared marker is chosen by closing.
    ///
    /// Declare it before the variable is used in a constraint.
    pub fn declare_marker(&mut self, row: RowVar, lead: u32) {
        self.declared_markers |= lead > 0;
        self.rows.declare_marker(row.0, lead);
    }

    /// The declared place of a row variable's marker, if there is one.
    pub fn declared_marker(&self, row: RowVar) -> Option<u32> {
        self.rows.declared(row.0)
    }

    /// Says that a row meets an operand: by which row of it (none, if it has no axes there), and what other rows it
    /// has (none, if it is certain to have axes elsewhere). If the operand turns out to have axes, but none here,
    /// then no axes is an answer, and not a hole of a parameter; and a filler takes none.
    pub fn meets_no_axes(&mut self, row: RowVar, own: Option<RowVar>, beside: &[RowVar]) {
        let own = own.map_or(NIL, |own| own.0);
        self.absences.push(Absence { row: row.0, own, beside: beside.iter().map(|row| row.0).collect() });
    }

    /// What is known of the size of a dimension variable: the least and, if there is one, the greatest.
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
        let (lo, hi) = self.size_bounds(var.into());
        (lo, (hi != sizes::ANY).then_some(hi))
    }

    /// What has been said so far; [`retract`](Solver::retract) returns to it.
    pub fn point(&self) -> Point {
        Point {
            absences: self.absences.len(),
            constraints: self.constraints.len(),
            dims: self.dim_vars.len(),
            rows: self.rows.len(),
        }
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
        let mut fresh = Solver::with_budget(self.budget);
        fresh.atoms = std::mem::take(&mut self.atoms);
        fresh.atom_ids = std::mem::take(&mut self.atom_ids);
        fresh.dims.zero = self.dims.zero;
        let symbols = self.symbols.clone();
        fresh.symbols = std::mem::take(&mut self.symbols).without_nodes();
        for row in (0..point.rows as u32).map(RowVar) {
            let copy = fresh.row_var(self.rows.role(row.0));
            if let Some(lead) = self.rows.declared(row.0) {
                fresh.declare_marker(copy, lead);
            }
        }
        // The solver's own nodes come between the caller's; made in the same order, all are the same.
        let mut dims = self.dim_vars[..point.dims].iter().peekable();
        let mut make = |fresh: &mut Solver, all: bool| {
            while let Some((node, role)) = dims.next_if(|(node, _)| all || *node == fresh.dims.len() as u32) {
                let discardable = self.discardable.contains(node);
                if let Some(symbol) = symbols.made_at(*node) {
                    fresh.make_symbol(symbol, symbols.is_dynamic(symbol))
                } else if discardable {
                    fresh.discardable_var(*role)
                } else {
                    fresh.dim_var(*role)
                };
            }
        };
        for id in 0..point.constraints as u32 {
            make(&mut fresh, false);
            self.add_copy(&mut fresh, id, &|dim| dim, &|row| row);
        }
        make(&mut fresh, true);
        fresh.absences = std::mem::take(&mut self.absences);
        fresh.absences.truncate(point.absences);
        *self = fresh;
    }

    /// A new row variable.
    pub fn row_var(&mut self, role: Role) -> RowVar {
        self.ranks.fresh();
        RowVar(self.rows.fresh(role))
    }

    /// The atom of a size with the default basis. Sizes are at least one; the unit is
    /// [`DimTerm::UNIT`].
    pub fn size(&mut self, size: u64) -> DimTerm {
        self.atom(Atom { size, basis: Basis::DEFAULT })
    }

    /// An atom as a term.
    pub fn atom(&mut self, atom: Atom) -> DimTerm {
        let next = self.atoms.len() as u32;
        let id = *self.atom_ids.entry(atom).or_insert(next);
        let term = DimTerm::interned(id as usize);
        if id == next {
            self.atoms.push(atom);
            if atom.size == 0 {
                self.dims.zero = Some(term);
            }
        }
        term
    }

    /// The ground dimension of a term, if it is one.
    pub fn ground(&self, term: DimTerm) -> Option<Dim> {
        match term.atom_index() {
            Some(atom) => {
                let atom = self.atoms[atom];
                Some(self.symbols.dim(term, atom.basis).map_or(Dim::Atom(atom), Dim::Symbolic))
            }
            None => (term == DimTerm::UNIT).then_some(Dim::Unit),
        }
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
        let id = self.constraints.len() as u32;
        let outcome = match constraint {
            Constraint::RowEq(a, b) => self.add_row(Kind::Eq, a, b, id),
            Constraint::RowLe { res, opnd } => self.add_row(Kind::Le, res, opnd, id),
            other => self.add_other(other, id),
        };
        if outcome.is_err() {
            self.fail(outcome);
        }
        ConstraintId(id)
    }

    /// Adds a constraint that is not about two rows.
    fn add_other(&mut self, constraint: Constraint<'_>, id: u32) -> Step {
        let reason = ReasonId::constraint(id);
        match constraint {
            Constraint::DimEq(a, b) => {
                self.constraints.push(Stored::DimEq(a, b));
                if self.conflict.is_some() {
                    return Ok(());
                }
                self.dims.equate(&mut self.trail, a, b, reason)?;
                self.propagate()
            }
            Constraint::DimLe { res, opnd } => {
                self.constraints.push(Stored::DimLe(res, opnd));
                if self.conflict.is_some() {
                    return Ok(());
                }
                self.dims.refine(&mut self.trail, res, opnd, reason)?;
                self.propagate()
            }
            Constraint::AtLeast(dim, least) => {
                self.constraints.push(Stored::AtLeast(dim, least));
                if self.conflict.is_some() { Ok(()) } else { self.at_least(dim, least, id) }
            }
            Constraint::AtMost(dim, most) => {
                self.constraints.push(Stored::AtMost(dim, most));
                if self.conflict.is_some() { Ok(()) } else { self.at_most(dim, most, id) }
            }
            Constraint::MadeOf { res, opnds } => {
                self.release();
                self.constraints.push(Stored::Support(self.supports.len()));
                self.add_support(res, opnds, id)
            }
            other => {
                self.release();
                self.constraints.push(Stored::Arith(self.ariths.len()));
                arithmetic(other).map_or(Ok(()), |what| self.add_arith(what, id))
            }
        }
    }

    /// Adds an arithmetic constraint in the form it is kept in.
    fn add_stored(&mut self, what: Arith) -> ConstraintId {
        let id = self.constraints.len() as u32;
        self.release();
        self.constraints.push(Stored::Arith(self.ariths.len()));
        let outcome = self.add_arith(what, id);
        self.fail(outcome);
        ConstraintId(id)
    }

    fn add_row(&mut self, kind: Kind, res: RowTerm<'_>, opnd: RowTerm<'_>, id: u32) -> Step {
        self.declared_markers |= opnd.hole == Hole::Marker && !opnd.lead.is_empty();
        self.declared_markers |= kind == Kind::Eq && res.hole == Hole::Marker && !res.lead.is_empty();
        let (res, opnd) = (self.rows.store(res), self.rows.store(opnd));
        let fresh = kind == Kind::Le && self.is_fresh_result(res, opnd);
        let con = self.rows.watch(kind, res, opnd, id);
        self.constraints.push(Stored::Row(con));
        if self.conflict.is_some() {
            return Ok(());
        }
        if self.held.is_some() {
            return self.hold_row(con);
        }
        if fresh {
            self.align_fresh(con)?;
            return if self.dims.woken.is_empty() { Ok(()) } else { self.propagate() };
        }
        // Ranks first: a row must not be bound to axes it cannot have.
        self.rank_facts(con)?;
        if kind == Kind::Eq {
            self.bind_middle(con)?;
        }
        if self.ranks.touched.is_empty() && self.ranks.moved.is_empty() {
            self.align(con)?;
            if self.dims.woken.is_empty() {
                return Ok(());
            }
        } else {
            self.rows.set_queued(con, true);
            self.queue.push(con);
        }
        self.propagate()
    }

    fn fail(&mut self, outcome: Step) {
        if let Err(conflict) = outcome {
            self.settle_down();
            self.conflict.get_or_insert(conflict);
        }
    }

    /// Whether the constraints so far have no solution, as far as semantic steps tell. (A system
    /// whose contradiction depends on open ranks is found out by [`close`](Solver::close).)
    pub fn is_failed(&self) -> bool {
        self.conflict.is_some_and(|conflict| !matches!(conflict, Conflict::TooMuch(_)))
    }

    /// Whether propagation stopped: by a contradiction, or at a limit. What is known then is partial.
    pub fn is_stuck(&self) -> bool {
        self.conflict.is_some()
    }

    /// The role a dimension variable was made with; the solver's own are interior.
    fn dim_role(&self, var: DimVar) -> Role {
        let made = self.dim_vars.binary_search_by_key(&var.0, |(node, _)| *node);
        made.map_or(Role::Interior, |at| self.dim_vars[at].1)
    }

    /// The number of constraints added.
    pub fn len(&self) -> usize {
        self.constraints.len()
    }

    /// Whether no constraint was added.
    pub fn is_empty(&self) -> bool {
        self.constraints.len() == 0
    }

    /// The work done so far.
    pub fn stats(&self) -> Stats {
        Stats {
            constraints: self.constraints.len() as u64,
            steps: self.steps + self.dims.steps + self.ranks.steps,
            branches: self.branches,
            bytes: (self.dims.bytes()
                + self.ranks.bytes()
                + self.rows.bytes()
                + self.supports.bytes()
                + self.constraints.bytes()) as u64,
        }
    }

    /// Runs every constraint that a rank event woke, to the fixpoint.
    fn propagate(&mut self) -> Step {
        if self.held.is_some() {
            return Ok(());
        }
        loop {
            while let Some(row) = self.ranks.touched.pop() {
                self.settle(row)?;
            }
            if let Some(con) = self.queue.pop() {
                self.rows.set_queued(con, false);
                self.align(con)?;
            } else if let Some(row) = self.ranks.moved.pop() {
                self.supports.wake(row);
            } else if let Some(support) = self.supports.pop() {
                self.run_support(support)?;
            } else if let Some(clause) = self.supports.pop_clause() {
                self.run_clause(clause)?;
            } else if self.ariths.is_empty() && self.dims.woken.is_empty() {
                return Ok(());
            } else if let Some(class) = self.dims.woken.pop() {
                self.sized(class)?;
            } else if let Some(con) = self.ariths.pop() {
                self.run_arith(con)?;
            } else {
                return Ok(());
            }
        }
    }

    /// A row's least rank rose, or its rank became fixed: lay out its axes and wake who waits.
    fn settle(&mut self, row: u32) -> Step {
        if let Some(rank) = self.ranks.fixed(row)
            && !self.rows.is_fixed(row)
        {
            self.spend(rank)?;
            for (at, front, back) in self.rows.lay_out(&mut self.trail, row, rank) {
                let reason = self.dims.reason(Reason::Overlap { row, at });
                self.dims.equate(&mut self.trail, front, back, reason)?;
            }
        }
        self.rows.wake(&self.ranks, row, &mut self.queue);
        self.ariths.enqueue_row(row);
        Ok(())
    }

    /// Takes axes from the budget, which grows with the system.
    fn spend(&mut self, axes: u32) -> Step {
        const EACH: u64 = 64;
        self.axes_spent += u64::from(axes);
        let most = self.budget.axes + EACH * self.constraints.len() as u64;
        if self.axes_spent > most { Err(Conflict::TooMuch(Limit::Axes)) } else { Ok(()) }
    }

    /// Empties the work lists after a conflict.
    fn settle_down(&mut self) {
        self.ranks.touched.clear();
        self.ranks.moved.clear();
        self.dims.woken.clear();
        self.ariths.settle_down();
        self.supports.settle_down();
        for con in self.queue.drain(..) {
            self.rows.set_queued(con, false);
        }
    }

    fn mark(&mut self) -> Mark {
        let floor = Floor {
            nodes: self.dims.len() as u32,
            edges: self.dims.edge_count(),
            axes: self.rows.axis_count(),
        };
        Mark {
            floor: std::mem::replace(&mut self.trail.floor, floor),
            entries: self.trail.open(),
            dims: self.dims.mark(),
            rows: self.rows.mark(),
            supports: self.supports.mark(),
            policies: self.policies.len(),
            axes: self.axes_spent,
            moves: self.ranks.moves,
            checks: self.symbols.checks.len(),
        }
    }

    /// Closes a mark and keeps what was done since: the mark around it answers for it now.
    fn forget(&mut self, mark: Mark) {
        self.trail.floor = mark.floor;
        self.trail.close();
    }

    /// Returns to a mark, and closes it.
    fn undo(&mut self, mark: Mark) {
        self.settle_down();
        while self.trail.entries.len() > mark.entries {
            let Some(entry) = self.trail.entries.pop() else {
                break;
            };
            use trail::Cell::*;
            match entry.cell {
                Lo | Hi => self.ranks.restore(entry),
                Arith => self.ariths.restore(entry.at, entry.old, entry.more),
                Spread => self.supports.restore(entry.at),
                SizeLo | SizeHi | Claims | Basis | Tag | Told | WatchHead | WatchTail | WatchNext => {
                    self.dims.sizes.restore(entry)
                }
                Axes | Partial | Marker | Progress | Axis | Front | Back => self.rows.restore(entry),
                _ => self.dims.restore(entry),
            }
        }
        self.dims.cut(mark.dims);
        self.rows.cut(mark.rows);
        self.supports.cut(mark.supports);
        self.policies.truncate(mark.policies);
        self.axes_spent = mark.axes;
        self.ranks.moves = mark.moves;
        self.symbols.checks.truncate(mark.checks);
        self.trail.floor = mark.floor;
        self.trail.close();
    }
}

/// An arithmetic constraint in the form the solver keeps; none for the others.
fn arithmetic(constraint: Constraint<'_>) -> Option<Arith> {
    Some(match constraint {
        Constraint::Affine { axis, form, over, kernel } => {
            let (per_kernel, constant) = form.equation();
            let item = |coeff, dim, carries| Item { coeff, dim, carries, claims: true };
            let kernel = kernel.map(|dim| item(per_kernel.into(), dim, false));
            let sides = [item(-1, axis, true), item(form.stride.into(), over, true)];
            Arith::Linear { items: sides.into_iter().chain(kernel).collect(), constant, form: Some(form) }
        }
        Constraint::Concat { axis, components, literal } => {
            let item = |coeff, dim| Item { coeff, dim, carries: true, claims: false };
            let components = components.iter().map(|dim| item(1, *dim));
            Arith::Linear {
                items: [item(-1, axis)].into_iter().chain(components).collect(),
                constant: literal.into(),
                form: None,
            }
        }
        Constraint::Count { pieces, numerator, divided_by, rest } => {
            Arith::Count { pieces: pieces.to_vec(), numerator, divided_by: divided_by.to_vec(), rest }
        }
        Constraint::Exact { pieces, axes, rest } => {
            Arith::Exact { pieces: pieces.to_vec(), axes: axes.to_vec(), rest }
        }
        Constraint::DimEq(..)
        | Constraint::DimLe { .. }
        | Constraint::RowEq(..)
        | Constraint::RowLe { .. }
        | Constraint::MadeOf { .. }
        | Constraint::AtLeast(..)
        | Constraint::AtMost(..) => return None,
    })
}
