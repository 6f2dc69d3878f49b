//! The syntax tree of a `.loom` file.
//!
//! Expressions live in one arena and refer to each other by id: a tree is dropped without
//! recursion, an expression is identified by a small number, and evaluation can keep a value for
//! each. Every node has its span.
//!
//! ```text
//! File       statements, in order
//! Statement  one line, or a line and the block below it
//! Expr       names, numbers, texts, calls, operators, `{parameters}`
//! Shape      batch | input -> output
//! ```

use std::ops::Range;
use std::sync::Arc;

use broadloom_diagnostics::Span;

/// A name, interned: see [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Name(pub(crate) u32);

/// The names of all files of a program, each kept once.
#[derive(Clone, Default, Debug)]
pub struct Names {
    texts: Vec<Arc<str>>,
    by_text: rustc_hash::FxHashMap<Arc<str>, Name>,
}

impl Names {
    /// Interns a text: equal texts give equal names.
    pub fn intern(&mut self, text: &str) -> Name {
        if let Some(name) = self.by_text.get(text) {
            return *name;
        }
        let name = Name(self.texts.len() as u32);
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.by_text.insert(text, name);
        name
    }

    /// The name with this text, if it occurs anywhere.
    pub fn find(&self, text: &str) -> Option<Name> {
        self.by_text.get(text).copied()
    }

    /// The text of a name.
    pub fn text(&self, name: Name) -> &str {
        self.texts.get(name.0 as usize).map_or("?", |text| text)
    }
}

/// A name where it is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ident {
    /// The name.
    pub name: Name,
    /// The span of this occurrence.
    pub span: Span,
}

/// An expression of a [`File`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExprId(pub(crate) u32);

/// The syntax tree of a file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Its statements.
    pub statements: Vec<Statement>,
    /// Its expressions.
    pub(crate) exprs: Vec<Expr>,
    /// Its parameters and their spans, in the order of their starts.
    pub(crate) params: Vec<(Span, Ident)>,
    /// The expressions that are filled into printed texts, by the text, in order.
    pub(crate) filled: Vec<(ExprId, Vec<FilledIn>)>,
    /// The spans of its comments, in order, each from `#` on.
    pub comments: Vec<Span>,
    /// Names that mistaken lines would have defined: their uses are not reported.
    pub(crate) mistaken: Vec<Name>,
    /// The statements at which reading can begin, in order.
    pub(crate) marks: Vec<Mark>,
}

/// A statement outside of blocks before which there are no mistakes: what stands before it decides nothing about how it is read. The
/// numbers are the lengths of the lists of the file before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// The offset of its first word.
    pub start: u32,
    pub statements: usize,
    pub exprs: usize,
    pub params: usize,
    pub filled: usize,
}

/// Braces in a printed text.
#[derive(Clone, Debug)]
pub(crate) struct FilledIn {
    /// The place of what stands in them, in bytes from the start of the text.
    pub within: Range<usize>,
    /// The expression in them; nothing if it is none.
    pub value: Option<ExprId>,
}

impl FilledIn {
    /// The place of both braces and what stands in them.
    pub fn whole(&self) -> Range<usize> {
        self.within.start - 1..self.within.end + 1
    }
}

