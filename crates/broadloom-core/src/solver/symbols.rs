//! Named, ranged and dynamic sizes (*Tensor Dimension Inference*, "Dimension Representation").
//!
//! A symbol is a size variable that claims a size, has bounds (its range) and a tag. While constraints arrive it
//! is treated like any other unknown size, so everything propagation concludes is entailed:
//!
//! - it meets itself: the ranges intersect, as bounds of one class do;
//! - it meets a literal: the class has a value, which must lie within the bounds. The symbol is *specialised*;
//! - it never meets another symbol: two tags in one class are a contradiction, whatever their sizes, and
//!   whichever came first. Literals carry no tag, so two symbols may well be specialised to the same size;
//! - it meets a dynamic size, whose tag gives way, or an unknown one, which takes the tag over.
//!
//! Closing leaves symbols symbolic. Its first step, before any rank is chosen, gives every symbol that has no
//! value a *symbolic atom* ([`Policy::Symbolic`]): an atom like any other to the order, so caps, leaves and markers
//! need to know nothing about it. Arithmetic then derives further symbolic atoms (`2*batch`, `seq/8`, a sum),
//! interned by their [`Form`]. What it relies on and cannot prove is recorded as a [`Check`], for run time.

use rustc_hash::FxHashMap;

use super::cores::Clash;
use super::reason::{Conflict, Limit, NIL, Policy, Reason, ReasonId, Step};
use super::sizes::ANY;
use super::{Solver, Stored};
use crate::form::{Form, Symbol, independent};
use crate::order::{Atom, Basis, FormId, Symbolic};
use crate::term::{ConstraintId, DimTerm, DimVar, Role};

/// Something that holds only for some sizes of the symbols: to be checked when they are known.
///
/// ```
/// use broadloom_core::{Affine, Answer, Constraint, Need, Role, Solver};
/// // seq = 8·blocks
/// let mut solver = Solver::new();
/// let (seq, blocks) = (solver.symbol(), solver.dim_var(Role::Interior));
/// let form = Affine::strided(8);
/// solver.add(Constraint::Affine { axis: seq.into(), form, over: blocks.into(), kernel: None });
/// let Answer::Solved(closed) = solver.close() else { panic!("satisfiable") };
/// let [check] = &closed.checks()[..] else { panic!("one thing is left to check") };
/// assert_eq!(check.need, Need::Whole);
/// assert_eq!(check.form.show(|_| "seq".into()), "seq/8");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// The constraint that asks for it.
    pub constraint: ConstraintId,
    /// What it is about.
    pub form: Form,
    /// What must hold of it.
    pub need: Need,
}

/// What must hold of a form at run time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// It is a whole number: something is divided.
    Whole,
    /// It is zero: two expressions have to be equal.
    Zero,
    /// It is at least a number: a difference has to leave something.
    AtLeast(u64),
    /// It is at most a number.
    AtMost(u64),
}

impl Need {
    /// Whether a value is as it must be: a fraction, as numerator and denominator.
    pub fn holds(self, (numerator, denominator): (i128, i128)) -> bool {
        let compared = |limit: u64| numerator.cmp(&i128::from(limit).saturating_mul(denominator));
        match self {
            Need::Whole => numerator % denominator == 0,
            Need::Zero => numerator == 0,
            Need::AtLeast(least) => compared(least).is_ge(),
            Need::AtMost(most) => compared(most).is_le(),
        }
    }
}

/// The symbols of a solver, and the expressions over them.
#[derive(Clone, Default)]
pub(crate) struct Symbols {
    /// The node of each symbol, or `NIL` if a copy of the system does not mention it.
    nodes: Vec<u32>,
    /// The symbol of each of these nodes.
    by_node: FxHashMap<u32, Symbol>,
    /// Which of them are dynamic.
    dynamic: Vec<bool>,
    forms: Vec<Form>,
    ids: FxHashMap<Form, u32>,
    /// The form of each symbolic atom, by the place of the atom.
    of_atom: FxHashMap<usize, u32>,
    atoms: FxHashMap<(u32, Basis), DimTerm>,
    /// What closing relies on so far.
    pub checks: Vec<Check>,
    /// The range of each symbol when closing began: what narrows it further is a choice, and has to be checked.
    ranges: Vec<(u64, Option<u64>)>,
    /// Whether sizes are being chosen: a choice must not ask for anything to be checked.
    pub guessing: bool,
    /// Whether a choice was given up for that.
    pub undecided: bool,
}

