//! Rotations of Jacobi: eigenvalues and singular values, with their vectors.
//!
//! A turn rotates as many pairs of columns as there are, each column being in one of them: that of the first half, and that at the same place
//! of the second. Afterwards columns move on by one place around the first one, as players of a tournament do, so that all pairs meet in one
//! sweep, and all columns are back at its end. A matrix with an odd number of columns has one more, of zeros, which is never rotated.

use super::batch::{Batch, COLUMNS, ROWS};
use crate::operation::Monoid;
use crate::tensor::{Element, Tensor};

/// Sweeps at most; matrices take about ten.
const MOST_SWEEPS: u64 = 64;

/// Cosine and sine of the rotations of a turn.
struct Rotation {
    cosine: Tensor,
    sine: Tensor,
}

impl Batch<'_> {
    /// The rotations that make pairs of columns orthogonal, from their squared lengths and their products, where a condition holds.
    fn rotation(&mut self, [first, second, product]: [&Tensor; 3], turns: &Tensor) -> Rotation {
        let (one, distance) = (self.number(1.0), self.sub(second, first));
        let twice = self.scaled(2.0, product);
        let ratio = self.div(&distance, &twice);
        let (is_zero, is_negative) = (self.is("EQ", &ratio, 0.0), self.is("LT", &ratio, 0.0));
        // A zero has the sign of the product.
        let is_opposite = self.is("LT", product, 0.0);
        let is_negative = self.select(&is_zero, &is_opposite, &is_negative);
        let (size, reach) = (self.one("abs", &ratio), self.hypot(&ratio, &one));
        let sum = self.add(&size, &reach);
        let (tangent, minus) = (self.div(&one, &sum), self.number(-1.0));
        let sign = self.select(&is_negative, &minus, &one);
        let tangent = self.mul(&sign, &tangent);
        let length = self.hypot(&tangent, &one);
        let cosine = self.div(&one, &length);
        let sine = self.mul(&cosine, &tangent);
        Rotation { cosine: self.or_number(turns, &cosine, 1.0), sine: self.or_number(turns, &sine, 0.0) }
    }

    /// The two halves of the rows or of the columns.
    fn halves(&mut self, a: &Tensor, axis: usize) -> [Tensor; 2] {
        let count = self.size(a)[axis];
        [self.stretch(a, axis, 0, count / 2), self.stretch(a, axis, count / 2, count)]
    }

    /// A matrix whose halves are rotated. Cosine and sine are a row for columns, and a column for rows.
    fn rotated(&mut self, a: &Tensor, axis: usize, Rotation { cosine, sine }: &Rotation) -> Tensor {
        let [first, second] = self.halves(a, axis);
        let (x, y) = (self.mul(cosine, &first), self.mul(sine, &second));
        let one = self.sub(&x, &y);
        let (x, y) = (self.mul(sine, &first), self.mul(cosine, &second));
        let other = self.add(&x, &y);
        self.joined(&[&one, &other], axis)
    }

    /// A matrix whose rows or columns have moved on to the next place of the tournament.
    fn moved_on(&mut self, a: &Tensor, axis: usize) -> Tensor {
        let count = self.size(a)[axis];
        let half = count / 2;
        if half < 2 {
            return a.clone();
        }
        let order = [(0, 1), (half, half + 1), (1, half - 1), (half + 1, count), (half - 1, half)];
        let parts = order.map(|(start, end)| self.stretch(a, axis, start, end));
        self.joined(&parts.each_ref(), axis)
    }

    /// A matrix with zeros behind it, up to a size.
    fn padded(&mut self, a: &Tensor, [m, n]: [u64; 2]) -> Tensor {
        let [rows, columns] = self.size(a);
        let mut pads = vec![(0, 0); self.sizes.len()];
        pads.extend([(0, m - rows), (0, n - columns)]);
        self.text.pad(a, 0.0, &pads)
    }

    /// The count of sweeps after one more, or that of all if no matrix needs another one.
    fn counted(&mut self, count: &Tensor, goes_on: &Tensor) -> Tensor {
        let (one, most) = (
            self.text.integers(1, &[], Element::I32),
            self.text.integers(MOST_SWEEPS as i64, &[], Element::I32),
        );
        let (next, some) = (self.text.each("add", &[count, &one]), self.some_matrix(goes_on));
        self.text.select(&some, &next, &most)
    }

    /// True for matrices whose elements outside of the diagonal are not small beside all of them.
    fn is_open(&mut self, a: &Tensor, total: &Tensor) -> Tensor {
        let outside = self.kept("GT", a);
        let (outside, limit) = (self.squares(&outside), self.scaled(1e-34, total));
        self.compare("GT", &outside, &limit)
    }

    /// The eigenvalues of the symmetric part of a matrix in ascending order, as a column, and the eigenvectors as columns.
    pub fn eigh(&mut self, a: &Tensor) -> [Tensor; 2] {
        let [n, _] = self.size(a);
        let even = n + n % 2;
        let a = self.symmetric(a);
        let total = self.squares(&a);
        let has_answer = self.is_finite(&total);
        let (a, total) = (self.or_number(&has_answer, &a, 0.0), self.or_number(&has_answer, &total, 0.0));
        let (a, v) = (self.padded(&a, [even, even]), self.identity([even, even]));
        let open = self.is_open(&a, &total);
        let minus = self.text.integers(-1, &[], Element::I32);
        let begin = self.counted(&minus, &open);
        let [a, v, _] = self.repeat(MOST_SWEEPS, &begin, [a, v, open], |batch, count, [a, v, open]| {
            let rounds = even.saturating_sub(1);
            let [a, v] = batch.turns((rounds, false), [a, v], |batch, _, [a, v]| batch.round(&a, &v, &open));
            let open = batch.is_open(&a, &total);
            (batch.counted(count, &open), [a, v, open])
        });
        let (values, vectors) = (self.diagonal(&a), self.stretch(&v, COLUMNS, 0, n));
        let (values, vectors) = (self.stretch(&values, ROWS, 0, n), self.stretch(&vectors, ROWS, 0, n));
        let keys = self.one("negate", &values);
        let [keys, vectors] = self.in_order(&keys, &vectors);
        let values = self.one("negate", &keys);
        [values, vectors].map(|made| self.or_number(&has_answer, &made, f64::NAN))
    }

    /// One rotation of every pair of rows and columns of a symmetric matrix, for the matrices that need it.
    fn round(&mut self, a: &Tensor, v: &Tensor, open: &Tensor) -> [Tensor; 2] {
        let [left, right] = self.halves(a, COLUMNS);
        let ([top, _], [beside, bottom]) = (self.halves(&left, ROWS), self.halves(&right, ROWS));
        let [first, second, product] = [top, bottom, beside].map(|block| self.diagonal(&block));
        let turns = self.is("NE", &product, 0.0);
        let turns = self.and(&turns, open);
        let by_rows = self.rotation([&first, &second, &product], &turns);
        let by_columns =
            Rotation { cosine: self.transposed(&by_rows.cosine), sine: self.transposed(&by_rows.sine) };
        let a = self.rotated(a, COLUMNS, &by_columns);
        let a = self.rotated(&a, ROWS, &by_rows);
        let a = self.without_pairs(&a, &turns);
        let (a, v) = (self.moved_on(&a, COLUMNS), self.rotated(v, COLUMNS, &by_columns));
        [self.moved_on(&a, ROWS), self.moved_on(&v, COLUMNS)]
    }

    /// A matrix whose elements at the pairs that were rotated are exactly 0.
    fn without_pairs(&mut self, a: &Tensor, turns: &Tensor) -> Tensor {
        let [left, right] = self.halves(a, COLUMNS);
        let ([top, lower], [upper, bottom]) = (self.halves(&left, ROWS), self.halves(&right, ROWS));
        let pairs = self.triangle("EQ", self.size(&upper));
        let pairs = self.and(&pairs, turns);
        let zero = self.number(0.0);
        let [lower, upper] = [lower, upper].map(|block| self.select(&pairs, &zero, &block));
        let (left, right) = (self.joined(&[&top, &lower], ROWS), self.joined(&[&upper, &bottom], ROWS));
        self.joined(&[&left, &right], COLUMNS)
    }

    /// Keys, a column, in descending order, with the columns of a matrix, of which the element of the greatest magnitude among the first
    /// rows, as many as there are keys, is made positive. The greatest key that is left changes places with the one at its place, as on other
    /// backends: so equal ones have the same order.
    fn in_order(&mut self, keys: &Tensor, vectors: &Tensor) -> [Tensor; 2] {
        let [n, _] = self.size(keys);
        let firsts = [self.transposed(keys), vectors.clone()];
        let [keys, vectors] = self.turns((n, false), firsts, |batch, at, [keys, vectors]| {
            let is_left = batch.at("GE", COLUMNS, n, at);
            let open = batch.or_number(&is_left, &keys, f64::NEG_INFINITY);
            let is_next = batch.greatest(&open, COLUMNS);
            [keys, vectors].map(|each| batch.exchanged(&each, COLUMNS, at, &is_next))
        });
        let first = self.stretch(&vectors, ROWS, 0, n);
        let sign = self.sign(&first);
        [self.transposed(&keys), self.mul(&sign, &vectors)]
    }

    /// For each column -1 if its element of the greatest magnitude is negative, the first of those that are equal up to rounding, and 1
    /// otherwise, in a row.
    fn sign(&mut self, v: &Tensor) -> Tensor {
        let sizes = self.one("abs", v);
        let most = self.reduce(&sizes, Monoid::Max, &[ROWS]);
        let limit = self.scaled(1.0 - 1e-9, &most);
        let is_great = self.compare("GE", &sizes, &limit);
        let is_greatest = self.first(&is_great, ROWS);
        let greatest = self.chosen(v, ROWS, &is_greatest);
        let (is_negative, minus) = (self.is("LT", &greatest, 0.0), self.number(-1.0));
        self.or_number(&is_negative, &minus, 1.0)
    }

    /// The symmetric part of `v (diag(gw) + f · vᵀ gv) vᵀ`, where `f` has the inverse differences of the values.
    pub fn eigh_back(&mut self, [w, v, gw, gv]: [&Tensor; 4]) -> Tensor {
        let turned = self.transposed_product(v, gv);
        let across = self.transposed(w);
        let distance = self.sub(&across, w);
        let quotient = self.div(&turned, &distance);
        // Without a gradient of vectors, equal values are no trouble.
        let (has_none, zero) = (self.is("EQ", &turned, 0.0), self.number(0.0));
        let quotient = self.select(&has_none, &zero, &quotient);
        let along = self.triangle("EQ", self.size(v));
        let inner = self.select(&along, gw, &quotient);
        let outer = self.product(v, &inner);
        let outer = self.product_transposed(&outer, v);
        self.symmetric(&outer)
    }

    /// The singular values of a tall matrix in descending order, as a column, between the left and the right vectors as columns.
    pub fn svd(&mut self, a: &Tensor) -> [Tensor; 3] {
        let [m, n] = self.size(a);
        let even = n + n % 2;
        let squares = self.squares(a);
        let has_answer = self.is_finite(&squares);
        let a = self.or_number(&has_answer, a, 0.0);
        let (a, v) = (self.padded(&a, [m, even]), self.identity([even, even]));
        let none = self.text.integers(0, &[], Element::I32);
        let [a, v] = self.repeat(MOST_SWEEPS, &none, [a, v], |batch, count, [a, v]| {
            let one = batch.number(1.0);
            let calm = batch.compare("NE", &one, &one);
            let rounds = (even.saturating_sub(1), false);
            let [a, v, turned] =
                batch.turns(rounds, [a, v, calm], |batch, _, [a, v, turned]| batch.side(&a, &v, &turned));
            (batch.counted(count, &turned), [a, v])
        });
        let (a, v) = (self.stretch(&a, COLUMNS, 0, n), self.stretch(&v, COLUMNS, 0, n));
        let v = self.stretch(&v, ROWS, 0, n);
        let squares = self.mul(&a, &a);
        let squares = self.sum(&squares, &[ROWS]);
        let lengths = self.one("sqrt", &squares);
        let lengths = self.transposed(&lengths);
        let both = self.joined(&[&v, &a], ROWS);
        let [s, both] = self.in_order(&lengths, &both);
        let (v, a) = (self.stretch(&both, ROWS, 0, n), self.stretch(&both, ROWS, n, n + m));
        let across = self.transposed(&s);
        let (unit, has_length) = (self.div(&a, &across), self.is("GT", &across, 0.0));
        let u = self.or_number(&has_length, &unit, 0.0);
        let u = self.completed(&u, &has_length);
        [u, s, v].map(|made| self.or_number(&has_answer, &made, f64::NAN))
    }

    /// One rotation of every pair of columns that are not orthogonal; notes for which matrices there are any.
    fn side(&mut self, a: &Tensor, v: &Tensor, turned: &Tensor) -> [Tensor; 3] {
        let [left, right] = self.halves(a, COLUMNS);
        let mut sums = |x: &Tensor, y: &Tensor| {
            let products = self.mul(x, y);
            self.sum(&products, &[ROWS])
        };
        let (first, second, product) = (sums(&left, &left), sums(&right, &right), sums(&left, &right));
        let both = self.mul(&first, &second);
        let both = self.one("sqrt", &both);
        let (limit, size) = (self.scaled(1e-15, &both), self.one("abs", &product));
        let turns = self.compare("GT", &size, &limit);
        let rotation = self.rotation([&first, &second, &product], &turns);
        let [a, v] = [a, v].map(|each| {
            let rotated = self.rotated(each, COLUMNS, &rotation);
            self.moved_on(&rotated, COLUMNS)
        });
        let any = self.reduce(&turns, Monoid::Or, &[ROWS, COLUMNS]);
        [a, v, self.each("or", turned, &any)]
    }

    /// Columns of which those without a length become ones of unit length at right angles to those before: that of the axis which they
    /// leave the most of.
    fn completed(&mut self, u: &Tensor, has_length: &Tensor) -> Tensor {
        let [m, n] = self.size(u);
        let [u] = self.turns((n, false), [u.clone()], |batch, at, [u]| {
            let is_before = batch.at("LT", COLUMNS, n, at);
            let before = batch.or_number(&is_before, &u, 0.0);
            let squares = batch.mul(&before, &before);
            let taken = batch.sum(&squares, &[COLUMNS]);
            let left = batch.one("negate", &taken);
            let (axis, one) = (batch.greatest(&left, ROWS), batch.number(1.0));
            let mut column = batch.or_number(&axis, &one, 0.0);
            // Twice, for what rounding left the first time.
            for _ in 0..2 {
                let along = batch.transposed_product(&before, &column);
                let part = batch.product(&before, &along);
                column = batch.sub(&column, &part);
            }
            let length = batch.squares(&column);
            let length = batch.one("sqrt", &length);
            let column = batch.div(&column, &length);
            let is_known = batch.line(has_length, &[COLUMNS], at);
            let known = batch.line(&u, &[COLUMNS], at);
            let column = batch.select(&is_known, &known, &column);
            let column = batch.spread(&column, [m, 1]);
            [batch.with_line(&u, COLUMNS, at, &column)]
        });
        u
    }

    /// The same for a matrix with more columns than rows: its vectors are those of its transpose, exchanged, and the signs follow from the
    /// right ones.
    pub fn svd_wide(&mut self, a: &Tensor) -> [Tensor; 3] {
        let a = self.transposed(a);
        let [v, s, u] = self.svd(&a);
        let sign = self.sign(&v);
        [self.mul(&sign, &u), s, self.mul(&sign, &v)]
    }

    /// The gradient of singular values: `u diag(gs) vᵀ`.
    pub fn svd_back(&mut self, u: &Tensor, v: &Tensor, gs: &Tensor) -> Tensor {
        let across = self.transposed(gs);
        let scaled = self.mul(u, &across);
        self.product_transposed(&scaled, v)
    }
}
