//! Sizes that nothing determines: of parameters, of labels of specs that only a guess decided, and
//! of reshapes into a shape that is not stated.
//!
//! The solver finds *a* solution; a program means *the* one. Where closing had to take the least
//! size that fits, the program is not finished, and [`Graph::undetermined`] reports the place.
//! Three things may stay open: a part of a concatenation that the other side does without, a label
//! that is an axis of a result only (an axis of one element, which claims nothing), and tensors that no
//! operation reads.

use broadloom_core::order::Dim;
use broadloom_core::{Closed, DimShape, Policy, Unfilled};
use broadloom_spec::{self as spec, AxisKind, Kind, Spec};

use crate::error::Error;
use crate::notation::KnownSpec;
use crate::open::{Guess, Open};
use crate::step::{Leaf, Op, Rows, Step, StepId, Tensor};
use crate::view::View;
use crate::{Graph, message, names, node};

impl View<'_> {
    /// Finds the labels and shapes that only a guess decided.
    pub(crate) fn guesses(&self, closed: &Closed<'_>) -> Vec<Guess> {
        let mut found = self.unrepeated(closed);
        if !closed.has_guessed() {
            return found;
        }
        for (step, said) in (0..).map(StepId).zip(self.steps) {
            match *said {
                Step::Op { op: Op::Einsum { spec, labels, .. }, .. } => {
                    let KnownSpec { spec, discardable, .. } = self.specs.get(spec);
                    let inner = inner_labels(spec);
                    let of = |label: &spec::AxisId| self.labels[(labels + label.0) as usize].var();
                    let guessed = |label: &spec::AxisId| {
                        let what = of(label).map(DimShape::Var);
                        what.and_then(|what| closed.policy_of(what)) == Some(Policy::GuessedSize)
                    };
                    let open = inner.into_iter().filter(|label| !discardable[label.0 as usize]);
                    found.extend(open.filter(guessed).map(|label| Guess::Label(step, label)));
                }
                Step::Op { op: Op::Convert { factor, divisor }, result, operands, .. }
                    if factor == divisor =>
                {
                    let rows = self.tensors[result as usize].rows;
                    found.extend(self.is_guessed(closed, rows).then_some(Guess::Shape(step)));
                    let made = &self.tensors[self.operands[operands as usize].index()];
                    let is_leaf = matches!(self.steps[made.step.index()], Step::Leaf { .. });
                    found.extend(
                        (is_leaf && self.is_guessed(closed, made.rows)).then_some(Guess::Source(step)),
                    );
                }
                _ => {}
            }
        }
        found
    }

    /// Finds the labels that only composed axes of results have, and that nothing gives a size.
    fn unrepeated(&self, closed: &Closed<'_>) -> Vec<Guess> {
        if self.specs.all.iter().all(|known| known.repeating.is_empty()) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (step, said) in (0..).map(StepId).zip(self.steps) {
            let Step::Op { op: Op::Einsum { spec, labels, .. }, .. } = *said else { continue };
            let is_unit = |label: &&spec::AxisId| {
                let var = self.labels[(labels + label.0) as usize].var();
                var.is_some_and(|var| closed.dim(var) == Dim::Unit)
            };
            let open = self.specs.get(spec).repeating.iter().filter(is_unit);
            found.extend(open.map(|label| Guess::Label(step, *label)));
        }
        found
    }

    /// Returns true if the number of axes, or the size of one, is only a guess.
    fn is_guessed(&self, closed: &Closed<'_>, rows: Rows) -> bool {
        rows.iter().any(|row| {
            let (lead, trail) = row.flanks(self.axes);
            let written = lead.iter().chain(trail).filter_map(|axis| axis.var()).map(DimShape::Var);
            let inner = row
                .hole
                .into_iter()
                .flat_map(|hole| (0..closed.rank(hole)).map(move |at| DimShape::Front(hole, at)));
            let chosen = |hole| {
                let policy = closed.rank_policy_of(hole);
                closed.rank(hole) > 0 && matches!(policy, Some(Policy::CountedRank | Policy::SearchRank))
            };
            row.hole.is_some_and(chosen)
                || written.chain(inner).any(|axis| closed.policy_of(axis) == Some(Policy::GuessedSize))
        })
    }
}

