//! Texts from outside, such as the names of files, without what a terminal would obey.

use std::borrow::Cow;

use crate::ink::is_unprintable;

/// The text with escapes in place of characters that would move the cursor, turn the text round or leave no mark: `\n`,
/// `\u{1b}`. What is shown is on one line, and nothing but text.
///
/// ```
/// use broadloom_diagnostics::escaped;
///
/// assert_eq!(escaped("plain.loom"), "plain.loom");
/// assert_eq!(escaped("red\u{1b}[31m\n.loom"), r"red\u{1b}[31m\n.loom");
/// ```
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => shown.extend(c.escape_default()),
            c if is_unprintable(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}
