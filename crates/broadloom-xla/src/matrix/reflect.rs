//! Reflections of Householder: `q` and `r` with the signs of LAPACK, and least squares.

use super::batch::{Batch, COLUMNS, ROWS};
use crate::tensor::Tensor;

/// A tall matrix in factors: `a = q r`, or `aᵀ = q r`.
struct Factors {
    q: Tensor,
    r: Tensor,
    /// True for matrices of full rank.
    has_answer: Tensor,
}

impl Batch<'_> {
    /// The vector of the reflection of a turn: 1 in its row, and what stands below it in a column.
    fn mirror(&mut self, column: &Tensor, at: &Tensor) -> Tensor {
        let [m, _] = self.size(column);
        let (is_at, is_below) = (self.at("EQ", ROWS, m, at), self.at("GT", ROWS, m, at));
        let (below, one) = (self.or_number(&is_below, column, 0.0), self.number(1.0));
        self.select(&is_at, &one, &below)
    }

    /// A matrix reflected by a vector: `a − scale v (vᵀ a)`.
    fn reflected(&mut self, a: &Tensor, v: &Tensor, scale: &Tensor) -> Tensor {
        let along = self.transposed_product(v, a);
        let along = self.mul(scale, &along);
        let part = self.mul(v, &along);
        self.sub(a, &part)
    }

    /// `q` and `r` of a matrix that has at least as many rows as columns, with one reflection for each column.
    pub fn qr(&mut self, a: &Tensor) -> [Tensor; 2] {
        let [m, n] = self.size(a);
        let scales = self.splat(0.0, [n, 1]);
        // The vectors of reflections stay below the diagonal.
        let [packed, scales] = self.turns((n, false), [a.clone(), scales], |batch, at, [a, scales]| {
            let column = batch.line(&a, &[COLUMNS], at);
            let is_below = batch.at("GT", ROWS, m, at);
            let below = batch.or_number(&is_below, &column, 0.0);
            let below = batch.squares(&below);
            let (below, head) = (batch.one("sqrt", &below), batch.line(&column, &[ROWS], at));
            let is_turned = batch.is("NE", &below, 0.0);
            let length = batch.hypot(&head, &below);
            let length = batch.with_opposite_sign(&length, &head);
            let reach = batch.sub(&length, &head);
            let scale = batch.div(&reach, &length);
            let scale = batch.or_number(&is_turned, &scale, 0.0);
            let less = batch.one("negate", &reach);
            let lower = batch.div(&column, &less);
            let v = batch.mirror(&lower, at);
            let mirrored = batch.reflected(&a, &v, &scale);
            let (is_row, is_column) = (batch.at("GE", ROWS, m, at), batch.at("GT", COLUMNS, n, at));
            let changes = batch.and(&is_row, &is_column);
            let changes = batch.and(&changes, &is_turned);
            let made = batch.select(&changes, &mirrored, &a);
            let (is_at, is_first) = (batch.at("EQ", ROWS, m, at), batch.at("EQ", COLUMNS, n, at));
            let line = batch.select(&is_below, &lower, &column);
            let line = batch.select(&is_at, &length, &line);
            let is_first = batch.and(&is_first, &is_turned);
            [batch.select(&is_first, &line, &made), batch.with_line(&scales, ROWS, at, &scale)]
        });
        let q = self.identity([m, n]);
        let [q] = self.turns((n, true), [q], |batch, at, [q]| {
            let column = batch.line(&packed, &[COLUMNS], at);
            let (v, scale) = (batch.mirror(&column, at), batch.line(&scales, &[ROWS], at));
            // Columns before it have nothing but zeros from here on.
            let (mirrored, is_behind) = (batch.reflected(&q, &v, &scale), batch.at("GE", COLUMNS, n, at));
            [batch.select(&is_behind, &mirrored, &q)]
        });
        let r = self.stretch(&packed, ROWS, 0, n);
        [q, self.kept("LE", &r)]
    }

    /// A length with the sign that a number does not have. Zeros have signs, too.
    fn with_opposite_sign(&mut self, length: &Tensor, number: &Tensor) -> Tensor {
        let (one, other) = (self.number(1.0), self.one("negate", length));
        let inverse = self.div(&one, number);
        let (is_negative, is_zero) = (self.is("LT", number, 0.0), self.is("LT", &inverse, 0.0));
        let is_negative = self.each("or", &is_negative, &is_zero);
        self.select(&is_negative, length, &other)
    }

    /// `(gq + q s) r⁻ᵀ`, where `s` is the symmetric matrix with the lower triangle of `r grᵀ − gqᵀ q`.
    pub fn qr_back(&mut self, [q, r, gq, gr]: [&Tensor; 4]) -> Tensor {
        // `r` is 0 below its diagonal, whatever a matrix is: no gradient goes back from there.
        let gr = self.kept("LE", gr);
        let (first, second) = (self.product_transposed(r, &gr), self.transposed_product(gq, q));
        let both = self.sub(&first, &second);
        let (lower, below) = (self.kept("GE", &both), self.kept("GT", &both));
        let above = self.transposed(&below);
        let symmetric = self.add(&lower, &above);
        let part = self.product(q, &symmetric);
        let sum = self.add(gq, &part);
        let sum = self.transposed(&sum);
        let solved = self.substituted(r, &sum, true);
        self.transposed(&solved)
    }

    /// `q` and `r` of a matrix `[a₁ a₂]` with more columns than rows, of which `a₁` is square: `a₁ = q r₁` and `r = [r₁ qᵀ a₂]`.
    pub fn qr_wide(&mut self, a: &Tensor) -> [Tensor; 2] {
        let [m, n] = self.size(a);
        let (square, others) = (self.stretch(a, COLUMNS, 0, m), self.stretch(a, COLUMNS, m, n));
        let [q, r] = self.qr(&square);
        let others = self.transposed_product(&q, &others);
        let r = self.joined(&[&r, &others], COLUMNS);
        [q, r]
    }

    /// Its gradient. With that of `r₂ = qᵀ a₂`, `a₂` has `q gr₂`, and `q` has `a₂ gr₂ᵀ` more.
    pub fn qr_wide_back(&mut self, [q, r, gq, gr]: [&Tensor; 4]) -> Tensor {
        let [m, n] = self.size(r);
        let [(r, others), (gr, g_others)] =
            [r, gr].map(|a| (self.stretch(a, COLUMNS, 0, m), self.stretch(a, COLUMNS, m, n)));
        let more = self.product_transposed(&others, &g_others);
        let more = self.product(q, &more);
        let gq = self.add(gq, &more);
        let square = self.qr_back([q, &r, &gq, &gr]);
        let others = self.product(q, &g_others);
        self.joined(&[&square, &others], COLUMNS)
    }

    /// The factors of a matrix, or of its transpose if that is the tall one.
    fn factors(&mut self, a: &Tensor) -> Factors {
        let [m, n] = self.size(a);
        let tall = if m < n { self.transposed(a) } else { a.clone() };
        let [q, r] = self.qr(&tall);
        let diagonal = self.diagonal(&r);
        let has_answer = self.is("NE", &diagonal, 0.0);
        let has_answer = self.all(&has_answer);
        Factors { q, r, has_answer }
    }

    /// The shortest of the `x` for which `a x` is nearest to `b`: `r⁻¹ qᵀ b` with `a = q r`, or `q r⁻ᵀ b` with `aᵀ = q r`.
    pub fn lstsq(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        let [m, n] = self.size(a);
        let Factors { q, r, has_answer } = self.factors(a);
        let x = if m < n {
            let lower = self.transposed(&r);
            let b = self.substituted(&lower, b, false);
            self.product(&q, &b)
        } else {
            let b = self.transposed_product(&q, b);
            self.substituted(&r, &b, true)
        };
        self.or_number(&has_answer, &x, f64::NAN)
    }

    /// The gradients of `a` and of `b`.
    ///
    /// That of `b` is `gb = a⁺ᵀ gx`, and that of `a` is `−gb xᵀ`, with one thing more: for a tall matrix `(b − a x) (a⁺ gb)ᵀ`, by what is
    /// left of `b`; for a wide one `(a⁺ᵀ x) (gx − aᵀ gb)ᵀ`, by what is left of `gx`.
    pub fn lstsq_back(&mut self, [a, b, x, gx]: [&Tensor; 4]) -> [Tensor; 2] {
        let [m, n] = self.size(a);
        let Factors { q, r, has_answer } = self.factors(a);
        let lower = self.transposed(&r);
        let (gb, left, right) = if m < n {
            let along = self.transposed_product(&q, gx);
            let seen = self.product(&q, &along);
            let right = self.sub(gx, &seen);
            let half = self.substituted(&lower, b, false);
            (self.substituted(&r, &along, true), self.substituted(&r, &half, true), right)
        } else {
            let reached = self.product(a, x);
            let left = self.sub(b, &reached);
            let half = self.substituted(&lower, gx, false);
            (self.product(&q, &half), left, self.substituted(&r, &half, true))
        };
        let (more, less) = (self.product_transposed(&left, &right), self.product_transposed(&gb, x));
        let ga = self.sub(&more, &less);
        [self.or_number(&has_answer, &ga, f64::NAN), self.or_number(&has_answer, &gb, f64::NAN)]
    }
}
