//! The arithmetic of an axis of a spec, with its known sizes: windows, concatenations, composed axes,
//! fixed indices.
//!
//! In `einsum("2*o<+k; k => o", x, w)` the first axis is `2*o<+k`; its place is the last output axis of `x`,
//! its parts are `o` and `k`, and its size is `2·(o − 1) + (k − 1) + 1`.

use std::sync::Arc;

use broadloom_core::{Affine, Padding};
use broadloom_spec::{self as spec, AxisKind, ComponentKind, Kind, PartKind, RowVariable};

use crate::notation::KnownSpec;
use crate::shape::{Axis, PartialAxis};
use crate::spec_window::{row_index, window_form};
use crate::step::{Op, Step, StepId, Tensor};
use crate::{Graph, captured, names, partial_shape, spec_parts};

/// A place in a row, counted from the front or from the back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spot {
    Front(usize),
    Back(usize),
}

/// The place of an axis of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AxisPlace {
    pub tensor: Tensor,
    pub kind: Kind,
    pub spot: Spot,
}

/// An axis of a spec that restricts sizes, with the sizes that are known.
pub(crate) struct SizedAxis {
    /// Its text.
    pub text: String,
    pub place: AxisPlace,
    /// The size of the axis itself.
    pub whole: Option<u64>,
    /// Its labels with their sizes, in writing order.
    pub parts: Vec<(String, Option<u64>)>,
    /// The least sum of its parts: some may be empty.
    pub least: u64,
    pub rule: Rule,
    /// The step of its spec.
    pub step: StepId,
}

/// The rule by which the size of an axis follows from its parts.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// Read at one index.
    Index(u64),
    /// The sum of the parts, and of those that are numbers.
    Concat(u64),
    /// The product of the parts, and of those that are numbers.
    Product(u64),
    /// A stride, and a window if there is one.
    Window(Affine),
}

impl SizedAxis {
    /// The size of the axis if all parts are known; the least one, if a window drops a remainder.
    pub fn total(&self) -> Option<u64> {
        match (self.rule, &self.parts[..]) {
            (Rule::Concat(literal), parts) => {
                parts.iter().try_fold(literal, |sum, (_, size)| sum.checked_add((*size)?))
            }
            (Rule::Product(literal), parts) => {
                parts.iter().try_fold(literal, |product, (_, size)| product.checked_mul((*size)?))
            }
            (Rule::Window(form), [(_, over), rest @ ..]) => {
                window_size(form, (*over)?, rest.first().map_or(Some(0), |(_, size)| *size)?)
            }
            (Rule::Index(_) | Rule::Window(_), _) => None,
        }
    }

    /// The least and the next larger size that the axis could have instead of its own, as far as its window
    /// is known.
    pub fn fitting_sizes(&self) -> Option<(u64, u64)> {
        let Rule::Window(form) = self.rule else { return None };
        let matters = form.equation().0 > 0;
        let kernel = self.parts.get(1).filter(|_| matters).map_or(Some(0), |(_, size)| *size)?;
        let least = window_size(form, 1, kernel)?;
        let below = least + self.whole?.saturating_sub(least) / form.stride * form.stride;
        Some((below, below.checked_add(form.stride)?))
    }

    /// The size of one part if the axis and the other parts are known.
    pub fn rest(&self, at: usize) -> Option<u64> {
        let whole = self.whole?;
        match (self.rule, at) {
            (Rule::Concat(literal), _) => {
                let others = self.parts.iter().enumerate().filter(|(other, _)| *other != at);
                others
                    .map(|(_, (_, size))| *size)
                    .try_fold(whole.checked_sub(literal)?, |rest, size| rest.checked_sub(size?))
            }
            (Rule::Product(_), _) => {
                let others = self.others(at)?;
                (others > 0 && whole.is_multiple_of(others)).then(|| whole / others)
            }
            (Rule::Window(form), 0) => {
                let (per_kernel, constant) = form.equation();
                let kernel = match self.parts.get(1) {
                    Some((_, size)) if per_kernel > 0 => (*size)?,
                    _ => 0,
                };
                let rest = i128::from(whole) - i128::from(per_kernel) * i128::from(kernel) - constant;
                let stride = i128::from(form.stride);
                (rest >= stride && rest % stride <= form.slack().into()).then(|| (rest / stride) as u64)
            }
            _ => None,
        }
    }

