//! Scalars: what is computed at one point of a nest.

use broadloom_core::projection::Component;

use crate::program::{Cell, Index, Local};

/// A function of one number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Unary {
    Neg,
    Abs,
    Sign,
    Exp,
    Log,
    Log1p,
    Sqrt,
    Recip,
    Sin,
    Cos,
    Tanh,
    Sigmoid,
    Erf,
    Floor,
    Ceil,
    Round,
    Trunc,
    Not,
}

/// A function of two numbers. Comparisons and connectives give 0 or 1; anything but 0 is true.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Max,
    Min,
    /// The remainder with the sign of the divisor.
    Mod,
    Less,
    LessEq,
    Equal,
    NotEqual,
    And,
    Or,
}

/// What is computed at one point of a nest.
#[derive(Clone, PartialEq, Debug)]
pub enum Scalar {
    /// A number.
    Number(f64),
    /// The contents of a cell.
    Load(Cell),
    /// A local.
    Local(Local),
    /// A sum of loop variables, as a number.
    Position(Component),
    /// A number supplied to the run.
    Symbol(u32),
    /// A random number in `[0, 1)`: a function of a key supplied to the run, of a stream and of a position.
    Uniform {
        /// The symbol that holds the key.
        key: u32,
        /// Mixed into the key.
        stream: u64,
        /// The position.
        at: Component,
    },
    /// A function of one number.
    Unary(Unary, Box<Scalar>),
    /// A function of two.
    Binary(Binary, Box<Scalar>, Box<Scalar>),
    /// The second if the first is not 0, else the third.
    Select(Box<Scalar>, Box<Scalar>, Box<Scalar>),
}

impl Unary {
    /// Every function with its name.
    pub const ALL: [(Unary, &'static str); 18] = [
        (Unary::Neg, "neg"),
        (Unary::Abs, "abs"),
        (Unary::Sign, "sign"),
        (Unary::Exp, "exp"),
        (Unary::Log, "log"),
        (Unary::Log1p, "log1p"),
        (Unary::Sqrt, "sqrt"),
        (Unary::Recip, "recip"),
        (Unary::Sin, "sin"),
        (Unary::Cos, "cos"),
        (Unary::Tanh, "tanh"),
        (Unary::Sigmoid, "sigmoid"),
        (Unary::Erf, "erf"),
        (Unary::Floor, "floor"),
        (Unary::Ceil, "ceil"),
        (Unary::Round, "round"),
        (Unary::Trunc, "trunc"),
        (Unary::Not, "not"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Unary::ALL.iter().find(|(function, _)| *function == self).map_or("?", |(_, name)| name)
    }

    /// Its value.
    pub fn of(self, x: f64) -> f64 {
        match self {
            Unary::Neg => -x,
            Unary::Abs => x.abs(),
            Unary::Sign if x == 0.0 || x.is_nan() => x,
            Unary::Sign => x.signum(),
            Unary::Exp => x.exp(),
            Unary::Log => x.ln(),
            Unary::Log1p => x.ln_1p(),
            Unary::Sqrt => x.sqrt(),
            Unary::Recip => 1.0 / x,
            Unary::Sin => x.sin(),
            Unary::Cos => x.cos(),
            Unary::Tanh => x.tanh(),
            Unary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Unary::Erf => erf(x),
            Unary::Floor => x.floor(),
            Unary::Ceil => x.ceil(),
            Unary::Round => x.round_ties_even(),
            Unary::Trunc => x.trunc(),
            Unary::Not => f64::from(x == 0.0),
        }
    }
}

/// The remainder with the sign of the divisor: exact, however large the quotient is.
pub fn modulo(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
}

impl Binary {
    /// Every function with its sign or name.
    pub const ALL: [(Binary, &'static str); 14] = [
        (Binary::Add, "+"),
        (Binary::Sub, "-"),
        (Binary::Mul, "*"),
        (Binary::Div, "/"),
        (Binary::Pow, "**"),
        (Binary::Max, "max"),
        (Binary::Min, "min"),
        (Binary::Mod, "mod"),
        (Binary::Less, "<"),
        (Binary::LessEq, "<="),
        (Binary::Equal, "=="),
        (Binary::NotEqual, "!="),
        (Binary::And, "and"),
        (Binary::Or, "or"),
    ];

    /// Its sign or name.
    pub fn name(self) -> &'static str {
        Binary::ALL.iter().find(|(function, _)| *function == self).map_or("?", |(_, name)| name)
    }

    /// Its value.
    pub fn of(self, a: f64, b: f64) -> f64 {
        let truth = f64::from;
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::Pow => a.powf(b),
            // What is not a number stays so, and of two zeros it is the second, whatever their signs.
            Binary::Max => {
                if a > b || a.is_nan() {
                    a
                } else {
                    b
                }
            }
            Binary::Min => {
                if a < b || a.is_nan() {
                    a
                } else {
                    b
                }
            }
            Binary::Mod => modulo(a, b),
            Binary::Less => truth(a < b),
            Binary::LessEq => truth(a <= b),
            Binary::Equal => truth(a == b),
            Binary::NotEqual => truth(a != b),
            Binary::And => truth(a != 0.0 && b != 0.0),
            Binary::Or => truth(a != 0.0 || b != 0.0),
        }
    }

    /// What an accumulation starts from: combined with anything it changes nothing. None for functions
    /// that have no such number.
    pub fn neutral(self) -> Option<f64> {
        match self {
            Binary::Add | Binary::Sub | Binary::Or => Some(0.0),
            Binary::Mul | Binary::Div | Binary::Pow | Binary::And => Some(1.0),
            Binary::Max => Some(f64::NEG_INFINITY),
            Binary::Min => Some(f64::INFINITY),
            _ => None,
        }
    }

    /// Whether the values accumulated by it may come in any order, up to rounding.
    pub fn is_commutative(self) -> bool {
        matches!(self, Binary::Add | Binary::Mul | Binary::Max | Binary::Min | Binary::And | Binary::Or)
    }
}

impl Scalar {
    /// A function of one number.
    pub fn unary(function: Unary, a: Scalar) -> Scalar {
        Scalar::Unary(function, Box::new(a))
    }

