//! The laws of operations: assignments over slots, for the forward pass and for gradients.
//!
//! An operation has one result and some operands. In its assignments `v` is the value of the result and `v1`,
//! `v2`, … those of the operands; `g`, `g1`, `g2`, … are their gradients. A name says more than which tensor is
//! meant: it selects the index map by which the tensor is addressed, from the one record that was inferred
//! for the operation. So a gradient needs no inference of its own (*Contraction Is Emergent*, "From what you
//! write to the projections"): in `g1 =+ g * v2` the target has the map of the first operand, and what that map
//! leaves out is summed.
//!
//! Any other name is a tensor that the assignments keep for themselves. It is indexed like the result, or, if it
//! ends in `_rhs1`, `_rhs2`, …, like that operand.

pub(crate) mod id;
pub(crate) mod slot;
pub(crate) mod table;

use std::sync::Arc;
use std::sync::OnceLock;

use broadloom_loops::{Binary, Dtype};
use rustc_hash::FxHashMap;

use crate::error::{Error, ErrorKind};
use crate::formula::{Assignment, Assignments, Formula, parse};
use crate::operation::id::OperationId;
use crate::operation::slot::Slot;
use crate::operation::table::{OperationRow, Pointwise, ROWS};
use crate::spec_options::Accumulate;
use crate::step::StepId;

/// An operation: its name, the assignments that compute it, and those that pass gradients back.
///
/// ```
/// use broadloom::{Graph, Operation};
/// let softsign = Operation::new("softsign", 1)
///     .forward("v = v1 / (1 + abs(v1))")?
///     .gradient("g1 =+ g / ((1 + abs(v1)) * (1 + abs(v1)))")?;
/// let mut g = Graph::new();
/// let x = g.data("x", "8 | 3")?;
/// let y = g.apply(&softsign, &[x])?;
/// assert_eq!(g.final_shape(y)?.to_string(), "8 | 3");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Operation {
    pub(crate) id: OperationId,
    pub(crate) arity: usize,
    pub(crate) forward: Law,
    pub(crate) gradient: Law,
    /// The names of its operands in its definition, for messages.
    pub(crate) operands: Vec<Box<str>>,
    /// True if it is the law of an assignment, whatever it is called.
    pub(crate) is_assignment: bool,
}

/// Assignments whose names are slots.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Law {
    /// The tensors and index maps that names stand for.
    pub slots: Vec<Slot>,
    /// The assignments, in order.
    pub assignments: Vec<Assignment>,
}

impl Operation {
    /// An operation that computes nothing yet.
    pub fn new(name: &'static str, arity: usize) -> Operation {
        Operation::of(OperationId::Own(name), arity)
    }

    fn of(id: OperationId, arity: usize) -> Operation {
        let (forward, gradient) = (Law::default(), Law::default());
        Operation { id, arity, forward, gradient, operands: Vec::new(), is_assignment: false }
    }

    /// Sets the names of the operands in the definition. Messages then show `a` and `a.grad`
    /// instead of the slots `v1` and `g1`, and the name of the operation for the result.
    pub fn with_operands<T: AsRef<str>>(mut self, operands: &[T]) -> Operation {
        self.operands = operands.iter().map(|operand| operand.as_ref().into()).collect();
        self
    }

    /// A slot by its name in the definition of the operation.
    fn shown(&self, slot: &Slot, written: &str) -> String {
        let of = |place: &u32| match place.checked_sub(1) {
            None => Some(self.name()),
            Some(at) => self.operands.get(at as usize).map(|name| &**name),
        };
        match slot {
            _ if self.operands.is_empty() => written.to_string(),
            Slot::Value(place) => of(place).unwrap_or(written).to_string(),
            Slot::Gradient(place) => of(place).map_or(written.to_string(), |name| format!("{name}.grad")),
            Slot::Own(..) => written.to_string(),
        }
    }

    /// The assignments that compute it.
    pub fn forward_law(&self) -> &Law {
        &self.forward
    }

    /// The assignments that pass gradients back through it.
    pub fn gradient_law(&self) -> &Law {
        &self.gradient
    }

