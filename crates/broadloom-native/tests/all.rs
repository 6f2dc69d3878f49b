//! All integration tests of this crate in one binary:
//! `cargo test -p broadloom-native --test all contract::` runs a part.

mod compiler;
mod contract;
#[path = "../../broadloom-loops/tests/support/mod.rs"]
mod language;
mod names;
mod random;
mod shapes;
mod sizes;
mod support;
mod values;
