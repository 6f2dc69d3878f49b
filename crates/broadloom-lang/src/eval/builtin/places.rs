//! The place of the greatest or of the least along an axis: `argmax("... | t, ...", x)`, `argmin("i j k => i k", x)`.
//!
//! ```text
//! extreme = max("i, j => i, 0", x)                        one element in place of j
//! argmax  = min over j of j where x[i, j] == extreme[i], or where x[i, j] is not a number
//! ```
//!
//! Of equals it is the first; what is not a number is greater, and less, than everything else. Places are integers, for whatever type the
//! numbers have.

use broadloom::{Accumulate, Along, Combine, Dtype, Kind, OperationId, SpecOptions, Tensor};
use broadloom_diagnostics::Span;
use broadloom_spec::{Axis, AxisId, AxisKind, Builder, Row, Shape, Spec};

use super::{Call, axis};
use crate::codes;
use crate::eval::advice::foreign;
use crate::eval::spec::By;
use crate::eval::{Eval, Evaluated, call};
use crate::value::Value;

/// A place behind all others: the greatest whole number that may be written.
const FAR: f64 = 9_007_199_254_740_991.0;

/// `argmax(x)` along the last output axis, `argmax("... | t, ...", x)` along the one that a shape names, `argmax("i j k => i k", x)` along the
/// one that a spec leaves out.
pub(super) fn extreme(eval: &mut Eval<'_>, call: &Call, accumulate: Accumulate) -> Evaluated<Value> {
    let (spec, x) = asked(eval, call)?;
    let left_out = left_out(&spec);
    let &[left_out] = &left_out[..] else {
        let name = call.name();
        let found = match left_out.len() {
            0 => "none".to_string(),
            several => several.to_string(),
        };
        let message = format!(
            "`{name}` goes along one axis, the label that the result of its spec leaves out, and this one leaves out {found}"
        );
        let help = format!("write `{name}(\"... | i, j => ... | i\", x)`, or `{name}(\"... | t, ...\", x)`");
        return eval.wrong(codes::ARGUMENTS, message, spec_span(call), help);
    };
    let specs = specs(&spec, left_out);
    let name = eval.fresh_name("places");
    let made = eval.ask(call.span, |graph| {
        let operation = match accumulate {
            Accumulate::Min => OperationId::Argmin,
            _ => OperationId::Argmax,
        };
        let options = SpecOptions { operation: Some(operation), ..SpecOptions::default() };
        let [kept, chosen] = &specs;
        let extreme = graph.einsum_with(kept, &[x], &SpecOptions { accumulate, ..options })?;
        let (reached, other) = (graph.equals(x, extreme)?, graph.not_equals(x, x)?);
        let holds = graph.or(reached, other)?;
        let places = graph.range(&name, "...")?;
        graph.set_precision(places, Dtype::I64)?;
        let far = graph.number(FAR);
        let options = SpecOptions { accumulate: Accumulate::Min, combine: Combine::Where, ..options };
        graph.einsum_with(chosen, &[holds, places, far], &options)
    })?;
    eval.show_as_written(made, call.span, &format!("{}(…)", call.name()));
    Ok(Value::Tensor(made))
}

/// The spec from a tensor to its places, and the tensor.
fn asked(eval: &mut Eval<'_>, call: &Call) -> Evaluated<(Spec, Tensor)> {
    if let Some(Value::Text(text)) = call.plain().first().map(|given| &given.value)
        && text.contains("=>")
    {
        if let Some((own, rest)) = text.split_once("=>").filter(|_| text.contains('(')) {
            return composed(eval, call, own.trim(), rest.trim());
        }
        call::only(eval, call, &[])?;
        let (read, operands) = eval.spec_and_operands(call, By::Spec)?;
        let [x] = operands[..] else {
            let message = format!("`{}` takes one tensor, {} given", call.name(), operands.len());
            return call::wrong_call(
                eval,
                call,
                message,
                format!("write `{}(\"i j => i\", x)`", call.name()),
            );
        };
        return Ok((read.spec().clone(), x));
    }
    if let [first, second] = call.plain()[..]
        && let (Value::Tensor(tensor), Value::Number(axis)) = (&first.value, &second.value)
    {
        let message = format!("`{}` takes a spec before the tensor, not an axis behind it", call.name());
        let help = foreign::axis_help(eval, call.name(), *tensor, &eval.quote(first.span), Some(*axis));
        return eval.wrong(codes::ARGUMENTS, message, second.span, help);
    }
    let (along, x) = axis::along_or(eval, call, Along::last(Kind::Output))?;
    let mut build = Builder::new();
    let label = [build.label("t")];
    let (own, rest) = (along.shape(&mut build, &label), along.shape(&mut build, &[]));
    match build.finish(vec![own], vec![rest]) {
        Some(spec) => Ok((spec, x)),
        None => call::wrong_call(eval, call, "there is nothing to compare".to_string(), ""),
    }
}

