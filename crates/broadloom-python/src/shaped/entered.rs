//! The checked functions that are running in a thread, for `bl.sizes()`, which asks from inside of one of them.
//!
//! A call is known by its dictionary of keyword arguments: Python makes a new one for each call of the wrapper around a function, and
//! `bl.sizes()` finds it in the frame of that wrapper. This holds where calls of one thread do not end in the order in which they
//! began, as in greenlets.

use super::Checker;
use super::matching::MatchedSizes;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::RefCell;

/// A call that is running, and what was found in its arguments.
struct Call {
    key: usize,
    checker: Py<Checker>,
    found: MatchedSizes,
}

thread_local! {
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
}

/// A call that has begun.
pub struct Entered {
    key: usize,
}

impl Entered {
    /// Begins a call.
    pub fn new(checker: &Bound<'_, Checker>, kwargs: &Bound<'_, PyDict>, found: MatchedSizes) -> Entered {
        let key = kwargs.as_ptr() as usize;
        CALLS.with_borrow_mut(|calls| calls.push(Call { key, checker: checker.clone().unbind(), found }));
        Entered { key }
    }

    /// Ends the call, and gives back what was found.
    pub fn leave(self) -> MatchedSizes {
        CALLS.with_borrow_mut(|calls| match calls.iter().rposition(|call| call.key == self.key) {
            Some(at) => calls.swap_remove(at).found,
            None => MatchedSizes::default(),
        })
    }
}

/// The sizes that were found in the arguments of the call with these keyword arguments; `None` if it is not running in this thread.
#[pyfunction]
pub fn entered_sizes<'py>(kwargs: &Bound<'py, PyDict>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let (py, key) = (kwargs.py(), kwargs.as_ptr() as usize);
    CALLS.with_borrow(|calls| {
        let call = calls.iter().rfind(|call| call.key == key);
        call.map(|call| call.checker.get().sizes(py, &call.found)).transpose()
    })
}
