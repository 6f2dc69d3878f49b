//! The tokens of a `.loom` file.

use broadloom_diagnostics::Span;

/// A word, a number, a sign, or a mark of the layout: line ends and changes of indentation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Token {
    /// The kind of token.
    pub kind: TokenKind,
    /// The span; empty for [`TokenKind::Dedent`] and at the end.
    pub span: Span,
}

/// The kinds of tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "`text` says it")]
pub enum TokenKind {
    Name,
    /// A word of the language.
    Keyword(Keyword),
    /// A whole number.
    Int,
    /// A number with a point or an exponent.
    Float,
    /// A text in quotes.
    Text,
    Open,
    Close,
    OpenList,
    CloseList,
    OpenBrace,
    CloseBrace,
    Comma,
    Colon,
    Semicolon,
    Dot,
    DotDot,
    Ellipsis,
    Bar,
    Arrow,
    Pipe,
    Underscore,
    Equals,
    /// A sign of assignment beyond `=`: `=+`, `=:`, `=:max`, …
    Assign,
    EqualEqual,
    NotEqual,
    Less,
    LessEq,
    Greater,
    GreaterEq,
    Plus,
    Minus,
    Star,
    StarStar,
    Slash,
    SlashSlash,
    Percent,
    At,
    /// The end of a statement.
    Newline,
    /// The next line is indented further.
    Indent,
    /// The next line is indented like an earlier one.
    Dedent,
    /// A character without a meaning, which has been reported.
    Unknown,
    End,
}

/// A word of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "they are their names")]
pub enum Keyword {
    Import,
    As,
    Dim,
    In,
    Data,
    State,
    Let,
    Def,
    Op,
    Set,
    For,
    Repeat,
    Backward,
    Minimise,
    By,
    Print,
    Every,
    Save,
    To,
    If,
    Then,
    Else,
    And,
    Or,
    Not,
}

/// All keywords with their texts.
pub const KEYWORDS: &[(&str, Keyword)] = &[
    ("import", Keyword::Import),
    ("as", Keyword::As),
    ("dim", Keyword::Dim),
    ("in", Keyword::In),
    ("data", Keyword::Data),
    ("state", Keyword::State),
    ("let", Keyword::Let),
    ("def", Keyword::Def),
    ("op", Keyword::Op),
    ("set", Keyword::Set),
    ("for", Keyword::For),
    ("repeat", Keyword::Repeat),
    ("backward", Keyword::Backward),
    ("minimise", Keyword::Minimise),
    ("by", Keyword::By),
    ("print", Keyword::Print),
    ("every", Keyword::Every),
    ("save", Keyword::Save),
    ("to", Keyword::To),
    ("if", Keyword::If),
    ("then", Keyword::Then),
    ("else", Keyword::Else),
    ("and", Keyword::And),
    ("or", Keyword::Or),
    ("not", Keyword::Not),
];

impl Keyword {
    /// The text of the keyword.
    pub fn text(self) -> &'static str {
        KEYWORDS.iter().find(|(_, keyword)| *keyword == self).map_or("", |(text, _)| text)
    }

    /// Returns true if it always begins a statement.
    pub fn begins_statement(self) -> bool {
        matches!(
            self,
            Keyword::Import
                | Keyword::Dim
                | Keyword::Data
                | Keyword::State
                | Keyword::Let
                | Keyword::Def
                | Keyword::Op
                | Keyword::Set
                | Keyword::Repeat
                | Keyword::Backward
                | Keyword::Minimise
                | Keyword::Print
                | Keyword::Save
        )
    }
}

impl TokenKind {
    /// The name for messages: the sign itself, or a description.
    pub fn text(self) -> &'static str {
        match self {
            TokenKind::Name => "a name",
            TokenKind::Keyword(keyword) => keyword.text(),
            TokenKind::Int | TokenKind::Float => "a number",
            TokenKind::Text => "a text",
            TokenKind::Open => "(",
            TokenKind::Close => ")",
            TokenKind::OpenList => "[",
            TokenKind::CloseList => "]",
            TokenKind::OpenBrace => "{",
            TokenKind::CloseBrace => "}",
            TokenKind::Comma => ",",
            TokenKind::Colon => ":",
            TokenKind::Semicolon => ";",
            TokenKind::Dot => ".",
            TokenKind::DotDot => "..",
            TokenKind::Ellipsis => "...",
            TokenKind::Bar => "|",
            TokenKind::Arrow => "->",
            TokenKind::Pipe => "|>",
            TokenKind::Underscore => "_",
            TokenKind::Equals => "=",
            TokenKind::Assign => "a sign of assignment",
            TokenKind::EqualEqual => "==",
            TokenKind::NotEqual => "!=",
            TokenKind::Less => "<",
            TokenKind::LessEq => "<=",
            TokenKind::Greater => ">",
            TokenKind::GreaterEq => ">=",
            TokenKind::Plus => "+",
            TokenKind::Minus => "-",
            TokenKind::Star => "*",
            TokenKind::StarStar => "**",
            TokenKind::Slash => "/",
            TokenKind::SlashSlash => "//",
            TokenKind::Percent => "%",
            TokenKind::At => "@",
            TokenKind::Newline => "the end of the line",
            TokenKind::Indent => "an indented line",
            TokenKind::Dedent => "the end of the block",
            TokenKind::Unknown => "something else",
            TokenKind::End => "the end of the file",
        }
    }

    /// The bracket that closes this one, if it opens one.
    pub fn closed_by(self) -> Option<TokenKind> {
        match self {
            TokenKind::Open => Some(TokenKind::Close),
            TokenKind::OpenList => Some(TokenKind::CloseList),
            TokenKind::OpenBrace => Some(TokenKind::CloseBrace),
            _ => None,
        }
    }

    /// Returns true if a line that ends or begins with this
    /// token continues: it stands between two expressions.
    pub fn continues(self) -> bool {
        matches!(
            self,
            TokenKind::Pipe
                | TokenKind::Plus
                | TokenKind::Minus
                | TokenKind::Star
                | TokenKind::StarStar
                | TokenKind::Slash
                | TokenKind::SlashSlash
                | TokenKind::Percent
                | TokenKind::At
                | TokenKind::EqualEqual
                | TokenKind::NotEqual
                | TokenKind::Less
                | TokenKind::LessEq
                | TokenKind::Greater
                | TokenKind::GreaterEq
                | TokenKind::Keyword(Keyword::And | Keyword::Or | Keyword::Then | Keyword::Else)
        )
    }
}