    /// The product of all parts of a composed axis but one, if they are known.
    fn others(&self, at: usize) -> Option<u64> {
        let Rule::Product(literal) = self.rule else { return None };
        let mut others = self.parts.iter().enumerate().filter(|(other, _)| *other != at);
        others.try_fold(literal, |product, (_, (_, size))| product.checked_mul((*size)?))
    }

    /// The product of those parts of a composed axis that are known; the axis is a multiple of it.
    pub fn known_product(&self) -> Option<u64> {
        let Rule::Product(literal) = self.rule else { return None };
        let mut known = self.parts.iter().filter_map(|(_, size)| *size);
        known.try_fold(literal, u64::checked_mul)
    }

    /// Returns true if the known parts of a composed axis multiply to more than a size can be.
    pub fn is_too_many(&self) -> bool {
        matches!(self.rule, Rule::Product(_)) && self.known_product().is_none()
    }

    /// A size that would fit for a part of a composed axis: the least factor of what the known parts leave.
    pub fn factor(&self) -> u64 {
        let left = self.whole.unwrap_or(1) / self.known_product().unwrap_or(1).max(1);
        (2..=left.min(MOST_FACTOR)).find(|size| left.is_multiple_of(*size)).unwrap_or(1)
    }

    /// Returns true if the known parts of a composed axis do not multiply to its size, or do not divide it.
    pub fn is_indivisible(&self) -> bool {
        match (self.whole, self.total(), self.known_product()) {
            (Some(whole), Some(total), Some(_)) => total != whole,
            (Some(whole), None, Some(known)) => known > 0 && !whole.is_multiple_of(known),
            _ => false,
        }
    }

    /// Returns true if the axis has a window that may reach beyond it.
    pub fn is_padded(&self) -> bool {
        matches!(self.rule, Rule::Window(Affine { window: Some(window), .. }) if window.padding == Padding::Padded)
    }

    /// Returns true if a stride or a window does not fit the axis evenly, as far as the sizes are
    /// known.
    pub fn is_uneven(&self) -> bool {
        let window = matches!(self.rule, Rule::Window(_));
        let kernel_known = self.is_padded() || self.parts.iter().skip(1).all(|(_, size)| size.is_some());
        window && kernel_known && self.whole.is_some() && self.rest(0).is_none()
    }

    /// The number of elements that the window spans, if it has to lie inside the axis.
    pub fn span(&self) -> Option<u64> {
        let Rule::Window(Affine { window: Some(window), .. }) = self.rule else { return None };
        let kernel = self.parts.get(1)?.1?;
        (window.padding != Padding::Padded)
            .then(|| window.dilation.saturating_mul(kernel.saturating_sub(1)).saturating_add(1))
    }

    /// The size of the axis, in a formula.
    pub fn formula(&self) -> String {
        let names = self.parts.iter().map(|(name, _)| name.clone());
        match self.rule {
            Rule::Index(index) => format!("at least {}", index.saturating_add(1)),
            Rule::Concat(literal) => {
                let literal = (literal > 0).then(|| literal.to_string());
                names.chain(literal).collect::<Vec<_>>().join(" + ")
            }
            Rule::Product(literal) => {
                let literal = (literal > 1 || self.parts.is_empty()).then(|| literal.to_string());
                literal.into_iter().chain(names).collect::<Vec<_>>().join("·")
            }
            Rule::Window(form) => formula(form, &names.collect::<Vec<_>>()),
        }
    }

    /// The parts whose sizes are known: `a = 3, b = 4`.
    pub fn known_parts(&self) -> String {
        let known = |(name, size): &(String, Option<u64>)| Some(format!("{name} = {}", (*size)?));
        // The kernel of a padded window does not matter.
        let matter = if self.is_padded() { 1 } else { self.parts.len() };
        self.parts.iter().take(matter).filter_map(known).collect::<Vec<_>>().join(", ")
    }
}

/// The greatest factor that is tried for an example.
const MOST_FACTOR: u64 = 64;

