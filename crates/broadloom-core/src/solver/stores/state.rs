//! The state of a solver: its stores, the variables and atoms of the caller, the budget, and marks to return to.

use crate::form::{Form, Symbol};
use crate::ids::{ArithId, AtomId, IdVec, RowConId, StepId, SupportId};
use crate::order::{Atom, Basis, Dim, FormId};
use crate::solver::stores::ariths::Ariths;
use crate::solver::stores::constraints::Constraints;
use crate::solver::stores::dims::{Dims, DimsMark};
use crate::solver::stores::ranks::{RankCause, Ranks};
use crate::solver::stores::reason::{Choice, Conflict, Limit, Outcome, Policy, Reason, Rivalry};
use crate::solver::stores::rows::{Rows, RowsMark};
use crate::solver::stores::supports::{Supports, SupportsMark};
use crate::solver::stores::symbols::Symbols;
use crate::solver::stores::trail::{Floor, Trail};
use crate::term::{ConstraintId, DimTerm, DimVar, Role, RowVar};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The limits within which a solver works; beyond them it gives up.
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
#[derive(Clone, Default)]
pub(crate) struct State {
    pub dims: Dims,
    pub ranks: Ranks,
    pub rows: Rows,
    pub ariths: Ariths,
    pub supports: Supports,
    pub symbols: Symbols,
    pub trail: Trail,
    /// Variables that may have size zero.
    pub discardable: FxHashSet<DimVar>,
    /// Role of each dimension variable the caller made; the solver's own nodes come between them.
    pub dim_vars: Vec<(DimVar, Role)>,
    /// Those of leaves and parameters.
    pub leaf_dims: Vec<(DimVar, Role)>,
    pub atoms: IdVec<AtomId, Atom>,
    pub atom_ids: FxHashMap<Atom, AtomId>,
    pub constraints: Constraints,
    /// Row constraints to align.
    pub queue: Vec<RowConId>,
    /// While constraints are held: the first row constraint of them, and those that bound a rank.
    pub held: Option<RowConId>,
    pub held_bounds: Vec<RowConId>,
    pub conflict: Option<Conflict>,
    pub policies: IdVec<StepId, Choice>,
    /// Per policy step that search took, the constraints behind the failure of its last rival.
    pub failures: FxHashMap<StepId, Vec<ConstraintId>>,
    /// Per policy step that relaxed a leaf, why it had to give way.
    pub rivalries: FxHashMap<StepId, Rivalry>,
    /// Dimensions of parameters that had no size when guessing began.
    pub undecided: Option<Vec<DimVar>>,
    pub absences: Vec<Absence>,
    /// Closed terms whose marker is not at the left edge; without any, markers need no thought.
    pub declared_markers: bool,
    pub budget: Budget,
    /// Axes laid out or mentioned, against the budget.
    pub axes_spent: u64,
    pub steps: u64,
    pub branches: u64,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("stats", &self.stats()).field("failed", &self.is_failed()).finish()
    }
}

/// A row that meets an operand which may have no axes there: see [`Solver::meets_no_axes`](crate::Solver::meets_no_axes).
#[derive(Clone)]
pub(crate) struct Absence {
    pub row: RowVar,
    /// The operand's row, or `NIL` if it certainly has no axes.
    pub own: RowVar,
    /// Its other rows, or none if it certainly has axes there.
    pub beside: SmallVec<[RowVar; 2]>,
}

/// A point in the history of a solver, to return to.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub(crate) absences: usize,
    pub(crate) constraints: usize,
    pub(crate) dims: usize,
    pub(crate) rows: usize,
}

/// A point to return to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub entries: usize,
    pub dims: DimsMark,
    pub rows: RowsMark,
    pub supports: SupportsMark,
    pub policies: usize,
    pub axes: u64,
    pub moves: u64,
    /// The number of checks that closing relied on by then.
    pub checks: usize,
    /// The floor of the mark around this one.
    pub floor: Floor,
}

impl State {
    /// The policy step that decided a row's rank, if one did directly.
    pub fn rank_policy(&self, row: RowVar) -> Option<(Policy, StepId)> {
        let by = |cause| match cause {
            RankCause::Policy(step) => self.policies.get(step).map(|choice| (choice.policy, step)),
            _ => None,
        };
        by(self.ranks.lo_cause(row)).or_else(|| by(self.ranks.hi_cause(row)))
    }

