//! Places in texts: sources, byte spans, lines and columns.
//!
//! A span is a source and a pair of 32-bit byte offsets, small enough for every term. Lines and
//! columns are computed only when something is shown: [`Source`] finds the line starts in one pass.
//! A line ends at `\n`, `\r\n` or a lone `\r`; columns count characters from 1; a byte order mark
//! at the start of a text is not part of its first line.
//!
//! All offsets and ids are valid arguments: an offset outside a text means its end, and an id
//! without a source means an empty source.
//!
//! ```
//! use broadloom_diagnostics::{Sources, Span};
//!
//! let mut sources = Sources::new();
//! let id = sources.add("x.rows", "a = 3\nb = 0\n");
//! let zero = Span::new(id, 10, 11);
//! assert_eq!(sources.slice(zero), "0");
//! assert_eq!(sources.get(id).position(zero.start), (2, 5));
//! ```

use std::sync::LazyLock;

/// The byte order mark some editors put at the start of a file.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// Names one of [`Sources`]; they are numbered from 0 in the order they are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// A range of bytes in a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The text.
    pub source: SourceId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to, not including, `end`.
    pub fn new(source: SourceId, start: u32, end: u32) -> Span {
        Span { source, start, end }
    }

    /// The place just before the byte at `offset`.
    pub fn empty(source: SourceId, offset: u32) -> Span {
        Span { source, start: offset, end: offset }
    }

    /// From the start of this span to the end of `last`; this span alone if `last`
    /// is in another source.
    pub fn to(self, last: Span) -> Span {
        if self.source == last.source { Span { end: last.end, ..self } } else { self }
    }

    /// Returns true if another span lies inside this one.
    pub fn contains(self, other: Span) -> bool {
        self.source == other.source && self.start <= other.start && other.end <= self.end
    }

    /// The place just before this span.
    pub fn before(self) -> Span {
        Span { end: self.start, ..self }
    }

    /// The place just after this span.
    pub fn after(self) -> Span {
        Span { start: self.end, ..self }
    }

    /// Returns true if the span covers no byte.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// The part of its source's text that the span covers; empty if it does not fit `text`.
    pub fn slice(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// A named text with its line starts.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    line_starts: Vec<u32>,
}

impl Source {
    /// Finds the lines of `text`; `name` is shown in front of positions, [escaped](crate::escaped).
    /// Offsets have 32 bits: text after 4 GiB counts as part of the last line.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        let (name, text) = (crate::escaped(&name.into()).into_owned(), text.into());
        let bytes = text.as_bytes();
        let first = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        let mut line_starts = vec![first as u32];
        for (offset, &byte) in bytes.iter().enumerate().take(u32::MAX as usize) {
            if byte == b'\n' || (byte == b'\r' && bytes.get(offset + 1) != Some(&b'\n')) {
                line_starts.push(offset as u32 + 1);
            }
        }
        Source { name, text, line_starts }
    }

    /// Replaces the text between two offsets at the borders of characters. The lines elsewhere are not looked for again.
    pub fn replace(&mut self, start: u32, end: u32, text: &str) {
        let size = self.text.len() + text.len();
        let is_near_beginning = start as usize <= BYTE_ORDER_MARK.len_utf8();
        // A carriage return before or after the change may become a part of a line end, or cease to be.
        let first = self.line_starts.partition_point(|line| *line < start).saturating_sub(1);
        let last = self.line_starts.partition_point(|line| *line <= end.saturating_add(1));
        self.text.replace_range(start as usize..end as usize, text);
        if is_near_beginning || size >= u32::MAX as usize {
            *self = Source::new(std::mem::take(&mut self.name), std::mem::take(&mut self.text));
            return;
        }
        let moved = |offset: u32| offset - end + start + text.len() as u32;
        let from = self.line_starts[first];
        let until = self.line_starts.get(last).map_or(self.text.len() as u32, |line| moved(*line));
        let bytes = self.text.as_bytes();
        let ends_line =
            |at: &usize| bytes[*at] == b'\n' || (bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
        let is_last = last == self.line_starts.len();
        let found: Vec<u32> = (from as usize..until as usize)
            .filter(ends_line)
            .map(|at| at as u32 + 1)
            .filter(|line| is_last || *line < until)
            .collect();
        self.line_starts[last..].iter_mut().for_each(|line| *line = moved(*line));
        self.line_starts.splice(first + 1..last, found);
    }

    /// The name given to [`Source::new`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The number of lines; the empty line after a last line end counts.
    pub fn line_count(&self) -> u32 {
        self.line_starts.len() as u32
    }

    /// The line, counted from 1, that holds the byte at `offset`.
    pub fn line_of(&self, offset: u32) -> u32 {
        (self.line_starts.partition_point(|&start| start <= offset) as u32).max(1)
    }

    /// The bytes of a line, counted from 1, without its line end.
    pub fn line_bytes(&self, line: u32) -> (u32, u32) {
        let line = (line as usize).clamp(1, self.line_starts.len());
        let start = self.line_starts[line - 1];
        let end = self.line_starts.get(line).map_or(self.text.len(), |&next| next as usize);
        let bytes = &self.text.as_bytes()[start as usize..end];
        let line_end = bytes.iter().rev().take(2).take_while(|byte| matches!(byte, b'\n' | b'\r'));
        // Two line ends in a row are never inside one line, so both bytes belong to `\r\n`.
        let end = end - line_end.count();
        (start, self.text.floor_char_boundary(end.min(u32::MAX as usize)) as u32)
    }

    /// A line, counted from 1, without its line end.
    pub fn line(&self, line: u32) -> &str {
        let (start, end) = self.line_bytes(line);
        self.text.get(start as usize..end as usize).unwrap_or("")
    }

    /// Line and column of the byte at `offset`, both counted from 1; the column
    /// counts characters. An offset outside the text gives its last position.
    pub fn position(&self, offset: u32) -> (u32, u32) {
        let offset = self.text.floor_char_boundary(offset as usize);
        let line = self.line_of(offset as u32);
        let (start, _) = self.line_bytes(line);
        let before = self.text.get(start as usize..offset).unwrap_or("");
        (line, before.chars().count() as u32 + 1)
    }
}

