//! All integration tests of this crate in one binary:
//! `cargo test -p broadloom-ide --test all hints::` runs a part.

mod answers;
mod editing;
mod edits;
mod extracting;
mod fixes;
mod interfaces;
mod robust;
