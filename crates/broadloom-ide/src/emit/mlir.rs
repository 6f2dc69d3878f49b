//! Programs as modules of MLIR.

use broadloom::{Error, Session, Settings, StepId};
use broadloom_diagnostics::escaped;
use broadloom_lang::Program;

use super::sizes_line;
use crate::place::Line;
use crate::refusal::Refusal;

/// A program as a module of MLIR: the forward function, and with `routines` a function for every routine.
pub fn mlir(program: &mut Program, routines: bool) -> Result<String, Refusal> {
    let (forward, left_out) = program.forward();
    let mut functions = if forward.is_empty() { Vec::new() } else { vec![forward] };
    if routines {
        functions.extend(program.plan.routines.iter().cloned());
    }
    if functions.is_empty() {
        return Err("the program computes nothing".into());
    }
    let mut head = sizes_line(program);
    if !left_out.is_empty() && !routines {
        let names: Vec<String> = left_out.iter().map(|tensor| program.graph.label_of(*tensor)).collect();
        let names = names.join(", ").replace('\n', " ");
        head.push_str(&format!("// Not here, because of gradients, but among the routines: {names}\n"));
    }
    let made = with_session(program, |session, place| session.mlir_with_places(&functions, place))?;
    Ok(readable(&(head + &made)))
}

/// Does something with a session of a program, and with the places of its steps. Nothing is run, so no compiler is needed.
pub(super) fn with_session<T>(
    program: &mut Program,
    work: impl FnOnce(&mut Session, &dyn Fn(StepId) -> Option<String>) -> Result<T, Error>,
) -> Result<T, Refusal> {
    let settings = Settings { backend: broadloom::Backend::Reference, ..Settings::default() };
    let graph = std::mem::take(&mut program.graph);
    let mut session = Session::with(graph, settings)?;
    let place = |step: StepId| {
        let Line { file, line } = Line::new(&program.sources, program.origins.get(step)?.span);
        Some(format!("{file}:{line}"))
    };
    let made = work(&mut session, &place);
    let step = made.as_ref().err().and_then(Error::step);
    let made = made.map_err(|error| match step.and_then(&place) {
        Some(place) => error.about(&place).into(),
        None => error.into(),
    });
    std::mem::swap(&mut program.graph, session.graph_mut());
    made
}

/// A text in which names of files and tensors do no harm to a terminal.
pub(super) fn readable(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", escaped(line))).collect()
}
