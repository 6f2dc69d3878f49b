//! Functions of matrices: tensors are copied into a row of numbers, the function runs on it, and its results are copied out.
//!
//! ```text
//! for b, i, j                        x.work[b, n*i + j] = a[b, i, j]
//! for b, i                           x.work[b, n*n + i] = y[b, i]
//! for b                              solve(x.work[b, 0], n, 1)
//! for b, i                           x[b, i] = x.work[b, n*n + i]
//! ```
//!
//! Rows are output axes, columns are input axes. There is a row of numbers for each of the first operand's batch axes; where it has none,
//! batch axes of other tensors are further columns.

use broadloom_graph::lowering::Face;
use broadloom_graph::{Error, ErrorKind, Graph, MessageLine, StepId, Tensor};
use broadloom_loops::{
    Binary, Cell, Index, LoopSum, LoopVar, MatrixFunction, Nest, Role, Scalar, Size, Statement,
};
use rustc_hash::FxHashSet;

use super::{Content, Lowering};

/// The loops over the elements of a tensor in a row of matrices, and where they are in both.
struct Elements {
    loops: Vec<(LoopVar, Size)>,
    index: Vec<Index>,
    work: Vec<Index>,
}

impl Lowering<'_> {
    /// Lowers a step that computes a function of matrices.
    pub(super) fn matrices(&mut self, step: StepId, function: MatrixFunction) -> Result<(), Error> {
        if let (true, [columns, rows]) =
            (function.is_tall(), &self.layout.matrix_sizes(self.graph, step, function)[..])
            && rows.below(*columns)
        {
            return Err(wide(self.graph, step, function, (*rows, *columns)));
        }
        self.pack(step, function, false, &|_| true);
        self.call(step, function, false);
        for (role, part) in function.writes() {
            if let (Role::Result(_), Some(tensor)) = (role, self.layout.part_of(self.graph, step, *role)) {
                self.unpack(step, (function, false), (tensor, *part), self.node(tensor), None);
            }
        }
        Ok(())
    }

    /// Lowers the gradients of such a step.
    pub(super) fn matrices_backward(
        &mut self,
        step: StepId,
        function: MatrixFunction,
        wanted: &[bool],
        begun: &mut FxHashSet<Tensor>,
    ) -> Result<(), Error> {
        let results: Vec<Tensor> = self.graph.step_results(step).collect();
        let operands = self.graph.step_operands(step);
        let asked = operands.iter().any(|operand| wanted[operand.index()]);
        if !asked || !results.iter().any(|result| begun.contains(result)) {
            return Ok(());
        }
        let back = function.back().ok_or_else(|| no_gradient(self.graph, step, results[0]))?;
        let known = |role: Role| back.reads().iter().any(|(read, _)| *read == role);
        for (at, result) in results.iter().enumerate() {
            if begun.contains(result) && !known(Role::ResultGradient(at)) {
                return Err(no_gradient(self.graph, step, *result));
            }
        }
        self.pack(step, back, true, &|tensor| begun.contains(&tensor));
        self.call(step, back, true);
        for (role, part) in back.writes() {
            let Some(tensor) = self.layout.part_of(self.graph, step, *role) else { continue };
            if !wanted[tensor.index()] {
                continue;
            }
            let gradient = Content::Gradient(tensor);
            if begun.insert(tensor) {
                let name = self.graph.message_name(tensor);
                self.fill(gradient, 0.0, &format!("the gradient of {name} begins at 0"));
            }
            self.unpack(step, (back, true), (tensor, *part), gradient, Some(Binary::Add));
        }
        Ok(())
    }

    /// Copies everything that a function reads. The gradient of a result that has none is 0.
    fn pack(
        &mut self,
        step: StepId,
        function: MatrixFunction,
        backward: bool,
        has_gradient: &dyn Fn(Tensor) -> bool,
    ) {
        let work = self.buffer(Content::Work(step, backward));
        for (role, part) in function.reads() {
            let Some(tensor) = self.layout.part_of(self.graph, step, *role) else { continue };
            let Elements { loops, index, work: to } =
                self.elements(step, (function, backward), tensor, *part);
            let node = match role {
                Role::ResultGradient(_) => Content::Gradient(tensor),
                _ => self.node(tensor),
            };
            let value = match (role, self.number(tensor)) {
                (Role::ResultGradient(_), _) if !has_gradient(tensor) => Scalar::Number(0.0),
                (Role::Operand(_), Some(number)) => number,
                _ => Scalar::Load(Cell { buffer: self.buffer(node), index }),
            };
            let store = Statement::Store { cell: Cell { buffer: work, index: to }, accumulate: None, value };
            let comment = self.matrix_comment(step, backward);
            self.program.nests.push(Nest { comment, body: vec![store.within(loops.into_iter())] });
        }
        self.written.insert(Content::Work(step, backward));
    }

    /// Runs a function on all rows.
    fn call(&mut self, step: StepId, function: MatrixFunction, backward: bool) {
        let buffer = self.buffer(Content::Work(step, backward));
        let sizes = self.program.buffer(buffer).sizes.clone();
        let batch = &sizes[..sizes.len().saturating_sub(1)];
        let loops: Vec<(LoopVar, Size)> =
            batch.iter().map(|size| (self.program.add_var("b"), *size)).collect();
        let mut index: Vec<Index> = loops.iter().map(|(var, _)| Index::At(LoopSum::iterate(*var))).collect();
        index.push(Index::At(LoopSum::fixed(0)));
        let sizes = self.layout.matrix_sizes(self.graph, step, function);
        let run = Statement::Matrix { function, work: Cell { buffer, index }, sizes };
        let comment = self.matrix_comment(step, backward);
        self.program.nests.push(Nest { comment, body: vec![run.within(loops.into_iter())] });
    }

    /// Copies a part of a row to a tensor, or adds it to one.
    fn unpack(
        &mut self,
        step: StepId,
        (function, backward): (MatrixFunction, bool),
        (tensor, part): (Tensor, usize),
        to: Content,
        accumulate: Option<Binary>,
    ) {
        let Elements { loops, index, work } = self.elements(step, (function, backward), tensor, part);
        let from = self.buffer(Content::Work(step, backward));
        let value = Scalar::Load(Cell { buffer: from, index: work });
        let cell = Cell { buffer: self.buffer(to), index };
        let store = Statement::Store { cell, accumulate, value };
        let comment = self.matrix_comment(step, backward);
        self.program.nests.push(Nest { comment, body: vec![store.within(loops.into_iter())] });
        self.written.insert(to);
    }

    /// The loops over a tensor and the part of a row that it belongs to. An axis that broadcasts has a loop of its whole length.
    fn elements(
        &mut self,
        step: StepId,
        (function, backward): (MatrixFunction, bool),
        tensor: Tensor,
        part: usize,
    ) -> Elements {
        let sizes = self.layout.matrix_sizes(self.graph, step, function);
        let axes = self.layout.matrix_axes(self.graph, step, tensor);
        let buffer = self.buffer(Content::Work(step, backward));
        let batch = self.program.buffer(buffer).sizes.clone();
        let batch = &batch[..batch.len().saturating_sub(1)];
        let [n_rows, n_columns] =
            [0, 1].map(|at| function.part(part).get(at).map_or(Size::ONE, |at| sizes[*at]));
        let mut made = Elements { loops: Vec::new(), index: Vec::new(), work: Vec::new() };
        let mut place = LoopSum::fixed(function.place(part, &sizes));
        let zero = || Index::At(LoopSum::fixed(0));
        for (at, size) in batch.iter().enumerate() {
            let var = self.program.add_var("b");
            made.loops.push((var, *size));
            made.work.push(Index::At(LoopSum::iterate(var)));
            match axes.batch.get(at) {
                Some(own) if own == size => made.index.push(Index::At(LoopSum::iterate(var))),
                Some(_) => made.index.push(zero()),
                None => {}
            }
        }
        let spread = if axes.spread { &axes.batch[..] } else { &[] };
        let columns = spread.len() + axes.columns.len();
        let mut strides: Vec<Size> = Vec::new();
        let mut stride = Size::ONE;
        for size in spread.iter().chain(&axes.columns).rev() {
            strides.push(stride);
            stride = stride * *size;
        }
        strides.reverse();
        let mut along = |own: Size, whole: Size, stride: Size, name: &str| {
            let var = self.program.add_var(name);
            made.loops.push((var, whole));
            place = place.plus(&LoopSum::new(0, [(stride, var)]));
            if own == whole { Index::At(LoopSum::iterate(var)) } else { zero() }
        };
        let whole = |own: Size| if columns == 1 { n_columns } else { own };
        for (own, stride) in spread.iter().zip(&strides) {
            let index = along(*own, whole(*own), *stride, "k");
            made.index.push(index);
        }
        for own in &axes.rows {
            let index = along(*own, n_rows, n_columns, "i");
            made.index.push(index);
        }
        for (own, stride) in axes.columns.iter().zip(&strides[spread.len()..]) {
            let index = along(*own, whole(*own), *stride, "j");
            made.index.push(index);
        }
        made.work.push(Index::At(place));
        made
    }

    fn matrix_comment(&self, step: StepId, backward: bool) -> String {
        let subject = self.graph.step_text(step);
        if backward { format!("gradients of {subject}") } else { subject }
    }
}

