//! A program as a module of StableHLO.

use broadloom_lang::Program;

use super::mlir::{readable, sizes_line, with_session};

/// The forward pass, or a routine by its name.
pub(super) fn emit(program: &mut Program, routine: Option<&str>) -> Result<String, String> {
    let (forward, left_out) = program.forward();
    let mut all = if forward.is_empty() { Vec::new() } else { vec![forward] };
    all.extend(program.plan.routines.iter().cloned());
    let names: Vec<String> = all.iter().map(|each| format!("`{}`", each.name())).collect();
    let names = names.join(", ");
    let wanted = match routine {
        Some(name) => all
            .iter()
            .find(|each| each.name() == name)
            .ok_or_else(|| format!("the program has no routine `{}`; it has {names}", name.escape_debug()))?,
        None => all.first().ok_or("the program computes nothing")?,
    };
    let mut head = sizes_line(program);
    head.push_str(&format!("// `{}`, of the routines {names}\n", wanted.name()));
    if routine.is_none() && !left_out.is_empty() {
        let names: Vec<String> = left_out.iter().map(|tensor| program.graph.label_of(*tensor)).collect();
        let names = names.join(", ").replace('\n', " ");
        head.push_str(&format!("// Not here, because of gradients; `--routine` shows it: {names}\n"));
    }
    let made = with_session(program, |session, place| session.stablehlo_with_places(wanted, place))?;
    Ok(readable(&(head + &made)))
}
