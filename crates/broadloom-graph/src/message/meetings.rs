//! Two known sizes that one step brings together, where the solver found the conflict further away.
//!
//! In `skip + conv2d(8, padding = "valid")(skip)` the solver may refuse the window of the convolution, because the sum fixed
//! the size of its result first. The reason is that an axis of 14 meets one of 12, and that is what the message says.

use broadloom_core::Padding;
use broadloom_diagnostics::{Fact, Help};
use broadloom_spec::{AxisKind, Kind};

use super::ends::said_end;
use super::{Case, advice, ends, labels, repairs, walk};
use crate::error::{Error, ErrorKind, MessageLine, Remedy};
use crate::spec_axis::{AxisPlace, Rule, Spot, row_spots, spec_axes};
use crate::step::{Op, StepId, Tensor};
use crate::{Graph, names, partial_shape, spec_axis};

/// An axis with its size.
type SizedPlace = (u64, AxisPlace);

/// Two axes that a step takes as one.
struct Meeting {
    /// The label that stands for both, if a spec has one.
    label: Option<String>,
    sides: [SizedPlace; 2],
}

/// Explains two known sizes that the refused step brings together.
pub(super) fn explain_meeting(graph: &Graph, case: Case<'_>) -> Option<Error> {
    let Meeting { label, sides } = meeting(graph, case)?;
    let [first, second] = sides.map(|(size, _)| size.to_string());
    let message = match &label {
        Some(_) if let Some(message) = labels::of_one_size(graph, case.refused, [&first, &second]) => message,
        Some(label) => format!("`{label}` cannot be both {first} and {second}"),
        None => format!("{first} and {second} do not agree"),
    };
    let mut error = super::error_at(graph, ErrorKind::Mismatch, case.refused, &message);
    error = error.with_fact(Fact::Sizes(sides.map(|(size, _)| size)));
    if label.is_some() {
        error = error.with_fact(Fact::NamedAxis { of: None });
    }
    // Repairs compare the sizes that axes have.
    let is_composed = sides.iter().any(|(size, place)| spec_axis::size_at(graph, *place) != Some(*size));
    let repair = repairs::repair(graph, case.refused).filter(|_| !is_composed);
    error = match (super::op(graph, case.refused)?, repair) {
        (Op::Einsum { id, .. }, _) if id.is_joined() => {
            error.with_help(advice::joined_advice(graph, case.refused, [&first, &second]))
        }
        (Op::Einsum { .. }, _) => {
            error.with_remedy(Remedy::Spec, labels::spec_advice(graph, case, [&first, &second]))
        }
        (Op::Pointwise(_), Some(help)) => error.with_help(help),
        (Op::Pointwise(_), None) => {
            error.with_help(Help::rule(format!("make both {first} or both {second}")))
        }
        _ => error,
    };
    Some(sides.into_iter().fold(error, |error, (size, place)| {
        error.with_end(met_end(graph, case, size, place).with_size(size))
    }))
}

fn meeting(graph: &Graph, case: Case<'_>) -> Option<Meeting> {
    let step = case.refused;
    match super::op(graph, step)? {
        Op::Einsum { id, .. } if id.is_joined() => parts_that_meet(graph, step),
        Op::Einsum { .. } => labels_that_meet(graph, step),
        Op::Pointwise(_) => {
            let operands = names::step_operands(graph, step);
            let others = |at: usize| operands[at + 1..].iter().map(move |other| (operands[at], *other));
            let mut pairs = (0..operands.len()).flat_map(others);
            pairs.find_map(|(a, b)| {
                Kind::ALL.into_iter().find_map(|kind| rows_that_meet(graph, (a, kind), (b, kind), |_| false))
            })
        }
        Op::Compose | Op::ComposeAccumulate => {
            let own = case.core.constraints.iter().filter(|id| super::origin(graph, **id).step == step);
            let rows: Vec<(Tensor, Kind)> = own.flat_map(|id| super::rows_read(graph, *id)).collect();
            let &[a, b] = &rows[..] else { return None };
            rows_that_meet(graph, a, b, |_| false)
        }
        _ => None,
    }
}

/// Two sizes that face each other in rows which are matched from the last axis backwards.
fn rows_that_meet(
    graph: &Graph,
    a: (Tensor, Kind),
    b: (Tensor, Kind),
    may_differ: impl Fn(AxisPlace) -> bool,
) -> Option<Meeting> {
    let side = |(tensor, kind): (Tensor, Kind), at: usize| {
        let place = AxisPlace { tensor, kind, spot: Spot::Back(at) };
        Some((claimed_size(graph, place)?, place))
    };
    let written = |row: (Tensor, Kind)| partial_shape::partial_row(graph, graph.rows(row.0)[row.1 as usize]);
    let most = [a, b].map(written).iter().map(|row| row.lead.len() + row.trail.len()).min()?;
    (0..most).find_map(|at| {
        let sides = [side(a, at)?, side(b, at)?];
        (sides[0].0 != sides[1].0 && !may_differ(sides[0].1)).then_some(Meeting { label: None, sides })
    })
}

/// Two sizes of parts that are put together, in an axis in which they agree.
fn parts_that_meet(graph: &Graph, step: StepId) -> Option<Meeting> {
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    let joined = known.spec.results.first()?.rows().find_map(|(kind, row)| {
        let (_, spot) = row_spots(row).find(|(axis, _)| matches!(axis.kind, AxisKind::Concat(_)))?;
        Some((kind, spot))
    });
    let (first, others) = names::step_operands(graph, step).split_first()?;
    let is_joined = |kind: Kind, place: AxisPlace| {
        let count = super::known_row(graph, *first, kind).map(|row| row.len());
        let (own, spot) = joined?;
        let spot = match spot {
            Spot::Front(at) => Spot::Back(count?.checked_sub(at + 1)?),
            spot => spot,
        };
        Some(own == kind && place.spot == spot)
    };
    let is_joined = |kind: Kind, place: AxisPlace| is_joined(kind, place).unwrap_or(false);
    others.iter().find_map(|other| {
        Kind::ALL.into_iter().find_map(|kind| {
            rows_that_meet(graph, (*first, kind), (*other, kind), |place| is_joined(kind, place))
        })
    })
}

