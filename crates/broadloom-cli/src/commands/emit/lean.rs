//! `emit --lean`: a certificate of the inferred shapes, alone or with the theory it needs.

use std::path::Path;

use broadloom::certificate::{Certificate, Name, comment, module_name};
use broadloom::files::write_text;
use broadloom_diagnostics::escaped;
use broadloom_ide::{Refusal, Text, certified_signature};
use broadloom_lang::{Dim, Program};

use super::ranged;
use crate::program::{reason, shown_path};

/// The theory, and the version of Lean that it is for.
const THEORY: [(&str, &str); 6] = [
    ("lean-toolchain", include_str!("../../../../../verification/lean/lean-toolchain")),
    ("GroundAlgebra.lean", include_str!("../../../../../verification/lean/GroundAlgebra.lean")),
    ("Certificate.lean", include_str!("../../../../../verification/lean/Certificate.lean")),
    ("Forms.lean", include_str!("../../../../../verification/lean/Forms.lean")),
    ("Ranges.lean", include_str!("../../../../../verification/lean/Ranges.lean")),
    ("TensorDimensions.lean", include_str!("../../../../../verification/lean/TensorDimensions.lean")),
];

/// Instructions for checking the project; `NAME` stands for the certificate.
const README: &str = include_str!("project.md");

/// The certificate of a program; with a folder, the names of the files that were written there.
pub(super) fn emit(program: &mut Program, file: &Path, folder: Option<&Path>) -> Result<String, Refusal> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let stem = escaped(&stem);
    written(&stem, certificate(program, &stem)?, folder)
}

/// The certificate of a function: below its signature, for all values of the variables.
pub(super) fn emit_function(text: &Text, function: &str, folder: Option<&Path>) -> Result<String, Refusal> {
    let found = certified_signature(text, function)?;
    if let Some(unproved) = found.certificate.unproved() {
        return Err(format!("Lean's checker cannot show for all sizes: {unproved}").into());
    }
    let stem = function.split('(').next().unwrap_or(function).trim();
    let head: String = found.signature.lines().map(comment).collect();
    let rows = match found.certificate.family.as_ref().is_some_and(|family| family.names.iter().any(is_row)) {
        true => comment("A row variable, such as `..b..`, stands for one axis here."),
        false => String::new(),
    };
    let head = head + &rows + &for_all_sizes(&found.certificate, "The function");
    written(stem, head + &found.certificate.to_lean(stem), folder)
}

/// True of a variable that stands for a row.
fn is_row(name: &Name) -> bool {
    name.name.starts_with("..")
}

/// The certificate, or, with a folder, the names of the files that were written there.
fn written(stem: &str, certificate: String, folder: Option<&Path>) -> Result<String, Refusal> {
    let name = module_name(stem);
    let Some(folder) = folder else { return Ok(certificate) };
    let cannot =
        |error: std::io::Error| format!("cannot write to {}: {}", shown_path(folder), reason(&error));
    std::fs::create_dir_all(folder).map_err(cannot)?;
    let (readme, lakefile, last) = (README.replace("NAME", &name), lakefile(&name), format!("{name}.lean"));
    let files = [("README.md", readme.as_str()), ("lakefile.toml", lakefile.as_str())];
    let files = files.into_iter().chain(THEORY);
    let mut out = String::new();
    for (file, text) in files.chain([(last.as_str(), certificate.as_str())]) {
        let file = folder.join(file);
        write_text(&file, text).map_err(|error| format!("cannot write {}: {error}", shown_path(&file)))?;
        out.push_str(&format!("{}\n", shown_path(&file)));
    }
    Ok(out)
}

/// The certificate, for all sizes of the names where Lean's checker can show it, below lines that say what it is for.
fn certificate(program: &mut Program, stem: &str) -> Result<String, Refusal> {
    let for_all = program.graph.certificate_for_all_sizes()?;
    if let Some(unproved) = for_all.unproved() {
        let certificate = program.graph.certificate()?;
        let reason = comment(&format!("Lean's checker cannot show for all sizes: {unproved}"));
        return Ok(at_sizes(program, &certificate) + &reason + &certificate.to_lean(stem));
    }
    Ok(for_all_sizes(&for_all, "The program") + &at_sizes(program, &for_all) + &for_all.to_lean(stem))
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

/// The Lake file of a certificate's project.
fn lakefile(name: &str) -> String {
    format!(
        "name = \"certificate-of-{}\"\ndefaultTargets = [\"Verification\"]\n\n[[lean_lib]]\nname = \"Verification\"\n\
         roots = [\"TensorDimensions\", \"GroundAlgebra\", \"Certificate\", \"Forms\", \"Ranges\", \"{name}\"]\n",
        name.to_ascii_lowercase()
    )
}
