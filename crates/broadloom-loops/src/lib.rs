//! Loop nests: lowering, optimisation, a reference evaluator and a native backend.

mod array;

pub use array::{Array, ArrayError, Dtype, Values};
