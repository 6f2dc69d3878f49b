//! Interfaces of modules, as imports use them: is the one that lies beside a module made from this very text?
//!
//! `broadloom emit layers.loom --interface -o layers.loomi` writes the signatures of a module below two lines: a version, and
//! a fingerprint of everything that the signatures follow from, which is the text of the module, the texts of all modules that it imports, and
//! the version of Broadloom. An interface is only made of a module without mistakes. So where it is current, the functions of the module
//! have been checked, and an import does not check them again.

use std::path::{Path, PathBuf};

use broadloom_diagnostics::{Diagnostic, SourceId};
use rustc_hash::FxHashSet;

use crate::codes;
use crate::eval::Eval;

/// The first line of an interface, with its version.
pub const FIRST: &str = "# Interface of a Broadloom module, version 2.";

/// The beginning of the second line, which ends with the fingerprint.
pub const SOURCE: &str = "# Made from the source ";

/// The file in which the interface of a module is kept: `layers.loomi` for `layers.loom`.
pub fn file_of(module: &Path) -> PathBuf {
    module.with_extension("loomi")
}

/// Returns true if a module has an interface of this version.
pub(crate) fn is_there(module: &Path) -> bool {
    std::fs::read_to_string(file_of(module)).is_ok_and(|text| made_from(&text).is_some())
}

/// The fingerprint that an interface says it was made from, if it is one of this version.
pub fn made_from(text: &str) -> Option<&str> {
    let mut lines = text.lines();
    let first = lines.next()?.trim_end();
    let second = lines.next()?.trim_end();
    second.strip_prefix(SOURCE).filter(|_| first == FIRST)
}

/// A fingerprint of texts: the 128 bits of FNV-1a. It tells texts apart that people edit; it is no protection from those
/// who mean to deceive.
pub(super) fn fingerprint<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    // Each text ends with a byte that no text in UTF-8 has.
    let bytes = texts.into_iter().flat_map(|text| text.bytes().chain([0xff]));
    let hash = bytes.fold(START, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
    format!("{hash:032x}")
}

/// The fingerprint of a source with all that it imports, directly or through others.
pub(crate) fn fingerprint_of(eval: &Eval<'_>, source: SourceId) -> String {
    let mut reached = vec![source];
    let mut at = 0;
    while let Some(from) = reached.get(at).copied() {
        for (_, to) in eval.imports.iter().filter(|(span, _)| span.source == from) {
            if !reached.contains(to) {
                reached.push(*to);
            }
        }
        at += 1;
    }
    let texts = reached.iter().map(|source| eval.sources.get(*source).text());
    fingerprint([env!("CARGO_PKG_VERSION")].into_iter().chain(texts))
}

/// The modules whose functions a current interface has checked. An interface that is not current is reported where its
/// module is imported, and not used.
pub(crate) fn checked_by_interface(eval: &mut Eval<'_>) -> FxHashSet<SourceId> {
    let mut current = FxHashSet::default();
    for (source, module) in eval.files.clone() {
        let file = file_of(&module);
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        if made_from(&text) == Some(&fingerprint_of(eval, source)) {
            current.insert(source);
        } else {
            warn_of_interface(eval, source, &file);
        }
    }
    current
}

fn warn_of_interface(eval: &mut Eval<'_>, source: SourceId, file: &Path) {
    let Some((span, _)) = eval.imports.iter().find(|(_, to)| *to == source) else { return };
    let name = eval.sources.get(source).name().to_string();
    let kept = Path::new(&name).with_file_name(file.file_name().unwrap_or_default());
    let message = format!("the interface `{}` was made from another text than `{name}`", kept.display());
    let mut warning = Diagnostic::warning(codes::INTERFACE, message, *span, "it is not used");
    warning
        .help
        .push(format!("make it again: `broadloom emit {name} --interface -o {}`", kept.display()).into());
    eval.diagnostics.push(warning);
}