impl File {
    /// The expression with an id.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// The names of the parameters that are written within a span.
    pub(crate) fn params_within(&self, span: Span) -> impl Iterator<Item = Ident> + '_ {
        let first = self.params.partition_point(|(place, _)| place.start < span.start);
        let from_there = self.params[first..].iter().take_while(move |(place, _)| place.start <= span.end);
        from_there.filter(move |(place, _)| place.end <= span.end).map(|(_, name)| *name)
    }

    /// The expressions that are filled into a printed text, in order.
    pub(crate) fn filled_in(&self, text: ExprId) -> Option<&[FilledIn]> {
        let found = self.filled.binary_search_by_key(&text.0, |(text, _)| text.0).ok()?;
        Some(&self.filled[found].1)
    }

    /// The expressions within a span of whole statements, with their ids. Statements are read in order: the expressions of one
    /// stand together.
    pub fn exprs_within(&self, span: Span) -> impl Iterator<Item = (ExprId, &Expr)> + Clone {
        let first = self.exprs.partition_point(|expr| expr.span.start < span.start);
        let count = self.exprs[first..].partition_point(|expr| expr.span.start <= span.end);
        let here = (first as u32..).map(ExprId).zip(&self.exprs[first..first + count]);
        here.filter(move |(_, expr)| span.contains(expr.span))
    }

    /// The part before a statement, and the offset at which reading goes on behind it; None if reading cannot begin there.
    pub(crate) fn before(&self, statement: usize) -> Option<(File, u32)> {
        let at = self.marks.binary_search_by_key(&statement, |mark| mark.statements).ok()?;
        let mark = self.marks[at];
        let comments = self.comments.partition_point(|comment| comment.start < mark.start);
        let file = File {
            statements: self.statements[..mark.statements].to_vec(),
            exprs: self.exprs[..mark.exprs].to_vec(),
            params: self.params[..mark.params].to_vec(),
            filled: self.filled[..mark.filled].to_vec(),
            comments: self.comments[..comments].to_vec(),
            mistaken: Vec::new(),
            marks: self.marks[..at].to_vec(),
        };
        Some((file, mark.start))
    }

    /// The number of expressions.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// Returns true if there are no expressions.
    pub fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }
}

/// A statement with its span: from its first word to its last, its block included.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The statement itself.
    pub kind: StatementKind,
    /// The span, its block included.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `import "layers.loom" as layers`
    Import {
        /// The path, relative to the file.
        path: Quoted,
        /// The name of the module here; the name of the file if it is left out.
        alias: Option<Ident>,
    },
    /// `dim hidden = 64`, `dim batch in 1..64 = 32`, `dim seq in 1..`
    Dim {
        /// Its name.
        name: Ident,
        /// Its least and its greatest value, if there is a greatest.
        range: Option<(ExprId, Option<ExprId>)>,
        /// Its value; with a range, the default.
        value: Option<ExprId>,
    },
    /// `data x : 32 | 784 as f32 = load("x.npy")`, `state mean : 64`
    Leaf {
        /// Data or a state.
        kind: LeafKind,
        /// Its name.
        name: Ident,
        /// Its shape; inferred if it is left out.
        shape: Option<Shape>,
        /// The type of its numbers.
        precision: Option<Ident>,
        /// Its first values.
        value: Option<ExprId>,
    },
    /// `let y = w @ x`, `let y : 32 | 10 = w @ x`, `let a, b = split("a^b => a; b", x)`
    Let {
        /// The names, one or several.
        names: Vec<Ident>,
        /// The declared shape, if any; only for a single name.
        shape: Option<Shape>,
        /// The value.
        value: ExprId,
    },
    /// `def layer(hidden)(x) = relu({w} @ x + {b : hidden})`
    Def(Arc<Def>),
    /// `if deep:` and a block, `else if wide:`, `else:`. The first way whose condition is not 0 is taken when the program is built.
    If(Vec<Branch>),
    /// `op huber(a, b):` and assignments to `v`, `g1`, …
    Op {
        /// Its name.
        name: Ident,
        /// Its operands.
        operands: Vec<Ident>,
        /// Its assignments, as they are written.
        lines: Vec<Span>,
    },
    /// `set scores.h = 8`
    Set {
        /// The captured size.
        target: ExprId,
        /// The size that it is set to.
        value: ExprId,
    },
    /// `for p in params(loss):`, unrolled when the program is built
    For {
        /// The variable.
        name: Ident,
        /// The list of its values.
        list: ExprId,
        /// The block.
        body: Vec<Statement>,
    },
    /// `repeat 500:`, `repeat step in 0..500:`, when the program runs
    Repeat {
        /// The number of the repetition.
        name: Option<Ident>,
        /// The number of repetitions, or their range.
        count: ExprId,
        /// The block.
        body: Vec<Statement>,
    },
    /// `backward loss`
    Backward(ExprId),
    /// `minimise loss by sgd(0.1)`, `minimise loss of net by sgd(0.1) every 4`
    Minimise {
        /// The loss: one number.
        loss: ExprId,
        /// The layers or parameters to change; all parameters
        /// that the loss depends on if it is left out.
        of: Option<ExprId>,
        /// The rule that is applied to each parameter.
        rule: ExprId,
        /// The number of repetitions whose gradients are averaged before it is applied.
        every: Option<ExprId>,
    },
    /// `print "loss", loss every 100`
    Print {
        /// Texts and values.
        parts: Vec<ExprId>,
        /// The number of repetitions from one line to the next.
        every: Option<ExprId>,
    },
    /// `save y to "y.npy"`
    Save {
        /// The value to save.
        value: ExprId,
        /// The file.
        path: Quoted,
    },
    /// `w =- rate * w.grad`
    Assign(Box<Assign>),
    /// An expression by itself: the value of a block, or a call made for its effect.
    Expr(ExprId),
}

