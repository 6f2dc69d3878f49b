//! Specs on arrays: from the text of a spec and the shapes of arrays to a plan, which Python carries out with the
//! operations of the library that the arrays come from.
//!
//! ```text
//! text → notation::Equation (groups) → ranks::Flat → sizes (bind) → plan::plan → step::Recipe
//! ```
//!
//! Nothing here looks at the elements of an array. A plan is made for exact shapes, and Python keeps it.

mod bind;
mod groups;
pub(crate) mod mistake;
mod notation;
mod phases;
mod places;
mod plan;
mod ranks;
mod step;
mod symbols;
mod usage;

use broadloom_core::{Padding, Size};
use mistake::{Mistake, MistakeKind};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use ranks::{CallArguments, Value};
use symbols::{Conditions, Symbols, read_size};
use usage::Usage;

/// The plan of a spec for arrays of these shapes: one tree of steps for each result.
///
/// `function` is the name of the function that is called: `einsum`, `sum`, `rearrange`, … Sizes that are no numbers are read and made
/// as `spec::symbols` says, by a `tracer`.
#[pyfunction]
#[pyo3(signature = (function, text, shapes, sizes, reduce, padding, tracer = None))]
#[expect(clippy::too_many_arguments, reason = "the arguments of a function of Python")]
pub fn plan_spec<'py>(
    py: Python<'py>,
    function: &str,
    text: &str,
    shapes: Vec<Vec<Bound<'py, PyAny>>>,
    sizes: &Bound<'py, PyDict>,
    reduce: &str,
    padding: Option<&str>,
    tracer: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let usage = Usage::new(function, reduce)?;
    let padding = padding.map(read_padding).transpose()?;
    let given = CallArguments {
        shapes: shapes.iter().map(|shape| read_shape(shape)).collect::<PyResult<_>>()?,
        sizes: read_sizes(sizes)?,
        padding,
        called: ranks::ALONE.to_owned(),
        conditions: Conditions::default(),
    };
    let nodes = make(text, &given, usage).map_err(|mistake| raise(py, &mistake))?;
    let symbols = Symbols::new(py, tracer);
    symbols.check(&given.conditions)?;
    let nodes: PyResult<Vec<_>> = nodes.iter().map(|node| node.to_python(symbols)).collect();
    PyList::new(py, nodes?)
}

/// The sizes of the labels of a shape, for an array of this shape: a number for a label, a tuple for `..r..`. Messages call the array as it is
/// called.
#[pyfunction]
#[pyo3(signature = (text, shape, called = ranks::ALONE, tracer = None))]
pub fn spec_sizes<'py>(
    py: Python<'py>,
    text: &str,
    shape: Vec<Bound<'py, PyAny>>,
    called: &str,
    tracer: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let given = CallArguments {
        shapes: vec![read_shape(&shape)?],
        sizes: Vec::new(),
        padding: None,
        called: called.to_owned(),
        conditions: Conditions::default(),
    };
    let sizes = named_sizes(text, &given).map_err(|mistake| raise(py, &mistake))?;
    let symbols = Symbols::new(py, tracer);
    symbols.check(&given.conditions)?;
    let found = PyDict::new(py);
    for (name, size) in sizes {
        match size {
            Value::One(size) => found.set_item(name, symbols.size(size)?)?,
            Value::Many(sizes) => {
                let sizes: PyResult<Vec<_>> = sizes.into_iter().map(|size| symbols.size(size)).collect();
                found.set_item(name, PyTuple::new(py, sizes?)?)?;
            }
        }
    }
    Ok(found)
}

/// Refuses a spec that a function is not for, where something else carries it out.
#[pyfunction]
pub fn check_spec(py: Python<'_>, text: &str, function: &str) -> PyResult<()> {
    let usage = Usage::new(function, "sum")?;
    let checked = notation::read(text, usage.takes_shape()).and_then(|equation| usage.check(&equation));
    checked.map_err(|mistake| raise(py, &mistake))
}

fn named_sizes(text: &str, given: &CallArguments) -> Result<Vec<(String, Value)>, Mistake> {
    let equation = notation::read(text, true)?;
    let flat = ranks::expand(&equation, given)?;
    let sizes = bind::bind(&flat, given)?;
    let labels = equation.labels.iter().zip(&sizes).filter(|(label, _)| !label.name.is_empty());
    let mut found: Vec<_> = labels.map(|(label, size)| (label.name.clone(), Value::One(*size))).collect();
    for row in equation.rows.iter().filter(|row| row.shown != "...") {
        let own = |name: &str| name.starts_with(&format!("{}[", row.shown));
        let axes = flat.labels.iter().zip(&sizes).filter(|(label, _)| own(&label.name));
        found.push((row.name.clone(), Value::Many(axes.map(|(_, size)| *size).collect())));
    }
    Ok(found)
}

fn make(text: &str, given: &CallArguments, usage: Usage) -> Result<Vec<step::Recipe>, Mistake> {
    let equation = notation::read(text, usage.takes_shape())?;
    usage.check(&equation)?;
    let flat = ranks::expand(&equation, given)?;
    let sizes = bind::bind(&flat, given)?;
    plan::plan(&flat, given, &sizes, usage.reduction())
}

fn read_sizes(sizes: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Value)>> {
    let mut values = Vec::new();
    for (name, value) in sizes.iter() {
        let name: String = name.extract()?;
        let value = match (value.extract::<u64>(), value.extract::<Vec<u64>>(), read_size(&value)) {
            (Ok(size), _, _) => Value::One(size.into()),
            (_, Ok(sizes), _) => Value::Many(sizes.into_iter().map(Size::from).collect()),
            (_, _, Ok(size)) => Value::One(size),
            _ => {
                let shown = value.repr()?;
                let message = format!(
                    "`{name}` is the size of an axis: a whole number, or a tuple of them for a row, not {shown}"
                );
                return Err(PyTypeError::new_err(message));
            }
        };
        values.push((name, value));
    }
    Ok(values)
}

fn read_shape(shape: &[Bound<'_, PyAny>]) -> PyResult<Vec<Size>> {
    shape.iter().map(read_size).collect()
}

fn read_padding(name: &str) -> PyResult<Padding> {
    match name {
        "valid" => Ok(Padding::Valid),
        "drop" => Ok(Padding::Dropped),
        "same" => Ok(Padding::Padded),
        _ => Err(PyTypeError::new_err(format!("padding is \"valid\", \"drop\" or \"same\", not \"{name}\""))),
    }
}

/// The exception for a mistake.
pub(crate) fn raise(py: Python<'_>, mistake: &Mistake) -> PyErr {
    let name = match mistake.kind {
        MistakeKind::Spec => "SpecError",
        MistakeKind::Shape => "ShapeError",
    };
    crate::errors::raise_with(py, name, mistake.render(), &mistake.sources(), mistake.diagnostic())
}
