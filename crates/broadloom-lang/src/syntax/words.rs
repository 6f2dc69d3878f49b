//! The tokens of a text, whatever its layout is.

use broadloom_diagnostics::SourceId;

use super::lexer::lex;
use super::token::{Token, TokenKind};

/// The tokens of a text without line ends and indentation.
pub(super) fn words(text: &str) -> Vec<Token> {
    let mut tokens = lex(SourceId::default(), text).tokens;
    tokens.retain(|token| {
        !matches!(token.kind, TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent | TokenKind::End)
    });
    tokens
}
