//! From text to tokens, one at a time.
//!
//! The lexer never fails. Text that cannot be a token becomes one of the `Bad…`, `WrongOperator` or
//! `Unknown` kinds, which cover all of a slip (`..r`, `3.5`, `>=`) so that one message can describe
//! it as a whole. Every token starts and ends between characters.
//!
//! `[..r.., 4] ~ [3]  # why` gives `[`, `..r..`, `,`, `4`, `]`, `~`, `[`, `3`,
//! `]` and the line end.

use super::SOURCE;
use broadloom_diagnostics::{BYTE_ORDER_MARK, Span};

/// A piece of the text with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A letter, then letters, digits, `_` and `'`.
    Name,
    /// `..name..`.
    RowVariable,
    /// Decimal digits.
    Number,
    Underscore,
    LeftBracket,
    RightBracket,
    Comma,
    Colon,
    /// `=`.
    Equals,
    /// `<=` or `⊑`.
    LessEqual,
    /// `~` or `≈`.
    Tilde,
    /// `<>` or `◇`.
    Marker,
    /// Something that compares in other languages: `==`, `>=`, `≤`, `->`, …
    WrongOperator,
    /// `_` with a name stuck to it.
    BadName,
    /// Digits with letters, dots or `∅` stuck to them.
    BadNumber,
    /// Dots that are not those of `..name..`, with the characters stuck to them.
    BadDots,
    /// Any other character.
    Unknown,
    /// The end of a line that has a next one.
    LineEnd,
    /// The end of the text, repeated without end.
    End,
}

impl TokenKind {
    /// Returns true if it stands between the sides of a comparison, rightly or not.
    pub fn is_operator(self) -> bool {
        use TokenKind::*;
        matches!(self, Equals | LessEqual | Tilde | WrongOperator)
    }

    /// Returns true if a dimension term starts with it.
    pub fn starts_dim(self) -> bool {
        matches!(self, TokenKind::Number | TokenKind::Underscore | TokenKind::Name)
    }

    /// Returns true if it is a hole.
    pub fn is_hole(self) -> bool {
        matches!(self, TokenKind::RowVariable | TokenKind::Marker)
    }

    /// Returns true if it follows a term inside brackets.
    pub fn follows_item(self) -> bool {
        matches!(self, TokenKind::Comma | TokenKind::RightBracket)
    }

    /// Returns true if it is a slip that has its own explanation wherever it stands.
    pub fn is_slip(self) -> bool {
        use TokenKind::*;
        matches!(self, BadName | BadNumber | BadDots | Unknown)
    }
}

/// A place in the text, just after the current token. The token is kept in
/// pieces rather than as a [`Token`], which saves copying one at every step.
pub(super) struct Lexer<'a> {
    text: &'a str,
    kind: TokenKind,
    start: usize,
    position: usize,
}

impl<'a> Lexer<'a> {
    /// Starts with the first token of `text`, which is shorter than 4 GiB.
    pub fn new(text: &'a str) -> Lexer<'a> {
        let position = match text.starts_with(BYTE_ORDER_MARK) {
            true => BYTE_ORDER_MARK.len_utf8(),
            false => 0,
        };
        let mut lexer = Lexer { text, kind: TokenKind::End, start: position, position };
        lexer.advance();
        lexer
    }

    /// The kind of the current token.
    pub fn kind(&self) -> TokenKind {
        self.kind
    }

    /// The place of the current token.
    pub fn span(&self) -> Span {
        Span::new(SOURCE, self.start as u32, self.position as u32)
    }

    /// The current token.
    pub fn token(&self) -> Token {
        Token { kind: self.kind, span: self.span() }
    }

    /// Moves to the next token, over blanks and comments.
    pub fn advance(&mut self) {
        self.kind = loop {
            self.start = self.position;
            let Some(byte) = self.byte() else {
                break TokenKind::End;
            };
            break match byte {
                b' ' | b'\t' | 0x0b | 0x0c => {
                    self.position += 1;
                    continue;
                }
                b'#' => {
                    self.skip_line();
                    continue;
                }
                b'\n' => self.single(TokenKind::LineEnd),
                b'\r' => {
                    self.position += 1;
                    self.position += usize::from(self.byte() == Some(b'\n'));
                    TokenKind::LineEnd
                }
                b'a'..=b'z' | b'A'..=b'Z' => self.name(),
                b'0'..=b'9' => self.number(),
                b'_' => self.underscore(),
                b'.' => self.dots(),
                b'[' => self.single(TokenKind::LeftBracket),
                b']' => self.single(TokenKind::RightBracket),
                b',' => self.single(TokenKind::Comma),
                b':' => self.single(TokenKind::Colon),
                b'=' | b'<' | b'>' | b'~' | b'!' => self.operator(),
                b'-' if self.text.as_bytes().get(self.position + 1) == Some(&b'>') => {
                    self.position += 2;
                    TokenKind::WrongOperator
                }
                0x80.. => match self.beyond_ascii() {
                    Some(kind) => kind,
                    None => continue,
                },
                _ => self.single(TokenKind::Unknown),
            };
        };
    }

    /// Moves to the end of the line, which becomes the next token.
    pub fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.position..];
        let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        self.position += length.unwrap_or(rest.len());
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    /// The character here; the position is always between characters.
    fn char(&self) -> Option<char> {
        self.text.get(self.position..)?.chars().next()
    }

    fn single(&mut self, kind: TokenKind) -> TokenKind {
        self.position += 1;
        kind
    }

