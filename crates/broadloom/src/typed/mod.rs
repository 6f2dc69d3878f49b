//! Shapes as types (*Tensor Dimension Inference*): dimensions that are literal, named, dynamic or broadcast, shape
//! rules over lists of them, and tensors that carry such a shape.
//!
//! This is the interface for shapes that come from elsewhere, as flat lists of dimensions. It infers nothing by
//! itself: every rule becomes constraints of the one solver behind [`Graph`](crate::Graph).
//!
//! ```
//! use broadloom::typed::{Context, Dim, DimSpec, TensorShape};
//!
//! let batch = Dim::from(DimSpec::ranged("batch", 32, 1, 64));
//! let mut context = Context::new();
//! let x = TensorShape::new([batch.clone(), Dim::Literal(784)]);
//! let w = TensorShape::new([Dim::Literal(784), Dim::Literal(10)]);
//! assert_eq!(context.matmul(&x, &w)?.to_string(), "[batch: 1..64, 10]");
//!
//! let wrong = TensorShape::new([Dim::Literal(100), Dim::Literal(10)]);
//! assert!(context.matmul(&x, &wrong).is_err());
//! # Ok::<(), broadloom::typed::ShapeError>(())
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `infer` | the context: unification and shape rules |
//! | `error` | errors about shapes, with their data |
//! | `check` | the checks that remain for run time |
//! | `tensor` | tensors with a shape as their type |
//! | `memory` | memory as a range |
//! | `declare` | from a shape to data of a graph |

mod check;
mod declare;
mod error;
mod infer;
mod memory;
mod tensor;

use std::fmt;

pub use check::ShapeCheck;
pub use error::ShapeError;
pub use infer::{Broadcasting, Context, Proof};
pub use memory::TrainingMemory;
pub use tensor::TypedTensor;

/// A dimension, as a user describes it ("DimSpec").
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DimSpec {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The size of the tensor at hand.
    pub sample: u64,
    /// The least size.
    pub min: Option<u64>,
    /// The greatest size.
    pub max: Option<u64>,
}

impl DimSpec {
    /// Exactly one size.
    pub fn exact(size: u64) -> DimSpec {
        DimSpec { name: None, sample: size, min: Some(size), max: Some(size) }
    }

    /// A name for any size.
    pub fn named(name: &str, sample: u64) -> DimSpec {
        DimSpec { name: Some(name.into()), sample, min: None, max: None }
    }

    /// A name for a size in a range, both ends included.
    pub fn ranged(name: &str, sample: u64, min: u64, max: u64) -> DimSpec {
        DimSpec { name: Some(name.into()), sample, min: Some(min), max: Some(max) }
    }

    /// Any size.
    pub fn dynamic(sample: u64) -> DimSpec {
        DimSpec { name: None, sample, min: None, max: None }
    }
}

/// A dimension ("Dimension Type Hierarchy").
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    /// Exactly this size.
    Literal(u64),
    /// To be inferred; made by [`Context::fresh_var`].
    Var(u32),
    /// A name, which has the same size everywhere; with the least and the greatest size, if there
    /// is a range.
    Named(String, Option<(u64, u64)>),
    /// Known at run time only: matches anything.
    Dynamic,
    /// One, or the size of the dimension it meets.
    Broadcast,
    /// An expression over names, which a rule derived: `6*batch`.
    Expression(Box<crate::SymbolicSize>),
}

/// "Conversion to Dim". A range without a name is not part of the type: the dimension is dynamic,
/// and the [check](ShapeCheck) of the tensor has the range.
impl From<DimSpec> for Dim {
    fn from(spec: DimSpec) -> Dim {
        match (spec.name, spec.min, spec.max) {
            (None, Some(min), Some(max)) if min == max => Dim::Literal(min),
            (Some(name), None, None) => Dim::Named(name, None),
            (Some(name), min, max) => Dim::Named(name, Some((min.unwrap_or(1), max.unwrap_or(u64::MAX)))),
            (None, _, _) => Dim::Dynamic,
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Literal(size) => write!(f, "{size}"),
            Dim::Var(var) => write!(f, "α{var}"),
            Dim::Named(name, None) => f.write_str(name),
            Dim::Named(name, Some((lo, u64::MAX))) => write!(f, "{name}: {lo}.."),
            Dim::Named(name, Some((lo, hi))) => write!(f, "{name}: {lo}..{hi}"),
            Dim::Dynamic => f.write_str("*"),
            Dim::Broadcast => f.write_str("?"),
            Dim::Expression(size) => write!(f, "{size}"),
        }
    }
}

/// The dimensions of a tensor, outermost first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TensorShape {
    dims: Vec<Dim>,
}

impl TensorShape {
    /// The shape with these dimensions.
    pub fn new(dims: impl IntoIterator<Item = Dim>) -> TensorShape {
        TensorShape { dims: dims.into_iter().collect() }
    }

    /// The shape of literal sizes.
    pub fn of(sizes: &[u64]) -> TensorShape {
        TensorShape::new(sizes.iter().map(|size| Dim::Literal(*size)))
    }

    /// The dimensions.
    pub fn dims(&self) -> &[Dim] {
        &self.dims
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }
}

impl fmt::Display for TensorShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims.iter().map(Dim::to_string).collect();
        write!(f, "[{}]", dims.join(", "))
    }
}
