//! The formatter: one layout for every program.
//!
//! ```text
//! data x:28 28|10               data x : 28, 28 | 10
//! let y=((w)@x+b) # dense   →   let y = w @ x + b  # dense
//! for p in ps: f(p,rate=1)      for p in ps:
//!                                 f(p, rate = 1)
//! ```
//!
//! - Blocks are indented by two and begin on a line of their own; at most one empty line is kept between statements.
//! - Spaces stand around all operators between two operands and after commas, none inside brackets.
//! - Only the parentheses that operators need are kept. Numbers and texts stay as they are.
//! - What is longer than [`WIDTH`] is broken from the outside in: brackets with one item per line, pipes and other
//!   operators with one operand per line, the operator first.
//! - Comments stay on their line, or at the next place where a line may end.
//!
//! A statement becomes a stream of words with the places where its line may end ([`layout`]);
//! comments are assigned to such places ([`comments`]); then the stream is written. The layout of
//! the text before does not matter, except for empty lines and comments, so equal programs are
//! written equally.

mod block;
mod comments;
mod expr;
mod layout;
mod op;
mod statement;

use broadloom_diagnostics::{Diagnostic, Severity, SourceId, Span};

use super::ast::{File, Names};
use super::lexer::lex;
use super::token::{Token, TokenKind};
use super::{parse, same};
use layout::Line;

pub use layout::WIDTH;
pub use op::op_text;

/// Formats a program. The file must have been parsed from the text without mistakes: parts that
/// could not be parsed would be left out.
///
/// ```
/// use broadloom_diagnostics::SourceId;
/// use broadloom_lang::syntax::{ast::Names, format, parse};
/// let text = "let y=(w@x)+b # dense\n\n\n\nprint y";
/// let mut names = Names::default();
/// let parsed = parse(SourceId::default(), text, &mut names);
/// assert_eq!(format(text, &parsed.file, &names), "let y = w @ x + b  # dense\n\nprint y\n");
/// ```
pub fn format(text: &str, file: &File, names: &Names) -> String {
    measured(text, file, names).0
}

/// Like [`format`](fn@format), but also returns the work: a measure of the time it took.
#[doc(hidden)]
pub fn measured(text: &str, file: &File, names: &Names) -> (String, usize) {
    let mut formatter = Formatter::new(text, file, names);
    formatter.file();
    (formatter.out, formatter.work)
}

/// Parses a text and formats it, or returns its mistakes.
/// It is checked that the result is the same program.
pub fn reformat(source: SourceId, text: &str) -> Result<String, Vec<Diagnostic>> {
    let mut names = Names::default();
    let before = parse(source, text, &mut names);
    if !before.diagnostics.is_empty() {
        return Err(before.diagnostics);
    }
    let formatted = format(text, &before.file, &names);
    let after = parse(source, &formatted, &mut names);
    if after.diagnostics.is_empty() && same(text, &before.file, &formatted, &after.file) {
        return Ok(formatted);
    }
    let message = "the layout of this file would change what it means, which is a mistake of the formatter";
    let diagnostic = Diagnostic::new(Severity::Error, "", message);
    Err(vec![diagnostic.with_primary(Span::new(source, 0, 0), "").with_help("please report it")])
}

/// The state of formatting one file.
struct Formatter<'a> {
    text: &'a str,
    file: &'a File,
    names: &'a Names,
    /// The words of the text, without its line ends and indentation.
    tokens: Vec<Token>,
    /// The number of comments that have been written.
    comments: usize,
    /// The current statement.
    line: Line<'a>,
    out: String,
    /// True if nothing of the current block has been written yet.
    fresh: bool,
    work: usize,
}

impl<'a> Formatter<'a> {
    fn new(text: &'a str, file: &'a File, names: &'a Names) -> Formatter<'a> {
        let lexed = lex(SourceId::default(), text);
        let is_word = |token: &Token| {
            !matches!(token.kind, TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent | TokenKind::End)
        };
        let tokens: Vec<Token> = lexed.tokens.into_iter().filter(is_word).collect();
        Formatter {
            text,
            file,
            names,
            tokens,
            comments: 0,
            line: Line::default(),
            out: String::with_capacity(text.len()),
            fresh: true,
            work: lexed.work,
        }
    }

    fn slice(&self, span: Span) -> &'a str {
        span.slice(self.text)
    }

    /// The first token that begins at an offset or after it.
    fn token_at(&self, offset: u32) -> usize {
        self.tokens.partition_point(|token| token.span.start < offset)
    }

    /// A number or a text as it is written, without the parentheses in its span.
    fn literal(&self, span: Span) -> &'a str {
        let mut tokens = self.tokens[self.token_at(span.start)..].iter();
        tokens.find(|token| token.kind != TokenKind::Open).map_or("", |token| self.slice(token.span))
    }
}
