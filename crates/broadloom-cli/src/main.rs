//! The `broadloom` process.

use std::process::ExitCode;

/// A growing graph asks for memory in small pieces: this allocator is faster at that, and takes them from huge pages.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(broadloom_cli::process(std::env::args_os()))
}
