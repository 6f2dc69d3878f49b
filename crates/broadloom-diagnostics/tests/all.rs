//! Every test of this crate that is written in Rust, in one binary: `cargo test -p broadloom-diagnostics --test all laws::` runs a part.

mod json;
mod render;
