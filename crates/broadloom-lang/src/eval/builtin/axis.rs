//! Functions along one axis, which a shape names: `take("... | t", x, ids)`.

use broadloom::{Along, Kind, Node, OperationId, StatedNames, Tensor};
use broadloom_diagnostics::{Diagnostic, Span};

use super::{Call, Given};
use crate::codes;
use crate::eval::advice::makers;
use crate::eval::needs::{self, NeedKind};
use crate::eval::{Eval, Evaluated, Reported, call, elements};
use crate::language_function::LanguageFunction;
use crate::notation::named_axis;
use crate::value::Value;

/// The axis that a shape names, as `"... | t"` does: the first or the last of its kind. What the function takes behind the shape is
/// for the message.
pub(super) fn along(
    eval: &mut Eval<'_>,
    call: &Call,
    text: &str,
    span: Span,
    behind: &str,
) -> Evaluated<Along> {
    if let Some(along) = named_axis(text) {
        return Ok(along);
    }
    let message = format!("`\"{text}\"` does not name one axis, first or last of its kind, to go along");
    // Inside of the library, the function is not the one that the program calls.
    let shown = |shape: &str| match behind {
        "along" => format!("along = \"{shape}\""),
        _ if eval.place(span) != span => format!("\"{shape}\""),
        _ => format!("{}(\"{shape}\", {behind})", call.name()),
    };
    let (batch, output) = (shown("..., t | ..."), shown("... | t, ..."));
    let help = format!("write `{batch}` for the last batch axis, `{output}` for the first output axis");
    eval.wrong(codes::ARGUMENTS, message, span, help)
}

/// Reports a tensor without axes of the kind that a function goes along.
pub(super) fn no_axis<T>(
    eval: &mut Eval<'_>,
    call: &Call,
    given: &Given,
    tensor: Tensor,
    along: &Along,
) -> Evaluated<T> {
    let (name, kind, function) = (eval.quote(given.span), along.kind.name(), call.name());
    let message = format!("`{name}` has no {kind} axis that `{function}` could go along");
    let shape = eval.graph.shape(tensor);
    let diagnostic =
        Diagnostic::error(codes::MISMATCH, message, eval.place(given.span), format!("`{shape}`"));
    let inside = eval.place(given.span) != given.span;
    let shown = |axis: &str| match inside {
        true => format!("`\"{axis}\"`"),
        false => format!("`{function}(\"{axis}\", …)`"),
    };
    let axes = |kind: usize| shape.rows[kind].lead.len() + shape.rows[kind].trail.len();
    let help = match axes(2) {
        0 if axes(0) > 0 && along.kind != Kind::Batch => {
            format!("its axes are batch axes: write {} for the last", shown("..., t |"))
        }
        0 => "it needs an axis with an element for each turn".to_string(),
        1 => format!("name its output axis: {}", shown("t")),
        _ => format!(
            "name an output axis: {} for the first, {} for the last",
            shown("t, ..."),
            shown("..., t")
        ),
    };
    eval.fail(diagnostic.with_help(help))
}

/// Refuses a tensor with other axes than the one that a shape names, where the shape has no `...` for them.
pub(super) fn has_no_others(
    eval: &mut Eval<'_>,
    given: &Given,
    tensor: Tensor,
    along: &Along,
) -> Evaluated<()> {
    let shape = eval.graph.shape(tensor);
    let mut whole = *along;
    for kind in Kind::ALL {
        let row = &shape.rows[kind as usize];
        let axes = row.lead.len() + row.trail.len();
        whole.open[kind as usize] |= axes > usize::from(kind == along.kind) && !row.open;
    }
    if whole == *along {
        return Ok(());
    }
    let name = eval.graph.label_of(tensor);
    let message =
        format!("`\"{}\"` is the shape of one axis, and `{name}` has others", without_empty_rows(along));
    let diagnostic =
        Diagnostic::error(codes::MISMATCH, message, eval.place(given.span), format!("`{name}` is `{shape}`"));
    let help = format!("write `\"{}\"`: `...` is any number of other axes", without_empty_rows(&whole));
    eval.fail(diagnostic.with_help(help))
}

