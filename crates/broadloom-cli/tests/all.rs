//! All tests of this crate that are written in Rust, in one binary.
//! `cargo test -p broadloom-cli --test all laws::` runs a part.

mod emit;
mod faults;
mod growth;
mod house;
mod json;
mod modules;
mod pictures;
mod process;
mod sentences;
mod support;
mod terminal;
mod verification;
