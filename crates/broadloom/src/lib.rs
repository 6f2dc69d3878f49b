//! Tensor programs whose shapes are inferred.
//!
//! You write the arithmetic; Broadloom finds every axis. A tensor has three rows of axes, written
//! `batch | input -> output`: a linear map has inputs and outputs, a collection has batch axes, and `@`
//! composes maps, so a layer is `w @ x + b` and nobody writes the shape of `w`.
//!
//! ```
//! use broadloom::Graph;
//!
//! let mut g = Graph::new();
//! let x = g.data("x", "32 | 784")?;
//! let (w1, b1, w2) = (g.param("w1"), g.param_shaped("b1", "64")?, g.param("w2"));
//! let hidden = g.compose(w1, x)?;
//! let hidden = g.add(hidden, b1)?;
//! let hidden = g.relu(hidden)?;
//! let logits = g.compose(w2, hidden)?;
//! let target = g.data("target", "32 | 10")?;
//! let loss = g.sub(logits, target)?;
//!
//! let shapes = g.final_shapes()?;
//! assert_eq!(shapes.get(w1).to_string(), "784 -> 64");
//! assert_eq!(shapes.get(w2).to_string(), "64 -> 10");
//! assert_eq!(shapes.get(loss).to_string(), "32 | 10");
//! # Ok::<(), broadloom::Error>(())
//! ```
//!
//! - [`Graph`]: tensors and operations. Shapes are inferred as the graph grows; [`Graph::shape`] shows what is
//!   known so far and [`Graph::final_shapes`] what closing makes of it. Looking changes nothing.
//! - [`logic`]: how each operation relates the rows of its operands and of its result.
//! - [`blocks`]: layers and losses, written with expressions.
//! - [`Graph::dim`]: named sizes with ranges; shapes are inferred with the names in them.
//! - [`Error`]: what is wrong, in the names of the program.

pub mod blocks;
mod broadcasts;
mod capture;
pub mod certificate;
mod discard;
mod elaborate;
mod error;
mod expr;
pub mod files;
mod fit;
mod formula;
mod graph;
mod how;
mod initial;
pub mod join;
mod leaves;
pub mod logic;
mod lower;
mod message;
mod names;
mod nest;
mod node;
mod notation;
mod operation;
mod project;
pub mod random;
mod routine;
mod rules;
mod session;
mod shape;
mod size;
mod step;
mod sum;
mod symbols;
pub mod typed;
mod undetermined;
mod update;

pub use broadcasts::Broadcast;
pub use broadloom_core::Padding;
pub use broadloom_loops::native::{Cache, CacheUsage};
pub use broadloom_loops::{Array, ArrayError, Dtype, Element, Values, bf16, f16};
pub use broadloom_spec as spec;
pub use broadloom_spec::Kind;
pub use capture::Captured;
pub use certificate::Certificate;
pub use error::{Error, ErrorKind, Part, Remedy};
pub use expr::{Builder, Expr, Operand};
pub use fit::{Fit, FoundSize, Input, Misfit, Said};
pub use formula::{Assignments, Formula, Name, Sign};
pub use graph::{Graph, Stats};
pub use how::How;
pub use initial::Initial;
pub use logic::{Accumulate, Combine, Index, Options};
pub use message::Why;
pub use node::{LeafKind, Node};
pub use notation::Notation;
pub use operation::Operation;
pub use project::{Fill, Margins, Projected};
pub use routine::Routine;
pub use session::{
    Allocated, Backend, Memory, MemoryRange, MemoryRole, OpenSize, Rehearsal, Session, Settings, Stored,
    Temporaries,
};
pub use shape::{Axis, PartialAxis, PartialRow, PartialShape, Shape, Shapes};
pub use size::{Extent, SymbolicSize};
pub use step::Tensor;
pub use sum::SizeSum;
pub use symbols::RuntimeCheck;
pub use update::{Adam, Sgd};

/// The code in the guide is compiled and run by the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/shapes.md")]
struct Guide;

/// The guide to loops, so that its examples are run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/loops.md")]
struct Loops;

/// The guide to running programs, so that its examples are run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/running.md")]
struct Running;

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
