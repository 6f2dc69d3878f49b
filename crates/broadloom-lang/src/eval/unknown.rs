//! Arguments of which nothing is known, not even the kind: what is wrong with a body whatever it is given.
//!
//! A body that is not applied is walked with a [`Value::Open`] for each argument. What such a value decides is not
//! decided: both ways of an `if` are walked, and what is made of it is open again, unless every kind of value makes a
//! tensor of it. So a mistake that is found here is one of every application. A way that is only tried may be one that
//! no right application takes, and a function may end by not taking it.

use broadloom_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashSet;

use super::bound_names::bound_by;
use super::{Eval, Evaluated, Frame, Reported};
use crate::codes;
use crate::syntax::ast::{Binary, Branch, ExprId, Ident, Statement};
use crate::value::{Function, Scope, Value};

/// The state of a walk with open arguments.
#[derive(Default)]
pub(super) struct Unknown {
    /// The ways of choices around the current place of which it is not known whether they are taken.
    tried: usize,
    /// True once such a way was walked: it may have made what another one makes, too.
    has_tried: bool,
}

/// Returns true while the arguments of the functions that are walked are not known.
pub(super) fn is_unknown(eval: &Eval<'_>) -> bool {
    eval.aside.as_ref().is_some_and(|aside| aside.unknown.is_some())
}

/// Returns true of a mistake that is one only for some arguments, or only as long as they are not known.
pub(super) fn is_guess(eval: &Eval<'_>, diagnostic: &Diagnostic) -> bool {
    let Some(unknown) = eval.aside.as_ref().and_then(|aside| aside.unknown.as_ref()) else { return false };
    match diagnostic.code {
        // What is open may be decided by what is given, and files may come later.
        codes::UNDETERMINED | codes::GAVE_UP | codes::NAMED | codes::IMPORT => true,
        code if code.starts_with("E04") => true,
        codes::DEPTH => unknown.tried > 0,
        codes::PARAMETER => unknown.has_tried,
        _ => false,
    }
}

/// Returns true of an open value, and of a list with one in it.
pub(super) fn is_open(value: &Value) -> bool {
    match value {
        Value::Open | Value::OpenNumber(_) => true,
        Value::List(items) => has_open(items, &mut FxHashSet::default()),
        _ => false,
    }
}

/// Returns true of a list with an open value in it. Lists that are inside of each other many times over are looked at once.
fn has_open(items: &[Value], seen: &mut FxHashSet<*const Value>) -> bool {
    items.len() <= MOST_ITEMS
        && items.iter().any(|item| match item {
            Value::Open | Value::OpenNumber(_) => true,
            Value::List(inner) => seen.insert(inner.as_ptr()) && has_open(inner, seen),
            _ => false,
        })
}

/// Returns true of a size that may be a number where the function is applied, though it is none here.
pub(super) fn is_size(eval: &Eval<'_>, value: &Value) -> bool {
    matches!(value, Value::Size(_)) && is_unknown(eval) && eval.known(value).is_none()
}

/// The same, and true of numbers: of two of these, arithmetic makes one.
pub(super) fn may_be_known(eval: &Eval<'_>, value: &Value) -> bool {
    is_unknown(eval) && matches!(value, Value::Size(_) | Value::Number(_) | Value::Position(_))
}

/// Lists of numbers may be long, and have nothing open in them.
const MOST_ITEMS: usize = 64;

/// The result of arithmetic with something open.
pub(super) fn number(eval: &mut Eval<'_>, span: Span) -> Evaluated<Value> {
    eval.tensor(&Value::Open, span).map(Value::OpenNumber)
}

/// A value with fields and elements in the place of one of which these are asked for: only tensors have them among what
/// arithmetic makes.
pub(super) fn as_tensor(value: Value) -> Value {
    match value {
        Value::OpenNumber(tensor) => Value::Tensor(tensor),
        value => value,
    }
}

/// An element of something, one of which is open.
pub(super) fn element(
    eval: &mut Eval<'_>,
    [(value, of), (index, at)]: [(Value, Span); 2],
    span: Span,
) -> Evaluated<Value> {
    let (of_number, value) = (matches!(value, Value::OpenNumber(_)), as_tensor(value));
    if !is_open(&index) {
        eval.check_index(&index, at)?;
    }
    if !is_open(&value) && !has_elements(&value) {
        // Whatever stands in brackets.
        return eval.tensor(&value, of).map(Value::Tensor);
    }
    if of_number { number(eval, span) } else { Ok(Value::Open) }
}

