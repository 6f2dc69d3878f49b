//! Checked functions: arrays compared with the shapes in the annotations of a function.
//!
//! Python reads the annotations once, at the first call, and makes a [`Checker`]. A plain function is called by
//! [`Checker::call`], which compares its arguments before it and its result after it with the annotations. What gives its results
//! later (a generator, a coroutine) gets a [`CheckedCall`], which knows the sizes that were found until then. Only a misfit goes
//! back to Python, which words it.

mod array;
mod describe;
mod entered;
mod matching;
mod pattern;
mod size_expr;
mod want;

use array::{ArrayType, Elements};
use entered::Entered;
pub use entered::entered_sizes;
use matching::{MatchedSizes, Outcome};
use pattern::{Pattern, ShapeNames};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use want::{Failure, Reason, Slot, Want};

/// The annotations of one function, ready to be compared with arguments.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Checker {
    names: ShapeNames,
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
    place: Passing,
    want: Want,
}

/// The way in which a parameter gets its value.
enum Passing {
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
    found: Mutex<MatchedSizes>,
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
        let mut builder = Builder { names: ShapeNames::default(), slots: Vec::new() };
        let mut made = Vec::new();
        for (name, place, position, want) in parameters {
            let want = builder.want(&want, &name.to_string())?;
            let place = match place.as_str() {
                "name" => Passing::Name,
                "rest" => Passing::Rest(position),
                "names" => Passing::Names,
                _ => Passing::Position(position),
            };
            made.push(Parameter { name: name.unbind(), place, want });
        }
        let result = result.map(|want| builder.want(&want, "result")).transpose()?;
        Ok(Checker { names: builder.names, slots: builder.slots, parameters: made, result, taken, report })
    }

    /// Compares arguments with the annotations.
    fn check<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<CheckedCall> {
        let found = slf.get().held(args, kwargs)?;
        Ok(CheckedCall {
            checker: slf.clone().unbind(),
            found: Mutex::new(found),
            args: args.clone().unbind(),
            kwargs: kwargs.clone().unbind(),
        })
    }

    /// Calls a function: its arguments and its result are compared with the annotations.
    fn call<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let checker = slf.get();
        let found = checker.held(args, kwargs)?;
        let entered = Entered::new(slf, kwargs, found);
        let value = function.call(args, (!kwargs.is_empty()).then_some(kwargs));
        let mut found = entered.leave();
        let value = value?;
        checker.result(&value, &mut found, args, kwargs)?;
        Ok(value)
    }
}

#[pymethods]
impl CheckedCall {
    /// Compares the result with its annotation, and returns it.
    fn result<'py>(&self, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        self.checker.get().result(&value, &mut self.found(), self.args.bind(py), self.kwargs.bind(py))?;
        Ok(value)
    }

    /// The sizes that are known, by name; a row is a tuple.
    fn sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.checker.get().sizes(py, &self.found())
    }
}

impl CheckedCall {
    fn found(&self) -> MutexGuard<'_, MatchedSizes> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Checker {
    /// The sizes and rows found in arguments that fit.
    fn held(&self, args: &Bound<'_, PyTuple>, kwargs: &Bound<'_, PyDict>) -> PyResult<MatchedSizes> {
        let mut found = MatchedSizes::new(self.names.labels.len(), self.names.rows.len());
        self.arguments(args, kwargs, &mut found)
            .and_then(|()| self.settle(args.py(), &mut found))
            .map_err(|failure| self.raise(args.py(), &failure, &found, args, kwargs))?;
        Ok(found)
    }

    /// Compares a result with its annotation.
    fn result(
        &self,
        value: &Bound<'_, PyAny>,
        found: &mut MatchedSizes,
        args: &Bound<'_, PyTuple>,
        kwargs: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let Some(want) = &self.result else { return Ok(()) };
        want.check(&self.slots, value, found)
            .and_then(|()| self.settle(value.py(), found))
            .map_err(|failure| self.raise(value.py(), &failure, found, args, kwargs))
    }

    /// The sizes that are known, by name; a row is a tuple.
    fn sizes<'py>(&self, py: Python<'py>, found: &MatchedSizes) -> PyResult<Bound<'py, PyDict>> {
        let sizes = PyDict::new(py);
        for (label, name) in self.names.labels.iter().enumerate() {
            if let Some(size) = found.size(label) {
                sizes.set_item(name, size)?;
            }
        }
        for (row, name) in self.names.rows.iter().enumerate() {
            if let Some(axes) = found.row(row) {
                sizes.set_item(name, PyTuple::new(py, axes)?)?;
            }
        }
        Ok(sizes)
    }

    fn arguments(
        &self,
        args: &Bound<'_, PyTuple>,
        kwargs: &Bound<'_, PyDict>,
        found: &mut MatchedSizes,
    ) -> Result<(), Box<Failure>> {
        let by_name = |name: &Py<PyString>| match kwargs.is_empty() {
            true => None,
            false => kwargs.get_item(name).ok().flatten(),
        };
        let count = args.len();
        for Parameter { name, place, want } in &self.parameters {
            match place {
                Passing::Position(position) if *position < count => match args.get_borrowed_item(*position) {
                    Ok(value) => want.check(&self.slots, &value, found)?,
                    Err(_) => continue,
                },
                Passing::Position(_) | Passing::Name => {
                    if let Some(value) = by_name(name) {
                        want.check(&self.slots, &value, found)?;
                    }
                }
                Passing::Rest(position) => {
                    for (at, value) in args.iter().enumerate().skip(*position) {
                        want.check(&self.slots, &value, found).map_err(|mut failure| {
                            failure.path = format!("[{}]{}", at - position, failure.path);
                            failure
                        })?;
                    }
                }
                Passing::Names => {
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
    fn settle(&self, py: Python<'_>, found: &mut MatchedSizes) -> Result<(), Box<Failure>> {
        let failure = |slot, reason| {
            Box::new(Failure { slot, path: String::new(), value: py.None(), reason, others: Vec::new() })
        };
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
    names: ShapeNames,
    slots: Vec<Slot>,
}

impl Builder {
    /// Reads `("array", type, elements, text)`, `("optional", want)`, `("union", …)`, `("tuple", …)`, `("many", want)`, `("mapping", want)`, or
    /// `("or_other", want, types)`.
    fn want(&mut self, want: &Bound<'_, PyTuple>, argument: &str) -> PyResult<Want> {
        let kind: String = want.get_item(0)?.extract()?;
        if kind == "array" {
            return self.array(want, argument);
        }
        if kind == "or_other" {
            let inner = self.want(want.get_item(1)?.cast::<PyTuple>()?, argument)?;
            return Ok(Want::OrOther(Box::new(inner), want.get_item(2)?.unbind()));
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
            .map_err(|mistake| crate::spec::raise(want.py(), &mistake))?;
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
