//! The interface of a module: the signatures of its functions, as a text that can be kept beside it.
//!
//! The text has a line with its version, one with a fingerprint of what it was made from, and then the signatures as people read them.
//! Kept in a repository, it shows a change of shapes as a change of a file: [`Interface::changes`] says what became of each function.
//! Kept beside its module, it spares those who import the module checking its functions again, as long as the fingerprint is right.

use std::fmt;

use broadloom_lang::Asked;
use broadloom_lang::interface::{FIRST, SOURCE, made_from};

use crate::analysis::Text;
use crate::signature::{Signed, signatures};

/// The signatures of the functions of a module, in the order of its text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interface {
    fingerprint: String,
    functions: Vec<(String, String)>,
}

/// The reason why a text is not an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoInterface {
    /// It does not begin as an interface does.
    OtherText,
    /// It is an interface of another version.
    OtherVersion,
}

impl Interface {
    /// The interface of a program, and what is wrong with its functions.
    ///
    /// ```
    /// use broadloom_ide::{Interface, Text};
    /// let (interface, _) = Interface::of(&Text::new("a.loom", "def twice(x) = x + x\n"));
    /// let text = interface.to_string();
    /// assert!(text.contains("\ntwice(x : ..b.. | ..i.. -> ..o..) -> ..b.. | ..i.. -> ..o..\n"));
    /// assert_eq!(Interface::read(&text), Ok(interface));
    /// ```
    pub fn of(text: &Text) -> (Interface, Signed) {
        let found = signatures(text, &Asked::Own);
        let each = found.answer.signatures.iter().map(|each| (each.name.clone(), each.text.clone()));
        (Interface { fingerprint: found.fingerprint.clone(), functions: each.collect() }, found)
    }

    /// Reads a text that was made by showing an interface.
    pub fn read(text: &str) -> Result<Interface, NoInterface> {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let family = FIRST.split_once(',').map_or(FIRST, |(family, _)| family);
        match first.trim_end() {
            FIRST => {}
            other if other.starts_with(family) => return Err(NoInterface::OtherVersion),
            _ => return Err(NoInterface::OtherText),
        }
        let fingerprint = made_from(text).ok_or(NoInterface::OtherText)?.to_string();
        let mut functions: Vec<(String, String)> = Vec::new();
        for line in lines.filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            match functions.last_mut().filter(|_| line.starts_with(' ')) {
                Some((_, text)) => text.push_str(&format!("{}\n", line.trim_end())),
                None => {
                    let name = line.split(['(', ' ']).next().unwrap_or_default();
                    functions.push((name.into(), format!("{}\n", line.trim_end())));
                }
            }
        }
        Ok(Interface { fingerprint, functions })
    }

    /// Returns true if there are no functions.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Describes each function that is not as it was, a sentence each.
    ///
    /// ```
    /// use broadloom_ide::{Interface, Text};
    /// let of = |text: &str| Interface::of(&Text::new("a.loom", text)).0;
    /// let (before, now) = (of("def f(x) = x\ndef g(x) = x\n"), of("def f(x) = {w : 3} * x\ndef h(x) = x\n"));
    /// assert_eq!(before.changes(&before).len(), 0);
    /// let changes = before.changes(&now);
    /// assert_eq!((changes.len(), changes[1].as_str(), changes[2].as_str()), (3, "`g` is gone", "`h` is new"));
    /// ```
    pub fn changes(&self, now: &Interface) -> Vec<String> {
        let of = |interface: &Interface, name: &str| {
            let texts =
                interface.functions.iter().filter(|(own, _)| own == name).map(|(_, text)| text.clone());
            texts.collect::<Vec<String>>()
        };
        let mut changes = Vec::new();
        for (name, was) in &self.functions {
            match of(now, name).as_slice() {
                [] => changes.push(format!("`{name}` is gone")),
                texts if texts.contains(was) => {}
                [is, ..] => {
                    changes.push(format!("`{name}` was\n{}and is now\n{}", indented(was), indented(is)))
                }
            }
        }
        let is_new = |name: &str| of(self, name).is_empty();
        let new = now.functions.iter().filter(|(name, _)| is_new(name));
        changes.extend(new.map(|(name, _)| format!("`{name}` is new")));
        if changes.is_empty() && self.fingerprint != now.fingerprint {
            changes.push("no signature has changed, but the text has, so that imports do not use it".into());
        }
        changes
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST}\n{SOURCE}{}", self.fingerprint)?;
        writeln!(
            f,
            "# The shapes that its functions take and give. Made by `broadloom emit FILE --interface`."
        )?;
        self.functions.iter().try_for_each(|(_, text)| write!(f, "\n{text}"))
    }
}
