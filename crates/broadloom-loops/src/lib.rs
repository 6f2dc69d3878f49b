//! Loop nests: lowering, optimisation, a reference evaluator and a native backend.
//!
//! A [`Program`] is a list of nests over buffers. [`evaluate`](reference::evaluate) runs it slowly and
//! obviously; [`optimise`](optimise::optimise) rewrites it; [`native`] compiles it to machine code.

mod array;
mod memory;
pub mod mlir;
pub mod native;
pub mod optimise;
pub mod program;
pub mod random;
pub mod reference;
pub mod replace;
pub mod scalar;
mod show;
mod shown;

pub use broadloom_core::Size;

pub use array::{Array, ArrayError, Dtype, Element, Values};
pub use half::{bf16, f16};
pub use memory::Block;
pub use program::{Buffer, BufferId, Cell, Index, Local, Loop, Nest, Program, Statement, Storage};
pub use scalar::{Binary, Scalar, Unary};
pub use shown::shown_path;

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
