//! Comparison of two files, independent of their layout.

use super::ast::{
    Arg, Argument, Assign, Axis, AxisKind, Body, Def, ExprId, ExprKind, File, Ident, ResultShape, Shape,
    Statement, StatementKind, Target,
};
use super::words::words;

/// Returns true if two files are the same program: equal except for
/// positions, comments, and the notation of numbers. Both must use one
/// table of names. The texts are those from which the files were parsed.
pub fn same(text: &str, file: &File, other_text: &str, other: &File) -> bool {
    let pair = Pair { texts: [text, other_text], files: [file, other] };
    pair.blocks(&file.statements, &other.statements)
}

struct Pair<'a> {
    texts: [&'a str; 2],
    files: [&'a File; 2],
}

impl Pair<'_> {
    fn blocks(&self, a: &[Statement], b: &[Statement]) -> bool {
        each(a, b, |a, b| self.statement(&a.kind, &b.kind))
    }

    fn statement(&self, a: &StatementKind, b: &StatementKind) -> bool {
        use StatementKind::{Assign, Backward, Def, Expr, Minimise, Op, Print, Save, Set};
        match (a, b) {
            (Def(a), Def(b)) => self.def(a, b),
            (Op { name: n, operands: o, lines: a }, Op { name: m, operands: p, lines: b }) => {
                let line = |line: &broadloom_diagnostics::Span, text: usize| {
                    let text = line.slice(self.texts[text]);
                    words(text)
                        .into_iter()
                        .map(|token| (token.kind, token.span.slice(text)))
                        .collect::<Vec<_>>()
                };
                n.name == m.name && idents(o, p) && each(a, b, |a, b| line(a, 0) == line(b, 1))
            }
            (Set { target: s, value: a }, Set { target: t, value: b }) => {
                self.expr(*s, *t) && self.expr(*a, *b)
            }
            (Backward(a), Backward(b)) | (Expr(a), Expr(b)) => self.expr(*a, *b),
            (
                Minimise { loss: l, of: o, rule: a, every: e },
                Minimise { loss: m, of: p, rule: b, every: f },
            ) => self.expr(*l, *m) && self.maybe(*o, *p) && self.expr(*a, *b) && self.maybe(*e, *f),
            (Print { parts: p, every: a }, Print { parts: q, every: b }) => {
                each(p, q, |a, b| self.expr(*a, *b)) && self.maybe(*a, *b)
            }
            (Save { value: a, path: p }, Save { value: b, path: q }) => p.text == q.text && self.expr(*a, *b),
            (Assign(a), Assign(b)) => self.assign(a, b),
            _ => self.declaration(a, b),
        }
    }

    fn declaration(&self, a: &StatementKind, b: &StatementKind) -> bool {
        use StatementKind::{Dim, For, If, Import, Leaf, Let, Repeat};
        match (a, b) {
            (Import { path: p, alias: a }, Import { path: q, alias: b }) => p.text == q.text && ident(*a, *b),
            (Dim { name: n, range: r, value: a }, Dim { name: m, range: s, value: b }) => {
                let [low, high] = [r.map(|range| range.0), r.and_then(|range| range.1)];
                let [other_low, other_high] = [s.map(|range| range.0), s.and_then(|range| range.1)];
                n.name == m.name
                    && self.maybe(low, other_low)
                    && self.maybe(high, other_high)
                    && self.maybe(*a, *b)
            }
            (
                Leaf { kind: k, name: n, shape: s, precision: p, value: a },
                Leaf { kind: l, name: m, shape: t, precision: q, value: b },
            ) => k == l && n.name == m.name && self.shapes(s, t) && ident(*p, *q) && self.maybe(*a, *b),
            (Let { names: n, shape: s, value: a }, Let { names: m, shape: t, value: b }) => {
                idents(n, m) && self.shapes(s, t) && self.expr(*a, *b)
            }
            (For { name: n, list: l, body: a }, For { name: m, list: k, body: b }) => {
                n.name == m.name && self.expr(*l, *k) && self.blocks(a, b)
            }
            (Repeat { name: n, count: l, body: a }, Repeat { name: m, count: k, body: b }) => {
                ident(*n, *m) && self.expr(*l, *k) && self.blocks(a, b)
            }
            (If(a), If(b)) => {
                each(a, b, |a, b| self.maybe(a.condition, b.condition) && self.blocks(&a.body, &b.body))
            }
            _ => false,
        }
    }

    fn def(&self, a: &Def, b: &Def) -> bool {
        let argument = |a: &Argument, b: &Argument| {
            let same = a.name.name == b.name.name && self.shapes(&a.shape, &b.shape);
            same && self.maybe(a.default, b.default)
        };
        let config = match (&a.config, &b.config) {
            (Some(a), Some(b)) => each(a, b, argument),
            (a, b) => a.is_none() && b.is_none(),
        };
        let body = match (&a.body, &b.body) {
            (Body::Expr(a), Body::Expr(b)) => self.expr(*a, *b),
            (Body::Block(a), Body::Block(b)) => self.blocks(a, b),
            _ => false,
        };
        a.name.name == b.name.name
            && config
            && each(&a.arguments, &b.arguments, argument)
            && self.results(a.result.as_ref(), b.result.as_ref())
            && body
    }

    fn results(&self, a: Option<&ResultShape>, b: Option<&ResultShape>) -> bool {
        match (a, b) {
            (Some(ResultShape::Tensor(a)), Some(ResultShape::Tensor(b))) => self.shape(a, b),
            (Some(ResultShape::List(a, _)), Some(ResultShape::List(b, _))) => {
                each(a, b, |a, b| self.results(Some(a), Some(b)))
            }
            (a, b) => a.is_none() && b.is_none(),
        }
    }

    fn assign(&self, a: &Assign, b: &Assign) -> bool {
        let target = match (&a.target, &b.target) {
            (Target::Expr(a), Target::Expr(b)) => self.expr(*a, *b),
            (Target::New(a), Target::New(b)) => a.name == b.name,
            _ => false,
        };
        let logic = |assign: &Assign| assign.logic.as_ref().map(|logic| logic.text.clone());
        target && a.sign.text == b.sign.text && self.expr(a.value, b.value) && logic(a) == logic(b)
    }

    fn maybe(&self, a: Option<ExprId>, b: Option<ExprId>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => self.expr(a, b),
            _ => a.is_none() && b.is_none(),
        }
    }

    /// Compares expressions without recursion into operands, which may be deep.
    fn expr(&self, a: ExprId, b: ExprId) -> bool {
        let mut pairs = vec![(a, b)];
        while let Some((a, b)) = pairs.pop() {
            let (a, b) = (&self.files[0].expr(a).kind, &self.files[1].expr(b).kind);
            if !self.heads(a, b, &mut pairs) {
                return false;
            }
        }
        true
    }

    /// Compares two expressions without their parts, and adds those to the pairs still to compare.
    fn heads(&self, a: &ExprKind, b: &ExprKind, pairs: &mut Vec<(ExprId, ExprId)>) -> bool {
        use ExprKind::{
            Binary, Call, Each, Field, If, Index, List, Missing, Name, Number, Param, Range, Text, Unary,
        };
        match (a, b) {
            (Missing, Missing) => true,
            (Name(a), Name(b)) => a == b,
            (Number(a), Number(b)) => a.to_bits() == b.to_bits(),
            (Text(a), Text(b)) => a == b,
            (List(a), List(b)) => {
                pairs.extend(a.iter().copied().zip(b.iter().copied()));
                a.len() == b.len()
            }
            (Each { item: i, name: n, list: l }, Each { item: j, name: m, list: k }) => {
                pairs.extend([(*i, *j), (*l, *k)]);
                n.name == m.name
            }
            (Param(a), Param(b)) => {
                a.name.name == b.name.name
                    && self.shapes(&a.shape, &b.shape)
                    && ident(a.precision, b.precision)
                    && self.maybe(a.initial, b.initial)
            }
            (Unary(s, a), Unary(t, b)) => {
                pairs.push((*a, *b));
                s == t
            }
            (Binary(s, a, c), Binary(t, b, d)) => {
                pairs.extend([(*a, *b), (*c, *d)]);
                s == t
            }
            (Call { callee: f, args: a }, Call { callee: g, args: b }) => {
                pairs.push((*f, *g));
                pairs.extend(a.iter().zip(b).map(|(a, b)| (a.value, b.value)));
                each(a, b, |a: &Arg, b: &Arg| ident(a.name, b.name))
            }
            (Field(a, f), Field(b, g)) => {
                pairs.push((*a, *b));
                f.name == g.name
            }
            (Range(a, c), Range(b, d)) | (Index(a, c), Index(b, d)) => {
                pairs.extend([(*a, *b), (*c, *d)]);
                true
            }
            (If { condition: c, yes: y, no: n }, If { condition: d, yes: z, no: m }) => {
                pairs.extend([(*c, *d), (*y, *z), (*n, *m)]);
                true
            }
            _ => false,
        }
    }

    fn shapes(&self, a: &Option<Shape>, b: &Option<Shape>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => self.shape(a, b),
            _ => a.is_none() && b.is_none(),
        }
    }

    fn shape(&self, a: &Shape, b: &Shape) -> bool {
        let row = |a: &[Axis], b: &[Axis]| each(a, b, |a, b| self.axis(a, b));
        let maybe = |a: &Option<Vec<Axis>>, b: &Option<Vec<Axis>>| match (a, b) {
            (Some(a), Some(b)) => row(a, b),
            _ => a.is_none() && b.is_none(),
        };
        maybe(&a.batch, &b.batch) && maybe(&a.input, &b.input) && row(&a.output, &b.output)
    }

    fn axis(&self, a: &Axis, b: &Axis) -> bool {
        use AxisKind::{Any, Expr, Name, Rest, Row, Size};
        let kinds = match (&a.kind, &b.kind) {
            (Size(a), Size(b)) => a == b,
            (Name(a), Name(b)) | (Row(a), Row(b)) => a == b,
            (Expr(a), Expr(b)) => self.expr(*a, *b),
            (Any, Any) | (Rest, Rest) => true,
            _ => false,
        };
        kinds && ident(a.basis, b.basis)
    }
}

fn each<T>(a: &[T], b: &[T], is_same: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
}

fn ident(a: Option<Ident>, b: Option<Ident>) -> bool {
    a.map(|a| a.name) == b.map(|b| b.name)
}

fn idents(a: &[Ident], b: &[Ident]) -> bool {
    each(a, b, |a, b| a.name == b.name)
}
