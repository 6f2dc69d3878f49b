//! From text to tokens.
//!
//! The lexer never fails. Text that cannot be a token becomes a [`Slip`] that covers all of the
//! mistake (`..r`, `2i`), so that one message can describe it as a whole. Every token starts and
//! ends between characters; the last one is [`TokenKind::End`], just after the last character that
//! is not blank.
//!
//! `ij..r.. => ..r..` gives `i`, `j`, `..r..`, `=>`, `..r..`, end; with a comma somewhere it would start
//! with the word `ij`.

use crate::span::Span;

/// A piece of the text with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A letter, or a word.
    Name,
    /// Decimal digits.
    Number,
    Underscore,
    /// `...`.
    Ellipsis,
    /// `..name..`, and the place of the name.
    RowVariable(Span),
    Comma,
    Semicolon,
    Bar,
    /// `->`.
    ThinArrow,
    /// `=>`.
    FatArrow,
    Plus,
    Star,
    Caret,
    Equals,
    Less,
    Tilde,
    Colon,
    Open,
    Close,
    /// A mistake wherever it stands.
    Slip(Slip),
    End,
}

/// A mistake wherever it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slip {
    /// `-`, with the digits after it.
    Minus,
    Ampersand,
    /// Digits with a word stuck to them.
    NumberWithLetters,
    /// `_` with a word stuck to it.
    UnderscoreName,
    /// Dots that are not those of `...` or `..name..`.
    Dots,
    /// `..name` without the closing dots; the span is that of the name.
    UnclosedRow(Span),
    /// `..name..` with a long name in single-character mode.
    LongRowName(Span),
    Unknown(char),
}

impl TokenKind {
    /// Returns true if an axis starts with it.
    pub fn starts_axis(self) -> bool {
        matches!(self, TokenKind::Name | TokenKind::Number | TokenKind::Underscore)
    }

    /// Returns true if it gives the behaviour of a window at the ends of an axis: `=`, `<` or `~`.
    pub fn is_marker(self) -> bool {
        matches!(self, TokenKind::Equals | TokenKind::Less | TokenKind::Tilde)
    }

    /// Returns true if a row ends before it.
    pub fn ends_row(self) -> bool {
        use TokenKind::*;
        matches!(self, Bar | ThinArrow | FatArrow | Semicolon | End)
    }
}

/// The tokens of `text`, with words if `words` and letters otherwise.
pub(crate) fn lex(text: &str, words: bool) -> Vec<Token> {
    let mut lexer = Lexer { text, words, position: 0 };
    let mut tokens = Vec::with_capacity(text.len() / 2 + 1);
    let mut end = 0;
    while let Some(kind) = lexer.skip_blanks().then(|| lexer.start()) {
        let start = lexer.position;
        let kind = lexer.token(kind);
        end = lexer.position;
        tokens.push(Token { kind, span: Span::new(start, end) });
    }
    tokens.push(Token { kind: TokenKind::End, span: Span::new(end, end) });
    tokens
}

