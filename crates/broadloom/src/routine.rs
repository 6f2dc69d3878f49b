//! Routines: what is to be computed, in order.

use crate::error::{Error, ErrorKind, Remedy};
use crate::formula::{self, Assignment, Assignments};
use crate::graph::Graph;
use crate::logic::Accumulate;
use crate::operation::{Law, Operation, Slot};
use crate::step::{Leaf, Op, Tensor};

/// A list of things to compute, in order; a [`Session`](crate::Session) compiles and runs it.
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
    /// The gradients of a tensor, a single number, with respect to what it is computed from.
    Backward(Tensor),
    /// A step that assigns to a tensor that is there.
    Assign(u32),
    /// The run ends if an element of a tensor is infinite or not a number.
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

    /// How many actions it has.
    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// The tensors whose values stay available when it has run.
    pub fn kept(&self) -> &[Tensor] {
        &self.kept
    }

    /// Whether it does nothing.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// Computes a tensor, and keeps its value for [`Session::get`](crate::Session::get). After an assignment, what
    /// depends on its target is computed again.
    pub fn forward(&mut self, tensor: Tensor) -> &mut Routine {
        self.actions.push(Action::Forward(tensor));
        self.keep(tensor)
    }

    /// Keeps the value of a tensor that is computed on the way.
    pub fn keep(&mut self, tensor: Tensor) -> &mut Routine {
        if !self.kept.contains(&tensor) {
            self.kept.push(tensor);
        }
        self
    }

    /// Computes a tensor of one element, keeps its value, and computes the gradients of it with respect to
    /// every parameter it depends on and every tensor whose [gradient](Graph::gradient) was asked for. They begin
    /// afresh each time: to have the gradients of two losses, add the losses. Gradients do not go back through
    /// gradients, nor through tensors that were assigned to.
    pub fn backward(&mut self, graph: &mut Graph, loss: Tensor) -> Result<&mut Routine, Error> {
        graph.known(loss)?;
        self.forward(loss);
        self.actions.push(Action::Backward(loss));
        Ok(self)
    }

    /// Ends the run with an error if an element of a tensor is infinite or not a number. What comes after it in the
    /// routine is not carried out then: updates of parameters leave them as they are. The error says which tensor is the
    /// first that is not finite.
    ///
    /// ```
    /// use broadloom::{Array, ErrorKind, Graph, Routine, Session};
    /// let mut g = Graph::new();
    /// let x = g.array("x", "2", Array::from([1.0, 0.0]))?;
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

    /// Whether it assigns to a tensor: to a state, a parameter, or data that then needs no values from outside.
    pub fn assigns(&self, graph: &Graph, tensor: Tensor) -> bool {
        let to = |action: &Action| match action {
            Action::Assign(step) => graph.step_results(*step).into_iter().any(|result| result == tensor),
            Action::Forward(_) | Action::Backward(_) | Action::Finite(_) => false,
        };
        self.actions.iter().any(to)
    }

    /// The tensors that it assigns to.
    pub fn assigned(&self, graph: &Graph) -> Vec<Tensor> {
        let results = |action: &Action| match action {
            Action::Assign(step) => graph.step_results(*step).collect(),
            Action::Forward(_) | Action::Backward(_) | Action::Finite(_) => Vec::new(),
        };
        self.actions.iter().flat_map(results).collect()
    }

    /// An assignment in the producer regime, pointwise: see [`assign_by`](Routine::assign_by).
    pub fn assign(
        &mut self,
        graph: &mut Graph,
        text: &str,
        names: &[(&str, Tensor)],
    ) -> Result<Vec<Tensor>, Error> {
        self.assign_by(graph, ".", text, names)
    }

    /// Assignments in the producer regime: each adds its own constraints to the graph, and is carried out where
    /// it stands in the routine. Operands are the names on the right, in the order of their first appearance.
    ///
    /// The logic is `"."` for pointwise, `"@"` for composition, `"T"` for a transposed operand, or a spec such as
    /// `"i j => j"`. A target in braces is a new tensor, whose shape is inferred; one that also occurs on the
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
    pub fn assign_by(
        &mut self,
        graph: &mut Graph,
        logic: &str,
        text: &str,
        names: &[(&str, Tensor)],
    ) -> Result<Vec<Tensor>, Error> {
        self.assign_shown(graph, logic, text, names, None)
    }

    /// The same, shown as something else in messages and loop nests: what the text was made from, where a
    /// program wrote it for somebody.
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
    pub fn assign_as(
        &mut self,
        graph: &mut Graph,
        logic: &str,
        text: &str,
        names: &[(&str, Tensor)],
        shown: &str,
    ) -> Result<Vec<Tensor>, Error> {
        self.assign_shown(graph, logic, text, names, Some(shown))
    }

    fn assign_shown(
        &mut self,
        graph: &mut Graph,
        logic: &str,
        text: &str,
        names: &[(&str, Tensor)],
        shown: Option<&str>,
    ) -> Result<Vec<Tensor>, Error> {
        let parsed = formula::parse(text);
        let mut parsed = graph.refusing(parsed)?;
        if let Some(shown) = shown {
            parsed.assignments.iter_mut().for_each(|assignment| assignment.source = shown.into());
        }
        parsed.bind(names);
        self.assign_all(graph, logic, parsed)
    }

    /// The same with assignments that are built: all of them, or none. New tensors are returned in order.
    pub fn assign_all(
        &mut self,
        graph: &mut Graph,
        logic: &str,
        assignments: Assignments,
    ) -> Result<Vec<Tensor>, Error> {
        let Assignments { names, mut bound, assignments } = assignments;
        let (before, first) = (graph.begin(&[])?, graph.steps.len());
        let (mut made, mut actions) = (Vec::new(), Vec::new());
        for assignment in &assignments {
            match graph.assigned(logic, &names, assignment, &mut bound, &mut made) {
                Ok(step) => actions.push(Action::Assign(step)),
                Err(error) => {
                    let error = error.about_step(graph.steps.len() as u32);
                    graph.take_back(before);
                    graph.steps.truncate(first);
                    graph.laws.retain(|step, _| (*step as usize) < first);
                    graph.facts.texts.retain(|step, _| (*step as usize) < first);
                    return Err(error);
                }
            }
        }
        self.actions.extend(actions);
        Ok(made)
    }
}

