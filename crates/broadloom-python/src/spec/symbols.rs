//! Sizes that are no numbers, as a tracer of Python has them: expressions over its symbols, and what has to hold of them.
//!
//! Python hands over a size as a sum of products, `[(factor, [place, …]), …]`, and gets the sizes of a plan back in the same form, through an object
//! with two methods: `size(terms)` makes a size of the tracer, and `holds(terms)` returns true if the sum is not negative. A plan of numbers asks nothing.

use std::cell::RefCell;

use broadloom_core::Size;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Conditions of a plan: sizes that must not be negative, in the order in which they were relied on. Numbers are never among them.
#[derive(Default)]
pub struct Conditions(RefCell<Vec<Size>>);

impl Conditions {
    /// Returns true if one size is at most another, for all sizes or under a condition.
    pub fn at_most(&self, less: Size, more: Size) -> bool {
        if less.at_most(more) {
            return true;
        }
        let open = (more - less).is_open() && !more.below(less);
        if open {
            self.0.borrow_mut().push(more - less);
        }
        open
    }

    /// The size, or zero where it is negative. Which of them, is a condition if it depends on symbols.
    pub fn or_zero(&self, size: Size) -> Size {
        let sign = if size.typical() < 0 { -1 } else { 1 };
        self.at_most(Size::ZERO, size * sign);
        if sign > 0 { size } else { Size::ZERO }
    }
}

/// The way from sizes to objects of Python.
#[derive(Clone, Copy)]
pub struct Symbols<'a, 'py> {
    py: Python<'py>,
    /// The object that makes sizes of the tracer, if there is one.
    tracer: Option<&'a Bound<'py, PyAny>>,
}

impl<'a, 'py> Symbols<'a, 'py> {
    /// Sizes for a tracer, or numbers only.
    pub fn new(py: Python<'py>, tracer: Option<&'a Bound<'py, PyAny>>) -> Symbols<'a, 'py> {
        Symbols { py, tracer }
    }

    /// The interpreter.
    pub fn python(self) -> Python<'py> {
        self.py
    }

    /// A size as a number, or as a size of the tracer.
    pub fn size(self, size: Size) -> PyResult<Bound<'py, PyAny>> {
        match size.as_number() {
            Some(number) => number.into_bound_py_any(self.py),
            None => self.ask("size", size),
        }
    }

    /// Refuses a plan whose conditions do not hold.
    pub fn check(self, conditions: &Conditions) -> PyResult<()> {
        for size in conditions.0.borrow().iter() {
            if !self.ask("holds", *size)?.is_truthy()? {
                return Err(PyValueError::new_err("the plan does not hold for these sizes"));
            }
        }
        Ok(())
    }

    fn ask(self, method: &str, size: Size) -> PyResult<Bound<'py, PyAny>> {
        match (self.tracer, size.terms()) {
            (Some(tracer), Some(terms)) => {
                let terms: Vec<_> = terms.into_iter().map(|(places, factor)| (factor, places)).collect();
                tracer.call_method1(method, (terms,))
            }
            _ => Err(PyValueError::new_err("a size has no expression")),
        }
    }
}

/// Reads a size: a number, or a sum of products of symbols.
pub fn read_size(value: &Bound<'_, PyAny>) -> PyResult<Size> {
    if let Ok(number) = value.extract::<u64>() {
        return Ok(number.into());
    }
    let terms: Vec<(i64, Vec<u32>)> = value.extract()?;
    let term = |(factor, places): (i64, Vec<u32>)| -> Size {
        places.into_iter().map(|place| Size::argument(place, 0)).product::<Size>() * factor
    };
    Ok(terms.into_iter().map(term).sum())
}
