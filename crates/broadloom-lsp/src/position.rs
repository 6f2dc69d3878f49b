//! Offsets as lines and columns. Editors count columns in units of UTF-8, UTF-16 or UTF-32; which of these is agreed on
//! when the connection begins.

use broadloom_diagnostics::{Source, Span};
use gen_lsp_types::{Position, PositionEncodingKind, Range};

/// The unit in which columns are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Encoding {
    Utf8,
    /// The encoding that every editor understands.
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// The best of the encodings that an editor offers: bytes need no conversion.
    pub fn agreed(offered: &[PositionEncodingKind]) -> Encoding {
        let known = |kind: &PositionEncodingKind| match kind {
            PositionEncodingKind::UTF8 => Some(Encoding::Utf8),
            PositionEncodingKind::UTF16 => Some(Encoding::Utf16),
            PositionEncodingKind::UTF32 => Some(Encoding::Utf32),
            PositionEncodingKind::Custom(_) => None,
        };
        let has = |wanted| offered.iter().filter_map(known).any(|encoding| encoding == wanted);
        [Encoding::Utf8, Encoding::Utf32].into_iter().find(|each| has(*each)).unwrap_or_default()
    }

    /// The name of the encoding.
    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn width(self, letter: char) -> u32 {
        match self {
            Encoding::Utf8 => letter.len_utf8() as u32,
            Encoding::Utf16 => letter.len_utf16() as u32,
            Encoding::Utf32 => 1,
        }
    }

    /// The number of units of a text.
    pub fn length(self, text: &str) -> u32 {
        match self {
            Encoding::Utf8 => text.len() as u32,
            _ => text.chars().map(|letter| self.width(letter)).sum(),
        }
    }

    /// The position of an offset. One outside the text is its end.
    pub fn position(self, source: &Source, offset: u32) -> Position {
        let text = source.text();
        let offset = text.floor_char_boundary(offset as usize);
        let line = source.line_of(offset as u32);
        let (start, end) = source.line_bytes(line);
        let column = text.get(start as usize..offset.min(end as usize)).unwrap_or_default();
        Position { line: line - 1, character: self.length(column) }
    }

    /// The positions of both ends of a span.
    pub fn range(self, source: &Source, span: Span) -> Range {
        let start = self.position(source, span.start);
        Range { start, end: self.position(source, span.end.max(span.start)) }
    }

    /// The offset of a position. A column beyond the end of a line is its end, and one inside of a character its
    /// beginning; a line beyond the last is the end of the text.
    pub fn offset(self, source: &Source, position: Position) -> u32 {
        if position.line >= source.line_count() {
            return source.text().len() as u32;
        }
        let line = position.line + 1;
        let (start, _) = source.line_bytes(line);
        let (mut offset, mut column) = (start, 0);
        for letter in source.line(line).chars() {
            column += self.width(letter);
            if column > position.character {
                break;
            }
            offset += letter.len_utf8() as u32;
        }
        offset
    }

    /// The offsets of a range, in order.
    pub fn offsets(self, source: &Source, range: Range) -> (u32, u32) {
        let (start, end) = (self.offset(source, range.start), self.offset(source, range.end));
        (start.min(end), start.max(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

    #[test]
    fn columns_of_each_encoding() {
        let source = Source::new("a", "aé𝔸x\r\nb");
        let x = source.text().find('x').expect("a letter") as u32;
        assert_eq!(ALL.map(|each| each.position(&source, x).character), [7, 4, 3]);
        let position = |line, character| Position { line, character };
        assert_eq!(Encoding::Utf16.offset(&source, position(0, 4)), x);
        // In the middle of a character, beyond the line, beyond the text.
        assert_eq!(Encoding::Utf16.offset(&source, position(0, 3)), 3);
        assert_eq!(Encoding::Utf16.offset(&source, position(0, 99)), 8);
        assert_eq!(Encoding::Utf16.offset(&source, position(9, 0)), 11);
    }

    #[test]
    fn there_and_back() {
        let source = Source::new("a", "let é = \"𝔸\"\n\n# ü\rlet y = 1\n");
        for encoding in ALL {
            for (offset, letter) in source.text().char_indices() {
                let position = encoding.position(&source, offset as u32);
                if letter != '\n' {
                    assert_eq!(encoding.offset(&source, position), offset as u32, "{encoding:?} at {offset}");
                }
            }
        }
    }

    #[test]
    fn the_best_encoding_is_agreed_on() {
        use PositionEncodingKind as Kind;
        assert_eq!(Encoding::agreed(&[]), Encoding::Utf16);
        assert_eq!(Encoding::agreed(&[Kind::UTF16, Kind::UTF8]), Encoding::Utf8);
        assert_eq!(Encoding::agreed(&[Kind::UTF32, Kind::UTF16]), Encoding::Utf32);
    }
}
