//! Readings of the stores: the known size of a dimension and the range of a symbol.

use crate::form::{Form, Symbol};
use crate::ids::ArithId;
use crate::order::{Atom, Basis};
use crate::solver::stores::sizes::ANY;
use crate::solver::stores::state::State;
use crate::term::{DimTerm, DimVar};

/// One factor or summand: its class or its symbolic size (or `NONE`, if its size is known) and the bounds on its size.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub root: DimTerm,
    pub lo: u64,
    pub hi: u64,
}

impl Known {
    pub fn fixed(self) -> Option<u64> {
        (self.lo == self.hi).then_some(self.lo)
    }
}

/// The least and the greatest size of a ground term: the same, unless it is symbolic.
pub(crate) fn ground_size(state: &State, term: DimTerm) -> (u64, u64) {
    if let Some(form) = state.symbols.form_of(term) {
        return form_bounds(state, form);
    }
    let size = term.atom().map_or(1, |atom| state.atoms[atom].size);
    (size, size)
}

/// The known bounds on the size of a term.
pub(crate) fn size_of(state: &State, term: DimTerm) -> Known {
    let resolved = state.dims.resolve(term);
    match resolved.var() {
        None => {
            let (lo, hi) = ground_size(state, resolved);
            // A symbolic size is an unknown that nothing narrows.
            Known { root: if lo == hi { DimTerm::NONE } else { resolved }, lo, hi }
        }
        Some(root) => match state.dims.extra_of(root) {
            None => Known { root: resolved, lo: 1, hi: ANY },
            Some(extra) => {
                let bounds = state.dims.sizes.get(extra);
                Known { root: resolved, lo: bounds.lo, hi: bounds.hi }
            }
        },
    }
}

/// The least and the greatest size of a dimension, as far as they are known: the same if it is
/// fixed.
pub(crate) fn size_bounds(state: &State, term: DimTerm) -> (u64, u64) {
    let known = size_of(state, term);
    (known.lo, known.hi)
}

/// The sizes of the dimensions of an arithmetic constraint, as far as they are known: of its rows,
/// then of those written out.
pub(crate) fn known_sizes(state: &State, con: ArithId) -> Vec<Option<u64>> {
    let arith = state.ariths.get(con);
    let rows = arith.rows().filter(|row| state.rows.is_fixed(*row));
    let axes = rows.flat_map(|row| (0..state.ranks.lo(row)).map(move |at| state.rows.axis(row, at)));
    let known = |dim: DimTerm| if dim.is_none() { None } else { size_of(state, dim).fixed() };
    axes.chain(arith.dims()).map(known).collect()
}

/// The variable of a symbol.
pub(crate) fn symbol_var(state: &State, symbol: Symbol) -> Option<DimVar> {
    state.symbols.node(symbol).some()
}

/// The symbol that a dimension is known to be, specialised or not. Changes nothing.
pub(crate) fn observe_symbol(state: &State, term: DimTerm) -> Option<Symbol> {
    state.dims.tag(state.dims.find(term.var().filter(|_| !state.symbols.is_empty())?))
}

/// The atom of an expression.
pub(crate) fn symbolic_atom(state: &mut State, form: Form, basis: Basis) -> DimTerm {
    let id = state.symbols.intern(form);
    if let Some(term) = state.symbols.atoms.get(&(id, basis)) {
        return *term;
    }
    // The number is never read: callers that need one ask for the bounds.
    let atom = state.atoms.push(Atom { size: 1, basis });
    let term = DimTerm::interned(atom);
    state.symbols.of_atom.insert(atom, id);
    state.symbols.atoms.insert((id, basis), term);
    term
}

/// The sizes that an expression may have.
fn form_bounds(state: &State, form: &Form) -> (u64, u64) {
    let (least, most) = form.bounds(|symbol| symbol_bounds(state, symbol));
    let least = least.map_or(0, |least| u64::try_from(least.max(0)).unwrap_or(ANY));
    (least, most.map_or(ANY, |most| u64::try_from(most.max(0)).unwrap_or(ANY)))
}

/// The range of a symbol, as far as the constraints narrow it.
pub(crate) fn symbol_bounds(state: &State, symbol: Symbol) -> (u64, Option<u64>) {
    let node = state.symbols.node(symbol);
    if node == DimVar::NIL {
        return (1, None);
    }
    let root = state.dims.find(node);
    let (mut lo, mut hi) = (1, ANY);
    if let Some(extra) = state.dims.extra_of(root) {
        let bounds = state.dims.sizes.get(extra);
        (lo, hi) = (bounds.lo, bounds.hi);
    }
    if let Some(atom) = state.dims.value(root).filter(|value| state.symbols.form_of(*value).is_none()) {
        let size = atom.atom().map_or(1, |atom| state.atoms[atom].size);
        (lo, hi) = (size, size);
    }
    (lo, (hi != ANY).then_some(hi))
}

/// The range of a symbol when closing began: closing may put it into one class with others, whose bounds are then
/// its own.
pub(crate) fn range_before_closing(state: &State, symbol: Symbol) -> (u64, Option<u64>) {
    let known = state.symbols.ranges.get(symbol);
    known.copied().unwrap_or_else(|| symbol_bounds(state, symbol))
}

/// True if an expression can be zero within the ranges, without two named symbols that are equal.
pub(crate) fn may_be_zero(state: &State, form: &Form) -> bool {
    let (least, most) = form.bounds(|symbol| symbol_bounds(state, symbol));
    let never = least.is_some_and(|least| least > 0) || most.is_some_and(|most| most < 0);
    let named = |symbol| !state.symbols.is_dynamic(symbol);
    !never && !form.as_difference().is_some_and(|(a, b)| named(a) && named(b))
}
