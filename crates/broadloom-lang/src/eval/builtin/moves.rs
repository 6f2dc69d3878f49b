//! Functions that compute nothing: they put elements side by side, look them up, or arrange them in another shape.

use broadloom::{
    Along, ComputedShape, Kind, OperationId, PartialAxis, PartialRow, PartialShape, Tensor, concat,
};
use broadloom_diagnostics::{Diagnostic, Span};

use super::axis::along;
use super::{Call, Given, one_of};
use crate::codes;
use crate::eval::{Eval, Evaluated, Reported, builtin, call, elements, traps};
use crate::language_function::LanguageFunction;
use crate::value::Value;

pub(super) fn transpose(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let [x] = builtin::exactly(eval, call, ["w"])?;
    let x = eval.tensor(&x.value, x.span)?;
    Ok(Value::Tensor(eval.ask(call.span, |graph| graph.transpose(x))?))
}

pub(super) fn gather(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let [table, ids] = builtin::exactly(eval, call, ["table", "ids"])?;
    let inputs = |given: &Given| match given.value {
        Value::Tensor(tensor) => {
            let [_, input, _] = eval.graph.shape(tensor).rows;
            (!input.open).then(|| input.lead.len() + input.trail.len())
        }
        _ => None,
    };
    if let (Some(0), Some(1..)) = (inputs(table), inputs(ids)) {
        let [first, second] = [table, ids].map(|given| eval.quote(given.span));
        let message = "the table of `gather` comes first, and then the numbers of its rows";
        let instead = (call.whole(), format!("gather({second}, {first})"));
        return eval.wrong_instead(codes::ARGUMENTS, message, call.span, instead, "");
    }
    if let (Some(0), Value::Tensor(tensor)) = (inputs(table), &table.value)
        && let PartialRow { lead, trail, open: false } = &eval.graph.shape(*tensor).rows[2]
        && let [rows, others @ ..] = &lead[..]
        && trail.is_empty()
    {
        let others: Vec<String> = others.iter().map(ToString::to_string).collect();
        let name = eval.quote(table.span);
        let message =
            format!("the table of `gather` is a map from its rows, `n -> …`, and `{name}` has outputs only");
        let shape = eval.graph.shape(*tensor);
        let diagnostic =
            Diagnostic::error(codes::MISMATCH, message, eval.place(table.span), format!("`{shape}`"));
        let made = eval.where_made(&table.value);
        let diagnostic = made.into_iter().fold(diagnostic, |diagnostic, made| {
            diagnostic.with_label(made, format!("`{name}` is made here"))
        });
        let help = format!(
            "declare it as `{rows} -> {}`, or write `gather(einsum(\"n ... => n -> ...\", {name}), …)`",
            others.join(", ")
        );
        return eval.fail(diagnostic.with_help(help));
    }
    let (table, ids) = (eval.tensor(&table.value, table.span)?, eval.tensor(&ids.value, ids.span)?);
    Ok(Value::Tensor(eval.ask(call.span, |graph| graph.gather(table, ids))?))
}

/// `scatter(x, ids, size, reduce = "max")`
pub(super) fn scatter(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    call::only(eval, call, &["reduce"])?;
    let accumulate = one_of(eval, call, "reduce", &super::ACCUMULATES)?.unwrap_or_default();
    let [x, ids, size] = call.plain()[..] else {
        let message = format!("`scatter` takes 3 arguments, {} given", call.plain().len());
        let help =
            "write `scatter(x, ids, size)`: elements, their positions, and how many positions there are";
        return call::wrong_call(eval, call, message, help);
    };
    let tensors = (eval.tensor(&x.value, x.span)?, elements::whole_positions(eval, &ids.value, ids.span)?);
    elements::scattered(eval, tensors, (&size.value, size.span), accumulate, call.span)
}

