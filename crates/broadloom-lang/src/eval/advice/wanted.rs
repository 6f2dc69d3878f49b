//! Advice about an argument whose shape is not what a signature asks for.

use broadloom::{LeafKind, Node, PartialRow, PartialShape, Tensor};
use broadloom_diagnostics::Wording;

use crate::eval::Eval;
use crate::syntax::ast::{Argument, Axis, AxisKind, Shape};
use crate::value::{Function, Value};

/// Advice about an argument that is a tensor, and is wanted in another shape. The frame is that of the function.
pub(in crate::eval) fn what_to_give(
    eval: &Eval<'_>,
    function: &Function,
    wanted: &Shape,
    (tensor, written): (Tensor, &str),
) -> Option<Wording> {
    // An argument that is called like a later one is probably meant for that.
    let is_called = |each: &Argument| each.shape.is_none() && eval.text(each.name.name) == written;
    if function.def.arguments.iter().any(is_called) {
        let help = format!("by its place it is another argument: write `{written} = {written}`");
        return Some(Wording::new(help));
    }
    let wants_batch = wanted.batch.is_some() && wanted.output.is_empty() && wanted.input.is_none();
    exchanged(eval, function)
        .or_else(|| batch_as_output(eval, function, tensor).filter(|_| wants_batch))
        .or_else(|| other_targets(eval, function, wanted, tensor))
        .or_else(|| other_axes(eval, wanted, tensor))
}

/// Advice for a tensor with more or fewer outputs than are wanted: the shape that would fit, with the same elements.
fn other_axes(eval: &Eval<'_>, wanted: &Shape, tensor: Tensor) -> Option<Wording> {
    let several = |axis: &Axis| matches!(axis.kind, AxisKind::Rest | AxisKind::Row(_));
    let [batch, input, output] = eval.graph.shape(tensor).rows;
    if wanted.output.iter().any(several) || wanted.input.is_some() || !has_no_axes(&input) {
        return None;
    }
    let (mut batch, mut output) = (sizes(&batch)?, sizes(&output)?);
    let takes_batch = wanted.batch.as_ref().is_some_and(|batch| !batch.is_empty());
    let name = eval.graph.message_name(tensor);
    let fits = |axis: &Axis| match axis.kind {
        AxisKind::Size(size) => size == 1,
        _ => true,
    };
    let reason = match (output.len(), wanted.output.len()) {
        (has, wants) if has + 1 == wants && wanted.output.last().is_some_and(fits) => {
            output.push("1".into());
            "an axis is missing"
        }
        (has, wants) if has > wants && batch.is_empty() && takes_batch => {
            batch = output.drain(..has - wants).collect();
            "without `|` all axes are outputs"
        }
        (has, 1) if has > 1 => {
            let product = output.iter().try_fold(1u64, |all, size| all.checked_mul(size.parse().ok()?))?;
            output = vec![product.to_string()];
            "one output axis is wanted"
        }
        _ => return None,
    };
    let bar = if batch.is_empty() { "" } else { " | " };
    let shape = format!("{}{bar}{}", batch.join(", "), output.join(", "));
    let is_known = batch.iter().chain(&output).all(|size| size.bytes().all(|digit| digit.is_ascii_digit()));
    let reshaped =
        |help: Wording| help.words("write `reshape(").name(&name).words(format!(", \"{shape}\")` here"));
    let help = Wording::new(format!("{reason}: "));
    is_known.then(|| match eval.graph.declaration_of(tensor) {
        Some(_) => reshaped(help.words("declare `").name(&name).words(format!("` as `{shape}`, or "))),
        None if name.contains(['(', '"']) => help.words(format!("give it the shape `{shape}`, by `reshape`")),
        None => reshaped(help),
    })
}

/// Advice for two arguments in the wrong order: the first should have outputs and the second none, and it is the other
/// way round.
fn exchanged(eval: &Eval<'_>, function: &Function) -> Option<Wording> {
    let [first, second, ..] = &function.def.arguments[..] else { return None };
    let has_outputs = |argument: &Argument| Some(!has_no_axes(&given(eval, argument)?.1.rows[2]));
    let wants_outputs = |argument: &Argument| Some(!argument.shape.as_ref()?.output.is_empty());
    let wanted = [wants_outputs(first)?, wants_outputs(second)?];
    let got = [has_outputs(first)?, has_outputs(second)?];
    (wanted == [true, false] && got == [false, true]).then(|| {
        let [first, second] = [first, second].map(|argument| eval.text(argument.name.name));
        Wording::new(format!("`{first}` and `{second}` seem to be exchanged"))
    })
}

