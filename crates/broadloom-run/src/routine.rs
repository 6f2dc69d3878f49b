//! Routines: lists of computations, in order.

use broadloom_graph::lowering::Face;
use broadloom_graph::{Assigned, Assignments, Error, Graph, Logic, StepId, Tensor};

/// A list of computations, in order; a [`Session`](crate::Session) compiles and runs it.
///
/// ```
/// use broadloom::{Graph, Routine};
/// let mut g = Graph::new();
/// let (w, x) = (g.param_shaped("w", "... -> 2")?, g.data("x", "8 | 3")?);
/// let y = g.compose(w, x)?;
/// let y = g.square(y)?;
/// let loss = g.einsum("... | ... => 0", &[y])?;
///
/// let mut train = Routine::new("train");
/// train.backward(&mut g, loss)?;
/// let gradient = g.gradient(w)?;
/// train.assign(&mut g, "w =- 0.1 * gradient", &[("w", w), ("gradient", gradient)])?;
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Routine {
    pub(crate) name: Box<str>,
    pub(crate) actions: Vec<Action>,
    /// Tensors whose values stay available when it has run.
    pub(crate) kept: Vec<Tensor>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    /// The value of a tensor.
    Forward(Tensor),
    /// The gradients of a tensor, a single number, with respect to the tensors it is computed from.
    Backward(Tensor),
    /// A step that assigns to an existing tensor.
    Assign(StepId),
    /// Ends the run if an element of a tensor is infinite or NaN.
    Finite(Tensor),
}

impl Routine {
    /// A routine that does nothing yet.
    pub fn new(name: &str) -> Routine {
        Routine { name: name.into(), actions: Vec::new(), kept: Vec::new() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of its actions.
    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// The tensors whose values stay available when it has run.
    pub fn kept(&self) -> &[Tensor] {
        &self.kept
    }

    /// Returns true if it does nothing.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// Computes a tensor, and keeps its value for [`Session::get`](crate::Session::get). After an
    /// assignment, tensors that depend on its target are computed again.
    pub fn forward(&mut self, tensor: Tensor) -> &mut Routine {
        self.actions.push(Action::Forward(tensor));
        self.keep(tensor)
    }

    /// Keeps the value of a tensor that is computed as an intermediate result.
    pub fn keep(&mut self, tensor: Tensor) -> &mut Routine {
        if !self.kept.contains(&tensor) {
            self.kept.push(tensor);
        }
        self
    }

    /// Computes a tensor of one element, keeps its value, and computes its gradients with respect
    /// to every parameter it depends on and every tensor whose [gradient](Graph::gradient) was
    /// requested. Gradients start from 0 each time: to get the gradients of two losses, add the
    /// losses. Gradients do not go back through gradients, nor through tensors that were assigned
    /// to.
    pub fn backward(&mut self, graph: &mut Graph, loss: Tensor) -> Result<&mut Routine, Error> {
        graph.known(loss)?;
        self.forward(loss);
        self.actions.push(Action::Backward(loss));
        Ok(self)
    }

    /// Ends the run with an error if an element of a tensor is infinite or NaN. Later actions of
    /// the routine are then not carried out, so updates leave parameters unchanged. The error names
    /// the first tensor that is not finite.
    ///
    /// ```
    /// use broadloom::{Array, ErrorKind, Graph, Routine, Session};
    /// let mut g = Graph::new();
    /// let x = g.array("x", "2", Array::from_slice(&[2], &[1.0f32, 0.0])?)?;
    /// let y = g.log(x)?;
    /// let loss = g.einsum("... => ", &[y])?;
    /// let mut routine = Routine::new("loss");
    /// routine.forward(loss).check_finite(loss);
    /// let error = Session::new(g)?.run(&routine).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::NotFinite);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn check_finite(&mut self, tensor: Tensor) -> &mut Routine {
        self.actions.push(Action::Finite(tensor));
        self.keep(tensor)
    }

    /// The routine without its [checks](Routine::check_finite): it goes on with numbers that are not finite.
    #[must_use]
    pub fn unchecked(&self) -> Routine {
        let actions = self.actions.iter().filter(|action| !matches!(action, Action::Finite(_)));
        Routine { actions: actions.copied().collect(), ..self.clone() }
    }

    /// Returns true if it assigns to a tensor: a state, a parameter, or data, which then needs no
    /// values from outside.
    pub fn assigns(&self, graph: &Graph, tensor: Tensor) -> bool {
        let to = |action: &Action| match action {
            Action::Assign(step) => graph.step_results(*step).into_iter().any(|result| result == tensor),
            Action::Forward(_) | Action::Backward(_) | Action::Finite(_) => false,
        };
        self.actions.iter().any(to)
    }

    /// The tensors that its actions begin with: what is computed, and what is assigned. It is computed from these and from what
    /// they are computed from.
    pub fn asked(&self, graph: &Graph) -> Vec<Tensor> {
        let asked = |action: &Action| match action {
            Action::Assign(step) => graph.step_operands(*step).to_vec(),
            Action::Forward(tensor) | Action::Backward(tensor) | Action::Finite(tensor) => vec![*tensor],
        };
        self.actions.iter().flat_map(asked).collect()
    }

    /// The tensors that it assigns to.
    pub fn assigned(&self, graph: &Graph) -> Vec<Tensor> {
        let results = |action: &Action| match action {
            Action::Assign(step) => graph.step_results(*step).collect(),
            Action::Forward(_) | Action::Backward(_) | Action::Finite(_) => Vec::new(),
        };
        self.actions.iter().flat_map(results).collect()
    }

    /// Assigns pointwise in the producer regime: see [`assign_by`](Routine::assign_by).
    pub fn assign(
        &mut self,
        graph: &mut Graph,
        text: &str,
        names: &[(&str, Tensor)],
    ) -> Result<Vec<Tensor>, Error> {
        self.assign_by(graph, ".", text, names)
    }

    /// Adds assignments in the producer regime: each adds its own constraints to the graph, and is
    /// carried out at its place in the routine. Operands are the names on the right, in the order
    /// of their first appearance.
    ///
    /// The logic is `"."` for pointwise, `"@"` for composition, `"T"` for a transposed operand, or a spec such as
    /// `"i j => j"`; a spec that a program built or read is [`Logic::Spec`]. A target in braces is a new tensor, whose shape is inferred; one that also occurs on the
    /// right is a state that begins at 0 and lasts from run to run. New tensors are returned in order.
    ///
    /// ```
    /// use broadloom::{Graph, Routine};
    /// let mut g = Graph::new();
    /// let x = g.data("x", "2, 3")?;
    /// let mut routine = Routine::new("columns");
    /// let sums = routine.assign_by(&mut g, "i j => j", "{total} =:+ x", &[("x", x)])?;
    /// assert_eq!(g.final_shape(sums[0])?.to_string(), "3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn assign_by<'s>(
        &mut self,
        graph: &mut Graph,
        logic: impl Into<Logic<'s>>,
        text: &str,
        names: &[(&str, Tensor)],
    ) -> Result<Vec<Tensor>, Error> {
        self.assign_shown(graph, logic.into(), text, names, None)
    }

