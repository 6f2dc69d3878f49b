//! Sizes that need not have a number yet: `batch`, `2 * y.h`, `batch / 8 - 1`.
//!
//! Arithmetic on sizes is a [`SizeSum`], the expression that the graph uses too. Arithmetic that is
//! not such an expression (`h % 2`, `2 ** h`, `0.5 * h`) stays as it was written. In arithmetic on
//! tensors a size becomes a tensor, and in a declared shape a relation of sizes: both hold for any
//! sizes of the program. Where a number is needed, it is computed from the numbers of its parts.

use std::rc::Rc;

use broadloom::{Captured, SizeSum};

use crate::position::whole;
use crate::syntax::ast::Binary;

/// The greatest depth of arithmetic that is not a sum
/// of products. Deeper arithmetic becomes a tensor.
const DEEPEST: u32 = 50;
/// The largest number of products in a sum. Arithmetic with more of them stays as it was written.
const MOST_TERMS: usize = 64;

/// A size, or arithmetic on sizes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Size {
    /// Sums of products of labels and named sizes, divided by a whole number.
    Sum(Box<SizeSum>),
    /// A number that is not whole, or very large.
    Number(f64),
    /// `+`, `-`, `*`, `/`, `%` or `**` of two others, where the result is not a sum.
    Binary(Binary, Rc<Size>, Rc<Size>),
}

impl From<Captured> for Size {
    fn from(captured: Captured) -> Size {
        Size::Sum(Box::new(SizeSum::from(captured)))
    }
}

impl From<f64> for Size {
    fn from(number: f64) -> Size {
        match whole(number) {
            Some(number) => Size::Sum(Box::new(SizeSum::constant(number.into()))),
            None => Size::Number(number),
        }
    }
}

impl Size {
    /// Applies an operator to two sizes. Returns `None` if it is not arithmetic, or if the result
    /// is nested too deeply.
    pub fn of(sign: Binary, a: &Rc<Size>, b: &Rc<Size>) -> Option<Size> {
        if !is_arithmetic(sign) {
            return None;
        }
        if let (Size::Sum(x), Size::Sum(y)) = (&**a, &**b)
            && let Some(sum) = combined(sign, x, y).filter(|sum| sum.terms().count() <= MOST_TERMS)
        {
            return Some(Size::Sum(Box::new(sum)));
        }
        let made = Size::Binary(sign, Rc::clone(a), Rc::clone(b));
        (made.depth() <= DEEPEST).then_some(made)
    }

    /// The captured size that this is, if there is no arithmetic in it.
    pub fn as_captured(&self) -> Option<Captured> {
        self.sum()?.as_symbol()
    }

    fn depth(&self) -> u32 {
        match self {
            Size::Sum(_) | Size::Number(_) => 0,
            Size::Binary(_, a, b) => 1 + a.depth().max(b.depth()),
        }
    }

    /// The captured sizes in it.
    pub fn captured(&self) -> Vec<Captured> {
        match self {
            Size::Sum(sum) => sum.symbols(),
            Size::Number(_) => Vec::new(),
            Size::Binary(_, a, b) => [a.captured(), b.captured()].concat(),
        }
    }

    /// Computes its number from numbers for the captured sizes in it.
    pub fn at(&self, of: &impl Fn(Captured) -> Option<u64>) -> Option<f64> {
        Some(match self {
            Size::Sum(sum) => {
                let (numerator, denominator) = sum.value(of)?;
                numerator as f64 / denominator as f64
            }
            Size::Number(number) => *number,
            Size::Binary(sign, a, b) => crate::arithmetic::fold(*sign, a.at(of)?, b.at(of)?),
        })
    }

    /// The expression that the graph uses for an axis, if this is one.
    pub fn sum(&self) -> Option<&SizeSum> {
        if let Size::Sum(sum) = self { Some(&**sum) } else { None }
    }
}

/// Returns true if an operator on sizes gives a size.
pub(crate) fn is_arithmetic(sign: Binary) -> bool {
    use Binary::{Add, Div, FloorDiv, Mod, Mul, Pow, Sub};
    [Add, Sub, Mul, Div, FloorDiv, Mod, Pow].contains(&sign)
}

/// Applies an operator to two sums, if the result is a sum: only a number can be divided by.
fn combined(sign: Binary, a: &SizeSum, b: &SizeSum) -> Option<SizeSum> {
    match sign {
        Binary::Add => a.plus(b),
        Binary::Sub => a.minus(b),
        Binary::Mul => a.times(b),
        Binary::Div => {
            let (numerator, denominator) = b.as_constant()?;
            a.scaled(denominator, numerator)
        }
        _ => None,
    }
}
