//! Everything the server knows: open documents, folders of the editor, the library as files.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use broadloom_diagnostics::{Diagnostic, Source, Span};
use broadloom_ide::Analysis;
use broadloom_rows::editing::Edited;
use gen_lsp_types::{Location, Position, Range, TextDocumentPositionParams, TextEdit, Uri, WorkspaceEdit};
use lsp_server::{ErrorCode, RequestId, ResponseError};

use crate::documents::{Document, Language};
use crate::folders::{MOST_FILES, programs};
use crate::inbox::Inbox;
use crate::library::Library;
use crate::position::Encoding;
use crate::uri;

/// The answer to a request, or why there is none.
pub(crate) type Answer<T> = Result<T, ResponseError>;

/// The state of the server.
#[derive(Default)]
pub(crate) struct World {
    pub encoding: Encoding,
    pub documents: HashMap<Uri, Document>,
    /// The folders that are open in the editor.
    pub roots: Vec<PathBuf>,
    /// True if the editor asks for the changes of an action when it is chosen.
    pub resolves_actions: bool,
    /// True if the editor shows actions that cannot be chosen, with the reason.
    pub shows_disabled: bool,
    /// The messages that wait: one of them may say that an answer is not needed any more.
    pub inbox: Inbox,
    /// The request that is being answered.
    pub request: Option<RequestId>,
    library: Library,
}

/// A program as text.
pub(crate) struct Written {
    pub uri: Uri,
    pub source: Source,
    pub path: PathBuf,
}

/// A request that cannot be answered.
pub(crate) fn failed(code: ErrorCode, message: impl Into<String>) -> ResponseError {
    ResponseError { code: code as i32, message: message.into(), data: None }
}

impl World {
    pub fn new(inbox: Inbox) -> World {
        World { inbox, ..World::default() }
    }

    /// An open document.
    pub fn document(&mut self, uri: &Uri) -> Answer<&mut Document> {
        let unknown = || failed(ErrorCode::InvalidParams, format!("{uri} is not open"));
        self.documents.get_mut(uri).ok_or_else(unknown)
    }

    /// The texts of open documents other than one: imports read these, and not the files.
    pub fn unsaved(&self, except: &Uri) -> BTreeMap<PathBuf, String> {
        let others = self.documents.values().filter(|document| document.uri != *except);
        let others = others.filter(|document| document.language == Language::Loom);
        others.filter_map(|document| Some((document.path.clone()?, document.text().to_string()))).collect()
    }

    /// A program that is open; None if the document is something else.
    pub fn program(&mut self, uri: &Uri) -> Answer<Option<&mut Analysis>> {
        // Texts of other documents are only looked at if the program is read.
        let document = self.document(uri)?;
        if document.language != Language::Loom {
            return Ok(None);
        }
        if !document.is_read() {
            let unsaved = self.unsaved(uri);
            let is_over = self.inbox.watch(uri, self.request.as_ref());
            let read = self.documents.get_mut(uri).and_then(|document| document.analysis(&unsaved, &is_over));
            if read.is_none() {
                return Err(self.overtaken(uri));
            }
        }
        Ok(self.document(uri)?.known())
    }

    /// A system of constraints that is open; None if the document is something else.
    pub fn system(&mut self, uri: &Uri) -> Answer<Option<&Edited>> {
        Ok(self.document(uri)?.system())
    }

    /// The refusal of a request that is not needed any more.
    fn overtaken(&self, uri: &Uri) -> ResponseError {
        let (code, message) = self
            .inbox
            .overtaken(Some(uri), self.request.as_ref())
            .unwrap_or((ErrorCode::ContentModified, "the document was closed in the meantime"));
        failed(code, message)
    }

    /// The text of an open program; None if the document is something else.
    pub fn text(&mut self, uri: &Uri) -> Answer<Option<&Source>> {
        let document = self.document(uri)?;
        Ok((document.language == Language::Loom).then_some(&document.source))
    }

    /// The diagnostics of an open document.
    pub fn diagnostics(&mut self, uri: &Uri) -> Answer<Vec<Diagnostic>> {
        let unsaved = if self.document(uri)?.is_read() { BTreeMap::new() } else { self.unsaved(uri) };
        let is_over = self.inbox.watch(uri, self.request.as_ref());
        let document = self.documents.get_mut(uri);
        match document.and_then(|document| document.diagnostics(&unsaved, &is_over)) {
            Some(found) => Ok(found.to_vec()),
            None => Err(self.overtaken(uri)),
        }
    }

    /// The offset of a place in an open document.
    pub fn offset(&mut self, at: &TextDocumentPositionParams) -> Answer<u32> {
        self.offset_of(&at.text_document.uri, at.position)
    }

    /// The offset of a position in an open document.
    pub fn offset_of(&mut self, uri: &Uri, position: Position) -> Answer<u32> {
        let encoding = self.encoding;
        Ok(encoding.offset(&self.document(uri)?.source, position))
    }

