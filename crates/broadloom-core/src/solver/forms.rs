//! Sizes as expressions over symbols, as far as the constraints so far give them: readings of the stores.

use crate::form::{Form, Symbol};
use crate::ids::ArithId;
use crate::solver::known::size_bounds;
use crate::solver::stores::ariths::Arith;
use crate::solver::stores::reason::{Reason, ReasonId};
use crate::solver::stores::sizes::Watcher;
use crate::solver::stores::state::State;
use crate::term::{ConstraintId, DimTerm, DimVar};

/// The most equations that an expression may take before closing.
const MOST_EQUATIONS: u32 = 4;

/// The size of a term as an expression, if it is known; its class if it is not.
pub(crate) fn expressed(state: &State, term: DimTerm) -> Result<Form, DimVar> {
    let resolved = state.dims.resolve(term);
    if let Some(form) = state.symbols.form_of(resolved) {
        return Ok(form.clone());
    }
    let (lo, hi) = size_bounds(state, resolved);
    match resolved.var() {
        Some(root) if lo != hi => Err(root),
        _ => Ok(Form::constant(lo.into())),
    }
}

/// The size of a dimension as an expression over symbols, as far as the constraints so far say it by name
/// and by one equation after another. A size that is known may have one too. Changes nothing.
pub(crate) fn observe_form(state: &State, term: DimTerm) -> Option<Form> {
    if state.symbols.is_empty() {
        return None;
    }
    form_within(state, term, MOST_EQUATIONS).filter(|form| form.as_constant().is_none())
}

/// The expression of a dimension by so many equations, or its number.
fn form_within(state: &State, term: DimTerm, equations: u32) -> Option<Form> {
    let Some(node) = term.var().filter(|_| !term.is_none()) else { return expressed(state, term).ok() };
    let root = state.dims.find(node);
    if let Some(symbol) = state.dims.tag(root) {
        return Some(Form::symbol(symbol));
    }
    let less = equations.checked_sub(1);
    let watchers = state.dims.extra_of(root).filter(|_| less.is_some());
    let watchers = watchers.into_iter().flat_map(|extra| state.dims.sizes.watchers(extra));
    let mut equations = watchers.filter_map(|watcher| match watcher {
        Watcher::Arith(con) => Some(con),
        Watcher::Clause(_) => None,
    });
    let found = equations.find_map(|con| form_by(state, con, root, less?));
    found.or_else(|| expressed(state, term).ok())
}

/// The expression that a linear equation gives a class, if all others in it have a name or a number, and one a name.
fn form_by(state: &State, con: ArithId, class: DimVar, equations: u32) -> Option<Form> {
    let arith = state.ariths.get(con);
    let Arith::Linear { items, constant, .. } = arith else { return None };
    let (mut sum, mut own) = (Form::constant(*constant), 0i128);
    for item in items {
        if item.dim.var().is_some_and(|node| state.dims.find(node) == class) {
            own += item.coeff;
        } else {
            sum = sum.plus(&form_within(state, item.dim, equations)?.scaled(item.coeff, 1)?)?;
        }
    }
    let form = sum.scaled(1, own.checked_neg()?).filter(|form| form.as_constant().is_none())?;
    match arith.slack() {
        0 => Some(form),
        // The iterated dimension follows from the axis; not the other way round.
        _ if own > 0 => form.floor(),
        _ => None,
    }
}

/// The sizes of the dimensions of an arithmetic constraint, as far as they are known: of its rows, then of
/// those written out.
pub(crate) fn known_forms(state: &State, con: ArithId) -> Vec<Option<Form>> {
    let arith = state.ariths.get(con);
    let rows = arith.rows().filter(|row| state.rows.is_fixed(*row));
    let axes = rows.flat_map(|row| (0..state.ranks.lo(row)).map(move |at| state.rows.axis(row, at)));
    let known = |dim: DimTerm| {
        let dim = Some(dim).filter(|dim| !dim.is_none())?;
        observe_form(state, dim).or_else(|| expressed(state, dim).ok())
    };
    axes.chain(arith.dims()).map(known).collect()
}

/// True if an arithmetic constraint is about a symbol that no literal has specialised: numbers that bounds
/// pushed it to are no news to anybody.
pub(crate) fn names_open_symbol(state: &State, con: ArithId) -> bool {
    state.ariths.get(con).dims().into_iter().any(|dim| is_open_form(state, dim))
}

/// True if a dimension is an expression over such a symbol.
pub(crate) fn is_open_form(state: &State, dim: DimTerm) -> bool {
    let open = |symbol: Symbol| {
        let node = state.symbols.node(symbol);
        if node == DimVar::NIL || state.dims.value(state.dims.find(node)).is_none() {
            return node != DimVar::NIL;
        }
        // A value that only arithmetic or bounds have left is no written literal.
        let reason = state.dims.value_reason(state.dims.value_node(node));
        reason.as_constraint().is_none()
            && matches!(state.dims.reason_at(reason), Some(Reason::OnlyUnit { .. } | Reason::Arith { .. }))
    };
    observe_form(state, dim).is_some_and(|form| form.symbols().into_iter().any(open))
}

/// The constraint that last moved the bounds of a class.
pub(crate) fn bounded_by(state: &State, root: DimVar) -> Option<ConstraintId> {
    let steps = state.dims.sizes.steps(state.dims.extra_of(root)?);
    let id = |(_, reason): &(DimVar, ReasonId)| match reason
        .as_constraint()
        .filter(|_| *reason != ReasonId::NIL)
    {
        Some(id) => Some(id),
        None => match state.dims.reason_at(*reason)? {
            Reason::Arith { con } => Some(state.ariths.id(con)),
            _ => None,
        },
    };
    steps.iter().find_map(id)
}
