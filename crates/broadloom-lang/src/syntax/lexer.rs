//! The lexer: from text to tokens.
//!
//! Lines end statements, and indentation makes blocks. Inside brackets neither has a meaning, and a
//! line that ends or begins with an operator continues:
//!
//! ```text
//! let y = x
//!   |> linear(64)      this is still the first line
//!   |> relu
//! -y                   this is not: a minus sign goes on only if it is indented further
//! ```
//!
//! A keyword that begins a statement begins one even if a bracket is still open or an operator
//! lacks its operand: one mistake should not swallow the rest of the file.
//!
//! The lexer never fails: a character it cannot read
//! becomes [`TokenKind::Unknown`] and a diagnostic.

mod habits;

use broadloom_diagnostics::{BYTE_ORDER_MARK, Diagnostic, SourceId, Span};

use super::token::{KEYWORDS, Keyword, Token, TokenKind};
use crate::codes;

/// The tokens of a text.
#[derive(Debug, Default)]
pub struct Lexed {
    /// The tokens; the last one is [`TokenKind::End`].
    pub tokens: Vec<Token>,
    /// The spans of comments, in order, each from `#` on.
    pub comments: Vec<Span>,
    /// The mistakes.
    pub diagnostics: Vec<Diagnostic>,
    /// The offsets of lines that do not fit any block, in order: they are read as lines of the nearest one.
    pub misplaced: Vec<u32>,
    /// The offsets of lines, in order, at which reading could begin: no block or bracket is open there, and they do not go on from the line
    /// before, whatever that is. The first line is not among them.
    pub starts: Vec<u32>,
    /// The number of bytes that were read, some of them twice: a measure of the time it took.
    pub work: usize,
}

/// The greatest length of a text, because positions have 32 bits.
pub const LONGEST: usize = 1 << 30;

/// The characters that separate words on a line.
pub(super) const BLANKS: [char; 3] = [' ', '\t', BYTE_ORDER_MARK];

/// The characters that end a line.
pub(super) const LINE_ENDS: [char; 2] = ['\n', '\r'];

/// Splits a text into tokens.
pub fn lex(source: SourceId, text: &str) -> Lexed {
    lex_from(source, text, 0)
}

/// Splits the rest of a text into tokens, from its beginning or from one of the [starts](Lexed::starts) on. They are those of the whole
/// text, with one line end before them.
pub(super) fn lex_from(source: SourceId, text: &str, start: u32) -> Lexed {
    let mut out = Lexed::default();
    if start > 0 {
        out.tokens.push(Token { kind: TokenKind::Newline, span: Span::empty(source, start) });
    }
    let mut lexer = Lexer {
        source,
        text,
        at: start as usize,
        out,
        brackets: Vec::new(),
        indents: vec![Indent::default()],
        tolerated: None,
        fresh: true,
    };
    lexer.run();
    lexer.out
}

struct Lexer<'a> {
    source: SourceId,
    text: &'a str,
    at: usize,
    out: Lexed,
    /// The brackets that are open.
    brackets: Vec<TokenKind>,
    /// The blocks that are open.
    indents: Vec<Indent>,
    /// The block of a line that has been reported because its column fits none.
    tolerated: Option<Tolerated>,
    /// True at the beginning of a line, before its first token.
    fresh: bool,
}

/// A block that is open.
#[derive(Clone, Copy, Default)]
struct Indent {
    column: usize,
    /// The offset of its first line.
    at: usize,
    /// The number of tokens before it.
    tokens: usize,
}

