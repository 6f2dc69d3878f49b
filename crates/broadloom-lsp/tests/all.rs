//! All integration tests of this crate in one binary:
//! `cargo test -p broadloom-lsp --test all hostile::` runs a part.

mod actions;
mod client;
mod edits;
mod folders;
mod hostile;
mod meshes;
mod questions;
