//! Programs as modules of StableHLO.

use broadloom::Precision;
use broadloom_lang::{OnMesh, Program};

use super::mlir::{readable, with_session};
use super::sizes_line;
use crate::refusal::Refusal;

/// A program as a module of StableHLO: the forward pass, or a routine by its name, with products of some precision, for the devices of a mesh, or those of its own.
pub fn stablehlo(
    program: &mut Program,
    routine: Option<&str>,
    (precision, on): (Precision, Option<&OnMesh>),
) -> Result<String, Refusal> {
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
        head.push_str(&format!("// Not here, because of gradients, but in a routine of its own: {names}\n"));
    }
    let on = program.devices(on).cloned();
    let sharding = on.as_ref().map(|on| program.sharding(on));
    let made = with_session(program, |session, place| {
        session.set_precision(precision);
        if let Some(sharding) = &sharding {
            let divided = session.divide(&all, sharding)?;
            session.set_division(divided)?;
        }
        session.stablehlo_with_places(wanted, place)
    })?;
    Ok(readable(&(head + &made)))
}
