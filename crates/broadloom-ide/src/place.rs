//! Places in texts, with lines and columns counted from 1.

use broadloom_diagnostics::{Sources, Span};
use serde::Serialize;

/// A file and a line in it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Line {
    /// The name of the text.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl Line {
    /// The line on which a span begins.
    pub fn new(sources: &Sources, span: Span) -> Line {
        let source = sources.get(span.source);
        Line { file: source.name().to_string(), line: source.line_of(span.start) }
    }
}

/// A span as lines and columns.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Place {
    /// The name of the text.
    pub file: String,
    /// The line of the first character, from 1.
    pub line: u32,
    /// The column of the first character, from 1 in characters.
    pub column: u32,
    /// The line of the end.
    pub end_line: u32,
    /// The column after the last character.
    pub end_column: u32,
}

impl Place {
    /// The position of a span.
    pub fn new(sources: &Sources, span: Span) -> Place {
        let broadloom_diagnostics::ShownPlace { file, line, column, end_line, end_column } =
            broadloom_diagnostics::ShownPlace::new(sources, span);
        Place { file: file.to_string(), line, column, end_line, end_column }
    }
}
