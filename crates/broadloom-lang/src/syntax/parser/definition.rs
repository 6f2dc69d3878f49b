//! Definitions: functions, and operations by their assignments.

use broadloom_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;

use super::super::ast::{Argument, Body, Def, ResultShape, StatementKind};
use super::super::token::{Token, TokenKind};
use super::Parser;
use crate::codes;

impl Parser<'_> {
    pub(super) fn def(&mut self) -> Option<StatementKind> {
        self.next();
        let name = self.ident("after `def`")?;
        if matches!(self.kind(), TokenKind::Equals | TokenKind::Colon) {
            let span = name.span;
            let message = "a function has arguments";
            let help = format!("write `let {} = …` for a value", self.names.text(name.name));
            self.report(
                Diagnostic::error(codes::EXPECTED, message, span, "no `(…)` after it").with_help(help),
            );
            return None;
        }
        let first = self.arguments()?;
        let second = match self.kind() {
            TokenKind::Open => Some(self.arguments()?),
            _ => None,
        };
        let (config, arguments) = match second {
            Some(second) => (Some(first), second),
            None => (None, first),
        };
        let mut result = None;
        if self.kind() == TokenKind::Colon && self.ahead(1).kind != TokenKind::Newline {
            self.next();
            result = Some(self.result()?);
        }
        if self.kind() == TokenKind::Colon {
            let span = self.token().span;
            self.report(
                Diagnostic::error(codes::EXPECTED, "the body of a function follows `=`", span, "").with_fix(
                    "write `=` here",
                    span,
                    " =",
                ),
            );
            self.next();
        } else if self.kind() == TokenKind::Arrow {
            let span = self.token().span;
            let message = "the shape of a result follows `:`";
            let help = "write `def f(x) : ..b.. | 10 = …`, or leave the shape out: it is inferred";
            self.report(Diagnostic::error(codes::EXPECTED, message, span, "").with_help(help));
            return None;
        } else if self.braces("=", "and indent the lines below it: the last one is the result") {
            return None;
        } else if self.kind() == TokenKind::Newline {
            // The body may well stand below.
            self.no_equals();
        } else if self.take_equals().is_none() {
            self.expected("`=` and the body of the function");
            return None;
        }
        let body = match self.kind() {
            TokenKind::Newline => {
                let lines = self.block("=")?;
                Body::Block(self.up_to_value(lines))
            }
            _ => Body::Expr(self.expr_or_missing()),
        };
        Some(StatementKind::Def(std::sync::Arc::new(Def { name, config, arguments, result, body })))
    }

    /// Parses the shape of a result: `batch | input -> output`, or a list `[shape; shape]`. What has no semicolon in it is no
    /// list but a shape in brackets, which is reported as such.
    fn result(&mut self) -> Option<ResultShape> {
        if self.kind() != TokenKind::OpenList || !self.has_semicolon() {
            return self.shape().map(ResultShape::Tensor);
        }
        let open = self.next();
        let mut items = Vec::new();
        while !self.ends_list(TokenKind::CloseList) {
            items.push(self.deeper(Parser::result)?);
            if self.take(TokenKind::Semicolon).is_none() {
                break;
            }
        }
        self.close(TokenKind::CloseList, open.span)?;
        Some(ResultShape::List(items, self.since(open.span)))
    }

    /// True if there is a semicolon directly in the brackets that open here.
    fn has_semicolon(&self) -> bool {
        let mut depth = 0;
        for ahead in 0.. {
            match self.ahead(ahead).kind {
                TokenKind::Newline | TokenKind::End | TokenKind::Dedent => return false,
                TokenKind::Semicolon if depth == 1 => return true,
                kind if kind.closed_by().is_some() => depth += 1,
                TokenKind::Close | TokenKind::CloseList | TokenKind::CloseBrace if depth == 1 => {
                    return false;
                }
                TokenKind::Close | TokenKind::CloseList | TokenKind::CloseBrace => depth -= 1,
                _ => {}
            }
        }
        false
    }

    /// Reports the end of the line in place of `=` and a body.
    fn no_equals(&mut self) {
        let (found, span) = (self.found(), self.token().span);
        let message = format!("expected `=` and the body of the function, found {found}");
        let diagnostic = Diagnostic::error(codes::EXPECTED, message, span, "");
        self.report(diagnostic.with_fix("write ` =` at the end of this line", span.before(), " ="));
    }

    fn arguments(&mut self) -> Option<Vec<Argument>> {
        let open = self.need(TokenKind::Open, "and the arguments")?;
        let mut arguments: Vec<Argument> = Vec::new();
        let mut places = FxHashMap::default();
        while !self.ends_list(TokenKind::Close) {
            let name = self.ident("of an argument")?;
            if let Some(first) = places.insert(name.name, name.span) {
                let message = format!("there are two arguments `{}`", self.names.text(name.name));
                self.report(
                    Diagnostic::error(codes::ARGUMENTS, message, name.span, "again")
                        .with_label(first, "the first one"),
                );
                return None;
            }
            let shape = match self.take(TokenKind::Colon) {
                Some(_) => Some(self.shape_of_argument()?),
                None => None,
            };
            arguments.push(Argument { name, shape, default: self.value()? });
            // The last comma of a shape may have been taken with it.
            if self.take(TokenKind::Comma).is_none() {
                break;
            }
        }
        self.close(TokenKind::Close, open.span)?;
        Some(arguments)
    }

    pub(super) fn op(&mut self) -> Option<StatementKind> {
        self.next();
        let name = self.ident("after `op`")?;
        let arguments = self.arguments()?;
        if let Some(shape) = arguments.iter().find_map(|argument| argument.shape.as_ref()?.span) {
            let message = "the operands of an `op` are declared by their names alone";
            self.report(Diagnostic::error(codes::EXPECTED, message, shape, "not expected"));
            return None;
        }
        if let Some(default) = arguments.iter().find_map(|argument| argument.default) {
            let span = self.file.expr(default).span;
            let message = "the operands of an `op` have no defaults";
            self.report(Diagnostic::error(codes::EXPECTED, message, span, "not expected"));
            return None;
        }
        let operands = arguments.into_iter().map(|argument| argument.name).collect();
        let before = self.diagnostics.len();
        let lines = self.headed(|parser| Some(parser.raw_lines()))?;
        if self.diagnostics.len() > before {
            return None;
        }
        Some(StatementKind::Op { name, operands, lines })
    }

    /// The lines of a block, not parsed.
    fn raw_lines(&mut self) -> Vec<Span> {
        let mut lines = Vec::new();
        while !matches!(self.kind(), TokenKind::Dedent | TokenKind::End) {
            self.reported = false;
            let line = self.raw_line();
            if !line.is_empty() {
                lines.push(line);
            }
            self.skip_line();
            if self.kind() == TokenKind::Indent {
                self.stray_block();
            }
        }
        self.take(TokenKind::Dedent);
        lines
    }

    /// A line of which only the brackets are checked.
    pub(super) fn raw_line(&mut self) -> Span {
        let start = self.token().span;
        let mut open: Vec<Token> = Vec::new();
        while !matches!(
            self.kind(),
            TokenKind::Newline | TokenKind::End | TokenKind::Dedent | TokenKind::Indent
        ) {
            let token = self.token();
            let expected = open.last().and_then(|open| open.kind.closed_by());
            match token.kind {
                kind if kind.closed_by().is_some() => open.push(token),
                kind if Some(kind) == expected => _ = open.pop(),
                TokenKind::Close | TokenKind::CloseList | TokenKind::CloseBrace if open.is_empty() => {
                    self.left_over(true);
                }
                TokenKind::Close | TokenKind::CloseList | TokenKind::CloseBrace => break,
                _ => {}
            }
            self.next();
        }
        if let Some((open, kind)) = open.last().and_then(|open| Some((open, open.kind.closed_by()?))) {
            self.close(kind, open.span);
        }
        self.since(start)
    }
}