    /// An operation by lines of assignments in which operands, result and gradients have names of
    /// their own: `a` and `b` are operands, `huber` is the result, and `a.grad` and `huber.grad`
    /// are gradients. Assignments to gradients, and those that read the gradient of the result, are
    /// the backward pass; the rest is the forward pass.
    ///
    /// ```
    /// use broadloom::Operation;
    /// let lines = ["ramp = max(a, 0)", "a.grad =+ ramp.grad * (a > 0)"];
    /// assert_eq!(Operation::written("ramp", &["a"], &lines)?.arity(), 1);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn written(
        name: &'static str,
        operands: &[impl AsRef<str>],
        lines: &[impl AsRef<str>],
    ) -> Result<Operation, Error> {
        let operation = Operation::new(name, operands.len()).with_operands(operands);
        let mut all = Assignments::new();
        for line in lines {
            all.read(line.as_ref()).map_err(|error| operation.inside(error))?;
        }
        let slot = |name: &u32| operation.own_slot(&all.names[*name as usize]);
        let names = |assignment: &Assignment| {
            let mut names = vec![assignment.target];
            assignment.value.names(&mut names);
            names
        };
        let is_backward = |assignment: &Assignment| {
            let is_gradient = matches!(slot(&assignment.target), Ok(Slot::Gradient(_)));
            is_gradient || names(assignment).iter().any(|name| matches!(slot(name), Ok(Slot::Gradient(0))))
        };
        let (mut backward, forward): (Vec<Assignment>, Vec<Assignment>) =
            all.assignments.iter().cloned().partition(is_backward);
        // Tensors of the operation's own that the gradient needs are computed again.
        for line in forward.iter().rev() {
            let is_own = matches!(slot(&line.target), Ok(Slot::Own(..)));
            if is_own && backward.iter().any(|each| names(each).contains(&line.target)) {
                backward.insert(0, line.clone());
            }
        }
        let with = |assignments: Vec<Assignment>| Assignments { assignments, ..all.clone() };
        let operation = operation.clone().forward_by(with(forward))?;
        if backward.is_empty() { Ok(operation) } else { operation.gradient_by(with(backward)) }
    }

    /// A slot by its name in the definition of the operation, or by its own name.
    fn own_slot(&self, name: &str) -> Result<Slot, Error> {
        let place = |name: &str| match name == self.name() {
            true => Some(0),
            false => self.operands.iter().position(|known| **known == *name).map(|at| at as u32 + 1),
        };
        if self.operands.is_empty() {
            return self.slot(name);
        }
        match (place(name), name.strip_suffix(".grad").and_then(place)) {
            (Some(place), _) => Ok(Slot::Value(place)),
            (_, Some(place)) => Ok(Slot::Gradient(place)),
            _ => self.slot(name),
        }
    }

    /// Sets the assignments that compute it, such as `v =:+ v1 * v2`.
    pub fn forward(self, text: &str) -> Result<Operation, Error> {
        let read = parse(text).map_err(|error| self.inside(error))?;
        self.forward_by(read)
    }

    fn forward_by(mut self, assignments: Assignments) -> Result<Operation, Error> {
        self.forward = self.law(assignments, false)?;
        if !self.forward.assigns(&Slot::Value(0)) {
            let result = self.shown(&Slot::Value(0), "v");
            let error = self.wrong(&format!("nothing is assigned to `{result}`, the result"));
            return Err(error.with_help(format!("write a line `{result} = …`")));
        }
        Ok(self)
    }

    /// Sets the assignments that pass gradients back, such as `g1 =+ g * v2; g2 =+ v1 * g`. An
    /// operand whose gradient is not assigned gets none. Gradients are accumulated, because an
    /// operand may have other uses.
    pub fn gradient(self, text: &str) -> Result<Operation, Error> {
        let read = parse(text).map_err(|error| self.inside(error))?;
        self.gradient_by(read)
    }

    fn gradient_by(mut self, assignments: Assignments) -> Result<Operation, Error> {
        self.gradient = self.law(assignments, true)?;
        Ok(self)
    }

    fn inside(&self, error: Error) -> Error {
        error.inside(&format!("the operation `{}`", self.name()))
    }

    /// Refuses a wrong number of operands.
    pub(crate) fn takes(&self, operands: usize) -> Result<(), Error> {
        if self.forward.assignments.is_empty() {
            return Err(self
                .wrong("nothing is said about what it computes")
                .with_help("say it: `.forward(\"v = …\")`"));
        }
        if operands == self.arity {
            return Ok(());
        }
        let plural = if self.arity == 1 { "" } else { "s" };
        let message =
            format!("the operation `{}` takes {} operand{plural}, {operands} given", self.name(), self.arity);
        let error = Error::new(ErrorKind::Use, message);
        Err(match self.operands.is_empty() {
            true => error,
            false => error.with_help(format!("write `{}({})`", self.name(), self.operands.join(", "))),
        })
    }

    /// Makes a law of assignments: their names become slots, and only targets of this direction are
    /// allowed.
    fn law(&self, parsed: Assignments, backward: bool) -> Result<Law, Error> {
        // Names that no assignment uses are left out: the law of the other direction may use them.
        let mut used = Vec::new();
        for assignment in &parsed.assignments {
            used.push(assignment.target);
            assignment.value.names(&mut used);
        }
        let slot = |at: usize| match used.contains(&(at as u32)) {
            true => self.own_slot(&parsed.names[at]),
            false => Ok(Slot::Own(parsed.names[at].clone(), 0)),
        };
        let slots: Vec<Slot> = (0..parsed.names.len()).map(slot).collect::<Result<_, _>>()?;
        for assignment in &parsed.assignments {
            let target = &slots[assignment.target as usize];
            let allowed = match target {
                Slot::Value(place) => !backward && *place == 0,
                Slot::Gradient(place) => backward && *place > 0,
                Slot::Own(..) => true,
            };
            if allowed && assignment.fresh {
                return Err(self.wrong("a slot is no new tensor").with_help("write it without braces"));
            }
            if !allowed {
                let name = self.shown(target, &parsed.names[assignment.target as usize]);
                let wanted = match (backward, &self.operands[..]) {
                    (true, []) => "`g1`, `g2`, …".to_string(),
                    (true, names) => format!("`{}.grad`", names.join(".grad`, `")),
                    (false, _) => format!("`{}`", self.shown(&Slot::Value(0), "v")),
                };
                return Err(self
                    .wrong(&format!("`{name}` cannot be assigned here"))
                    .with_help(format!("assign to {wanted}, or to a name of your own, without braces")));
            }
            let adds = matches!(assignment.accumulate, Some(Binary::Add | Binary::Sub)) && !assignment.clear;
            if backward && matches!(target, Slot::Gradient(_)) && !adds {
                let name = self.shown(target, "g1");
                return Err(self.wrong("a gradient would be overwritten").with_help(format!(
                    "write `{name} =+ …` or `{name} =- …`: other uses of the operand contribute as well",
                )));
            }
        }
        if let Some(first) =
            parsed.assignments.iter().find(|each| slots[each.target as usize] == Slot::Value(0))
            && !first.clear
        {
            let name = self.shown(&Slot::Value(0), "v");
            return Err(self.wrong("the result is accumulated into before it has a value").with_help(
                format!("write `{name} = …`, or `{name} =:+ …` to begin with the neutral element"),
            ));
        }
        let mut read = Vec::new();
        parsed.assignments.iter().for_each(|each| each.value.names(&mut read));
        if read.iter().any(|name| matches!(slots[*name as usize], Slot::Gradient(place) if place > 0)) {
            let name = self.shown(&Slot::Gradient(0), "g");
            return Err(self
                .wrong("the gradient of an operand is read")
                .with_help(format!("only `{name}`, the gradient of the result, is known here")));
        }
        let reads_gradients = slots.iter().any(|slot| matches!(slot, Slot::Gradient(_)));
        if !backward && reads_gradients {
            return Err(self.wrong("there are no gradients when values are computed"));
        }
        Ok(Law { slots, assignments: parsed.assignments })
    }

    fn slot(&self, name: &str) -> Result<Slot, Error> {
        let within = |at: u32| {
            if (1..=self.arity as u32).contains(&at) {
                return Ok(at);
            }
            let message = format!("`{name}` is beyond its {} operands", self.arity);
            Err(self.wrong(&message).with_help("the second argument of `Operation::new` is their number"))
        };
        Ok(match Slot::read(name) {
            Some(Slot::Value(at)) if at > 0 => Slot::Value(within(at)?),
            Some(Slot::Gradient(at)) if at > 0 => Slot::Gradient(within(at)?),
            Some(slot) => slot,
            None => {
                let like = name.rsplit_once("_rhs").and_then(|(_, digits)| digits.parse().ok());
                Slot::Own(name.into(), like.map_or(Ok(0), within)?)
            }
        })
    }

    fn wrong(&self, message: &str) -> Error {
        self.inside(Error::new(ErrorKind::Use, message))
    }

    /// The pointwise operations of the library, in the order of its table.
    ///
    /// ```
    /// use broadloom::Operation;
    /// let names: Vec<&str> = Operation::all().iter().map(|operation| operation.name()).collect();
    /// assert!(names.contains(&"exp") && names.contains(&"max"));
    /// ```
    pub fn all() -> &'static [Operation] {
        static TABLE: OnceLock<Vec<Operation>> = OnceLock::new();
        TABLE.get_or_init(|| ROWS.iter().map(Operation::of_row).collect())
    }

    /// A pointwise operation of the library by its name.
    pub fn named(name: &str) -> Option<&'static Operation> {
        Pointwise::named(name).map(Pointwise::operation)
    }

    /// The operation of a row. A test reads every row, so that each has its laws.
    fn of_row(row: &OperationRow) -> Operation {
        let operation = Operation::of(row.id.into(), row.operands.len());
        let forward = operation.clone().forward(row.forward).unwrap_or(operation);
        match row.gradient.is_empty() {
            true => forward,
            false => forward.clone().gradient(row.gradient).unwrap_or(forward),
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.id.name()
    }

    /// The number of its operands.
    pub fn arity(&self) -> usize {
        self.arity
    }

    /// Returns true if its values have fractions even where its operands are whole, so that they
    /// are floats.
    ///
    /// ```
    /// use broadloom::Operation;
    /// let fractions = |name| Operation::named(name).is_some_and(Operation::has_fractions);
    /// assert!(fractions("/") && fractions("exp") && !fractions("mod") && !fractions("relu"));
    /// ```
    pub fn has_fractions(&self) -> bool {
        self.forward.assignments.iter().any(|assignment| assignment.value.has_fractions())
    }

    /// Returns true if its values are conditions: 0 or 1.
    ///
    /// ```
    /// use broadloom::Operation;
    /// let truth = |name| Operation::named(name).is_some_and(Operation::is_truth);
    /// assert!(truth("<") && truth("not") && !truth("relu"));
    /// ```
    pub fn is_truth(&self) -> bool {
        self.pointwise_value().is_some_and(Formula::is_truth)
    }

    /// The type that it casts its operand to, if it is a cast.
    ///
    /// ```
    /// use broadloom::{Dtype, Operation};
    /// let cast_to = |name| Operation::named(name).and_then(Operation::cast_to);
    /// assert_eq!((cast_to("u8"), cast_to("floor")), (Some(Dtype::U8), None));
    /// ```
    pub fn cast_to(&self) -> Option<Dtype> {
        self.pointwise_value().and_then(Formula::cast_to)
    }

    /// Returns true if it is about the bits of its operands, which have to be integers.
    ///
    /// ```
    /// use broadloom::Operation;
    /// let bitwise = |name| Operation::named(name).is_some_and(Operation::is_bitwise);
    /// assert!(bitwise("bit_and") && bitwise("shift_left") && !bitwise("and"));
    /// ```
    pub fn is_bitwise(&self) -> bool {
        self.forward.assignments.iter().any(|assignment| assignment.value.is_bitwise())
    }

    /// Returns true if its values fit the type of its operands, however narrow that is.
    ///
    /// ```
    /// use broadloom::Operation;
    /// let selects = |name| Operation::named(name).is_some_and(Operation::is_selection);
    /// assert!(selects("max") && selects("where") && selects("bit_or") && !selects("+") && !selects("<"));
    /// ```
    pub fn is_selection(&self) -> bool {
        self.pointwise_value().is_some_and(Formula::is_selection)
    }

    /// Returns true if its first operand is a condition that chooses between the others.
    ///
    /// ```
    /// use broadloom::Operation;
    /// assert!(Operation::named("where").is_some_and(Operation::is_choice));
    /// ```
    pub fn is_choice(&self) -> bool {
        self.pointwise_value().is_some_and(Formula::is_choice)
    }

    /// Returns true if its value is the one float that IEEE 754 requires. If not, its last digits
    /// may differ between backends.
    pub fn is_correct(&self) -> bool {
        self.forward.assignments.iter().all(|assignment| assignment.value.is_correct())
    }

    /// Returns true if it is certainly defined for some numbers: each function in its formula is
    /// evaluated inside its domain.
    ///
    /// ```
    /// use broadloom::Operation;
    /// let log = Operation::named("log").expect("it is in the table");
    /// assert!(log.is_defined(&[2.0]) && !log.is_defined(&[0.0]));
    /// ```
    pub fn is_defined(&self, operands: &[f64]) -> bool {
        self.pointwise_value().is_some_and(|value| value.is_defined(&|name| self.operand(name, operands)))
    }

    /// The formula of an operation that is one assignment without accumulation.
    fn pointwise_value(&self) -> Option<&Formula> {
        match &self.forward.assignments[..] {
            [Assignment { value, accumulate: None, .. }] => Some(value),
            _ => None,
        }
    }

    /// The number that a name of its formula stands for.
    fn operand(&self, name: u32, operands: &[f64]) -> Option<f64> {
        match self.forward.slots[name as usize] {
            Slot::Value(place) => operands.get((place as usize).checked_sub(1)?).copied(),
            _ => None,
        }
    }
}

