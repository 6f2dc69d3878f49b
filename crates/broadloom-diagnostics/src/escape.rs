//! Texts from outside, such as the names of files, without characters that a terminal would
//! interpret.

use std::borrow::Cow;

use crate::ink::is_unprintable;

/// The text with escapes in place of characters that would move the cursor, reverse the text or be
/// invisible: `\n`, `\u{1b}`. The result is on one line, and is text only.
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
