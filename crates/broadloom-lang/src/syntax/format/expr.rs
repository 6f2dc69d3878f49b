//! Expressions, with only the parentheses they need.
//!
//! A tree may be as deep on its left as a text is long: `a + b + c + …`, `f(x)(y)…`, `a.b.c…`. So
//! the left side is walked without recursion; the right operands and the insides of brackets are
//! only as deep as the parser allows.

use super::super::ast::{Arg, Binary, ExprId, ExprKind, MINUS_STRENGTH, NOT_STRENGTH, Param, Unary};
use super::Formatter;
use super::layout::{Gap, LayoutItem};

/// The least strength in a place where any expression may be.
pub(super) const ANY: u8 = 0;
/// The least strength in a place where a choice or a range needs parentheses.
pub(super) const OPERATORS: u8 = 1;
/// The least strength in a place where every operator needs parentheses.
const POSTFIX: u8 = 10;

/// An expression on the way down the left side.
struct Step {
    id: ExprId,
    /// True if it needs parentheses.
    parens: bool,
    /// True if its operator is in one chain with the one above: `a + b` in `a + b - c`.
    chained: bool,
}

impl<'a> Formatter<'a> {
    /// Writes an expression in a place where operators that bind less strongly need parentheses.
    pub(super) fn expr(&mut self, id: ExprId, least: u8) {
        let steps = self.way_down(id, least);
        self.work += steps.len();
        for step in &steps {
            if step.parens {
                self.line.word("(");
            }
            if matches!(self.kind(step.id), ExprKind::Binary(..)) && !step.chained {
                self.line.push([LayoutItem::Open]);
            }
        }
        let mut above_chain = false;
        for step in steps.iter().rev() {
            self.finish(step, above_chain);
            above_chain = step.chained;
        }
    }

