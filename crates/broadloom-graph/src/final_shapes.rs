//! The shapes of a graph: what is known so far, and final ones.

use std::sync::Arc;

use broadloom_core::Closed;

use crate::error::Error;
use crate::graph::Settled;
use crate::shape::{Shape, Shapes};
use crate::step::Tensor;
use crate::symbols::read;
use crate::view::View;
use crate::{Graph, undetermined};

/// The final shape of one tensor. Changes nothing: the graph may be extended, and the shape of
/// every tensor stays as open as it was.
pub(crate) fn final_shape(graph: &mut Graph, tensor: Tensor) -> Result<Shape, Error> {
    graph.begin(&[tensor])?;
    if let Some(settled) = &graph.settled {
        return Ok(settled.shapes.get(tensor));
    }
    let rows = graph.rows(tensor);
    undetermined::close_for(graph, tensor, |closed, view| Shape {
        rows: rows.map(|row| {
            let mut found = Vec::new();
            closed.each_axis(row.term(view.axes), |dim| found.push(view.axis(closed, dim)));
            found
        }),
    })
}

/// The final shapes of all tensors. Changes nothing.
pub(crate) fn final_shapes(graph: &mut Graph) -> Result<Arc<Shapes>, Error> {
    if let Some(settled) = &graph.settled {
        return Ok(Arc::clone(&settled.shapes));
    }
    let read = |closed: &Closed<'_>, view: &View<'_>| {
        let same_sizes = read::same_sizes_in(closed, view.symbols);
        let numbers = read::numbers_in(closed, view.symbols);
        (Shapes::read(closed, view), closed.checks(), same_sizes, numbers)
    };
    let ((mut shapes, checks, same_sizes, numbers), open) = graph.closed(read)?;
    if let Some(error) = undetermined::explain_all_open(graph, &open) {
        return Err(error);
    }
    shapes.bases.clone_from(&graph.bases);
    let shapes = Arc::new(shapes);
    graph.settled = Some(Settled {
        shapes: Arc::clone(&shapes),
        checks: checks.into(),
        same_sizes: same_sizes.into(),
        numbers: numbers.into(),
    });
    Ok(shapes)
}