/// Two sizes of one label of a spec.
fn labels_that_meet(graph: &Graph, step: StepId) -> Option<Meeting> {
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    let operands = names::step_operands(graph, step);
    let mut seen = Vec::new();
    for (axis, slot, kind, spot) in spec_axes(&known.spec) {
        let (AxisKind::Label(label), Some(tensor)) = (&axis.kind, operands.get(slot)) else { continue };
        let place = AxisPlace { tensor: *tensor, kind, spot };
        let Some(size) = claimed_size(graph, place) else { continue };
        match seen.iter().find(|(other, _)| other == label) {
            Some((_, first)) if *first != (size, place) => {
                let first: SizedPlace = *first;
                if first.0 == size {
                    continue;
                }
                let label = Some(known.spec.names.axes.text(*label).to_string());
                return Some(Meeting { label, sides: [first, (size, place)] });
            }
            Some(_) => {}
            None => seen.push((*label, (size, place))),
        }
    }
    None
}

/// The size of an axis that does not broadcast.
fn claimed_size(graph: &Graph, place: AxisPlace) -> Option<u64> {
    // While a contradiction is examined, an axis may have the size that it cannot have.
    let size = composed_size(graph, place).or_else(|| spec_axis::size_at(graph, place));
    size.filter(|size| *size > 1)
}

/// The size of an axis that a spec has composed, from those of its parts.
fn composed_size(graph: &Graph, place: AxisPlace) -> Option<u64> {
    let step = graph.tensors.get(place.tensor.index())?.step;
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    let count = spec_axes(&known.spec).count() as u16;
    let mut axes = (0..count).filter_map(|at| spec_axis::sized_axis(graph, step, at));
    axes.find(|axis| axis.place == place && matches!(axis.rule, Rule::Product(_)))?.total()
}

/// A side of a meeting, as an end of a conflict.
fn met_end(graph: &Graph, case: Case<'_>, size: u64, place: AxisPlace) -> MessageLine {
    let AxisPlace { tensor, kind, spot } = place;
    let ((source, from), _) = walk::walk_back(graph, (tensor, kind));
    if graph.declarations.contains_key(&source.0) {
        return ends::written_end(graph, source, from, Some(spot), &size.to_string());
    }
    if let Some(reason) = windowed(graph, place) {
        let (step, axis) = (graph.tensors[tensor.index()].step, ends::place_text(graph, place));
        return said_end(step, &size.to_string(), format!("{axis}: {reason}"));
    }
    // A tensor with a name is called by it, unless its own step computes the size.
    let own =
        |step: StepId| graph.tensors[tensor.index()].step == step || names::name_of(graph, tensor).is_none();
    match ends::computed(graph, case, size).filter(|(step, _)| own(*step)) {
        Some((step, text)) => said_end(step, &size.to_string(), text),
        None => ends::written_end(graph, tensor, kind, Some(spot), &size.to_string()),
    }
}

/// Describes the windows that made an axis from a longer one, through operations that keep its size.
fn windowed(graph: &Graph, place: AxisPlace) -> Option<String> {
    let AxisPlace { tensor, kind, spot } = place;
    let (size, step) = (spec_axis::size_at(graph, place)?, graph.tensors.get(tensor.index())?.step);
    match super::op(graph, step)? {
        Op::Pointwise(_) => {
            let row = partial_shape::partial_row(graph, graph.rows(tensor)[kind as usize]);
            let spot = match spot {
                Spot::Front(at) if !row.open => Spot::Back(row.lead.len().checked_sub(at + 1)?),
                spot => spot,
            };
            let operands = names::step_operands(graph, step).iter();
            let mut places = operands.map(|operand| AxisPlace { tensor: *operand, kind, spot });
            windowed(graph, places.find(|place| spec_axis::size_at(graph, *place) == Some(size))?)
        }
        Op::Einsum { .. } => window_of(graph, step, kind, size),
        _ => None,
    }
}

/// The windows of a spec that have so many places in its result.
fn window_of(graph: &Graph, step: StepId, kind: Kind, size: u64) -> Option<String> {
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    let result = known.spec.results.first()?;
    let made: Vec<&str> = row_spots(result.row(kind)?)
        .filter_map(|(axis, _)| match axis.kind {
            AxisKind::Label(label) => Some(known.spec.names.axes.text(label)),
            _ => None,
        })
        .collect();
    let count = spec_axes(&known.spec).count() as u16;
    (0..count).filter_map(|at| spec_axis::sized_axis(graph, step, at)).find_map(|axis| {
        let Rule::Window(form) = axis.rule else { return None };
        let ([(over, _), (_, Some(kernel)), ..], Some(whole)) = (&axis.parts[..], axis.whole) else {
            return None;
        };
        let inside = form.window.is_some_and(|window| window.padding != Padding::Padded);
        let same = axis.rest(0) == Some(size) && made.contains(&over.as_str());
        let stride = if form.stride == 1 { String::new() } else { format!(" with stride {}", form.stride) };
        (inside && same).then(|| format!("windows of {kernel}{stride} have {size} places in {whole}"))
    })
}
