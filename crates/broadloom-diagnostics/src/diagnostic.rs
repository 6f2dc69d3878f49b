//! Messages about a text, as plain data.
//!
//! A diagnostic has a message that can stand alone, a primary label at the place to look first,
//! further labels for the other places of the mistake, and advice. Its chain, where it has one, is
//! the way from one label to another, step by step. It does not depend on files or terminals;
//! [`render`](crate::render()) shows it.
//!
//! ```
//! use broadloom_diagnostics::{Diagnostic, Severity, SourceId, Span};
//!
//! let span = |start, end| Span::new(SourceId(0), start, end);
//! let diagnostic = Diagnostic::error("L0201", "`a` cannot be both 3 and 4", span(8, 9), "4 because of this")
//!     .with_label(span(2, 3), "3 because of this")
//!     .with_help("remove one of them");
//! assert_eq!(diagnostic.severity, Severity::Error);
//! assert_eq!(diagnostic.primary().map(|label| label.span), Some(span(8, 9)));
//! assert!(!diagnostic.labels[1].primary);
//! ```

use crate::fact::Fact;
use crate::help::Help;
use crate::severity::Severity;
use crate::source::Span;

/// A mistake and everything needed to explain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The code of the mistake, shown in brackets; empty if it has none.
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The message, one sentence without a full stop.
    pub message: String,
    /// The places it is about. It is reported at the first primary one.
    pub labels: Vec<Label>,
    /// Further facts, each a sentence.
    pub notes: Vec<String>,
    /// Advice: the text to write instead.
    pub help: Vec<Help>,
    /// Changes of the text that carry out a piece of advice.
    pub fixes: Vec<Fix>,
    /// The steps that connect the labels, in order; empty if they are obvious.
    pub chain: Vec<Link>,
    /// The facts it is about, as data, for a search for a change that corrects it.
    pub facts: Vec<Fact>,
}

impl Edit {
    /// A text in place of a span.
    pub fn new(span: Span, text: impl Into<String>) -> Edit {
        Edit { span, text: text.into() }
    }
}

/// A span with a few words on it; the words may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The words for it.
    pub text: String,
    /// True if it is the place to look first.
    pub primary: bool,
    /// The part that it has in the mistake, as data.
    pub role: Role,
}

/// The part of a label in a mistake, for code that moves or adds to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// One of its places.
    #[default]
    Place,
    /// The end of a conflict with this number, in the order of the error's ends.
    End(usize),
    /// A place of which these are true: "`width` is 64", "`net` is made". Others can be added.
    Here(Vec<String>),
}

impl Label {
    /// A label that is not the place to look first.
    pub fn new(span: Span, text: impl Into<String>) -> Label {
        Label { span, text: text.into(), primary: false, role: Role::Place }
    }

    /// A label that says what is true of its place, and to which more can be [added](Label::add).
    ///
    /// ```
    /// use broadloom_diagnostics::{Label, SourceId, Span};
    ///
    /// let mut label = Label::here(Span::new(SourceId(0), 0, 3), "`net` is made");
    /// label.add("`width` is 64");
    /// assert_eq!(label.text, "`net` is made, `width` is 64 here");
    /// ```
    pub fn here(span: Span, clause: impl Into<String>) -> Label {
        let mut label = Label { role: Role::Here(Vec::new()), ..Label::new(span, "") };
        label.add(clause);
        label
    }

    /// Adds to a label that says what is true of its place, unless it says that already; others stay as they are.
    pub fn add(&mut self, clause: impl Into<String>) {
        let Role::Here(clauses) = &mut self.role else { return };
        let clause = clause.into();
        if !clauses.contains(&clause) {
            clauses.push(clause);
            self.text = format!("{} here", clauses.join(", "));
        }
    }
}

/// A piece of advice as a change of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The effect in words: usually a piece of advice of [`Diagnostic::help`].
    pub title: String,
    /// The changes; they do not overlap.
    pub edits: Vec<Edit>,
}

