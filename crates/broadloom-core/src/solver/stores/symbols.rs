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
//! value a *symbolic atom* ([`Policy::Symbolic`](crate::Policy::Symbolic)): an atom like any other to the order, so caps, leaves and markers
//! need to know nothing about it. Arithmetic then derives further symbolic atoms (`2*batch`, `seq/8`, a sum),
//! interned by their [`Form`]. What it relies on and cannot prove is recorded as a [`Check`], for run time.

use crate::form::{Form, Symbol};
use crate::ids::{AtomId, IdVec};
use crate::order::{Basis, FormId, Symbolic};
use crate::term::{ConstraintId, DimTerm, DimVar};
use rustc_hash::FxHashMap;

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
    /// The expression it is about.
    pub form: Form,
    /// The condition on the expression.
    pub need: Need,
}

/// A condition on an expression, to be checked at run time.
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
    /// True if a value is as it must be: a fraction, as numerator and denominator.
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
    pub nodes: IdVec<Symbol, DimVar>,
    /// The symbol of each of these nodes.
    pub by_node: FxHashMap<DimVar, Symbol>,
    /// Marks those that are dynamic.
    pub dynamic: IdVec<Symbol, bool>,
    pub forms: IdVec<FormId, Form>,
    ids: FxHashMap<Form, FormId>,
    /// The form of each symbolic atom, by the place of the atom.
    pub of_atom: FxHashMap<AtomId, FormId>,
    pub atoms: FxHashMap<(FormId, Basis), DimTerm>,
    /// The checks that closing relies on so far.
    pub checks: Vec<Check>,
    /// The range of each symbol when closing began: what narrows it further is a choice, and has to be checked.
    pub ranges: IdVec<Symbol, (u64, Option<u64>)>,
    /// True if sizes are being chosen: a choice must not ask for anything to be checked.
    pub guessing: bool,
    /// True if a choice was given up for that.
    pub undecided: bool,
}

impl Symbols {
    pub fn clear(&mut self) {
        *self = Symbols::default();
    }

    /// True if there are no symbols.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The number of an expression.
    pub fn intern(&mut self, form: Form) -> FormId {
        let next = self.forms.next();
        let id = *self.ids.entry(form.clone()).or_insert(next);
        if id == next {
            self.forms.push(form);
        }
        id
    }

    /// The same symbols for a copy of the system, none of them mentioned yet.
    pub fn unmentioned(&self) -> Symbols {
        Symbols {
            nodes: IdVec::filled(DimVar::NIL, self.nodes.len()),
            by_node: FxHashMap::default(),
            checks: Vec::new(),
            ..self.clone()
        }
    }

    /// The same expressions, without the symbols.
    pub fn without_nodes(self) -> Symbols {
        Symbols {
            nodes: IdVec::default(),
            by_node: FxHashMap::default(),
            dynamic: IdVec::default(),
            checks: Vec::new(),
            ..self
        }
    }

    /// Takes over the expressions of a copy, which began with these.
    pub fn take_forms(&mut self, copy: Symbols) {
        (self.forms, self.ids) = (copy.forms, copy.ids);
    }

    /// The symbol that a node was made as.
    pub fn made_at(&self, node: DimVar) -> Option<Symbol> {
        self.by_node.get(&node).copied()
    }

    /// The node of a symbol.
    pub fn node(&self, symbol: Symbol) -> DimVar {
        self.nodes.get(symbol).copied().unwrap_or(DimVar::NIL)
    }

    pub fn is_dynamic(&self, symbol: Symbol) -> bool {
        self.dynamic.get(symbol) == Some(&true)
    }

    /// The form of a ground term, if it is symbolic.
    pub fn form_of(&self, term: DimTerm) -> Option<&Form> {
        if self.of_atom.is_empty() {
            return None;
        }
        self.of_atom.get(&term.atom()?).map(|form| &self.forms[*form])
    }

    /// A ground term as a symbolic dimension, if it is one.
    pub fn dim(&self, term: DimTerm, basis: Basis) -> Option<Symbolic> {
        if self.of_atom.is_empty() {
            return None;
        }
        let form = *self.of_atom.get(&term.atom()?)?;
        Some(Symbolic { form, basis })
    }
}
