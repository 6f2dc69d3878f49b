//! The mode of a spec: axes are letters or words.
//!
//! The whole text decides at once. A spec is read in **multi-character mode** if it contains any of
//! `,` `*` `+` `^` `&` `<` `~` `:`, or an `=` that is not the start of `=>`. Then names are words (a letter,
//! then letters, digits and `_`) and axes are separated by commas. Otherwise it is read in
//! **single-character mode**: every letter is an axis, every run of digits is one index, and blanks
//! only separate. (`&` and `:` mean nothing in a spec; they decide the mode so that the error about them
//! can mention words.)
//!
//! | text | mode | axes |
//! |---|---|---|
//! | `abc` | single | `a`, `b`, `c` |
//! | `a b c` | single | `a`, `b`, `c` |
//! | `i10` | single | `i`, the index 10 |
//! | `i1 0` | single | `i`, the index 1, the index 0 |
//! | `a_b` | single | `a`, a wildcard, `b` |
//! | `a..r..b` | single | `a`, the row `r`, `b` |
//! | `abc,` | multi | `abc` |
//! | `a, bc` | multi | `a`, `bc` |
//! | `a_b, c` | multi | `a_b`, `c` |
//! | `i1, 0` | multi | `i1`, the index 0 |
//! | `ab+c` | multi | the sum of `ab` and `c` |
//! | `ij => i^j` | multi | `ij`; the concatenation of `i` and `j` (refused, see [`ErrorKind::LettersRunTogether`]) |
//!
//! Shape declarations have no modes: their names are always words, and blanks separate as commas do.
//!
//! [`ErrorKind::LettersRunTogether`]: crate::ErrorKind::LettersRunTogether

use crate::span::Span;

/// The notation of the axes of a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Each letter is an axis: `ij; jk => ik`.
    Single,
    /// Axes are words separated by commas: `row, mid; mid, col => row, col`.
    Multi,
}

impl Mode {
    /// The mode in which `text` is read.
    ///
    /// ```
    /// use broadloom_spec::Mode;
    /// assert_eq!(Mode::of("abc => cab"), Mode::Single);
    /// assert_eq!(Mode::of("abc, => abc"), Mode::Multi);
    /// ```
    pub fn of(text: &str) -> Mode {
        if multi_trigger(text).is_some() { Mode::Multi } else { Mode::Single }
    }
}

/// The first character that makes `text` multi-character.
pub(crate) fn multi_trigger(text: &str) -> Option<Span> {
    let bytes = text.as_bytes();
    let at = bytes.iter().enumerate().position(|(at, byte)| match byte {
        b',' | b'*' | b'+' | b'^' | b'&' | b'<' | b'~' | b':' => true,
        b'=' => bytes.get(at + 1) != Some(&b'>'),
        _ => false,
    })?;
    Some(Span::new(at, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_sign_of_words_is_enough() {
        for text in ["abc", "a|b->c", "...a..b", "ij;jk=>ik", "a b", "i=>i0", "", "_ => "] {
            assert_eq!(Mode::of(text), Mode::Single, "{text}");
        }
        for text in
            ["a,b,c", "2*a+b", "a+b", "a*b", "a^b", "a&b", "o<k", "o~k", "o=k", "a=", "a= >b", "3:rgb", "==>"]
        {
            assert_eq!(Mode::of(text), Mode::Multi, "{text}");
        }
    }
}
