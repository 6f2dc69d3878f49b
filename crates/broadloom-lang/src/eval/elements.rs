//! Elements at positions that a tensor holds: `x[ids]`, and `scatter` the other way round.

use broadloom::{Accumulate, Captured, Tensor};
use broadloom_diagnostics::{Diagnostic, Span};

use super::{Eval, Evaluated, dim, written};
use crate::codes;
use crate::syntax::ast::ExprId;
use crate::value::Value;

/// `x[ids]`: the elements of the first batch axis at whole numbers.
pub(super) fn elements(
    eval: &mut Eval<'_>,
    tensor: Tensor,
    index: &Value,
    (written, span): ((ExprId, ExprId), Span),
) -> Evaluated<Value> {
    let ids = whole_positions(eval, index, span)?;
    let [batch, ..] = eval.graph.shape(tensor).rows;
    if !batch.open && batch.lead.is_empty() && batch.trail.is_empty() {
        return no_batch_axis(eval, tensor, written, span);
    }
    let made = eval.ask(span, |graph| graph.elements(tensor, ids))?;
    eval.show_as_written(made, span, "x[…]");
    Ok(Value::Tensor(made))
}

/// Reports a tensor without the axis that `x[ids]` looks up.
fn no_batch_axis(
    eval: &mut Eval<'_>,
    tensor: Tensor,
    (of, index): (ExprId, ExprId),
    span: Span,
) -> Evaluated<Value> {
    let [name, index] = [of, index].map(|part| eval.quote(eval.span_of(part)));
    let shape = eval.graph.shape(tensor);
    let message = format!("`{name}` is `{shape}`: there is no batch axis to take elements of");
    let mut diagnostic = Diagnostic::error(codes::MISMATCH, message, eval.place(span), "");
    if let Some(made) = eval.where_made(&Value::Tensor(tensor)).filter(|made| *made != span) {
        diagnostic = diagnostic.with_label(made, format!("`{name}` is made here"));
    }
    let [_, input, output] =
        shape.rows.each_ref().map(|row| row.lead.iter().map(ToString::to_string).collect::<Vec<_>>());
    let rows = match (&input[..], &output[..]) {
        ([], [first, rest @ ..]) => Some((first.clone(), rest.join(", "))),
        ([], []) => None,
        _ => Some((input.join(", "), output.join(", "))),
    };
    let looked_up = "the axis that is looked up is written before `|`";
    let declared = match rows {
        Some((first, rest)) => {
            format!(": declare `{name}` as `{}`", format!("{first} | {rest}").trim_end())
        }
        None => ": `10 | 3`".to_string(),
    };
    let help = match input.len() {
        1 => format!(
            "write `gather({name}, {index})`, which looks up an input of a map; for `{name}[{index}]`, {looked_up}{declared}"
        ),
        _ => format!("{looked_up}{declared}"),
    };
    eval.fail(diagnostic.with_help(help))
}

/// Whole numbers that are positions: a tensor with batch axes only, or a list.
pub(crate) fn whole_positions(eval: &mut Eval<'_>, value: &Value, span: Span) -> Evaluated<Tensor> {
    let literal = matches!(value, Value::List(_) | Value::Numbers(_) | Value::Array(_));
    if matches!(value, Value::List(_)) && !written::is_of_numbers(value) {
        let ids = eval.tensor(value, span)?;
        return eval.ask(span, |graph| graph.einsum("..r.. => ..r.. |", &[ids]));
    }
    if literal {
        let array = written::array(eval, value, None, span)?;
        let name = eval.free_name("positions");
        return eval.ask(span, |graph| graph.open_array(&name, "... |", array));
    }
    let ids = eval.tensor(value, span)?;
    let [batch, input, output] = eval.graph.shape(ids).rows;
    let known = |row: &broadloom::PartialRow| (!row.open).then(|| row.lead.len() + row.trail.len());
    if let (Some(0), Some(0), Some(1..)) = (known(&batch), known(&input), known(&output)) {
        let shape = eval.graph.shape(ids);
        let name = eval.graph.label_of(ids);
        let message = format!("positions are batch axes, and `{name}` is `{shape}`");
        let mut diagnostic = Diagnostic::error(codes::MISMATCH, message, eval.place(span), "");
        let made = eval.where_made(&Value::Tensor(ids)).filter(|made| *made != span);
        if let Some(made) = made {
            diagnostic = diagnostic.with_label(made, format!("`{name}` is made here"));
        }
        return eval.fail(diagnostic.with_help(format!("write `{shape} |` for its shape")));
    }
    Ok(ids)
}

/// `scatter(x, ids, size)`: elements are put at whole numbers along a new first batch axis.
pub(crate) fn scattered(
    eval: &mut Eval<'_>,
    (x, ids): (Tensor, Tensor),
    size: (&Value, Span),
    accumulate: Accumulate,
    span: Span,
) -> Evaluated<Value> {
    let made = eval.ask(span, |graph| graph.scatter(x, ids, accumulate))?;
    let captured: Captured = eval.ask(span, |graph| graph.captured(made, "n"))?;
    let sum = if let Value::Size(size) = size.0 { size.sum().cloned() } else { None };
    match sum {
        Some(sum) => eval.ask(size.1, |graph| graph.set_to(captured, &sum))?,
        None => {
            let size = dim::size_of(eval, size.0, size.1)?;
            eval.ask(span, |graph| graph.set(captured, size))?;
        }
    }
    eval.show_as_written(made, span, "scatter(…)");
    Ok(Value::Tensor(made))
}
