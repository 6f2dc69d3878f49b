//! Advice for two operands of a pointwise operation that do not fit, if their shapes show what was meant.

use broadloom_diagnostics::{Arithmetic, Code, Help, Wording};
use broadloom_spec::{Axis, AxisKind, Kind};

use crate::operation::id::OperationId;
use crate::operation::table::Pointwise;
use crate::shape::PartialAxis;
use crate::step::{Leaf, Op, Step, StepId, Tensor};
use crate::{Graph, names, rust_code, spec_axis};

/// The batch axes and the output axes of a tensor without inputs.
struct Axes {
    tensor: Tensor,
    batch: Vec<String>,
    output: Vec<String>,
    /// Both, as data.
    rows: [Vec<PartialAxis>; 2],
}

/// The one change that would make two operands fit.
pub(super) fn repair(graph: &Graph, step: StepId) -> Option<Help> {
    if let Some(advice) = batch_as_output(graph, step).or_else(|| batch_behind_bar(graph, step)) {
        return Some(advice.into());
    }
    let &[a, b] = names::step_operands(graph, step) else { return None };
    let (a, b) = (known_axes(graph, a)?, known_axes(graph, b)?);
    let both = [(&a, &b), (&b, &a)];
    let first = |repair: fn(&Graph, &Axes, &Axes) -> Option<Help>| {
        both.iter().find_map(|(tensor, other)| repair(graph, tensor, other))
    };
    first(other_bar).or_else(|| first(merged)).or_else(|| first(misplaced))
}

/// Advice for an operand that a spec made, with outputs where what it reads has batch axes.
fn batch_behind_bar(graph: &Graph, step: StepId) -> Option<Wording> {
    let label = |axis: &Axis| if let AxisKind::Label(label) = axis.kind { Some(label) } else { None };
    let operands = names::step_operands(graph, step);
    operands.iter().find_map(|tensor| {
        // As a batch, it would fit that of another operand.
        let outputs = super::known_row(graph, *tensor, Kind::Output)?;
        let mut others = operands.iter().filter(|other| *other != tensor);
        others.find(|other| {
            super::known_row(graph, **other, Kind::Batch).is_some_and(|batch| batch.ends_with(&outputs))
        })?;
        let mut made = graph.tensors.get(tensor.index())?.step;
        // A mean is a sum that is divided.
        while let (Some(Op::Pointwise(OperationId::Pointwise(Pointwise::Div))), Some(whole)) =
            (super::op(graph, made), spec_axis::slot_tensor(graph, made, 0))
        {
            made = graph.tensors.get(whole.index())?.step;
        }
        let (known, _) = spec_axis::spec_of_step(graph, made)?;
        let result = known.spec.results.first()?;
        if result.batch.is_some() || result.input.is_some() {
            return None;
        }
        let (_, from) =
            known.spec.operands.iter().zip(names::step_operands(graph, made)).find(|(read, _)| {
                let batch: Vec<_> =
                    read.row(Kind::Batch).into_iter().flat_map(|row| row.axes()).filter_map(label).collect();
                let mut outputs = result.output.axes().map(label);
                result.output.axes().next().is_some()
                    && outputs.all(|output| output.is_some_and(|output| batch.contains(&output)))
            })?;
        let written = known.written(result, result.span);
        Some(
            Wording::new(format!("`{written}` in the result of `"))
                .name(names::message_name(graph, *tensor))
                .words("` is an output, and a batch of `")
                .name(names::message_name(graph, *from))
                .words(format!("`: write `{written} |`")),
        )
    })
}

