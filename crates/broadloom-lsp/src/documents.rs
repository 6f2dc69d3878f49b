//! The texts that are open in the editor, and what was found out about each since its last edit.

use std::collections::BTreeMap;
use std::path::PathBuf;

use broadloom_diagnostics::{Diagnostic, Source};
use broadloom_ide::{Analysis, Editing, Text};
use broadloom_rows::editing::Edited;
use gen_lsp_types::{TextDocumentContentChangeEvent, Uri};

use crate::position::Encoding;
use crate::uri;

/// The languages of documents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    /// A program.
    Loom,
    /// A system of constraints.
    Rows,
}

/// An open text.
pub(crate) struct Document {
    pub uri: Uri,
    pub language: Language,
    pub version: i32,
    /// The text with its lines.
    pub source: Source,
    /// The file, with links resolved, so that imports of it can be recognised.
    pub path: Option<PathBuf>,
    /// The analysis of the program; None after an edit.
    analysis: Option<Box<Analysis>>,
    /// The analysis before the last edit: it is dropped when no request waits.
    outdated: Option<Box<Analysis>>,
    /// The state from which the next check goes on.
    editing: Editing,
    /// The system of constraints, solved; None after an edit.
    system: Option<Edited>,
    /// The diagnostics of the analysis, warnings included.
    diagnostics: Option<Vec<Diagnostic>>,
    /// True if the diagnostics do not tell yet what a mesh makes impossible.
    may_conflict: bool,
    /// True if the mesh of the last text that was divided made something impossible.
    conflicts: bool,
    /// True if the editor has not been told about the diagnostics of this text yet.
    pub is_due: bool,
}

impl Document {
    /// `language` is its language as the editor calls it; a name that ends with `.rows` says it, too.
    pub fn new(uri: Uri, language: &str, version: i32, text: String) -> Document {
        let path = uri::path(&uri).map(|path| std::fs::canonicalize(&path).unwrap_or(path));
        let is_rows = language == "rows" || uri.as_ref().ends_with(".rows");
        let language = if is_rows { Language::Rows } else { Language::Loom };
        let source = Source::new(name(&uri), text);
        Document {
            uri,
            language,
            version,
            source,
            path,
            analysis: None,
            outdated: None,
            editing: Editing::default(),
            system: None,
            diagnostics: None,
            may_conflict: false,
            conflicts: false,
            is_due: true,
        }
    }

    pub fn text(&self) -> &str {
        self.source.text()
    }

    /// Applies edits in order.
    pub fn edit(&mut self, encoding: Encoding, version: i32, changes: Vec<TextDocumentContentChangeEvent>) {
        for change in changes {
            match change {
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(part) => {
                    let (start, end) = encoding.offsets(&self.source, part.range);
                    self.source.replace(start, end, &part.text);
                }
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
                    self.source = Source::new(name(&self.uri), whole.text);
                }
            }
        }
        self.version = version;
        self.system = None;
        self.outdated = self.analysis.take().or(self.outdated.take());
        (self.diagnostics, self.is_due) = (None, true);
        self.may_conflict = false;
    }

    /// Drops what is known, because something that the text imports has changed, or nothing can be relied on.
    pub fn forget(&mut self) {
        (self.analysis, self.diagnostics, self.is_due) = (None, None, true);
        self.may_conflict = false;
        self.editing.forget();
    }

    /// Does what can be done before the next edit comes. Returns false if there is nothing to do.
    pub fn prepare(&mut self) -> bool {
        self.outdated.take().is_some() || self.editing.prepare()
    }

    /// Returns true if the program reads a file, or may have tried to.
    pub fn may_import(&self, path: &std::path::Path) -> bool {
        match &self.analysis {
            Some(analysis) if analysis.is_ok() => analysis.program.files.iter().any(|(_, file)| file == path),
            _ => self.text().contains("import"),
        }
    }

    /// Returns true if nothing has been edited since the program was read.
    pub fn is_read(&self) -> bool {
        self.analysis.is_some()
    }

    /// The program as it was read, if nothing has been edited since.
    pub fn known(&mut self) -> Option<&mut Analysis> {
        self.analysis.as_deref_mut()
    }

    /// The program, read anew if it was edited; None if reading it was given up, because nobody needs it any more.
    pub fn analysis(
        &mut self,
        unsaved: &BTreeMap<PathBuf, String>,
        is_over: &dyn Fn() -> bool,
    ) -> Option<&mut Analysis> {
        let text = || Text {
            folder: self
                .path
                .as_deref()
                .and_then(|path| path.parent())
                .map(PathBuf::from)
                .unwrap_or_default(),
            unsaved: unsaved.clone(),
            ..Text::new(name(&self.uri), self.source.text())
        };
        if self.analysis.is_none() {
            self.analysis = Analysis::edited_unless(&text(), &mut self.editing, is_over).map(Box::new);
        }
        self.known()
    }

    /// The system of constraints, if it is one.
    pub fn system(&mut self) -> Option<&Edited> {
        if self.language != Language::Rows {
            return None;
        }
        Some(self.system.get_or_insert_with(|| Edited::new(self.source.text())))
    }

    /// The mistakes and warnings of the program; None if they are not needed any more.
    pub fn diagnostics(
        &mut self,
        unsaved: &BTreeMap<PathBuf, String>,
        is_over: &dyn Fn() -> bool,
    ) -> Option<&[Diagnostic]> {
        if self.diagnostics.is_none() {
            let found = match self.language {
                Language::Loom => {
                    let analysis = self.analysis(unsaved, is_over).filter(|_| !is_over())?;
                    let found = broadloom_ide::diagnostics(analysis);
                    self.may_conflict = true;
                    found
                }
                Language::Rows => {
                    let options = broadloom_rows::solve::SolveOptions::default();
                    broadloom_rows::solve::solve(self.source.name(), self.source.text(), &options).diagnostics
                }
            };
            self.diagnostics = Some(found);
            // A conflict that was shown does not vanish and come back with every letter.
            if self.conflicts {
                self.divide();
            }
        }
        self.diagnostics.as_deref()
    }

    /// Divides the program over the devices of its mesh, if that has not been tried since the last check. Returns true if there are new mistakes.
    pub fn divide(&mut self) -> bool {
        if !std::mem::take(&mut self.may_conflict) {
            return false;
        }
        let (Some(analysis), Some(known)) = (self.analysis.as_deref(), &mut self.diagnostics) else {
            return false;
        };
        let new = broadloom_ide::conflicts_on_mesh(analysis);
        self.conflicts = !new.is_empty();
        known.extend(new);
        self.conflicts
    }
}

/// The name of a document in messages: the last part of its address.
fn name(uri: &Uri) -> String {
    match uri::path(uri).as_deref().and_then(|path| path.file_name()) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => uri.to_string(),
    }
}