    /// A function of two numbers.
    pub fn binary(function: Binary, a: Scalar, b: Scalar) -> Scalar {
        Scalar::Binary(function, Box::new(a), Box::new(b))
    }

    /// The scalars it is computed from.
    pub fn children(&self) -> impl Iterator<Item = &Scalar> {
        let children: [Option<&Scalar>; 3] = match self {
            Scalar::Unary(_, a) => [Some(a), None, None],
            Scalar::Binary(_, a, b) => [Some(a), Some(b), None],
            Scalar::Select(a, b, c) => [Some(a), Some(b), Some(c)],
            _ => [None; 3],
        };
        children.into_iter().flatten()
    }

    /// The scalars it is computed from, to be changed.
    pub fn children_mut(&mut self) -> impl Iterator<Item = &mut Scalar> {
        let children: [Option<&mut Scalar>; 3] = match self {
            Scalar::Unary(_, a) => [Some(a), None, None],
            Scalar::Binary(_, a, b) => [Some(a), Some(b), None],
            Scalar::Select(a, b, c) => [Some(a), Some(b), Some(c)],
            _ => [None, None, None],
        };
        children.into_iter().flatten()
    }

    /// Visits the scalar and all scalars inside it.
    pub fn each(&self, visit: &mut impl FnMut(&Scalar)) {
        visit(self);
        self.children().for_each(|child| child.each(visit));
    }

    /// The same function of other scalars, one for each child, or None if there is none for one of them. Nothing is copied
    /// that is replaced.
    pub fn with_children(&self, each: &mut dyn FnMut(&Scalar) -> Option<Scalar>) -> Option<Scalar> {
        let mut child = |child: &Scalar| each(child).map(Box::new);
        Some(match self {
            Scalar::Unary(function, a) => Scalar::Unary(*function, child(a)?),
            Scalar::Binary(function, a, b) => Scalar::Binary(*function, child(a)?, child(b)?),
            Scalar::Select(a, b, c) => Scalar::Select(child(a)?, child(b)?, child(c)?),
            leaf => leaf.clone(),
        })
    }

    /// Visits every cell that is read, those in indices included.
    pub fn each_load(&self, visit: &mut impl FnMut(&Cell)) {
        if let Scalar::Load(cell) = self {
            visit(cell);
            cell.each_index(&mut |index| {
                if let Index::Value(cell) = index {
                    visit(cell);
                }
            });
        }
        // A loop over a list, not recursion in a closure: the type of `visit` must not grow.
        for child in self.children() {
            child.each_load(visit);
        }
    }
}

/// The error function, to the precision of 64-bit floats: its series near 0, a continued fraction beyond.
fn erf(x: f64) -> f64 {
    let size = x.abs();
    if size > 6.0 || x.is_nan() {
        return if x.is_nan() { x } else { x.signum() };
    }
    if size < 3.0 {
        // erf x = 2/√π · e^(−x²) · Σ 2ⁿ x^(2n+1) / (1·3·…·(2n+1)): all terms have one sign.
        let (mut term, mut sum) = (size, size);
        for n in 1..120 {
            term *= 2.0 * size * size / f64::from(2 * n + 1);
            sum += term;
        }
        return x.signum() * sum * (-size * size).exp() * std::f64::consts::FRAC_2_SQRT_PI;
    }
    // erfc x = e^(−x²)/√π · 1/(x + (1/2)/(x + (2/2)/(x + …)))
    let fraction = (1..60).rev().fold(size, |rest, n| size + f64::from(n) / 2.0 / rest);
    x.signum() * (1.0 - (-size * size).exp() * std::f64::consts::FRAC_2_SQRT_PI / 2.0 / fraction)
}
