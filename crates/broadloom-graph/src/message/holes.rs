//! Parameters that lack a size: which ones, what is known of them, and where the size could be
//! stated.

use broadloom_core::Short;
use broadloom_diagnostics::{Advice, Code, Wording};
use broadloom_spec::{self as spec, AxisKind, Kind, RowVariable};
use rustc_hash::FxHashSet;

use super::{chain, transposed};
use crate::error::{Error, ErrorKind, MessageLine, Remedy};
use crate::step::{Op, Origin, Step, StepId, Tensor};
use crate::{Graph, names, partial_shape, rust_code, spec_axis};

/// Sizes for examples: of an axis, and of a window.
const EXAMPLE: u64 = 64;
pub(super) const EXAMPLE_WINDOW: u64 = 3;

/// A label of a spec whose size nothing determines.
struct OpenLabel {
    /// Its name, and its text in the spec.
    name: String,
    written: String,
    /// The step of the spec.
    step: StepId,
    /// A row that would do, if the spec determines its number of axes.
    example: Option<String>,
}

/// Explains parameters that lack a size, of all those that do: which ones, and which operations could have given it.
pub(crate) fn explain_holes(graph: &Graph, holes: &[(Tensor, Kind)], all: &[(Tensor, Kind)]) -> Error {
    let Some((tensor, _)) = holes.first() else {
        return Error::new(ErrorKind::Undetermined, "a size is not determined");
    };
    let own_step = graph.tensors[tensor.index()].step;
    // Users think of the output of a parameter first.
    let own = holes.iter().filter(|(other, _)| other == tensor).map(|(_, kind)| *kind);
    let kind = own.max().unwrap_or(Kind::Output);
    let name = names::message_name(graph, *tensor);
    let mut error = Error::new(
        ErrorKind::Undetermined,
        format!("parameter `{name}` has {} axes whose size nothing determines", kind.name()),
    )
    .about_step(own_step);
    let others = holes.iter().filter(|hole| **hole != (*tensor, kind));
    for (other, kind) in others.take(4) {
        let kind = kind.name();
        let text = if other == tensor {
            format!("nothing determines its {kind} either")
        } else {
            format!("nothing determines the {kind} of `{}` either", names::message_name(graph, *other))
        };
        error = error.with_end(super::about_tensor(graph, *other, text));
    }
    let known = partial_shape::shape(graph, *tensor).to_string();
    if known.chars().any(|letter| letter.is_ascii_digit()) {
        error = error
            .with_end(MessageLine::at(own_step, format!("known of `{name}`: {known}")).with_short(known));
    }
    for end in readers(graph, *tensor, kind).into_iter().take(4) {
        error = error.with_end(end);
    }
    let label = open_label(graph, *tensor, kind);
    let example = example(graph, *tensor, kind, label.as_ref());
    let state =
        Wording::new("state it, for example `").name(&name).words(format!("` with the shape `{example}`"));
    // Advice about such a parameter would be a guess, because it reads the result of another
    // operation.
    if let Some(other) = contracted_with(graph, *tensor, kind) {
        let help = Wording::new("it is as wide as the output of `")
            .name(other)
            .words("`: state that, and it follows");
        return error.with_remedy(Remedy::Follows, help);
    }
    if let Some(other) = added_to(graph, *tensor, kind, all) {
        let help = Wording::new("it is as wide as `").name(other).words("`: state that, and it follows");
        return error.with_remedy(Remedy::Follows, help);
    }
    if let Some(other) = composed_with_no_input(graph, *tensor) {
        let help = Wording::default()
            .code(Code::product(&other, &name))
            .words(" contracts nothing: `")
            .name(&other)
            .words("` has no input axes; write ")
            .code(Code::product(&name, &other));
        return error.with_help(rust_code::help_of(Advice::Product, help));
    }
    match label {
        Some(OpenLabel { name, written, step, .. }) => {
            let made = names::called(graph, step);
            let result = names::step_results(graph, step).next();
            let set = match result.and_then(|result| names::name_of(graph, result)) {
                Some(result) => Wording::new("set `").name(format!("{result}.{name}")).words("`"),
                None => Wording::new(format!("set `{name}` of ")).name(&made),
            };
            error
                .with_end(MessageLine::at(step, format!("what is missing is `{written}` of {made}")))
                .with_help(set.words(", or ").and(state))
        }
        None => error.with_help(state.words(", or give a size to what it is combined with")),
    }
}

