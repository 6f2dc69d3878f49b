//! Advice.

use std::fmt;
use std::ops::Deref;

/// A piece of advice.
///
/// ```
/// use broadloom_diagnostics::Help;
///
/// let help = Help::from("write `y = sum(x)`");
/// assert!(!help.is_rule);
/// assert_eq!(help, "write `y = sum(x)`");
/// assert!(Help::rule("positions count from 0").is_rule);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Help {
    /// The advice, for people.
    pub text: String,
    /// True if it says which rule is broken, and leaves open what to write. Advice that says it is better.
    pub is_rule: bool,
}

impl Help {
    /// A rule that is broken.
    pub fn rule(text: impl Into<String>) -> Help {
        Help { text: text.into(), is_rule: true }
    }
}

impl<T: Into<String>> From<T> for Help {
    fn from(text: T) -> Help {
        Help { text: text.into(), is_rule: false }
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
