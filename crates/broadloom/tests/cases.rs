//! The cases that are data: programs in files, with their expected results, and properties that all
//! of them have.
//!
//! `cargo test -p broadloom --test cases wrong::` runs a part; with `UPDATE_EXPECT=1` in the environment, messages and nests are
//! rewritten in place.

mod programs_in_files;
mod properties;
mod support;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let trials = programs_in_files::trials().into_iter().chain(properties::trials()).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
