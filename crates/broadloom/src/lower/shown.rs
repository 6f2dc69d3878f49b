//! Gradients for people: the assignments by which gradients go back through an operation, as loop nests.
//!
//! What is shown is what is lowered: each assignment of the operation's gradient, with the index maps of its forward
//! pass by slot, before anything is optimised.
//!
//! ```text
//! for i in 0..64
//!   for k in 0..784
//!     for b in 0..32
//!       w.grad[i, k] += h.grad[b, i] * x[b, k]
//! ```

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Inferred, Layout, Lowering, Node};
use crate::Graph;
use crate::error::Error;
use crate::routine::{Action, Routine};
use crate::session::Sizes;
use crate::step::{Step, Tensor};

impl Graph {
    /// How gradients go back through the operations that make some tensors: for each tensor, the nests of its
    /// operation's gradient, one text for each assignment. Only operands that gradients are wanted for, because they are
    /// parameters or are computed from parameters, have any. The gradients themselves begin at 0.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (w, x) = (g.param_shaped("w", "... -> 2")?, g.data("x", "8 | 3")?);
    /// let y = g.compose(w, x)?;
    /// g.name(y, "y");
    /// let shown = g.show_backward(&[y])?;
    /// // The data has no gradient: nobody asked for it.
    /// assert_eq!(shown[0], ["\
    /// for j in 0..2
    ///   for k in 0..3
    ///     for i in 0..8
    ///       w.grad[j, k] += y.grad[i, j] * x[i, k]
    /// "]);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn show_backward(&mut self, tensors: &[Tensor]) -> Result<Vec<Vec<String>>, Error> {
        for tensor in tensors {
            self.known(*tensor)?;
        }
        let (layout, names) = self.shown_layout()?;
        let steps: Vec<u32> = (0..self.steps.len() as u32).filter(|step| self.is_made_by(*step)).collect();
        let wanted = self.wants_gradient(&steps);
        tensors.iter().map(|tensor| self.backward_texts(&layout, &wanted, &names, *tensor)).collect()
    }

    /// The assignments of a routine, in order: the step of each, and its nests.
    ///
    /// ```
    /// use broadloom::{Graph, Routine};
    /// let mut g = Graph::new();
    /// let (w, x) = (g.param_shaped("w", "3")?, g.data("x", "3")?);
    /// let mut routine = Routine::new("move");
    /// routine.assign(&mut g, "w =- 0.1 * x", &[("w", w), ("x", x)])?;
    /// let shown = g.show_assignments(&routine)?;
    /// assert_eq!(shown[0].1, "for i in 0..3\n  w[i] -= 0.1 * x[i]\n");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn show_assignments(&mut self, routine: &Routine) -> Result<Vec<(usize, String)>, Error> {
        let (layout, names) = self.shown_layout()?;
        let steps = routine.actions.iter().filter_map(|action| match action {
            Action::Assign(step) => Some(*step),
            _ => None,
        });
        let empty = Routine::new("assignments");
        let shown = |step: u32| {
            let mut lowering = Lowering::new(self, &layout, &empty, false);
            lowering.forward(step)?;
            Ok((step as usize, self.nest_texts(lowering, &names).concat()))
        };
        steps.map(shown).collect()
    }

    /// A layout at sizes that are all different, so that a number tells which size it is; and the names of the sizes.
    fn shown_layout(&mut self) -> Result<(Layout, FxHashMap<u64, String>), Error> {
        let inferred = Inferred::new(self)?;
        let sizes = Sizes::new(self, &inferred)?;
        let large = sizes.large();
        Ok(match sizes.is_possible(&large) {
            true => (Layout::at(self, &inferred, &large)?, inferred.shapes.named_at(&large)),
            false => (Layout::at(self, &inferred, &sizes.now)?, FxHashMap::default()),
        })
    }

    /// Whether a step makes its results, rather than assign to what is there.
    fn is_made_by(&self, step: u32) -> bool {
        let made = |result: Tensor| self.tensors[result.index()].step == step;
        matches!(self.steps[step as usize], Step::Op { .. }) && self.step_results(step).all(made)
    }

    fn backward_texts(
        &self,
        layout: &Layout,
        wanted: &[bool],
        names: &FxHashMap<u64, String>,
        tensor: Tensor,
    ) -> Result<Vec<String>, Error> {
        let step = self.tensors[tensor.index()].step;
        if self.is_leaf(tensor) || !wanted[tensor.index()] || !self.is_made_by(step) {
            return Ok(Vec::new());
        }
        let routine = Routine::new("backward");
        let mut lowering = Lowering::new(self, layout, &routine, false);
        // As if everything had begun: where gradients begin is no part of the operation.
        let mut begun: FxHashSet<Tensor> = self.step_operands(step).iter().copied().collect();
        begun.extend(self.step_results(step));
        lowering.backward_step(step, wanted, &mut begun)?;
        Ok(self.nest_texts(lowering, names))
    }

    /// The nests of what was lowered, in the names of the program.
    fn nest_texts(&self, lowering: Lowering<'_>, names: &FxHashMap<u64, String>) -> Vec<String> {
        let Lowering { mut program, nodes, .. } = lowering;
        for (buffer, node) in program.buffers.iter_mut().zip(&nodes) {
            if let Some(name) = self.written_node(*node) {
                buffer.name = name;
            }
        }
        (0..program.nests.len())
            .map(|at| program.nest_text_with(at, &|extent| names.get(&extent.get()).cloned()))
            .collect()
    }

    /// A value or a gradient in a formula.
    pub(crate) fn written_node(&self, node: Node) -> Option<String> {
        match node {
            Node::Value(tensor) => Some(self.written_name(tensor)),
            Node::Gradient(tensor) => Some(format!("{}.grad", self.written_name(tensor))),
            Node::Own(step, slot, backward) => {
                let like = self.written_name(self.own_like(step, slot, backward));
                Some(format!("{like}.{}", self.own_name(step, slot, backward)))
            }
            Node::NotFinite(tensor) => Some(format!("{}.not_finite", self.written_name(tensor))),
            Node::Before(..) | Node::Wide(_) => None,
        }
    }

    /// A tensor in a formula: its name, or what it is computed from in parentheses.
    fn written_name(&self, tensor: Tensor) -> String {
        match self.name_of(tensor) {
            Some(name) => name.to_string(),
            None => format!("({})", self.label_of(tensor)),
        }
    }
}
