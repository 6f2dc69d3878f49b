//! A routine of a program as a module of StableHLO.

use broadloom::{Backend, Precision, Routine, Settings, StepId};
use broadloom_diagnostics::{Diagnostic, Sources};
use broadloom_ide::{Analysis, Line, Text};
use broadloom_lang::{OnMesh, Program};
use pyo3::prelude::*;

use crate::errors::advised;

/// The precision of products of a name.
pub fn precision(py: Python<'_>, name: &str) -> PyResult<Precision> {
    Precision::of_name(name).ok_or_else(|| {
        let names: Vec<String> = Precision::ALL.iter().map(|each| format!("\"{}\"", each.name())).collect();
        let message = format!("no precision of products is called `{}`", name.escape_debug());
        advised(py, &message, &format!("write one of {}", names.join(", ")))
    })
}

/// Why there is no module.
pub enum Refused {
    /// The program has no such routine: a message, and advice.
    Routine(String, String),
    /// The program cannot be said in StableHLO.
    Program(Sources, Box<Diagnostic>),
}

/// The text of the module: first its sizes and the names of all routines, then the places of the program above what each line
/// becomes. Without a name, the routine is the forward pass. It is divided over devices, if there are several.
pub fn module(
    text: &Text,
    name: Option<&str>,
    (precision, on): (Precision, Option<&OnMesh>),
) -> Result<String, Refused> {
    let program = Analysis::open(text).program;
    let (wanted, names) = routine(&program, name)?;
    let mut devices = on.map(|on| program.session_devices(on));
    let head = format!("{}// `{}`, of the routines {names}\n", sizes(&program), wanted.name());
    let sources = program.sources.clone();
    let places: Vec<Line> = program.origins.iter().map(|origin| Line::new(&sources, origin.span)).collect();
    let place = |step: StepId| places.get(step.index()).map(|Line { file, line }| format!("{file}:{line}"));
    // Nothing is run, so no compiler is needed.
    let settings = Settings { backend: Backend::Reference, precision, ..Settings::default() };
    let refused = |wrong| Refused::Program(sources.clone(), wrong);
    let mut ready = program.ready(&settings).map_err(refused)?;
    if let Some(devices) = &mut devices {
        ready.divide(devices).map_err(refused)?;
    }
    let made = ready.session.stablehlo_with_places(&wanted, &place);
    made.map(|made| head + &made).map_err(|error| refused(ready.diagnose(&error)))
}

/// A line that says at which sizes the program is written, if it has sizes with a range.
fn sizes(program: &Program) -> String {
    let ranged = program.dims.iter().filter(|dim| dim.range.is_some());
    let sizes: Vec<String> = ranged.map(|dim| format!("{} = {}", dim.name, dim.size)).collect();
    match &sizes[..] {
        [] => String::new(),
        _ => format!("// The program at {}, and no other size.\n", sizes.join(", ")),
    }
}

/// The forward pass, or a routine of the program by its name, and the names of all.
fn routine(program: &Program, name: Option<&str>) -> Result<(Routine, String), Refused> {
    let (forward, _) = program.forward();
    let mut all = if forward.is_empty() { Vec::new() } else { vec![forward] };
    all.extend(program.plan.routines.iter().cloned());
    let names: Vec<String> = all.iter().map(|routine| format!("`{}`", routine.name())).collect();
    let names = names.join(", ");
    let found = all.into_iter().find(|routine| name.is_none_or(|name| routine.name() == name));
    match (found, name) {
        (Some(found), _) => Ok((found, names)),
        (None, Some(name)) if !names.is_empty() => {
            Err(Refused::Routine(format!("the program has no routine `{name}`"), format!("it has {names}")))
        }
        (None, _) => Err(Refused::Routine(
            "the program computes nothing".into(),
            "compute something: `let y = 2 * x`".into(),
        )),
    }
}
