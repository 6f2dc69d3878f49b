//! Places in a text: byte spans, and the lines and columns shown to people.
//!
//! A line ends at `\n`, `\r\n` or a lone `\r`; columns count characters from 1. In `"ij;\njk => ik"` the
//! label `k` of the second line has the span `5..6` and the position 2:2.

/// A range of bytes in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The place just before the byte at `offset`.
    pub fn empty(offset: u32) -> Span {
        Span { start: offset, end: offset }
    }

    /// From the start of this span to the end of `last`.
    pub fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }

    /// Returns true if the span covers nothing.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// The text the span covers; empty if the span does not fit `text`.
    ///
    /// ```
    /// use broadloom_spec::Span;
    /// assert_eq!(Span::new(3, 5).slice("ij;jk=>ik"), "jk");
    /// ```
    pub fn slice(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// One line of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Counted from 1.
    pub number: usize,
    /// Bytes of the line, without its end.
    pub start: usize,
    pub end: usize,
}

/// The line that holds the byte at `offset`; an offset after the text gives the last line.
pub(crate) fn line_at(text: &str, offset: usize) -> Line {
    let bytes = text.as_bytes();
    let (mut number, mut start, mut at) = (1, 0, 0);
    while at < bytes.len() {
        let length = match bytes[at] {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => 2,
            b'\r' | b'\n' => 1,
            _ => 0,
        };
        if length > 0 {
            if offset < at + length {
                return Line { number, start, end: at };
            }
            (number, start) = (number + 1, at + length);
        }
        at += length.max(1);
    }
    Line { number, start, end: bytes.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_follow_every_kind_of_line_end() {
        let text = "a\r\nbé\rc\n\nd";
        let line = |offset| {
            let line = line_at(text, offset);
            (line.number, &text[line.start..line.end])
        };
        assert_eq!(line(0), (1, "a"));
        assert_eq!(line(2), (1, "a"));
        assert_eq!(line(4), (2, "bé"));
        assert_eq!(line(7), (3, "c"));
        assert_eq!(line(9), (4, ""));
        assert_eq!(line(10), (5, "d"));
        assert_eq!(line(99), (5, "d"));
        assert_eq!(line_at("", 0), Line { number: 1, start: 0, end: 0 });
    }
}
