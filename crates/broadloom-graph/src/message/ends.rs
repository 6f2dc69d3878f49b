//! The two ends of a conflict of sizes: which tensor wrote which size, and at which axis.

use broadloom_core::order::Dim;
use broadloom_core::{ConstraintId, DimShape, DimVar, RowVar};
use broadloom_diagnostics::Fact;
use broadloom_spec::{AxisKind, Kind, RowVariable};

use super::{Case, chain, walk};
use crate::shape::elements;
use crate::spec_axis::{AxisPlace, Rule, Spot, row_spots};
use crate::spec_options::SliceIndex;
use crate::step::{Aspect, Op, Origin, RowRef, Step, StepId, Tensor};
use crate::{Graph, error, names, partial_shape, spec_axis};

/// The place where an end of a conflict is written.
enum End {
    /// On an axis of a tensor; it may be unknown on which one.
    Written(Tensor, Kind, Option<Spot>),
    /// A leaf, as it is declared.
    Declared(Tensor),
    /// By a step, for this reason.
    Said(StepId, String),
    /// By a step that states the size itself, in this sentence.
    Stated(StepId, String),
}

/// The ends of a conflict, one line each.
pub(super) fn ends(
    graph: &Graph,
    case: Case<'_>,
    what: Option<DimShape>,
    ends: [Dim; 2],
    sources: [Option<ConstraintId>; 2],
) -> Vec<error::MessageLine> {
    let found: Vec<(Dim, End)> = match facing(graph, ends, sources) {
        Some(pair) => ends.into_iter().zip(pair).collect(),
        None => {
            let sourced = ends.into_iter().zip(sources);
            sourced.filter_map(|(end, id)| Some((end, end_of(graph, case, what, end, id?)))).collect()
        }
    };
    let mut lines = Vec::new();
    let mut previous = None;
    for (end, place) in found {
        let size = super::shown(graph, end);
        let line = match place {
            End::Written(tensor, kind, spot) if previous == Some(tensor) => {
                let (_, axis) = spot_named(graph, tensor, kind, spot);
                said_end(graph.tensors[tensor.index()].step, &size, format!("its {axis}"))
            }
            End::Written(tensor, kind, spot) => {
                previous = Some(tensor);
                written_end(graph, tensor, kind, spot, &size)
            }
            End::Declared(tensor) => {
                let step = graph.tensors[tensor.index()].step;
                declared_size(step, &size, &super::declared_text(graph, tensor))
            }
            End::Said(step, text) => said_end(step, &size, text),
            End::Stated(step, text) => declared_size(step, &size, &text),
        };
        lines.push(line.with_size(elements(end)));
    }
    lines
}

/// An axis of a tensor, and the declaration of the tensor.
pub(crate) fn written_text(graph: &Graph, tensor: Tensor, kind: Kind, spot: Option<Spot>) -> String {
    let declared = graph.declarations.get(&tensor.0);
    let declared = declared.map_or(String::new(), |declared| format!(", declared `{}`", declared.shape));
    format!("{}{declared}", axis_text(graph, tensor, kind, spot))
}

fn axis_text(graph: &Graph, tensor: Tensor, kind: Kind, spot: Option<Spot>) -> String {
    format!("{} of `{}`", spot_words(graph, tensor, kind, spot), names::message_name(graph, tensor))
}

/// An axis of a tensor as the end of a conflict, with its claim.
pub(crate) fn written_end(
    graph: &Graph,
    tensor: Tensor,
    kind: Kind,
    spot: Option<Spot>,
    claim: &str,
) -> error::MessageLine {
    let text = format!("{claim}: {}", written_text(graph, tensor, kind, spot));
    let end = super::about_tensor(graph, tensor, text).with_short(claim).of_tensor(tensor);
    end.with_reason(axis_text(graph, tensor, kind, spot))
}

/// Both ends, if they face each other in two rows that one constraint contracts or equates.
fn facing(graph: &Graph, ends: [Dim; 2], sources: [Option<ConstraintId>; 2]) -> Option<[End; 2]> {
    let [Some(first), Some(second)] = sources else { return None };
    let &[a, b] = &super::rows_read(graph, first)[..] else { return None };
    if first != second {
        return None;
    }
    let from_end = |(tensor, kind): (Tensor, Kind)| {
        let (lead, trail) = graph.rows(tensor)[kind as usize].flanks(&graph.axes);
        lead.iter().chain(trail).rev().map(|axis| graph.solver.ground(*axis)).collect::<Vec<_>>()
    };
    let pairs = from_end(a).into_iter().zip(from_end(b)).enumerate();
    pairs.into_iter().find_map(|(at, pair)| {
        let end = |row: (Tensor, Kind)| {
            let (tensor, kind) = walk::walk_back(graph, row).0;
            End::Written(tensor, kind, Some(Spot::Back(at)))
        };
        match pair {
            (Some(x), Some(y)) if [x, y] == ends => Some([end(a), end(b)]),
            (Some(x), Some(y)) if [y, x] == ends => Some([end(b), end(a)]),
            _ => None,
        }
    })
}