/// The tensor that the input of a parameter is contracted with, if that leaves it open.
fn contracted_with(graph: &Graph, tensor: Tensor, kind: Kind) -> Option<String> {
    let steps = graph.step_ids().filter(|step| kind == Kind::Input && super::op(graph, *step).is_some());
    let mut others =
        steps.filter_map(|step| match (super::op(graph, step), names::step_operands(graph, step)) {
            (Some(Op::Compose | Op::ComposeAccumulate), [first, other, ..]) if *first == tensor => {
                Some(*other)
            }
            _ => None,
        });
    others.find(|other| graph.leaf(*other).is_none()).map(|other| names::message_name(graph, other))
}

/// The product that a parameter is combined with, if its map lacks the same axes.
fn added_to(graph: &Graph, tensor: Tensor, kind: Kind, holes: &[(Tensor, Kind)]) -> Option<String> {
    let steps = graph
        .step_ids()
        .filter(|step| kind == Kind::Output && matches!(super::op(graph, *step), Some(Op::Pointwise(_))));
    let mut beside = steps.filter_map(|step| match names::step_operands(graph, step) {
        [a, b] if *b == tensor => Some(*a),
        [a, b] if *a == tensor => Some(*b),
        _ => None,
    });
    let lacks = |product: &Tensor| {
        let step = graph.tensors[product.index()].step;
        let map =
            names::step_operands(graph, step).first().filter(|_| super::op(graph, step) == Some(Op::Compose));
        map.is_some_and(|map| holes.contains(&(*map, Kind::Output)))
    };
    beside.find(lacks).map(|product| names::message_name(graph, product))
}

/// The tensor on the left of `@` without input axes, where a parameter is on the right: they
/// are in the order of other libraries.
fn composed_with_no_input(graph: &Graph, tensor: Tensor) -> Option<String> {
    let steps = graph.step_ids().filter(|step| super::op(graph, *step) == Some(Op::Compose));
    let mut left = steps.filter_map(|step| match names::step_operands(graph, step) {
        [left, right] if *right == tensor => Some(*left),
        _ => None,
    });
    let maps_nothing = |left: &Tensor| {
        let [batch, input, output] = graph.rows(*left);
        input.is_empty() && !(batch.is_empty() && output.is_empty())
    };
    left.find(maps_nothing).map(|left| names::message_name(graph, left))
}

/// Explains a result that has an axis, or a size, that several operands could give it and none
/// does.
pub(crate) fn explain_short(graph: &Graph, short: &Short) -> Error {
    let Origin { step, part, .. } = super::origin(graph, short.made_of);
    let kind = if let super::Aspect::Made(kind) = part { kind } else { Kind::Output };
    let operands = names::step_operands(graph, step);
    let names: Vec<String> =
        operands.iter().map(|tensor| format!("`{}`", names::message_name(graph, *tensor))).collect();
    let filled = short.at.is_none().then(|| taken_shape(graph, operands, kind)).flatten();
    let (result, kind) = (names::called(graph, step), kind.name());
    let message = match short.at {
        None if let Some((shaped, filler)) = &filled => {
            format!("{result} has no {kind} axes: `{shaped}` has none, and `{filler}` takes its shape")
        }
        None => format!(
            "{result} has more {kind} axes than {}, and nothing says which of them has them",
            names.join(" and ")
        ),
        Some(at) => format!(
            "nothing says which of {} has the size of {kind} axis {} of {result}",
            names.join(" and "),
            at + 1
        ),
    };
    let error = if filled.is_some() { ErrorKind::Mismatch } else { ErrorKind::Undetermined };
    let mut error = Error::new(error, message).about_step(step);
    for id in short.because.iter().filter(|id| super::origin(graph, **id).step != step).take(4) {
        let step = super::origin(graph, *id).step;
        let said = chain::claim_text(graph, *id);
        error = error.with_end(
            MessageLine::at(step, format!("{}: {said}", names::called(graph, step))).with_short(said),
        );
    }
    match filled {
        Some(_) => error.with_help(format!("combine it with something that has {kind} axes, or read none")),
        None => error.with_help("state the shape of the one that has it"),
    }
}