    /// The offsets of a range in an open document.
    pub fn offsets_of(&mut self, uri: &Uri, range: Range) -> Answer<(u32, u32)> {
        let encoding = self.encoding;
        Ok(encoding.offsets(&self.document(uri)?.source, range))
    }

    /// The range of a span of an open document.
    pub fn range_of(&mut self, uri: &Uri, span: Span) -> Answer<Range> {
        let encoding = self.encoding;
        Ok(encoding.range(&self.document(uri)?.source, span))
    }

    /// Changes of an open document, in the words of the protocol.
    pub fn edits(&mut self, uri: &Uri, edits: &[broadloom_diagnostics::Edit]) -> Answer<Vec<TextEdit>> {
        let encoding = self.encoding;
        let source = &self.document(uri)?.source;
        let edit = |edit: &broadloom_diagnostics::Edit| TextEdit {
            range: encoding.range(source, edit.span),
            new_text: edit.text.clone(),
        };
        Ok(edits.iter().map(edit).collect())
    }

    /// Changes of several documents.
    pub fn workspace_edit(changes: HashMap<Uri, Vec<TextEdit>>) -> WorkspaceEdit {
        WorkspaceEdit { changes: Some(changes), document_changes: None, change_annotations: None }
    }

    /// The place of a span that the program at an address knows: in itself, in a module, or in the library.
    pub fn location(&mut self, program: &Uri, span: Span) -> Answer<Option<Location>> {
        let encoding = self.encoding;
        self.program(program)?;
        let Some(analysis) = self.documents.get_mut(program).and_then(Document::known) else {
            return Ok(Some(Location { uri: program.clone(), range: self.range_of(program, span)? }));
        };
        let main = analysis.program.main;
        let range = encoding.range(analysis.sources().get(span.source), span);
        let file = match analysis.program.file(span.source) {
            _ if span.source == main => return Ok(Some(Location { uri: program.clone(), range })),
            Some(file) => Some(file.to_path_buf()),
            None if span.source < main => self.library.file(analysis.sources(), main, span.source),
            None => None,
        };
        Ok(file.map(|file| Location { uri: self.address(&file), range }))
    }

    /// All programs: those that are open, and those of the open folders, or of the folder of a file if none is open. None if there
    /// are more than are searched.
    pub fn programs_around(&self, file: &Path) -> Option<Vec<Written>> {
        let open = self.documents.values().filter(|document| document.language == Language::Loom);
        let written = |document: &Document| Written {
            uri: document.uri.clone(),
            source: document.source.clone(),
            path: document.path.clone().unwrap_or_default(),
        };
        let mut all: Vec<Written> = open.map(written).collect();
        let parent = || file.parent().map(Path::to_path_buf).into_iter().collect();
        let found = programs(&if self.roots.is_empty() { parent() } else { self.roots.clone() });
        if found.len() >= MOST_FILES {
            return None;
        }
        for path in found {
            if !self.documents.values().any(|document| document.path.as_deref() == Some(&*path)) {
                all.extend(self.written(&path));
            }
        }
        all.sort_by(|a, b| a.uri.as_ref().cmp(b.uri.as_ref()));
        Some(all)
    }

    /// A file with the text in the editor, if it is open.
    pub fn written(&self, path: &Path) -> Option<Written> {
        let open = self.documents.values().find(|document| document.path.as_deref() == Some(path));
        let source = match open {
            Some(document) => document.source.clone(),
            None => Source::new("", std::fs::read_to_string(path).ok()?),
        };
        Some(Written { uri: self.address(path), source, path: path.to_path_buf() })
    }

    /// Returns true for a file of the library.
    pub fn is_library(&self, file: &Path) -> bool {
        self.library.contains(file)
    }

    /// Drops what is known of programs that mention a file of data that has changed.
    pub fn forget_readers(&mut self, file: &Path) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        for document in self.documents.values_mut().filter(|document| document.text().contains(&*name)) {
            document.forget();
        }
    }

    /// The address of a file: that of its open document, if there is one, because editors may write it differently.
    pub fn address(&self, file: &Path) -> Uri {
        let open = self.documents.values().find(|document| document.path.as_deref() == Some(file));
        open.map_or_else(|| uri::uri(file), |document| document.uri.clone())
    }

    /// Opens a document, or opens it again with another text.
    pub fn open(&mut self, uri: Uri, language: &str, version: i32, text: String) {
        let document = Document::new(uri.clone(), language, version, text);
        let path = document.path.clone();
        self.documents.insert(uri, document);
        self.forget_importers(path.as_deref());
    }

    /// Closes a document: those that import it read the file again.
    pub fn close(&mut self, uri: &Uri) {
        let closed = self.documents.remove(uri);
        self.forget_importers(closed.and_then(|document| document.path).as_deref());
    }

    /// Drops what is known of programs that import a file.
    pub fn forget_importers(&mut self, file: Option<&Path>) {
        let Some(file) = file else { return };
        for document in self.documents.values_mut() {
            if document.path.as_deref() != Some(file) && document.may_import(file) {
                document.forget();
            }
        }
    }
}
