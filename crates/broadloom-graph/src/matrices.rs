//! Linear algebra: functions of whole matrices, on batches of them.
//!
//! A matrix is a linear map, `n -> m`: a tensor with one input axis, its columns, and one output axis, its rows. Batch axes count
//! matrices.
//!
//! | operation | relation |
//! |---|---|
//! | solve | `..b.. \| n -> n; ..b.. \| ..k.. -> n => ..b.. \| ..k.. -> n`; where one side has no batch axes, the other's are the result's |
//! | inverse, cholesky | `..b.. \| n -> n => ..b.. \| n -> n` |
//! | determinant | `..b.. \| n -> n => ..b.. \|` |
//! | qr, of tall matrices | `..b.. \| n -> m => ..b.. \| n -> m; ..b.. \| n -> n` |
//! | qr, of wide ones | `..b.. \| n -> m => ..b.. \| m -> m; ..b.. \| n -> m` |
//! | lstsq | `..b.. \| n -> m; ..b.. \| ..k.. -> m => ..b.. \| ..k.. -> n`; batch axes as in solve |
//! | eigh | `..b.. \| n -> n => ..b.. \| n; ..b.. \| n -> n` |
//! | svd, of tall matrices | `..b.. \| n -> m => ..b.. \| n -> m; ..b.. \| n; ..b.. \| n -> n` |
//! | svd, of wide ones | `..b.. \| n -> m => ..b.. \| m -> m; ..b.. \| m; ..b.. \| m -> n` |
//!
//! A matrix is wide if the program so far decides that it has fewer rows than columns, whatever its named sizes are. Solving does not choose
//! between the two: the lesser of two sizes is no size that constraints can say. So a matrix that is found to be wide afterwards is refused,
//! and one that is wide at some named sizes only has no answer at those.
//!
//! Columns and rows of one size that count different things are two labels: the inverse of `3:rgb -> 3:xyz` is `3:xyz -> 3:rgb`.
//!
//! Their values and gradients are rows of the table of [`MatrixFunction`]s.

use broadloom_core::Form;
use broadloom_loops::MatrixFunction;
use broadloom_spec::Kind;

use crate::error::{Error, ErrorKind};
use crate::facts::Special;
use crate::operation::id::OperationId;
use crate::shape::{Axis, PartialAxis, PartialRow};
use crate::spec_options::SpecOptions;
use crate::step::Tensor;
use crate::{Graph, elaborate, partial_shape};

