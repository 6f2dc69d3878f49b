//! The `broadloom` command.
fn main() {}
