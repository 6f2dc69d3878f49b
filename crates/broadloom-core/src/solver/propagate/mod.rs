//! Propagation: the rules that derive facts from facts, and the loop that runs them to the fixpoint.
//!
//! Every step here is semantic: what it records is entailed by the constraints. [`add`] takes constraints in, one by
//! one or [`held`] together; [`fixpoint`] is the loop; [`align`] has the rules of rows, [`arith`] those of sizes, [`support`] those of results
//! that are made of their operands. (The rules of dimensions are in the store of dimensions.)

pub(crate) mod add;
pub(crate) mod align;
pub(crate) mod arith;
pub(crate) mod fixpoint;
pub(crate) mod held;
pub(crate) mod support;
