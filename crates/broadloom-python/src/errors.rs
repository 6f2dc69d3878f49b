//! The exceptions of the package, which are written in Python.

use pyo3::prelude::*;

/// The exception `name` of `broadloom._shape_errors` with a message.
pub fn raise(py: Python<'_>, name: &str, message: String) -> PyErr {
    let made =
        py.import("broadloom._shape_errors").and_then(|module| module.getattr(name)?.call1((message,)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
