//! The places in Python at which the steps of a graph were written, so that messages show these lines.

use std::collections::HashMap;
use std::sync::Arc;

use broadloom::{Error, Remedy};
use broadloom_diagnostics::{Diagnostic, Severity, SourceId, Sources, Span};
use broadloom_lang::{Origin, Origins, codes, diagnose};
use pyo3::prelude::*;

use crate::errors::raised;

/// A piece of a line of Python: the file, the line from 1, and the columns in bytes; without columns it is the whole line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonPlace {
    file: Arc<str>,
    line: usize,
    columns: Option<(usize, usize)>,
}

impl<'py> FromPyObject<'_, 'py> for PythonPlace {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<PythonPlace> {
        let (file, line, columns): (String, usize, Option<(usize, usize)>) = object.extract()?;
        Ok(PythonPlace { file: file.into(), line, columns })
    }
}

/// The places of the steps of a graph, by their numbers.
#[derive(Clone, Default)]
pub struct Places(Vec<PythonPlace>);

impl Places {
    /// Notes that the steps up to a number were written at a place.
    pub fn until(&mut self, steps: usize, place: &PythonPlace) {
        self.0.resize(steps, place.clone());
    }

    /// The exception for an error, at the place that led to it or, without one, at the step it is about.
    pub fn raised(&self, py: Python<'_>, error: &Error, at: Option<&PythonPlace>) -> PyErr {
        let mut texts = Texts::default();
        let origins = self.0.iter().map(|place| texts.span(py, place));
        let origins: PyResult<Vec<Span>> = origins.collect();
        let own = at.or_else(|| {
            let step = error.step().or_else(|| error.ends().iter().find_map(|end| end.step));
            step.and_then(|step| self.0.get(step.index()))
        });
        let span = own.map(|place| texts.span(py, place)).transpose();
        let (origins, span) = match (origins, span) {
            (Ok(origins), Ok(span)) => (origins, span),
            (Err(error), _) | (_, Err(error)) => return error,
        };
        let origin = |span: Span| Origin { span, inner: span, application: None };
        let origins: Origins = origins.into_iter().map(origin).collect();
        let nowhere = Span::empty(texts.sources.add("", ""), 0);
        let mut wrong = diagnose(error, span.unwrap_or(nowhere), &origins, in_python);
        wrong.labels.retain(|label| label.span != nowhere);
        wrong.help.iter_mut().for_each(|help| help.write_in(crate::code::in_python));
        raised(py, &texts.sources, &[wrong])
    }
}

/// The exception for a mistake that the package itself has found: its code, what is wrong, the places with what is said about each, where to look
/// first at the front, and notes and advice.
#[pyfunction]
pub fn mistake<'py>(
    py: Python<'py>,
    code: &str,
    message: String,
    ends: Vec<(PythonPlace, String)>,
    notes: Vec<String>,
    help: Vec<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let code = codes::ALL.iter().find(|(known, _)| *known == code).map_or("", |(known, _)| *known);
    let mut texts = Texts::default();
    let mut wrong = Diagnostic::new(Severity::Error, code, message);
    for (at, (place, text)) in ends.into_iter().enumerate() {
        let span = texts.span(py, &place)?;
        wrong = if at == 0 { wrong.with_primary(span, text) } else { wrong.with_label(span, text) };
    }
    wrong = notes.into_iter().fold(wrong, Diagnostic::with_note);
    wrong = help.into_iter().fold(wrong, Diagnostic::with_help);
    Ok(raised(py, &texts.sources, &[wrong]).into_value(py).into_bound(py).into_any())
}

/// Advice in Python, for every remedy that can be written: that of the language would not be Python.
pub fn in_python(remedy: Remedy) -> Option<&'static str> {
    Some(match remedy {
        Remedy::Values => "give the values by the name of the data: `session.run(y, x=array)`",
        Remedy::Backward => "make them with `graph.gradients(loss, w)`, and run that",
        Remedy::Bits | Remedy::Integers | Remedy::WholeValues => {
            "give whole numbers: `array.astype(\"int64\")`"
        }
        Remedy::Reduce => "sum it, or take its mean: `loss.sum()`, `loss.mean()`",
        Remedy::Parameter => "a parameter is made with `graph.param(\"w\")`",
        Remedy::State => "make a state: `graph.state(\"total\", \"3\")`",
        Remedy::Size => {
            "give an array for data that has this size, or declare it with a size to run at: `graph.dim(\"n\", 1, 64, usual=32)`"
        }
        Remedy::Capture => {
            "sizes are captured from what a spec makes: `graph.einsum(\"... | h => ... | h\", x)`"
        }
        Remedy::Reshape => "`x.reshape()` keeps the number of elements",
        Remedy::Shape(_) => "state the shape of the result: `x.reshape(\"4, 8\")`",
        Remedy::Drop(_) => "or use a window that drops what is left over: `o~+k`",
        _ => return None,
    })
}

/// The texts of Python files, as far as they are needed.
#[derive(Default)]
struct Texts {
    sources: Sources,
    known: HashMap<Arc<str>, SourceId>,
}

impl Texts {
    fn span(&mut self, py: Python<'_>, place: &PythonPlace) -> PyResult<Span> {
        let id = match self.known.get(&place.file) {
            Some(id) => *id,
            None => {
                let read = py.import("broadloom._places")?.getattr("source")?;
                let (name, text): (String, String) = read.call1((&*place.file,))?.extract()?;
                let id = self.sources.add(&name, &text);
                self.known.insert(Arc::clone(&place.file), id);
                id
            }
        };
        let text = self.sources.get(id).text();
        let start: usize = text.split_inclusive('\n').take(place.line.saturating_sub(1)).map(str::len).sum();
        let line = text[start..].lines().next().unwrap_or_default();
        let whole = (line.len() - line.trim_start().len(), line.trim_end().len());
        let fits = |(from, to): &(usize, usize)| from < to && line.get(*from..*to).is_some();
        let (from, to) = place.columns.filter(fits).unwrap_or(whole);
        Ok(Span::new(id, (start + from) as u32, (start + to.max(from)) as u32))
    }
}