/// `concat(a, b, along = "output")` and `stack`.
pub(super) fn joined(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    let stacked = call.function == LanguageFunction::Stack;
    call::only(eval, call, &["along"])?;
    let along = joined_along(eval, call)?;
    if let Some(text) = call.plain().iter().find(|given| matches!(given.value, Value::Text(_))) {
        let message = format!("`{}` takes tensors, and no spec", call.name());
        let help = format!("write `{}(a, b)`, or `{}(a, b, along = \"batch\")`", call.name(), call.name());
        return eval.wrong(codes::ARGUMENTS, message, text.span, help);
    }
    let parts = parts(eval, call)?;
    unfit(eval, call, &parts, stacked)?;
    if !stacked && along.leads {
        other_axes(eval, call, &parts, along.kind)?;
    }
    let parts: Vec<Tensor> = parts.iter().map(|part| part.tensor).collect();
    if parts.is_empty() {
        let help = format!("write `{}(a, b)`", call.name());
        return call::wrong_call(eval, call, "there is nothing to put together", help);
    }
    let made = put_together(eval, parts, along, stacked, call.span)?;
    eval.show_as_written(made, call.span, &format!("{}(…)", call.name()));
    Ok(Value::Tensor(made))
}

/// Puts tensors together along an axis, or along a new one in its place.
fn put_together(
    eval: &mut Eval<'_>,
    mut parts: Vec<Tensor>,
    along: Along,
    stacked: bool,
    span: Span,
) -> Evaluated<Tensor> {
    let (whole, layer) = (concat::concatenation(parts.len(), along), concat::layer(along));
    let (Some(whole), Some(layer)) = (whole, layer) else { return Err(Reported) };
    eval.ask(span, |graph| {
        if stacked {
            for part in &mut parts {
                *part = graph.einsum(&layer, &[*part])?;
                let layer = graph.captured(*part, "layer")?;
                graph.set(layer, 1)?;
            }
        }
        let operation = Some(if stacked { OperationId::Stack } else { OperationId::Concat });
        let options = broadloom::SpecOptions { operation, ..Default::default() };
        graph.einsum_with(&whole, &parts, &options)
    })
}

/// The number of parts from which on a list is not put together.
const MOST_PARTS: usize = 10_000;

/// The number of items of a list and of those inside of it, lists included, if it is below a limit.
fn parts_below(items: &[Value], limit: usize) -> Option<usize> {
    items.iter().try_fold(0, |sum, item| {
        let inside = match item {
            Value::List(items) => parts_below(items, limit - sum)?,
            _ => 0,
        };
        Some(sum + inside + 1).filter(|sum| *sum < limit)
    })
}

/// A list with tensors in it as a tensor: its items one after another along a new first output axis.
pub(crate) fn block(eval: &mut Eval<'_>, items: &[Value], span: Span) -> Evaluated<Tensor> {
    if parts_below(items, MOST_PARTS).is_none() {
        let message =
            format!("this list has {MOST_PARTS} parts and more, too many to be put together one by one");
        return eval.wrong(codes::VALUE, message, span, "compute them as one tensor, along an axis");
    }
    let mut given = Vec::with_capacity(items.len());
    for item in items {
        let value = Value::Tensor(eval.tensor(item, span)?);
        given.push(Given { name: None, value, span });
    }
    match joined(eval, &Call { function: LanguageFunction::Stack, given, span })? {
        Value::Tensor(tensor) => Ok(tensor),
        _ => Err(Reported),
    }
}