/// The texts that spans refer to.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    sources: Vec<Source>,
}

impl Sources {
    /// Creates an empty list of texts.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// One text, which gets the id 0.
    pub fn one(name: impl Into<String>, text: impl Into<String>) -> Sources {
        Sources { sources: vec![Source::new(name, text)] }
    }

    /// Adds a text; `name` is shown in front of positions, [escaped](crate::escaped).
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        let id = SourceId(self.sources.len() as u32);
        self.sources.push(Source::new(name, text));
        id
    }

    /// Puts another text in the place of one.
    pub fn replace(&mut self, id: SourceId, name: impl Into<String>, text: impl Into<String>) {
        if let Some(source) = self.sources.get_mut(id.0 as usize) {
            *source = Source::new(name, text);
        }
    }

    /// A text by its id; an empty one if there is none.
    pub fn get(&self, id: SourceId) -> &Source {
        static UNKNOWN: LazyLock<Source> = LazyLock::new(|| Source::new("<unknown>", ""));
        self.sources.get(id.0 as usize).unwrap_or(&UNKNOWN)
    }

    /// Every text with its id, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.sources.iter().enumerate().map(|(index, source)| (SourceId(index as u32), source))
    }

    /// The text a span covers; empty if the span does not fit its source.
    pub fn slice(&self, span: Span) -> &str {
        span.slice(self.get(span.source).text())
    }

    /// Line and column of the start of a span, both counted from 1.
    pub fn position(&self, span: Span) -> (u32, u32) {
        self.get(span.source).position(span.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_leaves_the_lines_of_the_new_text() {
        for text in ["ab\r\ncdé\n\r\nf\rgh", "abcd\n", "\u{feff}a\rbcd\n\r\r\n", "abcdef"] {
            let borders = || (0..=text.len()).filter(|at| text.is_char_boundary(*at));
            for (start, end) in borders().flat_map(|start| borders().map(move |end| (start, end))) {
                for new in ["", "x", "\n", "\r", "é\r\n", "\n\r"] {
                    if start > end {
                        continue;
                    }
                    let mut source = Source::new("t", text);
                    source.replace(start as u32, end as u32, new);
                    let fresh = Source::new("t", source.text());
                    let changed = [&text[..start], new, &text[end..]].concat();
                    assert_eq!(
                        (source.text(), &source.line_starts),
                        (&*changed, &fresh.line_starts),
                        "{text:?} {start}..{end} {new:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn positions_follow_every_kind_of_line_end() {
        let source = Source::new("t", "\u{feff}a\r\nbé\rc\n\nd");
        let position_of = |c| source.position(source.text().find(c).unwrap() as u32);
        assert_eq!(position_of('a'), (1, 1));
        assert_eq!(position_of('é'), (2, 2));
        assert_eq!(position_of('c'), (3, 1));
        assert_eq!(position_of('d'), (5, 1));
        assert_eq!(source.position(u32::MAX), (5, 2));
        let lines: Vec<&str> = (1..=source.line_count()).map(|line| source.line(line)).collect();
        assert_eq!(lines, ["a", "bé", "c", "", "d"]);
    }

    #[test]
    fn ids_and_spans_that_fit_nothing_are_empty() {
        let mut sources = Sources::new();
        let id = sources.add("a", "é = 3");
        assert_eq!(sources.slice(Span::new(id, 1, 2)), "");
        assert_eq!(sources.slice(Span::new(id, 3, 90)), "");
        assert_eq!(sources.slice(Span::new(SourceId(7), 0, 0)), "");
        assert_eq!(sources.position(Span::empty(SourceId(7), 5)), (1, 1));
        assert_eq!(sources.get(SourceId(7)).line_count(), 1);
    }

    #[test]
    fn spans_are_small_and_join_within_a_source() {
        assert_eq!(size_of::<Span>(), 12);
        let [a, b] = [SourceId(0), SourceId(1)];
        assert_eq!(Span::new(a, 2, 3).to(Span::new(a, 5, 9)), Span::new(a, 2, 9));
        assert_eq!(Span::new(a, 2, 3).to(Span::new(b, 5, 9)), Span::new(a, 2, 3));
    }
}
