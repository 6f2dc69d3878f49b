//! Every test of this crate that is written in Rust, in one binary: `cargo test -p broadloom-core --test all laws::` runs a part.

mod against_enumeration;
mod arithmetic;
mod arithmetic_model;
mod closing_by_definition;
mod definition;
#[allow(dead_code, reason = "the benchmarks read more of a family")]
#[path = "../../../benches/src/families.rs"]
mod families;
mod give_ups;
mod long_chains;
mod maps;
mod modules;
mod oracle;
mod oracle_self;
mod order_laws;
mod projections;
mod solver_laws;
mod symbols;
#[path = "support/translate.rs"]
mod translate;
