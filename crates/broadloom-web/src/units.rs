//! Offsets as JavaScript counts them: in units of UTF-16. Ours are bytes of UTF-8.

use broadloom_diagnostics::Span;
use serde::Serialize;

/// The offsets of a text. Between characters beyond ASCII both ways of counting go on in step, so only those are kept.
pub(crate) struct Units {
    /// Bytes and units after each character that is not ASCII.
    after: Vec<(u32, u32)>,
}

/// A part of a text, in units.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Range {
    pub from: u32,
    pub to: u32,
}

impl Units {
    pub fn new(text: &str) -> Units {
        let mut after = Vec::new();
        let mut units = 0;
        for (at, character) in text.char_indices() {
            units += character.len_utf16() as u32;
            if !character.is_ascii() {
                after.push(((at + character.len_utf8()) as u32, units));
            }
        }
        Units { after }
    }

    /// The units before a byte.
    pub fn of_byte(&self, byte: u32) -> u32 {
        let past = self.after.partition_point(|(bytes, _)| *bytes <= byte);
        let (bytes, units) = past.checked_sub(1).map_or((0, 0), |last| self.after[last]);
        units + (byte - bytes)
    }

    /// The byte at a unit. One in the middle of a character counts as its end.
    pub fn byte(&self, unit: u32) -> u32 {
        let past = self.after.partition_point(|(_, units)| *units <= unit);
        let (bytes, units) = past.checked_sub(1).map_or((0, 0), |last| self.after[last]);
        bytes + (unit - units)
    }

    pub fn range(&self, span: Span) -> Range {
        Range { from: self.of_byte(span.start), to: self.of_byte(span.end) }
    }
}

#[cfg(test)]
mod tests {
    use super::Units;

    #[test]
    fn both_ways_agree_at_every_character() {
        let text = "let é = 3  # 😀 and ß\nend";
        let units = Units::new(text);
        for (byte, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let expected = text[..byte].encode_utf16().count() as u32;
            assert_eq!(units.of_byte(byte as u32), expected);
            assert_eq!(units.byte(expected), byte as u32);
        }
    }
}