/// A leaf that a statement declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeafKind {
    /// Numbers from outside.
    Data,
    /// Numbers that assignments keep from run to run.
    State,
}

/// A text in quotes.
#[derive(Clone, PartialEq, Debug)]
pub struct Quoted {
    /// The text between the quotes.
    pub text: Box<str>,
    /// The span, quotes included.
    pub span: Span,
}

/// A function. Applying its configuration makes its parameters; applying it to tensors uses them.
#[derive(Clone, Debug)]
pub struct Def {
    /// Its name.
    pub name: Ident,
    /// The first of two lists, which configures the function and makes its parameters.
    pub config: Option<Vec<Argument>>,
    /// The last list: the arguments that it is applied to.
    pub arguments: Vec<Argument>,
    /// The shape of its result, if one is stated.
    pub result: Option<ResultShape>,
    /// The value, or a block whose last line is the value.
    pub body: Body,
}

/// The shape that a function states for its result.
#[derive(Clone, Debug)]
pub enum ResultShape {
    /// `..b.. | 10`: a tensor.
    Tensor(Shape),
    /// `[..b.. | n; ..b.. | m]`: several, in a list.
    List(Vec<ResultShape>, Span),
}

impl ResultShape {
    /// The span, brackets included.
    pub fn span(&self) -> Option<Span> {
        match self {
            ResultShape::Tensor(shape) => shape.span,
            ResultShape::List(_, span) => Some(*span),
        }
    }

    /// The shapes of its tensors, in order.
    pub fn shapes(&self) -> Vec<&Shape> {
        match self {
            ResultShape::Tensor(shape) => vec![shape],
            ResultShape::List(items, _) => items.iter().flat_map(ResultShape::shapes).collect(),
        }
    }
}

/// A way of an `if`.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Its condition; none behind `else`.
    pub condition: Option<ExprId>,
    /// Its block.
    pub body: Vec<Statement>,
    /// The span of its first line, from `if` or `else` on.
    pub head: Span,
}

impl StatementKind {
    /// The blocks of a loop or a choice. (That of a function is not among them: it is carried out elsewhere.)
    pub fn blocks(&self) -> impl Iterator<Item = &[Statement]> {
        let (body, branches): (Option<&[Statement]>, &[Branch]) = match self {
            StatementKind::For { body, .. } | StatementKind::Repeat { body, .. } => (Some(body), &[]),
            StatementKind::If(branches) => (None, branches),
            _ => (None, &[]),
        };
        body.into_iter().chain(branches.iter().map(|branch| &branch.body[..]))
    }
}

/// A formal argument, perhaps with a shape or a default: `x : ..b.. | n`, `rate = 0.1`.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name.
    pub name: Ident,
    /// The shape that it has to have, if one is stated.
    pub shape: Option<Shape>,
    /// Its default value.
    pub default: Option<ExprId>,
}