/// Finds the place that one end comes from.
fn end_of(graph: &Graph, case: Case<'_>, what: Option<DimShape>, end: Dim, source: ConstraintId) -> End {
    for (tensor, kind) in super::rows_read(graph, source) {
        let spots = written_spots(graph, tensor, kind, end);
        let clashing = clashing_spot(graph, what, source).filter(|spot| spots.contains(spot));
        if let Some(first) = spots.first() {
            let only = (spots.len() == 1).then_some(*first);
            let (tensor, kind) = walk::walk_back(graph, (tensor, kind)).0;
            return End::Written(tensor, kind, clashing.or(only));
        }
    }
    let Origin { step, part, slot } = super::origin(graph, source);
    // A spec may give the same row to several operands, such as parts of a concatenation:
    // another one has it.
    if let (Aspect::Row(kind), Some(Op::Einsum { .. })) = (part, super::op(graph, step)) {
        let hole = |slot: usize| spec_hole(graph, step, slot, kind);
        let own = hole(usize::from(slot));
        let others = names::step_operands(graph, step).iter().enumerate();
        for (_, tensor) in others.filter(|(other, _)| own.is_some() && hole(*other) == own) {
            if let Some(first) = written_spots(graph, *tensor, kind, end).first() {
                let (tensor, kind) = walk::walk_back(graph, (*tensor, kind)).0;
                return End::Written(tensor, kind, Some(*first));
            }
        }
    }
    let text = match (graph.steps.get(step.index()), part) {
        (Some(Step::Op { op: Op::Slice(SliceIndex::Run { range: Some(_) }), .. }), Aspect::Whole) => {
            "the range of the index".into()
        }
        (Some(Step::Leaf { tensor, .. }), _) => return End::Declared(Tensor(*tensor)),
        (Some(Step::Op { .. }), _) => match elements(end).and_then(|size| computed(graph, case, size)) {
            Some((step, text)) => return End::Said(step, text),
            None => format!("{}: {}", names::called(graph, step), chain::claim_text(graph, source)),
        },
        (Some(Step::Set(..) | Step::Size(..)), _) => {
            return End::Stated(step, chain::claim_text(graph, source));
        }
        _ => chain::claim_text(graph, source),
    };
    End::Said(step, text)
}

/// The step and the text of an end that no tensor writes, because a window or a concatenation
/// computes it.
pub(super) fn computed(graph: &Graph, case: Case<'_>, end: u64) -> Option<(StepId, String)> {
    case.core.constraints.iter().rev().find_map(|id| {
        let Origin { step, part: Aspect::Axis(at), .. } = super::origin(graph, *id) else { return None };
        Some((step, computed_at(graph, step, at, end)?))
    })
}

fn computed_at(graph: &Graph, step: StepId, at: u16, end: u64) -> Option<String> {
    let axis = spec_axis::sized_axis(graph, step, at)?;
    let (text, made) = (&axis.text, names::called(graph, step));
    if axis.total() == Some(end) {
        let sizes: Vec<String> =
            axis.parts.iter().filter_map(|(_, size)| Some((*size)?.to_string())).collect();
        return Some(match axis.rule {
            Rule::Concat(0) if matches!(super::op(graph, step), Some(Op::Einsum { id, .. }) if id.is_joined()) =>
            {
                format!("{made}, put together from {}", sizes.join(" + "))
            }
            Rule::Concat(0) => format!("axis `{text}` of {made}, {}", sizes.join(" + ")),
            _ => format!("axis `{text}` of {made}, with {}", axis.known_parts()),
        });
    }
    let at = (0..axis.parts.len()).rev().find(|at| axis.rest(*at) == Some(end))?;
    let others: Vec<String> = axis
        .parts
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != at)
        .filter_map(|(_, (name, size))| Some(format!("{name} = {}", (*size)?)))
        .collect();
    let whole = axis.whole?;
    Some(match (axis.rule, &others[..]) {
        (Rule::Concat(_), [_, ..]) => {
            format!("what {} leaves of `{text}`, which is {whole}", others.join(", "))
        }
        (_, []) => format!("`{}` of {made}, where `{text}` is {whole}", axis.parts[at].0),
        _ => format!("`{}` of {made}, where `{text}` is {whole} and {}", axis.parts[at].0, others.join(", ")),
    })
}

