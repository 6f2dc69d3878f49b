//! Reasons read back: the constraints and policy steps behind a fact or a conflict.
//!
//! [`walk`] goes from a fact to the facts it was derived from, [`blame`] begins at a conflict, and [`chain`] begins
//! at the value of a variable.

pub(crate) mod blame;
pub(crate) mod chain;
pub(crate) mod walk;
