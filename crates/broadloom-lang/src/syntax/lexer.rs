//! From text to tokens.
//!
//! Lines end statements, and indentation makes blocks. Inside brackets neither means anything, and a line that
//! ends or begins with an operator goes on:
//!
//! ```text
//! let y = x
//!   |> linear(64)      this is still the first line
//!   |> relu
//! ```
//!
//! The lexer never fails: what it cannot read becomes [`TokenKind::Unknown`] and a diagnostic.

use broadloom_diagnostics::{Diagnostic, SourceId, Span};

use super::token::{KEYWORDS, Token, TokenKind};
use crate::codes;

/// What the lexer makes of a text.
#[derive(Debug, Default)]
pub struct Lexed {
    /// The tokens; the last one is [`TokenKind::End`].
    pub tokens: Vec<Token>,
    /// What is behind `#`, in order.
    pub comments: Vec<Span>,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// Texts longer than this are not read: positions are 32 bits.
pub const LONGEST: usize = 1 << 30;

/// Splits a text into tokens.
pub fn lex(source: SourceId, text: &str) -> Lexed {
    let mut lexer =
        Lexer { source, text, at: 0, out: Lexed::default(), brackets: 0, indents: vec![0], fresh: true };
    lexer.run();
    lexer.out
}

struct Lexer<'a> {
    source: SourceId,
    text: &'a str,
    at: usize,
    out: Lexed,
    /// How many brackets are open.
    brackets: usize,
    /// The columns of the blocks that are open.
    indents: Vec<usize>,
    /// Whether no token of this line has been seen.
    fresh: bool,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while self.at < self.text.len() {
            self.step();
        }
        self.end_line(self.at);
        while self.indents.len() > 1 {
            self.indents.pop();
            self.push(TokenKind::Dedent, self.at, self.at);
        }
        self.push(TokenKind::End, self.at, self.at);
    }

    fn step(&mut self) {
        let rest = &self.text[self.at..];
        let Some(letter) = rest.chars().next() else { return };
        match letter {
            '\n' => {
                self.end_line(self.at);
                self.at += 1;
                self.fresh = true;
            }
            ' ' | '\t' | '\r' | '\u{feff}' => self.at += letter.len_utf8(),
            '#' => {
                let length = rest.find('\n').unwrap_or(rest.len());
                let comment = rest[..length].trim_end();
                self.out.comments.push(self.span(self.at, self.at + comment.len()));
                self.at += length;
            }
            _ => {
                let (kind, length) = self.token(rest, letter);
                let (start, end) = (self.at, self.at + length);
                if std::mem::take(&mut self.fresh) {
                    self.begin_line(kind);
                }
                match kind {
                    TokenKind::Open | TokenKind::OpenList | TokenKind::OpenBrace => self.brackets += 1,
                    TokenKind::Close | TokenKind::CloseList | TokenKind::CloseBrace => {
                        self.brackets = self.brackets.saturating_sub(1);
                    }
                    _ => {}
                }
                self.push(kind, start, end);
                self.at = end;
            }
        }
    }

    /// A line ends: a statement too, unless the line goes on.
    fn end_line(&mut self, at: usize) {
        let Some(last) = self.out.tokens.last() else { return };
        let open = self.brackets > 0 && at < self.text.len();
        let ended = matches!(last.kind, TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent);
        let goes_on = last.kind.continues() || last.kind == TokenKind::Comma;
        if open || ended || (goes_on && at < self.text.len()) {
            return;
        }
        self.push(TokenKind::Newline, last.span.end as usize, last.span.end as usize);
    }

    /// The first token of a line: opens or closes blocks.
    fn begin_line(&mut self, kind: TokenKind) {
        if self.brackets > 0 && self.in_brackets_goes_on() {
            return;
        }
        let Some(last) = self.out.tokens.last() else {
            return self.indent_first();
        };
        let ended = matches!(last.kind, TokenKind::Newline | TokenKind::Dedent);
        if !ended {
            return;
        }
        if kind.continues() {
            self.out.tokens.pop();
            return;
        }
        self.change_indent();
    }

    /// Whether a line inside brackets belongs to them. A word that begins a statement, at the left of the page, says
    /// that a bracket was forgotten: one mistake should not swallow the rest of the file.
    fn in_brackets_goes_on(&mut self) -> bool {
        let column = self.column();
        let word: &str = self.text[self.at..].split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or("");
        let begins = ["let", "def", "data", "import", "dim", "state", "print", "repeat", "minimise", "backward"];
        if column > *self.indents.last().unwrap_or(&0) || !begins.contains(&word) {
            return true;
        }
        self.brackets = 0;
        let end = self.out.tokens.last().map_or(0, |token| token.span.end as usize);
        self.push(TokenKind::Newline, end, end);
        false
    }

    fn column(&self) -> usize {
        let line = self.text[..self.at].rfind('\n').map_or(0, |newline| newline + 1);
        let blanks = &self.text[line..self.at];
        blanks.chars().map(|letter| if letter == '\t' { 4 } else { usize::from(letter == ' ') }).sum()
    }

    fn indent_first(&mut self) {
        let column = self.column();
        if column > 0 {
            self.mistake(codes::INDENTATION, "the first line is indented", "a file begins at the left edge");
            self.indents[0] = column;
        }
    }

    fn change_indent(&mut self) {
        let column = self.column();
        let current = *self.indents.last().unwrap_or(&0);
        if column > current {
            self.indents.push(column);
            self.push(TokenKind::Indent, self.at, self.at);
            return;
        }
        while self.indents.len() > 1 && column < *self.indents.last().unwrap_or(&0) {
            self.indents.pop();
            self.push(TokenKind::Dedent, self.at, self.at);
        }
        if column != *self.indents.last().unwrap_or(&0) {
            self.mistake(
                codes::INDENTATION,
                "this line is indented like no line before it",
                "lines of one block begin at the same column",
            );
        }
    }

    /// The kind and the length of the token at the beginning of `rest`.
    fn token(&mut self, rest: &str, letter: char) -> (TokenKind, usize) {
        if letter.is_alphabetic() || letter == '_' {
            return word(rest);
        }
        if letter.is_ascii_digit() {
            return self.number(rest);
        }
        if letter == '"' {
            return self.quoted(rest);
        }
        if let Some(length) = assignment(rest) {
            return (TokenKind::Assign, length);
        }
        for (text, kind) in SIGNS {
            if rest.starts_with(text) {
                return (*kind, text.len());
            }
        }
        self.unknown(rest, letter)
    }

    fn number(&mut self, rest: &str) -> (TokenKind, usize) {
        let bytes = rest.as_bytes();
        let digits = |mut at: usize| {
            while at < bytes.len() && (bytes[at].is_ascii_digit() || bytes[at] == b'_') {
                at += 1;
            }
            at
        };
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let mut end = digits(0);
        let mut kind = TokenKind::Int;
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') && is_digit(end + 1) {
            end = digits(end + 1);
            kind = TokenKind::Float;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if is_digit(end + 1 + sign) {
                end = digits(end + 1 + sign);
                kind = TokenKind::Float;
            }
        }
        let tail: usize = rest[end..]
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
            .map(char::len_utf8)
            .sum();
        if tail > 0 {
            let span = self.span(self.at, self.at + end + tail);
            let message = format!("`{}` is neither a number nor a name", &rest[..end + tail]);
            let help = format!("write `{} * {}` for a product; names begin with a letter", &rest[..end], &rest[end..end + tail]);
            self.out
                .diagnostics
                .push(Diagnostic::error(codes::NUMBER, message, span, "not a number").with_help(help));
        }
        (kind, end + tail)
    }

    fn quoted(&mut self, rest: &str) -> (TokenKind, usize) {
        let line = rest.find('\n').unwrap_or(rest.len());
        match rest[1..line].find('"') {
            Some(length) => (TokenKind::Text, length + 2),
            None => {
                let end = rest[..line].trim_end().len();
                let span = self.span(self.at, self.at + end);
                self.out.diagnostics.push(
                    Diagnostic::error(codes::QUOTE, "this text has no end", span, "begins here")
                        .with_help("close it with `\"` on the same line"),
                );
                (TokenKind::Text, end)
            }
        }
    }

    fn unknown(&mut self, rest: &str, letter: char) -> (TokenKind, usize) {
        let length = rest.chars().take_while(|next| *next == letter).map(char::len_utf8).sum();
        let span = self.span(self.at, self.at + length);
        let (message, help) = match letter {
            '\'' => ("texts stand in double quotes".into(), Some("write `\"…\"`")),
            '&' => ("`&` means nothing here".into(), Some("write `and`")),
            '!' => ("`!` means nothing here".into(), Some("write `not`, or `!=` for different")),
            '^' => ("`^` means nothing here".into(), Some("a power is `**`; axes are put together by a spec such as `a; b => a^b`")),
            '×' | '·' => (format!("`{letter}` means nothing here"), Some("write `*` for products of elements, `@` to compose")),
            _ if letter.is_control() => ("there is an unprintable character".into(), None),
            _ => (format!("`{letter}` means nothing here"), None),
        };
        let diagnostic = Diagnostic::error(codes::CHARACTER, message, span, "not expected");
        self.out.diagnostics.push(match help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        });
        (TokenKind::Unknown, length)
    }

    fn mistake(&mut self, code: &'static str, message: &str, help: &str) {
        let end = self.text[self.at..].find('\n').map_or(self.text.len(), |length| self.at + length);
        let span = self.span(self.at, self.at + self.text[self.at..end].trim_end().len());
        self.out.diagnostics.push(Diagnostic::error(code, message, span, "").with_help(help));
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { source: self.source, start: start as u32, end: end as u32 }
    }

    fn push(&mut self, kind: TokenKind, start: usize, end: usize) {
        let span = self.span(start, end);
        self.out.tokens.push(Token { kind, span });
    }
}

