//! The results of inference for a whole graph.

use std::sync::Arc;

use broadloom_core as core;

use crate::error::Error;
use crate::graph::Graph;
use crate::shape::Shapes;
use crate::size::Extent;
use crate::{capture, final_shapes};

/// The results of inference for a graph, whatever its named sizes are.
pub struct Inferred {
    /// The shapes of all tensors.
    pub shapes: Arc<Shapes>,
    /// The captured sizes that are used as numbers: the sizes of their axes.
    pub captured: Vec<Vec<Extent>>,
}

impl Inferred {
    /// Infers all shapes.
    pub fn new(graph: &mut Graph) -> Result<Inferred, Error> {
        let shapes = final_shapes::final_shapes(graph)?;
        let captured = graph.facts.sizes.clone();
        Ok(Inferred { shapes, captured: capture::all_final_extents(graph, &captured)? })
    }

    /// The symbols that some size depends on, or some number, in their order.
    pub fn symbols(&self) -> Vec<core::Symbol> {
        let mut symbols = self.shapes.symbols();
        for extent in self.captured.iter().flatten() {
            if let Extent::Symbolic(size) = extent {
                symbols.extend(size.form().symbols());
            }
        }
        symbols.sort_unstable();
        symbols.dedup();
        symbols
    }
}
