//! `emit --lean`: a certificate of the inferred shapes, alone or with the theory it needs.

use std::path::Path;

use broadloom::certificate::module_name;
use broadloom::files::write_text;
use broadloom_diagnostics::escaped;
use broadloom_ide::{Refusal, Text, emit};
use broadloom_lang::Program;

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
pub(super) fn emit_program(
    program: &mut Program,
    file: &Path,
    folder: Option<&Path>,
) -> Result<String, Refusal> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let stem = escaped(&stem);
    written(&stem, emit::lean(program, &stem)?, folder)
}

/// The certificate of a function's scheme.
pub(super) fn emit_function(text: &Text, function: &str, folder: Option<&Path>) -> Result<String, Refusal> {
    let stem = function.split('(').next().unwrap_or(function).trim();
    written(stem, emit::lean_of_function(text, function, stem)?, folder)
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

/// The Lake file of a certificate's project.
fn lakefile(name: &str) -> String {
    format!(
        "name = \"certificate-of-{}\"\ndefaultTargets = [\"Verification\"]\n\n[[lean_lib]]\nname = \"Verification\"\n\
         roots = [\"TensorDimensions\", \"GroundAlgebra\", \"Certificate\", \"Forms\", \"Ranges\", \"{name}\"]\n",
        name.to_ascii_lowercase()
    )
}
