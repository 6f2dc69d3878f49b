//! Free-standing assignments: the constraints and the law of one, as a step of the graph.

use crate::error::{Error, ErrorKind, Remedy};
use crate::formula::{self, Assignment, Assignments};
use crate::graph::Graph;
use crate::notation::Notation;
use crate::operation::id::OperationId;
use crate::operation::slot::Slot;
use crate::operation::{Law, Operation};
use crate::spec_options::Accumulate;
use crate::step::{Leaf, Op, StepId, Tensor};
use crate::{elaborate, names};

/// The relation between the shapes of an assignment.
///
/// ```
/// use broadloom::{Graph, Logic, Routine};
/// let mut g = Graph::new();
/// let x = g.data("x", "2, 3")?;
/// let mut routine = Routine::new("columns");
/// let sums = routine.assign_by(&mut g, Logic::from("i j => j"), "{total} =:+ x", &[("x", x)])?;
/// let twice = routine.assign_by(&mut g, Logic::Pointwise, "{twice} = 2 * x", &[("x", x)])?;
/// assert_eq!(g.final_shape(sums[0])?.to_string(), "3");
/// assert_eq!(g.final_shape(twice[0])?.to_string(), "2, 3");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Logic<'s> {
    /// All shapes broadcast into that of the target, `.`.
    Pointwise,
    /// The inputs of the first operand meet the outputs of the second, `@`.
    Compose,
    /// Inputs and outputs of the operand change places, `T`.
    Transpose,
    /// A spec relates them.
    Spec(Notation<'s>),
}

impl Logic<'static> {
    /// The logic that a sign stands for: `.`, `@` or `T`.
    pub fn of_sign(sign: &str) -> Option<Logic<'static>> {
        match sign {
            "." => Some(Logic::Pointwise),
            "@" => Some(Logic::Compose),
            "T" => Some(Logic::Transpose),
            _ => None,
        }
    }
}

impl<'s> From<&'s str> for Logic<'s> {
    fn from(text: &'s str) -> Logic<'s> {
        Logic::of_sign(text).unwrap_or(Logic::Spec(text.into()))
    }
}

impl<'s> From<&'s String> for Logic<'s> {
    fn from(text: &'s String) -> Logic<'s> {
        text.as_str().into()
    }
}

/// The steps and tensors that assignments added to a graph.
pub struct Assigned {
    /// The steps, one for each assignment.
    pub steps: Vec<StepId>,
    /// The tensors that did not exist before.
    pub made: Vec<Tensor>,
}

/// The numbers of an assignment: see [`Graph::assigned_numbers`].
#[derive(Debug)]
pub struct AssignedNumbers<'a> {
    /// The values of the greatest parts of its formula that are numbers.
    pub numbers: Vec<f64>,
    /// The tensors that it reads.
    pub reads: &'a [Tensor],
    /// The tensor that it writes.
    pub target: Tensor,
}

impl Graph {
    /// Adds assignments, all of them or none: each adds its own constraints. `shown` stands for the text in messages.
    pub fn assign(
        &mut self,
        logic: Logic<'_>,
        text: &str,
        names: &[(&str, Tensor)],
        shown: Option<&str>,
    ) -> Result<Assigned, Error> {
        let parsed = formula::parse(text);
        let mut parsed = self.refusing(parsed)?;
        if let Some(shown) = shown {
            parsed.assignments.iter_mut().for_each(|assignment| assignment.source = shown.into());
        }
        parsed.bind(names);
        self.assign_all(logic, parsed)
    }

    /// The same with assignments that were built instead of parsed.
    pub fn assign_all(&mut self, logic: Logic<'_>, assignments: Assignments) -> Result<Assigned, Error> {
        let Assignments { names, mut bound, assignments } = assignments;
        let (before, first) = (self.begin(&[])?, self.steps.len());
        let mut assigned = Assigned { steps: Vec::new(), made: Vec::new() };
        for assignment in &assignments {
            match self.assign_one(logic, &names, assignment, &mut bound, &mut assigned.made) {
                Ok(step) => assigned.steps.push(step),
                Err(error) => {
                    let error = error.about_step(self.next_step());
                    self.take_back(before);
                    self.steps.truncate(first);
                    self.laws.retain(|step, _| step.index() < first);
                    self.facts.texts.retain(|step, _| step.index() < first);
                    return Err(error);
                }
            }
        }
        Ok(assigned)
    }

    /// The numbers that the formula of an assignment has, with the tensors that it reads and the one that it writes. `None` for another step.
    ///
    /// ```
    /// use broadloom::{Graph, Routine};
    /// let mut g = Graph::new();
    /// let x = g.data("x", "3")?;
    /// let made = Routine::new("twice").assign(&mut g, "{y} = 2 * 8 * x + 1", &[("x", x)])?;
    /// let step = g.step_of(made[0]).expect("it made a tensor");
    /// let assigned = g.assigned_numbers(step).expect("it is an assignment");
    /// assert_eq!((assigned.numbers, assigned.reads, assigned.target), (vec![16.0, 1.0], &[x][..], made[0]));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn assigned_numbers(&self, step: StepId) -> Option<AssignedNumbers<'_>> {
        let law = self.laws.get(&step).filter(|law| law.is_assignment)?;
        let mut numbers = Vec::new();
        law.forward.assignments.iter().for_each(|each| each.value.numbers(&mut numbers));
        let target = names::step_results(self, step).next()?;
        Some(AssignedNumbers { numbers, reads: names::step_operands(self, step), target })
    }

    /// Adds one assignment: its constraints, its law, and its target if that is new. Returns its step.
    fn assign_one(
        &mut self,
        logic: Logic<'_>,
        names: &[Box<str>],
        assignment: &Assignment,
        bound: &mut [Option<Tensor>],
        made: &mut Vec<Tensor>,
    ) -> Result<StepId, Error> {
        let mut order: Vec<u32> = Vec::new();
        assignment.value.names(&mut order);
        let target_name = &names[assignment.target as usize];
        let target = &mut bound[assignment.target as usize];
        if assignment.fresh && target.is_some() {
            let message = format!("`{target_name}` already exists");
            return Err(Error::new(ErrorKind::Use, message).with_help("leave out the braces to assign to it"));
        }
        // A name that is read before it is assigned is a state, which lasts from run to run.
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
        // This comes before the step is made, because it may be refused, and the message is about
        // it.
        self.facts.texts.insert(self.next_step(), assignment.source.clone());
        let result = self.produced(logic, &operands, target, operation.forward.accumulate())?;
        let step = self.last_step();
        self.laws.insert(step, operation.into());
        if target.is_none() {
            self.name(result, target_name);
            bound[assignment.target as usize] = Some(result);
            made.push(result);
        }
        Ok(step)
    }

    /// The constraints of an assignment: those of an operation with the same logic, into an
    /// existing tensor or into a new one.
    fn produced(
        &mut self,
        logic: Logic<'_>,
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
            Logic::Pointwise => self.broadcasting_into(Op::Pointwise(OperationId::Assign), operands, target),
            Logic::Compose => {
                arity(2, "the logic `@`")?;
                self.broadcasting_into(Op::Compose, operands, target)
            }
            Logic::Transpose => {
                arity(1, "the logic `T`")?;
                self.broadcasting_into(Op::Transpose, operands, target)
            }
            Logic::Spec(spec) => elaborate::by_spec_into(self, spec, operands, target, accumulate),
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
    Operation { forward, is_assignment: true, ..Operation::new("assignment", order.len()) }
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::Use, format!("there is no tensor for the name `{name}`"))
        .with_help("names are bound in the last argument: `&[(\"name\", tensor)]`")
}
