//! The operations between the two ends of a conflict, from one end to the other.
//!
//! A link is one constraint in words. Links are neighbours where they share a variable, so a walk
//! over neighbours from the first end leads to the second; consecutive links of one operation share
//! a line.

use broadloom_core::{ConstraintId, DimVar, RowVar};
use broadloom_spec::{self as spec, Kind};
use rustc_hash::FxHashMap;

use super::{Case, transposed, walk};
use crate::spec_axis::Rule;
use crate::step::{Aspect, Captured, Op, Origin, RowRef, Step, StepId, Tensor};
use crate::{Graph, captured, error, names, spec_axis};

/// The greatest number of lines of a chain that are shown, and the number before the gap in a
/// longer one.
const MOST_LINES: usize = 12;
const BEFORE_GAP: usize = 5;

/// A variable or an axis that two links can have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Joint {
    Row(RowVar),
    Dim(DimVar),
    /// An axis of the spec of a step.
    Axis(StepId, u16),
}

/// The lines of a chain from one end to the other; none if it would only repeat the message.
pub(super) fn chain(
    graph: &Graph,
    case: Case<'_>,
    sources: [Option<ConstraintId>; 2],
) -> Vec<error::MessageLine> {
    let mut order = in_order(graph, &case.core.constraints, sources);
    // Leaves are ends, and the message begins with the refused step.
    order.retain(|id| match graph.steps.get(super::origin(graph, *id).step.index()) {
        Some(Step::Leaf { .. } | Step::Dim(..)) => false,
        Some(Step::Op { .. }) => true,
        _ => super::origin(graph, *id).step != case.refused,
    });
    // A size that was set is an end, too.
    let shown = |id: &ConstraintId| {
        let step = super::origin(graph, *id).step;
        let is_set = matches!(graph.steps.get(step.index()), Some(Step::Set(..)));
        step == case.refused || (is_set && sources.contains(&Some(*id)))
    };
    let passes = |id: &ConstraintId| {
        super::rows_read(graph, *id).iter().any(|row| walk::passed_from(graph, *row).is_some())
    };
    if order.iter().all(shown) && !order.iter().any(passes) {
        return Vec::new();
    }
    let by_step = order.chunk_by(|a, b| super::origin(graph, *a).step == super::origin(graph, *b).step);
    let mut lines: Vec<error::MessageLine> = Vec::new();
    let mut met = false;
    for links in by_step {
        let here = links.iter().any(|id| super::origin(graph, *id).step == case.refused);
        let (mut before, mut after) = passed_on_to(graph, links, sources[0]);
        if met && !here {
            // Where the ends meet, the chain goes back to the second one.
            after.splice(0..0, before.drain(..).rev());
        }
        met |= here;
        for line in before.into_iter().chain([line(graph, case, links)]).chain(after) {
            if lines.iter().all(|known| known.text != line.text) {
                lines.push(line);
            }
        }
    }
    if lines.len() > MOST_LINES {
        let gap = BEFORE_GAP..lines.len() - (MOST_LINES - 1 - BEFORE_GAP);
        let more = format!("… {} more between …", gap.len());
        lines.splice(gap, [more.into()]);
    }
    lines
}

/// The steps that pass rows on unchanged to those that some links read: the way from the first
/// end of the conflict, in order, and the way from the other, back to it.
fn passed_on_to(
    graph: &Graph,
    links: &[ConstraintId],
    first: Option<ConstraintId>,
) -> (Vec<error::MessageLine>, Vec<error::MessageLine>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let at = links.iter().position(|id| Some(*id) == first).unwrap_or(0);
    for (place, id) in links.iter().enumerate() {
        for (row, read) in super::rows_read(graph, *id).into_iter().enumerate() {
            let (_, passed) = walk::walk_back(graph, read);
            if place == at && row == 0 {
                before.extend(passed.into_iter().rev());
            } else {
                after.extend(passed);
            }
        }
    }
    (before, after)
}

/// The links of one operation as one line.
fn line(graph: &Graph, case: Case<'_>, links: &[ConstraintId]) -> error::MessageLine {
    let mut said: Vec<String> = Vec::new();
    for id in links {
        let text = claim_text(graph, *id);
        if !said.contains(&text) {
            said.push(text);
        }
    }
    let text = said.join("; ");
    let step = links.first().map_or(StepId(0), |id| super::origin(graph, *id).step);
    let line = match graph.steps.get(step.index()) {
        Some(Step::Op { .. }) if step == case.refused => format!("here: {text}"),
        Some(Step::Op { .. }) => format!("{}: {text}", names::called(graph, step)),
        _ => text.clone(),
    };
    error::MessageLine::at(step, line).with_short(text)
}

