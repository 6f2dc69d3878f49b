//! Advice.

use std::fmt;
use std::ops::Deref;

use crate::code::{Code, Wording};

/// A piece of advice.
///
/// ```
/// use broadloom_diagnostics::{Advice, Help};
///
/// let help = Help::from("write `y = sum(x)`");
/// assert_eq!(help.kind, Advice::Write);
/// assert_eq!(help, "write `y = sum(x)`");
/// assert_eq!(Help::rule("positions count from 0").kind, Advice::Rule);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Help {
    /// The advice, for people. Code stands between backquotes.
    pub text: String,
    /// The kind of advice, for code that chooses between several.
    pub kind: Advice,
    /// True if it words the remedy of an error of the library, for which another language has other words.
    pub is_remedy: bool,
    /// The words, the code and the names of tensors that the text is made of, if there are any that are written in another way
    /// elsewhere.
    wording: Wording,
}

/// The kind of a piece of advice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// Something to write.
    #[default]
    Write,
    /// The rule that is broken; what to write is left open. Advice that says it is better.
    Rule,
    /// To declare these tensors with other shapes.
    Declare(Vec<String>),
    /// To write another product of matrices.
    Product,
}

impl Help {
    /// A rule that is broken.
    pub fn rule(text: impl Into<String>) -> Help {
        Help::of(Advice::Rule, text)
    }

    /// Advice to declare a tensor with another shape.
    pub fn declare(name: &str, wording: Wording) -> Help {
        Help::naming(Advice::Declare(vec![name.to_string()]), wording)
    }

    /// Advice to write another product of matrices.
    pub fn product(wording: Wording) -> Help {
        Help::naming(Advice::Product, wording)
    }

    /// Advice of a kind.
    pub fn of(kind: Advice, text: impl Into<String>) -> Help {
        Help { text: text.into(), kind, is_remedy: false, wording: Wording::default() }
    }

    /// The advice as the words for a remedy of the library.
    pub fn as_remedy(self) -> Help {
        Help { is_remedy: true, ..self }
    }

    /// Advice of a kind whose code, if there is any, is the same in all languages, with names of tensors in it.
    pub fn naming(kind: Advice, wording: Wording) -> Help {
        Help::worded(kind, wording, |_| String::new())
    }

    /// Advice of a kind with code in it, which a front writes in its language.
    pub fn worded(kind: Advice, wording: Wording, write: impl Fn(&Code) -> String) -> Help {
        let text = wording.written(write);
        Help { text, kind, is_remedy: false, wording }
    }

    /// Writes the code in it in another language. Advice without code stays as it is.
    pub fn write_in(&mut self, write: impl Fn(&Code) -> String) {
        if !self.wording.is_plain() {
            self.text = self.wording.written(write);
        }
    }

    /// Returns true if it names a setting of a run, which each front has its own way to write.
    pub fn names_setting(&self) -> bool {
        self.wording.names_setting()
    }

    /// Gives the tensors in it other names, and writes its code in a language. Advice without names stays as it is.
    pub fn rename(&mut self, rename: &dyn Fn(&str) -> String, write: impl Fn(&Code) -> String) {
        self.wording = self.wording.with_names(rename);
        self.write_in(write);
    }
}

/// Advice on what to write, with names of tensors.
impl From<Wording> for Help {
    fn from(wording: Wording) -> Help {
        Help::naming(Advice::Write, wording)
    }
}

impl<T: Into<String>> From<T> for Help {
    fn from(text: T) -> Help {
        Help::of(Advice::Write, text)
    }
}

impl Deref for Help {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl PartialEq<&str> for Help {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
