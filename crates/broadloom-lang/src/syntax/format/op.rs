//! The lines of an `op`. They are not parsed here, so
//! only spaces and line breaks in brackets change.

use broadloom_diagnostics::Span;

use super::super::token::{Token, TokenKind};
use super::super::words::words;
use super::Formatter;
use super::layout::{Gap, LayoutItem};

/// A line of an `op` on a single line and without comments: the form in which it is parsed.
pub fn op_text(text: &str, line: Span) -> String {
    let mut out = String::new();
    let text = line.slice(text);
    let tokens = words(text);
    for (token, space) in spaced(&tokens) {
        if space {
            out.push(' ');
        }
        out.push_str(token.span.slice(text));
    }
    out
}

impl Formatter<'_> {
    /// Makes the current line from the words of a line of an `op`.
    pub(super) fn op_line(&mut self, line: Span) {
        let range = self.token_at(line.start)..self.token_at(line.end);
        let tokens = self.tokens[range].to_vec();
        // For each open bracket, true if its contents may be broken into lines: empty ones may not.
        let mut open: Vec<bool> = Vec::new();
        let mut after_break = false;
        for (place, (token, space)) in spaced(&tokens).into_iter().enumerate() {
            let word = LayoutItem::Word(self.slice(token.span));
            let next = tokens.get(place + 1).map(|next| next.kind);
            if space && !after_break {
                self.line.push([LayoutItem::Space]);
            }
            after_break = token.kind == TokenKind::Comma && open.last() == Some(&true) && !closes(next);
            match token.kind {
                TokenKind::Open | TokenKind::OpenList => {
                    open.push(!closes(next));
                    match closes(next) {
                        true => self.line.push([word]),
                        false => self.line.push([
                            LayoutItem::Open,
                            word,
                            LayoutItem::In,
                            LayoutItem::Break(Gap::Nothing),
                        ]),
                    }
                }
                TokenKind::Close | TokenKind::CloseList if open.pop() == Some(true) => {
                    self.line.push([
                        LayoutItem::Out,
                        LayoutItem::Break(Gap::Closing),
                        word,
                        LayoutItem::Close,
                    ]);
                }
                _ => self.line.push([word]),
            }
            if after_break {
                self.line.push([LayoutItem::Break(Gap::Space)]);
            }
        }
    }
}

fn closes(kind: Option<TokenKind>) -> bool {
    matches!(kind, Some(TokenKind::Close | TokenKind::CloseList))
}

/// Pairs each token with true if a space stands before it.
fn spaced(tokens: &[Token]) -> Vec<(Token, bool)> {
    let mut before: Option<(Token, bool)> = None;
    let mut out = Vec::with_capacity(tokens.len());
    for token in tokens {
        let is_sign =
            token.kind == TokenKind::Minus && !before.is_some_and(|(before, _)| ends_operand(before.kind));
        let space = before.is_some_and(|(before, was_sign)| {
            let adjacent = before.span.end == token.span.start;
            is_spaced(before.kind, was_sign, token.kind).unwrap_or(!adjacent)
        });
        out.push((*token, space));
        before = Some((*token, is_sign));
    }
    out
}

/// Decides if there is a space between two tokens. Returns `None` for pairs that could become one
/// token, or come from one.
fn is_spaced(before: TokenKind, is_sign: bool, next: TokenKind) -> Option<bool> {
    use TokenKind::{Close, CloseBrace, CloseList, Comma, Name, Open, OpenBrace, OpenList, Semicolon};
    match (before, next) {
        (_, Comma | Semicolon | Close | CloseList | CloseBrace) => Some(false),
        (Open | OpenList | OpenBrace, _) | (Name, Open) => Some(false),
        (Comma | Semicolon, _) => Some(true),
        _ if is_sign => Some(!begins_operand(next)),
        _ if is_between(before) || is_between(next) => Some(true),
        _ => None,
    }
}

/// Returns true if a token stands between two operands, or assigns.
fn is_between(kind: TokenKind) -> bool {
    kind.continues() || matches!(kind, TokenKind::Equals | TokenKind::Assign | TokenKind::Keyword(_))
}

fn begins_operand(kind: TokenKind) -> bool {
    use TokenKind::{Dot, Float, Int, Minus, Name, Open};
    matches!(kind, Name | Int | Float | Open | Dot | Minus)
}

fn ends_operand(kind: TokenKind) -> bool {
    use TokenKind::{Close, CloseBrace, CloseList, Dot, Float, Int, Name, Text};
    matches!(kind, Name | Int | Float | Text | Dot | Close | CloseList | CloseBrace)
}
