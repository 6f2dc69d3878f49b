//! Labels and shapes that only a guess would decide: what is open, why several sizes fit, and where
//! one could be stated.

use broadloom_diagnostics::Wording;
use broadloom_spec::{self as spec, AxisKind};

use super::counts;
use super::holes::{EXAMPLE_WINDOW, example_size};
use crate::error::{Error, ErrorKind, MessageLine, Remedy, example_shape};
use crate::open::Guess;
use crate::spec_axis::{Rule, SizedAxis, spec_axes};
use crate::step::{Step, StepId, Tensor};
use crate::{Graph, names, spec_axis};

/// The number of sizes that are tried for an example.
const MOST_SIZES: u64 = 64;

/// Explains what the guesses of one step leave open.
pub(crate) fn explain_guess(graph: &Graph, guesses: &[Guess]) -> Error {
    match guesses.first() {
        Some(Guess::Label(step, label)) => explain_guessed_label(graph, *step, *label),
        Some(Guess::Shape(step)) => explain_guessed_shape(graph, *step),
        Some(Guess::Source(step)) => explain_guessed_source(graph, *step),
        None => Error::new(ErrorKind::Undetermined, "a size is not determined"),
    }
}

/// Explains a label without a size, and the labels that follow from it.
fn explain_guessed_label(graph: &Graph, step: StepId, label: spec::AxisId) -> Error {
    let Some((known, _)) = spec_axis::spec_of_step(graph, step) else {
        return Error::new(ErrorKind::Undetermined, "a size is not determined").about_step(step);
    };
    let name = known.spec.names.axes.text(label);
    let message = format!("nothing determines the size of `{name}`");
    let mut error =
        Error::new(ErrorKind::Undetermined, message).inside(&names::subject(graph, step)).about_step(step);
    let mentions = |axis: &spec::Axis| {
        !matches!(axis.kind, AxisKind::Label(_)) && axis.labels().any(|other| other == label)
    };
    let places = spec_axes(&known.spec).map(|(axis, ..)| axis).zip(0u16..);
    let axes = places
        .filter(|(axis, _)| mentions(axis))
        .filter_map(|(_, at)| spec_axis::sized_axis(graph, step, at));
    let axes: Vec<SizedAxis> = axes.filter(|axis| axis.whole.is_some()).collect();
    for axis in &axes {
        error = error.with_end(several_fit(graph, axis, name));
    }
    // The loop over the positions of a window follows from the other part.
    let wanted = |axis: &SizedAxis| match axis.rule {
        Rule::Product(_) => axis.parts.iter().position(|(own, size)| own == name && size.is_none()),
        _ => axis.parts.iter().rposition(|part| part.1.is_none()),
    };
    let open = axes.first().and_then(|axis| Some((axis, wanted(axis)?)));
    let (name, size) = match open {
        Some((axis, at)) => (axis.parts[at].0.as_str(), fitting(axis, at)),
        None if known.repeating.contains(&label) => (name, 2),
        None => (name, example_size(&known.spec, label)),
    };
    let result = names::step_results(graph, step).next().and_then(|result| names::name_of(graph, result));
    // A size that fits the axis need not fit what else is said of its parts.
    let is_related = axes.iter().any(|axis| relates_parts(graph, axis));
    let help = match result {
        Some(result) if is_related => {
            Wording::new("set `").name(format!("{result}.{name}")).words("` to a number")
        }
        Some(result) => {
            Wording::new("set `").name(format!("{result}.{name}")).words(format!("`, for example to {size}"))
        }
        None => {
            let made = names::called(graph, step);
            Wording::new(format!("set `{name}` of ")).name(made).words(format!(", for example to {size}"))
        }
    };
    error.with_help(help)
}

