//! The tests that are data: the output of each command (`golden/`), modules of MLIR, and routines on XLA.
//!
//! `cargo test -p broadloom-cli --test cases golden::` runs a part; with `UPDATE_EXPECT=1` in the
//! environment, the expected output is rewritten in place.

mod golden;
mod mlir;
mod support;
mod xla;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // Command lines name programs of that folder.
    std::env::set_current_dir(support::programs()).expect("the folder of the programs");
    let trials = golden::trials().into_iter().chain(mlir::trials()).chain(xla::trials()).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
