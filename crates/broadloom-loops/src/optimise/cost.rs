//! The cost of scalars, and the test for contractions.

use std::ops::AddAssign;

use crate::buffer::{Cell, Index, LoopVar};
use crate::function::{Binary, Unary};
use crate::program::{Nest, Statement};
use crate::scalar::Scalar;

/// The work of computing a scalar.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cost {
    /// Cells that are read, those in indices included.
    pub loads: u32,
    /// Operations, with expensive ones counted several times.
    pub work: u32,
}

impl Cost {
    /// The cost of a scalar.
    pub fn of(scalar: &Scalar) -> Cost {
        let mut cost = Cost::default();
        cost.add(scalar);
        cost
    }

    fn add(&mut self, scalar: &Scalar) {
        *self += Cost::without_children(scalar);
        scalar.children().for_each(|child| self.add(child));
    }

    /// The cost of a scalar whose children are already computed.
    pub fn without_children(scalar: &Scalar) -> Cost {
        let (loads, work) = match scalar {
            Scalar::Load(cell) => (loads(cell), 0),
            Scalar::Uniform { .. } => (0, 20),
            Scalar::Unary(function, _) => (0, function.work()),
            Scalar::Binary(function, ..) => (0, function.work()),
            Scalar::Select(..) => (0, 1),
            Scalar::Number(_) | Scalar::Local(_) | Scalar::Position(_) | Scalar::Symbol(_) => (0, 0),
        };
        Cost { loads, work }
    }

    /// Loads and operations together.
    pub fn total(self) -> u32 {
        self.loads + self.work
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.loads += other.loads;
        self.work += other.work;
    }
}

fn loads(cell: &Cell) -> u32 {
    let inner = cell.index.iter().map(|index| if let Index::Value(cell) = index { loads(cell) } else { 0 });
    1 + inner.sum::<u32>()
}

/// Returns true if a nest sums products of two loads, each with loops that the other lacks. Such
/// nests go to a kernel for matrices, which expects them in this plain form.
pub fn is_contraction(nest: &Nest) -> bool {
    let mut body = &nest.body;
    while let [Statement::Loop(each)] = body.as_slice() {
        body = &each.body;
    }
    // The sum is accumulated either in the cell itself or in a local that is stored at the end.
    let value = match body.as_slice() {
        [Statement::Store { accumulate: Some(Binary::Add | Binary::Sub), value, .. }] => value,
        [Statement::Declare { .. }, Statement::Loop(each), Statement::Store { .. }] => {
            let mut inner = &each.body;
            while let [Statement::Loop(each)] = inner.as_slice() {
                inner = &each.body;
            }
            match inner.as_slice() {
                [Statement::Update { accumulate: Some(Binary::Add | Binary::Sub), value, .. }] => value,
                _ => return false,
            }
        }
        _ => return false,
    };
    let mut factors = Vec::new();
    if !product(value, &mut factors) {
        return false;
    }
    let [a, b] = factors[..] else { return false };
    let lacks = |a: &Cell, b: &Cell| vars(a).iter().any(|var| !b.mentions(*var));
    lacks(a, b) && lacks(b, a)
}

/// Collects the loads of a product of loads and numbers. Returns false if the scalar is anything
/// else.
fn product<'a>(scalar: &'a Scalar, factors: &mut Vec<&'a Cell>) -> bool {
    match scalar {
        Scalar::Number(_) => true,
        Scalar::Load(cell) => {
            factors.push(cell);
            true
        }
        Scalar::Unary(Unary::Neg, a) => product(a, factors),
        Scalar::Binary(Binary::Mul, a, b) => product(a, factors) && product(b, factors),
        _ => false,
    }
}

fn vars(cell: &Cell) -> Vec<LoopVar> {
    let mut vars = Vec::new();
    cell.each_index(&mut |index| {
        if let Index::At(sum) = index {
            vars.extend(sum.terms.iter().map(|(_, var)| *var));
        }
    });
    vars
}
