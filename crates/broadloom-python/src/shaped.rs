//! Checked functions: arrays held against the shapes in the annotations of a function.
//!
//! Python reads the annotations once, at the first call, and makes a [`Checker`]. A call gives it the arguments and gets a
//! [`CheckedCall`], which knows the sizes that were found and holds the result against them. Only a misfit goes back to
//! Python, which words it.

mod array;
mod describe;
mod matching;
mod pattern;
mod size_expr;
mod want;

use array::{ArrayType, Elements};
use matching::{Found, Outcome};
use pattern::{Names, Pattern};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use want::{Failure, Reason, Slot, Want};

/// The annotations of one function, ready to be held against arguments.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Checker {
    names: Names,
    slots: Vec<Slot>,
    parameters: Vec<Parameter>,
    result: Option<Want>,
    /// Names of parameters that `**kwargs` does not get.
    taken: Vec<String>,
    /// Makes the exception for a misfit.
    report: Py<PyAny>,
}

/// An annotated parameter.
struct Parameter {
    name: Py<PyString>,
    place: Place,
    want: Want,
}

/// How a parameter gets its value.
enum Place {
    /// By position, or by name.
    Position(usize),
    /// By name only.
    Name,
    /// `*args`, from this position on.
    Rest(usize),
    /// `**kwargs`.
    Names,
}

/// One call of a checked function: the sizes that were found.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct CheckedCall {
    checker: Py<Checker>,
    found: Mutex<Found>,
    args: Py<PyTuple>,
    kwargs: Py<PyDict>,
}

#[pymethods]
impl Checker {
    /// Makes a checker from `(name, place, position, want)` for each annotated parameter, and the `want` of the result.
    #[new]
    fn new(
        parameters: Vec<(Bound<'_, PyString>, String, usize, Bound<'_, PyTuple>)>,
        result: Option<Bound<'_, PyTuple>>,
        taken: Vec<String>,
        report: Py<PyAny>,
    ) -> PyResult<Checker> {
        let mut builder = Builder { names: Names::default(), slots: Vec::new() };
        let mut made = Vec::new();
        for (name, place, position, want) in parameters {
            let want = builder.want(&want, &name.to_string())?;
            let place = match place.as_str() {
                "name" => Place::Name,
                "rest" => Place::Rest(position),
                "names" => Place::Names,
                _ => Place::Position(position),
            };
            made.push(Parameter { name: name.unbind(), place, want });
        }
        let result = result.map(|want| builder.want(&want, "result")).transpose()?;
        Ok(Checker { names: builder.names, slots: builder.slots, parameters: made, result, taken, report })
    }

    /// Holds arguments against the annotations.
    fn check<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<CheckedCall> {
        let checker = slf.get();
        let mut found = Found::new(checker.names.labels.len(), checker.names.rows.len());
        checker
            .arguments(args, kwargs, &mut found)
            .and_then(|()| checker.settle(slf.py(), &mut found))
            .map_err(|failure| checker.raise(slf.py(), &failure, &found, args, kwargs))?;
        Ok(CheckedCall {
            checker: slf.clone().unbind(),
            found: Mutex::new(found),
            args: args.clone().unbind(),
            kwargs: kwargs.clone().unbind(),
        })
    }
}

#[pymethods]
impl CheckedCall {
    /// Holds the result against its annotation, and returns it.
    fn result<'py>(&self, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        let checker = self.checker.get();
        if let Some(want) = &checker.result {
            let mut found = self.found();
            want.check(&checker.slots, &value, &mut found)
                .and_then(|()| checker.settle(py, &mut found))
                .map_err(|failure| {
                    checker.raise(py, &failure, &found, self.args.bind(py), self.kwargs.bind(py))
                })?;
        }
        Ok(value)
    }

    /// The sizes that are known, by name; a row is a tuple.
    fn sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (checker, found) = (self.checker.get(), self.found());
        let sizes = PyDict::new(py);
        for (label, name) in checker.names.labels.iter().enumerate() {
            if let Some(size) = found.size(label) {
                sizes.set_item(name, size)?;
            }
        }
        for (row, name) in checker.names.rows.iter().enumerate() {
            if let Some(axes) = found.row(row) {
                sizes.set_item(name, PyTuple::new(py, axes)?)?;
            }
        }
        Ok(sizes)
    }
}

