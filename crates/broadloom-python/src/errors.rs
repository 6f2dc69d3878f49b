//! Mistakes as the exception `broadloom.Error`, which is written in Python.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use broadloom_diagnostics::{Chain, Diagnostic, Severity, Shown, Sources, Style, render, render_all};
use broadloom_ide::Refusal;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::data::object;

/// The style of messages: without colours, because exceptions are kept, logged and compared; with all steps of chains, because
/// nobody can ask an exception for more.
pub const STYLE: Style =
    Style { color: false, width: 100, chain: Chain::Shown, between: true, header: true, place: true };

/// The exception for mistakes in some texts.
pub fn raised(py: Python<'_>, sources: &Sources, diagnostics: &[Diagnostic]) -> PyErr {
    let made = messages(py, sources, diagnostics).and_then(|messages| {
        // A count below a single sentence says nothing.
        let shown = match diagnostics {
            [alone] if alone.labels.is_empty() => render(sources, alone, STYLE),
            _ => render_all(sources, diagnostics, 0, STYLE),
        };
        let class = py.import("broadloom._errors")?.getattr("Error")?;
        class.call_method1("_of", (shown.trim_end(), messages))
    });
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Messages as Python objects: the keys of `docs/schema.json`, and `shown` for people.
pub fn messages<'py>(
    py: Python<'py>,
    sources: &Sources,
    diagnostics: &[Diagnostic],
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for diagnostic in diagnostics {
        let message = object(py, &Shown::new(sources, diagnostic))?;
        message.set_item("shown", render(sources, diagnostic, STYLE).trim_end())?;
        list.append(message)?;
    }
    Ok(list)
}

/// The exception for a mistake that has no place in a text.
pub fn plain(py: Python<'_>, message: &str) -> PyErr {
    raised(py, &Sources::new(), &[Diagnostic::new(Severity::Error, "", message)])
}

/// The exception for a question that has no answer.
pub fn unanswered(py: Python<'_>, refusal: &Refusal) -> PyErr {
    raised(py, &Sources::new(), &[refusal.diagnostic()])
}

/// The same, with advice.
pub fn advised(py: Python<'_>, message: &str, help: &str) -> PyErr {
    raised(py, &Sources::new(), &[Diagnostic::new(Severity::Error, "", message).with_help(help)])
}

/// Works without the interpreter lock. A panic inside, which is a mistake of ours, becomes an exception like any other.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| own_mistake(py, panic.as_ref()))
}

fn own_mistake(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    let message = format!("a mistake of Broadloom itself, not of yours: {text}");
    advised(py, &message, "please report it, with the program: https://github.com/broadloom/broadloom/issues")
}

/// The exception `name` of `broadloom._shape_errors` with a message, and with the mistake as data: its code, ends and advice.
pub fn raise_with(
    py: Python<'_>,
    name: &str,
    message: String,
    sources: &Sources,
    mistake: &Diagnostic,
) -> PyErr {
    let made = messages(py, sources, std::slice::from_ref(mistake)).and_then(|messages| {
        let class = py.import("broadloom._shape_errors")?.getattr(name)?;
        class.call_method1("_of", (message, messages))
    });
    made.map_or_else(|error| error, PyErr::from_value)
}
