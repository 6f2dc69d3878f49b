//! Functions as other languages write them: without a name, and with braces.

use broadloom_diagnostics::{Diagnostic, Edit, Span};

use super::super::super::ast::StatementKind;
use super::super::super::token::{Keyword, Token, TokenKind};
use super::super::Parser;
use crate::{codes, suggest};

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
        let is_end = |token: &Token| token.kind == TokenKind::Newline;
        let line = self.tokens[..self.at].iter().rposition(is_end).map_or(0, |end| end + 1);
        let is_sign = |token: &Token| token.kind == TokenKind::Equals;
        let first = line + self.tokens[line..self.at].iter().rposition(is_sign)? + 1;
        let argument = self.quote(self.tokens[first].span.to(self.tokens[self.at - 1].span));
        let argument = argument.trim_matches(['(', ')']);
        let names = |text: &str| {
            text.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | ',' | ' '))
        };
        let body = self.rest_of_line(arrow.end);
        names(argument).then(|| self.named_function(self.tokens[first], argument, within_brackets(&body)))
    }

    /// Advice on how to define a function that begins at a token under a name: that of the line if the line
    /// binds only it.
    fn named_function(&self, begins: Token, arguments: &str, body: &str) -> String {
        let bound = suggest::bound_name(&self.text[..begins.span.start as usize]);
        let (arguments, body) = (arguments.trim(), body.trim());
        match bound {
            Some((name, "")) => format!("write `def {name}({arguments}) = {body}` in place of this line"),
            _ => format!("write `def f({arguments}) = {body}` before this line, and `f` here"),
        }
    }

    /// Reports `function f(x)`, at the word, and parses what follows as a `def` if only signs are missing.
    pub(super) fn foreign_function(&mut self, word: Token) -> Option<StatementKind> {
        let rest = self.rest_of_line(word.span.end);
        let diagnostic = Diagnostic::error(codes::STATEMENT, "a function is defined by `def`", word.span, "");
        let Some((name, behind)) = rest.split_once('(') else {
            self.report(diagnostic.with_help(format!("write `def {rest}(x) =`")));
            return None;
        };
        let list = within_list(behind);
        // Types of other languages are not shapes.
        let arguments: Vec<&str> = list.split(',').map(|each| super::before(each, &[':'])).collect();
        let head = format!("def {}({})", name.trim(), arguments.join(", "));
        let behind = behind[list.len()..].trim_start_matches(')').trim();
        if behind.starts_with('=') {
            self.report(diagnostic.with_fix(format!("write `{head} {behind}`"), word.span, "def"));
        } else if matches!(behind, "" | ":") && !list.contains(':') {
            let signs = self.end_of_line(usize::from(behind == ":"));
            let edits = vec![Edit::new(word.span, "def"), Edit::new(signs, " =")];
            self.report(diagnostic.with_edits(format!("write `{head} =`"), edits));
        } else {
            self.report(diagnostic.with_help(format!("write `{head} =`")));
            return None;
        }
        self.tokens[self.at].kind = TokenKind::Keyword(Keyword::Def);
        self.def()
    }

    /// The last tokens of this line, or the place behind it.
    fn end_of_line(&self, tokens: usize) -> Span {
        let ends = |token: &Token| matches!(token.kind, TokenKind::Newline | TokenKind::End);
        let length = self.tokens[self.at..].iter().position(ends).unwrap_or(0);
        let last = self.tokens[self.at + length.saturating_sub(1)].span;
        if tokens == 0 { last.after() } else { last }
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
    up_to(text, &[')', ']', '}', ','])
}

/// A list of arguments, up to the bracket that closes it.
fn within_list(text: &str) -> &str {
    up_to(text, &[')', ']', '}'])
}

/// A text up to the first of some signs outside of brackets.
fn up_to<'t>(text: &'t str, ends: &[char]) -> &'t str {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            _ if depth == 0 && ends.contains(&letter) => return &text[..at],
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    text
}
