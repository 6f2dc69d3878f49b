//! Where things are in a source text: byte spans, lines and columns, and the
//! step from bytes to text.
//!
//! Spans are pairs of 32-bit byte offsets, so that every term can afford one.
//! Lines and columns are computed only when something is shown: [`Source`]
//! finds the line starts in one pass. A line ends at `\n`, `\r\n` or a lone
//! `\r`; columns count characters from 1; a byte order mark at the start of the
//! text is not part of the first line.
//!
//! In `"a = 3\nb = 0\n"` the size `0` has the span `10..11` and the position 2:5.

use std::fmt;

/// The byte order mark some editors put at the start of a file.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// A range of bytes in a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to, not including, `end`.
    pub fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// The place just before the byte at `offset`.
    pub fn empty(offset: u32) -> Span {
        Span { start: offset, end: offset }
    }

    /// From the start of this span to the end of `last`.
    pub fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }

    /// The text the span covers; empty if the span does not fit `text`.
    pub fn slice(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// A named text with its line starts.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    name: &'a str,
    text: &'a str,
    line_starts: Vec<u32>,
}

impl<'a> Source<'a> {
    /// Finds the lines of `text`; `name` is shown in front of positions.
    pub fn new(name: &'a str, text: &'a str) -> Source<'a> {
        let bytes = text.as_bytes();
        let first = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        let mut line_starts = vec![first as u32];
        for (offset, &byte) in bytes.iter().enumerate() {
            if byte == b'\n' || (byte == b'\r' && bytes.get(offset + 1) != Some(&b'\n')) {
                line_starts.push(offset as u32 + 1);
            }
        }
        Source { name, text, line_starts }
    }

    /// The name given to [`Source::new`].
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The line, counted from 1, that holds the byte at `offset`.
    pub fn line_of(&self, offset: u32) -> u32 {
        (self.line_starts.partition_point(|&start| start <= offset) as u32).max(1)
    }

    /// The bytes of a line, counted from 1, without its line end.
    pub fn line_span(&self, line: u32) -> Span {
        let line = (line as usize).clamp(1, self.line_starts.len());
        let start = self.line_starts[line - 1];
        let end = self.line_starts.get(line).map_or(self.text.len(), |&next| next as usize);
        let bytes = &self.text.as_bytes()[start as usize..end];
        let line_end = bytes.iter().rev().take(2).take_while(|byte| matches!(byte, b'\n' | b'\r'));
        // Two line ends in a row are never inside one line, so both bytes belong to `\r\n`.
        Span { start, end: (end - line_end.count()) as u32 }
    }

    /// Line and column of the byte at `offset`, both counted from 1; the column
    /// counts characters. An offset outside the text gives its last position.
    pub fn position(&self, offset: u32) -> (u32, u32) {
        let offset = self.text.floor_char_boundary(offset as usize);
        let line = self.line_of(offset as u32);
        let start = self.line_span(line).start as usize;
        let before = self.text.get(start..offset).unwrap_or("");
        (line, before.chars().count() as u32 + 1)
    }
}

/// Turns the bytes of a file into text, or says where they are not UTF-8.
pub fn decode(bytes: Vec<u8>) -> Result<String, DecodeError> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let valid = std::str::from_utf8(&bytes[..offset]).unwrap_or_default();
        let (line, column) = Source::new("", valid).position(offset as u32);
        let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        DecodeError { offset, line, column, byte: bytes[offset], utf16 }
    })
}

/// The first place where a file is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Offset of the first byte that is not part of a character.
    pub offset: usize,
    /// Its line, counted from 1.
    pub line: u32,
    /// Its column, counted from 1 in characters.
    pub column: u32,
    /// The byte there.
    pub byte: u8,
    /// Whether the file starts with the byte order mark of UTF-16.
    pub utf16: bool,
}

impl DecodeError {
    /// The message with the position and a hint, laid out as [`super::render()`] lays out
    /// diagnostics (without an excerpt, since there is no text to show).
    pub fn render(&self, name: &str) -> String {
        let DecodeError { line, column, .. } = self;
        let help = match self.utf16 {
            true => "the file looks like UTF-16: save it as UTF-8",
            false => "save the file as UTF-8",
        };
        format!("error: {self}\n --> {name}:{line}:{column}\n  = help: {help}\n")
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DecodeError { offset, byte, .. } = self;
        write!(f, "the file is not UTF-8: byte 0x{byte:02x} at offset {offset} is not part of a character")
    }
}

impl std::error::Error for DecodeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_follow_every_kind_of_line_end() {
        let source = Source::new("t", "\u{feff}a\r\nbé\rc\n\nd");
        let position_of = |c| source.position(source.text().find(c).unwrap() as u32);
        assert_eq!(position_of('a'), (1, 1));
        assert_eq!(position_of('é'), (2, 2));
        assert_eq!(position_of('c'), (3, 1));
        assert_eq!(position_of('d'), (5, 1));
        assert_eq!(source.position(u32::MAX), (5, 2));
        let lines: Vec<&str> = (1..=5).map(|n| source.line_span(n).slice(source.text())).collect();
        assert_eq!(lines, ["a", "bé", "c", "", "d"]);
    }

    #[test]
    fn decoding_names_the_first_bad_byte() {
        assert_eq!(decode(b"a = 3".to_vec()), Ok("a = 3".to_owned()));
        let error = decode(b"# \xc3\xa9\r\nab\xff = 3".to_vec()).unwrap_err();
        assert_eq!((error.offset, error.line, error.column, error.byte), (8, 2, 3, 0xff));
        assert_eq!(
            error.render("x.rows"),
            "error: the file is not UTF-8: byte 0xff at offset 8 is not part of a character\n \
             --> x.rows:2:3\n  = help: save the file as UTF-8\n"
        );
        assert!(decode(b"\xff\xfea\0".to_vec()).unwrap_err().utf16);
        assert_eq!(decode(b"a\xe2\x82".to_vec()).unwrap_err().offset, 1);
    }
}