/// Advice for two sets of examples with the same outputs: the one thing to do with them is to take all pairs.
pub(super) fn all_pairs(graph: &Graph, step: StepId) -> Option<Help> {
    let (Some(Op::Pointwise(OperationId::Pointwise(operation))), &[a, b]) =
        (super::op(graph, step), names::step_operands(graph, step))
    else {
        return None;
    };
    let sign = match operation {
        Pointwise::Add => Arithmetic::Add,
        Pointwise::Sub => Arithmetic::Sub,
        Pointwise::Mul => Arithmetic::Mul,
        Pointwise::Div => Arithmetic::Div,
        _ => return None,
    };
    let (a, b) = (known_axes(graph, a)?, known_axes(graph, b)?);
    let ([one], [other]) = (&a.batch[..], &b.batch[..]) else { return None };
    if one == other || a.output != b.output || a.output.is_empty() {
        return None;
    }
    let [left, right] = [a.tensor, b.tensor].map(|tensor| names::message_name(graph, tensor));
    let written =
        |name: &str| if name.contains(['(', '"', '`']) { "…".to_string() } else { name.to_string() };
    let apart = |spec: &str, name: &str| Code::einsum(spec, [Code::Tensor(written(name))]);
    let pairs = [apart("n | ... => n 0 | ...", &left), apart("n | ... => 0 n | ...", &right)];
    let help = format!("make both batches {one} or both {other}; for all pairs, keep them apart: ");
    Some(rust_code::help(Wording::new(help).code(Code::Arithmetic(sign, Box::new(pairs)))))
}

fn known_axes(graph: &Graph, tensor: Tensor) -> Option<Axes> {
    super::known_row(graph, tensor, Kind::Input).filter(Vec::is_empty)?;
    let [batch, output] = [Kind::Batch, Kind::Output].map(|kind| super::known_axes(graph, tensor, kind));
    let rows = [batch?, output?];
    let [batch, output] = rows.each_ref().map(|row| row.iter().map(PartialAxis::to_string).collect());
    Some(Axes { tensor, batch, output, rows })
}

/// A leaf whose axes would fit with `|` at another place.
fn other_bar(graph: &Graph, leaf: &Axes, other: &Axes) -> Option<Help> {
    graph.declarations.get(&leaf.tensor.0)?;
    let axes: Vec<&String> = leaf.batch.iter().chain(&leaf.output).collect();
    let fits = |at: usize| {
        at != leaf.batch.len() && within(&axes[..at], &other.batch) && within(&axes[at..], &other.output)
    };
    let mut fitting = (0..=axes.len()).filter(|at| fits(*at));
    let (at, None) = (fitting.next()?, fitting.next()) else { return None };
    let list = |axes: &[&String]| axes.iter().map(|axis| axis.as_str()).collect::<Vec<_>>().join(", ");
    let shape = match at {
        0 => list(&axes),
        _ => format!("{} | {}", list(&axes[..at]), list(&axes[at..])),
    };
    let [name, other] = [leaf.tensor, other.tensor].map(|tensor| names::message_name(graph, tensor));
    let help = Wording::new("batch axes are written before `|`, and outputs after it: declare `")
        .name(&name)
        .words(format!("` as `{}`, like `", shape.trim_end()))
        .name(other)
        .words("`");
    Some(Help::declare(&name, help))
}

/// One axis that is as long as several of the other together.
fn merged(graph: &Graph, one: &Axes, other: &Axes) -> Option<Help> {
    let (whole, parts) = one.rows.iter().zip(&other.rows).find_map(|(one, other)| {
        let [whole] = &one[..] else { return None };
        let size = super::product(std::slice::from_ref(whole))?;
        let is_whole = |from: usize| super::product(&other[from..]).as_ref() == Some(&size);
        let last = other.len().checked_sub(1).filter(|last| !is_whole(*last))?;
        let from = (0..last).find(|from| is_whole(*from))?;
        let parts: Vec<String> = other[from..].iter().map(PartialAxis::to_string).collect();
        Some((whole, parts))
    })?;
    let [name, other] = [one.tensor, other.tensor].map(|tensor| names::message_name(graph, tensor));
    let product = parts.join(" · ");
    Some(match graph.declarations.contains_key(&one.tensor.0) {
        true => {
            let axes = parts.join(", ");
            let help = Wording::new(format!("{whole} is {product}: declare `"))
                .name(&name)
                .words(format!("` with the axes `{axes}`, as `"))
                .name(other)
                .words("` has them");
            Help::declare(&name, help)
        }
        false => {
            let axes = parts.join(", ");
            let help = Wording::new(format!("{whole} is {product}: make `"))
                .name(&name)
                .words(format!("` with the axes `{axes}`, or write "))
                .code(Code::Reshape(Box::new(Code::Tensor(other))))
                .words(" here, which takes the axes of `")
                .name(name)
                .words("`");
            rust_code::help(help)
        }
    })
}

