//! The names that every program has: the standard library, written in `.loom`, and the built-in
//! names of the language.

use std::sync::{Arc, OnceLock};

use broadloom_diagnostics::{Diagnostic, SourceId, Sources};

use crate::syntax::ast::{File, Names};

/// A file of the library.
pub(crate) struct LibraryFile {
    name: &'static str,
    text: &'static str,
    /// True if its functions are rules for `minimise`, which are applied to parameters.
    has_rules: bool,
}

impl LibraryFile {
    const fn new(name: &'static str, text: &'static str) -> LibraryFile {
        LibraryFile { name, text, has_rules: false }
    }
}

/// The files, in the order they are read.
pub(crate) const FILES: &[LibraryFile] = &[
    LibraryFile::new("std/functions.loom", include_str!("../../std/functions.loom")),
    LibraryFile::new("std/layers.loom", include_str!("../../std/layers.loom")),
    LibraryFile::new("std/images.loom", include_str!("../../std/images.loom")),
    LibraryFile::new("std/sequences.loom", include_str!("../../std/sequences.loom")),
    LibraryFile::new("std/losses.loom", include_str!("../../std/losses.loom")),
    LibraryFile {
        has_rules: true,
        ..LibraryFile::new("std/optimisers.loom", include_str!("../../std/optimisers.loom"))
    },
];

/// Returns true if the functions of a source are rules of the library.
pub(crate) fn has_rules(source: SourceId) -> bool {
    FILES.get(source.0 as usize).is_some_and(|file| file.has_rules)
}

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
        for LibraryFile { name, text, .. } in FILES {
            let source = sources.add(format!("<{name}>"), *text);
            let parsed = crate::syntax::parse(source, text, &mut names);
            diagnostics.extend(parsed.diagnostics);
            files.push(Arc::new(parsed.file));
        }
        Library { sources, names, files, diagnostics }
    })
}
