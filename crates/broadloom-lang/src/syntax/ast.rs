//! The syntax tree of a `.loom` file.
//!
//! Expressions live in one arena and refer to each other by id: a tree is dropped without recursion, an expression
//! is identified by a small number, and evaluation can remember what it made of each. Every node has its span.
//!
//! ```text
//! File       statements, in order
//! Statement  one line, or a line and the block below it
//! Expr       names, numbers, texts, calls, operators, `{parameters}`
//! Shape      batch | input -> output
//! ```

use broadloom_diagnostics::Span;

/// A name, interned: see [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Name(pub(crate) u32);

/// The names of all files of a program, each kept once.
#[derive(Default, Debug)]
pub struct Names {
    texts: Vec<Box<str>>,
    by_text: rustc_hash::FxHashMap<Box<str>, Name>,
}

impl Names {
    /// The name with this text.
    pub fn intern(&mut self, text: &str) -> Name {
        if let Some(name) = self.by_text.get(text) {
            return *name;
        }
        let name = Name(self.texts.len() as u32);
        self.texts.push(text.into());
        self.by_text.insert(text.into(), name);
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
    /// Where it is.
    pub span: Span,
}

/// An expression of a [`File`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExprId(pub(crate) u32);

/// What a file says.
#[derive(Debug, Default)]
pub struct File {
    /// Its statements.
    pub statements: Vec<Statement>,
    /// Its expressions.
    pub(crate) exprs: Vec<Expr>,
    /// Its parameters and where they are written, by their starts.
    pub(crate) params: Vec<(Span, Ident)>,
    /// What is written behind `#`, in order.
    pub comments: Vec<Span>,
    /// Names that lines with a mistake would have defined: nothing is said about their uses.
    pub(crate) mistaken: Vec<Name>,
}

impl File {
    /// An expression.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// The names of the parameters that are written within a span.
    pub(crate) fn params_within(&self, span: Span) -> impl Iterator<Item = Ident> + '_ {
        let first = self.params.partition_point(|(place, _)| place.start < span.start);
        let from_there = self.params[first..].iter().take_while(move |(place, _)| place.start <= span.end);
        from_there.filter(move |(place, _)| place.end <= span.end).map(|(_, name)| *name)
    }

    /// How many expressions there are.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }
}

/// A statement and where it is: from its first word to its last, its block included.
#[derive(Debug)]
pub struct Statement {
    /// What it says.
    pub kind: StatementKind,
    /// Where it is.
    pub span: Span,
}

/// What a statement says.
#[derive(Debug)]
pub enum StatementKind {
    /// `import "layers.loom" as layers`
    Import {
        /// The path, relative to the file.
        path: Quoted,
        /// What it is called here; the name of the file if nothing is said.
        alias: Option<Ident>,
    },
    /// `dim hidden = 64`, `dim batch in 1..64 = 32`, `dim seq in 1..`
    Dim {
        /// Its name.
        name: Ident,
        /// Its least and its greatest value, if there is a greatest.
        range: Option<(ExprId, Option<ExprId>)>,
        /// Its value; with a range, the one that is used if nothing else is asked for.
        value: Option<ExprId>,
    },
    /// `data x : 32 | 784 as f32 = load("x.npy")`, `state mean : 64`
    Leaf {
        /// Whether it is data or a state.
        kind: LeafKind,
        /// Its name.
        name: Ident,
        /// Its shape; inferred if nothing is said.
        shape: Option<Shape>,
        /// What its numbers are.
        precision: Option<Ident>,
        /// Its first values.
        value: Option<ExprId>,
    },
    /// `let y = w @ x`, `let y : 32 | 10 = w @ x`, `let a, b = split("a^b => a; b", x)`
    Let {
        /// The names, one or several.
        names: Vec<Ident>,
        /// The shape of what has one name, if it is said.
        shape: Option<Shape>,
        /// The value.
        value: ExprId,
    },
    /// `def layer(hidden)(x) = relu({w} @ x + {b : hidden})`
    Def(std::rc::Rc<Def>),
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
        /// What it is equal to.
        value: ExprId,
    },
    /// `for p in params(loss):`, once for each when the program is built
    For {
        /// The variable.
        name: Ident,
        /// What it stands for in turn.
        list: ExprId,
        /// The block.
        body: Vec<Statement>,
    },
    /// `repeat 500:`, `repeat step in 0..500:`, when the program runs
    Repeat {
        /// The number of the repetition.
        name: Option<Ident>,
        /// How often, or from where to where.
        count: ExprId,
        /// The block.
        body: Vec<Statement>,
    },
    /// `backward loss`
    Backward(ExprId),
    /// `minimise loss by sgd(0.1)`, `minimise loss of net by sgd(0.1)`
    Minimise {
        /// What is minimised: one number.
        loss: ExprId,
        /// What made the parameters that are changed; without it, all parameters are.
        of: Option<ExprId>,
        /// What is done to each parameter.
        rule: ExprId,
    },
    /// `print "loss", loss every 100`
    Print {
        /// Texts and values.
        parts: Vec<ExprId>,
        /// In which repetitions.
        every: Option<ExprId>,
    },
    /// `save y to "y.npy"`
    Save {
        /// What is saved.
        value: ExprId,
        /// Where to.
        path: Quoted,
    },
    /// `w =- rate * w.grad`
    Assign(Box<Assign>),
    /// An expression by itself: the value of a block, or a call for what it does.
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
    /// What is between the quotes.
    pub text: Box<str>,
    /// Where it is, quotes included.
    pub span: Span,
}

