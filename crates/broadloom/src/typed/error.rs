//! Errors about shapes, with their data ("ShapeError", and the errors of the algorithms).

use std::fmt;

use super::{Dim, TensorShape};

/// The reason why shapes do not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ShapeError {
    /// Two sizes that should be equal.
    LiteralMismatch {
        /// The size that was known first, or was declared.
        expected: u64,
        /// The other size.
        actual: u64,
    },
    /// Two shapes with different numbers of dimensions.
    RankMismatch {
        /// One of them.
        left: TensorShape,
        /// The other one.
        right: TensorShape,
    },
    /// Two dimensions that never match: two names.
    Incompatible {
        /// One of them.
        left: Dim,
        /// The other one.
        right: Dim,
    },
    /// Two ranges of a name that have no size in common.
    RangeEmpty {
        /// The name.
        name: String,
        /// The range so far.
        left: (u64, u64),
        /// The other one.
        right: (u64, u64),
    },
    /// A size outside the range of a name.
    DimensionOutOfRange {
        /// The name.
        name: String,
        /// The size.
        actual: u64,
        /// The least size it may have.
        min: u64,
        /// The greatest size it may have.
        max: u64,
    },
    /// A product with an operand that is not a matrix.
    MatmulRank {
        /// The left factor.
        left: TensorShape,
        /// The right factor.
        right: TensorShape,
    },
    /// Matrices whose inner dimensions, or whose batches, do not match.
    MatmulShapeMismatch {
        /// The left factor.
        left: TensorShape,
        /// The right factor.
        right: TensorShape,
        /// The dimensions that do not match.
        cause: Box<ShapeError>,
    },
    /// Shapes that do not broadcast together.
    BroadcastIncompatible {
        /// All of them.
        shapes: Vec<TensorShape>,
        /// The dimensions that do not match.
        cause: Box<ShapeError>,
    },
    /// A reshape that does not preserve the number of elements, whatever the sizes.
    ReshapeElementsMismatch {
        /// The shape it has.
        input: TensorShape,
        /// The shape it should get.
        output: TensorShape,
    },
    /// A transposition of dimensions that do not exist.
    InvalidTransposeDims {
        /// One of them.
        dim0: usize,
        /// The other one.
        dim1: usize,
        /// The number of dimensions.
        rank: usize,
    },
    /// A reduction of a dimension that does not exist.
    InvalidReductionDim {
        /// The dimension.
        dim: usize,
        /// The number of dimensions.
        rank: usize,
    },
    /// Anything else.
    InferenceError {
        /// A description.
        message: String,
    },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeError::LiteralMismatch { expected, actual } => {
                write!(f, "{actual} where {expected} is expected")
            }
            ShapeError::RankMismatch { left, right } => {
                write!(f, "{left} has {} dimensions, {right} has {}", left.rank(), right.rank())
            }
            ShapeError::Incompatible { left, right } => write!(f, "`{left}` and `{right}` are different"),
            ShapeError::RangeEmpty { name, left: (a, b), right: (c, d) } => {
                write!(f, "no size of `{name}` is in both {a}..{b} and {c}..{d}")
            }
            ShapeError::DimensionOutOfRange { name, actual, min, max } => {
                write!(f, "`{name}` cannot be {actual}: its range is {min}..{max}")
            }
            ShapeError::MatmulRank { left, right } => {
                write!(f, "a product needs matrices: {left} @ {right}")
            }
            ShapeError::MatmulShapeMismatch { left, right, cause } => {
                write!(f, "{left} @ {right} does not fit: {cause}")
            }
            ShapeError::BroadcastIncompatible { shapes, cause } => {
                let shapes: Vec<String> = shapes.iter().map(TensorShape::to_string).collect();
                write!(f, "{} do not broadcast together: {cause}", shapes.join(" and "))
            }
            ShapeError::ReshapeElementsMismatch { input, output } => {
                write!(f, "{input} and {output} have different numbers of elements")
            }
            ShapeError::InvalidTransposeDims { dim0, dim1, rank } => {
                write!(f, "dimensions {dim0} and {dim1} cannot be swapped: there are {rank}")
            }
            ShapeError::InvalidReductionDim { dim, rank } => {
                write!(f, "dimension {dim} cannot be reduced: there are {rank}")
            }
            ShapeError::InferenceError { message } => f.write_str(message),
        }
    }
}

impl std::error::Error for ShapeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ShapeError::MatmulShapeMismatch { cause, .. }
            | ShapeError::BroadcastIncompatible { cause, .. } => Some(&**cause),
            _ => None,
        }
    }
}

impl From<crate::Error> for ShapeError {
    fn from(error: crate::Error) -> ShapeError {
        ShapeError::InferenceError { message: error.message().into() }
    }
}
