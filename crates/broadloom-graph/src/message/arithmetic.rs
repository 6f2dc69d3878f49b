//! Windows, concatenations, composed axes, indices and conversions whose sizes do not fit.

use broadloom_core::{ConstraintId, DimShape, Padding};
use broadloom_diagnostics::{Fact, Help, Wording};
use broadloom_spec::{AxisKind, Kind};

use super::{Case, axes, counts, ends, meetings, relations, walk};
use crate::error::{self, Error, ErrorKind, Remedy};
use crate::spec_axis::{AxisPlace, Rule, SizedAxis, Spot};
use crate::spec_options::SliceIndex;
use crate::step::{Aspect, Leaf, Op, Origin, Step, StepId, Tensor};
use crate::{Graph, names, partial_shape, spec_axis};

impl SizedAxis {
    /// Its formula, as an end of a conflict.
    fn sized(&self) -> error::MessageLine {
        error::MessageLine::at(self.step, format!("`{}` has the size {}", self.text, self.formula()))
    }
}

/// Explains an arithmetic constraint that contradicts the known sizes.
pub(super) fn explain_arithmetic(
    graph: &Graph,
    case: Case<'_>,
    id: ConstraintId,
    sizes: &[Option<u64>],
) -> Error {
    let Origin { step, part, .. } = super::origin(graph, id);
    let shown: Vec<String> =
        sizes.iter().map(|size| size.map_or("?".into(), |size| size.to_string())).collect();
    if let Some(error) = relations::explain_captured(graph, step, sizes) {
        return error;
    }
    let message = match (graph.steps.get(step.index()), part) {
        (Some(Step::Op { op: Op::Einsum { .. }, .. }), Aspect::Axis(at)) => {
            match spec_axis::sized_axis(graph, step, at) {
                Some(mut axis) => {
                    axis.whole = axis.whole.or(sizes.first().copied().flatten());
                    let misfit =
                        explain_misfit(graph, case, &axis).or_else(|| meetings::explain_meeting(graph, case));
                    return misfit.unwrap_or_else(|| explain_axis(graph, case, &axis));
                }
                None => format!("the sizes {} do not fit its spec", shown.join(", ")),
            }
        }
        (Some(Step::Op { op: Op::Convert { .. }, .. }), Aspect::Row(_)) => {
            return explain_not_single(graph, step);
        }
        (Some(Step::Op { op: Op::Convert { factor, divisor }, .. }), _) => {
            let reason = counts::not_converted(graph, step, *factor, *divisor, sizes);
            reason.unwrap_or_else(|| format!("the sizes {} do not fit", shown.join(", ")))
        }
        (Some(Step::Leaf { tensor, leaf: Leaf::Data | Leaf::Param }), _) => {
            format!("{} does not fit its uses", super::declared_text(graph, Tensor(*tensor)))
        }
        (Some(Step::Declared(_)), _) => match sizes.iter().flatten().collect::<Vec<_>>()[..] {
            [] => "no sizes of its names fit".to_owned(),
            [known] => format!("no size of its names makes that {known}"),
            _ => format!("the sizes {} do not fit", shown.join(", ")),
        },
        _ => format!("the sizes {} do not fit", shown.join(", ")),
    };
    super::error_at(graph, ErrorKind::Arithmetic, case.refused, &message)
}

/// Explains a conversion of a tensor with several axes.
fn explain_not_single(graph: &Graph, step: StepId) -> Error {
    let Some(tensor) = spec_axis::slot_tensor(graph, step, 0) else {
        return Error::new(ErrorKind::Arithmetic, names::subject(graph, step));
    };
    let shape = partial_shape::shape(graph, tensor);
    let number = shape.rows.iter().map(|row| (row.lead.len() + row.trail.len()) as u32).sum();
    let message = format!(
        "`convert` reads a single axis, but `{}` (`{shape}`) has {}",
        names::message_name(graph, tensor),
        axes(number)
    );
    let name = names::message_name(graph, tensor);
    let help = Wording::new("declare `").name(&name).words("` with one axis, the number of its elements");
    super::error_at(graph, ErrorKind::Arithmetic, step, &message).with_help(Help::declare(&name, help))
}

