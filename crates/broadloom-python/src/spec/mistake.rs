//! Mistakes in a spec or in the arrays that it is used with, and their text for Python.
//!
//! ```text
//! `j` cannot be both 4 and 5
//!   |
//! 1 | i j; j k => i k
//!   |   -  ^ 5: axis 0 of operand 2, an array of shape (5, 6)
//!   |   |
//!   |   4: axis 1 of operand 1, an array of shape (3, 4)
//!   |
//!   = help: …
//! ```

use broadloom_diagnostics::{Diagnostic, SourceId, Sources, Span as Place, Style, render};
use broadloom_spec::{Error, Span};

/// A mistake with its places in the text of a spec.
#[derive(Debug)]
pub struct Mistake {
    /// The kind of exception.
    pub kind: MistakeKind,
    text: String,
    diagnostic: Box<Diagnostic>,
}

/// The kinds of exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MistakeKind {
    /// The text itself is wrong: `SpecError`.
    Spec,
    /// The arrays do not fit the text: `ShapeError`.
    Shape,
}

impl Mistake {
    /// A mistake in the text.
    pub fn spec(text: &str, message: impl Into<String>, span: Span, label: impl Into<String>) -> Mistake {
        let diagnostic = Diagnostic::error("", message, place(span), label);
        Mistake { kind: MistakeKind::Spec, text: text.to_owned(), diagnostic: Box::new(diagnostic) }
    }

    /// A mistake in the arrays.
    pub fn shape(text: &str, message: impl Into<String>, span: Span, label: impl Into<String>) -> Mistake {
        Mistake { kind: MistakeKind::Shape, ..Mistake::spec(text, message, span, label) }
    }

    /// A mistake that `broadloom-spec` found.
    pub fn notation(text: &str, error: Error) -> Mistake {
        let (text, error) = error.visible(text);
        let mut mistake = Mistake::spec(&text, error.message.as_ref(), error.span, error.label.as_ref());
        if let Some(related) = error.related {
            mistake = mistake.with_place(related.span, related.label);
        }
        if let Some(help) = error.help {
            mistake = mistake.with_help(help);
        }
        mistake
    }

    /// The same with another place.
    pub fn with_place(mut self, span: Span, label: impl Into<String>) -> Mistake {
        *self.diagnostic = (*self.diagnostic).clone().with_label(place(span), label);
        self
    }

    /// The same with a fact.
    pub fn with_note(mut self, note: impl Into<String>) -> Mistake {
        self.diagnostic.notes.push(note.into());
        self
    }

    /// The same with advice.
    pub fn with_help(mut self, help: impl Into<String>) -> Mistake {
        self.diagnostic.help.push(help.into().into());
        self
    }

    /// The spec, which the places are in.
    pub fn sources(&self) -> Sources {
        Sources::one("", self.text.as_str())
    }

    /// The mistake as data.
    pub fn diagnostic(&self) -> &Diagnostic {
        &self.diagnostic
    }

    /// The text of the exception: the message, the spec with its places, notes and advice.
    pub fn render(&self) -> String {
        // The class says that it is an error, and a spec is one line: its position is visible.
        let style = Style { header: false, place: false, ..Style::default() };
        render(&self.sources(), &self.diagnostic, style).trim_end().to_string()
    }
}

fn place(span: Span) -> Place {
    Place::new(SourceId(0), span.start, span.end)
}
