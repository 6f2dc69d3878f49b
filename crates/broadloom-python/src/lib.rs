//! The Python front of Broadloom: it translates between Python and the crates below, and nothing more.
//!
//! The module is `broadloom._broadloom`; people import the package `broadloom`, which is written in Python around it.

mod errors;
mod shaped;
mod spec;

use pyo3::prelude::*;

/// The part of the package `broadloom` that is written in Rust.
#[pymodule]
mod _broadloom {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::shaped::{CheckedCall, Checker};
    #[pymodule_export]
    use crate::spec::plan_spec;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