/// Explains sizes that do not fit a window, a concatenation or a composed axis, if the known sizes show it.
fn explain_misfit(graph: &Graph, case: Case<'_>, axis: &SizedAxis) -> Option<Error> {
    let is_made = names::step_results(graph, axis.step).any(|made| made == axis.place.tensor);
    let met = || meetings::explain_meeting(graph, case).filter(|_| is_made && axis.is_indivisible());
    let uneven = || (axis.is_uneven() || axis.is_indivisible()).then(|| explain_axis(graph, case, axis));
    explain_too_large(graph, case, axis).or_else(met).or_else(uneven)
}

/// Explains an axis whose size is not the one that its parts make.
fn explain_axis(graph: &Graph, case: Case<'_>, axis: &SizedAxis) -> Error {
    let place = ends::place_text(graph, axis.place);
    let size = axis.whole.map_or(String::new(), |size| format!(", of size {size},"));
    let parts = axis.known_parts();
    let given = if parts.is_empty() { String::new() } else { format!(" with {parts}") };
    let message = format!("{place}{size} does not fit `{}`{given}", axis.text);
    let mut error = super::error_at(graph, ErrorKind::Arithmetic, case.refused, &message);
    let AxisPlace { tensor, kind, spot } = axis.place;
    // The axis may come from a declared tensor unchanged.
    let ((tensor, kind), _) = walk::walk_back(graph, (tensor, kind));
    if let Some(whole) = axis.whole.filter(|_| graph.declarations.contains_key(&tensor.0)) {
        error = error.with_end(
            ends::written_end(graph, tensor, kind, Some(spot), &whole.to_string()).with_size(whole),
        );
    }
    let error = part_ends(graph, axis).into_iter().fold(error, Error::with_end).with_end(axis.sized());
    let over = axis.parts.first().map_or("", |(name, _)| name);
    match axis.rule {
        Rule::Window(form) => {
            let sizes = match (axis.fitting_sizes(), axis.whole) {
                (Some((below, _)), Some(whole)) if below > whole => format!("; {below} would fit"),
                (Some((below, above)), _) => format!("; {below} or {above} would fit"),
                _ => String::new(),
            };
            let fixed = form.window.is_none() || axis.is_padded();
            let what = if fixed { "the axis or the stride" } else { "the axis, the window or the stride" };
            let error = error.with_help(format!(
                "`{over}` must come out as a whole number: change {what} ({}){sizes}",
                form.stride
            ));
            let valid = form.window.is_some_and(|window| window.padding == Padding::Valid);
            let dropping = axis.text.replacen('<', "~", 1);
            match valid {
                true if dropping != axis.text => error.with_help(format!(
                    "or write `{dropping}`, which drops what is left over at the end of the axis"
                )),
                true => error.with_remedy(
                    Remedy::Drop(axis.fitting_sizes()),
                    "or drop what is left over: `Padding::Dropped`",
                ),
                // A window of one element takes every so many elements, however many there are.
                false if form.window.is_none() && form.offset == 0 => error
                    .with_help(format!("or take what there is: `{}~+k`, where `k` is set to 1", axis.text)),
                false => error,
            }
        }
        Rule::Product(_) => error.with_help(product_help(axis)),
        _ => error
            .with_help(Help::rule("the parts of a concatenation add up to the whole, and have one basis")),
    }
}