/// The text of a constraint, without its operation.
pub(crate) fn claim_text(graph: &Graph, id: ConstraintId) -> String {
    let Origin { step, slot, part } = super::origin(graph, id);
    let tensor = |slot: usize| {
        spec_axis::slot_tensor(graph, step, slot)
            .map_or("?".into(), |tensor| names::message_name(graph, tensor))
    };
    let own = tensor(usize::from(slot));
    match (graph.steps.get(step.index()), part) {
        (Some(Step::Op { op: Op::Transpose, .. }), Aspect::Row(kind)) => {
            format!("the {} of `{own}` becomes its {}", transposed(kind).name(), kind.name())
        }
        (Some(Step::Op { op: Op::Einsum { .. }, .. }), Aspect::Row(kind)) => {
            match spec_row_text(graph, step, usize::from(slot), kind) {
                Some(row) => format!("the {} of `{own}` is `{row}`", kind.name()),
                None => format!("`{own}` has no {} axes", kind.name()),
            }
        }
        (Some(Step::Op { op: Op::Einsum { .. }, .. }), Aspect::Axis(at)) => axis_said(graph, step, at),
        (Some(Step::Op { op: Op::Slice(_), .. }), Aspect::Row(_)) => {
            format!("takes the first batch axis of `{own}`")
        }
        (Some(Step::Op { op: Op::Slice(_), .. }), _) => "its index has to fit".into(),
        (Some(Step::Op { op: Op::Convert { .. }, .. }), Aspect::Row(_)) => {
            format!("`{own}` has a single axis")
        }
        (Some(Step::Op { op: Op::Convert { factor, divisor }, .. }), _) => {
            let times = if *divisor == 1 { factor.to_string() } else { format!("{factor}/{divisor}") };
            format!("has {times} times the elements of `{own}`")
        }
        (Some(Step::Op { .. }), Aspect::Contract) => {
            format!("contracts the input of `{}` with the output of `{}`", tensor(0), tensor(1))
        }
        (Some(Step::Op { .. }), Aspect::Row(kind)) => {
            format!("the {} of `{own}` goes into its {}", kind.name(), kind.name())
        }
        (Some(Step::Op { .. }), Aspect::Made(kind)) => {
            format!("its {} has what its operands have, and nothing else", kind.name())
        }
        (Some(Step::Leaf { tensor, .. }), _) => super::declared_text(graph, Tensor(*tensor)),
        _ => names::subject(graph, step),
    }
}

/// A row of the spec of a step as it is written; `None` if it has no axes.
pub(crate) fn spec_row_text(graph: &Graph, step: StepId, slot: usize, kind: Kind) -> Option<String> {
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    let row = known.spec.shapes().nth(slot)?.row(kind)?;
    Some(known.written(row, row.span)).filter(|text| !text.is_empty())
}

/// The relation of sizes that an axis of a spec requires.
fn axis_said(graph: &Graph, step: StepId, at: u16) -> String {
    match spec_axis::sized_axis(graph, step, at) {
        Some(axis) => match (axis.rule, axis.whole) {
            (Rule::Index(index), _) => format!("axis `{}` is read at index {index}", axis.text),
            (_, Some(whole)) if axis.total() == Some(whole) => {
                format!("axis `{}` is {whole} with {}", axis.text, axis.known_parts())
            }
            _ => format!("axis `{}` has the size {}", axis.text, axis.formula()),
        },
        None => "the sizes of its spec".into(),
    }
}

/// The links in an order in which, where possible, each has something in common with the one before.
fn in_order(graph: &Graph, ids: &[ConstraintId], sources: [Option<ConstraintId>; 2]) -> Vec<ConstraintId> {
    let joints: Vec<Vec<Joint>> = ids.iter().map(|id| joints(graph, *id)).collect();
    let mut at_joint: FxHashMap<Joint, Vec<usize>> = FxHashMap::default();
    for (link, joints) in joints.iter().enumerate() {
        joints.iter().for_each(|joint| at_joint.entry(*joint).or_default().push(link));
    }
    let place = |source: Option<ConstraintId>| ids.iter().position(|id| Some(*id) == source);
    let last = place(sources[1]).filter(|last| Some(*last) != place(sources[0]));
    let mut seen = vec![false; ids.len()];
    let mut order = Vec::with_capacity(ids.len());
    for start in place(sources[0]).into_iter().chain(0..ids.len()) {
        let mut stack = vec![start];
        while let Some(link) = stack.pop() {
            if Some(link) == last || std::mem::replace(&mut seen[link], true) {
                continue;
            }
            order.push(link);
            let mut next: Vec<usize> =
                joints[link].iter().filter_map(|joint| at_joint.get(joint)).flatten().copied().collect();
            // Links of the same operation come next; then the older.
            next.sort_by_key(|other| {
                let same = super::origin(graph, ids[*other]).step == super::origin(graph, ids[link]).step;
                (same, std::cmp::Reverse(*other))
            });
            stack.extend(next);
        }
    }
    order.into_iter().chain(last).map(|link| ids[link]).collect()
}

