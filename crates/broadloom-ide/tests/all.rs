//! Every test of this crate that is written in Rust, in one binary: `cargo test -p broadloom-ide --test all hints::` runs a part.

mod answers;
mod editing;
mod robust;