struct Lexer<'a> {
    text: &'a str,
    words: bool,
    position: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.position..]
    }

    /// The character here; only called before the end.
    fn start(&self) -> char {
        self.rest().chars().next().unwrap_or(' ')
    }

    /// Moves over blanks and returns true if something is left.
    fn skip_blanks(&mut self) -> bool {
        self.skip(char::is_whitespace);
        self.position < self.text.len()
    }

    /// Moves over characters that satisfy `wanted` and returns their number of bytes.
    fn skip(&mut self, wanted: impl Fn(char) -> bool) -> usize {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.position += length;
        length
    }

    /// Moves over the token that starts with `c`.
    fn token(&mut self, c: char) -> TokenKind {
        let two = |second: char| self.rest()[c.len_utf8()..].starts_with(second);
        let (length, kind) = match c {
            '=' if two('>') => (2, TokenKind::FatArrow),
            '-' if two('>') => (2, TokenKind::ThinArrow),
            ',' => (1, TokenKind::Comma),
            ';' => (1, TokenKind::Semicolon),
            '|' => (1, TokenKind::Bar),
            '+' => (1, TokenKind::Plus),
            '*' => (1, TokenKind::Star),
            '^' => (1, TokenKind::Caret),
            '=' => (1, TokenKind::Equals),
            '<' => (1, TokenKind::Less),
            '~' => (1, TokenKind::Tilde),
            ':' => (1, TokenKind::Colon),
            '(' => (1, TokenKind::Open),
            ')' => (1, TokenKind::Close),
            '&' => (1, TokenKind::Slip(Slip::Ampersand)),
            '-' => {
                self.position += 1;
                self.skip(|c| c.is_ascii_digit());
                return TokenKind::Slip(Slip::Minus);
            }
            '.' => return self.dots(),
            '_' => {
                self.position += 1;
                return match self.words && self.skip(continues_word) > 0 {
                    true => TokenKind::Slip(Slip::UnderscoreName),
                    false => TokenKind::Underscore,
                };
            }
            '0'..='9' => {
                self.skip(|c| c.is_ascii_digit());
                return match self.words && self.skip(continues_word) > 0 {
                    true => TokenKind::Slip(Slip::NumberWithLetters),
                    false => TokenKind::Number,
                };
            }
            _ if c.is_alphabetic() && self.words => {
                self.skip(continues_word);
                return TokenKind::Name;
            }
            _ if c.is_alphabetic() => (c.len_utf8(), TokenKind::Name),
            _ => (c.len_utf8(), TokenKind::Slip(Slip::Unknown(c))),
        };
        self.position += length;
        kind
    }

    /// `...`, or `..name..` with blanks allowed around the name.
    fn dots(&mut self) -> TokenKind {
        match self.skip(|c| c == '.') {
            3 => return TokenKind::Ellipsis,
            2 => {}
            _ => return TokenKind::Slip(Slip::Dots),
        }
        let after_dots = self.position;
        self.skip_blanks();
        if !self.rest().starts_with(char::is_alphabetic) {
            // `..3..` is one slip; `..` before anything else stands alone.
            if self.skip(continues_word) == 0 || self.skip(|c| c == '.') == 0 {
                self.position = after_dots;
            }
            return TokenKind::Slip(Slip::Dots);
        }
        let start = self.position;
        self.skip(continues_word);
        let name = Span::new(start, self.position);
        self.skip_blanks();
        match self.skip(|c| c == '.') {
            0 => {
                self.position = name.end as usize;
                TokenKind::Slip(Slip::UnclosedRow(name))
            }
            2 if self.words || name.slice(self.text).chars().nth(1).is_none() => TokenKind::RowVariable(name),
            2 => TokenKind::Slip(Slip::LongRowName(name)),
            _ => TokenKind::Slip(Slip::Dots),
        }
    }
}

pub(crate) fn continues_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;
    use TokenKind::*;

    fn pieces(text: &str, words: bool) -> Vec<&str> {
        let tokens = lex(text, words);
        tokens.iter().filter(|token| token.kind != End).map(|token| token.span.slice(text)).collect()
    }

    #[test]
    fn letters_and_words() {
        assert_eq!(pieces("ab_c10 2é", false), ["a", "b", "_", "c", "10", "2", "é"]);
        assert_eq!(pieces("ab_c10 _ é2", true), ["ab_c10", "_", "é2"]);
        assert_eq!(pieces("a..r..b...|i->o=>o==>", true)[..6], ["a", "..r..", "b", "...", "|", "i"]);
        assert_eq!(pieces("o==>o<+k->", true), ["o", "=", "=>", "o", "<", "+", "k", "->"]);
    }

    #[test]
    fn slips_are_covered_whole() {
        let slip = |text: &str, words| match lex(text, words)[0] {
            Token { kind: Slip(slip), span } => (slip, span.slice(text).to_owned()),
            token => panic!("{token:?}"),
        };
        assert_eq!(slip("2i", true), (super::Slip::NumberWithLetters, "2i".to_owned()));
        assert_eq!(slip("_a", true), (super::Slip::UnderscoreName, "_a".to_owned()));
        assert_eq!(slip("-12", true), (super::Slip::Minus, "-12".to_owned()));
        for text in ["..", ".", "....", "..r...", "..3.."] {
            assert_eq!(slip(text, true).0, super::Slip::Dots, "{text}");
        }
        assert_eq!(slip("..r => a", false).1, "..r");
        assert_eq!(slip("..rc..", false), (super::Slip::LongRowName(Span::new(2, 4)), "..rc..".to_owned()));
        assert_eq!(lex(".. r .. ", false)[0].kind, RowVariable(Span::new(3, 4)));
    }

    #[test]
    fn the_end_is_after_the_last_token() {
        assert_eq!(lex("a \n", false)[1], Token { kind: End, span: Span::new(1, 1) });
    }
}