/// An operand with a shape that has no axes of a kind, and one of those beside it, if all others fill any shape.
fn taken_shape(graph: &Graph, operands: &[Tensor], kind: Kind) -> Option<(String, String)> {
    let (shaped, others): (Vec<Tensor>, Vec<Tensor>) =
        operands.iter().partition(|tensor| graph.has_shape(graph.rows(**tensor)));
    let is_empty = |tensor: &Tensor| graph.rows(*tensor)[kind as usize].is_empty();
    let filler = others.iter().find(|tensor| graph.fills_any_shape(graph.rows(**tensor)))?;
    let first = shaped.first().filter(|_| shaped.iter().all(is_empty))?;
    Some((names::message_name(graph, *first), names::message_name(graph, *filler)))
}

/// A shape that would state the missing size.
fn example(graph: &Graph, tensor: Tensor, kind: Kind, label: Option<&OpenLabel>) -> String {
    let row = label.and_then(|label| label.example.clone()).unwrap_or_else(|| EXAMPLE.to_string());
    let input = partial_shape::partial_row(graph, graph.rows(tensor)[Kind::Input as usize]);
    match kind {
        Kind::Batch => format!("{row} | ..."),
        Kind::Input => {
            let output = super::known_row(graph, tensor, Kind::Output).filter(|output| !output.is_empty());
            format!("{row} -> {}", output.map_or("...".into(), |output| output.join(", ")))
        }
        Kind::Output if input.lead.is_empty() && input.trail.is_empty() => row,
        Kind::Output => format!("... -> {row}"),
    }
}

/// Lines for the operations that read a row of a tensor, and the rows they relate it to.
fn readers(graph: &Graph, tensor: Tensor, kind: Kind) -> Vec<MessageLine> {
    let mut found = Vec::new();
    for (step, said) in graph.step_ids().zip(&graph.steps) {
        let Step::Op { op, .. } = said else { continue };
        let operands = names::step_operands(graph, step);
        let Some(slot) = operands.iter().position(|operand| *operand == tensor) else { continue };
        let called = names::called(graph, step);
        let other =
            |slot: usize| operands.get(slot).map_or("?".into(), |other| names::message_name(graph, *other));
        let said = match (op, slot, kind) {
            (Op::Compose | Op::ComposeAccumulate, 0, Kind::Input) => {
                format!("contracts it with the output of `{}`, which is not known either", other(1))
            }
            (Op::Compose | Op::ComposeAccumulate, 1, Kind::Output) => {
                format!("contracts it with the input of `{}`, which is not known either", other(0))
            }
            (Op::Compose | Op::ComposeAccumulate | Op::Pointwise(_), ..) => {
                format!("passes it on to its {}, which nothing fixes", kind.name())
            }
            // The label is explained instead.
            (Op::Einsum { .. }, ..) => continue,
            _ => "uses it and leaves it open".into(),
        };
        found.push(MessageLine::at(step, format!("{called} {said}")).with_short(said));
    }
    found
}

/// The label of a spec that stands for a size of a row, directly or by way of operations that pass the
/// row on.
fn open_label(graph: &Graph, tensor: Tensor, kind: Kind) -> Option<OpenLabel> {
    let mut carried: FxHashSet<(Tensor, Kind)> = FxHashSet::from_iter([(tensor, kind)]);
    for (step, said) in graph.step_ids().zip(&graph.steps) {
        let Step::Op { op, result, .. } = said else { continue };
        for (slot, operand) in names::step_operands(graph, step).iter().enumerate() {
            for kind in Kind::ALL {
                if !carried.contains(&(*operand, kind)) {
                    continue;
                }
                let label = open_in_spec(graph, step, slot, kind);
                if label.is_some() {
                    return label;
                }
                let passed = passed_on(graph, step, *op, slot, kind);
                carried.extend(passed.map(|kind| (Tensor(*result), kind)));
            }
        }
    }
    None
}

