//! Watches a program run: lines and progress go to Python, and Ctrl-C comes from there.
//!
//! A function of the user that is told of the progress may use the program. For it the run pauses: it stops, the program is let go, the function is
//! called, and the run goes on.

use std::time::{Duration, Instant};

use broadloom_lang::{Observer, Repeated};
use pyo3::prelude::*;

/// The least time between two looks for Ctrl-C.
const PAUSE: Duration = Duration::from_millis(20);

/// Watches a program run.
pub struct Watcher {
    /// Called with each printed line.
    pub print: Py<PyAny>,
    /// Called after each step with how many there were, of how many, and the losses.
    pub progress: Option<Py<PyAny>>,
    /// Called with the number of a routine, and of all of them, before it is compiled.
    pub compiling: Option<Py<PyAny>>,
    /// The losses of each step, by name.
    pub losses: Vec<(String, Vec<f64>)>,
    /// Remarks about the run.
    pub notices: Vec<String>,
    /// The exception that Python raised, which ends the run.
    pub failed: Option<PyErr>,
    /// True to pause when there is something to tell.
    with_pauses: bool,
    /// The repetition that is to be told in the pause.
    due: Option<Repetition>,
    looked: Instant,
}

/// The number of repetitions so far, of how many, and the losses.
type Repetition = (u64, u64, Vec<(String, f64)>);

impl Watcher {
    pub fn new(
        print: Py<PyAny>,
        progress: Option<Py<PyAny>>,
        compiling: Option<Py<PyAny>>,
        with_pauses: bool,
    ) -> Watcher {
        let looked = Instant::now();
        let (losses, notices) = (Vec::new(), Vec::new());
        let failed = None;
        Watcher { print, progress, compiling, losses, notices, failed, with_pauses, due: None, looked }
    }

    /// Returns true if the run has stopped only for a pause.
    pub fn pauses(&self) -> bool {
        self.due.is_some() && self.failed.is_none()
    }

    /// Tells Python what is due.
    pub fn tell(&mut self) {
        if let Some(told) = self.due.take() {
            self.call(|py, watcher| match &watcher.progress {
                Some(progress) => progress.call1(py, told).map(drop),
                None => Ok(()),
            });
        }
    }

    fn call(&mut self, call: impl FnOnce(Python<'_>, &Watcher) -> PyResult<()>) {
        if self.failed.is_none() {
            self.failed = Python::attach(|py| call(py, self)).err();
        }
    }
}

impl Observer for Watcher {
    fn printed(&mut self, line: &str) {
        self.call(|py, watcher| watcher.print.call1(py, (line,)).map(drop));
    }

    fn repeated(&mut self, step: &Repeated<'_>) {
        let Repeated { done, of, losses, .. } = *step;
        for (name, loss) in losses {
            match self.losses.iter_mut().find(|(known, _)| known == name) {
                Some((_, all)) => all.push(*loss),
                None => self.losses.push((name.clone(), vec![*loss])),
            }
        }
        if self.progress.is_some() {
            self.due = Some((done, of, losses.to_vec()));
        }
        if !self.with_pauses {
            self.tell();
        }
    }

    fn compiling(&mut self, number: usize, of: usize) {
        if self.compiling.is_some() {
            self.call(|py, watcher| match &watcher.compiling {
                Some(compiling) => compiling.call1(py, (number, of)).map(drop),
                None => Ok(()),
            });
        }
    }

    fn notice(&mut self, text: &str) {
        self.notices.push(text.to_string());
    }

    fn stops(&mut self) -> bool {
        if self.looked.elapsed() >= PAUSE {
            self.looked = Instant::now();
            self.call(|py, _| py.check_signals());
        }
        self.failed.is_some() || self.due.is_some()
    }
}