impl Pointwise {
    /// Its laws.
    pub fn operation(self) -> &'static Operation {
        &Operation::all()[self as usize]
    }

    /// Its value on numbers, by the same table as on tensors. None for another number of operands.
    ///
    /// ```
    /// use broadloom::Pointwise;
    /// assert_eq!(Pointwise::Max.value(&[2.0, 3.0]), Some(3.0));
    /// assert!(Pointwise::Relu.value(&[f64::NAN]).is_some_and(f64::is_nan));
    /// ```
    pub fn value(self, operands: &[f64]) -> Option<f64> {
        let operation = Some(self.operation()).filter(|operation| operation.arity == operands.len())?;
        operation.pointwise_value()?.of(&|name| operation.operand(name, operands))
    }
}

impl OperationId {
    /// The laws of the operation, if it is a pointwise one of the library.
    pub fn operation(self) -> Option<&'static Operation> {
        if let OperationId::Pointwise(operation) = self { Some(operation.operation()) } else { None }
    }
}

impl Law {
    /// The accumulation of values of the result, which decides the contents of margins and of cells
    /// that nothing writes.
    pub fn accumulate(&self) -> Accumulate {
        let result = self.assignments.iter().find(|each| self.slots[each.target as usize] == Slot::Value(0));
        match result.and_then(|each| each.accumulate) {
            Some(Binary::Max) => Accumulate::Max,
            Some(Binary::Min) => Accumulate::Min,
            Some(Binary::Mul | Binary::Div | Binary::Pow | Binary::And) => Accumulate::Product,
            _ => Accumulate::Sum,
        }
    }

