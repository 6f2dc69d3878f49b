//! The parts of the `broadloom` command that can be used and tested without a terminal.

pub mod rows;
pub mod solve;
