//! The step from the bytes of a file to text.

use std::fmt;

use crate::source::Source;

/// Turns the bytes of a file into text, or finds the place where they are not UTF-8.
///
/// ```
/// use broadloom_diagnostics::decode;
///
/// assert_eq!(decode(b"a = 3".to_vec()).unwrap(), "a = 3");
/// assert_eq!(decode(b"a = \xff".to_vec()).unwrap_err().column, 5);
/// ```
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
    /// True if the file starts with the byte order mark of UTF-16.
    pub utf16: bool,
}

impl DecodeError {
    /// The message with the position and a hint, laid out as [`render`](crate::render())
    /// lays out diagnostics (without an excerpt, since there is no text to show).
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
