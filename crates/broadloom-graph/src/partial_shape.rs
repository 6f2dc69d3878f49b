//! The shapes of tensors, as far as the program so far determines them.

use broadloom_core::order::Dim;
use broadloom_core::{DimShape, DimTerm, Middle};
use broadloom_spec::Kind;

use crate::Graph;
use crate::shape::{Axis, PartialAxis, PartialRow, PartialShape, axis, basis_name};
use crate::step::{RowRef, Tensor, place};
use crate::symbols::read;

/// The part of a tensor's shape that is known so far; all rows are open for a tensor of another
/// graph. Changes nothing.
pub(crate) fn shape(graph: &Graph, tensor: Tensor) -> PartialShape {
    if tensor.index() >= graph.tensors.len() {
        let unknown = || PartialRow { lead: Vec::new(), open: true, trail: Vec::new() };
        return PartialShape { rows: [unknown(), unknown(), unknown()] };
    }
    PartialShape { rows: graph.rows(tensor).map(|row| partial_row(graph, row)) }
}

/// Returns true if a row of a tensor is known to have no axes.
pub(crate) fn has_no_axes(graph: &Graph, tensor: Tensor, kind: Kind) -> bool {
    let Some(data) = graph.tensors.get(tensor.index()) else { return false };
    let row = partial_row(graph, data.rows[place(kind)]);
    !row.open && row.lead.is_empty() && row.trail.is_empty()
}

pub(crate) fn partial_row(graph: &Graph, row: RowRef) -> PartialRow {
    let (before, after) = row.flanks(&graph.axes);
    let known = |axis: &DimTerm| partial_axis(graph, *axis);
    let mut lead: Vec<PartialAxis> = before.iter().map(known).collect();
    let mut trail: Vec<PartialAxis> = after.iter().map(known).collect();
    let Some(var) = row.hole else {
        lead.append(&mut trail);
        return PartialRow { lead, open: false, trail };
    };
    let middle = graph.solver.observe_row(var);
    let open = !matches!(middle.middle, Middle::Closed | Middle::Marker);
    let ground = |shape: &DimShape| match shape {
        DimShape::Ground(dim) => PartialAxis::Known(axis_of(graph, *dim)),
        DimShape::Var(var) => partial_axis(graph, (*var).into()),
        _ => PartialAxis::Unknown,
    };
    lead.extend(middle.lead.iter().map(ground));
    let mut rest: Vec<PartialAxis> = middle.trail.iter().map(ground).collect();
    rest.append(&mut trail);
    if open {
        PartialRow { lead, open, trail: rest }
    } else {
        lead.append(&mut rest);
        PartialRow { lead, open, trail: rest }
    }
}

pub(crate) fn partial_axis(graph: &Graph, term: DimTerm) -> PartialAxis {
    let ground = match term.var() {
        Some(var) => graph.solver.observe_dim(var),
        None => graph.solver.ground(term),
    };
    if let Some(dim) = ground {
        return PartialAxis::Known(axis_of(graph, dim));
    }
    if let Some(form) = graph.solver.observe_form(term) {
        return PartialAxis::Known(Axis::Symbolic(read::expression_of(graph, &form), None));
    }
    match term.var().map(|var| graph.solver.observe_size(var)) {
        Some((size, Some(most))) if size == most => PartialAxis::Sized(size),
        _ => PartialAxis::Unknown,
    }
}

/// A dimension as an axis.
pub(crate) fn axis_of(graph: &Graph, dim: Dim) -> Axis {
    match dim {
        Dim::Symbolic(symbolic) => Axis::Symbolic(
            read::expression_of(graph, graph.solver.form(symbolic.form)),
            basis_name(symbolic.basis, &graph.bases),
        ),
        dim => axis(dim, &graph.bases),
    }
}