    fn assigns(&self, slot: &Slot) -> bool {
        self.assignments.iter().any(|assignment| self.slots[assignment.target as usize] == *slot)
    }
}

/// The laws of steps that have their own: operations of users, and assignments.
pub(crate) type Laws = FxHashMap<StepId, Arc<Operation>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_operation_is_well_written() {
        for (row, operation) in ROWS.iter().zip(Operation::all()) {
            assert_eq!(Pointwise::named(row.name), Some(row.id), "{}", row.name);
            assert_eq!((row.id.name(), operation.id), (row.name, row.id.into()), "{}", row.name);
            assert_eq!(operation.arity, row.operands.len(), "{}", row.name);
            assert!(operation.pointwise_value().is_some(), "{}", row.name);
            assert_eq!(operation.gradient.assignments.is_empty(), row.gradient.is_empty(), "{}", row.name);
        }
        assert_eq!(Operation::all().len(), ROWS.len());
    }

    #[test]
    fn what_an_operation_may_say() {
        let wrong = [
            Operation::new("a", 1).forward("v1 = v"),
            Operation::new("a", 1).forward("v = v2"),
            Operation::new("a", 1).forward("v = g"),
            Operation::new("a", 1).forward("x = v1"),
            Operation::new("a", 1).gradient("g1 = g"),
            Operation::new("a", 1).gradient("v =+ g"),
            Operation::new("a", 1).gradient("g =+ g1"),
        ];
        for (at, made) in wrong.into_iter().enumerate() {
            assert!(made.is_err(), "{at}");
        }
        let own = Operation::new("a", 1).gradient("ties_rhs1 = v1 == v; g1 =+ ties_rhs1 * g");
        let own = own.expect("an operation may keep a tensor");
        assert_eq!(own.gradient.slots[0], Slot::Own("ties_rhs1".into(), 1));
    }
}
