//! What the benchmarks measure; see `docs/benchmarks.md`.

pub mod families;
