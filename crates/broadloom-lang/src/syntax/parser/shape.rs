//! Declared shapes.

use broadloom_diagnostics::{Diagnostic, Edit, Span};

use super::super::ast::{Axis, AxisKind, Binary, ExprId, ExprKind, Shape};
use super::super::token::TokenKind;
use super::Parser;
use crate::codes;

/// The place of a shape: a comma may end one in a list of arguments.
#[derive(Clone, Copy, PartialEq)]
enum ShapeContext {
    Alone,
    Argument,
}

impl Parser<'_> {
    /// Parses `batch | input -> output`, or `()`, up to a token that cannot be part of a shape.
    pub(super) fn shape(&mut self) -> Option<Shape> {
        self.shape_in(ShapeContext::Alone)
    }

    /// Parses the shape of an argument, up to the end of the list or to the next argument.
    pub(super) fn shape_of_argument(&mut self) -> Option<Shape> {
        self.shape_in(ShapeContext::Argument)
    }

    fn shape_in(&mut self, place: ShapeContext) -> Option<Shape> {
        let start = self.token().span;
        if self.kind() == TokenKind::Text {
            let (message, plain) =
                ("a shape is written without quotes", self.slice(start).trim_matches('"').to_string());
            let help = format!("write `{}`", self.unquoted(start));
            self.report(Diagnostic::error(codes::SHAPE, message, start, "").with_fix(help, start, plain));
            return None;
        }
        if self.kind() == TokenKind::OpenList {
            let open = self.next();
            match place {
                ShapeContext::Argument if self.lists_shapes(open) => {}
                _ => self.bracketed(open),
            }
            return None;
        }
        if self.typed_shape() || place == ShapeContext::Alone && self.type_alone() {
            return None;
        }
        let mut shape = Shape::default();
        // As numbers are shown: no axes.
        if self.kind() == TokenKind::Open && self.ahead(1).kind == TokenKind::Close {
            self.next();
            self.next();
            shape.span = Some(self.since(start));
            return Some(shape);
        }
        let mut row = self.row(place)?;
        if self.take(TokenKind::Bar).is_some() {
            shape.batch = Some(row);
            row = self.row(place)?;
        }
        if self.take(TokenKind::Arrow).is_some() {
            shape.input = Some(row);
            row = self.row(place)?;
        }
        shape.output = row;
        if matches!(self.kind(), TokenKind::Bar | TokenKind::Arrow) {
            let span = self.token().span;
            let message = "a shape is `batch | input -> output`";
            let help = "axes of one kind are in one row: `8, 16 | 3 -> 4`";
            let label = "one too many, or in the wrong order";
            self.report(Diagnostic::error(codes::SHAPE, message, span, label).with_help(help));
            return None;
        }
        let empty = shape.batch.is_none() && shape.input.is_none() && shape.output.is_empty();
        if empty {
            self.expected("a shape");
            return None;
        }
        shape.span = Some(self.since(start));
        Some(shape)
    }

    /// True at a comma behind which the next argument begins: a name with a shape or a default. (A basis follows its
    /// colon without a space: `n:rgb`.)
    fn begins_argument(&self) -> bool {
        let (name, sign) = (self.ahead(1), self.ahead(2));
        let is_named = self.kind() == TokenKind::Comma && name.kind == TokenKind::Name;
        is_named
            && match sign.kind {
                // Without a space, `a=-1` is an assignment by its signs.
                TokenKind::Equals | TokenKind::Assign => true,
                TokenKind::Colon => name.span.end != sign.span.start,
                _ => false,
            }
    }

    fn row(&mut self, place: ShapeContext) -> Option<Vec<Axis>> {
        let mut row: Vec<Axis> = Vec::new();
        while let Some(axis) = self.axis()? {
            let open = |axis: &Axis| matches!(axis.kind, AxisKind::Rest | AxisKind::Row(_));
            if open(&axis)
                && let Some(first) = row.iter().find(|axis| open(axis))
            {
                let message = "a row has one place for any number of axes, not two";
                let (first, second) = (first.span, axis.span);
                self.report(
                    Diagnostic::error(codes::SHAPE, message, second, "the second one")
                        .with_label(first, "the first one"),
                );
                return None;
            }
            row.push(axis);
            if place == ShapeContext::Argument && self.begins_argument() {
                break;
            }
            self.take(TokenKind::Comma);
        }
        Some(row)
    }

    /// Parses an axis; returns `Some(None)` if the row ends here.
    fn axis(&mut self) -> Option<Option<Axis>> {
        let (token, start) = (self.token(), self.at);
        let kind = match token.kind {
            TokenKind::Int => {
                let text: String = self.slice(token.span).chars().filter(|letter| *letter != '_').collect();
                let Ok(size) = text.parse::<u64>() else {
                    self.number(token.span)?;
                    let message = "this size is too large";
                    self.report(Diagnostic::error(codes::NUMBER, message, token.span, ""));
                    return None;
                };
                self.next();
                AxisKind::Size(size)
            }
            TokenKind::Name => AxisKind::Name(self.ident("of an axis")?.name),
            TokenKind::Open => {
                let open = self.next();
                let size = self.expr()?;
                if self.kind() == TokenKind::Comma {
                    self.bracketed(open);
                    return None;
                }
                if begins_part(self.kind()) {
                    self.parts(size)?;
                    return None;
                }
                self.close(TokenKind::Close, open.span)?;
                AxisKind::Expr(size)
            }
            TokenKind::Underscore => {
                self.next();
                AxisKind::Any
            }
            TokenKind::Ellipsis => {
                self.next();
                AxisKind::Rest
            }
            TokenKind::DotDot => {
                self.next();
                let name = self.ident("between `..` and `..`")?.name;
                self.need(TokenKind::DotDot, "after the name of a row")?;
                AxisKind::Row(name)
            }
            TokenKind::Float | TokenKind::Minus => {
                let message = "sizes are whole numbers";
                self.report(Diagnostic::error(codes::SHAPE, message, token.span, ""));
                return None;
            }
            _ => return Some(None),
        };
        let sized = matches!(kind, AxisKind::Size(_) | AxisKind::Name(_) | AxisKind::Expr(_));
        let is_bare = sized && (is_arithmetic(self.kind()) || self.is_applied(&kind));
        let kind = match is_bare {
            true => AxisKind::Expr(self.bare_arithmetic(start)?),
            false => kind,
        };
        let basis = match sized && self.kind() == TokenKind::Colon {
            true => {
                self.next();
                Some(self.ident("of what the axis counts after `:`")?)
            }
            false => None,
        };
        let span = self.since(token.span);
        Some(Some(Axis { kind, basis, span }))
    }

    /// Reports the parts of a composed axis, `(n 4)`, behind the first one: a declared shape states their product.
    fn parts(&mut self, first: ExprId) -> Option<()> {
        let first = self.file.expr(first).span;
        let (mut last, mut edits, mut product) = (first, Vec::new(), self.slice(first).to_string());
        while begins_part(self.kind()) {
            let part = self.deeper(Parser::primary)?;
            let span = self.file.expr(part).span;
            edits.push(Edit::new(Span { start: last.end, end: span.start, ..span }, " * "));
            product += " * ";
            product += self.slice(span);
            last = span;
        }
        let span = first.to(last);
        let message = "the parts of an axis are named in specs, and a declared shape has its size";
        let help = format!("write `({product})`");
        self.report(Diagnostic::error(codes::SHAPE, message, span, "").with_edits(help, edits));
        Some(())
    }

    /// True behind a name that `(`, `[` or a field follows without a space: `len(x)`, `sizes[0]`, `y.h`. (With a space or
    /// a comma, `n (2 * m)` is two axes.)
    fn is_applied(&self, axis: &AxisKind) -> bool {
        let touches = self.token().span.start == self.last_end;
        let goes_on = matches!(self.kind(), TokenKind::Open | TokenKind::OpenList | TokenKind::Dot);
        matches!(axis, AxisKind::Name(_)) && touches && goes_on
    }

    /// Reports `n * 2` or `len(x)` in a shape, which begins at a token, and parses it as if it were in parentheses.
    fn bare_arithmetic(&mut self, start: usize) -> Option<ExprId> {
        self.at = start;
        let size = self.operators(Binary::Add.strength())?;
        let span = self.file.expr(size).span;
        let written = self.quote(span);
        let message = match self.file.expr(size).kind {
            ExprKind::Binary(..) => "arithmetic in a shape is written in parentheses",
            _ => "a computed size is written in parentheses in a shape",
        };
        let diagnostic = Diagnostic::error(codes::SHAPE, message, span, "");
        let edits = vec![Edit::new(span.before(), "("), Edit::new(span.after(), ")")];
        self.report(diagnostic.with_edits(format!("write `({written})`"), edits));
        Some(size)
    }
}

/// True if a part of a composed axis begins here.
fn begins_part(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Int | TokenKind::Name | TokenKind::Open)
}

fn is_arithmetic(kind: TokenKind) -> bool {
    use TokenKind::{Minus, Percent, Plus, Slash, SlashSlash, Star, StarStar};
    matches!(kind, Plus | Minus | Star | StarStar | Slash | SlashSlash | Percent)
}