/// A size that would fit for a label in a composed axis of a step: of several that are open, the first gets a factor and the last the
/// rest.
pub(crate) fn composed_example(graph: &Graph, step: StepId, name: &str) -> Option<u64> {
    let (known, _) = spec_of_step(graph, step)?;
    let count = spec_axes(&known.spec).count() as u16;
    let mut axes = (0..count).filter_map(|at| sized_axis(graph, step, at));
    axes.find_map(|axis| {
        let Rule::Product(_) = axis.rule else { return None };
        let open = axis.parts.iter().filter(|(_, size)| size.is_none()).map(|(own, _)| own.as_str());
        let open: Vec<&str> = open.collect();
        let left = axis.whole? / axis.known_product()?.max(1);
        let first = if open.len() > 1 { axis.factor() } else { left };
        match open.iter().position(|own| *own == name)? {
            0 => Some(first),
            at if at + 1 == open.len() => Some(left / first.max(1)),
            _ => Some(1),
        }
    })
}

/// The size of an affine axis, if it is a size.
fn window_size(form: Affine, over: u64, kernel: u64) -> Option<u64> {
    let (per_kernel, constant) = form.equation();
    let product = |a: u64, b: u64| i128::from(a).checked_mul(i128::from(b));
    let sum = product(form.stride, over)?.checked_add(product(per_kernel, kernel)?)?.checked_add(constant)?;
    u64::try_from(sum).ok()
}

/// The size of an affine axis, written out.
fn formula(form: Affine, names: &[String]) -> String {
    let times = |factor: u64, text: String| if factor == 1 { text } else { format!("{factor}·{text}") };
    let plus = |extra: i128| if extra > 0 { format!(" + {extra}") } else { String::new() };
    match (names, form.window) {
        ([over, kernel, ..], Some(window)) if window.padding != Padding::Padded => {
            let steps = times(form.stride, format!("({over} − 1)"));
            let span = times(window.dilation, format!("({kernel} − 1)"));
            let rest =
                if form.slack() > 0 { format!(", and up to {} more", form.slack()) } else { String::new() };
            format!("{steps} + {span} + 1{}{rest}", plus(form.offset.into()))
        }
        ([over, ..], _) => format!("{}{}", times(form.stride, over.clone()), plus(form.equation().1)),
        ([], _) => "?".into(),
    }
}

/// All axes of a spec in writing order, each with its slot and its place there.
pub(crate) fn spec_axes(spec: &spec::Spec) -> impl Iterator<Item = (&spec::Axis, usize, Kind, Spot)> {
    spec.shapes().enumerate().flat_map(|(slot, shape)| {
        shape
            .rows()
            .flat_map(move |(kind, row)| row_spots(row).map(move |(axis, spot)| (axis, slot, kind, spot)))
    })
}

/// The axes of a row of a spec with their places.
pub(crate) fn row_spots(row: &spec::Row<spec::Axis>) -> impl Iterator<Item = (&spec::Axis, Spot)> {
    let lead = row.lead().iter().enumerate().map(|(at, axis)| (axis, Spot::Front(at)));
    let last = row.trail.len();
    lead.chain(row.trail.iter().enumerate().map(move |(at, axis)| (axis, Spot::Back(last - 1 - at))))
}

/// The spec of a step, and the place of its first label.
pub(crate) fn spec_of_step(graph: &Graph, step: StepId) -> Option<(Arc<KnownSpec>, u32)> {
    match graph.steps.get(step.index())? {
        Step::Op { op: Op::Einsum { spec, labels, .. }, .. } => Some((graph.spec(*spec), *labels)),
        _ => None,
    }
}

/// The tensor in a slot of a step: an operand, or after them a result.
pub(crate) fn slot_tensor(graph: &Graph, step: StepId, slot: usize) -> Option<Tensor> {
    let operands = names::step_operands(graph, step);
    operands
        .get(slot)
        .copied()
        .or_else(|| names::step_results(graph, step).nth(slot.checked_sub(operands.len())?))
}