    /// Records a policy step.
    pub fn choose(&mut self, policy: Policy, row: RowVar) -> StepId {
        self.policies.push(Choice { policy, row })
    }

    /// True if any constraint is about sizes.
    pub fn has_arithmetic(&self) -> bool {
        !self.ariths.is_empty() || !self.ariths.mentioned().is_empty()
    }

    /// True if an operand has axes, and none in the row it was met by.
    pub fn is_absent(&self, Absence { own, beside, .. }: &Absence) -> bool {
        (*own == RowVar::NIL || self.ranks.lo(*own) == 0)
            && (beside.is_empty() || beside.iter().any(|row| self.ranks.lo(*row) > 0))
    }

    /// An axis of a row, read at its least rank if the rank is open.
    #[inline]
    pub fn row_axis(&self, row: RowVar, at: u32) -> DimTerm {
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
    pub fn each_row_axis(&self, row: RowVar, mut each: impl FnMut(DimTerm)) {
        let rank = self.ranks.lo(row);
        if rank > 0 {
            (0..rank).for_each(|at| each(self.row_axis(row, at)));
        }
    }

    /// An empty system with its own limits on search.
    pub fn with_budget(budget: Budget) -> State {
        State { budget, ..State::default() }
    }

    /// Forgets every variable and constraint, and keeps the memory for the next system.
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

    pub fn name_dim(&mut self, node: DimVar, role: Role) -> DimVar {
        self.dim_vars.push((node, role));
        if role != Role::Interior {
            self.leaf_dims.push((node, role));
        }
        node
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
    pub fn declare_marker(&mut self, row: RowVar, lead: u32) {
        self.declared_markers |= lead > 0;
        self.rows.declare_marker(row, lead);
    }

    /// The declared place of a row variable's marker, if there is one.
    pub fn declared_marker(&self, row: RowVar) -> Option<u32> {
        self.rows.declared(row)
    }

    /// Records that a row meets an operand: by which row of it (none, if it has no axes there), and
    /// which other rows it has (none, if it is certain to have axes elsewhere). If the operand
    /// turns out to have axes, but none here, then no axes is an answer, and not a hole of a
    /// parameter; and a filler takes none.
    pub fn meets_no_axes(&mut self, row: RowVar, own: Option<RowVar>, beside: &[RowVar]) {
        let own = own.unwrap_or(RowVar::NIL);
        self.absences.push(Absence { row, own, beside: beside.into() });
    }

    /// The current point; [`retract`](crate::Solver::retract) returns to it.
    pub fn point(&self) -> Point {
        Point {
            absences: self.absences.len(),
            constraints: self.constraints.len(),
            dims: self.dim_vars.len(),
            rows: self.rows.len(),
        }
    }

    /// A new row variable.
    pub fn row_var(&mut self, role: Role) -> RowVar {
        self.ranks.fresh();
        self.rows.fresh(role)
    }

    /// The atom of a size with the default basis. Sizes are at least one; the unit is
    /// [`DimTerm::UNIT`].
    pub fn size(&mut self, size: u64) -> DimTerm {
        self.atom(Atom { size, basis: Basis::DEFAULT })
    }

    /// An atom as a term.
    pub fn atom(&mut self, atom: Atom) -> DimTerm {
        let next = self.atoms.next();
        let id = *self.atom_ids.entry(atom).or_insert(next);
        let term = DimTerm::interned(id);
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
        match term.atom() {
            Some(atom) => {
                let atom = self.atoms[atom];
                Some(self.symbols.dim(term, atom.basis).map_or(Dim::Atom(atom), Dim::Symbolic))
            }
            None => (term == DimTerm::UNIT).then_some(Dim::Unit),
        }
    }

    /// True if the constraints so far have no solution, as far as semantic steps tell. (A system
    /// whose contradiction depends on open ranks is found out by [`close`](crate::Solver::close).)
    pub fn is_failed(&self) -> bool {
        self.conflict.is_some_and(|conflict| !matches!(conflict, Conflict::TooMuch(_)))
    }

    /// True if propagation stopped: by a contradiction, or at a limit. What is known then is partial.
    pub fn is_stuck(&self) -> bool {
        self.conflict.is_some()
    }

    /// The role a dimension variable was made with; the solver's own are interior.
    pub fn dim_role(&self, var: DimVar) -> Role {
        let made = self.dim_vars.binary_search_by_key(&var, |(node, _)| *node);
        made.map_or(Role::Interior, |at| self.dim_vars[at].1)
    }

    /// The number of constraints added.
    pub fn len(&self) -> usize {
        self.constraints.len()
    }

    /// True if no constraint was added.
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

    /// Takes axes from the budget, which grows with the system.
    pub fn spend(&mut self, axes: u32) -> Outcome {
        const EACH: u64 = 64;
        self.axes_spent += u64::from(axes);
        let most = self.budget.axes + EACH * self.constraints.len() as u64;
        if self.axes_spent > most { Err(Conflict::TooMuch(Limit::Axes)) } else { Ok(()) }
    }

    /// Empties the work lists after a conflict.
    pub fn clear_queues(&mut self) {
        self.ranks.touched.clear();
        self.ranks.moved.clear();
        self.dims.woken.clear();
        self.ariths.clear_queue();
        self.supports.clear_queues();
        for con in self.queue.drain(..) {
            self.rows.set_queued(con, false);
        }
    }

    pub fn mark(&mut self) -> Mark {
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
    pub fn forget(&mut self, mark: Mark) {
        self.trail.floor = mark.floor;
        self.trail.close();
    }

    /// Returns to a mark, and closes it.
    pub fn undo(&mut self, mark: Mark) {
        self.clear_queues();
        while self.trail.entries.len() > mark.entries {
            let Some(entry) = self.trail.entries.pop() else {
                break;
            };
            use crate::solver::stores::trail::Cell::*;
            match entry.cell {
                Lo | Hi => self.ranks.restore(entry),
                Arith => self.ariths.restore(ArithId(entry.at), entry.old, entry.more),
                Spread => self.supports.restore(SupportId(entry.at)),
                SizeLo | SizeHi | Claims | Basis | Tag | History | WatchHead | WatchTail | WatchNext => {
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

    /// The policy step that gave a term its value.
    pub fn value_policy(&self, term: DimTerm) -> Option<Policy> {
        let node = term.var()?;
        self.dims.value(self.dims.find(node))?;
        match self.dims.reason_at(self.dims.value_reason(self.dims.value_node(node)))? {
            Reason::Policy(step) => self.policies.get(step).map(|choice| choice.policy),
            _ => None,
        }
    }

    /// A new symbol: a named size, which claims to be one and meets no other symbol. Its range is
    /// given by [`Constraint::AtLeast`](crate::Constraint::AtLeast) and
    /// [`Constraint::AtMost`](crate::Constraint::AtMost).
    pub fn symbol(&mut self) -> DimVar {
        self.make_symbol(self.symbols.nodes.next(), false)
    }

    /// A new dynamic size: unknown until run time, unless something gives it a size or a name.
    pub fn dynamic(&mut self) -> DimVar {
        self.make_symbol(self.symbols.nodes.next(), true)
    }

    /// Makes the variable of a symbol; in a copy of a system, of one that is there.
    pub fn make_symbol(&mut self, symbol: Symbol, dynamic: bool) -> DimVar {
        let Symbols { nodes, by_node, dynamic: kinds, .. } = &mut self.symbols;
        nodes.resize(nodes.len().max(symbol.0 as usize + 1), DimVar::NIL);
        kinds.resize(nodes.len(), false);
        let node = self.dims.fresh_symbol(symbol, dynamic);
        (nodes[symbol], kinds[symbol]) = (node, dynamic);
        by_node.insert(node, symbol);
        self.name_dim(node, Role::Interior)
    }

    /// The symbol that a variable was made as, if it is one.
    pub fn symbol_of(&self, var: DimVar) -> Option<Symbol> {
        self.symbols.made_at(var)
    }

    /// True if a symbol is a dynamic size.
    pub fn is_dynamic(&self, symbol: Symbol) -> bool {
        self.symbols.is_dynamic(symbol)
    }

    /// An expression over symbols that a final dimension refers to.
    pub fn form(&self, id: FormId) -> &Form {
        &self.symbols.forms[id]
    }
}