/// The body of a function.
#[derive(Clone, Debug)]
pub enum Body {
    /// `= expression`
    Expr(ExprId),
    /// `=` and an indented block
    Block(Vec<Statement>),
}

/// An assignment in the producer regime.
#[derive(Clone, Debug)]
pub struct Assign {
    /// The target of the assignment.
    pub target: Target,
    /// The sign: `=`, `=+`, `=:+`, …
    pub sign: Quoted,
    /// The value.
    pub value: ExprId,
    /// The logic: `by "i j => j"`.
    pub logic: Option<Quoted>,
}

/// The target of an assignment.
#[derive(Clone, Debug)]
pub enum Target {
    /// An existing tensor.
    Expr(ExprId),
    /// `{momentum}`: a new tensor.
    New(Ident),
}

/// An expression with its span.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The expression itself.
    pub kind: ExprKind,
    /// The span.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `x`
    Name(Name),
    /// `0.1`
    Number(f64),
    /// `"i j => j i"`
    Text(Box<str>),
    /// `[1, 2, 3]`
    List(Vec<ExprId>),
    /// `[block(8) for i in 0..6]`
    Each {
        /// The expression that is evaluated for each item.
        item: ExprId,
        /// The variable.
        name: Ident,
        /// The list of its values.
        list: ExprId,
    },
    /// `0..10`
    Range(ExprId, ExprId),
    /// `{w}`, `{b : hidden = zeros}`
    Param(Box<Param>),
    /// `-x`, `not x`
    Unary(Unary, ExprId),
    /// `a + b`
    Binary(Binary, ExprId, ExprId),
    /// `f(x, rate = 0.1)`
    Call {
        /// The function.
        callee: ExprId,
        /// The arguments.
        args: Vec<Arg>,
    },
    /// `scores.d`, `w.grad`, `layers.dense`
    Field(ExprId, Ident),
    /// `x[3]`
    Index(ExprId, ExprId),
    /// `if causal then a else b`, decided when the program is built
    If {
        /// The condition.
        condition: ExprId,
        /// The value if the condition holds.
        yes: ExprId,
        /// The value otherwise.
        no: ExprId,
    },
    /// Something that could not be parsed; it has been reported.
    Missing,
}

impl ExprKind {
    /// Visits the expressions directly inside of it, in the order of the text. Shapes and texts are not looked into.
    pub fn each_operand(&self, visit: &mut impl FnMut(ExprId)) {
        match self {
            ExprKind::Name(_) | ExprKind::Number(_) | ExprKind::Text(_) | ExprKind::Missing => {}
            ExprKind::List(items) => items.iter().copied().for_each(visit),
            ExprKind::Each { item, list, .. } => [*item, *list].into_iter().for_each(visit),
            ExprKind::Range(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) => {
                [*a, *b].into_iter().for_each(visit);
            }
            ExprKind::Param(param) => param.initial.into_iter().for_each(visit),
            ExprKind::Unary(_, inner) | ExprKind::Field(inner, _) => visit(*inner),
            ExprKind::Call { callee, args } => {
                visit(*callee);
                args.iter().map(|arg| arg.value).for_each(visit);
            }
            ExprKind::If { condition, yes, no } => [*condition, *yes, *no].into_iter().for_each(visit),
        }
    }
}

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Its name, if it is given by name.
    pub name: Option<Ident>,
    /// Its value.
    pub value: ExprId,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// Its declared shape.
    pub shape: Option<Shape>,
    /// The type of its numbers.
    pub precision: Option<Ident>,
    /// Its initial values, before training.
    pub initial: Option<ExprId>,
}

/// Operators before an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unary {
    /// `-x`
    Minus,
    /// `not x`
    Not,
}

/// Operators between expressions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "`sign` says it")]
pub enum Binary {
    Pipe,
    Or,
    And,
    Less,
    LessEq,
    Greater,
    GreaterEq,
    Equal,
    NotEqual,
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Compose,
    Pow,
}

