//! The programs and systems that the benchmarks measure; see `docs/benchmarks.md`.

pub mod families;
pub mod growing;
pub mod onnx;
pub mod programs;
pub mod runs;