/// An axis of the spec of a step, if it restricts sizes.
pub(crate) fn sized_axis(graph: &Graph, step: StepId, at: u16) -> Option<SizedAxis> {
    let (known, _) = spec_of_step(graph, step)?;
    let (axis, slot, kind, spot) = spec_axes(&known.spec).nth(usize::from(at))?;
    let place = AxisPlace { tensor: slot_tensor(graph, step, slot)?, kind, spot };
    let part =
        |label: spec::AxisId| (known.spec.names.axes.text(label).to_string(), label_size(graph, step, label));
    let rule = match &axis.kind {
        AxisKind::Fixed(index) => Rule::Index(*index),
        AxisKind::Concat(components)
            if components.iter().any(|part| part.kind == ComponentKind::Wildcard) =>
        {
            return None;
        }
        AxisKind::Concat(components) => Rule::Concat(components.iter().map(literal).sum()),
        AxisKind::Affine(affine) => Rule::Window(form(graph, step, &known, affine)?),
        AxisKind::Composed(parts) => Rule::Product(spec_parts::literal(parts)),
        AxisKind::Label(_) | AxisKind::Wildcard => return None,
    };
    let text = known.written(axis, axis.span);
    let row = |variable| composed_row(graph, &known, step, kind, variable);
    let parts: Vec<_> = match axis.parts() {
        [] => axis.labels().map(part).collect(),
        parts => parts
            .iter()
            .filter_map(|each| match each.kind {
                PartKind::Label(label) => Some(part(label)),
                PartKind::Row(variable) => Some((known.written(each, each.span), row(variable))),
                PartKind::Size(_) => None,
            })
            .collect(),
    };
    let may_be_empty = |label: spec::AxisId| known.discardable.get(label.0 as usize) == Some(&true);
    let open =
        axis.labels().zip(&parts).map(|(label, (_, size))| size.unwrap_or(u64::from(!may_be_empty(label))));
    let literal = if let Rule::Concat(literal) = rule { literal } else { 0 };
    let least = open.fold(literal, u64::saturating_add);
    Some(SizedAxis { text, place, whole: size_at(graph, place), parts, least, rule, step })
}

/// The number of elements of a row in a composed axis.
fn composed_row(
    graph: &Graph,
    known: &KnownSpec,
    step: StepId,
    kind: Kind,
    variable: RowVariable,
) -> Option<u64> {
    let Some(Step::Op { op: Op::Einsum { rows, .. }, .. }) = graph.steps.get(step.index()) else {
        return None;
    };
    let index = row_index(variable, kind);
    let row =
        graph.spec_rows.get(*rows as usize + index).filter(|_| index < 3 + known.spec.names.rows.len())?;
    partial_shape::partial_row(graph, *row).elements()
}

/// The arithmetic of an affine axis as a step uses it.
fn form(graph: &Graph, step: StepId, known: &KnownSpec, affine: &spec::Affine) -> Option<Affine> {
    let Some(Step::Op { op: Op::Einsum { choice, .. }, .. }) = graph.steps.get(step.index()) else {
        return None;
    };
    let choice = names::choice_of(graph, *choice);
    let value = |name: &str| Some(choice?.coefficients.iter().find(|(given, _)| **given == *name)?.1);
    window_form(known, affine, choice.and_then(|choice| choice.padding), value).ok()
}

/// The size of a label of the spec of a step, as far as it is known.
pub(crate) fn label_size(graph: &Graph, step: StepId, label: spec::AxisId) -> Option<u64> {
    let (known, labels) = spec_of_step(graph, step)?;
    let set = graph.steps.iter().rev().find_map(|said| match said {
        Step::Set(captured, size) => {
            let made = graph.tensors.get(captured.tensor()?.index())?.step == step;
            (made && !captured.is_row && captured.index == label.0).then_some(*size)
        }
        _ => None,
    });
    let found = || captured::term_size(graph, *graph.labels.get((labels + label.0) as usize)?);
    // While a contradiction is examined, an operand may know more than the label.
    let operand = || {
        let mut same = spec_axes(&known.spec).filter(|(axis, ..)| axis.kind == AxisKind::Label(label));
        same.find_map(|(_, slot, kind, spot)| {
            size_at(graph, AxisPlace { tensor: slot_tensor(graph, step, slot)?, kind, spot })
        })
    };
    set.or_else(found).or_else(operand)
}

/// The size of an axis of a tensor, as far as it is known.
pub(crate) fn size_at(graph: &Graph, place: AxisPlace) -> Option<u64> {
    let row = partial_shape::partial_row(graph, graph.rows(place.tensor)[place.kind as usize]);
    let axis = match (place.spot, row.open) {
        (Spot::Front(at), _) => row.lead.get(at),
        (Spot::Back(at), false) => row.lead.iter().rev().nth(at),
        (Spot::Back(at), true) => row.trail.iter().rev().nth(at),
    };
    match axis? {
        PartialAxis::Known(Axis::Symbolic(..)) => None,
        PartialAxis::Known(axis) => Some(axis.size()),
        PartialAxis::Sized(size) => Some(*size),
        PartialAxis::Unknown => None,
    }
}

/// The size of a component that is a number.
fn literal(component: &spec::Component) -> u64 {
    if let ComponentKind::Size(size) = component.kind { size.get() } else { 0 }
}