/// The line for an axis whose size is known and whose parts are not.
fn several_fit(graph: &Graph, axis: &SizedAxis, label: &str) -> MessageLine {
    let (kind, tensor) = (axis.place.kind.name(), names::message_name(graph, axis.place.tensor));
    let whole = axis.whole.unwrap_or_default();
    let why = if axis.is_padded() {
        format!("a padded window fits with any `{label}`")
    } else if relates_parts(graph, axis) {
        format!(
            "its size is {}, which is not solved together with what the program says of its parts",
            axis.formula()
        )
    } else {
        format!("its size is {}, and several sizes fit", axis.formula())
    };
    let text = format!("`{}` is the {kind} axis of `{tensor}`, {whole}: {why}", axis.text);
    super::about_tensor(graph, axis.place.tensor, text)
}

/// Returns true if the program computes sizes of the step of an axis from others.
fn relates_parts(graph: &Graph, axis: &SizedAxis) -> bool {
    let is_own = |tensor: Option<Tensor>| {
        tensor.is_some_and(|tensor| names::step_results(graph, axis.step).any(|made| made == tensor))
    };
    graph.steps.iter().any(|step| match step {
        Step::Equal(a, b) | Step::Scale(a, _, b) => is_own(a.tensor()) || is_own(b.tensor()),
        Step::Sum(captured) => is_own(captured.tensor()),
        _ => false,
    })
}

/// Explains a conversion into a shape that is not stated.
fn explain_guessed_shape(graph: &Graph, step: StepId) -> Error {
    let made = names::called(graph, step);
    let message = format!("nothing says what shape {made} has");
    let mut error = Error::new(ErrorKind::Undetermined, message).about_step(step);
    let elements =
        names::step_operands(graph, step).first().and_then(|operand| counts::elements_of(graph, *operand));
    if let Some(elements) = elements {
        error = error.with_end(MessageLine::at(step, format!("it has {elements} elements, in memory order")));
    }
    error.with_remedy(Remedy::Shape(elements), "state its shape, or use it with something that has one")
}

/// Explains a leaf of which only the number of elements is known, because it is converted.
fn explain_guessed_source(graph: &Graph, step: StepId) -> Error {
    let leaf = names::step_operands(graph, step).first().copied();
    let name = leaf
        .map_or_else(|| names::called(graph, step), |leaf| format!("`{}`", names::message_name(graph, leaf)));
    let elements =
        names::step_results(graph, step).next().and_then(|result| counts::elements_of(graph, result));
    let count = elements.map_or_else(String::new, |elements| format!("its {elements} elements are "));
    let message = format!("nothing says what shape {name} has");
    let error = Error::new(ErrorKind::Undetermined, message)
        .about_step(leaf.map_or(step, |leaf| graph.tensors[leaf.index()].step))
        .with_end(MessageLine::at(step, format!("{count}read here in memory order, whatever its shape")));
    error.with_help(format!("declare its shape, for example `{}`", example_shape(elements)))
}

/// A size that would fit for a part of an axis.
fn fitting(axis: &SizedAxis, at: usize) -> u64 {
    let likely = match axis.rule {
        Rule::Window(form) => form.stride.max(EXAMPLE_WINDOW),
        Rule::Product(_) => return axis.factor(),
        Rule::Concat(_) | Rule::Index(_) => axis.whole.unwrap_or(2) / axis.parts.len() as u64,
    };
    let others: Vec<usize> = (0..axis.parts.len()).filter(|other| *other != at).collect();
    let fits = |size: &u64| {
        let mut parts = axis.parts.clone();
        parts[at].1 = Some(*size);
        let with = SizedAxis { parts, text: String::new(), ..*axis };
        others
            .iter()
            .all(|other| with.parts[*other].1.is_some() || with.rest(*other).is_some_and(|rest| rest > 0))
    };
    let sizes = [EXAMPLE_WINDOW, likely].into_iter().chain(1..=axis.whole.unwrap_or(1).min(MOST_SIZES));
    sizes.into_iter().find(fits).unwrap_or(likely)
}
