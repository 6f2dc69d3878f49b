//! Steps are added as a whole or not at all: the point to return to, the closing that finds out, and the way back with an explanation.

use broadloom_core::{Answer, Closed, Core, Limit, Point, Short, Unfilled};
use broadloom_spec::Kind;

use crate::error::{Error, ErrorKind};
use crate::open::Open;
use crate::step::{Aspect, NONE, Op, Rows, Step, Tensor, TensorData};
use crate::view::View;
use crate::{Graph, message};

/// The reason why a program has no shapes.
enum Refused {
    Core(Core),
    Short(Short),
    Limit(Limit),
}

/// Lengths to return to when a step is refused.
pub(crate) struct Before {
    point: Point,
    axes: usize,
    tensors: usize,
    operands: usize,
    origins: usize,
    labels: usize,
    spec_rows: usize,
    bases: usize,
    symbols: usize,
    stated: usize,
}

impl Graph {
    /// Requires that the input axes of a tensor are its output axes: a square map.
    pub fn input_equals_output(&mut self, tensor: Tensor) -> Result<(), Error> {
        let before = self.begin(&[tensor])?;
        let rows = self.rows(tensor);
        let terms = (rows[Kind::Input as usize], rows[Kind::Output as usize]);
        self.equate_rows(terms.0, terms.1, 0, Aspect::Whole);
        self.finish(before, Step::Square(tensor))
    }

    /// Begins a step, if its operands are tensors of this graph.
    pub(crate) fn begin(&mut self, operands: &[Tensor]) -> Result<Before, Error> {
        let known = operands.iter().try_for_each(|tensor| self.known(*tensor));
        self.refusing(known)?;
        if operands.len() > usize::from(u16::MAX) {
            let message = format!("{} operands are more than one operation takes", operands.len());
            return Err(self.misuse(message).with_help("combine them in several operations"));
        }
        Ok(Before {
            point: self.solver.point(),
            axes: self.axes.len(),
            tensors: self.tensors.len(),
            operands: self.operands.len(),
            origins: self.origins.len(),
            labels: self.labels.len(),
            spec_rows: self.spec_rows.len(),
            bases: self.bases.len(),
            symbols: self.symbols.len(),
            stated: self.stated.len(),
        })
    }

    /// A mistake in what would be the next step.
    pub(crate) fn misuse(&self, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Use, message).about_step(self.next_step())
    }

    /// Adds the number of the next step to a mistake, if there is one.
    pub(crate) fn refusing<T>(&self, made: Result<T, Error>) -> Result<T, Error> {
        made.map_err(|error| error.about_step(self.next_step()))
    }

    /// Ends a step. Keeps it, or, if it contradicts the program, takes it back and explains why.
    pub(crate) fn finish(&mut self, before: Before, step: Step) -> Result<(), Error> {
        self.steps.push(step);
        self.settled = None;
        if !self.solver.is_stuck() {
            if let Step::Op { operands, arity, .. } = step {
                for at in operands..operands + u32::from(arity) {
                    let tensor = self.operands[at as usize];
                    self.tensors[tensor.index()].used = true;
                }
            }
            return Ok(());
        }
        let error = self.contradiction();
        self.take_back(before);
        self.steps.pop();
        Err(error.refused_at(self.next_step()))
    }

    /// Returns to the state before a step.
    pub(crate) fn take_back(&mut self, before: Before) {
        self.solver.retract(before.point);
        self.axes.truncate(before.axes);
        self.tensors.truncate(before.tensors);
        self.operands.truncate(before.operands);
        self.origins.truncate(before.origins);
        self.labels.truncate(before.labels);
        self.spec_rows.truncate(before.spec_rows);
        self.bases.truncate(before.bases);
        self.symbols.truncate(before.symbols);
        self.stated.truncate(before.stated);
    }

    /// Explains why the last step contradicts the others.
    fn contradiction(&mut self) -> Error {
        match self.closed(|_, _| ()) {
            Err(error) => error,
            // A contradiction stays, so this is not reached in practice.
            Ok(_) => Error::new(ErrorKind::Mismatch, "the program contradicts itself"),
        }
    }

    /// Closes the program, reads something, and opens it again. Also returns the holes and guesses
    /// of the closing.
    pub(crate) fn closed<T>(
        &mut self,
        read: impl FnOnce(&Closed<'_>, &View<'_>) -> T,
    ) -> Result<(T, Open), Error> {
        let view = View {
            axes: &self.axes,
            tensors: &self.tensors,
            labels: &self.labels,
            bases: &self.bases,
            symbols: &self.symbols,
            steps: &self.steps,
            operands: &self.operands,
            specs: &self.specs,
        };
        let opened = |closed: &Closed<'_>, mut holes: Vec<Unfilled>| {
            holes.extend_from_slice(closed.gave_way());
            Open { holes, guesses: view.guesses(closed) }
        };
        let refused = match self.solver.close_values() {
            Answer::Solved(closed) => return Ok((read(&closed, &view), opened(&closed, Vec::new()))),
            Answer::Underdetermined(closed, holes) => {
                return Ok((read(&closed, &view), opened(&closed, holes)));
            }
            Answer::Unsatisfiable(core) => Refused::Core(core),
            Answer::Unsupported(short) => Refused::Short(short),
            Answer::GaveUp(limit) => Refused::Limit(limit),
        };
        Err(match refused {
            Refused::Core(core) => message::explain(self, &core),
            Refused::Short(short) => message::explain_short(self, &short),
            Refused::Limit(limit) => message::explain_limit(self, limit),
        })
    }

    /// A new tensor with these rows, made by the step about to be finished.
    pub(crate) fn tensor(&mut self, rows: Rows) -> Tensor {
        let step = self.next_step();
        self.tensors.push(TensorData { rows, step, name: NONE, used: false });
        Tensor(self.tensors.len() as u32 - 1)
    }

    /// Ends an operation with one result.
    pub(crate) fn finish_op(
        &mut self,
        before: Before,
        op: Op,
        operands: &[Tensor],
        rows: Rows,
    ) -> Result<Tensor, Error> {
        self.finish_into(before, op, operands, rows, None)
    }

    /// Ends an operation whose result is a new tensor, or an existing one.
    pub(crate) fn finish_into(
        &mut self,
        before: Before,
        op: Op,
        operands: &[Tensor],
        rows: Rows,
        target: Option<Tensor>,
    ) -> Result<Tensor, Error> {
        let result = target.unwrap_or_else(|| self.tensor(rows));
        let step = self.op_step(op, operands, result, 1);
        self.finish(before, step)?;
        Ok(result)
    }

    pub(crate) fn op_step(&mut self, op: Op, operands: &[Tensor], first: Tensor, results: u16) -> Step {
        let start = self.operands.len() as u32;
        self.operands.extend_from_slice(operands);
        Step::Op { op, operands: start, arity: operands.len() as u16, results, result: first.0 }
    }
}