    fn name(&mut self) -> TokenKind {
        self.skip_word();
        match self.byte() {
            Some(b'.') => self.bad_run(TokenKind::BadDots),
            _ => TokenKind::Name,
        }
    }

    fn number(&mut self) -> TokenKind {
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.position += 1;
        }
        match self.byte() {
            Some(b'.' | b'_' | b'\'' | b'a'..=b'z' | b'A'..=b'Z') => self.bad_run(TokenKind::BadNumber),
            Some(0x80..) if self.char().is_some_and(|c| c == '∅' || c.is_alphanumeric()) => {
                self.bad_run(TokenKind::BadNumber)
            }
            _ => TokenKind::Number,
        }
    }

    fn underscore(&mut self) -> TokenKind {
        self.position += 1;
        let start = self.position;
        self.skip_word();
        if self.position == start { TokenKind::Underscore } else { TokenKind::BadName }
    }

    /// `..name..` with exactly two dots on each side and nothing stuck to them.
    fn dots(&mut self) -> TokenKind {
        let start = self.position;
        let rest = &self.text.as_bytes()[start..];
        if rest.starts_with(b"..") {
            self.position += 2;
            if self.char().is_some_and(char::is_alphabetic) {
                self.skip_word();
                if self.text.as_bytes()[self.position..].starts_with(b"..") {
                    self.position += 2;
                    let end = self.position;
                    self.bad_run(TokenKind::BadDots);
                    if self.position == end {
                        return TokenKind::RowVariable;
                    }
                }
            }
        }
        self.bad_run(TokenKind::BadDots)
    }

    fn operator(&mut self) -> TokenKind {
        let start = self.position;
        while matches!(self.byte(), Some(b'=' | b'<' | b'>' | b'~' | b'!')) {
            self.position += 1;
        }
        match &self.text.as_bytes()[start..self.position] {
            b"=" => TokenKind::Equals,
            b"<=" => TokenKind::LessEqual,
            b"~" => TokenKind::Tilde,
            b"<>" => TokenKind::Marker,
            _ => TokenKind::WrongOperator,
        }
    }

    /// A character that takes more than one byte; `None` after a blank.
    fn beyond_ascii(&mut self) -> Option<TokenKind> {
        let c = self.char()?;
        if c.is_alphabetic() {
            return Some(self.name());
        }
        self.position += c.len_utf8();
        match c {
            '⊑' => Some(TokenKind::LessEqual),
            '≈' => Some(TokenKind::Tilde),
            '◇' => Some(TokenKind::Marker),
            '≤' | '≥' | '⩽' | '⩾' | '⊒' | '⊏' | '⊐' | '≠' | '≡' | '≅' | '≃' | '∼' | '→' | '⇒' => {
                Some(TokenKind::WrongOperator)
            }
            _ if c.is_whitespace() => None,
            _ => Some(TokenKind::Unknown),
        }
    }

    /// Skips letters, digits, `_` and `'`.
    fn skip_word(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            while bytes.get(self.position).is_some_and(|&byte| WORD[byte as usize]) {
                self.position += 1;
            }
            match self.byte() {
                Some(0x80..) => match self.char() {
                    Some(c) if c.is_alphanumeric() => self.position += c.len_utf8(),
                    _ => return,
                },
                _ => return,
            }
        }
    }

    /// Skips everything a slip in dots or digits may be made of.
    fn bad_run(&mut self, kind: TokenKind) -> TokenKind {
        loop {
            let start = self.position;
            self.skip_word();
            match self.char() {
                Some(c @ ('.' | '∅')) => self.position += c.len_utf8(),
                _ if self.position == start => return kind,
                _ => {}
            }
        }
    }
}

/// The ASCII bytes that continue a name.
const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_' || byte as u8 == b'\'';
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use TokenKind::*;

    fn lex(text: &str) -> Vec<(TokenKind, &str)> {
        let mut lexer = Lexer::new(text);
        let tokens = std::iter::from_fn(|| {
            let token = lexer.token();
            lexer.advance();
            Some(token).filter(|token| token.kind != End)
        });
        tokens.map(|token| (token.kind, token.span.slice(text))).collect()
    }

    #[test]
    fn slips_are_covered_whole() {
        assert_eq!(lex("..r.. <>"), [(RowVariable, "..r.."), (Marker, "<>")]);
        for text in ["..r", "r..", "...", "..", ".", "..r...", ".r.", "..r..s..", "..3..", "...r..", ".._.."]
        {
            assert_eq!(lex(text), [(BadDots, text)]);
        }
        for text in ["3a", "1_000", "3.5", "1∅", "3..r..", "3é"] {
            assert_eq!(lex(text), [(BadNumber, text)]);
        }
        for text in ["==", ">=", "<", "=>", "!=", "->", "≤", "<=>"] {
            assert_eq!(lex(text), [(WrongOperator, text)]);
        }
        assert_eq!(lex("_a"), [(BadName, "_a")]);
    }

    #[test]
    fn names_take_letters_of_any_script() {
        assert_eq!(lex("ä' β_2 名"), [(Name, "ä'"), (Name, "β_2"), (Name, "名")]);
        assert_eq!(lex("..β.."), [(RowVariable, "..β..")]);
    }

    #[test]
    fn blanks_comments_and_line_ends() {
        let tokens = lex("\u{feff}a\u{a0}#x\r\n\r_\n");
        assert_eq!(
            tokens,
            [(Name, "a"), (LineEnd, "\r\n"), (LineEnd, "\r"), (Underscore, "_"), (LineEnd, "\n")]
        );
    }
}
