//! Functions of matrices: `solve(a, b)`, `inverse(a)`, `det(a)`. A matrix is a linear map, `n -> n`.

use broadloom::{Error, Graph, PartialRow, Tensor};
use broadloom_diagnostics::Diagnostic;

use super::{Call, Given};
use crate::codes;
use crate::eval::{Eval, Evaluated, builtin, call};
use crate::language_function::LanguageFunction;
use crate::value::Value;

/// A function of a matrix and of what stands beside it.
pub(super) fn beside(
    eval: &mut Eval<'_>,
    call: &Call,
    function: fn(&mut Graph, Tensor, Tensor) -> Result<Tensor, Error>,
) -> Evaluated<Value> {
    let [a, b] = builtin::exactly(eval, call, ["a", "b"])?;
    let (a, b) = (matrix(eval, call, a)?, eval.tensor(&b.value, b.span)?);
    let made = eval.ask(call.span, |graph| function(graph, a, b))?;
    eval.show_as_written(made, call.span, &format!("{}(…)", call.name()));
    Ok(Value::Tensor(made))
}

/// A function of one matrix with one result.
pub(super) fn one(
    eval: &mut Eval<'_>,
    call: &Call,
    function: fn(&mut Graph, Tensor) -> Result<Tensor, Error>,
) -> Evaluated<Value> {
    let [a] = builtin::exactly(eval, call, ["a"])?;
    let a = matrix(eval, call, a)?;
    let made = eval.ask(call.span, |graph| function(graph, a))?;
    eval.show_as_written(made, call.span, &format!("{}(…)", call.name()));
    Ok(Value::Tensor(made))
}

/// A function of one matrix with several results.
pub(super) fn several<const N: usize>(
    eval: &mut Eval<'_>,
    call: &Call,
    function: fn(&mut Graph, Tensor) -> Result<[Tensor; N], Error>,
) -> Evaluated<Value> {
    let [a] = builtin::exactly(eval, call, ["a"])?;
    let a = matrix(eval, call, a)?;
    let made = eval.ask(call.span, |graph| function(graph, a))?;
    Ok(Value::List(made.map(Value::Tensor).to_vec().into()))
}

/// An argument that is a matrix: a tensor that has inputs and outputs, as far as is known.
fn matrix(eval: &mut Eval<'_>, call: &Call, given: &Given) -> Evaluated<Tensor> {
    if cfg!(target_arch = "wasm32") {
        let message = format!("`{}` is not part of this page, which has no room for it", call.name());
        return call::wrong_call(eval, call, message, "run the program with `broadloom run`");
    }
    let tensor = eval.tensor(&given.value, given.span)?;
    let shape = eval.graph.shape(tensor);
    let count = |row: &PartialRow| (!row.open).then(|| row.lead.len() + row.trail.len());
    let [batch, input, output] = [0, 1, 2].map(|kind| count(&shape.rows[kind]));
    if input != Some(0) {
        return Ok(tensor);
    }
    let name = eval.quote(given.span);
    let axes = |kind: usize| -> Vec<String> {
        let PartialRow { lead, trail, .. } = &shape.rows[kind];
        lead.iter().chain(trail).map(ToString::to_string).collect()
    };
    let help = match (batch, output) {
        (_, Some(2)) => {
            let [rows, columns] = [&axes(2)[0], &axes(2)[1]];
            let spec = "einsum(\"... | i, j => ... | j -> i\", ";
            format!(
                "declare it as `{columns} -> {rows}`, or write `{spec}{name})`: rows are output axes, columns input axes"
            )
        }
        (Some(2), Some(0)) => {
            format!("write `einsum(\"i, j | => j -> i\", {name})`: rows are output axes, columns input axes")
        }
        _ => "write its columns as an input axis, and its rows as an output axis: `3 -> 3`".to_string(),
    };
    let is_square =
        !matches!(call.function, LanguageFunction::Qr | LanguageFunction::Svd | LanguageFunction::Lstsq);
    let rows = if is_square { "n" } else { "m" };
    let message = format!("`{}` takes a matrix, `n -> {rows}`, and `{name}` has no input axis", call.name());
    let diagnostic =
        Diagnostic::error(codes::MISMATCH, message, eval.place(given.span), format!("`{shape}`"));
    let made = eval.where_made(&given.value);
    let diagnostic = made
        .into_iter()
        .fold(diagnostic, |diagnostic, made| diagnostic.with_label(made, format!("`{name}` is made here")));
    eval.fail(diagnostic.with_help(help))
}
