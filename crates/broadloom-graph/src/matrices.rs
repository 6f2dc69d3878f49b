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
//! | qr | `..b.. \| n -> m => ..b.. \| n -> m; ..b.. \| n -> n` |
//! | eigh | `..b.. \| n -> n => ..b.. \| n; ..b.. \| n -> n` |
//! | svd | `..b.. \| n -> m => ..b.. \| n -> m; ..b.. \| n; ..b.. \| n -> n` |
//!
//! Their values and gradients are rows of the table of [`MatrixFunction`]s.

use broadloom_loops::MatrixFunction;

use crate::error::{Error, ErrorKind};
use crate::facts::Special;
use crate::spec_options::SpecOptions;
use crate::step::Tensor;
use crate::{Graph, elaborate, partial_shape};

/// One square matrix to another.
const SQUARE: &str = "..b.. | n -> n => ..b.. | n -> n";
/// One square matrix to a number.
const NUMBER: &str = "..b.. | n -> n => ..b.. |";

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
        let [alone, single] = [a, b].map(|tensor| {
            let [batch, ..] = partial_shape::shape(self, tensor).rows;
            !batch.open && batch.lead.is_empty() && batch.trail.is_empty()
        });
        let spec = match (alone, single) {
            (true, _) => "n -> n; ..b.. | ..k.. -> n => ..b.. | ..k.. -> n",
            (false, true) => "..b.. | n -> n; ..k.. -> n => ..b.. | ..k.. -> n",
            (false, false) => "..b.. | n -> n; ..b.. | ..k.. -> n => ..b.. | ..k.. -> n",
        };
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
        self.one_matrix(MatrixFunction::Inverse, SQUARE, &[a])
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
        self.one_matrix(MatrixFunction::Det, NUMBER, &[a])
    }

    /// The logarithm of the absolute value of the determinant of each matrix of a batch, which may be too large or too small for a number.
    pub fn logdet(&mut self, a: Tensor) -> Result<Tensor, Error> {
        self.one_matrix(MatrixFunction::LogDet, NUMBER, &[a])
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
        self.one_matrix(MatrixFunction::Cholesky, SQUARE, &[a])
    }

    /// The matrices `q`, with columns of unit length at right angles, and `r`, upper triangular, with `q @ r` each matrix of a batch. Matrices
    /// have at least as many rows, the output axis, as columns.
    ///
    /// ```
    /// let mut g = broadloom::Graph::new();
    /// let a = g.data("a", "32 | 3 -> 5")?;
    /// let [q, r] = g.qr(a)?;
    /// assert_eq!(g.final_shape(q)?.to_string(), "32 | 3 -> 5");
    /// assert_eq!(g.final_shape(r)?.to_string(), "32 | 3 -> 3");
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn qr(&mut self, a: Tensor) -> Result<[Tensor; 2], Error> {
        let spec = "..b.. | n -> m => ..b.. | n -> m; ..b.. | n -> n";
        self.by_matrices(MatrixFunction::Qr, spec, &[a])
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

    /// The singular values of each matrix of a batch in descending order, between the left and the right vectors as columns. Matrices have at
    /// least as many rows as columns.
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
        let spec = "..b.. | n -> m => ..b.. | n -> m; ..b.. | n; ..b.. | n -> n";
        self.by_matrices(MatrixFunction::Svd, spec, &[a])
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
        let options = SpecOptions { name: Some(function.name()), ..SpecOptions::default() };
        let results = elaborate::by_spec(self, spec.into(), operands, &options, Some(N))?;
        self.facts.special.insert(self.steps.len() as u32 - 1, Special::Matrix(function));
        results.try_into().map_err(|_| Error::new(ErrorKind::Use, "the spec has other results"))
    }
}
