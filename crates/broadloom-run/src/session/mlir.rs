//! Routines as MLIR.

use broadloom_graph::{Error, StepId};

use super::Session;
use crate::lower::module;
use crate::routine::Routine;

impl Session {
    /// Routines as one module of MLIR, with a function for each: tensors that they read first are
    /// arguments, tensors that they keep are results, and every nest is one `linalg.generic`, as it
    /// is before optimisation. The sizes are the current ones.
    ///
    /// ```
    /// use broadloom::{Graph, Routine, Session};
    /// let mut g = Graph::new();
    /// let (w, x) = (g.param_shaped("w", "... -> 2")?, g.data("x", "8 | 3")?);
    /// let y = g.compose(w, x)?;
    /// g.name(y, "y");
    /// let mut forward = Routine::new("forward");
    /// forward.forward(y);
    /// let text = Session::new(g)?.mlir(&[forward])?;
    /// assert!(text.contains("%w: tensor<2x3xf32>, // a parameter, 3 -> 2"));
    /// assert!(text.contains("tensor<8x2xf32> // y, 8 | 2"));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn mlir(&mut self, routines: &[Routine]) -> Result<String, Error> {
        self.mlir_with_places(routines, &|_| None)
    }

    /// Like [`mlir`](Session::mlir), with the place of each [step](broadloom_graph::Graph::steps)
    /// in comments above its nests.
    pub fn mlir_with_places(
        &mut self,
        routines: &[Routine],
        place: &dyn Fn(StepId) -> Option<String>,
    ) -> Result<String, Error> {
        self.refresh()?;
        if let Some(name) = self.sizes.undecided() {
            return Err(self.no_number(name));
        }
        let mut lowered = Vec::new();
        for routine in routines {
            lowered.push((routine.name(), self.lowered_for(&self.layout, routine, true)?));
        }
        module(&self.graph, &self.layout, &lowered, place)
    }
}