/// A span with the text to write in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The text to replace; empty to insert there.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// One step of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The fact or the operation of this step.
    pub text: String,
    /// The place where it is written, if it is.
    pub span: Option<Span>,
}

impl Diagnostic {
    /// A message with no place and no advice yet.
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity,
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            fixes: Vec::new(),
            chain: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// An error with a primary label.
    pub fn error(
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, message).with_primary(span, label)
    }

    /// A warning with a primary label.
    pub fn warning(
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, message).with_primary(span, label)
    }

    /// A note of its own, with a primary label.
    pub fn note(
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::new(Severity::Note, code, message).with_primary(span, label)
    }

    /// Adds a primary label.
    pub fn with_primary(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { primary: true, ..Label::new(span, label) });
        self
    }

    /// Adds a secondary label.
    pub fn with_label(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.labels.push(Label::new(span, label));
        self
    }

    /// Adds a note.
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Adds a piece of advice.
    pub fn with_help(mut self, help: impl Into<Help>) -> Diagnostic {
        self.help.push(help.into());
        self
    }

    /// Adds a piece of advice that says exactly what to write in place of a span.
    ///
    /// ```
    /// use broadloom_diagnostics::{Diagnostic, SourceId, Span};
    ///
    /// let word = Span::new(SourceId(0), 4, 9);
    /// let wrong = Diagnostic::error("L0101", "`logts` is not defined", word, "not known here");
    /// let wrong = wrong.with_fix("write `linear(64)`", word, "linear(64)");
    /// assert_eq!(wrong.help, ["write `linear(64)`"]);
    /// assert_eq!(wrong.fixes[0].edits[0].text, "linear(64)");
    /// ```
    pub fn with_fix(self, help: impl Into<String>, span: Span, text: impl Into<String>) -> Diagnostic {
        self.with_edits(help, vec![Edit { span, text: text.into() }])
    }

    /// Asks whether another name was meant.
    ///
    /// ```
    /// use broadloom_diagnostics::{Diagnostic, SourceId, Span};
    ///
    /// let word = Span::new(SourceId(0), 4, 9);
    /// let wrong = Diagnostic::error("L0101", "`logts` is not defined", word, "not known here");
    /// let wrong = wrong.with_near_name("logits", word);
    /// assert_eq!(wrong.help, ["did you mean `logits`?"]);
    /// assert_eq!(wrong.fixes[0].title, "change to `logits`");
    /// ```
    pub fn with_near_name(self, name: &str, span: Span) -> Diagnostic {
        let edits = vec![Edit { span, text: name.into() }];
        self.fixed_by(format!("change to `{name}`"), edits).with_help(format!("did you mean `{name}`?"))
    }

    /// Adds a piece of advice that several changes carry out together.
    pub fn with_edits(self, help: impl Into<String>, edits: Vec<Edit>) -> Diagnostic {
        let help: String = help.into();
        self.fixed_by(help.clone(), edits).with_help(help)
    }

    /// Adds changes that carry out a part of the advice, with a title of their own.
    pub fn fixed_by(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Diagnostic {
        self.fixes.push(Fix { title: title.into(), edits });
        self
    }

    /// Adds a step to the chain.
    pub fn with_link(mut self, span: impl Into<Option<Span>>, text: impl Into<String>) -> Diagnostic {
        self.chain.push(Link { text: text.into(), span: span.into() });
        self
    }

    /// Adds a fact.
    pub fn with_fact(mut self, fact: Fact) -> Diagnostic {
        self.facts.push(fact);
        self
    }

    /// The label to look at first: the first primary one, or else the first.
    pub fn primary(&self) -> Option<&Label> {
        self.labels.iter().find(|label| label.primary).or(self.labels.first())
    }

    /// Returns true if it says the same as another, which may stand at another place.
    pub fn says_the_same(&self, other: &Diagnostic) -> bool {
        (self.code, &self.message) == (other.code, &other.message)
    }

    /// Returns true if it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
