//! Routines as MLIR.

use broadloom_graph::Error;

use super::Session;
use crate::lower::module;
use crate::routine::Routine;

impl Session {
    /// Routines as one module of MLIR, a function each: what they read first are arguments, what they keep are results,
    /// and every nest is one `linalg.generic`, as it is before optimisation. Sizes are those of now.
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

    /// The same, with the place where each [step](broadloom_graph::Graph::steps) is written before what its nests do.
    pub fn mlir_with_places(
        &mut self,
        routines: &[Routine],
        place: &dyn Fn(usize) -> Option<String>,
    ) -> Result<String, Error> {
        self.refresh()?;
        if let Some(name) = self.sizes.undecided() {
            return Err(self.no_number(name));
        }
        let mut lowered = Vec::new();
        for routine in routines {
            lowered.push((routine.name(), self.lowered(&self.layout, routine)?));
        }
        module(&self.graph, &self.layout, &lowered, place)
    }
}