impl Binary {
    /// The sign or word for the operator.
    pub fn sign(self) -> &'static str {
        match self {
            Binary::Pipe => "|>",
            Binary::Or => "or",
            Binary::And => "and",
            Binary::Less => "<",
            Binary::LessEq => "<=",
            Binary::Greater => ">",
            Binary::GreaterEq => ">=",
            Binary::Equal => "==",
            Binary::NotEqual => "!=",
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::FloorDiv => "//",
            Binary::Mod => "%",
            Binary::Compose => "@",
            Binary::Pow => "**",
        }
    }

    /// The strength with which it binds. All but `**`
    /// group from the left; comparisons do not chain.
    pub fn strength(self) -> u8 {
        match self {
            Binary::Pipe => 1,
            Binary::Or => 2,
            Binary::And => 3,
            Binary::Less | Binary::LessEq | Binary::Greater | Binary::GreaterEq => 5,
            Binary::Equal | Binary::NotEqual => 5,
            Binary::Add | Binary::Sub => 6,
            Binary::Mul | Binary::Div | Binary::FloorDiv | Binary::Mod | Binary::Compose => 7,
            Binary::Pow => 9,
        }
    }
}

/// The strength with which `not` binds.
pub const NOT_STRENGTH: u8 = 4;
/// The strength with which a minus sign binds: `-x ** 2` is `-(x ** 2)`.
pub const MINUS_STRENGTH: u8 = 8;

/// A declared shape: `batch | input -> output`.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// The axes before `|`, if that is written.
    pub batch: Option<Vec<Axis>>,
    /// The axes before `->`, if that is written.
    pub input: Option<Vec<Axis>>,
    /// The other axes.
    pub output: Vec<Axis>,
    /// The span.
    pub span: Option<Span>,
}

/// An axis of a declared shape.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The axis itself.
    pub kind: AxisKind,
    /// The basis that it counts: `3:rgb`.
    pub basis: Option<Ident>,
    /// The span.
    pub span: Span,
}

/// The kinds of axes in a declared shape.
#[derive(Clone, Debug)]
pub enum AxisKind {
    /// `28`
    Size(u64),
    /// `hidden`: a number known by this name, otherwise a size to be inferred.
    Name(Name),
    /// `(4 * hidden)`
    Expr(ExprId),
    /// `_`: a size to be inferred
    Any,
    /// `...`: any number of axes
    Rest,
    /// `..r..`: any number of axes, the same wherever `r` is written in this shape
    Row(Name),
}

#[cfg(test)]
mod tests {
    use broadloom_diagnostics::SourceId;

    use super::*;
    use crate::syntax::parse;

    /// Compares the expressions within each statement with those that a search of all finds.
    fn compare(file: &File, statements: &[Statement]) {
        for statement in statements {
            let all = file.exprs.iter().filter(|expr| statement.span.contains(expr.span));
            let found = file.exprs_within(statement.span).map(|(_, expr)| expr);
            assert!(all.map(|expr| expr.span).eq(found.map(|expr| expr.span)), "{:?}", statement.span);
            if let StatementKind::Def(def) = &statement.kind
                && let Body::Block(body) = &def.body
            {
                compare(file, body);
            }
            statement.kind.blocks().for_each(|body| compare(file, body));
        }
    }

    #[test]
    fn expressions_of_a_statement_stand_together() {
        let library = crate::eval::library::library();
        for (_, source) in library.sources.iter() {
            let text = source.text();
            // Whole, broken off, and with a mistake in the middle.
            for at in (0..text.len()).step_by(503).map(|at| text.floor_char_boundary(at)) {
                let broken = format!("{})(\n{}", &text[..at], &text[at..]);
                for text in [&text[..at], &broken] {
                    let parsed = parse(SourceId(0), text, &mut Names::default());
                    compare(&parsed.file, &parsed.file.statements);
                }
            }
        }
    }
}
