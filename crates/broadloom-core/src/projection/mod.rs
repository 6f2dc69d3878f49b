//! Projections (Formal Core, §7): how the axes of one operation map to loops.
//!
//! The constraints of an operation, read as an order, give sizes; read as an equivalence they say which
//! axes share a loop. [`Equations`] holds the second reading of one operation, with an axis of its own for
//! every axis of every occurrence of a tensor; [`Equations::solve`] gives the product space and the index
//! maps. Reductions are not declared anywhere: they are the loops that the result's map does not mention.
//!
//! | file | holds |
//! |---|---|
//! | `classes` | equations between axes, and their classes (Defs. 7.1-7.3) |
//! | `solve` | loops and index maps, with affine and concatenated axes |
//! | `phases` | which loops run together, and who takes part |
//! | `maps` | whether a map is one-to-one, and onto |

mod classes;
mod maps;
mod phases;
mod scratch;
mod solve;

pub use classes::{AxisId, ConcatPart, Equations, Failure};
pub use maps::{Component, LoopId, Verdict, is_in_order, is_injective, is_positional, is_surjective};
pub use phases::Phase;
pub use scratch::Pin;
pub use solve::{AxisIndex, Loop, Projection, Segment};
