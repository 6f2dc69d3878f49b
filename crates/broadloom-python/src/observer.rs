//! Watches a program run: lines and progress go to Python, and Ctrl-C comes from there.

use std::time::{Duration, Instant};

use broadloom_lang::Observer;
use pyo3::prelude::*;

/// The least time between two looks for Ctrl-C.
const PAUSE: Duration = Duration::from_millis(20);

/// Watches a program run.
pub struct Watcher {
    /// Called with each printed line.
    pub print: Py<PyAny>,
    /// Called after each repetition with how many there were, of how many, and the losses.
    pub progress: Option<Py<PyAny>>,
    /// The losses of each repetition, by name.
    pub losses: Vec<(String, Vec<f64>)>,
    /// Remarks about the run.
    pub notices: Vec<String>,
    /// The exception that Python raised, which ends the run.
    pub failed: Option<PyErr>,
    looked: Instant,
}

impl Watcher {
    pub fn new(print: Py<PyAny>, progress: Option<Py<PyAny>>) -> Watcher {
        let looked = Instant::now();
        Watcher { print, progress, losses: Vec::new(), notices: Vec::new(), failed: None, looked }
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

    fn repeated(&mut self, done: u64, of: u64, losses: &[(String, f64)]) {
        for (name, loss) in losses {
            match self.losses.iter_mut().find(|(known, _)| known == name) {
                Some((_, all)) => all.push(*loss),
                None => self.losses.push((name.clone(), vec![*loss])),
            }
        }
        if self.progress.is_some() {
            self.call(|py, watcher| match &watcher.progress {
                Some(progress) => progress.call1(py, (done, of, losses.to_vec())).map(drop),
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
        self.failed.is_some()
    }
}
