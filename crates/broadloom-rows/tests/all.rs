//! Every test of this crate that is written in Rust, in one binary: `cargo test -p broadloom-rows --test all parser::` runs a part.

mod parser;
mod robust;
