//! Functions of whole matrices: the one table of them.
//!
//! A function works in place, on one row of 64-bit floats that holds its matrices one after another, each row by row. Which tensors are
//! copied into the parts of that row before, and which are copied out of them afterwards, is said by their [roles](Role); ordinary
//! loops do so, so that types, batches and margins are no concern of a function. The gradient of a function is a function, too:
//!
//! | function | parts | reads | writes |
//! |---|---|---|---|
//! | `solve` | `a: n × n`, `b: n × k` | both operands | the result, in place of `b` |
//! | `solve_back` | `a: n × n`, `x: n × k`, `g: n × k` | operand, result, its gradient | gradients in place of `a` and `g` |
//!
//! Tall matrices have the sizes `n`, their columns, and `m`, their rows; wide ones first their rows. So the first size is that of the square
//! parts of either.

#[cfg(not(target_arch = "wasm32"))]
mod kernels;

use crate::Size;

/// A function of matrices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MatrixFunction {
    /// The solution `x` of `a @ x = b`, by elimination with partial pivoting.
    Solve,
    /// Its gradients: `a⁻ᵀ g`, and minus its product with `xᵀ`.
    SolveBack,
    /// The inverse.
    Inverse,
    /// Its gradient: `−a⁻ᵀ g a⁻ᵀ`.
    InverseBack,
    /// The determinant.
    Det,
    /// Its gradient: the cofactors, which singular matrices have, too.
    DetBack,
    /// The logarithm of the absolute value of the determinant.
    LogDet,
    /// Its gradient: the transpose of the inverse.
    LogDetBack,
    /// The lower triangular matrix whose product with its transpose is the symmetric part of a matrix.
    Cholesky,
    /// Its gradient.
    CholeskyBack,
    /// Columns of unit length at right angles, and the upper triangular matrix that makes a matrix of them, by Householder's reflections.
    Qr,
    /// Its gradient, for matrices of full rank.
    QrBack,
    /// The same for matrices with more columns than rows.
    QrWide,
    /// Its gradient, for matrices whose first columns, as many as there are rows, are of full rank.
    QrWideBack,
    /// The shortest `x` of those for which `a @ x` is nearest to `b`, for matrices of full rank, by reflections.
    Lstsq,
    /// Its gradients.
    LstsqBack,
    /// The eigenvalues of the symmetric part of a matrix in ascending order, and the eigenvectors as columns, by Jacobi's rotations.
    Eigh,
    /// Its gradient: that of vectors is infinite where values are equal.
    EighBack,
    /// The singular values in descending order, between the left and the right vectors as columns, by one-sided rotations.
    Svd,
    /// The gradient of the singular values.
    SvdBack,
    /// The same for matrices with more columns than rows.
    SvdWide,
    /// The gradient of their singular values.
    SvdWideBack,
}

/// The content of a part of the row of a function. Operands and results are numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// An operand.
    Operand(usize),
    /// A result.
    Result(usize),
    /// The gradient of a result.
    ResultGradient(usize),
    /// The gradient of an operand.
    OperandGradient(usize),
}

/// The facts about a function.
struct Row {
    name: &'static str,
    /// The sizes of each part, as places among the sizes of the function. A part without sizes is a number.
    parts: &'static [&'static [usize]],
    reads: &'static [(Role, usize)],
    writes: &'static [(Role, usize)],
    back: Option<MatrixFunction>,
    /// The number of operations, roughly, as a multiple of the cube of its largest size.
    effort: f64,
}

impl MatrixFunction {
    /// All functions.
    pub const ALL: [MatrixFunction; 22] = {
        use MatrixFunction::*;
        [
            Solve,
            SolveBack,
            Inverse,
            InverseBack,
            Det,
            DetBack,
            LogDet,
            LogDetBack,
            Cholesky,
            CholeskyBack,
            Qr,
            QrBack,
            QrWide,
            QrWideBack,
            Lstsq,
            LstsqBack,
            Eigh,
            EighBack,
            Svd,
            SvdBack,
            SvdWide,
            SvdWideBack,
        ]
    };