/// An axis that would fit an earlier one of the other.
fn misplaced(graph: &Graph, one: &Axes, other: &Axes) -> Option<Help> {
    let [size] = &one.output[..] else { return None };
    let mut places = other.output.iter().enumerate().filter(|(_, axis)| *axis == size);
    let (Some((at, _)), None) = (places.next(), places.next()) else { return None };
    let behind = other.output.len() - 1 - at;
    if behind == 0 || !faces(&one.batch.iter().collect::<Vec<_>>(), &other.batch) {
        return None;
    }
    let [name, other] = [one.tensor, other.tensor].map(|tensor| names::message_name(graph, tensor));
    let (units, written) = (", 0".repeat(behind), if name.contains(['(', '"', '`']) { "…" } else { &name });
    let help = Wording::new(format!(
        "axes are matched from the last one backwards: for output axis {} of `",
        at + 1
    ))
    .name(other)
    .words("`, put units behind it, ")
    .code(Code::einsum(format!("... | i => ... | i{units}"), [Code::tensor(written)]))
    .words(", or keep its place in the spec that makes it");
    Some(rust_code::help(help))
}

/// Returns true if a row is the end of another.
fn within(axes: &[&String], other: &[String]) -> bool {
    axes.len() <= other.len() && faces(axes, other)
}

/// Returns true if rows fit as those of operands do: the shorter one is the end of the longer one.
fn faces(axes: &[&String], other: &[String]) -> bool {
    let mut pairs = axes.iter().rev().zip(other.iter().rev());
    pairs.all(|(a, b)| *a == b)
}

/// Advice for a leaf of which only outputs are declared, if these begin with the batch of the
/// other operand.
pub(super) fn batch_as_output(graph: &Graph, step: StepId) -> Option<Wording> {
    let operands = names::step_operands(graph, step);
    operands.iter().find_map(|tensor| {
        let output =
            super::known_row(graph, *tensor, Kind::Output).filter(|_| only_output(graph, *tensor))?;
        let other = operands.iter().find_map(|other| {
            let batch = super::known_row(graph, *other, Kind::Batch).filter(|batch| !batch.is_empty())?;
            let rest = output.strip_prefix(&batch[..])?;
            Some((names::message_name(graph, *other), batch.join(", "), rest.join(", ")))
        });
        let (other, batch, rest) = other?;
        let (name, declared) = (names::message_name(graph, *tensor), format!("{batch} | {rest}"));
        Some(
            Wording::new(format!("axes are matched from the last one backwards; if the {batch} of `"))
                .name(name)
                .words("` is the batch of `")
                .name(other)
                .words(format!("`, declare it `{}`", declared.trim_end())),
        )
    })
}

/// The axes of a parameter or of data that is declared with outputs alone.
pub(super) fn declared_outputs(graph: &Graph, tensor: Tensor) -> Option<Vec<String>> {
    let [batch, input, _] = graph.rows(tensor);
    graph.declarations.get(&tensor.0)?;
    super::known_row(graph, tensor, Kind::Output).filter(|_| batch.is_empty() && input.is_empty())
}

/// Returns true if a tensor is declared data with outputs alone.
pub(super) fn only_output(graph: &Graph, tensor: Tensor) -> bool {
    let step = graph.tensors.get(tensor.index()).and_then(|data| graph.steps.get(data.step.index()));
    let [batch, input, _] = graph.rows(tensor);
    matches!(step, Some(Step::Leaf { leaf: Leaf::Data, .. })) && batch.is_empty() && input.is_empty()
}