    /// Like [`assign_by`](Routine::assign_by), but shown differently in messages and loop nests: as
    /// the source that the text was generated from.
    ///
    /// ```
    /// use broadloom::{Graph, Routine};
    /// let mut g = Graph::new();
    /// let (w, step) = (g.param_shaped("w", "3")?, g.data("step", "4")?);
    /// let mut routine = Routine::new("update");
    /// let names = [("p1", w), ("p2", step)];
    /// let error = routine.assign_as(&mut g, ".", "p1 =- 0.1 * p2", &names, "w -= 0.1 * step").unwrap_err();
    /// assert_eq!(error.message(), "`w -= 0.1 * step`: 3 and 4 do not agree");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn assign_as<'s>(
        &mut self,
        graph: &mut Graph,
        logic: impl Into<Logic<'s>>,
        text: &str,
        names: &[(&str, Tensor)],
        shown: &str,
    ) -> Result<Vec<Tensor>, Error> {
        self.assign_shown(graph, logic.into(), text, names, Some(shown))
    }

    fn assign_shown(
        &mut self,
        graph: &mut Graph,
        logic: Logic<'_>,
        text: &str,
        names: &[(&str, Tensor)],
        shown: Option<&str>,
    ) -> Result<Vec<Tensor>, Error> {
        let assigned = graph.assign(logic, text, names, shown)?;
        Ok(self.carry_out(assigned))
    }

    /// Like [`assign_by`](Routine::assign_by) with assignments that are already built: all of them
    /// are added, or none. New tensors are returned in order.
    pub fn assign_all<'s>(
        &mut self,
        graph: &mut Graph,
        logic: impl Into<Logic<'s>>,
        assignments: Assignments,
    ) -> Result<Vec<Tensor>, Error> {
        let assigned = graph.assign_all(logic.into(), assignments)?;
        Ok(self.carry_out(assigned))
    }

    /// Adds those assignments of another routine that are wanted, by the tensors that they assign to and those that they read.
    pub fn assign_like(
        &mut self,
        graph: &Graph,
        other: &Routine,
        is_wanted: impl Fn(&[Tensor], &[Tensor]) -> bool,
    ) -> &mut Routine {
        let wanted = |action: &&Action| match action {
            Action::Assign(step) => {
                let targets: Vec<Tensor> = graph.step_results(*step).collect();
                is_wanted(&targets, graph.step_operands(*step))
            }
            Action::Forward(_) | Action::Backward(_) | Action::Finite(_) => false,
        };
        self.actions.extend(other.actions.iter().filter(wanted));
        self
    }

    fn carry_out(&mut self, assigned: Assigned) -> Vec<Tensor> {
        self.actions.extend(assigned.steps.into_iter().map(Action::Assign));
        assigned.made
    }
}