/// The declared axes that the parts of a composed axis have their sizes from.
fn part_ends(graph: &Graph, axis: &SizedAxis) -> Vec<error::MessageLine> {
    let Some((known, _)) = spec_axis::spec_of_step(graph, axis.step) else { return Vec::new() };
    let is_composed = matches!(axis.rule, Rule::Product(_));
    let end = |(name, size): &(String, Option<u64>)| {
        let (label, size) = (known.spec.names.axes.find(name)?, (*size)?);
        let mut same =
            spec_axis::spec_axes(&known.spec).filter(|(own, ..)| own.kind == AxisKind::Label(label));
        same.find_map(|(_, slot, kind, spot)| {
            let tensor = *names::step_operands(graph, axis.step).get(slot)?;
            let end = ends::written_end(graph, tensor, kind, Some(spot), &size.to_string()).with_size(size);
            graph.declarations.contains_key(&tensor.0).then_some(end)
        })
    };
    axis.parts.iter().filter(|_| is_composed).filter_map(end).collect()
}

/// Advice about a composed axis whose parts do not multiply to its size.
fn product_help(axis: &SizedAxis) -> String {
    let open: Vec<&str> =
        axis.parts.iter().filter(|(_, size)| size.is_none()).map(|(name, _)| &**name).collect();
    match (axis.total(), axis.known_product(), &open[..]) {
        (Some(1), ..) if axis.parts.is_empty() => format!("`{}` is an axis of one element", axis.text),
        (Some(1), ..) => format!("`{}` has one element here, and does not broadcast", axis.text),
        (Some(total), ..) => format!("its parts multiply to {total}: change one of them, or the axis"),
        (_, Some(known), [open]) => {
            format!(
                "`{open}` must come out as a whole number: make the axis a multiple of {known}, or change the other parts"
            )
        }
        (_, Some(known), _) if known > 1 => {
            format!("make the axis a multiple of {known}, or change its parts")
        }
        _ => "its parts have to multiply to the axis".to_string(),
    }
}

/// Explains a dimension that would need a size it cannot have.
pub(super) fn explain_size(
    graph: &Graph,
    case: Case<'_>,
    what: Option<DimShape>,
    bounds: (u64, u64),
) -> Error {
    let latest = case.core.constraints.iter().rev();
    let misfit = latest.filter_map(|id| {
        sliced(graph, *id).or_else(|| {
            let Origin { step, part: Aspect::Axis(at), .. } = super::origin(graph, *id) else { return None };
            spec_axis::sized_axis(graph, step, at)
        })
    });
    let misfit: Vec<SizedAxis> = misfit.collect();
    if let Some(error) = misfit.iter().find_map(|axis| explain_misfit(graph, case, axis)) {
        return error;
    }
    if let Some(error) = meetings::explain_meeting(graph, case) {
        return error;
    }
    let what = what.and_then(|what| ends::what_text(graph, case, what));
    let what = what.map_or_else(|| "an axis".into(), |(what, _)| what);
    let (least, most) = bounds;
    let message = if least > most {
        format!("{what} needs at least {least} elements but has {most}")
    } else {
        format!("{what} has no size that fits")
    };
    let error = super::error_at(graph, ErrorKind::Arithmetic, case.refused, &message);
    misfit.first().into_iter().fold(error, |error, axis| error.with_end(axis.sized()))
}

/// The axis from which a slice takes one element, if a constraint is about that.
fn sliced(graph: &Graph, id: ConstraintId) -> Option<SizedAxis> {
    let Origin { step, part: Aspect::Whole, .. } = super::origin(graph, id) else { return None };
    let Some(Op::Slice(SliceIndex::At(at))) = super::op(graph, step) else { return None };
    let place = AxisPlace {
        tensor: spec_axis::slot_tensor(graph, step, 0)?,
        kind: Kind::Batch,
        spot: Spot::Front(0),
    };
    let whole = spec_axis::size_at(graph, place);
    Some(SizedAxis {
        text: at.to_string(),
        place,
        whole,
        parts: Vec::new(),
        least: 0,
        rule: Rule::Index(at),
        step,
    })
}