/// Refuses a spec with composed axes: which part of an axis the greatest has is not what its place says.
fn composed<T>(eval: &mut Eval<'_>, call: &Call, own: &str, rest: &str) -> Evaluated<T> {
    let name = call.name();
    let message = format!("`{name}` does not take composed axes apart, or make them");
    let x = call.plain().get(1).map_or("x".into(), |x| eval.quote(x.span));
    let sizes = call.given.iter().filter_map(|given| Some((given.name?, given.span)));
    let sizes: String =
        sizes.map(|(label, size)| format!(", {} = {}", eval.text(label.name), eval.quote(size))).collect();
    let help = match (own.contains('('), rest.contains('(')) {
        (true, false) => {
            let apart = own.replace(['(', ')'], "");
            format!(
                "split the axis first: `{name}(\"{apart} => {rest}\", einsum(\"{own} => {apart}\", {x}{sizes}))`"
            )
        }
        (false, true) => {
            let apart = rest.replace(['(', ')'], "");
            format!(
                "join the axes of its result: `einsum(\"{apart} => {rest}\", {name}(\"{own} => {apart}\", {x}))`"
            )
        }
        _ => "split axes before it and join them behind it, by `einsum`".to_string(),
    };
    eval.wrong(codes::ARGUMENTS, message, spec_span(call), help)
}

/// The place of the spec in the text.
fn spec_span(call: &Call) -> Span {
    call.plain().first().map_or(call.span, |given| given.span)
}

/// The labels of the operand that the result does not have; none if the operand has anything but labels.
fn left_out(spec: &Spec) -> Vec<AxisId> {
    let ([own], [rest]) = (&spec.operands[..], &spec.results[..]) else { return Vec::new() };
    let labels = |shape: &Shape<Axis>| -> Option<Vec<AxisId>> {
        let label = |axis: &Axis| if let AxisKind::Label(label) = axis.kind { Some(label) } else { None };
        shape.axes().map(label).collect()
    };
    let (Some(own), Some(rest)) = (labels(own), labels(rest)) else { return Vec::new() };
    own.into_iter().filter(|label| !rest.contains(label)).collect()
}

/// The specs of the greatest, which keeps the axis, and of the places.
fn specs(spec: &Spec, label: AxisId) -> [Spec; 2] {
    let own = &spec.operands[0];
    let without = |axis: &Axis| match axis.kind == AxisKind::Label(label) {
        true => Axis::fixed(0),
        false => axis.clone(),
    };
    let row = |row: &Row<Axis>| {
        let mut row = row.clone();
        if let Some(opening) = &mut row.opening {
            opening.lead = opening.lead.iter().map(without).collect();
        }
        row.trail = row.trail.iter().map(without).collect();
        row
    };
    let one = Shape::new(own.batch.as_ref().map(row), own.input.as_ref().map(row), row(&own.output));
    let kept = Spec { results: vec![one], keeps: true, ..spec.clone() };
    let places = Shape::new(None, None, Row::closed([Axis::new(AxisKind::Label(label))]));
    let number = Shape::new(None, None, Row::closed([]));
    let chosen = Spec { operands: vec![own.clone(), places, number], ..spec.clone() };
    [kept, chosen]
}
