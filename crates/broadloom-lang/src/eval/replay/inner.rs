//! Functions that a body defines.
//!
//! They are new in every application of the function around them, and differ only in what the names around them stand for. So
//! their recordings belong to the definition, and the values of these names are conditions beside the arguments:
//!
//! ```text
//! def block(heads)(x, mask) =
//!   let attend = attention(heads)
//!   def look(y) = attend(y, mask = mask)      # arguments of its recordings: y, attend, mask
//!   look(x) + x
//! ```
//!
//! A body that defines functions binds its names when it is replayed, because the functions look for them.

use std::rc::Rc;
use std::sync::Arc;

use broadloom_diagnostics::Span;

use super::Effect;
use crate::eval::Eval;
use crate::eval::bound_names::bound_by_def;
use crate::eval::contract::states_shapes;
use crate::syntax::ast::{Body, Def, ExprKind, Name, StatementKind};
use crate::value::{Function, Layer, Value};

/// Returns true if a body defines functions, and does otherwise only what binds names that can be bound again.
pub(super) fn has_functions(function: &Function) -> bool {
    let Body::Block(statements) = &function.def.body else { return false };
    let mut kinds = statements.iter().map(|statement| &statement.kind);
    let is_usual = |kind: &StatementKind| {
        matches!(
            kind,
            StatementKind::Let { .. }
                | StatementKind::Def(_)
                | StatementKind::Set { .. }
                | StatementKind::Expr(_)
        )
    };
    !states_shapes(function)
        && kinds.clone().any(|kind| matches!(kind, StatementKind::Def(_)))
        && kinds.all(is_usual)
}

/// The arguments of a function that is defined in a body, and what the names around it stand for.
#[inline(never)]
pub(in crate::eval) fn with_names_around(
    eval: &mut Eval<'_>,
    function: &Function,
    arguments: &[Value],
) -> Vec<Value> {
    let mut values = arguments.to_vec();
    if eval.replay.is_on {
        let names = names_around(eval, function);
        // A mistake is not the same as anything: what depends on a name that is not known is walked.
        values.extend(names.iter().map(|name| function.scope.find(*name).unwrap_or(Value::Mistake)));
    }
    values
}

/// The names in a function that it does not bind itself.
pub(super) fn names_around(eval: &mut Eval<'_>, function: &Function) -> Rc<[Name]> {
    let known = eval.replay.names_around.entry(Arc::as_ptr(&function.def));
    let (_, names) = known.or_insert_with(|| (function.def.clone(), names_in(function)));
    names.clone()
}

/// Notes that the body defines a function.
pub(in crate::eval) fn note_definition(eval: &mut Eval<'_>, def: &Arc<Def>, value: &Value, span: Span) {
    let Some(recorder) = &mut eval.replay.recorder else { return };
    let is_layer = matches!(value, Value::Layer(_)) && recorder.has_functions;
    if is_layer {
        recorder.give_slot(value);
    }
    recorder.push(is_layer.then(|| Effect::Define { def: def.clone(), span }));
}

fn names_in(function: &Function) -> Rc<[Name]> {
    let mut own = Vec::new();
    bound_by_def(&function.def, &mut own);
    let mut names: Vec<Name> = Vec::new();
    for expr in function.file.exprs.iter().filter(|expr| function.span.contains(expr.span)) {
        if let ExprKind::Name(name) = expr.kind
            && !names.contains(&name)
            && own.iter().all(|ident| ident.name != name)
        {
            names.push(name);
        }
    }
    names.into()
}

/// The key by which recordings are found: for a function inside of a body its definition, because it is another function in
/// every application.
pub(super) fn identity(layer: &Layer) -> *const () {
    let function = &layer.function;
    match function.is_nested {
        true => Arc::as_ptr(&function.def).cast(),
        false => Rc::as_ptr(function).cast(),
    }
}
