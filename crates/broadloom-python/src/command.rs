//! The command `broadloom`, as the wheel brings it.

use pyo3::prelude::*;

use crate::errors::detached;

/// Carries out a command with the streams of this process, and returns its exit status. The first argument is the name of the
/// program.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<String>) -> PyResult<u8> {
    detached(py, || broadloom_cli::process(arguments))
}
