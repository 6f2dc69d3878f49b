//! Matrices of a batch, and what all functions of them are written with.
//!
//! The axes of a batch come first in every tensor here; then come rows and columns. A number of each matrix is a matrix of one element, and
//! meets others as in arithmetic of arrays: an axis of size 1 is as long as the other one. Elements are 64-bit floats, conditions, or
//! positions.

use crate::operation::Monoid;
use crate::tensor::{Element, Tensor};
use crate::write::Text;

/// The axis of a matrix along which its rows follow each other, and that of its columns.
pub(super) const ROWS: usize = 0;
pub(super) const COLUMNS: usize = 1;

/// A writer of operations on all matrices of a batch at once.
pub(super) struct Batch<'t> {
    pub text: &'t mut Text,
    /// The sizes of the axes that count matrices.
    pub sizes: Vec<u64>,
}

impl Batch<'_> {
    fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// The numbers of rows and of columns.
    pub fn size(&self, a: &Tensor) -> [u64; 2] {
        [a.sizes[self.rank()], a.sizes[self.rank() + 1]]
    }

    /// The sizes of a tensor of matrices.
    pub fn shape(&self, size: [u64; 2]) -> Vec<u64> {
        self.sizes.iter().copied().chain(size).collect()
    }

    /// A number in every element.
    pub fn splat(&mut self, value: f64, size: [u64; 2]) -> Tensor {
        let shape = self.shape(size);
        self.text.splat(value, &shape, Element::F64)
    }

    /// A number for each matrix.
    pub fn number(&mut self, value: f64) -> Tensor {
        self.splat(value, [1, 1])
    }

    /// The same elements in other rows and columns.
    pub fn reshape(&mut self, a: &Tensor, size: [u64; 2]) -> Tensor {
        let shape = self.shape(size);
        self.text.reshape(a, &shape)
    }

    /// A matrix with its axes of size 1 at other sizes.
    pub fn spread(&mut self, a: &Tensor, size: [u64; 2]) -> Tensor {
        let (shape, dims) = (self.shape(size), (0..a.rank()).collect::<Vec<_>>());
        self.text.broadcast(a, &shape, &dims)
    }

    /// Matrices with equal sizes.
    fn met<const N: usize>(&mut self, all: [&Tensor; N]) -> [Tensor; N] {
        let mut size = [1, 1];
        for each in all {
            for (size, own) in size.iter_mut().zip(self.size(each)) {
                *size = if *size == 1 { own } else { *size };
            }
        }
        all.map(|each| self.spread(each, size))
    }

    /// An operation on each element of two matrices.
    pub fn each(&mut self, op: &'static str, a: &Tensor, b: &Tensor) -> Tensor {
        let [a, b] = self.met([a, b]);
        self.text.each(op, &[&a, &b])
    }

    pub fn add(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.each("add", a, b)
    }

    pub fn sub(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.each("subtract", a, b)
    }

    pub fn mul(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.each("multiply", a, b)
    }

    pub fn div(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.each("divide", a, b)
    }

    pub fn and(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.each("and", a, b)
    }

    /// An operation on each element: `negate`, `abs`, `sqrt`.
    pub fn one(&mut self, op: &'static str, a: &Tensor) -> Tensor {
        self.text.each(op, &[a])
    }

    /// `value` times a matrix.
    pub fn scaled(&mut self, value: f64, a: &Tensor) -> Tensor {
        let value = self.number(value);
        self.mul(&value, a)
    }

    /// `√(a² + b²)`, without squares that are too large. It is not a number where both are 0.
    pub fn hypot(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        let (a, b) = (self.one("abs", a), self.one("abs", b));
        let (most, least) = (self.each("maximum", &a, &b), self.each("minimum", &a, &b));
        let ratio = self.div(&least, &most);
        let (square, one) = (self.mul(&ratio, &ratio), self.number(1.0));
        let sum = self.add(&one, &square);
        let root = self.one("sqrt", &sum);
        let (length, is_finite) = (self.mul(&most, &root), self.is("LT", &most, f64::INFINITY));
        self.select(&is_finite, &length, &most)
    }

    pub fn compare(&mut self, direction: &'static str, a: &Tensor, b: &Tensor) -> Tensor {
        let [a, b] = self.met([a, b]);
        self.text.compare(direction, &a, &b)
    }

    /// A comparison of all elements with a number.
    pub fn is(&mut self, direction: &'static str, a: &Tensor, value: f64) -> Tensor {
        let value = self.number(value);
        self.compare(direction, a, &value)
    }

    pub fn select(&mut self, condition: &Tensor, a: &Tensor, b: &Tensor) -> Tensor {
        let [condition, a, b] = self.met([condition, a, b]);
        self.text.select(&condition, &a, &b)
    }

    /// A matrix where a condition holds, and a number elsewhere.
    pub fn or_number(&mut self, condition: &Tensor, a: &Tensor, value: f64) -> Tensor {
        let value = self.number(value);
        self.select(condition, a, &value)
    }

    /// The positions along an axis of a matrix that has no other axis.
    fn positions(&mut self, axis: usize, count: u64) -> Tensor {
        let mut size = [1, 1];
        size[axis] = count;
        let shape = self.shape(size);
        self.text.iota(self.rank() + axis, &shape, Element::I32)
    }

    /// True where a position along an axis stands in a relation to the number of a turn, or to a position of each matrix.
    pub fn at(&mut self, direction: &'static str, axis: usize, count: u64, position: &Tensor) -> Tensor {
        let places = self.positions(axis, count);
        let position = match position.rank() {
            0 => {
                let shape = self.shape([1, 1]);
                self.text.broadcast(position, &shape, &[])
            }
            _ => position.clone(),
        };
        self.compare(direction, &places, &position)
    }

    /// True at the elements whose row stands in a relation to their column.
    pub fn triangle(&mut self, direction: &'static str, [m, n]: [u64; 2]) -> Tensor {
        let (row, column) = (self.positions(ROWS, m), self.positions(COLUMNS, n));
        self.compare(direction, &row, &column)
    }

    /// The elements whose row stands in a relation to their column, among zeros.
    pub fn kept(&mut self, direction: &'static str, a: &Tensor) -> Tensor {
        let inside = self.triangle(direction, self.size(a));
        self.or_number(&inside, a, 0.0)
    }

    pub fn identity(&mut self, size: [u64; 2]) -> Tensor {
        let (inside, one) = (self.triangle("EQ", size), self.number(1.0));
        self.or_number(&inside, &one, 0.0)
    }

    /// The elements at equal rows and columns, as a column.
    pub fn diagonal(&mut self, a: &Tensor) -> Tensor {
        let inside = self.kept("EQ", a);
        self.sum(&inside, &[COLUMNS])
    }

    /// The elements along some axes put together; the axes stay, with the size 1.
    pub fn reduce(&mut self, a: &Tensor, monoid: Monoid, axes: &[usize]) -> Tensor {
        let mut size = self.size(a);
        axes.iter().for_each(|axis| size[*axis] = 1);
        let axes: Vec<usize> = axes.iter().map(|axis| self.rank() + axis).collect();
        let made = self.text.reduce(a, monoid, &axes);
        self.reshape(&made, size)
    }

    pub fn sum(&mut self, a: &Tensor, axes: &[usize]) -> Tensor {
        self.reduce(a, Monoid::Add, axes)
    }

    /// The sum of all squares.
    pub fn squares(&mut self, a: &Tensor) -> Tensor {
        let squares = self.mul(a, a);
        self.sum(&squares, &[ROWS, COLUMNS])
    }

    /// True for the matrices all of whose elements satisfy a condition.
    pub fn all(&mut self, condition: &Tensor) -> Tensor {
        self.reduce(condition, Monoid::And, &[ROWS, COLUMNS])
    }

    /// True, once, if a condition holds for some matrix.
    pub fn some_matrix(&mut self, condition: &Tensor) -> Tensor {
        let axes: Vec<usize> = (0..condition.rank()).collect();
        self.text.reduce(condition, Monoid::Or, &axes)
    }

    pub fn is_finite(&mut self, a: &Tensor) -> Tensor {
        let size = self.one("abs", a);
        self.is("LT", &size, f64::INFINITY)
    }

    pub fn transposed(&mut self, a: &Tensor) -> Tensor {
        let r = self.rank();
        let order: Vec<usize> = (0..r).chain([r + 1, r]).collect();
        self.text.transpose(a, &order)
    }

    /// The symmetric part of a square matrix.
    pub fn symmetric(&mut self, a: &Tensor) -> Tensor {
        let other = self.transposed(a);
        let sum = self.add(a, &other);
        self.scaled(0.5, &sum)
    }

    fn contracted(&mut self, a: &Tensor, b: &Tensor, axes: (usize, usize)) -> Tensor {
        let batch: Vec<usize> = (0..self.rank()).collect();
        let (first, second) = ([self.rank() + axes.0], [self.rank() + axes.1]);
        self.text.dot_general((a, b), (&batch, &batch), (&first, &second), (Element::F64, Element::F64))
    }

    /// `a b`.
    pub fn product(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.contracted(a, b, (COLUMNS, ROWS))
    }

    /// `aᵀ b`.
    pub fn transposed_product(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.contracted(a, b, (ROWS, ROWS))
    }

    /// `a bᵀ`.
    pub fn product_transposed(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        self.contracted(a, b, (COLUMNS, COLUMNS))
    }

    /// The positions at which a part of a tensor begins: the same along all axes that are named, and 0 along others.
    fn starts(&mut self, axes: &[usize], at: &Tensor) -> Vec<Tensor> {
        let mut starts = vec![self.text.integers(0, &[], Element::I32); self.rank() + 2];
        axes.iter().for_each(|axis| starts[self.rank() + axis] = at.clone());
        starts
    }

    /// The row or the column that a turn takes; the element of both, if both axes are named.
    pub fn line(&mut self, a: &Tensor, axes: &[usize], at: &Tensor) -> Tensor {
        let mut size = self.size(a);
        axes.iter().for_each(|axis| size[*axis] = 1);
        let (starts, shape) = (self.starts(axes, at), self.shape(size));
        self.text.dynamic_slice(a, &starts, &shape)
    }

    /// A matrix with another row or column.
    pub fn with_line(&mut self, a: &Tensor, axis: usize, at: &Tensor, line: &Tensor) -> Tensor {
        let starts = self.starts(&[axis], at);
        self.text.dynamic_update_slice(a, line, &starts)
    }

    /// The sum of the lines along an axis for which a condition holds: the only one, exactly.
    pub fn chosen(&mut self, a: &Tensor, axis: usize, condition: &Tensor) -> Tensor {
        let inside = self.or_number(condition, a, 0.0);
        self.sum(&inside, &[axis])
    }

    /// A stretch of the rows or the columns.
    pub fn stretch(&mut self, a: &Tensor, axis: usize, start: u64, end: u64) -> Tensor {
        let at = self.rank() + axis;
        let span = |(each, size): (usize, &u64)| if each == at { (start, end, 1) } else { (0, *size, 1) };
        let spans: Vec<_> = a.sizes.iter().enumerate().map(span).collect();
        self.text.slice(a, &spans)
    }

    /// Matrices one after another along an axis.
    pub fn joined(&mut self, parts: &[&Tensor], axis: usize) -> Tensor {
        let at = self.rank() + axis;
        let mut kept: Vec<Tensor> =
            parts.iter().filter(|part| part.sizes[at] > 0).copied().cloned().collect();
        if kept.is_empty() {
            kept.extend(parts.first().copied().cloned());
        }
        self.text.concatenate(&kept, at)
    }

    /// The first of the places along an axis at which a condition holds: one that holds there alone.
    pub fn first(&mut self, condition: &Tensor, axis: usize) -> Tensor {
        let count = self.size(condition)[axis];
        let places = self.positions(axis, count);
        let shape = self.shape([1, 1]);
        let none = self.text.integers(count as i64, &shape, Element::I32);
        let places = self.select(condition, &places, &none);
        let first = self.reduce(&places, Monoid::Min, &[axis]);
        self.at("EQ", axis, count, &first)
    }

    /// The first of the greatest numbers along an axis: a condition that holds for it alone. Numbers are not NaN.
    pub fn greatest(&mut self, keys: &Tensor, axis: usize) -> Tensor {
        let most = self.reduce(keys, Monoid::Max, &[axis]);
        let equal = self.compare("EQ", keys, &most);
        self.first(&equal, axis)
    }

    /// A loop of so many turns over the values that it begins with. `turn` is given the number of a turn, from 0 or from the last on, and
    /// what the turn before left.
    pub fn turns<const N: usize>(
        &mut self,
        (count, backwards): (u64, bool),
        firsts: [Tensor; N],
        turn: impl FnOnce(&mut Self, &Tensor, [Tensor; N]) -> [Tensor; N],
    ) -> [Tensor; N] {
        if count == 0 {
            return firsts;
        }
        let zero = self.text.integers(0, &[], Element::I32);
        self.repeat(count, &zero, firsts, |batch, done, found| {
            let (last, one) = (
                batch.text.integers(count as i64 - 1, &[], Element::I32),
                batch.text.integers(1, &[], Element::I32),
            );
            let at = if backwards { batch.text.each("subtract", &[&last, done]) } else { done.clone() };
            let left = turn(batch, &at, found);
            (batch.text.each("add", &[done, &one]), left)
        })
    }

    /// A loop that ends when its count, which each turn sets, is not below a number.
    pub fn repeat<const N: usize>(
        &mut self,
        below: u64,
        count: &Tensor,
        firsts: [Tensor; N],
        turn: impl FnOnce(&mut Self, &Tensor, [Tensor; N]) -> (Tensor, [Tensor; N]),
    ) -> [Tensor; N] {
        let all: Vec<Tensor> = [count.clone()].into_iter().chain(firsts).collect();
        let mut opened = self.text.open_while(&all, below as i64).into_iter();
        let mut next = || opened.next().expect("a loop has as many values inside as it begins with");
        let count = next();
        let found = std::array::from_fn(|_| next());
        let (count, left) = turn(self, &count, found);
        let all: Vec<Tensor> = [count].into_iter().chain(left).collect();
        let mut results = self.text.close_while(&all).into_iter().skip(1);
        std::array::from_fn(|_| results.next().expect("a loop leaves as many values as its last turn"))
    }
}