impl Graph {
    /// The solution `x` of `a @ x = b`, for each matrix of a batch. A matrix without batch axes serves all of `b`.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (a, b) = (g.data("a", "5 -> 5")?, g.data("b", "32 | 5")?);
    /// let x = g.solve(a, b)?;
    /// assert_eq!(g.final_shape(x)?.to_string(), "32 | 5");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn solve(&mut self, a: Tensor, b: Tensor) -> Result<Tensor, Error> {
        self.begin(&[a, b])?;
        let differ = rows_count_something_else(self, a)?;
        let spec = solution(self, [a, b], differ);
        self.one_matrix(MatrixFunction::Solve, spec, &[a, b])
    }

    /// The inverse of each matrix of a batch. That of a singular matrix is NaN.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let a = g.data("a", "32 | 5 -> 5")?;
    /// let inverse = g.inverse(a)?;
    /// assert_eq!(g.final_shape(inverse)?.to_string(), "32 | 5 -> 5");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn inverse(&mut self, a: Tensor) -> Result<Tensor, Error> {
        let spec = match rows_count_something_else(self, a)? {
            false => "..b.. | n -> n => ..b.. | n -> n",
            true => "..b.. | n -> m => ..b.. | m -> n",
        };
        self.one_matrix(MatrixFunction::Inverse, spec, &[a])
    }

    /// The determinant of each matrix of a batch.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let a = g.data("a", "32 | 5 -> 5")?;
    /// let det = g.det(a)?;
    /// assert_eq!(g.final_shape(det)?.to_string(), "32 |");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn det(&mut self, a: Tensor) -> Result<Tensor, Error> {
        self.number_of_matrix(MatrixFunction::Det, a)
    }

    /// The logarithm of the absolute value of the determinant of each matrix of a batch, which may be too large or too small for a number.
    pub fn logdet(&mut self, a: Tensor) -> Result<Tensor, Error> {
        self.number_of_matrix(MatrixFunction::LogDet, a)
    }

    /// The lower triangular `l` with `l @ transpose(l)` the symmetric part of each matrix of a batch, NaN where that is not positive.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let a = g.data("a", "32 | 5 -> 5")?;
    /// let factor = g.cholesky(a)?;
    /// assert_eq!(g.final_shape(factor)?.to_string(), "32 | 5 -> 5");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn cholesky(&mut self, a: Tensor) -> Result<Tensor, Error> {
        self.one_matrix(MatrixFunction::Cholesky, "..b.. | n -> n => ..b.. | n -> n", &[a])
    }

    /// The matrices `q`, with columns of unit length at right angles, and `r`, upper triangular, with `q @ r` each matrix of a batch. There are
    /// as many columns in `q`, and rows in `r`, as the lesser number of rows, the output axis, and columns of the matrix.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (tall, wide) = (g.data("tall", "32 | 3 -> 5")?, g.data("wide", "32 | 5 -> 3")?);
    /// let [q, r] = g.qr(tall)?;
    /// assert_eq!(g.final_shape(q)?.to_string(), "32 | 3 -> 5");
    /// assert_eq!(g.final_shape(r)?.to_string(), "32 | 3 -> 3");
    /// let [q, r] = g.qr(wide)?;
    /// assert_eq!(g.final_shape(q)?.to_string(), "32 | 3 -> 3");
    /// assert_eq!(g.final_shape(r)?.to_string(), "32 | 5 -> 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn qr(&mut self, a: Tensor) -> Result<[Tensor; 2], Error> {
        let (function, spec) = match is_wide(self, a)? {
            false => (MatrixFunction::Qr, "..b.. | n -> m => ..b.. | n -> m; ..b.. | n -> n"),
            true => (MatrixFunction::QrWide, "..b.. | n -> m => ..b.. | m -> m; ..b.. | n -> m"),
        };
        self.by_matrices(function, spec, &[a])
    }

    /// The `x` for which `a @ x` is nearest to `b`, for each matrix of a batch, of full rank: the shortest, if there are several. A matrix
    /// without batch axes serves all of `b`.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let (a, b) = (g.data("a", "3 -> 5")?, g.data("b", "32 | 5")?);
    /// let x = g.lstsq(a, b)?;
    /// assert_eq!(g.final_shape(x)?.to_string(), "32 | 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn lstsq(&mut self, a: Tensor, b: Tensor) -> Result<Tensor, Error> {
        self.begin(&[a, b])?;
        let spec = solution(self, [a, b], true);
        self.one_matrix(MatrixFunction::Lstsq, spec, &[a, b])
    }

    /// The eigenvalues of the symmetric part of each matrix of a batch in ascending order, and the eigenvectors as columns.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let a = g.data("a", "32 | 5 -> 5")?;
    /// let [values, vectors] = g.eigh(a)?;
    /// assert_eq!(g.final_shape(values)?.to_string(), "32 | 5");
    /// assert_eq!(g.final_shape(vectors)?.to_string(), "32 | 5 -> 5");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn eigh(&mut self, a: Tensor) -> Result<[Tensor; 2], Error> {
        self.by_matrices(MatrixFunction::Eigh, "..b.. | n -> n => ..b.. | n; ..b.. | n -> n", &[a])
    }

    /// The singular values of each matrix of a batch in descending order, between the left and the right vectors as columns. There are as
    /// many as the lesser number of rows and columns.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let a = g.data("a", "32 | 3 -> 5")?;
    /// let [left, values, right] = g.svd(a)?;
    /// assert_eq!(g.final_shape(left)?.to_string(), "32 | 3 -> 5");
    /// assert_eq!(g.final_shape(values)?.to_string(), "32 | 3");
    /// assert_eq!(g.final_shape(right)?.to_string(), "32 | 3 -> 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn svd(&mut self, a: Tensor) -> Result<[Tensor; 3], Error> {
        let (function, spec) = match is_wide(self, a)? {
            false => (MatrixFunction::Svd, "..b.. | n -> m => ..b.. | n -> m; ..b.. | n; ..b.. | n -> n"),
            true => (MatrixFunction::SvdWide, "..b.. | n -> m => ..b.. | m -> m; ..b.. | m; ..b.. | m -> n"),
        };
        self.by_matrices(function, spec, &[a])
    }

    /// A number for each square matrix of a batch.
    fn number_of_matrix(&mut self, function: MatrixFunction, a: Tensor) -> Result<Tensor, Error> {
        let spec = match rows_count_something_else(self, a)? {
            false => "..b.. | n -> n => ..b.. |",
            true => "..b.. | n -> m => ..b.. |",
        };
        self.one_matrix(function, spec, &[a])
    }

    /// A step with one result.
    fn one_matrix(
        &mut self,
        function: MatrixFunction,
        spec: &str,
        operands: &[Tensor],
    ) -> Result<Tensor, Error> {
        self.by_matrices(function, spec, operands).map(|[result]| result)
    }

    /// A step that computes a function of matrices, with results that a spec relates to the operands.
    fn by_matrices<const N: usize>(
        &mut self,
        function: MatrixFunction,
        spec: &str,
        operands: &[Tensor],
    ) -> Result<[Tensor; N], Error> {
        let options =
            SpecOptions { operation: Some(OperationId::Matrix(function)), ..SpecOptions::default() };
        let results = elaborate::by_spec(self, spec.into(), operands, &options, Some(N))?;
        self.facts.special.insert(self.last_step(), Special::Matrix(function));
        results.try_into().map_err(|_| Error::new(ErrorKind::Use, "the spec has other results"))
    }
}