impl Graph {
    /// Adds one assignment: its constraints, its law, and its target if that is new. Returns its step.
    fn assigned(
        &mut self,
        logic: &str,
        names: &[Box<str>],
        assignment: &Assignment,
        bound: &mut [Option<Tensor>],
        made: &mut Vec<Tensor>,
    ) -> Result<u32, Error> {
        let mut order: Vec<u32> = Vec::new();
        assignment.value.names(&mut order);
        let target_name = &names[assignment.target as usize];
        let target = &mut bound[assignment.target as usize];
        if assignment.fresh && target.is_some() {
            let message = format!("`{{{target_name}}}` would be a new tensor, but there is one of that name");
            return Err(Error::new(ErrorKind::Use, message).with_help("leave out the braces to assign to it"));
        }
        // What is read before it is assigned was there before.
        if assignment.fresh && (order.contains(&assignment.target) || !assignment.clear) {
            let state = self.state(target_name);
            *target = Some(state);
            made.push(state);
        }
        let target = *target;
        if let Some(tensor) = target
            && matches!(self.leaf(tensor), Some(Leaf::Number(_) | Leaf::Constant(_) | Leaf::Size(_)))
        {
            let message = format!("`{target_name}` is a number, which cannot be assigned to");
            let help = format!("make it a state: `graph.state_shaped(\"{target_name}\", \"\")`");
            return Err(Error::new(ErrorKind::Use, message).with_remedy(Remedy::State, help));
        }
        if target.is_none() && !assignment.fresh {
            return Err(unknown(target_name).with_help(format!("write `{{{target_name}}}` for a new tensor")));
        }
        let operands: Vec<Tensor> = order
            .iter()
            .map(|name| bound[*name as usize].ok_or_else(|| unknown(&names[*name as usize])))
            .collect::<Result<_, _>>()?;
        let operation = assignment_law(assignment, &order);
        // Before the step is made: it may be refused, and the message is about it.
        self.facts.texts.insert(self.steps.len() as u32, assignment.source.clone());
        let result = self.produced(logic, &operands, target, operation.forward.accumulate())?;
        let step = self.steps.len() as u32 - 1;
        self.laws.insert(step, operation.into());
        if target.is_none() {
            self.name(result, target_name);
            bound[assignment.target as usize] = Some(result);
            made.push(result);
        }
        Ok(step)
    }

    /// The constraints of an assignment: those of an operation with the same logic, into a tensor that is there or
    /// into a new one.
    fn produced(
        &mut self,
        logic: &str,
        operands: &[Tensor],
        target: Option<Tensor>,
        accumulate: Accumulate,
    ) -> Result<Tensor, Error> {
        let arity = |wanted: usize, what: &str| {
            let plural = if wanted == 1 { "" } else { "s" };
            let message =
                format!("{what} takes {wanted} operand{plural}; on the right there are {}", operands.len());
            if operands.len() == wanted { Ok(()) } else { Err(Error::new(ErrorKind::Use, message)) }
        };
        match logic {
            "." => self.broadcasting_into(Op::Pointwise("assign"), operands, target),
            "@" => {
                arity(2, "the logic `@`")?;
                self.broadcasting_into(Op::Compose, operands, target)
            }
            "T" => {
                arity(1, "the logic `T`")?;
                self.broadcasting_into(Op::Transpose, operands, target)
            }
            spec => self.by_spec_into(spec.into(), operands, target, accumulate),
        }
    }
}

/// The assignment as the law of its step: its target is the result, its names are operands in order.
fn assignment_law(assignment: &Assignment, order: &[u32]) -> Operation {
    let highest = order.iter().copied().chain([assignment.target]).max().unwrap_or(0);
    let mut slots = vec![Slot::Value(0); highest as usize + 1];
    for (place, name) in order.iter().enumerate() {
        slots[*name as usize] = Slot::Value(place as u32 + 1);
    }
    // The target may also be an operand: then it is read as one, and written as the result.
    let mut assignment = assignment.clone();
    slots.push(Slot::Value(0));
    assignment.target = slots.len() as u32 - 1;
    let forward = Law { slots, assignments: vec![assignment] };
    Operation { forward, ..Operation::new("assignment", order.len()) }
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::Use, format!("there is no tensor for the name `{name}`"))
        .with_help("names are bound in the last argument: `&[(\"name\", tensor)]`")
}