/// Advice for a tensor with outputs where batch axes alone are wanted.
fn batch_as_output(eval: &Eval<'_>, function: &Function, tensor: Tensor) -> Option<Wording> {
    let got = eval.graph.shape(tensor);
    let [batch, input, output] = got.rows.each_ref().map(has_no_axes);
    let all = [sizes(&got.rows[0])?, sizes(&got.rows[2])?].concat();
    let is_batch = |argument: &Argument| {
        given(eval, argument)
            .is_some_and(|(_, shape)| sizes(&shape.rows[0]).is_some_and(|batch| batch == all))
    };
    let all = all.join(", ");
    if !input || output {
        return None;
    }
    Some(Wording::new(match batch {
        true => {
            format!(
                "without `|` all axes are outputs; if they count the examples of a batch, write `{all} |`"
            )
        }
        false if function.def.arguments.len() == 1 || function.def.arguments.iter().any(is_batch) => {
            format!("axes behind `|` are outputs; these count examples: declare it `{all} |`")
        }
        false => return None,
    }))
}

/// Advice for class numbers where one-hot targets are wanted, and the other way round.
fn other_targets(eval: &Eval<'_>, function: &Function, wanted: &Shape, tensor: Tensor) -> Option<Wording> {
    let name = eval.text(function.def.name.name);
    let shape = eval.graph.shape(tensor);
    let has_classes = !has_no_axes(&shape.rows[2]);
    // A single number for each example is no distribution over classes.
    if has_classes && wanted.output.is_empty() && sizes(&shape.rows[2]).is_some_and(|sizes| sizes == ["1"]) {
        let batch = sizes(&shape.rows[0])?.join(", ");
        let name = eval.graph.message_name(tensor);
        return Some(
            Wording::new("class numbers have no output axis: leave it out, `einsum(\"... | 0 => ... |\", ")
                .name(name)
                .words(format!(")`, or declare `{batch} |`, with values without it")),
        );
    }
    Some(Wording::new(match name.strip_suffix("_one_hot") {
        Some(plain) if !has_classes && !wanted.output.is_empty() => {
            format!("class numbers, without an axis of classes, go to `{plain}`")
        }
        None if has_classes && wanted.output.is_empty() => {
            let other = format!("{name}_one_hot");
            eval.frame.scope.find(eval.names.find(&other)?)?;
            format!("for one-hot targets and distributions there is `{other}`")
        }
        _ => return None,
    }))
}

/// Advice where another tensor has no batch, because data that it is computed from was declared without `|`.
pub(in crate::eval) fn lost_batch(
    eval: &Eval<'_>,
    tensor: Tensor,
    others: &[Tensor],
) -> Option<(Wording, Tensor)> {
    let batch = sizes(&eval.graph.shape(tensor).rows[0])?;
    let is_without = |other: &&Tensor| {
        let [batch, _, output] = eval.graph.shape(**other).rows;
        has_no_axes(&batch) && !has_no_axes(&output)
    };
    let other = *others.iter().find(is_without)?;
    let (data, shape) = data_of(eval, other).into_iter().find_map(|data| {
        let [none, input, output] = eval.graph.shape(data).rows;
        let axes = sizes(&output).filter(|_| has_no_axes(&none) && has_no_axes(&input))?;
        let rest = axes.strip_prefix(&batch[..]).filter(|rest| !rest.is_empty() && !batch.is_empty())?;
        Some((data, format!("{} | {}", batch.join(", "), rest.join(", "))))
    })?;
    let [other, name] = [other, data].map(|tensor| eval.graph.message_name(tensor));
    let help = Wording::new("`")
        .name(other)
        .words("` has no batch, because all axes of `")
        .name(&name)
        .words("` are outputs: declare `")
        .name(&name)
        .words(format!("` as `{shape}`"));
    Some((help, data))
}

/// The data that a tensor is computed from.
pub(in crate::eval) fn data_of(eval: &Eval<'_>, tensor: Tensor) -> Vec<Tensor> {
    let mut all = eval.graph.computed_from(&[tensor]);
    all.retain(|each| matches!(eval.graph.node(*each), Some(Node::Leaf { kind: LeafKind::Data })));
    all
}

/// The tensor that an argument is, and what is known of its shape.
fn given(eval: &Eval<'_>, argument: &Argument) -> Option<(Tensor, PartialShape)> {
    match eval.frame.scope.own(argument.name.name)? {
        Value::Tensor(tensor) => Some((tensor, eval.graph.shape(tensor))),
        _ => None,
    }
}

/// The axes of a row whose number is known.
fn sizes(row: &PartialRow) -> Option<Vec<String>> {
    (!row.open).then(|| row.lead.iter().chain(&row.trail).map(ToString::to_string).collect())
}

fn has_no_axes(row: &PartialRow) -> bool {
    !row.open && row.lead.is_empty() && row.trail.is_empty()
}
