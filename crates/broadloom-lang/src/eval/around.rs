//! The names that a function takes from around it, and whether they stand for tensors or sizes of the program.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::Eval;
use super::bound_names::bound_by_def;
use crate::syntax::ast::{AxisKind, Body, ExprKind, Name, ResultShape, Shape, StatementKind};
use crate::value::{Function, Value};

/// True if a function uses tensors or sizes of the program around it, itself or through others.
pub(super) fn captures_any(eval: &Eval<'_>, function: &Rc<Function>) -> bool {
    captures(eval, function, &mut FxHashSet::default())
}

/// The same, where some functions have been looked at.
fn captures(eval: &Eval<'_>, function: &Rc<Function>, seen: &mut FxHashSet<*const Function>) -> bool {
    if eval.library.contains(&function.def.name.span.source) || !seen.insert(Rc::as_ptr(function)) {
        return false;
    }
    let names = names_from_around(eval, function);
    names.into_iter().filter_map(|name| function.scope.find(name)).any(|value| match value {
        Value::Function(other) => captures(eval, &other, seen),
        Value::Layer(layer) if layer.function.def.config.is_none() => captures(eval, &layer.function, seen),
        Value::Tensor(_)
        | Value::Size(_)
        | Value::Layer(_)
        | Value::List(_)
        | Value::Inference(_)
        | Value::Module(_)
        | Value::Position(_) => true,
        _ => false,
    })
}

/// Returns true of a value that belongs to the program: a tensor or a size of it, or something with one in it.
pub(super) fn is_of_program(eval: &Eval<'_>, value: &Value) -> bool {
    match value {
        Value::Tensor(_) | Value::OpenNumber(_) | Value::Size(_) | Value::Position(_) => true,
        Value::List(items) => items.iter().any(|item| is_of_program(eval, item)),
        Value::Layer(layer) => {
            captures_any(eval, &layer.function) || layer.config.iter().any(|each| is_of_program(eval, each))
        }
        Value::Inference(inner) => is_of_program(eval, inner),
        _ => false,
    }
}

/// The names in the body and in the shapes of a function that it does not bind itself.
pub(super) fn names_from_around(eval: &Eval<'_>, function: &Function) -> FxHashSet<Name> {
    let mut names: FxHashSet<Name> = names_in_shapes(eval, function);
    for (_, expr) in function.file.exprs_within(function.span) {
        match &expr.kind {
            ExprKind::Name(name) => {
                names.insert(*name);
            }
            // Sizes stand in texts, too.
            ExprKind::Text(text) => {
                let words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
                names.extend(words.filter_map(|word| eval.names.find(word)));
            }
            _ => {}
        }
    }
    let mut own = Vec::new();
    bound_by_def(&function.def, &mut own);
    own.iter().for_each(|ident| _ = names.remove(&ident.name));
    names
}

/// The names in shapes that a function declares: sizes, where they are arguments.
pub(super) fn names_in_shapes(eval: &Eval<'_>, function: &Function) -> FxHashSet<Name> {
    let mut found = FxHashSet::default();
    let mut add = |shape: &Shape| {
        let axes = shape.batch.iter().flatten().chain(shape.input.iter().flatten()).chain(&shape.output);
        for axis in axes {
            match axis.kind {
                AxisKind::Name(name) | AxisKind::Row(name) => {
                    found.insert(name);
                }
                AxisKind::Expr(id) => {
                    let inside = function.file.expr(id).span;
                    let exprs = function.file.exprs_within(function.span);
                    let names = exprs.filter(|(_, expr)| inside.contains(expr.span));
                    found.extend(names.filter_map(|(_, expr)| match expr.kind {
                        ExprKind::Name(name) => Some(name),
                        _ => None,
                    }));
                }
                AxisKind::Size(_) | AxisKind::Any | AxisKind::Rest => {}
            }
        }
    };
    function.def.result.iter().flat_map(ResultShape::shapes).for_each(&mut add);
    function.def.arguments.iter().filter_map(|each| each.shape.as_ref()).for_each(&mut add);
    for (_, expr) in function.file.exprs_within(function.span) {
        if let ExprKind::Param(param) = &expr.kind {
            param.shape.iter().for_each(&mut add);
        }
    }
    if let Body::Block(statements) = &function.def.body {
        for statement in statements {
            match &statement.kind {
                StatementKind::Leaf { shape, .. } | StatementKind::Let { shape, .. } => {
                    shape.iter().for_each(&mut add);
                }
                _ => {}
            }
        }
    }
    found.extend(names_in_ranges(eval, function));
    found
}

/// The names in the shapes of `range("n |")`.
fn names_in_ranges(eval: &Eval<'_>, function: &Function) -> Vec<Name> {
    let mut found = Vec::new();
    for (_, expr) in function.file.exprs_within(function.span) {
        let ExprKind::Call { callee, args } = &expr.kind else { continue };
        let is_range =
            matches!(function.file.expr(*callee).kind, ExprKind::Name(name) if eval.text(name) == "range");
        let text = args.first().map(|first| &function.file.expr(first.value).kind);
        if let (true, Some(ExprKind::Text(text))) = (is_range, text) {
            let words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
            found.extend(words.filter_map(|word| eval.names.find(word)));
        }
    }
    found
}