/// The size of an axis of which an end is what other parts leave, and what its parts add up to with another end.
pub(super) fn parts(graph: &Graph, case: Case<'_>, end: u64, other: u64) -> Option<Fact> {
    case.core.constraints.iter().rev().find_map(|id| {
        let Origin { step, part: Aspect::Axis(at), .. } = super::origin(graph, *id) else { return None };
        let axis = spec_axis::sized_axis(graph, step, at)?;
        let is_rest = (0..axis.parts.len()).any(|at| axis.rest(at) == Some(end));
        let is_known = matches!(axis.rule, Rule::Concat(_)) && axis.parts.len() > 1;
        let whole = axis.whole.filter(|_| is_known && is_rest && axis.total() != Some(end))?;
        Some(Fact::Parts { whole, sum: whole.checked_add(other)?.checked_sub(end)? })
    })
}

/// The variable of a row that the spec of a step gives an operand.
fn spec_hole(graph: &Graph, step: StepId, slot: usize, kind: Kind) -> Option<RowVariable> {
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    Some(known.spec.shapes().nth(slot)?.row(kind)?.hole()?.variable)
}

/// The places where a row of a tensor writes a size.
fn written_spots(graph: &Graph, tensor: Tensor, kind: Kind, end: Dim) -> Vec<Spot> {
    let row = graph.rows(tensor)[kind as usize];
    let (lead, trail) = row.flanks(&graph.axes);
    let total = lead.len() + trail.len();
    let axes = lead.iter().chain(trail).enumerate();
    let same = axes.filter(|(_, axis)| graph.solver.ground(**axis) == Some(end));
    same.map(|(at, _)| match row.hole {
        Some(_) if at < lead.len() => Spot::Front(at),
        _ => Spot::Back(total - 1 - at),
    })
    .collect()
}

/// The axis of the operand of a constraint that meets the axis in which the sizes clash.
fn clashing_spot(graph: &Graph, what: Option<DimShape>, source: ConstraintId) -> Option<Spot> {
    let Origin { step, slot, part: Aspect::Row(kind) } = super::origin(graph, source) else { return None };
    if let (Some(DimShape::Var(var)), Some((known, labels))) = (what, spec_axis::spec_of_step(graph, step)) {
        let shape = known.spec.shapes().nth(usize::from(slot))?;
        return row_spots(shape.row(kind)?).find_map(|(axis, spot)| match axis.kind {
            AxisKind::Label(label) => {
                let term = graph.labels.get((labels + label.0) as usize)?;
                (term.var() == Some(var)).then_some(spot)
            }
            _ => None,
        });
    }
    // Broadcasting rows are matched from the back.
    let result = names::step_results(graph, step).next()?;
    let row = graph.rows(result)[kind as usize];
    match what? {
        DimShape::Back(var, at) if row.hole == Some(var) => Some(Spot::Back(at as usize)),
        DimShape::Front(var, at) if row.hole == Some(var) => {
            let rank = graph.solver.observe_row(var).rank?;
            Some(Spot::Back(rank.checked_sub(at + 1)? as usize))
        }
        _ => None,
    }
}

/// An axis of a row in words: `the output axis`, `batch axis 2`; the row, if it is not known which.
pub(crate) fn spot_words(graph: &Graph, tensor: Tensor, kind: Kind, spot: Option<Spot>) -> String {
    let (article, words) = spot_named(graph, tensor, kind, spot);
    format!("{article}{words}")
}

/// The same with its article apart.
fn spot_named(graph: &Graph, tensor: Tensor, kind: Kind, spot: Option<Spot>) -> (&'static str, String) {
    let Some(spot) = spot else { return ("the ", kind.name().into()) };
    let row = partial_shape::partial_row(graph, graph.rows(tensor)[kind as usize]);
    match (spot, row.open) {
        (_, false) if row.lead.len() == 1 => ("the ", format!("{} axis", kind.name())),
        (Spot::Front(at), _) => ("", format!("{} axis {}", kind.name(), at + 1)),
        (Spot::Back(at), false) if at < row.lead.len() => {
            ("", format!("{} axis {}", kind.name(), row.lead.len() - at))
        }
        (Spot::Back(at), _) => from_end(kind, at),
    }
}

/// An axis of a tensor in words.
pub(crate) fn place_text(graph: &Graph, place: AxisPlace) -> String {
    format!(
        "{} of `{}`",
        spot_words(graph, place.tensor, place.kind, Some(place.spot)),
        names::message_name(graph, place.tensor)
    )
}