/// The shape that names an axis, without rows that have no axes.
fn without_empty_rows(along: &Along) -> String {
    let declared = along.declared("t");
    let (batch, rest) = declared.split_once(" | ").unwrap_or(("", declared.as_str()));
    let (input, output) = rest.split_once(" -> ").unwrap_or(("", rest));
    let mut parts: Vec<&str> = Vec::new();
    for (row, sign) in [(batch, "|"), (input, "->"), (output, "")] {
        parts.extend([row, sign].into_iter().filter(|part| !row.is_empty() && !part.is_empty()));
    }
    parts.join(" ")
}

/// A call of a function along an axis: the axis, the tensor, and the other arguments.
struct AxisCall<'c, const N: usize> {
    along: Along,
    tensor: Tensor,
    rest: [&'c Given; N],
}

/// The axis that a shape names, or else another, and the tensor behind it.
pub(super) fn along_or(eval: &mut Eval<'_>, call: &Call, otherwise: Along) -> Evaluated<(Along, Tensor)> {
    let AxisCall { along, tensor, rest: [] } = taken_or(eval, call, "x", otherwise)?;
    Ok((along, tensor))
}

/// Reads the shape that names an axis, the tensor, and `N` other arguments. Without a shape it is the first batch axis, as in `x[ids]`.
fn taken<'c, const N: usize>(
    eval: &mut Eval<'_>,
    call: &'c Call,
    behind: &str,
) -> Evaluated<AxisCall<'c, N>> {
    taken_or(eval, call, behind, Along::first(Kind::Batch))
}

/// The same, with another axis where there is no shape.
fn taken_or<'c, const N: usize>(
    eval: &mut Eval<'_>,
    call: &'c Call,
    behind: &str,
    otherwise: Along,
) -> Evaluated<AxisCall<'c, N>> {
    call::only(eval, call, if call.function == LanguageFunction::Argsort { &["descending"] } else { &[] })?;
    let mut plain = call.plain();
    let along = match plain.first().map(|given| (&given.value, given.span)) {
        Some((Value::Text(text), span)) => {
            plain.remove(0);
            along(eval, call, text, span, behind)?
        }
        // One argument more than there can be without the name of an axis.
        Some((value, _)) if plain.len() == N + 2 => {
            needs::note(eval, value, NeedKind::Text);
            otherwise
        }
        _ => otherwise,
    };
    let (Some(x), Ok(rest)) = (plain.first(), <[&Given; N]>::try_from(plain.get(1..).unwrap_or_default()))
    else {
        // An argument that is not known may be the name of an axis.
        if plain.iter().any(|each| matches!(each.value, Value::Mistake)) {
            return Err(Reported);
        }
        let message = format!("`{}` takes the name of an axis, and `{behind}`", call.name());
        return call::wrong_call(
            eval,
            call,
            message,
            format!("write `{}(\"... | t\", {behind})`", call.name()),
        );
    };
    let tensor = eval.tensor(&x.value, x.span)?;
    let row = &eval.graph.shape(tensor).rows[along.kind as usize];
    if !row.open && row.lead.is_empty() && row.trail.is_empty() {
        return no_axis(eval, call, x, tensor, &along);
    }
    has_no_others(eval, x, tensor, &along)?;
    Ok(AxisCall { along, tensor, rest })
}

/// `take("... | t", x, ids)`: elements at whole numbers along an axis.
pub(super) fn take(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let AxisCall { along, tensor, rest: [ids] } = taken(eval, call, "x, ids")?;
    if let Value::Range(from, to) = ids.value {
        beyond(eval, call, tensor, along, to)?;
        return eval.cut(tensor, along, (from, to), call.span);
    }
    if let Value::Number(number) = ids.value {
        let message =
            format!("`take` takes elements at a list of whole numbers, and {number} is one of them");
        let help = format!(
            "write `[{number}]`, which keeps the axis, or leave it out by a spec: `einsum(\"... | {number} => ... |\", x)`"
        );
        return eval.wrong(codes::KIND, message, ids.span, help);
    }
    let ids = elements::whole_positions(eval, &ids.value, ids.span)?;
    let made = eval.ask(call.span, |graph| graph.take(tensor, ids, along))?;
    eval.show_as_written(made, call.span, "take(…)");
    Ok(Value::Tensor(made))
}

