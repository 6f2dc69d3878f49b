//! The `broadloom` process.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(broadloom_cli::process(std::env::args_os()))
}
