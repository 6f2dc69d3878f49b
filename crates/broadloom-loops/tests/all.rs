//! All integration tests of this crate in one binary:
//! `cargo test -p broadloom-loops --test all optimise::` runs a part.

mod mlir;
mod optimise;
mod optimise_bodies;
mod optimise_edges;
mod optimise_laws;
mod optimise_products;
mod optimise_turns;
mod support;
mod wasm;
