//! What is wrong with a text, as plain data.
//!
//! A diagnostic has a message that can stand alone, one primary span that says
//! where to look first, secondary spans for the other places it speaks of, and
//! advice. It knows nothing of files or terminals; [`super::render`](mod@super::render) shows it.

use super::source::Span;

/// A mistake and everything needed to explain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Where, and what is there.
    pub primary: Label,
    /// Other places the explanation needs.
    pub secondary: Vec<Label>,
    /// Further facts, each a sentence.
    pub notes: Vec<String>,
    /// What to write instead.
    pub help: Option<String>,
}

/// A span with a few words on it; the words may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is said about it.
    pub text: String,
}

impl Diagnostic {
    /// A diagnostic with a primary label and nothing else.
    pub fn new(message: impl Into<String>, span: Span, label: impl Into<String>) -> Diagnostic {
        Diagnostic {
            message: message.into(),
            primary: Label { span, text: label.into() },
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// Adds a secondary label.
    pub fn with_secondary(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.secondary.push(Label { span, text: label.into() });
        self
    }

    /// Adds a note.
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Sets the help.
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// The primary label and then the secondary ones.
    pub fn labels(&self) -> impl Iterator<Item = &Label> {
        std::iter::once(&self.primary).chain(&self.secondary)
    }
}
