//! The parentheses of a spec, and the text without them, in which every character keeps its place.
//!
//! ```text
//! b (h 2) => b h           b  h 2  => b h              an axis: the parentheses become blanks
//! i; j, k => i^(j k)       i; j, k => i^z0___          a part of an axis: a label that stands for it
//! ```

use super::mistake::Mistake;
use broadloom_spec::{Mode, Span};

/// The composed axes of a spec.
pub struct Groups {
    /// Those that are an axis of their own, the parentheses included.
    axes: Vec<Span>,
    /// Those inside of a window or a concatenation, each with the label in its place; none for `()`, which is one element.
    inner: Vec<(Span, Option<String>)>,
}

impl Groups {
    /// Finds them; parentheses that do not fit are a mistake.
    pub fn find(text: &str) -> Result<Groups, Mistake> {
        let (inner, axes): (Vec<Span>, Vec<Span>) =
            find(text)?.into_iter().partition(|group| is_inner(text, *group));
        let mut groups = Groups { axes, inner: Vec::new() };
        for span in inner {
            let label = match words(text, span).is_empty() {
                true => None,
                false => Some(groups.free_label(text, span)?),
            };
            groups.inner.push((span, label));
        }
        Ok(groups)
    }

    /// A label of the length of the group, which the text has not.
    fn free_label(&self, text: &str, span: Span) -> Result<String, Mistake> {
        let length = span.slice(text).len();
        let used = |name: &str| {
            text.contains(name) || self.inner.iter().any(|(_, label)| label.as_deref() == Some(name))
        };
        let names = (0..1000).map(|number| format!("{:_<length$}", format!("z{number}")));
        let name = names.into_iter().find(|name| name.len() == length && !used(name));
        name.ok_or_else(|| Mistake::spec(text, "there are too many composed axes", span, "one of them"))
    }

    /// The text without parentheses.
    pub fn hide(&self, text: &str) -> String {
        let blank = |byte: u8| if matches!(byte, b'(' | b')') { b' ' } else { byte };
        let mut bytes: Vec<u8> = text.bytes().map(blank).collect();
        let is_words = Mode::of(text) == Mode::Multi;
        for group in &self.axes {
            let (start, end) = (group.start as usize + 1, group.end as usize - 1);
            if bytes[start..end].iter().all(u8::is_ascii_whitespace) {
                bytes[start - 1] = b'0';
            } else if is_words {
                separate(&mut bytes[start..end]);
            }
        }
        for (group, label) in &self.inner {
            let place = &mut bytes[group.start as usize..group.end as usize];
            match label {
                Some(label) => place.copy_from_slice(label.as_bytes()),
                None => place[0] = b'1',
            }
        }
        // Whole characters were exchanged, so this is text.
        String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
    }

    /// The composed axis that a part of the text lies in.
    pub fn around(&self, span: Span) -> Option<Span> {
        self.axes.iter().copied().find(|group| group.start < span.end && span.start < group.end)
    }

    /// The composed axis that a label stands for.
    pub fn hidden(&self, label: &str) -> Option<Span> {
        self.inner.iter().find(|(_, other)| other.as_deref() == Some(label)).map(|(span, _)| *span)
    }

    /// The places of the words of a composed axis.
    pub fn words(&self, text: &str, group: Span) -> Vec<Span> {
        words(text, group)
    }
}

/// The places between parentheses, the parentheses included.
fn find(text: &str) -> Result<Vec<Span>, Mistake> {
    let mut groups = Vec::new();
    let mut open: Option<usize> = None;
    for (at, byte) in text.bytes().enumerate() {
        let here = Span::new(at, at + 1);
        match (byte, open) {
            (b'(', None) => open = Some(at),
            (b'(', Some(first)) => {
                return Err(Mistake::spec(
                    text,
                    "a composed axis cannot contain another one",
                    here,
                    "inside the first",
                )
                .with_place(Span::new(first, first + 1), "the first begins here")
                .with_help(
                    "list all parts in one pair of parentheses: `(a b c)` has the same order as `((a b) c)`",
                ));
            }
            (b')', None) => {
                return Err(Mistake::spec(text, "this `)` closes nothing", here, "no `(` before it"));
            }
            (b')', Some(first)) => {
                groups.push(Span::new(first, at + 1));
                open = None;
            }
            (b'|' | b';' | b'>', Some(_)) => break,
            (b'^' | b'+' | b'*', Some(first)) => {
                let sign = char::from(byte);
                return Err(Mistake::spec(
                    text,
                    format!("`{sign}` cannot stand inside a composed axis"),
                    here,
                    "",
                )
                .with_place(Span::new(first, first + 1), "it begins here")
                .with_help("a composed axis lists labels and sizes, as in `(h w)` or `(h 2)`"));
            }
            _ => {}
        }
    }
    match open {
        Some(at) => {
            Err(Mistake::spec(text, "this `(` is not closed", Span::new(at, at + 1), "no `)` after it"))
        }
        None => Ok(groups),
    }
}

/// Returns true if a composed axis is a part of a window or a concatenation: a sign stands before or behind it.
fn is_inner(text: &str, group: Span) -> bool {
    let before = text[..group.start as usize].trim_end();
    let behind = text[group.end as usize..].trim_start();
    before.ends_with(['^', '+', '*'])
        || behind.starts_with(['^', '+', '*', '<', '~'])
        || (behind.starts_with('=') && !behind.starts_with("=>"))
}

/// Puts a comma between words that only blanks separate.
fn separate(bytes: &mut [u8]) {
    for at in 1..bytes.len() {
        let before = bytes[at - 1];
        let next = bytes[at..].iter().find(|byte| !byte.is_ascii_whitespace());
        let word = |byte: u8| !byte.is_ascii_whitespace() && byte != b',';
        if bytes[at].is_ascii_whitespace() && word(before) && next.is_some_and(|next| word(*next)) {
            bytes[at] = b',';
        }
    }
}

/// The places of the words between parentheses.
fn words(text: &str, group: Span) -> Vec<Span> {
    let (start, end) = (group.start as usize + 1, group.end as usize - 1);
    let mut words = Vec::new();
    let mut first = None;
    for (at, sign) in text[start..end].char_indices().chain([(end - start, ' ')]) {
        match (first, sign.is_whitespace() || sign == ',') {
            (None, false) => first = Some(start + at),
            (Some(begin), true) => {
                words.push(Span::new(begin, start + at));
                first = None;
            }
            _ => {}
        }
    }
    words
}
