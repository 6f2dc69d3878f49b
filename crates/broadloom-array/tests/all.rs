//! Every test of this crate that is written in Rust, in one binary.

mod files;
