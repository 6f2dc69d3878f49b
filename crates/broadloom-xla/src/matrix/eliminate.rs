//! Elimination, triangular matrices, and what follows from them: solutions, inverses, determinants, the factor of Cholesky.
//!
//! A turn of a loop takes one column, or one row, of all matrices of a batch. Rows are exchanged by selection, since each matrix has its own
//! pivots.

use super::batch::{Batch, COLUMNS, ROWS};
use crate::operation::Monoid;
use crate::tensor::{Element, Tensor};

/// A matrix after elimination.
struct Eliminated {
    /// Its upper triangle.
    upper: Tensor,
    /// The matrix beside it.
    beside: Tensor,
    /// The sign of the permutation, or 0 if it is singular.
    sign: Tensor,
}

impl Batch<'_> {
    /// The pivot of a turn: true at the row, not above that of the turn, with the greatest element of a column. What is not a number is
    /// the pivot in the row of the turn, and in no other.
    fn pivot(&mut self, column: &Tensor, at: &Tensor) -> Tensor {
        let n = self.size(column)[0];
        let (is_at, is_behind) = (self.at("EQ", ROWS, n, at), self.at("GE", ROWS, n, at));
        let (most, none) = (self.number(f64::INFINITY), self.number(-1.0));
        let (key, is_number) = (self.one("abs", column), self.compare("EQ", column, column));
        let otherwise = self.select(&is_at, &most, &none);
        let key = self.select(&is_number, &key, &otherwise);
        let key = self.or_number(&is_behind, &key, -1.0);
        self.greatest(&key, ROWS)
    }

    /// A matrix whose line at the place of a turn is that for which a condition holds, and the other way round.
    pub fn exchanged(&mut self, a: &Tensor, axis: usize, at: &Tensor, is_other: &Tensor) -> Tensor {
        let (one, other) = (self.line(a, &[axis], at), self.chosen(a, axis, is_other));
        let is_at = self.at("EQ", axis, self.size(a)[axis], at);
        let rest = self.select(is_other, &one, a);
        self.select(&is_at, &other, &rest)
    }

    /// The sign of a permutation after such an exchange, if it is one of different lines.
    fn turned_sign(&mut self, sign: &Tensor, axis: usize, at: &Tensor, is_other: &Tensor) -> Tensor {
        let (same, other) = (self.line(is_other, &[axis], at), self.one("negate", sign));
        self.select(&same, sign, &other)
    }

    /// Makes a matrix upper triangular by elimination with partial pivoting, with the rows of another beside it.
    fn eliminated(&mut self, a: &Tensor, beside: &Tensor) -> Eliminated {
        let ([n, _], [_, k]) = (self.size(a), self.size(beside));
        let (both, sign) = (self.joined(&[a, beside], COLUMNS), self.number(1.0));
        let [both, sign] = self.turns((n, false), [both, sign], |batch, at, [both, sign]| {
            let column = batch.line(&both, &[COLUMNS], at);
            let is_pivot = batch.pivot(&column, at);
            let both = batch.exchanged(&both, ROWS, at, &is_pivot);
            let sign = batch.turned_sign(&sign, ROWS, at, &is_pivot);
            let (column, row) = (batch.line(&both, &[COLUMNS], at), batch.line(&both, &[ROWS], at));
            let head = batch.line(&column, &[ROWS], at);
            let factors = batch.div(&column, &head);
            let part = batch.mul(&factors, &row);
            let less = batch.sub(&both, &part);
            let (is_below, is_regular) = (batch.at("GT", ROWS, n, at), batch.is("NE", &head, 0.0));
            let changes = batch.and(&is_below, &is_regular);
            [batch.select(&changes, &less, &both), batch.or_number(&is_regular, &sign, 0.0)]
        });
        let upper = self.stretch(&both, COLUMNS, 0, n);
        let beside = self.stretch(&both, COLUMNS, n, n + k);
        Eliminated { upper: self.kept("LE", &upper), beside, sign }
    }

    /// The `x` with `t x = b` for a triangular matrix: an upper one, from the last row on, or a lower one, from the first.
    pub fn substituted(&mut self, triangle: &Tensor, b: &Tensor, is_upper: bool) -> Tensor {
        let ([n, _], size) = (self.size(triangle), self.size(b));
        let others = self.kept(if is_upper { "LT" } else { "GT" }, triangle);
        let diagonal = self.diagonal(triangle);
        let x = self.splat(0.0, size);
        let [x] = self.turns((n, is_upper), [x], |batch, at, [x]| {
            let (row, right) = (batch.line(&others, &[ROWS], at), batch.line(b, &[ROWS], at));
            let known = batch.product(&row, &x);
            let left = batch.sub(&right, &known);
            let head = batch.line(&diagonal, &[ROWS], at);
            let solved = batch.div(&left, &head);
            [batch.with_line(&x, ROWS, at, &solved)]
        });
        x
    }

    /// The `x` with `a x = b`; NaN if a matrix is singular.
    pub fn solution(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        let Eliminated { upper, beside, sign } = self.eliminated(a, b);
        let x = self.substituted(&upper, &beside, true);
        let is_regular = self.is("NE", &sign, 0.0);
        self.or_number(&is_regular, &x, f64::NAN)
    }

    /// The gradients of `a` and `b`.
    pub fn solution_back(&mut self, a: &Tensor, x: &Tensor, g: &Tensor) -> [Tensor; 2] {
        let a = self.transposed(a);
        let g = self.solution(&a, g);
        let product = self.product_transposed(&g, x);
        [self.one("negate", &product), g]
    }

    pub fn inverse(&mut self, a: &Tensor) -> Tensor {
        let identity = self.identity(self.size(a));
        self.solution(a, &identity)
    }

    /// `−yᵀ g yᵀ`.
    pub fn inverse_back(&mut self, y: &Tensor, g: &Tensor) -> Tensor {
        let first = self.transposed_product(y, g);
        let product = self.product_transposed(&first, y);
        self.one("negate", &product)
    }

    /// The diagonal after elimination, and the sign that its product has to have.
    fn pivots(&mut self, a: &Tensor) -> (Tensor, Tensor) {
        let [n, _] = self.size(a);
        let nothing = self.splat(0.0, [n, 0]);
        let Eliminated { upper, sign, .. } = self.eliminated(a, &nothing);
        (self.diagonal(&upper), sign)
    }

    pub fn det(&mut self, a: &Tensor) -> Tensor {
        let (pivots, sign) = self.pivots(a);
        let product = self.reduce(&pivots, Monoid::Mul, &[ROWS]);
        self.mul(&sign, &product)
    }

    pub fn logdet(&mut self, a: &Tensor) -> Tensor {
        let (pivots, _) = self.pivots(a);
        let sizes = self.one("abs", &pivots);
        let logarithms = self.one("log", &sizes);
        self.sum(&logarithms, &[ROWS])
    }

    /// The transpose of the inverse, times a number.
    pub fn logdet_back(&mut self, a: &Tensor, g: &Tensor) -> Tensor {
        let inverse = self.inverse(a);
        let inverse = self.transposed(&inverse);
        self.mul(g, &inverse)
    }

    /// The cofactors times a number.
    ///
    /// With `P a Q = L U` by complete pivoting the adjugate is `± Q adj(U) L⁻¹ P`. The last row of `adj(U)` is a product of pivots without
    /// the last one, and the others follow by substitution that divides by all but the last: it may be 0.
    pub fn det_back(&mut self, a: &Tensor, g: &Tensor) -> Tensor {
        let [n, _] = self.size(a);
        if n == 0 {
            return a.clone();
        }
        let [factors, from_rows, from_columns, sign] = self.pivoted(a);
        let lower = self.kept("GT", &factors);
        let identity = self.identity([n, n]);
        let lower = self.add(&lower, &identity);
        let rest = self.substituted(&lower, &from_rows, false);
        let pivots = self.diagonal(&factors);
        let (is_pivot, one) = (self.is("NE", &pivots, 0.0), self.number(1.0));
        let count = self.or_number(&is_pivot, &one, 0.0);
        let rank = self.sum(&count, &[ROWS]);
        let most = self.stretch(&pivots, ROWS, 0, n - 1);
        let most = self.reduce(&most, Monoid::Mul, &[ROWS]);
        let last = self.stretch(&pivots, ROWS, n - 1, n);
        let (first_rows, last_row) =
            (self.stretch(&rest, ROWS, 0, n - 1), self.stretch(&rest, ROWS, n - 1, n));
        let both = self.mul(&most, &last);
        let (first_rows, last_row) = (self.mul(&both, &first_rows), self.mul(&most, &last_row));
        let right = self.joined(&[&first_rows, &last_row], ROWS);
        // The last row is an answer already.
        let end = self.text.integers(n as i64 - 1, &[], Element::I32);
        let upper = self.kept("LE", &factors);
        let last_of_identity = self.line(&identity, &[ROWS], &end);
        let upper = self.with_line(&upper, ROWS, &end, &last_of_identity);
        let adjugate = self.substituted(&upper, &right, true);
        // Of the transpose, columns are where complete pivoting took them from.
        let cofactors = self.transposed_product(&adjugate, &from_columns);
        let scale = self.mul(g, &sign);
        let cofactors = self.mul(&scale, &cofactors);
        let has_some = self.is("GE", &rank, n as f64 - 1.0);
        let cofactors = self.or_number(&has_some, &cofactors, 0.0);
        let is_finite = self.is_finite(a);
        let is_finite = self.all(&is_finite);
        self.or_number(&is_finite, &cofactors, f64::NAN)
    }

    /// A matrix as triangular ones, by complete pivoting: both in one, the permutations of rows and of columns as matrices whose rows
    /// say where a row or a column comes from, and their sign.
    fn pivoted(&mut self, a: &Tensor) -> [Tensor; 4] {
        let [n, _] = self.size(a);
        let (identity, sign) = (self.identity([n, n]), self.number(1.0));
        let firsts = [a.clone(), identity.clone(), identity, sign];
        self.turns((n, false), firsts, |batch, at, [a, from_rows, from_columns, sign]| {
            let (rows, columns) = (batch.at("GE", ROWS, n, at), batch.at("GE", COLUMNS, n, at));
            let (inside, key) = (batch.and(&rows, &columns), batch.one("abs", &a));
            let key = batch.or_number(&inside, &key, -1.0);
            // The first row with the greatest element, and the first of its columns.
            let of_rows = batch.reduce(&key, Monoid::Max, &[COLUMNS]);
            let is_row = batch.greatest(&of_rows, ROWS);
            let of_columns = batch.chosen(&key, ROWS, &is_row);
            let is_column = batch.greatest(&of_columns, COLUMNS);
            let a = batch.exchanged(&a, ROWS, at, &is_row);
            let a = batch.exchanged(&a, COLUMNS, at, &is_column);
            let from_rows = batch.exchanged(&from_rows, ROWS, at, &is_row);
            let of_column = batch.transposed(&is_column);
            let from_columns = batch.exchanged(&from_columns, ROWS, at, &of_column);
            let sign = batch.turned_sign(&sign, ROWS, at, &is_row);
            let sign = batch.turned_sign(&sign, COLUMNS, at, &is_column);
            let (column, row) = (batch.line(&a, &[COLUMNS], at), batch.line(&a, &[ROWS], at));
            let head = batch.line(&column, &[ROWS], at);
            let factors = batch.div(&column, &head);
            let part = batch.mul(&factors, &row);
            let less = batch.sub(&a, &part);
            let (column_at, behind) = (batch.at("EQ", COLUMNS, n, at), batch.at("GT", COLUMNS, n, at));
            let less = batch.select(&behind, &less, &a);
            let less = batch.select(&column_at, &factors, &less);
            let (is_below, is_regular) = (batch.at("GT", ROWS, n, at), batch.is("NE", &head, 0.0));
            let changes = batch.and(&is_below, &is_regular);
            [batch.select(&changes, &less, &a), from_rows, from_columns, sign]
        })
    }

    /// The lower triangular factor of the symmetric part of a matrix; NaN if it is not positive.
    pub fn cholesky(&mut self, a: &Tensor) -> Tensor {
        let [n, _] = self.size(a);
        let (a, factor, one) = (self.symmetric(a), self.splat(0.0, [n, n]), self.number(1.0));
        let has_answer = self.compare("EQ", &one, &one);
        let [factor, has_answer] = self.turns((n, false), [factor, has_answer], |batch, at, found| {
            let [factor, has_answer] = found;
            let (column, row) = (batch.line(&a, &[COLUMNS], at), batch.line(&factor, &[ROWS], at));
            let known = batch.product_transposed(&factor, &row);
            let left = batch.sub(&column, &known);
            let head = batch.line(&left, &[ROWS], at);
            let (is_positive, is_finite) = (batch.is("GT", &head, 0.0), batch.is_finite(&head));
            let is_good = batch.and(&is_positive, &is_finite);
            let root = batch.one("sqrt", &head);
            let column = batch.div(&left, &root);
            let (is_at, is_below) = (batch.at("EQ", ROWS, n, at), batch.at("GT", ROWS, n, at));
            let column = batch.or_number(&is_below, &column, 0.0);
            let column = batch.select(&is_at, &root, &column);
            [batch.with_line(&factor, COLUMNS, at, &column), batch.and(&has_answer, &is_good)]
        });
        self.or_number(&has_answer, &factor, f64::NAN)
    }

    /// The symmetric part of `l⁻ᵀ Φ(lᵀ g) l⁻¹`; `Φ` keeps the lower triangle, and halves the diagonal.
    pub fn cholesky_back(&mut self, l: &Tensor, g: &Tensor) -> Tensor {
        let product = self.transposed_product(l, g);
        let (below, along) = (self.kept("GT", &product), self.kept("EQ", &product));
        let half = self.scaled(0.5, &along);
        let kept = self.add(&below, &half);
        let upper = self.transposed(l);
        let left = self.substituted(&upper, &kept, true);
        let left = self.transposed(&left);
        let both = self.substituted(&upper, &left, true);
        self.symmetric(&both)
    }
}