impl CheckedCall {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Checker {
    fn arguments(
        &self,
        args: &Bound<'_, PyTuple>,
        kwargs: &Bound<'_, PyDict>,
        found: &mut Found,
    ) -> Result<(), Box<Failure>> {
        let by_name = |name: &Py<PyString>| kwargs.get_item(name).ok().flatten();
        let count = args.len();
        for Parameter { name, place, want } in &self.parameters {
            match place {
                Place::Position(position) if *position < count => match args.get_borrowed_item(*position) {
                    Ok(value) => want.check(&self.slots, &value, found)?,
                    Err(_) => continue,
                },
                Place::Position(_) | Place::Name => {
                    if let Some(value) = by_name(name) {
                        want.check(&self.slots, &value, found)?;
                    }
                }
                Place::Rest(position) => {
                    for (at, value) in args.iter().enumerate().skip(*position) {
                        want.check(&self.slots, &value, found).map_err(|mut failure| {
                            failure.path = format!("[{}]{}", at - position, failure.path);
                            failure
                        })?;
                    }
                }
                Place::Names => {
                    for (key, value) in kwargs.iter() {
                        let key = key.to_string();
                        if !self.taken.contains(&key) {
                            want.check(&self.slots, &value, found).map_err(|mut failure| {
                                failure.path = format!("[\"{key}\"]{}", failure.path);
                                failure
                            })?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Looks again at what had to wait, and at the ranges.
    fn settle(&self, py: Python<'_>, found: &mut Found) -> Result<(), Box<Failure>> {
        let failure =
            |slot, reason| Box::new(Failure { slot, path: String::new(), value: py.None(), reason });
        let mut before = usize::MAX;
        while !found.waiting.is_empty() && found.waiting.len() < before {
            let waiting = std::mem::take(&mut found.waiting);
            before = waiting.len();
            for (slot, shape) in waiting {
                match found.fit(&self.slots[slot].pattern, &shape, slot) {
                    Ok(Outcome::Fits) => {}
                    Ok(Outcome::Waits) => found.waiting.push((slot, shape)),
                    Err(misfit) => return Err(failure(slot, Reason::Shape(misfit))),
                }
            }
        }
        match found.outside(&self.names.ranges) {
            Some((misfit, (slot, _))) => Err(failure(slot as usize, Reason::Shape(misfit))),
            None => Ok(()),
        }
    }
}

struct Builder {
    names: Names,
    slots: Vec<Slot>,
}

impl Builder {
    /// Reads `("array", type, elements, text)`, `("optional", want)`, `("union", …)`, `("tuple", …)`, `("many", want)` or `("mapping", want)`.
    fn want(&mut self, want: &Bound<'_, PyTuple>, argument: &str) -> PyResult<Want> {
        let kind: String = want.get_item(0)?.extract()?;
        if kind == "array" {
            return self.array(want, argument);
        }
        let mut inner = Vec::new();
        for item in want.iter().skip(1) {
            inner.push(self.want(item.cast::<PyTuple>()?, argument)?);
        }
        Ok(match (kind.as_str(), inner.len()) {
            ("union", _) => Want::Union(inner),
            ("tuple", _) => Want::Tuple(inner),
            ("optional", 1) => Want::Optional(Box::new(inner.remove(0))),
            ("mapping", 1) => Want::Mapping(Box::new(inner.remove(0))),
            ("many", 1) => Want::Many(Box::new(inner.remove(0))),
            _ => return Err(PyTypeError::new_err(format!("the annotation of `{argument}` cannot be read"))),
        })
    }

    fn array(&mut self, want: &Bound<'_, PyTuple>, argument: &str) -> PyResult<Want> {
        let (_, array_type, elements, text): (String, Option<Py<PyAny>>, String, String) = want.extract()?;
        let pattern = Pattern::read(&text, &mut self.names)
            .map_err(|message| crate::errors::raise(want.py(), "SpecError", message))?;
        self.slots.push(Slot {
            argument: argument.to_owned(),
            text,
            pattern,
            elements: Elements::named(&elements),
            array_type: array_type.map(ArrayType::new),
            last_dtype: AtomicUsize::new(0),
        });
        Ok(Want::Array(self.slots.len() - 1))
    }
}
