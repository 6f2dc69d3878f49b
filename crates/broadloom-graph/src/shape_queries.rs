//! The shapes of a graph: what is known so far, and final ones.

use std::sync::Arc;

use broadloom_core::order::Dim;
use broadloom_core::{Closed, DimShape, DimTerm, Middle};
use broadloom_spec::Kind;

use crate::Graph;
use crate::error::Error;
use crate::graph::Settled;
use crate::shape::{Axis, PartialAxis, PartialRow, PartialShape, Shape, Shapes, axis, basis_name};
use crate::step::{RowRef, Tensor, place};
use crate::view::View;

impl Graph {
    /// The part of a tensor's shape that is known so far; all rows are open for a tensor of another
    /// graph. Changes nothing.
    pub fn shape(&self, tensor: Tensor) -> PartialShape {
        if tensor.index() >= self.tensors.len() {
            let unknown = || PartialRow { lead: Vec::new(), open: true, trail: Vec::new() };
            return PartialShape { rows: [unknown(), unknown(), unknown()] };
        }
        PartialShape { rows: self.rows(tensor).map(|row| self.partial_row(row)) }
    }

    /// Returns true if a row of a tensor is known to have no axes.
    pub fn has_no_axes(&self, tensor: Tensor, kind: Kind) -> bool {
        let Some(data) = self.tensors.get(tensor.index()) else { return false };
        let row = self.partial_row(data.rows[place(kind)]);
        !row.open && row.lead.is_empty() && row.trail.is_empty()
    }

    pub(crate) fn partial_row(&self, row: RowRef) -> PartialRow {
        let (before, after) = row.flanks(&self.axes);
        let known = |axis: &DimTerm| self.partial_axis(*axis);
        let mut lead: Vec<PartialAxis> = before.iter().map(known).collect();
        let mut trail: Vec<PartialAxis> = after.iter().map(known).collect();
        let Some(var) = row.hole else {
            lead.append(&mut trail);
            return PartialRow { lead, open: false, trail };
        };
        let middle = self.solver.observe_row(var);
        let open = !matches!(middle.middle, Middle::Closed | Middle::Marker);
        let ground = |shape: &DimShape| match shape {
            DimShape::Ground(dim) => PartialAxis::Known(self.axis_of(*dim)),
            DimShape::Var(var) => self.partial_axis((*var).into()),
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

    fn partial_axis(&self, term: DimTerm) -> PartialAxis {
        let ground = match term.var() {
            Some(var) => self.solver.observe_dim(var),
            None => self.solver.ground(term),
        };
        if let Some(dim) = ground {
            return PartialAxis::Known(self.axis_of(dim));
        }
        if let Some(form) = self.solver.observe_form(term) {
            return PartialAxis::Known(Axis::Symbolic(self.expression_of(&form), None));
        }
        match term.var().map(|var| self.solver.observe_size(var)) {
            Some((size, Some(most))) if size == most => PartialAxis::Sized(size),
            _ => PartialAxis::Unknown,
        }
    }

    /// The final shape of one tensor. Changes nothing: the graph may be extended, and the shape of
    /// every tensor stays as open as it was.
    ///
    /// Sizes that nothing decides are an error if this tensor needs them.
    pub fn final_shape(&mut self, tensor: Tensor) -> Result<Shape, Error> {
        self.begin(&[tensor])?;
        if let Some(settled) = &self.settled {
            return Ok(settled.shapes.get(tensor));
        }
        let rows = self.rows(tensor);
        self.close_for(tensor, |closed, view| Shape {
            rows: rows.map(|row| {
                let mut found = Vec::new();
                closed.each_axis(row.term(view.axes), |dim| found.push(view.axis(closed, dim)));
                found
            }),
        })
    }

    /// A dimension as an axis.
    pub(crate) fn axis_of(&self, dim: Dim) -> Axis {
        match dim {
            Dim::Symbolic(symbolic) => Axis::Symbolic(
                self.expression_of(self.solver.form(symbolic.form)),
                basis_name(symbolic.basis, &self.bases),
            ),
            dim => axis(dim, &self.bases),
        }
    }

    /// The final shapes of all tensors. Changes nothing.
    ///
    /// Sizes of parameters that nothing decides are an error, unless the parameter is not used.
    pub fn final_shapes(&mut self) -> Result<Arc<Shapes>, Error> {
        if let Some(settled) = &self.settled {
            return Ok(Arc::clone(&settled.shapes));
        }
        let read = |closed: &Closed<'_>, view: &View<'_>| {
            let same_sizes = crate::symbols::same_sizes(closed, view.symbols);
            (Shapes::read(closed, view), closed.checks(), same_sizes)
        };
        let ((mut shapes, checks, same_sizes), open) = self.closed(read)?;
        if let Some(error) = self.explain_all_open(&open) {
            return Err(error);
        }
        shapes.bases.clone_from(&self.bases);
        let shapes = Arc::new(shapes);
        let settled =
            Settled { shapes: Arc::clone(&shapes), checks: checks.into(), same_sizes: same_sizes.into() };
        self.settled = Some(settled);
        Ok(shapes)
    }
}