impl Symbols {
    pub fn clear(&mut self) {
        *self = Symbols::default();
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn intern(&mut self, form: Form) -> u32 {
        let next = self.forms.len() as u32;
        let id = *self.ids.entry(form.clone()).or_insert(next);
        if id == next {
            self.forms.push(form);
        }
        id
    }

    /// The same symbols for a copy of the system, none of them mentioned yet.
    pub fn unmentioned(&self) -> Symbols {
        Symbols {
            nodes: vec![NIL; self.nodes.len()],
            by_node: FxHashMap::default(),
            checks: Vec::new(),
            ..self.clone()
        }
    }

    /// The same expressions, without the symbols.
    pub fn without_nodes(self) -> Symbols {
        Symbols {
            nodes: Vec::new(),
            by_node: FxHashMap::default(),
            dynamic: Vec::new(),
            checks: Vec::new(),
            ..self
        }
    }

    /// Takes over the expressions of a copy, which began with these.
    pub fn take_forms(&mut self, copy: Symbols) {
        (self.forms, self.ids) = (copy.forms, copy.ids);
    }

    /// The symbol that a node was made as.
    pub fn made_at(&self, node: u32) -> Option<Symbol> {
        self.by_node.get(&node).copied()
    }

    /// The node of a symbol.
    pub fn node(&self, symbol: Symbol) -> u32 {
        self.nodes.get(symbol.0 as usize).copied().unwrap_or(NIL)
    }

    pub fn is_dynamic(&self, symbol: Symbol) -> bool {
        self.dynamic.get(symbol.0 as usize) == Some(&true)
    }

    /// The form of a ground term, if it is symbolic.
    pub fn form_of(&self, term: DimTerm) -> Option<&Form> {
        if self.of_atom.is_empty() {
            return None;
        }
        self.of_atom.get(&term.atom_index()?).map(|form| &self.forms[*form as usize])
    }

    /// A ground term as a symbolic dimension, if it is one.
    pub fn dim(&self, term: DimTerm, basis: Basis) -> Option<Symbolic> {
        if self.of_atom.is_empty() {
            return None;
        }
        let form = *self.of_atom.get(&term.atom_index()?)?;
        Some(Symbolic { form: FormId(form), basis })
    }
}

impl Solver {
    /// A new symbol: a named size, which claims to be one and meets no other symbol. Its range is said by
    /// [`Constraint::AtLeast`](crate::Constraint::AtLeast) and [`Constraint::AtMost`](crate::Constraint::AtMost).
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
        self.make_symbol(Symbol(self.symbols.nodes.len() as u32), false)
    }

    /// A new dynamic size: unknown until run time, unless something gives it a size or a name.
    pub fn dynamic(&mut self) -> DimVar {
        self.make_symbol(Symbol(self.symbols.nodes.len() as u32), true)
    }

    /// Makes the variable of a symbol; in a copy of a system, of one that is there.
    pub(crate) fn make_symbol(&mut self, symbol: Symbol, dynamic: bool) -> DimVar {
        let at = symbol.0 as usize;
        let Symbols { nodes, by_node, dynamic: kinds, .. } = &mut self.symbols;
        nodes.resize(nodes.len().max(at + 1), NIL);
        kinds.resize(nodes.len(), false);
        let node = self.dims.fresh_symbol(symbol.0, dynamic);
        (nodes[at], kinds[at]) = (node, dynamic);
        by_node.insert(node, symbol);
        self.name_dim(node, Role::Interior)
    }

    /// The symbol that a variable was made as, if it is one.
    pub fn symbol_of(&self, var: DimVar) -> Option<Symbol> {
        self.symbols.made_at(var.0)
    }

    /// The variable of a symbol.
    pub fn symbol_var(&self, symbol: Symbol) -> Option<DimVar> {
        let node = self.symbols.node(symbol);
        (node != NIL).then_some(DimVar(node))
    }

    /// Whether a symbol is a dynamic size.
    pub fn is_dynamic(&self, symbol: Symbol) -> bool {
        self.symbols.is_dynamic(symbol)
    }

    /// The symbol that a dimension is known to be, specialised or not. Changes nothing.
    pub fn observe_symbol(&self, term: DimTerm) -> Option<Symbol> {
        self.dims.tag(self.dims.find(term.node().filter(|_| !self.symbols.is_empty())?)).map(Symbol)
    }

    /// An expression over symbols that a final dimension refers to.
    ///
    /// # Panics
    /// If the id belongs to another solver.
    pub fn form(&self, id: FormId) -> &Form {
        &self.symbols.forms[id.0 as usize]
    }

    /// The atom of an expression.
    pub(crate) fn symbolic_atom(&mut self, form: Form, basis: Basis) -> DimTerm {
        let id = self.symbols.intern(form);
        if let Some(term) = self.symbols.atoms.get(&(id, basis)) {
            return *term;
        }
        // The number is never read: whoever wants one asks for the bounds.
        let place = self.atoms.len();
        self.atoms.push(Atom { size: 1, basis });
        let term = DimTerm::interned(place);
        self.symbols.of_atom.insert(place, id);
        self.symbols.atoms.insert((id, basis), term);
        term
    }

