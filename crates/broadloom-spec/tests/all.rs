//! Every test of this crate that is written in Rust, in one binary: `cargo test -p broadloom-spec --test all laws::` runs a part.

mod accepted;
mod laws;
mod malformed;
mod shown;
