//! All tests of this crate that are written in Rust, in one binary.
//! `cargo test -p broadloom-lang --test all laws::` runs a part.

mod documents;
mod examples;
mod formatting;
mod front_end;
mod inferring;
mod laws;
mod library;
mod lint;
mod memory;
mod models;
mod parsing;
mod recovery;
mod replay;
mod running;
mod schemes;
mod suite_support;
mod syntax;
mod weights;