    /// The sizes that an expression may have.
    pub(crate) fn form_bounds(&self, form: &Form) -> (u64, u64) {
        let (least, most) = form.bounds(|symbol| self.symbol_bounds(symbol));
        let least = least.map_or(0, |least| u64::try_from(least.max(0)).unwrap_or(ANY));
        (least, most.map_or(ANY, |most| u64::try_from(most.max(0)).unwrap_or(ANY)))
    }

    /// The range of a symbol, as far as the constraints narrow it.
    pub fn symbol_bounds(&self, symbol: Symbol) -> (u64, Option<u64>) {
        let node = self.symbols.node(symbol);
        if node == NIL {
            return (1, None);
        }
        let root = self.dims.find(node);
        let (mut lo, mut hi) = (1, ANY);
        if let Some(extra) = self.dims.extra_of(root) {
            let bounds = self.dims.sizes.get(extra);
            (lo, hi) = (bounds.lo, bounds.hi);
        }
        if let Some(atom) = self.dims.value(root).filter(|value| self.symbols.form_of(*value).is_none()) {
            let size = atom.atom_index().map_or(1, |atom| self.atoms[atom].size);
            (lo, hi) = (size, size);
        }
        (lo, (hi != ANY).then_some(hi))
    }

    /// The range of a symbol when closing began: closing may put it into one class with others, whose bounds are then
    /// its own.
    pub(crate) fn range_before_closing(&self, symbol: Symbol) -> (u64, Option<u64>) {
        let known = self.symbols.ranges.get(symbol.0 as usize);
        known.copied().unwrap_or_else(|| self.symbol_bounds(symbol))
    }

    /// What is wrong with a class whose bounds exclude each other, or its value, if it is a symbol.
    pub(crate) fn range_clash(&self, node: u32) -> Option<Clash> {
        let root = self.dims.find(node);
        let symbol = Symbol(self.dims.tag(root)?);
        let bounds = self.dims.sizes.get(self.dims.extra_of(root)?);
        let value = self.dims.value(root).filter(|value| *value != DimTerm::UNIT);
        let size = value.and_then(|value| value.atom_index()).map(|atom| self.atoms[atom].size);
        let size = size.filter(|_| bounds.lo <= bounds.hi);
        let inside = size.is_some_and(|size| (bounds.lo..=bounds.hi).contains(&size));
        (!inside && (size.is_some() || bounds.lo > bounds.hi)).then_some(Clash::Range {
            symbol,
            size,
            bounds: (bounds.lo, bounds.hi),
        })
    }

    /// The first step of closing: what has no size by now stays symbolic. Named symbols go first, because a
    /// dynamic size may follow from them.
    pub(crate) fn close_symbols(&mut self) -> Step {
        if self.symbols.is_empty() {
            return Ok(());
        }
        let symbols = (0..self.symbols.nodes.len() as u32).map(Symbol);
        self.symbols.ranges = symbols.map(|symbol| self.symbol_bounds(symbol)).collect();
        self.check_identities()?;
        self.solve_jointly()?;
        for dynamic in [false, true] {
            for at in 0..self.symbols.nodes.len() {
                let (node, symbol) = (self.symbols.nodes[at], Symbol(at as u32));
                if node == NIL || self.symbols.is_dynamic(symbol) != dynamic {
                    continue;
                }
                let root = self.dims.find(node);
                if self.dims.value(root).is_some() {
                    continue;
                }
                let basis = self.dims.basis(root).unwrap_or(Basis::DEFAULT);
                let value = self.symbolic_atom(Form::symbol(symbol), basis);
                let step = self.choose(Policy::Symbolic, NIL);
                let reason = self.dims.reason(Reason::Policy(step));
                self.dims.commit(&mut self.trail, node, value, reason)?;
                if dynamic {
                    self.propagate()?;
                }
            }
            self.propagate()?;
        }
        self.checks_are_possible()
    }

    /// What must be zero, whichever equations asked for it first.
    fn zeros(&self) -> Vec<Form> {
        let zero = |check: &&Check| check.need == Need::Zero;
        independent(self.symbols.checks.iter().filter(zero).map(|check| check.form.clone()))
    }

    /// Everything that is left to be checked together: none of it is impossible.
    pub(crate) fn checks_are_possible(&self) -> Step {
        let Some(last) = self.symbols.checks.iter().rfind(|check| check.need == Need::Zero) else {
            return Ok(());
        };
        if self.zeros().iter().all(|form| self.may_be_zero(form)) {
            return Ok(());
        }
        Err(self
            .arith_of(last.constraint)
            .map_or(Conflict::TooMuch(Limit::Expressions), |con| Conflict::Arith { con }))
    }

