//! Functions as other languages write them: without a name, and with braces.

use broadloom_diagnostics::{Diagnostic, Span};

use super::super::super::token::{Token, TokenKind};
use super::super::Parser;
use crate::codes;

impl Parser<'_> {
    /// Reports `lambda x: …` and `|x| …`.
    pub(in super::super) fn lambda(&mut self) -> bool {
        let (token, next) = (self.token(), self.ahead(1).kind);
        let word = token.kind == TokenKind::Name
            && matches!(next, TokenKind::Name | TokenKind::Colon)
            && self.slice(token.span) == "lambda";
        let bars = token.kind == TokenKind::Bar && next == TokenKind::Name;
        if !word && !bars {
            return false;
        }
        let rest = self.rest_of_line(token.span.end);
        let (arguments, body) = rest.split_once(if word { ':' } else { '|' }).unwrap_or((&rest, "…"));
        let help = self.named_function(token, arguments, within_brackets(body));
        let message = format!("there is no `{}`: a function has a name", if word { "lambda" } else { "|x|" });
        self.report(Diagnostic::error(codes::EXPECTED, message, token.span, "").with_help(help));
        true
    }

    /// Advice for `let f = x -> …` and `let f = x => …`, at the arrow.
    pub(super) fn as_a_function(&self, arrow: Span) -> Option<String> {
        let first = self.tokens[..self.at].iter().rposition(|token| token.kind == TokenKind::Equals)? + 1;
        let argument = self.quote(self.tokens[first].span.to(self.tokens[self.at - 1].span));
        let argument = argument.trim_matches(['(', ')']);
        let names = |text: &str| {
            text.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | ',' | ' '))
        };
        let body = self.rest_of_line(arrow.end);
        names(argument).then(|| self.named_function(self.tokens[first], argument, within_brackets(&body)))
    }

    /// How a function that begins at a token is defined under a name: that of the line if the line binds only it.
    fn named_function(&self, begins: Token, arguments: &str, body: &str) -> String {
        let before = &self.text[..begins.span.start as usize];
        let line = &before[before.rfind(super::LINE_ENDS).map_or(0, |end| end + 1)..];
        let bound = line.trim().strip_prefix("let ").and_then(|line| line.strip_suffix('='));
        let (arguments, body) = (arguments.trim(), body.trim());
        match bound.map(str::trim) {
            Some(name) if !name.contains([' ', ':', ',']) => {
                format!("write `def {name}({arguments}) = {body}` in place of this line")
            }
            _ => format!("write `def f({arguments}) = {body}` before this line, and `f` here"),
        }
    }

    /// Reports `{` where a body begins with another sign.
    pub(in super::super) fn braces(&mut self, sign: &str, rest: &str) -> bool {
        let token = self.token();
        if token.kind != TokenKind::OpenBrace {
            return false;
        }
        let message = "there are no braces around blocks: braces make parameters";
        let diagnostic = Diagnostic::error(codes::EXPECTED, message, token.span, "");
        self.report(diagnostic.with_help(format!("write `{sign}` here {rest}")));
        true
    }

    /// Reports `let mut x`, and skips the word.
    pub(in super::super) fn mutable(&mut self) {
        let token = self.token();
        if token.kind != TokenKind::Name
            || self.ahead(1).kind != TokenKind::Name
            || self.slice(token.span) != "mut"
        {
            return;
        }
        let name = self.quote(self.ahead(1).span);
        let message = "there is no `mut`: a name keeps its value";
        let help =
            format!("leave it out; for what changes while the program runs, write `state {name} : | = 0`");
        let gap = token.span.to(self.ahead(1).span.before());
        self.report(Diagnostic::error(codes::EXPECTED, message, token.span, "").with_fix(help, gap, ""));
        self.next();
    }
}

/// A text up to a bracket that it does not open, or a comma outside of brackets.
fn within_brackets(text: &str) -> &str {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' | ',' if depth == 0 => return &text[..at],
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    text
}