/// Reports a range that ends behind an axis, where its size is known already.
fn beyond(eval: &mut Eval<'_>, call: &Call, tensor: Tensor, along: Along, to: i64) -> Evaluated<()> {
    let row = &eval.graph.shape(tensor).rows[along.kind as usize];
    let mut axes = row.lead.iter().chain(&row.trail);
    let axis = if along.leads { axes.next() } else { axes.next_back() };
    let size = axis.and_then(|axis| i64::try_from(axis.size()?).ok()).filter(|_| !row.open);
    let Some(size) = size.filter(|size| *size < to) else { return Ok(()) };
    // Positions in order are as many as the elements, which the program knows by a name.
    let tensor = match eval.graph.node(tensor) {
        Some(Node::Operation { id: OperationId::Argsort, operands: &[x], .. }) => x,
        _ => tensor,
    };
    let (name, shape) = (eval.graph.message_name(tensor), eval.graph.shape(tensor));
    let message = format!("`{name}` has {size} elements along this axis, and {to} are needed");
    let mut diagnostic = Diagnostic::error(codes::ARITHMETIC, message, eval.place(call.span), "");
    if let Some(made) = eval.where_made(&Value::Tensor(tensor)).filter(|made| *made != eval.place(call.span))
    {
        diagnostic = diagnostic.with_label(made, format!("`{name}` is `{shape}`"));
    }
    diagnostic.labels.extend(makers::given_as_argument(eval, to as f64));
    let mut unquoted = eval.sources.slice(eval.place(call.span)).split('"').step_by(2);
    eval.fail(diagnostic.with_help(match unquoted.any(|text| text.contains("..")) {
        true => format!("take at most {size}: the end of a range is not part of it"),
        false => format!("take at most {size}"),
    }))
}

/// `take_along("... | t", x, ids)`: elements at whole numbers along an axis, others in each row.
pub(super) fn take_along(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let AxisCall { along, tensor, rest: [ids] } = taken(eval, call, "x, ids")?;
    let ids = eval.tensor(&ids.value, ids.span)?;
    let made = eval.ask(call.span, |graph| graph.take_along(tensor, ids, along))?;
    eval.show_as_written(made, call.span, "take_along(…)");
    Ok(Value::Tensor(made))
}

/// `positions("... | t", x)`: 0, 1, 2, …, as many as a tensor has elements along an axis. Its size is captured as `t`.
pub(super) fn positions(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let AxisCall { along, tensor, rest: [] } = taken(eval, call, "x")?;
    let name = eval.fresh_name("positions");
    Ok(Value::Tensor(eval.ask(call.span, |graph| {
        let range = graph.range(&name, "t |")?;
        // The name of a named size would be that size.
        let mut label = "t".to_string();
        while graph.captured_dim(&label).is_ok() {
            label.push('_');
        }
        let mut names = StatedNames::default();
        graph.state_shape(tensor, along.declared(&label).as_str().into(), &mut names)?;
        graph.state_shape(range, format!("{label} |").as_str().into(), &mut names)?;
        Ok(range)
    })?))
}

/// `argsort("... | t", x, descending = true)`: positions along an axis in the order of the elements.
pub(super) fn argsort(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let descending = match call::named(eval, call, "descending") {
        Some(Given { value, span, .. }) => {
            let (value, span) = (value.clone(), *span);
            eval.number(&value, span)? != 0.0
        }
        None => false,
    };
    let AxisCall { along, tensor, rest: [] } = taken(eval, call, "x")?;
    let made = eval.ask(call.span, |graph| graph.argsort(tensor, along, descending))?;
    eval.show_as_written(made, call.span, "argsort(…)");
    Ok(Value::Tensor(made))
}