/// A function. Applying its configuration makes its parameters; applying it to tensors uses them.
#[derive(Debug)]
pub struct Def {
    /// Its name.
    pub name: Ident,
    /// The first of two lists: what makes the parameters.
    pub config: Option<Vec<Argument>>,
    /// The last list: what it is applied to.
    pub arguments: Vec<Argument>,
    /// The value, or a block whose last line is the value.
    pub body: Body,
}

/// A formal argument, perhaps with a default: `rate = 0.1`.
#[derive(Debug)]
pub struct Argument {
    /// Its name.
    pub name: Ident,
    /// What it is if nothing is given.
    pub default: Option<ExprId>,
}

/// What a function does.
#[derive(Debug)]
pub enum Body {
    /// `= expression`
    Expr(ExprId),
    /// `=` and an indented block
    Block(Vec<Statement>),
}

/// An assignment in the producer regime.
#[derive(Debug)]
pub struct Assign {
    /// What is assigned to.
    pub target: Target,
    /// How: `=`, `=+`, `=:+`, …
    pub sign: Quoted,
    /// The value.
    pub value: ExprId,
    /// The logic: `by "i j => j"`.
    pub logic: Option<Quoted>,
}

/// What is assigned to.
#[derive(Debug)]
pub enum Target {
    /// A tensor that is there.
    Expr(ExprId),
    /// `{momentum}`: a new one.
    New(Ident),
}

/// An expression and where it is.
#[derive(Debug)]
pub struct Expr {
    /// What it says.
    pub kind: ExprKind,
    /// Where it is.
    pub span: Span,
}

/// What an expression says.
#[derive(Debug)]
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
        /// Evaluated for each.
        item: ExprId,
        /// The variable.
        name: Ident,
        /// What it stands for in turn.
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
        /// What is called.
        callee: ExprId,
        /// With what.
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
        /// What it is if the condition holds.
        yes: ExprId,
        /// What it is otherwise.
        no: ExprId,
    },
    /// Something that could not be read; it has been reported.
    Missing,
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
#[derive(Debug)]
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// What is stated of its shape.
    pub shape: Option<Shape>,
    /// What its numbers are.
    pub precision: Option<Ident>,
    /// What it holds before it is trained.
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
    Mod,
    Compose,
    Pow,
}

impl Binary {
    /// How it is written.
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
            Binary::Mod => "%",
            Binary::Compose => "@",
            Binary::Pow => "**",
        }
    }

    /// The operation of the library that it is, unless it is `@` or `|>`.
    pub fn operation(self) -> &'static str {
        if self == Binary::Mod { "mod" } else { self.sign() }
    }

    /// How tightly it binds. All but `**` group from the left; comparisons do not chain.
    pub fn strength(self) -> u8 {
        match self {
            Binary::Pipe => 1,
            Binary::Or => 2,
            Binary::And => 3,
            Binary::Less | Binary::LessEq | Binary::Greater | Binary::GreaterEq => 5,
            Binary::Equal | Binary::NotEqual => 5,
            Binary::Add | Binary::Sub => 6,
            Binary::Mul | Binary::Div | Binary::Mod | Binary::Compose => 7,
            Binary::Pow => 9,
        }
    }
}

/// How tightly `not` binds.
pub const NOT_STRENGTH: u8 = 4;
/// How tightly a minus sign binds: `-x ** 2` is `-(x ** 2)`.
pub const MINUS_STRENGTH: u8 = 8;

/// A declared shape: `batch | input -> output`.
#[derive(Debug, Default)]
pub struct Shape {
    /// Before `|`, if that is written.
    pub batch: Option<Vec<Axis>>,
    /// Before `->`, if that is written.
    pub input: Option<Vec<Axis>>,
    /// The rest.
    pub output: Vec<Axis>,
    /// Where it is.
    pub span: Option<Span>,
}

/// An axis of a declared shape.
#[derive(Debug)]
pub struct Axis {
    /// What it says.
    pub kind: AxisKind,
    /// What it counts: `3:rgb`.
    pub basis: Option<Ident>,
    /// Where it is.
    pub span: Span,
}

/// What an axis of a declared shape says.
#[derive(Debug)]
pub enum AxisKind {
    /// `28`
    Size(u64),
    /// `hidden`: a number that is known under this name, otherwise a size to be inferred.
    Name(Name),
    /// `(4 * hidden)`
    Expr(ExprId),
    /// `_`: a size to be inferred
    Any,
    /// `...`: any number of axes
    Rest,
    /// `..r..`: any number of axes, the same wherever it is in this shape
    Row(Name),
}
