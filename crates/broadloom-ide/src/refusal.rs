//! The reason why a question has no answer.

use std::fmt;

use broadloom::Error;
use broadloom_diagnostics::{Diagnostic, Severity};
use serde::Serialize;

/// The reason why a question about a program has no answer. It is serialised as it is shown to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub enum Refusal {
    /// In a sentence.
    Sentence(String),
    /// An error of the library, with its ends and advice.
    Library(Box<Error>),
}

impl Refusal {
    /// The sentence alone.
    pub fn message(&self) -> &str {
        match self {
            Refusal::Sentence(sentence) => sentence,
            Refusal::Library(error) => error.message(),
        }
    }

    /// The reason as a message without a place in a text.
    pub fn diagnostic(&self) -> Diagnostic {
        let mut diagnostic = Diagnostic::new(Severity::Error, "", self.message());
        if let Refusal::Library(error) = self {
            diagnostic.notes.extend(error.excerpt().map(str::to_string));
            diagnostic.notes.extend(error.ends().iter().map(ToString::to_string));
            diagnostic.help.extend(error.help().iter().cloned());
            diagnostic.help.iter_mut().for_each(|help| help.write_in(broadloom_lang::in_loom));
            for link in error.chain() {
                diagnostic = diagnostic.with_link(None, &link.text);
            }
        }
        diagnostic
    }
}

/// For people, on several lines.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Sentence(sentence) => f.write_str(sentence),
            Refusal::Library(error) => error.fmt(f),
        }
    }
}

impl From<String> for Refusal {
    fn from(sentence: String) -> Refusal {
        Refusal::Sentence(sentence)
    }
}

impl From<&str> for Refusal {
    fn from(sentence: &str) -> Refusal {
        Refusal::Sentence(sentence.to_string())
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Library(Box::new(error))
    }
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> String {
        refusal.to_string()
    }
}

impl std::error::Error for Refusal {}