/// Explains an index beyond an axis, a window wider than it, or parts that exceed the whole.
fn explain_too_large(graph: &Graph, case: Case<'_>, axis: &SizedAxis) -> Option<Error> {
    let (whole, place) = (axis.whole?, ends::place_text(graph, axis.place));
    let (message, help, facts) = match axis.rule {
        Rule::Index(index) if index >= whole => {
            let what = if matches!(super::op(graph, case.refused), Some(Op::Slice(_))) {
                "position"
            } else {
                "index"
            };
            let message = format!("{what} {index} is beyond {place}, of size {whole} (0 to {})", whole - 1);
            (message, Help::rule("positions count from 0"), Vec::new())
        }
        Rule::Window(_) if axis.span().is_some_and(|span| span > whole) => {
            let message = format!("a window of {} does not fit into {place}, of size {whole}", axis.span()?);
            let padded = axis.text.replacen("<+", "=+", 1);
            let help =
                if padded == axis.text { String::new() } else { format!(", or pad the axis: `{padded}`") };
            (message, format!("take a smaller window, of at most {whole}{help}").into(), Vec::new())
        }
        // Its own size is one of its parts', as far as its step is made.
        Rule::Product(_) if axis.is_too_many() => {
            let parts = axis.known_parts();
            let given = if parts.is_empty() { String::new() } else { format!(" with {parts}") };
            let message = format!("`{}`{given} has more elements than a size can say", axis.text);
            (message, "a size is less than 2 to the power of 64: make its parts smaller".into(), Vec::new())
        }
        Rule::Concat(_) => {
            let message = format!("{}, {place}", parts_too_large(axis)?);
            let (help, sum) = sum_of_parts(axis);
            let whole_text = format!("{} in {place}", axis.text);
            let sum = sum.map(|sum| Fact::Parts { whole, sum });
            (message, help, [Some(Fact::TooLarge(whole_text)), sum].into_iter().flatten().collect())
        }
        _ => return None,
    };
    let error = super::error_at(graph, ErrorKind::Arithmetic, case.refused, &message);
    let error = facts.into_iter().fold(error, Error::with_fact);
    let AxisPlace { tensor, kind, spot } = axis.place;
    let is_shown = graph.declarations.contains_key(&tensor.0) || matches!(axis.rule, Rule::Concat(_));
    let error = match is_shown {
        true => error.with_end(
            ends::written_end(graph, tensor, kind, Some(spot), &whole.to_string()).with_size(whole),
        ),
        false => error,
    };
    Some(match axis.rule {
        Rule::Window(_) => {
            let of = names::message_name(graph, tensor);
            error.with_remedy(Remedy::Window(whole), help).with_fact(Fact::NoRoom { of })
        }
        _ => error.with_help(help),
    })
}

/// Advice about parts that do not add up, and their sum if all have one size, as gates have.
fn sum_of_parts(axis: &SizedAxis) -> (Help, Option<u64>) {
    let sizes: Vec<u64> = axis.parts.iter().filter_map(|(_, size)| *size).collect();
    let equal = sizes.len() > 1 && sizes.iter().all(|size| *size == sizes[0]);
    let size = sizes.first().copied().filter(|_| equal);
    let (count, rule) = (axis.parts.len() as u64, "the parts of a concatenation add up to the whole");
    match size.and_then(|size| Some((size, size.checked_mul(count)?))) {
        Some((size, all)) => (Help::rule(format!("{rule}: {count} parts of {size} are {all}")), Some(all)),
        None => (Help::rule(rule), None),
    }
}

/// Parts of a concatenation that exceed the whole, or leave nothing for the others.
fn parts_too_large(axis: &SizedAxis) -> Option<String> {
    let (text, parts, whole) =
        (&axis.text, axis.known_parts(), axis.whole.filter(|whole| axis.least > *whole)?);
    let known = axis.parts.iter().filter_map(|(_, size)| *size).fold(0, u64::saturating_add);
    Some(if known > whole {
        format!("{parts} is more than `{text}`, which is {whole}")
    } else if known > 0 {
        format!("{parts} leaves too little for the rest of `{text}`, which is {whole}")
    } else {
        format!("`{text}` needs at least {} elements, but is {whole}", axis.least)
    })
}
