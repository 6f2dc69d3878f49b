//! Sizes that need not have a number yet, as they are written: `batch`, `2 * y.h`, `batch / 8 - 1`.
//!
//! In arithmetic on tensors such a size becomes a tensor, in a declared shape a relation of sizes; both stay as they are
//! whatever the sizes of the program will be. Where a number is needed it is computed from numbers of its parts.

use std::rc::Rc;

use broadloom::{Captured, SizeSum};

use crate::position::whole;
use crate::syntax::ast::Binary;

/// How deeply arithmetic on sizes may nest; what is deeper becomes a tensor.
const DEEPEST: u32 = 50;

/// A size, or arithmetic on sizes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Size {
    /// A label of a spec or of a shape, or a named size.
    Captured(Captured),
    Number(f64),
    /// `+`, `-`, `*`, `/`, `%` or `**` of two others.
    Binary(Binary, Rc<Size>, Rc<Size>),
}

impl Size {
    /// Arithmetic on two sizes; nothing if it is no arithmetic, or too much of it.
    pub fn of(sign: Binary, a: Rc<Size>, b: Rc<Size>) -> Option<Size> {
        let signs = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Mod, Binary::Pow];
        let made = Size::Binary(sign, a, b);
        (signs.contains(&sign) && made.depth() <= DEEPEST).then_some(made)
    }

    /// The captured size that it is, without arithmetic.
    pub fn as_captured(&self) -> Option<Captured> {
        if let Size::Captured(captured) = self { Some(*captured) } else { None }
    }

    fn depth(&self) -> u32 {
        match self {
            Size::Captured(_) | Size::Number(_) => 0,
            Size::Binary(_, a, b) => 1 + a.depth().max(b.depth()),
        }
    }

    /// The captured sizes in it.
    pub fn captured(&self) -> Vec<Captured> {
        match self {
            Size::Captured(captured) => vec![*captured],
            Size::Number(_) => Vec::new(),
            Size::Binary(_, a, b) => [a.captured(), b.captured()].concat(),
        }
    }

    /// Its number, with numbers for the captured sizes in it.
    pub fn at(&self, of: &impl Fn(Captured) -> Option<u64>) -> Option<f64> {
        Some(match self {
            Size::Captured(captured) => of(*captured)? as f64,
            Size::Number(number) => *number,
            Size::Binary(sign, a, b) => crate::builtin::fold(*sign, a.at(of)?, b.at(of)?),
        })
    }

    /// The same as the graph can say of an axis, if it can: sums and products, divided by whole numbers.
    pub fn sum(&self) -> Option<SizeSum> {
        match self {
            Size::Captured(captured) => Some(SizeSum::from(*captured)),
            Size::Number(number) => Some(SizeSum::number(whole(*number)?)),
            Size::Binary(Binary::Add, a, b) => a.sum()?.plus(&b.sum()?),
            Size::Binary(Binary::Sub, a, b) => a.sum()?.minus(&b.sum()?),
            Size::Binary(Binary::Mul, a, b) => a.sum()?.times(&b.sum()?),
            Size::Binary(Binary::Div, a, b) => match **b {
                Size::Number(number) => a.sum()?.divided_by(u64::try_from(whole(number)?).ok()?),
                _ => None,
            },
            Size::Binary(..) => None,
        }
    }
}
