//! Spans of text: in `"ij;\njk => ik"` the label `k` of the second line has the span `5..6`.

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