/// The rows, dimensions and axes that a constraint is about.
fn joints(graph: &Graph, id: ConstraintId) -> Vec<Joint> {
    let Origin { step, slot, part } = super::origin(graph, id);
    let mut found = Vec::new();
    for (tensor, kind) in super::rows_read(graph, id) {
        row_joints(graph, graph.rows(tensor)[kind as usize], &mut found);
    }
    match (graph.steps.get(step.index()), part) {
        (Some(Step::Op { op: Op::Einsum { .. }, .. }), Aspect::Row(kind)) => spec_joints(
            graph,
            step,
            |at_slot, at_kind, _| (at_slot, at_kind) == (usize::from(slot), kind),
            &mut found,
        ),
        (Some(Step::Op { op: Op::Einsum { .. }, .. }), Aspect::Axis(at)) => {
            spec_joints(graph, step, |_, _, place| place == at, &mut found);
            if let Some(result) = spec_axis::slot_tensor(graph, step, usize::from(slot))
                .filter(|_| usize::from(slot) >= names::step_operands(graph, step).len())
            {
                graph.rows(result).into_iter().for_each(|row| row_joints(graph, row, &mut found));
            }
        }
        (Some(Step::Op { .. }), Aspect::Row(kind) | Aspect::Made(kind)) => {
            let results = names::step_results(graph, step).collect::<Vec<_>>();
            results
                .iter()
                .for_each(|result| row_joints(graph, graph.rows(*result)[kind as usize], &mut found));
        }
        (Some(Step::Op { .. } | Step::Leaf { .. }), Aspect::Whole) => {
            let tensors = names::step_results(graph, step).collect::<Vec<_>>();
            let rows = tensors.iter().flat_map(|tensor| graph.rows(*tensor));
            rows.for_each(|row| row_joints(graph, row, &mut found));
        }
        (Some(Step::Set(captured, _) | Step::Sum(captured)), _) => {
            captured_joints(graph, *captured, &mut found)
        }
        (Some(Step::Equal(a, b) | Step::Scale(a, _, b)), _) => {
            [a, b].into_iter().for_each(|captured| captured_joints(graph, *captured, &mut found));
        }
        _ => {}
    }
    found
}

fn row_joints(graph: &Graph, row: RowRef, found: &mut Vec<Joint>) {
    let (lead, trail) = row.flanks(&graph.axes);
    found.extend(row.hole.map(Joint::Row));
    found.extend(lead.iter().chain(trail).filter_map(|axis| axis.var()).map(Joint::Dim));
}

/// The axes of a spec that are asked for, by slot, kind and number, and their labels and rows.
fn spec_joints(
    graph: &Graph,
    step: StepId,
    wanted: impl Fn(usize, Kind, u16) -> bool,
    found: &mut Vec<Joint>,
) {
    let Some((known, labels)) = spec_axis::spec_of_step(graph, step) else { return };
    let mut place = 0;
    for (slot, shape) in known.spec.shapes().enumerate() {
        for (kind, row) in shape.rows() {
            for axis in row.axes() {
                if wanted(slot, kind, place) {
                    found.push(Joint::Axis(step, place));
                    let terms =
                        axis.labels().filter_map(|label| graph.labels.get((labels + label.0) as usize));
                    found.extend(terms.filter_map(|term| term.var()).map(Joint::Dim));
                }
                place += 1;
            }
            let hole = row.hole().filter(|_| wanted(slot, kind, u16::MAX));
            if let Some(row) = hole.and_then(|hole| hole_row(graph, step, hole, kind)) {
                row_joints(graph, row, found);
            }
        }
    }
}

/// The row that a hole of the spec of a step stands for.
pub(crate) fn hole_row(graph: &Graph, step: StepId, hole: spec::Hole, kind: Kind) -> Option<RowRef> {
    let Some(Op::Einsum { rows, .. }) = super::op(graph, step) else { return None };
    graph.spec_rows.get(rows as usize + crate::spec_window::row_index(hole.variable, kind)).copied()
}

fn captured_joints(graph: &Graph, captured: Captured, found: &mut Vec<Joint>) {
    match captured::captured_place(graph, captured) {
        Some(Ok(dim)) => found.extend(dim.var().map(Joint::Dim)),
        Some(Err(row)) => row_joints(graph, row, found),
        None => {}
    }
}
