//! Scalars: the expressions that are computed at one point of a nest.

use crate::buffer::{Buffer, Cell, Index, Local, LoopSum};
use crate::function::{Binary, Unary, whole_number};

/// An expression that is computed at one point of a nest.
#[derive(Clone, PartialEq, Debug)]
pub enum Scalar {
    /// A number.
    Number(f64),
    /// The contents of a cell.
    Load(Cell),
    /// A local.
    Local(Local),
    /// A sum of loop variables, as a number.
    Position(LoopSum),
    /// A number supplied to the run.
    Symbol(u32),
    /// A random number in `[0, 1)`: a function of a key supplied to the run, of a stream and of a position.
    Uniform {
        /// The symbol that holds the key.
        key: u32,
        /// A number that is mixed into the key, so that streams differ.
        stream: u64,
        /// The position.
        at: LoopSum,
    },
    /// A function of one number.
    Unary(Unary, Box<Scalar>),
    /// A function of two.
    Binary(Binary, Box<Scalar>, Box<Scalar>),
    /// The second if the first is not 0, else the third.
    Select(Box<Scalar>, Box<Scalar>, Box<Scalar>),
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

    /// The same function of other scalars, one for each child, or None if `each` returns None for
    /// one of them. Children that are replaced are not copied.
    pub fn with_children(&self, each: &mut dyn FnMut(&Scalar) -> Option<Scalar>) -> Option<Scalar> {
        let mut child = |child: &Scalar| each(child).map(Box::new);
        Some(match self {
            Scalar::Unary(function, a) => Scalar::Unary(*function, child(a)?),
            Scalar::Binary(function, a, b) => Scalar::Binary(*function, child(a)?, child(b)?),
            Scalar::Select(a, b, c) => Scalar::Select(child(a)?, child(b)?, child(c)?),
            leaf => leaf.clone(),
        })
    }

    /// Returns a value if it is computed from integers alone, by functions whose values are integers: true if
    /// one of them is stored in a buffer.
    pub fn is_whole(&self, buffers: &[Buffer]) -> Option<bool> {
        match self {
            Scalar::Number(value) => whole_number(*value).map(|_| false),
            Scalar::Load(cell) => (!buffers[cell.buffer.index()].dtype.is_float()).then_some(true),
            Scalar::Position(_) | Scalar::Symbol(_) => Some(false),
            Scalar::Unary(function, a) => {
                function.of_whole(1)?;
                a.is_whole(buffers)
            }
            Scalar::Binary(function, a, b) => {
                function.of_whole(1, 1)?;
                Some(a.is_whole(buffers)? | b.is_whole(buffers)?)
            }
            Scalar::Select(_, a, b) => Some(a.is_whole(buffers)? | b.is_whole(buffers)?),
            Scalar::Local(_) | Scalar::Uniform { .. } => None,
        }
    }

    /// Returns true if it has a cast to 64-bit floats, which asks for their digits.
    pub fn has_wide_cast(&self) -> bool {
        let mut found = false;
        self.each(&mut |scalar| found |= matches!(scalar, Scalar::Unary(Unary::AsF64, _)));
        found
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
        // A plain loop, not `for_each` with a closure: the type of `visit` must not grow with the
        // recursion.
        for child in self.children() {
            child.each_load(visit);
        }
    }
}
