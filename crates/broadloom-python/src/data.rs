//! Answers as Python objects: whatever can be serialised becomes dictionaries, lists, texts and numbers.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value;

/// An answer as Python objects.
pub fn object<'py>(py: Python<'py>, answer: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    match serde_json::to_value(answer) {
        Ok(value) => translated(py, &value),
        Err(error) => Err(PyRuntimeError::new_err(format!("an answer cannot be shown: {error}"))),
    }
}

fn translated<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (None, Some(number)) => number.into_pyobject(py)?.into_any(),
            (None, None) => number.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::Array(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(translated(py, value)?)?;
            }
            list.into_any()
        }
        Value::Object(pairs) => {
            let dict = PyDict::new(py);
            for (key, value) in pairs {
                dict.set_item(key, translated(py, value)?)?;
            }
            dict.into_any()
        }
    })
}
