//! Every test of this crate that is written in Rust, in one binary: `cargo test -p broadloom-loops --test all laws::` runs a part.

mod mlir;
mod native;
mod native_compiler;
mod native_contract;
mod native_names;
mod native_random;
mod native_shapes;
mod native_support;
mod optimise;
mod optimise_bodies;
mod optimise_edges;
mod optimise_laws;
mod support;