/// Returns true of a value that has elements, and may be an index.
pub(super) fn has_elements(value: &Value) -> bool {
    let has_none = matches!(
        value,
        Value::Text(_)
            | Value::Function(_)
            | Value::Layer(_)
            | Value::Inference(_)
            | Value::Builtin(_)
            | Value::Operation(_)
            | Value::Initial(_)
            | Value::Module(_)
            | Value::Nothing
    );
    !has_none
}

/// Applies an operator of which at least one operand is open.
pub(super) fn binary(
    eval: &mut Eval<'_>,
    sign: Binary,
    operands: [(&Value, Span); 2],
) -> Evaluated<Option<[Value; 2]>> {
    let compares = matches!(sign, Binary::Equal | Binary::NotEqual);
    let mut tensors = Vec::with_capacity(2);
    let is_tensor = |value: &Value| {
        matches!(value, Value::Tensor(_) | Value::Array(_) | Value::Numbers(_) | Value::List(_))
    };
    // With a tensor or a list it is a tensor; with a number or a size it is what the other one is.
    let makes_tensor = operands.iter().any(|(value, _)| is_tensor(value)) || sign == Binary::Compose;
    for (value, span) in operands {
        match value {
            Value::Open | Value::OpenNumber(_) | Value::Number(_) | Value::Size(_) | Value::Position(_)
                if !makes_tensor => {}
            Value::Text(_) | Value::Nothing if compares => return Ok(None),
            value => tensors.push(Value::Tensor(eval.tensor(value, span)?)),
        }
    }
    Ok(<[Value; 2]>::try_from(tensors).ok())
}

/// Walks something that may not be taken, with names of its own.
fn try_way<T>(eval: &mut Eval<'_>, way: impl FnOnce(&mut Eval<'_>) -> Evaluated<T>) {
    let count = |eval: &mut Eval<'_>, by: isize| {
        if let Some(unknown) = eval.aside.as_mut().and_then(|aside| aside.unknown.as_mut()) {
            unknown.tried = unknown.tried.saturating_add_signed(by);
            unknown.has_tried = true;
        }
    };
    count(eval, 1);
    let scope = Scope::new(Some(eval.frame.scope.clone()));
    let frame = Frame { scope, ..eval.frame.clone() };
    let (Ok(_) | Err(Reported)) = eval.within(frame, way);
    count(eval, -1);
}

/// Both sides of an `if` whose condition is open.
pub(super) fn both_sides(eval: &mut Eval<'_>, sides: [ExprId; 2]) -> Value {
    for side in sides {
        try_way(eval, |eval| eval.expr(side));
    }
    Value::Open
}

/// All blocks that may be taken from a branch with an open condition on. What they bind is open behind them.
pub(super) fn all_branches(eval: &mut Eval<'_>, branches: &[Branch]) -> Value {
    let mut bound: Vec<Ident> = Vec::new();
    for branch in branches {
        try_way(eval, |eval| eval.block(&branch.body));
        bound_by(&branch.body, &mut bound);
    }
    for name in bound {
        eval.frame.scope.bind(name.name, Value::Open);
    }
    Value::Open
}

/// A turn of a loop over something open, which may have no turns.
pub(super) fn one_turn(eval: &mut Eval<'_>, name: Ident, body: &[Statement]) {
    try_way(eval, |eval| {
        eval.frame.scope.bind(name.name, Value::Open);
        eval.block(body)
    });
}

/// An item of a list that is made from something open.
pub(super) fn one_item(eval: &mut Eval<'_>, name: Ident, item: ExprId) -> Value {
    try_way(eval, |eval| {
        eval.frame.scope.bind(name.name, Value::Open);
        eval.expr(item)
    });
    Value::Open
}

/// Returns true if a function is being applied already and it is not known whether it would be applied again.
pub(super) fn may_end(eval: &Eval<'_>, function: *const Function) -> bool {
    let tried = eval.aside.as_ref().and_then(|aside| aside.unknown.as_ref()).map(|unknown| unknown.tried);
    if tried.is_none_or(|tried| tried == 0) {
        return false;
    }
    let mut at = eval.application;
    let mut seen: FxHashSet<u32> = FxHashSet::default();
    while let Some(inner) = at.filter(|at| seen.insert(*at)) {
        let Some(applied) = eval.applied.get(inner as usize) else { return false };
        if applied.function() == function {
            return true;
        }
        at = applied.outer;
    }
    false
}
