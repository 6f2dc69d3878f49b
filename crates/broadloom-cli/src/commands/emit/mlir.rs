//! A program as a module of MLIR.

use broadloom::{Session, Settings};
use broadloom_diagnostics::escaped;
use broadloom_ide::Line;
use broadloom_lang::Program;

use super::ranged;

/// The forward function, and with `routines` a function for every routine.
pub(super) fn emit(program: &mut Program, routines: bool) -> Result<String, String> {
    let (forward, left_out) = program.forward();
    let mut functions = if forward.is_empty() { Vec::new() } else { vec![forward] };
    if routines {
        functions.extend(program.plan.routines.iter().cloned());
    }
    if functions.is_empty() {
        return Err("the program computes nothing".into());
    }
    let mut head = String::new();
    let sizes: Vec<String> = ranged(program).map(|dim| format!("{} = {}", dim.name, dim.size)).collect();
    if !sizes.is_empty() {
        head.push_str(&format!("// The program at {}, and no other size.\n", sizes.join(", ")));
    }
    if !left_out.is_empty() && !routines {
        let names: Vec<String> = left_out.iter().map(|tensor| program.graph.label_of(*tensor)).collect();
        let names = names.join(", ").replace('\n', " ");
        head.push_str(&format!("// Not here, because of gradients; `--routines` shows it: {names}\n"));
    }
    // Nothing is run, so no compiler is needed.
    let settings = Settings { backend: broadloom::Backend::Reference, ..Settings::default() };
    let graph = std::mem::take(&mut program.graph);
    let mut session = Session::with(graph, settings).map_err(|error| error.to_string())?;
    let place = |step: usize| {
        let Line { file, line } = Line::new(&program.sources, program.origins.get(step)?.span);
        Some(format!("{file}:{line}"))
    };
    let made = session.mlir_with_places(&functions, &place).map_err(|error| error.to_string());
    std::mem::swap(&mut program.graph, session.graph_mut());
    // Comments contain names of files and tensors.
    let lines = (head + &made?).lines().map(|line| format!("{}\n", escaped(line))).collect();
    Ok(lines)
}