/// The error for a result through which no gradient goes back.
fn no_gradient(graph: &Graph, step: StepId, result: Tensor) -> Error {
    let name = graph.message_name(result);
    Error::new(ErrorKind::Use, format!("no gradient goes back through the vectors of `svd`, and `{name}` are some"))
        .about_step(step)
        .with_end(MessageLine::at(graph.made_by(result), format!("`{name}` has no gradient")))
        .with_help(
            "its values have gradients, and so have the vectors of `eigh`; or write `stop_gradient` around the vectors",
        )
}

/// The error for a matrix with fewer rows than columns, which the program did not say where the function was written.
fn wide(graph: &Graph, step: StepId, function: MatrixFunction, (rows, columns): (Size, Size)) -> Error {
    let name = function.written();
    let message = format!(
        "`{name}` has to know whether a matrix has more columns than rows, and only what follows says that these have {rows} rows, their \
         output axis, and {columns} columns, their input axis"
    );
    let error = Error::new(ErrorKind::Use, message).about_step(step);
    let made = MessageLine::at(
        graph.made_by(graph.first_result(step)),
        "as many rows as columns, or more, as far as is known here".to_string(),
    );
    let ends = graph.step_operands(step).iter().map(|operand| graph.declared_end(*operand));
    ends.chain([made])
        .fold(error, Error::with_end)
        .with_help(format!("write the sizes where the matrix is made: `{columns} -> {rows}`"))
}
