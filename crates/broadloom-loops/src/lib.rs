//! Loop nests: the loop language, its optimiser, and a reference evaluator.
//!
//! A [`Program`] is a list of nests over buffers. [`evaluate`](reference::evaluate) runs it slowly and
//! obviously; [`optimise`](optimise::optimise) rewrites it; `broadloom-native` compiles it to machine code.

mod buffer;
pub mod function;
mod gamma;
mod lent;
mod matrix;
pub mod memory;
pub mod mlir;
pub mod optimise;
mod plain;
pub mod program;
mod progression;
pub mod reference;
mod rounding;
pub mod scalar;
mod show;
pub mod wasm;

pub use broadloom_array::{Array, ArrayError, Dtype, Element, Values, bf16, f16};
pub use broadloom_core::Size;
pub use buffer::{Buffer, BufferId, Cell, Index, Local, LoopSum, LoopVar, Storage};
pub use function::{Binary, Domain, Unary, Yields, whole_number};
pub use lent::Lent;
pub use matrix::{MatrixFunction, Role};
pub use memory::Block;
pub use program::{Derived, Group, Loop, Nest, Program, Repeat, Segment, Statement};
pub use progression::Progression;
pub use scalar::Scalar;

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