/// A block with a line at a column that fits none: the next lines at either column belong to it, and are not reported.
#[derive(Clone, Copy)]
struct Tolerated {
    odd: usize,
    even: usize,
    /// The number of blocks that are open, with this one.
    depth: usize,
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
        let (start, rest) = (self.at, &self.text[self.at..]);
        let Some(letter) = rest.chars().next() else { return };
        match letter {
            '\n' | '\r' => {
                self.end_line(self.at);
                self.at += 1;
                self.fresh = true;
            }
            letter if BLANKS.contains(&letter) => {
                self.at += rest.len() - rest.trim_start_matches(BLANKS).len()
            }
            '#' => {
                let length = rest.find(LINE_ENDS).unwrap_or(rest.len());
                let comment = rest[..length].trim_end();
                self.out.comments.push(self.span(self.at, self.at + comment.len()));
                self.at += length;
            }
            '/' if let Some(length) = self.foreign_comment(rest) => {
                self.slashes();
                self.at += length;
            }
            '"' | '\'' if self.fresh && self.brackets.is_empty() && habits::is_long_text(rest) => {
                self.at += self.docstring(rest);
            }
            _ => self.step_token(rest, letter),
        }
        self.out.work += self.at - start;
    }

    fn step_token(&mut self, rest: &str, letter: char) {
        let (kind, length) = self.token(rest, letter);
        let (start, end) = (self.at, self.at + length);
        if std::mem::take(&mut self.fresh) {
            self.begin_line(kind);
        }
        match kind {
            TokenKind::Open | TokenKind::OpenList | TokenKind::OpenBrace => self.brackets.push(kind),
            TokenKind::Close | TokenKind::CloseList | TokenKind::CloseBrace => _ = self.brackets.pop(),
            _ => {}
        }
        // After a dot, a keyword is only a name.
        let after_dot = self.out.tokens.last().is_some_and(|last| last.kind == TokenKind::Dot);
        let is_name = after_dot && matches!(kind, TokenKind::Keyword(_));
        self.push(if is_name { TokenKind::Name } else { kind }, start, end);
        self.at = end;
        if kind == TokenKind::Text && !is_closed(&rest[..length]) {
            // The text may have swallowed brackets. The
            // parser does not report anything missing here.
            self.brackets.clear();
            self.push(TokenKind::Unknown, end, end);
        }
    }

    /// Ends a line, and the statement with it unless the line continues.
    fn end_line(&mut self, at: usize) {
        let Some(last) = self.out.tokens.last() else { return };
        let open = !self.brackets.is_empty() && at < self.text.len();
        let goes_on = awaits_more(last.kind) && at < self.text.len();
        if open || goes_on || last.kind == TokenKind::Newline {
            return;
        }
        self.push(TokenKind::Newline, last.span.end as usize, last.span.end as usize);
    }

    /// Handles the first token of a line: opens or closes blocks.
    fn begin_line(&mut self, kind: TokenKind) {
        let Some(last) = self.out.tokens.last().copied() else {
            return self.indent_first();
        };
        let is_forced = last.kind != TokenKind::Newline;
        if is_forced {
            if !self.begins_statement(kind, last.kind) {
                return;
            }
            let end = last.span.end as usize;
            self.brackets.clear();
            self.push(TokenKind::Newline, end, end);
        } else if self.continues_line(kind) {
            self.out.tokens.pop();
            return;
        }
        self.change_indent();
        let is_outside = matches!(self.indents[..], [Indent { column: 0, .. }]) && self.tolerated.is_none();
        if is_outside && !is_forced && !kind.continues() && self.brackets.is_empty() {
            self.out.starts.push(self.at as u32);
        }
    }

    /// Returns true if a token at the beginning of a line begins a statement although the line
    /// before it continues. Inside brackets it has to stand at the left edge of its block.
    fn begins_statement(&mut self, kind: TokenKind, last: TokenKind) -> bool {
        let begins = matches!(kind, TokenKind::Keyword(keyword) if keyword.begins_statement());
        if self.brackets.is_empty() {
            return begins;
        }
        // Two operands with nothing between them: only in shapes they may be next to each other.
        let apart =
            ends_operand(last) && begins_operand(kind) && self.brackets.last() != Some(&TokenKind::OpenBrace);
        let is_loop = kind == TokenKind::Keyword(Keyword::For) && self.line().contains(':');
        (begins || apart || is_loop) && self.column() <= self.current()
    }

    /// Returns true if a token at the beginning of a line continues the line before it. A minus
    /// sign may also begin a statement: it continues only if it is indented further, and not where
    /// a block begins.
    fn continues_line(&mut self, kind: TokenKind) -> bool {
        let before = self.out.tokens.iter().rev().nth(1).map(|token| token.kind);
        let has_block = matches!(before, Some(TokenKind::Colon | TokenKind::Equals | TokenKind::Assign));
        let is_sign = kind == TokenKind::Minus && self.column() <= self.current();
        // An `else` that is not indented further than the statement belongs to an `if` with a block.
        let is_branch = kind == TokenKind::Keyword(Keyword::Else) && self.column() <= self.current();
        kind.continues() && !has_block && !is_sign && !is_branch
    }

    fn column(&mut self) -> usize {
        let (column, length) = column(self.text, self.at);
        self.out.work += length;
        column
    }

    /// The rest of this line.
    fn line(&mut self) -> &str {
        let rest = &self.text[self.at..];
        let line = &rest[..rest.find(LINE_ENDS).unwrap_or(rest.len())];
        self.out.work += line.len();
        line
    }

    /// The column of the innermost block.
    fn current(&self) -> usize {
        self.indents.last().map_or(0, |block| block.column)
    }

    fn indent_first(&mut self) {
        let column = self.column();
        if column > 0 {
            self.mistake(codes::INDENTATION, "the first line is indented", "a file begins at the left edge");
            self.indents[0].column = column;
        }
    }

    fn change_indent(&mut self) {
        let column = self.column();
        if self.is_tolerated(column) {
            return;
        }
        while let [.., outer, block] = self.indents[..]
            && column < block.column
        {
            if column > outer.column {
                return self.misplace(column, outer.column, block);
            }
            self.indents.pop();
            self.tolerated = self.tolerated.filter(|known| known.depth <= self.indents.len());
            self.push(TokenKind::Dedent, self.at, self.at);
        }
        if column <= self.current() {
            // The first line may have been indented further, which has been reported.
            self.indents[0].column = self.indents[0].column.min(column);
        } else {
            self.indents.push(Indent { column, at: self.at, tokens: self.out.tokens.len() });
            self.push(TokenKind::Indent, self.at, self.at);
        }
    }

    /// Returns true if a line belongs to a block of which a line at another column has been reported.
    fn is_tolerated(&mut self, column: usize) -> bool {
        let Some(Tolerated { odd, even, depth }) = self.tolerated else { return false };
        // A line that ends with one of these has a block of its own.
        let before = self.out.tokens.iter().rev().nth(1).map(|token| token.kind);
        let opens = matches!(before, Some(TokenKind::Colon | TokenKind::Equals)) && column > self.current();
        if ![odd, even].contains(&column) || self.indents.len() != depth || opens {
            return false;
        }
        if let Some(block) = self.indents.last_mut() {
            block.column = column;
        }
        if column == odd {
            self.out.misplaced.push(self.at as u32);
        }
        true
    }

    /// Reports a line between two columns, and reads it as a line of the inner block.
    fn misplace(&mut self, column: usize, outer: usize, block: Indent) {
        let length = self.line().trim_end().len();
        let span = self.span(self.at, self.at + length);
        let width = block.column;
        let head = self.head_of(block).map_or(String::new(), |word| format!(" of `{word}`"));
        let rest = &self.text[block.at..];
        let first = rest[..rest.find(LINE_ENDS).unwrap_or(rest.len())].trim_end().len();
        let label = format!("the block{head} begins at column {}", width + 1);
        let or_else = if outer == 0 { "not at all".to_string() } else { format!("by {outer} to end it") };
        let help = format!("indent it by {width} to belong to the block, or {or_else}");
        let message = format!("this line begins at column {}, like no line before it", column + 1);
        self.out.diagnostics.push(
            Diagnostic::error(codes::INDENTATION, message, span, "")
                .with_label(self.span(block.at, block.at + first), label)
                .with_help(help),
        );
        self.tolerated = Some(Tolerated { odd: column, even: width, depth: self.indents.len() });
        self.out.misplaced.push(self.at as u32);
        if let Some(block) = self.indents.last_mut() {
            block.column = column;
        }
    }

    /// The word that begins the line before a block.
    fn head_of(&self, block: Indent) -> Option<&'static str> {
        let line = self.out.tokens[..block.tokens].iter().rev().skip(1);
        let is_end = |kind| matches!(kind, TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent);
        match line.take_while(|token| !is_end(token.kind)).last()?.kind {
            TokenKind::Keyword(
                word @ (Keyword::Repeat | Keyword::For | Keyword::Def | Keyword::Op | Keyword::If),
            ) => Some(word.text()),
            _ => None,
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
        if habits::is_long_text(rest) {
            return self.long_text(rest);
        }
        if letter == '"' {
            return self.quoted(rest);
        }
        if let Some(length) = assignment(rest) {
            return (TokenKind::Assign, length);
        }
        // Most signs begin with another letter.
        for (text, kind) in SIGNS {
            if text.as_bytes()[0] == rest.as_bytes()[0] && rest.starts_with(text) {
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
        // The parser reports `tensor<32x784xf32>` as a whole.
        if tail > 0 && !self.text[..self.at].ends_with("tensor<") {
            let span = self.span(self.at, self.at + end + tail);
            let message = format!("`{}` is neither a number nor a name", &rest[..end + tail]);
            let help = format!(
                "write `{} * {}` for a product; names begin with a letter",
                &rest[..end],
                &rest[end..end + tail]
            );
            let product = format!("{} * {}", &rest[..end], &rest[end..end + tail]);
            let diagnostic = Diagnostic::error(codes::NUMBER, message, span, "not a number");
            self.out.diagnostics.push(diagnostic.with_fix(help, span, product));
        }
        (kind, end + tail)
    }

    fn quoted(&mut self, rest: &str) -> (TokenKind, usize) {
        let inner = &rest[1..];
        let end = inner.find(|letter| letter == '"' || LINE_ENDS.contains(&letter));
        let length = 1 + end.unwrap_or(inner.len());
        if rest[length..].starts_with('"') {
            return (TokenKind::Text, length + 1);
        }
        let end = rest[..length].trim_end().len();
        let span = self.span(self.at, self.at + end);
        self.out.diagnostics.push(
            Diagnostic::error(codes::QUOTE, "this text has no end", span, "begins here").with_fix(
                "close it with `\"` on the same line",
                span.after(),
                "\"",
            ),
        );
        (TokenKind::Text, end)
    }

    fn mistake(&mut self, code: &'static str, message: &str, help: &str) {
        let length = self.line().trim_end().len();
        let span = self.span(self.at, self.at + length);
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
    ("//", TokenKind::SlashSlash),
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

/// Returns true if a line that ends with this token continues.
fn awaits_more(kind: TokenKind) -> bool {
    kind.continues() || kind == TokenKind::Comma
}

fn ends_operand(kind: TokenKind) -> bool {
    use TokenKind::{Close, CloseBrace, CloseList, Float, Int, Name, Text};
    matches!(kind, Name | Int | Float | Text | Close | CloseList | CloseBrace)
}

fn begins_operand(kind: TokenKind) -> bool {
    use TokenKind::{Float, Int, Name, OpenBrace, Text};
    matches!(kind, Name | Int | Float | Text | OpenBrace)
}

/// Returns true if a text in quotes has its second quote.
fn is_closed(text: &str) -> bool {
    text.len() > 1 && text.ends_with('"')
}

/// The column of a place that has only blanks before it
/// on its line, and the length of the blanks in bytes.
pub(super) fn column(text: &str, at: usize) -> (usize, usize) {
    let line = text[..at].rfind(LINE_ENDS).map_or(0, |newline| newline + 1);
    let blanks = &text[line..at];
    let width = |letter| if letter == '\t' { 4 } else { usize::from(letter == ' ') };
    (blanks.chars().map(width).sum(), blanks.len())
}

fn word(rest: &str) -> (TokenKind, usize) {
    let length: usize = rest
        .chars()
        .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
        .map(char::len_utf8)
        .sum();
    let text = &rest[..length];
    let is_text = |keyword: &str| keyword.as_bytes()[0] == text.as_bytes()[0] && keyword == text;
    let kind = match KEYWORDS.iter().find(|(keyword, _)| is_text(keyword)) {
        Some((_, keyword)) => TokenKind::Keyword(*keyword),
        None if text == "_" => TokenKind::Underscore,
        None => TokenKind::Name,
    };
    (kind, length)
}

/// The length of an assignment sign beyond `=`: `=`, perhaps `:`, and an accumulator. A word
/// accumulates only before a blank and an operand: `w =max x`, but `let f =max` and
/// `let y =max(a, b)`.
fn assignment(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('=')?;
    let (colon, after) = match after.strip_prefix(':') {
        Some(after) => (1, after),
        None => (0, after),
    };
    let accumulators = ["**", "+", "-", "*", "/"];
    let words = ["max", "min", "and", "or"];
    let is_operand = |letter: char| letter.is_alphanumeric() || "_([{\"-.".contains(letter);
    let accumulates = |word: &&&str| {
        let rest = after.strip_prefix(**word).unwrap_or("");
        let operand = rest.trim_start_matches(BLANKS);
        operand.len() < rest.len() && operand.starts_with(is_operand)
    };
    let sign = accumulators.iter().find(|sign| after.starts_with(**sign));
    let length = sign.or_else(|| words.iter().find(accumulates)).map_or(0, |sign| sign.len());
    (colon + length > 0).then_some(1 + colon + length)
}
