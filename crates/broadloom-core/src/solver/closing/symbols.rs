//! Closing of named sizes, and the checks that closing leaves for run time.

use crate::form::{Form, independent};
use crate::order::{Basis, FormId};
use crate::solver::closing::joint::solve_jointly;
use crate::solver::known::{may_be_zero, range_before_closing, symbol_bounds, symbolic_atom};
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::stores::reason::{Conflict, Limit, Outcome, Policy, Reason, ReasonId};
use crate::solver::stores::state::State;
use crate::solver::stores::symbols::{Check, Need};
use crate::term::{ConstraintId, DimTerm, DimVar, RowVar};
use rustc_hash::FxHashMap;

/// The first step of closing: what has no size by now stays symbolic. Named symbols go first, because a
/// dynamic size may follow from them.
pub(crate) fn close_symbols(state: &mut State) -> Outcome {
    if state.symbols.is_empty() {
        return Ok(());
    }
    let symbols = state.symbols.nodes.ids();
    state.symbols.ranges = symbols.map(|symbol| symbol_bounds(state, symbol)).collect();
    check_identities(state)?;
    solve_jointly(state)?;
    for dynamic in [false, true] {
        for symbol in state.symbols.nodes.ids() {
            let node = state.symbols.nodes[symbol];
            if node == DimVar::NIL || state.symbols.is_dynamic(symbol) != dynamic {
                continue;
            }
            let root = state.dims.find(node);
            if state.dims.value(root).is_some() {
                continue;
            }
            let basis = state.dims.basis(root).unwrap_or(Basis::DEFAULT);
            let value = symbolic_atom(state, Form::symbol(symbol), basis);
            let step = state.choose(Policy::Symbolic, RowVar::NIL);
            let reason = state.dims.reason(Reason::Policy(step));
            state.dims.commit(&mut state.trail, node, value, reason)?;
            if dynamic {
                propagate(state)?;
            }
        }
        propagate(state)?;
    }
    checks_are_possible(state)
}

/// The expressions that must be zero, whichever equations asked for it first.
fn zeros(state: &State) -> Vec<Form> {
    let zero = |check: &&Check| check.need == Need::Zero;
    independent(state.symbols.checks.iter().filter(zero).map(|check| check.form.clone()))
}

/// Everything that is left to be checked together: none of it is impossible.
pub(crate) fn checks_are_possible(state: &State) -> Outcome {
    let Some(last) = state.symbols.checks.iter().rfind(|check| check.need == Need::Zero) else {
        return Ok(());
    };
    if zeros(state).iter().all(|form| may_be_zero(state, form)) {
        return Ok(());
    }
    Err(state
        .constraints
        .arith(last.constraint)
        .map_or(Conflict::TooMuch(Limit::Expressions), |con| Conflict::Arith { con }))
}

/// The checks that closing relied on, in a form that does not depend on the order of the constraints.
pub(crate) fn remaining_checks(state: &State) -> Vec<Check> {
    let zeros = zeros(state);
    let all = &state.symbols.checks;
    let id = |form: &Form| {
        let about = |check: &&Check| check.need == Need::Zero && check.form.shares(form);
        all.iter().find(about).or(all.first()).map_or(ConstraintId(0), |check| check.constraint)
    };
    let mut checks: Vec<Check> = zeros
        .iter()
        .map(|form| Check { constraint: id(form), form: form.numerator(), need: Need::Zero })
        .collect();
    for check in all.iter().filter(|check| check.need != Need::Zero) {
        let form = shown_form(&check.form, &zeros);
        let (least, most) = form.bounds(|symbol| range_before_closing(state, symbol));
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
fn shown_form(form: &Form, zeros: &[Form]) -> Form {
    if form.as_symbol().is_some() { form.clone() } else { form.modulo(zeros) }
}

/// The expression of a final dimension.
pub(crate) fn final_form(state: &State, id: FormId) -> Form {
    shown_form(state.form(id), &zeros(state))
}

/// Two symbols specialised to the same size are equal only by accident; but where inequalities between
/// sizes that were known already force them to be one dimension, they are not. Those are looked at here,
/// because propagation is done with an inequality as soon as both its ends have a size.
fn check_identities(state: &State) -> Outcome {
    let named = state.symbols.nodes.ids();
    let named = named.filter(|symbol| !state.symbols.is_dynamic(*symbol));
    let nodes = named.map(|symbol| state.symbols.node(symbol)).filter(|node| *node != DimVar::NIL);
    let specialised: Vec<DimVar> =
        nodes.filter(|node| state.dims.value(state.dims.find(*node)).is_some()).collect();
    if specialised.len() < 2 {
        return Ok(());
    }
    let mut groups = Groups(FxHashMap::default());
    for edge in state.dims.edges() {
        let (below, above) = (state.dims.find(edge.lo), state.dims.find(edge.hi));
        if state.dims.value(above).is_some_and(|value| value != DimTerm::UNIT) {
            groups.join(below, above);
        }
    }
    let mut first: FxHashMap<DimVar, DimVar> = FxHashMap::default();
    for node in specialised {
        let other = *first.entry(groups.find(state.dims.find(node))).or_insert(node);
        if state.dims.tag(state.dims.find(other)) != state.dims.tag(state.dims.find(node)) {
            return Err(Conflict::Symbols { a: other, b: node, reason: ReasonId::NIL });
        }
    }
    Ok(())
}

/// Classes joined by inequalities, by representative.
struct Groups(FxHashMap<DimVar, DimVar>);

impl Groups {
    fn find(&self, mut class: DimVar) -> DimVar {
        while let Some(parent) = self.0.get(&class) {
            class = *parent;
        }
        class
    }

    fn join(&mut self, a: DimVar, b: DimVar) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.0.insert(a.max(b), a.min(b));
        }
    }
}
