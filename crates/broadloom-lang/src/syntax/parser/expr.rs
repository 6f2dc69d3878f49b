//! Expressions, by the strength of their operators.

use broadloom_diagnostics::{Diagnostic, Edit, Span};

use super::super::ast::{Arg, Binary, ExprId, ExprKind, MINUS_STRENGTH, NOT_STRENGTH, Param, Unary};
use super::super::token::{Keyword, TokenKind};
use super::Parser;
use crate::codes;

/// Advice for a tuple.
const SEVERAL_VALUES: &str = "several values are a list: `[a, b]`";

impl Parser<'_> {
    /// Parses any expression.
    pub(super) fn expr(&mut self) -> Option<ExprId> {
        self.deeper(|parser| {
            if parser.is_word(Keyword::If) {
                return parser.choice();
            }
            let low = parser.operators(0)?;
            if parser.is_word(Keyword::If) {
                return parser.choice_behind(low);
            }
            if parser.take(TokenKind::DotDot).is_none() {
                return Some(low);
            }
            let high = parser.operators(0)?;
            let span = parser.file.expr(low).span.to(parser.file.expr(high).span);
            Some(parser.push(ExprKind::Range(low, high), span))
        })
    }

    fn choice(&mut self) -> Option<ExprId> {
        let word = self.next();
        let condition = self.expr()?;
        if self.kind() == TokenKind::Colon {
            self.choice_with_block(word.span, condition);
            return None;
        }
        if self.braces("then", "and after it `else` and what it is otherwise, all without braces") {
            return None;
        }
        self.need(TokenKind::Keyword(Keyword::Then), "after the condition")?;
        let yes = self.expr()?;
        self.need(TokenKind::Keyword(Keyword::Else), "and what it is otherwise")?;
        let no = self.expr()?;
        let span = self.since(word.span);
        Some(self.push(ExprKind::If { condition, yes, no }, span))
    }

    /// Parses operators that bind at least this strongly, and their operands.
    pub(super) fn operators(&mut self, least: u8) -> Option<ExprId> {
        let mut left = self.prefix()?;
        while let Some(binary) = binary(self.kind()) {
            let strength = binary.strength();
            if strength < least || self.compound().is_some() || self.increment().is_some() {
                break;
            }
            let sign = self.next();
            if matches!(self.kind(), TokenKind::Newline | TokenKind::End) {
                let message = "expected an expression, found the end of the line";
                let help = format!(
                    "`{}` is written between two values: write the second one",
                    self.quote(sign.span)
                );
                let span = self.token().span;
                let diagnostic = Diagnostic::error(codes::EXPECTED, message, span, "");
                self.report(diagnostic.with_label(sign.span, "nothing follows").with_help(help));
                return None;
            }
            // All but powers group from the left.
            let above = if binary == Binary::Pow { strength } else { strength + 1 };
            let right = self.deeper(|parser| parser.operators(above))?;
            let span = self.file.expr(left).span.to(self.file.expr(right).span);
            left = self.push(ExprKind::Binary(binary, left, right), span);
            self.unchained(binary, sign.span)?;
        }
        Some(left)
    }

    /// Reports a second comparison: comparisons do not chain.
    fn unchained(&mut self, first: Binary, sign: Span) -> Option<()> {
        let compares = |binary: Binary| binary.strength() == Binary::Less.strength();
        match binary(self.kind()) {
            Some(second) if compares(first) && compares(second) => {
                let span = self.token().span;
                self.report(
                    Diagnostic::error(codes::CHAIN, "comparisons cannot be chained", span, "the second one")
                        .with_label(sign, "the first one")
                        .with_help("write `a < b and b < c`"),
                );
                None
            }
            _ => Some(()),
        }
    }

    fn prefix(&mut self) -> Option<ExprId> {
        let token = self.token();
        let (unary, strength) = match token.kind {
            TokenKind::Minus => (Unary::Minus, MINUS_STRENGTH),
            TokenKind::Keyword(Keyword::Not) => (Unary::Not, NOT_STRENGTH),
            _ => return self.postfix(),
        };
        self.next();
        let inner = self.deeper(|parser| parser.operators(strength))?;
        let span = token.span.to(self.file.expr(inner).span);
        Some(self.push(ExprKind::Unary(unary, inner), span))
    }

    /// Parses a primary expression with the calls, fields and indices after it.
    fn postfix(&mut self) -> Option<ExprId> {
        let mut left = self.primary()?;
        loop {
            let start = self.file.expr(left).span;
            left = match self.kind() {
                TokenKind::Open => {
                    let args = self.args()?;
                    let span = self.since(start);
                    self.push(ExprKind::Call { callee: left, args }, span)
                }
                TokenKind::Dot => {
                    self.next();
                    if self.dotted(left) {
                        return None;
                    }
                    if self.kind() == TokenKind::Open {
                        match self.dotted_call(left) {
                            true => continue,
                            false => return None,
                        }
                    }
                    let field = self.ident("after `.`")?;
                    self.push(ExprKind::Field(left, field), start.to(field.span))
                }
                TokenKind::OpenList => {
                    let open = self.next();
                    if matches!(self.kind(), TokenKind::Colon | TokenKind::Ellipsis) {
                        self.sliced(left, open.span);
                        return None;
                    }
                    let index = self.expr()?;
                    if matches!(self.kind(), TokenKind::Colon | TokenKind::Comma) {
                        self.sliced(left, open.span);
                        return None;
                    }
                    self.close(TokenKind::CloseList, open.span)?;
                    let span = self.since(start);
                    self.push(ExprKind::Index(left, index), span)
                }
                _ => return Some(left),
            };
        }
    }

    fn args(&mut self) -> Option<Vec<Arg>> {
        let open = self.next();
        let mut args = Vec::new();
        while !self.ends_list(TokenKind::Close) {
            // No function has an argument named like a keyword.
            // That is reported where the function is known.
            let named = matches!(self.kind(), TokenKind::Name | TokenKind::Keyword(_))
                && matches!(self.ahead(1).kind, TokenKind::Equals | TokenKind::Assign);
            let name = match named {
                true => {
                    let name = self.next();
                    let name = self.named(name);
                    self.take_equals()?;
                    Some(name)
                }
                false => None,
            };
            args.push(Arg { name, value: self.expr()? });
            if self.take(TokenKind::Comma).is_none() {
                break;
            }
        }
        self.close(TokenKind::Close, open.span)?;
        Some(args)
    }

    pub(super) fn primary(&mut self) -> Option<ExprId> {
        if self.lambda() {
            return None;
        }
        self.text_with_letter();
        let token = self.token();
        let kind = match token.kind {
            TokenKind::Name => {
                let name = self.names.intern(self.slice(token.span));
                ExprKind::Name(name)
            }
            TokenKind::Int | TokenKind::Float => ExprKind::Number(self.number(token.span)?),
            TokenKind::Text => ExprKind::Text(self.unquoted(token.span)),
            TokenKind::Open => return self.parenthesised(),
            TokenKind::OpenList => return self.list(),
            TokenKind::OpenBrace => return self.param(),
            _ => {
                self.no_expression();
                return None;
            }
        };
        self.next();
        Some(self.push(kind, token.span))
    }

    /// The value of a number.
    pub(super) fn number(&mut self, span: Span) -> Option<f64> {
        let text: String = self.slice(span).chars().filter(|letter| *letter != '_').collect();
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => return Some(value),
            Ok(_) => self.report(Diagnostic::error(codes::NUMBER, "this number is too large", span, "")),
            // The lexer has reported malformed numbers.
            Err(_) => self.reported = true,
        }
        None
    }

    /// Parses an expression in parentheses, which are part of its span.
    fn parenthesised(&mut self) -> Option<ExprId> {
        let open = self.next();
        let inner = self.expr()?;
        if self.kind() == TokenKind::Comma {
            let message = "parentheses hold one value";
            let help = self.tuple(open.span);
            let span = self.token().span;
            let diagnostic = Diagnostic::error(codes::BRACKET, message, span, "a second one follows");
            let diagnostic = diagnostic.with_label(open.span, "opened here");
            // In a list of arguments it may be anything.
            let before = self.text[..open.span.start as usize].trim_end();
            if help.is_none() && !before.ends_with(['(', ',']) {
                return self.rest_of_tuple(open.span, inner, diagnostic);
            }
            let help = help.unwrap_or_else(|| {
                let rest = self.rest_of_line(open.span.end);
                match rest.split_once(')') {
                    Some((values, _)) if !values.contains('(') => format!(
                        "several values are a list, `[{values}]`, or arguments of their own: `{values}`"
                    )
                    .into(),
                    _ => SEVERAL_VALUES.into(),
                }
            });
            self.report(diagnostic.with_help(help));
            return None;
        }
        self.close(TokenKind::Close, open.span)?;
        let span = self.since(open.span);
        self.file.exprs[inner.0 as usize].span = span;
        Some(inner)
    }

    /// Reads the other values of a tuple, and reports it. It is the list that is meant, so that what follows is not reported
    /// as well.
    fn rest_of_tuple(&mut self, open: Span, first: ExprId, wrong: Diagnostic) -> Option<ExprId> {
        let mut items = vec![first];
        while self.take(TokenKind::Comma).is_some() && !self.ends_list(TokenKind::Close) {
            let Some(item) = self.expr() else {
                self.report(wrong.with_help(SEVERAL_VALUES));
                return None;
            };
            items.push(item);
        }
        let close = self.token();
        if close.kind != TokenKind::Close {
            self.report(wrong.with_help(SEVERAL_VALUES));
            return None;
        }
        self.next();
        let span = self.since(open);
        let values: Vec<String> = items.iter().map(|item| self.quote(self.file.expr(*item).span)).collect();
        let edits = vec![Edit::new(open, "["), Edit::new(close.span, "]")];
        self.report(match values.iter().any(|value| value.contains('…')) {
            true => wrong.with_help(SEVERAL_VALUES),
            false => {
                wrong.with_edits(format!("several values are a list: write `[{}]`", values.join(", ")), edits)
            }
        });
        Some(self.push(ExprKind::List(items), span))
    }

    fn list(&mut self) -> Option<ExprId> {
        let open = self.next();
        let mut items = Vec::new();
        while !self.ends_list(TokenKind::CloseList) {
            let item = self.expr()?;
            if items.is_empty() && self.take_word(Keyword::For).is_some() {
                let name = self.ident("after `for`")?;
                self.need(TokenKind::Keyword(Keyword::In), "and a list")?;
                let list = self.expr()?;
                let list = self.foreign_range(list).unwrap_or(list);
                if self.filtered() {
                    return None;
                }
                self.close(TokenKind::CloseList, open.span)?;
                let span = self.since(open.span);
                return Some(self.push(ExprKind::Each { item, name, list }, span));
            }
            items.push(item);
            if self.take(TokenKind::Comma).is_none() {
                break;
            }
        }
        self.close(TokenKind::CloseList, open.span)?;
        let span = self.since(open.span);
        Some(self.push(ExprKind::List(items), span))
    }

    fn param(&mut self) -> Option<ExprId> {
        let open = self.next();
        let name = self.ident("of a parameter after `{`")?;
        let shape = match self.take(TokenKind::Colon) {
            Some(_) => Some(self.shape()?),
            None => None,
        };
        let precision = self.precision()?;
        let initial = self.value()?;
        self.close(TokenKind::CloseBrace, open.span)?;
        let span = self.since(open.span);
        Some(self.push(ExprKind::Param(Box::new(Param { name, shape, precision, initial })), span))
    }
}

fn binary(kind: TokenKind) -> Option<Binary> {
    Some(match kind {
        TokenKind::Pipe => Binary::Pipe,
        TokenKind::Keyword(Keyword::Or) => Binary::Or,
        TokenKind::Keyword(Keyword::And) => Binary::And,
        TokenKind::Less => Binary::Less,
        TokenKind::LessEq => Binary::LessEq,
        TokenKind::Greater => Binary::Greater,
        TokenKind::GreaterEq => Binary::GreaterEq,
        TokenKind::EqualEqual => Binary::Equal,
        TokenKind::NotEqual => Binary::NotEqual,
        TokenKind::Plus => Binary::Add,
        TokenKind::Minus => Binary::Sub,
        TokenKind::Star => Binary::Mul,
        TokenKind::Slash => Binary::Div,
        TokenKind::SlashSlash => Binary::FloorDiv,
        TokenKind::Percent => Binary::Mod,
        TokenKind::At => Binary::Compose,
        TokenKind::StarStar => Binary::Pow,
        _ => return None,
    })
}