    fn row(self) -> Row {
        use MatrixFunction::*;
        use Role::{Operand, OperandGradient, Result, ResultGradient};
        type Parts = &'static [&'static [usize]];
        type Roles = &'static [(Role, usize)];
        let row = |name, parts: Parts, reads: Roles, writes: Roles, back, effort| Row {
            name,
            parts,
            reads,
            writes,
            back,
            effort,
        };
        const SQUARE: &[usize] = &[0, 0];
        const OTHER: &[usize] = &[0, 1];
        const TALL: &[usize] = &[1, 0];
        const RIGHT: &[usize] = &[1, 2];
        const NEAREST: &[usize] = &[0, 2];
        const ROW: &[usize] = &[0];
        const NUMBER: &[usize] = &[];
        match self {
            Solve => row(
                "solve",
                &[SQUARE, OTHER],
                &[(Operand(0), 0), (Operand(1), 1)],
                &[(Result(0), 1)],
                Some(SolveBack),
                2.0,
            ),
            SolveBack => row(
                "solve_back",
                &[SQUARE, OTHER, OTHER],
                &[(Operand(0), 0), (Result(0), 1), (ResultGradient(0), 2)],
                &[(OperandGradient(0), 0), (OperandGradient(1), 2)],
                None,
                3.0,
            ),
            Inverse => row(
                "inverse",
                &[SQUARE, SQUARE],
                &[(Operand(0), 0)],
                &[(Result(0), 1)],
                Some(InverseBack),
                2.0,
            ),
            InverseBack => row(
                "inverse_back",
                &[SQUARE, SQUARE, SQUARE],
                &[(Result(0), 0), (ResultGradient(0), 1)],
                &[(OperandGradient(0), 1)],
                None,
                4.0,
            ),
            Det => row("det", &[SQUARE, NUMBER], &[(Operand(0), 0)], &[(Result(0), 1)], Some(DetBack), 0.7),
            DetBack => row(
                "det_back",
                &[SQUARE, NUMBER, SQUARE, ROW, ROW],
                &[(Operand(0), 0), (ResultGradient(0), 1)],
                &[(OperandGradient(0), 0)],
                None,
                3.0,
            ),
            LogDet => {
                let back = Some(LogDetBack);
                row("logdet", &[SQUARE, NUMBER], &[(Operand(0), 0)], &[(Result(0), 1)], back, 0.7)
            }
            LogDetBack => row(
                "logdet_back",
                &[SQUARE, NUMBER, SQUARE],
                &[(Operand(0), 0), (ResultGradient(0), 1)],
                &[(OperandGradient(0), 0)],
                None,
                2.0,
            ),
            Cholesky => {
                row("cholesky", &[SQUARE], &[(Operand(0), 0)], &[(Result(0), 0)], Some(CholeskyBack), 0.4)
            }
            CholeskyBack => row(
                "cholesky_back",
                &[SQUARE, SQUARE, SQUARE],
                &[(Result(0), 0), (ResultGradient(0), 1)],
                &[(OperandGradient(0), 1)],
                None,
                3.0,
            ),
            Qr => row(
                "qr",
                &[TALL, SQUARE, ROW],
                &[(Operand(0), 0)],
                &[(Result(0), 0), (Result(1), 1)],
                Some(QrBack),
                4.0,
            ),
            QrBack => row(
                "qr_back",
                &[TALL, SQUARE, TALL, SQUARE, SQUARE],
                &[(Result(0), 0), (Result(1), 1), (ResultGradient(0), 2), (ResultGradient(1), 3)],
                &[(OperandGradient(0), 2)],
                None,
                5.0,
            ),
            QrWide => row(
                "qr_wide",
                &[OTHER, SQUARE, SQUARE, ROW],
                &[(Operand(0), 0)],
                &[(Result(0), 1), (Result(1), 0)],
                Some(QrWideBack),
                4.0,
            ),
            QrWideBack => row(
                "qr_wide_back",
                &[OTHER, OTHER, SQUARE, SQUARE, SQUARE, SQUARE, SQUARE],
                &[(Result(0), 2), (Result(1), 0), (ResultGradient(0), 4), (ResultGradient(1), 1)],
                &[(OperandGradient(0), 1)],
                None,
                5.0,
            ),
            Lstsq => row(
                "lstsq",
                &[TALL, RIGHT, NEAREST, TALL, TALL, ROW],
                &[(Operand(0), 0), (Operand(1), 1)],
                &[(Result(0), 2)],
                Some(LstsqBack),
                4.0,
            ),
            LstsqBack => row(
                "lstsq_back",
                &[TALL, RIGHT, NEAREST, NEAREST, RIGHT, TALL, TALL, ROW],
                &[(Operand(0), 0), (Operand(1), 1), (Result(0), 2), (ResultGradient(0), 3)],
                &[(OperandGradient(0), 0), (OperandGradient(1), 4)],
                None,
                6.0,
            ),
            Eigh => row(
                "eigh",
                &[SQUARE, ROW, SQUARE],
                &[(Operand(0), 0)],
                &[(Result(0), 1), (Result(1), 2)],
                Some(EighBack),
                50.0,
            ),
            EighBack => row(
                "eigh_back",
                &[ROW, SQUARE, ROW, SQUARE, SQUARE],
                &[(Result(0), 0), (Result(1), 1), (ResultGradient(0), 2), (ResultGradient(1), 3)],
                &[(OperandGradient(0), 3)],
                None,
                6.0,
            ),
            Svd => row(
                "svd",
                &[TALL, ROW, SQUARE],
                &[(Operand(0), 0)],
                &[(Result(0), 0), (Result(1), 1), (Result(2), 2)],
                Some(SvdBack),
                50.0,
            ),
            SvdBack => row(
                "svd_back",
                &[TALL, SQUARE, ROW, ROW],
                &[(Result(0), 0), (Result(2), 1), (ResultGradient(1), 2)],
                &[(OperandGradient(0), 0)],
                None,
                2.0,
            ),
            SvdWide => row(
                "svd_wide",
                &[OTHER, TALL, ROW, SQUARE],
                &[(Operand(0), 0)],
                &[(Result(0), 3), (Result(1), 2), (Result(2), 1)],
                Some(SvdWideBack),
                50.0,
            ),
            SvdWideBack => row(
                "svd_wide_back",
                &[SQUARE, TALL, ROW, OTHER],
                &[(Result(0), 0), (Result(2), 1), (ResultGradient(1), 2)],
                &[(OperandGradient(0), 3)],
                None,
                2.0,
            ),
        }
    }

    /// Its name: in loops, and behind `matrix_` in C.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Its name in programs, which do not tell tall matrices from wide ones.
    pub fn written(self) -> &'static str {
        let name = self.name();
        name.strip_suffix("_wide").unwrap_or(name)
    }

    /// The parts before it runs: those that are not named hold anything.
    pub fn reads(self) -> &'static [(Role, usize)] {
        self.row().reads
    }

    /// The parts afterwards.
    pub fn writes(self) -> &'static [(Role, usize)] {
        self.row().writes
    }

    /// The function that computes its gradients.
    pub fn back(self) -> Option<MatrixFunction> {
        self.row().back
    }

    /// True if it needs at least as many rows as columns: its sizes are the number of columns, and that of rows.
    pub fn is_tall(self) -> bool {
        matches!(self, MatrixFunction::Qr | MatrixFunction::Svd)
    }

    /// The sizes of a part, as places among its own sizes.
    pub fn part(self, at: usize) -> &'static [usize] {
        self.row().parts[at]
    }

    /// The number of its sizes.
    pub fn arity(self) -> usize {
        self.row().parts.iter().flat_map(|part| part.iter()).max().map_or(0, |last| last + 1)
    }

    /// The place of a part in the row, at some sizes; that of the part behind the last is the length of the row.
    pub fn place(self, at: usize, sizes: &[Size]) -> Size {
        let length = |part: &&[usize]| part.iter().map(|size| sizes[*size]).product::<Size>();
        self.row().parts[..at].iter().map(length).fold(Size::ZERO, |sum, length| sum + length)
    }

    /// The length of its row.
    pub fn room(self, sizes: &[Size]) -> Size {
        self.place(self.row().parts.len(), sizes)
    }

    /// The approximate number of simple operations that it takes.
    pub fn work(self, sizes: &[Size]) -> f64 {
        let largest = sizes.iter().map(|size| size.typical()).max().unwrap_or(1) as f64;
        let least = sizes.iter().map(|size| size.typical()).min().unwrap_or(1) as f64;
        self.row().effort * largest * largest * least
    }

    /// Computes it on a row.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run(self, work: &mut [f64], sizes: &[usize]) {
        kernels::run(self, work, sizes);
    }
}
