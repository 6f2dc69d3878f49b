//! The syntax tree of a test program.

/// A program after expansion: statements in an order in which they can be run.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub statements: Vec<Statement>,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The line on which it is written, counted from 1.
    pub line: usize,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub enum Kind {
    /// `x = data 3`, `w = param`, `c = constant 1`.
    Leaf(String, Leaf),
    /// `y = a + b`; several names for `split`.
    Let(Vec<String>, Expr),
    /// `set h of scores = 4`.
    Set(Captured, Expr),
    /// `equal h of a, d of b`.
    Equal(Captured, Captured),
    /// `scale big of a = 2 * small of b`.
    Scale(Captured, Expr, Captured),
    /// `square w`.
    Square(String),
    /// `dim batch in 1..64 sample 32`.
    Dim { name: String, range: (u64, Option<u64>), sample: Option<u64> },
    /// `dynamic n`.
    Dynamic(String),
    /// `size batch = 8`.
    Size(String, u64),
}

#[derive(Clone, Debug)]
pub enum Leaf {
    Data { shape: String, given: Given },
    Param { shape: Option<String> },
    Constant(f64),
}

/// Facts about the buffer of data.
#[derive(Clone, Debug)]
pub enum Given {
    Nothing,
    Axes(Vec<u64>),
    Count(u64),
}

/// `h of scores`: a label or row variable of the spec that made a tensor.
#[derive(Clone, Debug)]
pub struct Captured {
    pub label: String,
    pub tensor: String,
}

#[derive(Clone, Debug)]
pub enum Expr {
    Name(String),
    Number(f64),
    /// A function or an operator, by its written name.
    Call(String, Vec<Argument>),
}

#[derive(Clone, Debug)]
pub enum Argument {
    Value(Expr),
    /// A spec.
    Text(String),
    /// `range 5`.
    Range(Expr),
    /// `s=2`, `padding=valid`.
    Option(String, Expr),
}

/// `def name(parameters):`, the statements of its body, and its result.
#[derive(Clone, Debug)]
pub struct Function {
    pub line: usize,
    pub name: String,
    pub parameters: Vec<String>,
    pub body: Vec<Statement>,
    pub result: Expr,
}

impl Statement {
    /// The names that the statement defines.
    pub fn defines(&self) -> Vec<&str> {
        match &self.kind {
            Kind::Leaf(name, _) => vec![name],
            Kind::Let(names, _) => names.iter().map(String::as_str).collect(),
            Kind::Set(..) | Kind::Equal(..) | Kind::Scale(..) | Kind::Square(_) => Vec::new(),
            Kind::Dim { .. } | Kind::Dynamic(_) | Kind::Size(..) => Vec::new(),
        }
    }

    /// The names that the statement uses.
    pub fn uses(&self) -> Vec<&str> {
        match &self.kind {
            Kind::Leaf(..) | Kind::Dim { .. } | Kind::Dynamic(_) | Kind::Size(..) => Vec::new(),
            Kind::Let(_, value) => value.names(),
            Kind::Set(captured, _) => vec![&captured.tensor],
            Kind::Equal(a, b) | Kind::Scale(a, _, b) => vec![&a.tensor, &b.tensor],
            Kind::Square(name) => vec![name],
        }
    }
}

impl Expr {
    /// The names of tensors in an expression.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Expr::Name(name) => vec![name],
            Expr::Number(_) => Vec::new(),
            Expr::Call(_, arguments) => arguments.iter().flat_map(Argument::names).collect(),
        }
    }
}

impl Argument {
    fn names(&self) -> Vec<&str> {
        match self {
            Argument::Value(value) => value.names(),
            Argument::Text(_) | Argument::Range(_) | Argument::Option(..) => Vec::new(),
        }
    }
}