/// The labels in windows, concatenations and composed axes of the operands of a spec, each once.
fn inner_labels(spec: &Spec) -> Vec<spec::AxisId> {
    let inner = |axis: &&spec::Axis| {
        matches!(axis.kind, AxisKind::Affine(_) | AxisKind::Concat(_) | AxisKind::Composed(_))
    };
    let axes = spec.operands.iter().flat_map(|shape| shape.axes()).filter(inner);
    let mut labels: Vec<spec::AxisId> = axes.flat_map(|axis| axis.labels()).collect();
    labels.sort_unstable();
    labels.dedup();
    labels
}

/// Everything that keeps the program from having [final shapes](Graph::final_shapes): an error for each
/// parameter that is used and lacks a size, in the order they were made, or the one contradiction.
pub(crate) fn undetermined(graph: &mut Graph) -> Vec<Error> {
    if graph.settled.is_some() {
        return Vec::new();
    }
    match graph.closed(|_, _| ()) {
        Err(error) => vec![error],
        Ok(((), open)) => explain_open(graph, &open),
    }
}

/// An error for each parameter that is used and lacks a size; if there is none, for each step with a guess.
fn explain_open(graph: &Graph, open: &Open) -> Vec<Error> {
    let params = used_with_holes(graph, &open.holes);
    match params.is_empty() {
        true => explain_guesses(graph, &open.guesses),
        false => params
            .chunk_by(|a, b| a.0 == b.0)
            .map(|own| message::explain_holes(graph, own, &params))
            .collect(),
    }
}

/// One error for all parameters that are used and lack a size; if there is none, for the first step with a guess.
pub(crate) fn explain_all_open(graph: &Graph, open: &Open) -> Option<Error> {
    let params = used_with_holes(graph, &open.holes);
    match params.is_empty() {
        true => explain_guesses(graph, &open.guesses).into_iter().next(),
        false => Some(message::explain_holes(graph, &params, &params)),
    }
}

/// The parameters that holes belong to and that are used.
fn used_with_holes(graph: &Graph, holes: &[Unfilled]) -> Vec<(Tensor, Kind)> {
    let params = with_holes(graph, holes);
    params.into_iter().filter(|(tensor, _)| graph.tensors[tensor.index()].used).collect()
}

fn explain_guesses(graph: &Graph, guesses: &[Guess]) -> Vec<Error> {
    guesses.chunk_by(|a, b| a.step() == b.step()).map(|own| message::explain_guess(graph, own)).collect()
}

/// Closes the graph and reads something that a tensor needs.
pub(crate) fn close_for<T>(
    graph: &mut Graph,
    tensor: Tensor,
    read: impl FnOnce(&Closed<'_>, &View<'_>) -> T,
) -> Result<T, Error> {
    let (value, Open { holes, mut guesses }) = graph.closed(read)?;
    if holes.is_empty() && guesses.is_empty() {
        return Ok(value);
    }
    let needed = node::needed_by(graph, &[tensor]);
    let mut missing = with_holes(graph, &holes);
    missing.retain(|(param, _)| needed[param.index()]);
    if !missing.is_empty() {
        return Err(message::explain_holes(graph, &missing, &missing));
    }
    guesses.retain(|guess| names::step_results(graph, guess.step()).any(|made| needed[made.index()]));
    explain_guesses(graph, &guesses).into_iter().next().map_or(Ok(value), Err)
}

/// The rows of parameters that nothing determines.
pub(crate) fn holes(graph: &mut Graph) -> Result<Vec<(Tensor, Kind)>, Error> {
    let (_, open) = graph.closed(|_, _| ())?;
    Ok(with_holes(graph, &open.holes))
}

/// The parameters that holes belong to, and the kind of the row.
fn with_holes(graph: &Graph, holes: &[Unfilled]) -> Vec<(Tensor, Kind)> {
    let mut found = Vec::new();
    if holes.is_empty() {
        return found;
    }
    for (tensor, data) in graph.tensors().zip(&graph.tensors) {
        let Some(Step::Leaf { leaf: Leaf::Param, .. }) = graph.steps.get(data.step.index()) else {
            continue;
        };
        for (kind, row) in Kind::ALL.into_iter().zip(data.rows) {
            let (lead, trail) = row.flanks(&graph.axes);
            let has = |hole: &Unfilled| match *hole {
                Unfilled::Row(var) | Unfilled::Axis(var, _) => row.hole == Some(var),
                Unfilled::Dim(var) => lead.iter().chain(trail).any(|axis| axis.var() == Some(var)),
            };
            if holes.iter().any(has) {
                found.push((tensor, kind));
            }
        }
    }
    found
}