/// The spec of `x` in `a @ x = b`, for a matrix with rows of a label of their own, or of that of its columns. One of the two may be without batch axes,
/// and serves all of the other.
fn solution(graph: &Graph, operands: [Tensor; 2], differ: bool) -> &'static str {
    let [alone, single] = operands.map(|tensor| partial_shape::has_no_axes(graph, tensor, Kind::Batch));
    match (alone, single, differ) {
        (true, _, false) => "n -> n; ..b.. | ..k.. -> n => ..b.. | ..k.. -> n",
        (true, _, true) => "n -> m; ..b.. | ..k.. -> m => ..b.. | ..k.. -> n",
        (false, true, false) => "..b.. | n -> n; ..k.. -> n => ..b.. | ..k.. -> n",
        (false, true, true) => "..b.. | n -> m; ..k.. -> m => ..b.. | ..k.. -> n",
        (false, false, false) => "..b.. | n -> n; ..b.. | ..k.. -> n => ..b.. | ..k.. -> n",
        (false, false, true) => "..b.. | n -> m; ..b.. | ..k.. -> m => ..b.. | ..k.. -> n",
    }
}

/// Returns true if a matrix is known to have fewer rows than columns, whatever the named sizes are.
fn is_wide(graph: &mut Graph, a: Tensor) -> Result<bool, Error> {
    graph.begin(&[a])?;
    let [_, columns, rows] = partial_shape::shape(graph, a).rows.map(|row| size_of(&row));
    let range = |symbol| graph.solver.symbol_bounds(symbol);
    let more = columns.zip(rows).and_then(|(columns, rows)| columns.minus(&rows));
    Ok(more.is_some_and(|more| more.bounds(range).0.is_some_and(|least| least > 0)))
}

/// Returns true if a matrix is known to have as many rows as columns, and rows that count something else.
fn rows_count_something_else(graph: &mut Graph, a: Tensor) -> Result<bool, Error> {
    graph.begin(&[a])?;
    let [_, columns, rows] = &partial_shape::shape(graph, a).rows;
    let as_many = size_of(columns).is_some_and(|size| Some(size) == size_of(rows));
    let known = |row: &PartialRow| matches!(&row.lead[..], [PartialAxis::Known(_)]);
    Ok(as_many && known(columns) && known(rows) && columns.lead != rows.lead)
}

/// The size of the one axis of a row, if it is known.
fn size_of(row: &PartialRow) -> Option<Form> {
    match (&row.lead[..], row.open) {
        ([PartialAxis::Known(Axis::Symbolic(size, _))], false) => Some(size.form().clone()),
        ([axis], false) => axis.size().map(|size| Form::constant(size.into())),
        _ => None,
    }
}