/// The axis that parts are put together along: the first of a kind, or the one that a shape names. A word is the name of the one
/// axis of vectors.
fn joined_along(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Along> {
    let has_others = call.plain().iter().any(|given| match given.value {
        Value::Tensor(tensor) => {
            let rows = eval.graph.shape(tensor).rows;
            rows.iter().all(|row| !row.open)
                && rows.each_ref().map(|row| row.lead.len() + row.trail.len()) != [0, 0, 1]
        }
        _ => false,
    });
    if let Some(given) = call::named(eval, call, "along")
        && let Value::Text(text) = &given.value
        && Kind::ALL.iter().all(|kind| *kind.name() != **text)
        && (!has_others || text.contains(['.', '|', '>', ',']))
    {
        let (text, span) = (text.clone(), given.span);
        return along(eval, call, &text, span, "along");
    }
    let kinds = Kind::ALL.map(|kind| (kind.name(), kind));
    Ok(Along::first(one_of(eval, call, "along", &kinds)?.unwrap_or(Kind::Output)))
}

/// Sizes with `|` behind the first, if that is the only batch axis of a tensor.
fn batched(eval: &Eval<'_>, given: Option<&&Given>, sizes: &str) -> String {
    let batch = given.and_then(|given| match given.value {
        Value::Tensor(tensor) => match &eval.graph.shape(tensor).rows[0] {
            PartialRow { lead, trail, open: false } if trail.is_empty() && lead.len() == 1 => {
                Some(lead[0].to_string())
            }
            _ => None,
        },
        _ => None,
    });
    match (sizes.split_once(", "), batch) {
        (Some((first, rest)), Some(batch)) if batch == first => format!("{first} | {rest}"),
        _ => sizes.to_string(),
    }
}

/// A tensor that is put together with others.
struct Joined {
    tensor: Tensor,
    /// The argument that it is, or the list that it is an item of.
    span: Span,
    /// Its shape as far as it is known.
    shape: PartialShape,
}

fn parts(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Vec<Joined>> {
    let mut parts = Vec::new();
    for given in call.plain() {
        // A list of tensors counts as several arguments.
        let items = match &given.value {
            Value::List(items) if items.iter().any(|item| matches!(item, Value::Tensor(_))) => &items[..],
            value => std::slice::from_ref(value),
        };
        for item in items {
            let tensor = eval.tensor(item, given.span)?;
            parts.push(Joined { tensor, span: given.span, shape: eval.graph.shape(tensor) });
        }
    }
    Ok(parts)
}

/// The numbers of axes of each kind, where they are known.
fn ranks(part: &Joined) -> [Option<usize>; 3] {
    part.shape.rows.each_ref().map(|row| (!row.open).then(|| row.lead.len() + row.trail.len()))
}

/// The sizes of all axes, if they are known.
fn sizes(part: &Joined) -> Option<Vec<u64>> {
    let closed = part.shape.rows.iter().all(|row| !row.open && row.trail.is_empty());
    let axes = part.shape.rows.iter().flat_map(|row| &row.lead);
    if closed { axes.map(PartialAxis::size).collect() } else { None }
}

/// Reports tensors that do not fit together, where that is known already.
fn unfit(eval: &mut Eval<'_>, call: &Call, parts: &[Joined], stacked: bool) -> Evaluated<()> {
    let Some(first) = parts.first() else { return Ok(()) };
    let other_ranks = |part: &&Joined| {
        let pairs = ranks(first).into_iter().zip(ranks(part));
        pairs.into_iter().any(|(a, b)| a.zip(b).is_some_and(|(a, b)| a != b))
    };
    let other_sizes = |part: &&Joined| sizes(part).zip(sizes(first)).is_some_and(|(a, b)| a != b);
    let (part, message, help) = if let Some(part) = parts.iter().find(other_ranks) {
        let message = format!("`{}` takes tensors with equal numbers of axes", call.name());
        (part, message, "axes are not added here: a spec adds one, `einsum(\"... => 0, ...\", x)`")
    } else if let Some(part) = parts.iter().filter(|_| stacked).find(other_sizes) {
        let help = "`concat(a, b)` joins tensors along an axis in which they differ";
        (part, "`stack` takes tensors of one shape".into(), help)
    } else {
        return Ok(());
    };
    let diagnostic = if part.span == first.span {
        let both = format!("`{}` and `{}` in one list", first.shape, part.shape);
        Diagnostic::error(codes::MISMATCH, message, eval.place(part.span), both)
    } else {
        Diagnostic::error(codes::MISMATCH, message, eval.place(part.span), format!("`{}`", part.shape))
            .with_label(eval.place(first.span), format!("`{}`", first.shape))
    };
    eval.fail(diagnostic.with_help(help))
}

/// Reports parts that differ in an axis other than the one that they are joined along, the first of its kind.
fn other_axes(eval: &mut Eval<'_>, call: &Call, parts: &[Joined], along: Kind) -> Evaluated<()> {
    let row = |part: &Joined| {
        let row = &part.shape.rows[along as usize];
        (!row.open && row.trail.is_empty()).then(|| row.lead.clone())
    };
    let Some((first, axes)) = parts.first().and_then(|first| Some((first, row(first)?))) else {
        return Ok(());
    };
    let differs = |part: &&Joined| {
        let other = row(part).filter(|other| other.len() == axes.len());
        other.is_some_and(|other| {
            let sizes = axes.iter().zip(&other).skip(1).map(|(a, b)| a.size().zip(b.size()));
            sizes.flatten().any(|(a, b)| a != b)
        })
    };
    let Some(part) = parts.iter().find(differs) else { return Ok(()) };
    let kind = along.name();
    let message = format!("`{}` joins along the first {kind} axis, and these differ in another", call.name());
    let mut diagnostic = Diagnostic::error(codes::MISMATCH, message, eval.place(call.span), "");
    for part in [first, part] {
        let (name, made) =
            (eval.graph.message_name(part.tensor), eval.where_made(&Value::Tensor(part.tensor)));
        let at = made.unwrap_or(eval.place(part.span));
        diagnostic = diagnostic.with_label(at, format!("`{name}` is `{}`", part.shape));
    }
    if along == Kind::Output && axes.len() <= 5 {
        let same: String =
            ["i", "j", "k", "l"].iter().take(axes.len() - 1).map(|axis| format!("{axis}, ")).collect();
        let [a, b] = [first, part].map(|part| eval.quote(part.span));
        let spec = format!("`einsum(\"... | {same}a; ... | {same}b => ... | {same}a^b\", {a}, {b})`");
        let others = row(part).unwrap_or_default();
        let mut before = axes.iter().zip(&others).take(axes.len() - 1).enumerate();
        diagnostic = diagnostic.with_help(match before.find(|(_, (a, b))| a != b) {
            Some((at, (a, b))) => format!(
                "parts agree in all axes but one: make output axis {} of both {a} or of both {b}, and write {spec} to join the last axes",
                at + 1
            ),
            None => format!("to join the last axes, write {spec}"),
        });
    }
    eval.fail(diagnostic)
}

/// `reshape(x)`, `reshape(x, "32 | 28, 28")`: the same elements in memory order, in the shape that
/// is written or that the context requires.
pub(super) fn reshape(eval: &mut Eval<'_>, call: &Call) -> Evaluated<Value> {
    call::only(eval, call, &[])?;
    let (x, shape) = match call.plain()[..] {
        [x] => (x, None),
        [x, shape] if matches!(shape.value, Value::Text(_) | Value::Mistake) => (x, Some(shape)),
        ref given => {
            let x = given.first().map_or("x".into(), |x| eval.quote(x.span));
            let sizes: Vec<String> = given.iter().skip(1).map(|size| eval.quote(size.span)).collect();
            let sizes = sizes.join(", ");
            let sizes = if sizes.is_empty() { "4, 8" } else { sizes.trim_matches(['[', ']']) };
            // `_` is a size that is found.
            let sizes = &sizes.replace("-1", "_");
            let sizes = &batched(eval, given.first(), sizes);
            let message = "`reshape` takes a tensor, and a shape as a text";
            let place = call.whole().filter(|_| given.len() > 1);
            let instead = (place, format!("reshape({x}, \"{sizes}\")"));
            let behind = format!(", or `let y : {sizes} = reshape({x})`");
            return eval.wrong_instead(codes::ARGUMENTS, message, call.span, instead, &behind);
        }
    };
    let tensor = eval.tensor(&x.value, x.span)?;
    let wanted = match shape {
        Some(shape) => {
            let text = eval.words(&shape.value, shape.span)?;
            let text = eval.filled(&text, shape.span)?;
            if text.contains("=>") {
                let message = "`reshape` takes the shape of its result, and this is a spec";
                let help = format!(
                    "write `einsum(\"{text}\", {})`, with the sizes of parts that are not known behind it, `h = 2`",
                    eval.quote(x.span)
                );
                return eval.wrong(codes::ARGUMENTS, message, shape.span, help);
            }
            Some(traps::shape_in_text(eval, &text, shape.span)?)
        }
        None => None,
    };
    let made = eval.ask(call.span, |graph| graph.reshape(tensor))?;
    eval.show_as_written(made, call.span, "reshape(…)");
    if let Some((shape, sizes)) = wanted {
        let sizes: Vec<_> = sizes.iter().map(|(label, size)| (label.as_str(), size)).collect();
        eval.ask(call.span, |graph| {
            graph.declare_computed(made, ComputedShape { shape: (&*shape).into(), sizes: &sizes })
        })?;
    }
    Ok(Value::Tensor(made))
}
