//! All integration tests of this crate, except the cases in files, in one binary:
//! `cargo test -p broadloom --test all laws::` runs a part.

mod blocks;
mod certificates;
mod derivatives;
mod dims;
mod family;
mod fit;
mod golden;
mod gradients;
mod language;
mod laws;
mod lookups;
mod many_sizes;
mod matrices;
mod meaning;
mod memory;
mod nodes;
mod numbers;
mod places;
mod programs;
mod random_specs;
mod readme;
mod refusals;
mod run_sizes;
mod running;
mod scan;
mod sequences;
mod sorting;
mod support;
mod symbolic;
mod threads;
mod training;
mod typed;
mod why;
mod xla;