    fn kind(&self, id: ExprId) -> &'a ExprKind {
        &self.file.expr(id).kind
    }

    fn way_down(&self, id: ExprId, least: u8) -> Vec<Step> {
        let (mut next, mut least, mut above) = (Some(id), least, None);
        let mut steps = Vec::new();
        while let Some(id) = next {
            let kind = self.kind(id);
            let parens = strength(kind) < least;
            let binary = if let ExprKind::Binary(binary, ..) = kind { Some(*binary) } else { None };
            let chained = !parens && binary.is_some() && binary.map(Binary::strength) == above;
            steps.push(Step { id, parens, chained });
            next = match kind {
                ExprKind::Binary(_, left, _) => Some(*left),
                ExprKind::Call { callee, .. } => Some(*callee),
                ExprKind::Field(left, _) | ExprKind::Index(left, _) => Some(*left),
                _ => None,
            };
            above = binary.map(Binary::strength);
            least = binary.map_or(POSTFIX, left_strength);
        }
        steps
    }

    /// Writes the rest of an expression after its left side. `in_chain` is true if the operator on
    /// the left is in the same chain.
    fn finish(&mut self, step: &Step, in_chain: bool) {
        match self.kind(step.id) {
            ExprKind::Binary(binary, _, right) => {
                if !in_chain {
                    self.line.push([LayoutItem::In]);
                }
                self.line.push([
                    LayoutItem::Break(Gap::Space),
                    LayoutItem::Word(binary.sign()),
                    LayoutItem::Space,
                ]);
                self.right(*binary, *right);
                if !step.chained {
                    self.line.push([LayoutItem::Out, LayoutItem::Close]);
                }
            }
            ExprKind::Call { args, .. } => self.bracketed("(", args, ")", Self::arg),
            ExprKind::Field(_, field) => {
                self.line.push([LayoutItem::Word("."), LayoutItem::Word(self.names.text(field.name))]);
            }
            ExprKind::Index(_, index) => {
                self.line.push([
                    LayoutItem::Open,
                    LayoutItem::Word("["),
                    LayoutItem::In,
                    LayoutItem::Break(Gap::Nothing),
                ]);
                self.expr(*index, ANY);
                self.line.push([
                    LayoutItem::Out,
                    LayoutItem::Break(Gap::Closing),
                    LayoutItem::Word("]"),
                    LayoutItem::Close,
                ]);
            }
            other => self.leaf(step.id, other),
        }
        if step.parens {
            self.line.word(")");
        }
    }

    /// Writes the right operand. A minus sign there needs no parentheses: `a ** -b`.
    fn right(&mut self, binary: Binary, right: ExprId) {
        let is_minus = matches!(self.kind(right), ExprKind::Unary(Unary::Minus, _));
        let least = if is_minus { MINUS_STRENGTH } else { right_strength(binary) };
        self.expr(right, least);
    }

    /// Writes an expression that has no left side.
    fn leaf(&mut self, id: ExprId, kind: &'a ExprKind) {
        match kind {
            ExprKind::Name(name) => self.line.word(self.names.text(*name)),
            ExprKind::Number(_) | ExprKind::Text(_) => self.line.word(self.literal(self.file.expr(id).span)),
            ExprKind::List(items) => {
                self.bracketed("[", items, "]", |formatter, item| formatter.expr(*item, ANY))
            }
            ExprKind::Each { item, name, list } => self.each(*item, self.names.text(name.name), *list),
            ExprKind::Range(low, high) => self.range(*low, *high),
            ExprKind::Param(param) => self.param(param),
            ExprKind::Unary(Unary::Minus, inner) => {
                self.line.word("-");
                self.expr(*inner, MINUS_STRENGTH);
            }
            ExprKind::Unary(Unary::Not, inner) => {
                self.line.push([LayoutItem::Word("not"), LayoutItem::Space]);
                self.expr(*inner, NOT_STRENGTH);
            }
            ExprKind::If { condition, yes, no } => self.choice(*condition, *yes, *no),
            // Such mistakes have been reported, and files with mistakes are not formatted.
            _ => {}
        }
    }

    fn arg(&mut self, arg: &'a Arg) {
        if let Some(name) = arg.name {
            self.line.push([
                LayoutItem::Word(self.names.text(name.name)),
                LayoutItem::Space,
                LayoutItem::Word("="),
                LayoutItem::Space,
            ]);
        }
        self.expr(arg.value, ANY);
    }

    fn each(&mut self, item: ExprId, name: &'a str, list: ExprId) {
        self.line.push([
            LayoutItem::Open,
            LayoutItem::Word("["),
            LayoutItem::In,
            LayoutItem::Break(Gap::Nothing),
        ]);
        self.expr(item, ANY);
        self.line.push([LayoutItem::Break(Gap::Space), LayoutItem::Word("for")]);
        self.line.spaced(name);
        self.line.spaced("in");
        self.line.push([LayoutItem::Space]);
        self.expr(list, ANY);
        self.line.push([
            LayoutItem::Out,
            LayoutItem::Break(Gap::Closing),
            LayoutItem::Word("]"),
            LayoutItem::Close,
        ]);
    }

    fn choice(&mut self, condition: ExprId, yes: ExprId, no: ExprId) {
        self.line.push([LayoutItem::Open, LayoutItem::Word("if"), LayoutItem::Space]);
        self.expr(condition, ANY);
        self.line.push([
            LayoutItem::In,
            LayoutItem::Break(Gap::Space),
            LayoutItem::Word("then"),
            LayoutItem::Space,
        ]);
        self.expr(yes, ANY);
        self.line.push([LayoutItem::Break(Gap::Space), LayoutItem::Word("else"), LayoutItem::Space]);
        self.expr(no, ANY);
        self.line.push([LayoutItem::Out, LayoutItem::Close]);
    }

    fn param(&mut self, param: &'a Param) {
        self.line.push([LayoutItem::Word("{"), LayoutItem::Word(self.names.text(param.name.name))]);
        self.declared(param.shape.as_ref(), param.precision, param.initial);
        self.line.word("}");
    }

    /// Writes items in brackets, one on each line if they do not fit on one.
    pub(super) fn bracketed<T>(
        &mut self,
        open: &'a str,
        items: &'a [T],
        close: &'a str,
        write: impl Fn(&mut Self, &'a T),
    ) {
        if items.is_empty() {
            return self.line.push([LayoutItem::Word(open), LayoutItem::Word(close)]);
        }
        self.line.push([
            LayoutItem::Open,
            LayoutItem::Word(open),
            LayoutItem::In,
            LayoutItem::Break(Gap::Nothing),
        ]);
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.line.push([LayoutItem::Word(","), LayoutItem::Break(Gap::Space)]);
            }
            write(self, item);
        }
        self.line.push([
            LayoutItem::LastComma,
            LayoutItem::Out,
            LayoutItem::Break(Gap::Closing),
            LayoutItem::Word(close),
            LayoutItem::Close,
        ]);
    }

    /// Returns true if an expression is written with an operator that has spaces around it.
    pub(super) fn has_operator(&self, id: ExprId) -> bool {
        matches!(self.kind(id), ExprKind::Binary(..) | ExprKind::Unary(Unary::Not, _))
    }
}

/// The strength with which an expression binds.
fn strength(kind: &ExprKind) -> u8 {
    match kind {
        ExprKind::If { .. } | ExprKind::Range(..) => ANY,
        ExprKind::Binary(binary, ..) => binary.strength(),
        ExprKind::Unary(Unary::Not, _) => NOT_STRENGTH,
        ExprKind::Unary(Unary::Minus, _) => MINUS_STRENGTH,
        _ => POSTFIX,
    }
}

/// The least strength of a left operand without parentheses. Powers group from the right, and
/// comparisons do not chain.
fn left_strength(binary: Binary) -> u8 {
    let strength = binary.strength();
    match binary {
        Binary::Pow => POSTFIX,
        _ if strength == Binary::Less.strength() => strength + 1,
        _ => strength,
    }
}

fn right_strength(binary: Binary) -> u8 {
    if binary == Binary::Pow { binary.strength() } else { binary.strength() + 1 }
}