/// The kind of the result's row to which an operation passes a row of an operand on.
fn passed_on(graph: &Graph, step: StepId, op: Op, slot: usize, kind: Kind) -> Option<Kind> {
    match (op, slot, kind) {
        (Op::Einsum { .. }, ..) => passed_by_spec(graph, step, slot, kind),
        (Op::Transpose, ..) => Some(transposed(kind)),
        (Op::Compose | Op::ComposeAccumulate, 0, Kind::Input)
        | (Op::Compose | Op::ComposeAccumulate, 1, Kind::Output)
        | (Op::Slice(_) | Op::Collect, _, Kind::Batch)
        | (Op::Convert { .. }, ..) => None,
        (Op::Pointwise(_) | Op::Compose | Op::ComposeAccumulate | Op::Slice(_) | Op::Collect, ..) => {
            Some(kind)
        }
    }
}

/// A label, or a named row, without a size in a row of the spec of a step.
fn open_in_spec(graph: &Graph, step: StepId, slot: usize, kind: Kind) -> Option<OpenLabel> {
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    let row = known.spec.shapes().nth(slot)?.row(kind)?;
    let size = |axis: &spec::Axis| match axis.kind {
        AxisKind::Label(label) => Some((label, spec_axis::label_size(graph, step, label))),
        _ => None,
    };
    let labels: Vec<Option<(spec::AxisId, Option<u64>)>> = row.axes().map(size).collect();
    if let Some((label, _)) = labels.iter().flatten().find(|(_, size)| size.is_none()) {
        let example = |(label, size): (spec::AxisId, Option<u64>)| {
            let composed = || spec_axis::composed_example(graph, step, known.spec.names.axes.text(label));
            size.or_else(composed).unwrap_or_else(|| example_size(&known.spec, label)).to_string()
        };
        let sizes: Option<Vec<String>> = labels.iter().map(|label| label.map(example)).collect();
        let name = known.spec.names.axes.text(*label).to_string();
        let example = sizes.filter(|_| row.hole().is_none()).map(|sizes| sizes.join(", "));
        return Some(OpenLabel { written: name.clone(), name, step, example });
    }
    let hole = row.hole()?;
    let RowVariable::Named(id) = hole.variable else { return None };
    let name = known.spec.names.rows.text(id).to_string();
    let open = chain::hole_row(graph, step, hole, kind)
        .is_none_or(|row| partial_shape::partial_row(graph, row).elements().is_none());
    open.then(|| OpenLabel { written: format!("..{name}.."), name, step, example: None })
}

/// The kind, if a spec passes the `...` of an operand's row on to its first result.
fn passed_by_spec(graph: &Graph, step: StepId, slot: usize, kind: Kind) -> Option<Kind> {
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    let passes = |shape: &spec::Shape<spec::Axis>| {
        let hole = shape.row(kind).and_then(|row| row.hole());
        hole.is_some_and(|hole| hole.variable == RowVariable::Ellipsis)
    };
    let (operand, result) = (known.spec.operands.get(slot)?, known.spec.results.first()?);
    (passes(operand) && passes(result)).then_some(kind)
}

/// A size that a label could have.
pub(super) fn example_size(spec: &spec::Spec, label: spec::AxisId) -> u64 {
    let is_window = |axis: &spec::Axis| match &axis.kind {
        AxisKind::Affine(affine) => affine.kernel.is_some_and(|kernel| kernel.term.label == label),
        _ => false,
    };
    let window = spec.shapes().flat_map(|shape| shape.axes()).any(is_window);
    if window { EXAMPLE_WINDOW } else { EXAMPLE }
}
