//! The operations between the two ends of a conflict, from one end to the other.
//!
//! A link is one constraint in words. Links are neighbours where they share a variable, so a walk
//! over neighbours from the first end leads to the second; consecutive links of one operation share
//! a line.

use broadloom_core::{ConstraintId, DimVar, RowVar};
use broadloom_spec::{self as spec, Kind};
use rustc_hash::FxHashMap;

use super::{Case, transposed};
use crate::Graph;
use crate::error;
use crate::spec_axis::Rule;
use crate::step::{Aspect, Captured, Op, Origin, RowRef, Step, Tensor};

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
    Axis(u32, u16),
}

impl Graph {
    /// The lines of a chain from one end to the other; none if it would only repeat the message.
    pub(super) fn chain(
        &self,
        case: Case<'_>,
        sources: [Option<ConstraintId>; 2],
    ) -> Vec<error::MessageLine> {
        let mut order = self.in_order(&case.core.constraints, sources);
        // Leaves are ends, and the message begins with the refused step.
        order.retain(|id| match self.steps.get(self.origin(*id).step as usize) {
            Some(Step::Leaf { .. } | Step::Dim(..)) => false,
            Some(Step::Op { .. }) => true,
            _ => self.origin(*id).step != case.refused,
        });
        // A size that was set is an end, too.
        let shown = |id: &ConstraintId| {
            let step = self.origin(*id).step;
            let is_set = matches!(self.steps.get(step as usize), Some(Step::Set(..)));
            step == case.refused || (is_set && sources.contains(&Some(*id)))
        };
        let passes =
            |id: &ConstraintId| self.rows_read(*id).iter().any(|row| self.passed_from(*row).is_some());
        if order.iter().all(shown) && !order.iter().any(passes) {
            return Vec::new();
        }
        let by_step = order.chunk_by(|a, b| self.origin(*a).step == self.origin(*b).step);
        let mut lines: Vec<error::MessageLine> = Vec::new();
        let mut met = false;
        for links in by_step {
            let here = links.iter().any(|id| self.origin(*id).step == case.refused);
            let (mut before, mut after) = self.passed_on_to(links, sources[0]);
            if met && !here {
                // Where the ends meet, the chain goes back to the second one.
                after.splice(0..0, before.drain(..).rev());
            }
            met |= here;
            for line in before.into_iter().chain([self.line(case, links)]).chain(after) {
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
        &self,
        links: &[ConstraintId],
        first: Option<ConstraintId>,
    ) -> (Vec<error::MessageLine>, Vec<error::MessageLine>) {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let at = links.iter().position(|id| Some(*id) == first).unwrap_or(0);
        for (place, id) in links.iter().enumerate() {
            for (row, read) in self.rows_read(*id).into_iter().enumerate() {
                let (_, passed) = self.walk_back(read);
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
    fn line(&self, case: Case<'_>, links: &[ConstraintId]) -> error::MessageLine {
        let mut said: Vec<String> = Vec::new();
        for id in links {
            let text = self.said(*id);
            if !said.contains(&text) {
                said.push(text);
            }
        }
        let text = said.join("; ");
        let step = links.first().map_or(0, |id| self.origin(*id).step);
        let line = match self.steps.get(step as usize) {
            Some(Step::Op { .. }) if step == case.refused => format!("here: {text}"),
            Some(Step::Op { .. }) => format!("{}: {text}", self.called(step)),
            _ => text.clone(),
        };
        error::MessageLine::at(step, line).with_short(text)
    }

    /// The text of a constraint, without its operation.
    pub(super) fn said(&self, id: ConstraintId) -> String {
        let Origin { step, slot, part } = self.origin(id);
        let tensor =
            |slot: usize| self.slot_tensor(step, slot).map_or("?".into(), |tensor| self.told_as(tensor));
        let own = tensor(usize::from(slot));
        match (self.steps.get(step as usize), part) {
            (Some(Step::Op { op: Op::Transpose, .. }), Aspect::Row(kind)) => {
                format!("the {} of `{own}` becomes its {}", transposed(kind).name(), kind.name())
            }
            (Some(Step::Op { op: Op::Einsum { .. }, .. }), Aspect::Row(kind)) => {
                match self.spec_row_text(step, usize::from(slot), kind) {
                    Some(row) => format!("the {} of `{own}` is `{row}`", kind.name()),
                    None => format!("`{own}` has no {} axes", kind.name()),
                }
            }
            (Some(Step::Op { op: Op::Einsum { .. }, .. }), Aspect::Axis(at)) => self.axis_said(step, at),
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
            (Some(Step::Leaf { tensor, .. }), _) => self.declared_text(Tensor(*tensor)),
            _ => self.subject(step),
        }
    }

    /// A row of the spec of a step as it is written; `None` if it has no axes.
    pub(super) fn spec_row_text(&self, step: u32, slot: usize, kind: Kind) -> Option<String> {
        let (known, _) = self.spec_of_step(step)?;
        let row = known.spec.shapes().nth(slot)?.row(kind)?;
        Some(known.written(row, row.span)).filter(|text| !text.is_empty())
    }

    /// The relation of sizes that an axis of a spec requires.
    fn axis_said(&self, step: u32, at: u16) -> String {
        match self.sized_axis(step, at) {
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
    fn in_order(&self, ids: &[ConstraintId], sources: [Option<ConstraintId>; 2]) -> Vec<ConstraintId> {
        let joints: Vec<Vec<Joint>> = ids.iter().map(|id| self.joints(*id)).collect();
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
                    let same = self.origin(ids[*other]).step == self.origin(ids[link]).step;
                    (same, std::cmp::Reverse(*other))
                });
                stack.extend(next);
            }
        }
        order.into_iter().chain(last).map(|link| ids[link]).collect()
    }

    /// The rows, dimensions and axes that a constraint is about.
    fn joints(&self, id: ConstraintId) -> Vec<Joint> {
        let Origin { step, slot, part } = self.origin(id);
        let mut found = Vec::new();
        for (tensor, kind) in self.rows_read(id) {
            self.row_joints(self.rows(tensor)[kind as usize], &mut found);
        }
        match (self.steps.get(step as usize), part) {
            (Some(Step::Op { op: Op::Einsum { .. }, .. }), Aspect::Row(kind)) => self.spec_joints(
                step,
                |at_slot, at_kind, _| (at_slot, at_kind) == (usize::from(slot), kind),
                &mut found,
            ),
            (Some(Step::Op { op: Op::Einsum { .. }, .. }), Aspect::Axis(at)) => {
                self.spec_joints(step, |_, _, place| place == at, &mut found);
                if let Some(result) = self
                    .slot_tensor(step, usize::from(slot))
                    .filter(|_| usize::from(slot) >= self.step_operands(step).len())
                {
                    self.rows(result).into_iter().for_each(|row| self.row_joints(row, &mut found));
                }
            }
            (Some(Step::Op { .. }), Aspect::Row(kind) | Aspect::Made(kind)) => {
                let results = self.step_results(step).collect::<Vec<_>>();
                results
                    .iter()
                    .for_each(|result| self.row_joints(self.rows(*result)[kind as usize], &mut found));
            }
            (Some(Step::Op { .. } | Step::Leaf { .. }), Aspect::Whole) => {
                let tensors = self.step_results(step).collect::<Vec<_>>();
                let rows = tensors.iter().flat_map(|tensor| self.rows(*tensor));
                rows.for_each(|row| self.row_joints(row, &mut found));
            }
            (Some(Step::Set(captured, _) | Step::Sum(captured)), _) => {
                self.captured_joints(*captured, &mut found)
            }
            (Some(Step::Equal(a, b) | Step::Scale(a, _, b)), _) => {
                [a, b].into_iter().for_each(|captured| self.captured_joints(*captured, &mut found));
            }
            _ => {}
        }
        found
    }

    fn row_joints(&self, row: RowRef, found: &mut Vec<Joint>) {
        let (lead, trail) = row.flanks(&self.axes);
        found.extend(row.hole.map(Joint::Row));
        found.extend(lead.iter().chain(trail).filter_map(|axis| axis.var()).map(Joint::Dim));
    }

    /// The axes of a spec that are asked for, by slot, kind and number, and their labels and rows.
    fn spec_joints(&self, step: u32, wanted: impl Fn(usize, Kind, u16) -> bool, found: &mut Vec<Joint>) {
        let Some((known, labels)) = self.spec_of_step(step) else { return };
        let mut place = 0;
        for (slot, shape) in known.spec.shapes().enumerate() {
            for (kind, row) in shape.rows() {
                for axis in row.axes() {
                    if wanted(slot, kind, place) {
                        found.push(Joint::Axis(step, place));
                        let terms =
                            axis.labels().filter_map(|label| self.labels.get((labels + label.0) as usize));
                        found.extend(terms.filter_map(|term| term.var()).map(Joint::Dim));
                    }
                    place += 1;
                }
                let hole = row.hole().filter(|_| wanted(slot, kind, u16::MAX));
                if let Some(row) = hole.and_then(|hole| self.hole_row(step, hole, kind)) {
                    self.row_joints(row, found);
                }
            }
        }
    }

    /// The row that a hole of the spec of a step stands for.
    pub(super) fn hole_row(&self, step: u32, hole: spec::Hole, kind: Kind) -> Option<RowRef> {
        let Some(Op::Einsum { rows, .. }) = self.op(step) else { return None };
        self.spec_rows.get(rows as usize + crate::elaborate::hole_index(hole, kind)).copied()
    }

    fn captured_joints(&self, captured: Captured, found: &mut Vec<Joint>) {
        match self.captured_place(captured) {
            Some(Ok(dim)) => found.extend(dim.var().map(Joint::Dim)),
            Some(Err(row)) => self.row_joints(row, found),
            None => {}
        }
    }
}