/// Signs, longer ones first.
const SIGNS: &[(&str, TokenKind)] = &[
    ("...", TokenKind::Ellipsis),
    ("..", TokenKind::DotDot),
    ("->", TokenKind::Arrow),
    ("|>", TokenKind::Pipe),
    ("==", TokenKind::EqualEqual),
    ("!=", TokenKind::NotEqual),
    ("<=", TokenKind::LessEq),
    (">=", TokenKind::GreaterEq),
    ("**", TokenKind::StarStar),
    ("(", TokenKind::Open),
    (")", TokenKind::Close),
    ("[", TokenKind::OpenList),
    ("]", TokenKind::CloseList),
    ("{", TokenKind::OpenBrace),
    ("}", TokenKind::CloseBrace),
    (",", TokenKind::Comma),
    (":", TokenKind::Colon),
    (";", TokenKind::Semicolon),
    (".", TokenKind::Dot),
    ("|", TokenKind::Bar),
    ("=", TokenKind::Equals),
    ("<", TokenKind::Less),
    (">", TokenKind::Greater),
    ("+", TokenKind::Plus),
    ("-", TokenKind::Minus),
    ("*", TokenKind::Star),
    ("/", TokenKind::Slash),
    ("%", TokenKind::Percent),
    ("@", TokenKind::At),
];

fn word(rest: &str) -> (TokenKind, usize) {
    let length: usize = rest
        .chars()
        .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
        .map(char::len_utf8)
        .sum();
    let text = &rest[..length];
    let kind = match KEYWORDS.iter().find(|(keyword, _)| *keyword == text) {
        Some((_, keyword)) => TokenKind::Keyword(*keyword),
        None if text == "_" => TokenKind::Underscore,
        None => TokenKind::Name,
    };
    (kind, length)
}

/// The length of a sign of assignment beyond `=`: `=`, perhaps `:`, and what accumulates.
fn assignment(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('=')?;
    let (colon, after) = match after.strip_prefix(':') {
        Some(after) => (1, after),
        None => (0, after),
    };
    let accumulators = ["**", "+", "-", "*", "/"];
    let words = ["max", "min", "and", "or"];
    let sign = accumulators.iter().find(|sign| after.starts_with(**sign)).map(|sign| sign.len());
    let word = || words.iter().find(|word| after.strip_prefix(**word).is_some_and(|after| after.starts_with(' ')));
    let length = sign.or_else(|| word().map(|word| word.len())).unwrap_or(0);
    (colon + length > 0).then_some(1 + colon + length)
}
