//! The programs and systems that the benchmarks measure; see `docs/benchmarks.md`.

pub mod families;
pub mod growing;
pub mod measures;
pub mod onnx;
pub mod programs;
pub mod runs;

/// The allocator of the command, so that what is measured here is what people have.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
