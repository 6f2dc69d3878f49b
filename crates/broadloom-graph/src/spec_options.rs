//! The choices that operations leave to their users: how elements are combined and accumulated, which element a slice takes.

use broadloom_core::Padding;

use crate::operation::id::OperationId;

/// The batch element that a slice takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SliceIndex {
    /// A position, counted from zero.
    At(u64),
    /// A position supplied when the program runs, below this bound if one is known.
    Run {
        /// The number of positions.
        range: Option<u64>,
    },
    /// Every position, one after another: that of the turn of a scan.
    Turn,
}

/// The choices that a spec leaves to its user.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpecOptions<'a> {
    /// The padding of windows without a marker (`o+k`).
    pub padding: Option<Padding>,
    /// The values of strides and dilations given by name.
    pub coefficients: &'a [(&'a str, u64)],
    /// The operation that the spec describes; [`OperationId::Einsum`] or [`OperationId::Split`] if `None`.
    pub operation: Option<OperationId>,
    /// The operation that combines values that meet in one cell of the result.
    pub accumulate: Accumulate,
    /// The operation that combines the operands at each point.
    pub combine: Combine,
}

/// The operation that combines the operands of a spec at each point.
///
/// ```
/// use broadloom::{Accumulate, Combine, Graph, SpecOptions};
/// let mut g = Graph::new();
/// let (a, b) = (g.data("a", "3, 4")?, g.data("b", "4, 5")?);
/// // Least sums instead of sums of products: the tropical product, one step of shortest paths.
/// let options = SpecOptions { accumulate: Accumulate::Min, combine: Combine::Sum, ..SpecOptions::default() };
/// let paths = g.einsum_with("i j; j k => i k", &[a, b], &options)?;
/// assert_eq!(g.final_shape(paths)?.to_string(), "3, 5");
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Combine {
    /// They are multiplied.
    #[default]
    Product,
    /// They are added.
    Sum,
    /// The second where the first is not 0, the third elsewhere. There are three operands.
    Where,
}

/// The operation that combines values that meet in one cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Accumulate {
    /// They are added.
    #[default]
    Sum,
    /// They are multiplied.
    Product,
    /// The greatest is kept.
    Max,
    /// The least is kept.
    Min,
}

impl Accumulate {
    /// The neutral element: the value of cells that nothing writes, and of margins.
    pub fn neutral(self) -> f64 {
        match self {
            Accumulate::Sum => 0.0,
            Accumulate::Product => 1.0,
            Accumulate::Max => f64::NEG_INFINITY,
            Accumulate::Min => f64::INFINITY,
        }
    }

    /// Its sign in a loop nest.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Accumulate::Sum => "+=",
            Accumulate::Product => "*=",
            Accumulate::Max => "max=",
            Accumulate::Min => "min=",
        }
    }
}
