//! Diagnostics for programs: the same facts with lines and columns instead of spans.
//!
//! With the feature `serde`, a [`Shown`] is written as one flat object:
//!
//! ```text
//! { "code": "L0201", "severity": "error", "message": "…",
//!   "file": "a.loom", "line": 4, "column": 1, "end_line": 4, "end_column": 5,
//!   "labels": [{ "file": …, "text": "…", "primary": true }, …],
//!   "notes": ["…"], "help": ["…"], "chain": [{ "text": "…", "file": … }, …] }
//! ```
//!
//! Every key is always there, except those of a place that does not exist: a diagnostic without
//! labels has no `file`, nor has a link without a span.

use crate::diagnostic::{Diagnostic, Link};
use crate::source::{Sources, Span};

/// A diagnostic with positions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Shown<'a> {
    /// Its code; may be empty.
    pub code: &'a str,
    /// `error`, `warning` or `note`.
    pub severity: &'a str,
    /// The message.
    pub message: &'a str,
    /// The place to look first.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: Option<ShownPlace<'a>>,
    /// All places, the first one included.
    pub labels: Vec<ShownLabel<'a>>,
    /// Further facts.
    pub notes: &'a [String],
    /// Advice: the text to write instead.
    pub help: Vec<&'a str>,
    /// The steps that connect the labels.
    pub chain: Vec<ShownLink<'a>>,
}

/// A span in lines and columns, as people count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ShownPlace<'a> {
    /// The name of the source.
    pub file: &'a str,
    /// The line of the first character, from 1.
    pub line: u32,
    /// The column of the first character, from 1 in characters.
    pub column: u32,
    /// The line of the end.
    pub end_line: u32,
    /// The column after the last character.
    pub end_column: u32,
}

/// A label with a position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ShownLabel<'a> {
    /// Its place.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: ShownPlace<'a>,
    /// The words for it.
    pub text: &'a str,
    /// True if it is the place to look first.
    pub primary: bool,
}

/// A step of a chain with a position.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ShownLink<'a> {
    /// The fact or the operation of this step.
    pub text: &'a str,
    /// The place where it is written, if it is.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: Option<ShownPlace<'a>>,
}

impl<'a> Shown<'a> {
    /// Finds the positions of a diagnostic.
    ///
    /// ```
    /// use broadloom_diagnostics::{Diagnostic, Shown, Sources, Span};
    ///
    /// let mut sources = Sources::new();
    /// let file = sources.add("a.loom", "let é = 3\n");
    /// let diagnostic = Diagnostic::warning("L0901", "`é` is never used", Span::new(file, 4, 6), "");
    /// let shown = Shown::new(&sources, &diagnostic);
    /// let place = shown.place.unwrap();
    /// assert_eq!((shown.severity, place.file, place.line), ("warning", "a.loom", 1));
    /// assert_eq!((place.column, place.end_column), (5, 6));
    /// ```
    pub fn new(sources: &'a Sources, diagnostic: &'a Diagnostic) -> Shown<'a> {
        let place = |span: Span| ShownPlace::new(sources, span);
        let link = |link: &'a Link| ShownLink { text: &link.text, place: link.span.map(place) };
        let labels = diagnostic.labels.iter();
        Shown {
            code: diagnostic.code,
            severity: diagnostic.severity.word(),
            message: &diagnostic.message,
            place: diagnostic.primary().map(|label| place(label.span)),
            labels: labels
                .map(|label| ShownLabel {
                    place: place(label.span),
                    text: &label.text,
                    primary: label.primary,
                })
                .collect(),
            notes: &diagnostic.notes,
            help: diagnostic.help.iter().map(|help| &**help).collect(),
            chain: diagnostic.chain.iter().map(link).collect(),
        }
    }
}

impl<'a> ShownPlace<'a> {
    /// Finds the position of a span.
    pub fn new(sources: &'a Sources, span: Span) -> ShownPlace<'a> {
        let source = sources.get(span.source);
        let (line, column) = source.position(span.start);
        let (end_line, end_column) = source.position(span.end.max(span.start));
        ShownPlace { file: source.name(), line, column, end_line, end_column }
    }
}