/// The dimension of a conflict in words, as the refused step sees it, and the name of the tensor in them.
pub(super) fn what_text(graph: &Graph, case: Case<'_>, what: DimShape) -> Option<(String, Option<String>)> {
    match what {
        DimShape::Ground(_) => None,
        DimShape::Var(var) => {
            let (step, name) = label_owner(graph, var)?;
            if step == case.refused {
                return Some((format!("`{name}`"), None));
            }
            if let Some((tensor, kind)) = shared_row(graph, case, step) {
                let owner = names::message_name(graph, tensor);
                return Some((format!("the {} of `{owner}`", kind.name()), Some(owner)));
            }
            let owner =
                names::step_results(graph, step).next().map(|tensor| names::message_name(graph, tensor));
            Some((format!("`{name}` of {}", names::called(graph, step)), owner))
        }
        DimShape::Front(row, at) => {
            let (tensor, kind, found) = tensor_with(graph, row, case.refused)?;
            let at = u32::from(found.lead) + at + 1;
            Some((format!("{} axis {at} of {}", kind.name(), or_the_result(tensor.as_deref())), tensor))
        }
        DimShape::Back(row, at) => {
            let (tensor, kind, found) = tensor_with(graph, row, case.refused)?;
            let (article, axis) = from_end(kind, at as usize + found.trail as usize);
            Some((format!("{article}{axis} of {}", or_the_result(tensor.as_deref())), tensor))
        }
    }
}

/// A row of one axis that the refused step and another one both read, and disagree about.
fn shared_row(graph: &Graph, case: Case<'_>, other: StepId) -> Option<(Tensor, Kind)> {
    let read_by = |step: StepId| {
        let ids = case.core.constraints.iter().filter(move |id| super::origin(graph, **id).step == step);
        ids.flat_map(|id| super::rows_read(graph, *id)).collect::<Vec<_>>()
    };
    let others = read_by(other);
    let (tensor, kind) = read_by(case.refused).into_iter().find(|row| others.contains(row))?;
    let row = partial_shape::partial_row(graph, graph.rows(tensor)[kind as usize]);
    (!row.open && row.lead.len() == 1).then_some((tensor, kind))
}

/// The name of the tensor that a row variable belongs to; the result of a step has none for that step.
pub(crate) fn tensor_with(
    graph: &Graph,
    row: RowVar,
    step: StepId,
) -> Option<(Option<String>, Kind, RowRef)> {
    let of = |tensor: Tensor| {
        let data = graph.tensors.get(tensor.index())?;
        let rows = Kind::ALL.into_iter().zip(data.rows);
        let (kind, found) = rows.into_iter().find(|(_, found)| found.hole == Some(row))?;
        let own = data.step == step && names::name_of(graph, tensor).is_none();
        let name = (!own).then(|| names::message_name(graph, tensor));
        Some((name, kind, found))
    };
    let near = names::step_operands(graph, step).iter().copied().chain(names::step_results(graph, step));
    near.into_iter().find_map(of).or_else(|| graph.tensors().find_map(of))
}

/// The step whose spec a dimension variable is a label of, and the label.
fn label_owner(graph: &Graph, var: DimVar) -> Option<(StepId, String)> {
    let at = graph.labels.iter().rposition(|label| label.var() == Some(var))? as u32;
    graph.step_ids().rev().find_map(|step| {
        let (known, labels) = spec_axis::spec_of_step(graph, step)?;
        let index = at.checked_sub(labels)? as usize;
        let (_, name) = known.spec.names.axes.iter().nth(index)?;
        Some((step, name.text.to_string()))
    })
}

/// A tensor by its name, or the result of the refused step.
pub(super) fn or_the_result(tensor: Option<&str>) -> String {
    tensor.map_or_else(|| "the result".into(), |tensor| format!("`{tensor}`"))
}

/// An axis counted from the end, in words.
fn from_end(kind: Kind, at: usize) -> (&'static str, String) {
    match at {
        0 => ("the ", format!("last {} axis", kind.name())),
        at => ("", format!("{} axis {} from the end", kind.name(), at + 1)),
    }
}

/// A statement of a step as the end of a conflict, with the size that follows.
pub(crate) fn said_end(step: StepId, size: &str, reason: String) -> error::MessageLine {
    declared_size(step, size, &reason).with_reason(reason)
}

/// A declaration as the end of a conflict, with the size that follows.
fn declared_size(step: StepId, size: &str, sentence: &str) -> error::MessageLine {
    error::MessageLine::at(step, format!("{size}: {sentence}")).with_short(size)
}
