//! Certificates of the inferred shapes of programs and functions, in Lean.

use broadloom::certificate::{Certificate, Name, comment};
use broadloom_lang::{Dim, Program};

use super::ranged;
use crate::analysis::Text;
use crate::refusal::Refusal;
use crate::signature::certified_signature;

/// The certificate of a program, for all sizes of the names where Lean's checker can show it, below lines that say what it is for.
pub fn lean(program: &mut Program, stem: &str) -> Result<String, Refusal> {
    let for_all = program.graph.certificate_for_all_sizes()?;
    if let Some(unproved) = for_all.unproved() {
        let certificate = program.graph.certificate()?;
        let reason = comment(&format!("Lean's checker cannot show for all sizes: {unproved}"));
        return Ok(at_sizes(program, &certificate) + &reason + &certificate.to_lean(stem));
    }
    Ok(for_all_sizes(&for_all, "The program") + &at_sizes(program, &for_all) + &for_all.to_lean(stem))
}

/// The certificate of a function's scheme, below its signature: for all values of the variables.
pub fn lean_of_function(text: &Text, function: &str, stem: &str) -> Result<String, Refusal> {
    let found = certified_signature(text, function)?;
    if let Some(unproved) = found.certificate.unproved() {
        return Err(format!("Lean's checker cannot show for all sizes: {unproved}").into());
    }
    let head: String = found.signature.lines().map(comment).collect();
    let is_row = |name: &Name| name.name.starts_with("..");
    let rows = match found.certificate.family.as_ref().is_some_and(|family| family.names.iter().any(is_row)) {
        true => comment("A row variable, such as `..b..`, stands for one axis here."),
        false => String::new(),
    };
    let head = head + &rows + &for_all_sizes(&found.certificate, "The function");
    Ok(head + &found.certificate.to_lean(stem))
}

/// A line with the ranges and conditions for which something is certified; empty if it has no open names.
fn for_all_sizes(certificate: &Certificate, what: &str) -> String {
    let Some(family) = certificate.family.as_ref().filter(|family| !family.names.is_empty()) else {
        return String::new();
    };
    let names: Vec<String> = family.names.iter().map(|name| format!("`{name}`")).collect();
    let conditions: Vec<&str> = family.conditions.iter().map(|condition| condition.text.as_str()).collect();
    let only = if conditions.is_empty() { "" } else { ", where " };
    comment(&format!("{what} at all sizes: {}{only}{}.", names.join(", "), conditions.join(", ")))
}

/// A line with the sizes for which the program is certified; empty if it has no sizes with a range.
fn at_sizes(program: &Program, certificate: &Certificate) -> String {
    let is_stated = |dim: &&Dim| {
        let mut set = certificate.steps.iter().filter_map(|step| step.set.as_ref());
        set.any(|(name, size)| *name == dim.name && *size == dim.size)
    };
    let stated = ranged(program).filter(is_stated).map(|dim| format!("`{}` = {}", dim.name, dim.size));
    let stated: Vec<String> = stated.collect();
    match stated.is_empty() {
        true => String::new(),
        false => comment(&format!("The program at {}, and no other size.", stated.join(", "))),
    }
}
