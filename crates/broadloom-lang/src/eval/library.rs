//! The names that every program has: the standard library, written in `.loom`, and the built-in
//! names of the language.

use std::sync::{Arc, OnceLock};

use broadloom_diagnostics::{Diagnostic, Sources};

use crate::syntax::ast::{File, Names};

/// The files, in the order they are read.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("std/functions.loom", include_str!("../../std/functions.loom")),
    ("std/layers.loom", include_str!("../../std/layers.loom")),
    ("std/images.loom", include_str!("../../std/images.loom")),
    ("std/sequences.loom", include_str!("../../std/sequences.loom")),
    ("std/losses.loom", include_str!("../../std/losses.loom")),
    ("std/optimisers.loom", include_str!("../../std/optimisers.loom")),
];

/// The standard library, parsed.
pub(crate) struct Library {
    pub sources: Sources,
    /// The names of the language and of the library.
    pub names: Names,
    /// The syntax tree of each file, in these names.
    pub files: Vec<Arc<File>>,
    pub diagnostics: Vec<Diagnostic>,
}

/// The standard library. It is the same for every program, so it is parsed once.
pub(crate) fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let (mut sources, mut names) = (Sources::new(), Names::default());
        super::builtin::builtins().for_each(|name| {
            names.intern(name);
        });
        let (mut files, mut diagnostics) = (Vec::new(), Vec::new());
        for (name, text) in FILES {
            let source = sources.add(format!("<{name}>"), *text);
            let parsed = crate::syntax::parse(source, text, &mut names);
            diagnostics.extend(parsed.diagnostics);
            files.push(Arc::new(parsed.file));
        }
        Library { sources, names, files, diagnostics }
    })
}
