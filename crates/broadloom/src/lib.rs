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
//! - [`Graph`]: tensors and operations. Shapes are inferred as the graph grows; [`Graph::shape`]
//!   shows what is known so far and [`Graph::final_shapes`] the result of closing it. Reading them
//!   changes nothing.
//! - [`Function`]: a function over graphs with a signature, inferred once from its body.
//! - [`logic`]: the relations of each operation between the rows of its operands and of its result.
//! - [`blocks`]: layers and losses, written with expressions.
//! - [`Graph::dim`]: named sizes with ranges; shapes are inferred with the names in them.
//! - [`Error`]: mistakes, in the names of the program.

pub mod blocks;
pub mod concat;
mod expr;
mod function;
pub mod typed;

pub use broadloom_array::{Array, ArrayError, ArrayNumber, Dtype, Element, Values, bf16, f16, files, random};
pub use broadloom_graph::{
    Accumulate, Along, AssignedNumbers, Assignments, Axis, Beginning, Broadcast, Captured, Certificate,
    ClosingRule, Code, Combine, Completion, ComputedShape, DeclaredShape, Error, ErrorKind, Extent, Fact,
    Fill, Fit, Formula, FormulaName, FoundSize, Graph, Help, How, Initial, Input, Kind, LeafKind, Logic,
    Margins, MessageLine, Misfit, Multiples, Node, Notation, OpenScan, Operation, OperationId, Padding,
    PartialAxis, PartialRow, PartialShape, Pointwise, Projected, Remedy, RuntimeCheck, Said, Scanned, Scheme,
    SchemeAxis, Shape, Shapes, ShownAccess, ShownLoop, ShownNest, Sign, SizeSum, SliceIndex, SpecOptions,
    StatedNames, Stats, StepId, SymbolicSize, Tensor, Why, WhySize, Wording, certificate, example_shape,
    logic,
};
pub use broadloom_native::{Cache, CacheUsage};
pub use broadloom_run::{
    Adam, Allocated, AxisName, Backend, Block, CollectiveKind, Copied, DeviceMemory, Divided, DividedAxis,
    DividedTensor, GivenValues, KnownNests, Lent, Memory, MemoryRange, MemoryRole, Mesh, NeededCollective,
    OpenSize, Precision, Processes, Rehearsal, Routine, RowPlace, Session, Settings, Sgd, Shard, Sharding,
    Stored, Temporaries, computed_from, follow, nest_linalg, reached_data, reached_gradients,
    show_assignments, show_backward, trainable,
};
pub use broadloom_spec as spec;
pub use expr::{Builder, Expr, Operand};
pub use function::{Function, FunctionResults, FunctionSignature};

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