    /// The equation that bounds a class which is an expression over symbols without a size.
    pub(crate) fn open_equation(&self, node: u32) -> Option<(ConstraintId, u32)> {
        let root = self.dims.find(node);
        let id = ConstraintId(self.bounded_by(root).filter(|_| self.is_open_form(DimTerm(root)))?);
        Some((id, self.arith_of(id)?))
    }

    fn arith_of(&self, id: ConstraintId) -> Option<u32> {
        if let Stored::Arith(con) = self.constraints.get(id.0) { Some(con) } else { None }
    }

    /// Whether an expression can be zero within the ranges, without two named symbols that are equal.
    pub(crate) fn may_be_zero(&self, form: &Form) -> bool {
        let (least, most) = form.bounds(|symbol| self.symbol_bounds(symbol));
        let never = least.is_some_and(|least| least > 0) || most.is_some_and(|most| most < 0);
        let named = |symbol| !self.symbols.is_dynamic(symbol);
        !never && !form.as_difference().is_some_and(|(a, b)| named(a) && named(b))
    }

    /// What closing relied on, in a form that does not depend on the order of the constraints.
    pub(crate) fn remaining_checks(&self) -> Vec<Check> {
        let zeros = self.zeros();
        let all = &self.symbols.checks;
        let id = |form: &Form| {
            let about = |check: &&Check| check.need == Need::Zero && check.form.shares(form);
            all.iter().find(about).or(all.first()).map_or(ConstraintId(0), |check| check.constraint)
        };
        let mut checks: Vec<Check> = zeros
            .iter()
            .map(|form| Check { constraint: id(form), form: form.numerator(), need: Need::Zero })
            .collect();
        for check in all.iter().filter(|check| check.need != Need::Zero) {
            let form = self.shown_form(&check.form, &zeros);
            let (least, most) = form.bounds(|symbol| self.range_before_closing(symbol));
            let holds = match check.need {
                Need::Whole => !form.is_fraction() || form.is_whole_modulo(&zeros),
                Need::AtLeast(limit) => least.is_some_and(|least| least >= i128::from(limit)),
                Need::AtMost(limit) => most.is_some_and(|most| most <= i128::from(limit)),
                Need::Zero => true,
            };
            if holds {
                continue;
            }
            if !checks.iter().any(|known| known.form == form && known.need == check.need) {
                checks.push(Check { form, ..*check });
            }
        }
        checks
    }

    /// An expression, in terms of what the checks leave; a symbol is itself.
    fn shown_form(&self, form: &Form, zeros: &[Form]) -> Form {
        if form.as_symbol().is_some() { form.clone() } else { form.modulo(zeros) }
    }

    /// The expression of a final dimension.
    pub(crate) fn final_form(&self, id: FormId) -> Form {
        self.shown_form(self.form(id), &self.zeros())
    }

    /// Two symbols specialised to the same size are equal only by accident; but where inequalities between
    /// sizes that were known already force them to be one dimension, they are not. Those are looked at here,
    /// because propagation is done with an inequality as soon as both its ends have a size.
    fn check_identities(&self) -> Step {
        let named = (0..self.symbols.nodes.len() as u32).map(Symbol);
        let named = named.filter(|symbol| !self.symbols.is_dynamic(*symbol));
        let nodes = named.map(|symbol| self.symbols.node(symbol)).filter(|node| *node != NIL);
        let specialised: Vec<u32> =
            nodes.filter(|node| self.dims.value(self.dims.find(*node)).is_some()).collect();
        if specialised.len() < 2 {
            return Ok(());
        }
        let mut groups = Groups(FxHashMap::default());
        for edge in (0..self.dims.edge_count()).map(|edge| self.dims.edge(edge)) {
            let (below, above) = (self.dims.find(edge.lo), self.dims.find(edge.hi));
            if self.dims.value(above).is_some_and(|value| value != DimTerm::UNIT) {
                groups.join(below, above);
            }
        }
        let mut first: FxHashMap<u32, u32> = FxHashMap::default();
        for node in specialised {
            let other = *first.entry(groups.find(self.dims.find(node))).or_insert(node);
            if self.dims.tag(self.dims.find(other)) != self.dims.tag(self.dims.find(node)) {
                return Err(Conflict::Symbols { a: other, b: node, reason: ReasonId(NIL) });
            }
        }
        Ok(())
    }
}

/// Classes joined by inequalities, by representative.
struct Groups(FxHashMap<u32, u32>);

impl Groups {
    fn find(&self, mut class: u32) -> u32 {
        while let Some(parent) = self.0.get(&class) {
            class = *parent;
        }
        class
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.0.insert(a.max(b), a.min(b));
        }
    }
}
