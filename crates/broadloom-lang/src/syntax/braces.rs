//! The parts of a text: words, and braces in which something is filled in.
//!
//! In every text, `{name}` stands for the number or the text of a name, and in a text that is printed any expression may stand in braces. This
//! is the one place that finds them, for texts of a program and for texts that a program makes.

use std::ops::Range;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPart<'t> {
    /// Words as they are.
    Words(&'t str),
    /// Braces around something that is filled in.
    Filled(Braces<'t>),
    /// The text behind a brace that is not closed, up to the end.
    Unclosed(Braces<'t>),
}

/// The text behind an open brace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Braces<'t> {
    /// The text between the braces.
    pub inner: &'t str,
    /// The place of that text, in bytes from the start of the whole.
    pub start: usize,
}

impl Braces<'_> {
    /// The place of what stands between the braces.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.inner.len()
    }
}

/// The parts of a text, in order.
///
/// ```
/// use broadloom_lang::syntax::braces::{Braces, TextPart, text_parts};
/// let parts: Vec<_> = text_parts("loss {mean(x)}!").collect();
/// let filled = TextPart::Filled(Braces { inner: "mean(x)", start: 6 });
/// assert_eq!(parts, [TextPart::Words("loss "), filled, TextPart::Words("!")]);
/// assert_eq!(text_parts("{x").next(), Some(TextPart::Unclosed(Braces { inner: "x", start: 1 })));
/// ```
pub fn text_parts(text: &str) -> impl Iterator<Item = TextPart<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let words = rest.find('{').unwrap_or(rest.len());
        if words > 0 {
            at += words;
            return Some(TextPart::Words(&rest[..words]));
        }
        let start = at + 1;
        match rest.find('}') {
            Some(close) => {
                at += close + 1;
                Some(TextPart::Filled(Braces { inner: &rest[1..close], start }))
            }
            None => {
                at = text.len();
                Some(TextPart::Unclosed(Braces { inner: &rest[1..], start }))
            }
        }
    })
}

/// The closed braces of a text, in order.
pub fn braces(text: &str) -> impl Iterator<Item = Braces<'_>> {
    text_parts(text).filter_map(|part| match part {
        TextPart::Filled(braces) => Some(braces),
        TextPart::Words(_) | TextPart::Unclosed(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a text: words, `<…>` for what is filled in, and `<…` for what is not closed.
    fn shown(text: &str) -> String {
        let part = |part| match part {
            TextPart::Words(words) => format!("{words}|"),
            TextPart::Filled(braces) => {
                assert_eq!(&text[braces.range()], braces.inner);
                format!("<{}>|", braces.inner)
            }
            TextPart::Unclosed(braces) => {
                assert_eq!(&text[braces.range()], braces.inner);
                format!("<{}", braces.inner)
            }
        };
        text_parts(text).map(part).collect()
    }

    #[test]
    fn parts_in_order() {
        assert_eq!(shown(""), "");
        assert_eq!(shown("no braces } here"), "no braces } here|");
        assert_eq!(shown("{s}*o+k => {t}"), "<s>|*o+k => |<t>|");
        assert_eq!(shown("{}{ x }é{y}"), "<>|< x >|é|<y>|");
        assert_eq!(shown("a {b {c} d}"), "a |<b {c>| d}|");
        assert_eq!(shown("a {b} {c"), "a |<b>| |<c");
        assert_eq!(braces("a {b} {c").count(), 1);
    }
}
