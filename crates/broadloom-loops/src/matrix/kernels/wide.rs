//! Matrices with more columns than rows, by way of tall ones; and least squares, of either.
//!
//! A wide matrix is `[a₁ a₂]`, with `a₁` square: `a₁ = q r₁` and `r = [r₁ qᵀ a₂]`. Its singular vectors are those of its transpose,
//! exchanged.

use super::decompositions;

/// The product of a row of one matrix and a column of another, or of any elements at such steps.
fn along(count: usize, a: impl Fn(usize) -> f64, b: impl Fn(usize) -> f64) -> f64 {
    (0..count).map(|at| a(at) * b(at)).sum()
}

/// `r` in place of a matrix of `m` rows and `n` columns, and `q`.
pub(super) fn qr(a: &mut [f64], (m, n): (usize, usize), [q, first, scale]: [&mut [f64]; 3]) {
    for i in 0..m {
        q[i * m..(i + 1) * m].copy_from_slice(&a[i * n..i * n + m]);
    }
    decompositions::qr(q, (m, m), first, scale);
    for j in 0..n {
        for i in 0..m {
            scale[i] =
                if j < m { first[i * m + j] } else { along(m, |at| q[at * m + i], |at| a[at * n + j]) };
        }
        (0..m).for_each(|i| a[i * n + j] = scale[i]);
    }
}

/// The gradient in place of `gr`. With that of `r₂ = qᵀ a₂`, `a₂` has `q gr₂`, and `q` has `a₂ gr₂ᵀ` more.
pub(super) fn qr_back(
    r: &[f64],
    gr: &mut [f64],
    (m, n): (usize, usize),
    [q, first, gq, g_first, t]: [&mut [f64]; 5],
) {
    for i in 0..m {
        for j in 0..m {
            first[i * m + j] = r[i * n + j];
            g_first[i * m + j] = gr[i * n + j];
            t[i * m + j] = (m..n).map(|at| r[i * n + at] * gr[j * n + at]).sum();
        }
    }
    for i in 0..m {
        for j in 0..m {
            gq[i * m + j] += along(m, |at| q[i * m + at], |at| t[at * m + j]);
        }
    }
    for j in m..n {
        for i in 0..m {
            t[i] = along(m, |at| q[i * m + at], |at| gr[at * n + j]);
        }
        (0..m).for_each(|i| gr[i * n + j] = t[i]);
    }
    decompositions::qr_back([q, first, g_first, t], gq, (m, m));
    for i in 0..m {
        gr[i * n..i * n + m].copy_from_slice(&gq[i * m..(i + 1) * m]);
    }
}

/// The parts of a matrix of `m` rows and `n` columns. Of each right vector the element of the greatest magnitude is positive.
pub(super) fn svd(a: &[f64], (m, n): (usize, usize), v: &mut [f64], s: &mut [f64], u: &mut [f64]) {
    transposed(a, (m, n), v);
    decompositions::svd(v, (n, m), s, u);
    for column in 0..m {
        if decompositions::is_turned(v, m, column) {
            u.iter_mut().chain(&mut *v).skip(column).step_by(m).for_each(|number| *number = -*number);
        }
    }
}

/// `u diag(gs) vᵀ`.
pub(super) fn svd_back([u, v, gs]: [&mut [f64]; 3], g: &mut [f64], (m, n): (usize, usize)) {
    for i in 0..m {
        for j in 0..n {
            g[i * n + j] = along(m, |at| u[i * m + at] * gs[at], |at| v[j * m + at]);
        }
    }
}

fn transposed(a: &[f64], (m, n): (usize, usize), to: &mut [f64]) {
    for (at, number) in a.iter().enumerate() {
        to[at % n * m + at / n] = *number;
    }
}

/// `q` and `r` of a matrix, or of its transpose if that is the tall one. Returns the number of columns of the tall one, if it is of full rank.
fn factors([n, m]: [usize; 2], a: &[f64], [q, r, scale]: [&mut [f64]; 3]) -> Option<usize> {
    if m < n {
        transposed(a, (m, n), q);
        decompositions::qr(q, (n, m), &mut r[..m * m], scale);
    } else {
        q.copy_from_slice(a);
        decompositions::qr(q, (m, n), &mut r[..n * n], scale);
    }
    let c = n.min(m);
    (0..c).all(|at| r[at * c + at] != 0.0).then_some(c)
}

/// `r⁻¹ y` in place of the first rows of `y`.
fn backward(r: &[f64], c: usize, y: &mut [f64], k: usize) {
    for i in (0..c).rev() {
        for j in 0..k {
            let known = (i + 1..c).map(|at| r[i * c + at] * y[at * k + j]).sum::<f64>();
            y[i * k + j] = (y[i * k + j] - known) / r[i * c + i];
        }
    }
}

/// `r⁻ᵀ y` in place of the first rows of `y`.
fn forward(r: &[f64], c: usize, y: &mut [f64], k: usize) {
    for i in 0..c {
        for j in 0..k {
            let known = along(i, |at| r[at * c + i], |at| y[at * k + j]);
            y[i * k + j] = (y[i * k + j] - known) / r[i * c + i];
        }
    }
}

/// The shortest of the `x` for which `a @ x` is nearest to `b`: `r⁻¹ qᵀ b` with `a = q r`, or `q r⁻ᵀ b` with `aᵀ = q r`.
pub(super) fn lstsq([n, m, k]: [usize; 3], [a, b, x]: [&mut [f64]; 3], [q, r, scale]: [&mut [f64]; 3]) {
    let Some(c) = factors([n, m], a, [&mut *q, &mut *r, scale]) else {
        x.fill(f64::NAN);
        return;
    };
    if m < n {
        forward(r, c, b, k);
    }
    for i in 0..n {
        for j in 0..k {
            x[i * k + j] = if m < n {
                along(c, |at| q[i * c + at], |at| b[at * k + j])
            } else {
                along(m, |at| q[at * c + i], |at| b[at * k + j])
            };
        }
    }
    if m >= n {
        backward(r, c, x, k);
    }
}

/// The gradients of `a`, in its place, and of `b`.
///
/// That of `b` is `gb = a⁺ᵀ gx`, and that of `a` is `−gb xᵀ`, with one thing more: for a tall matrix `(b − a x) (a⁺ gb)ᵀ`, by what is left
/// of `b`; for a wide one `(a⁺ᵀ x) (gx − aᵀ gb)ᵀ`, by what is left of `gx`.
pub(super) fn lstsq_back(
    [n, m, k]: [usize; 3],
    [a, b, x, gx, gb]: [&mut [f64]; 5],
    [q, r, scale]: [&mut [f64]; 3],
) {
    let Some(c) = factors([n, m], a, [&mut *q, &mut *r, scale]) else {
        a.fill(f64::NAN);
        gb.fill(f64::NAN);
        return;
    };
    if m < n {
        for i in 0..m {
            for j in 0..k {
                gb[i * k + j] = along(n, |at| q[at * c + i], |at| gx[at * k + j]);
            }
        }
        // What is left of `gx`, without what `q` can say.
        for i in 0..n {
            for j in 0..k {
                gx[i * k + j] -= along(c, |at| q[i * c + at], |at| gb[at * k + j]);
            }
        }
        backward(r, c, gb, k);
        forward(r, c, b, k);
        backward(r, c, b, k);
    } else {
        for i in 0..m {
            for j in 0..k {
                b[i * k + j] -= along(n, |at| a[i * n + at], |at| x[at * k + j]);
            }
        }
        forward(r, c, gx, k);
        for i in 0..m {
            for j in 0..k {
                gb[i * k + j] = along(c, |at| q[i * c + at], |at| gx[at * k + j]);
            }
        }
        backward(r, c, gx, k);
    }
    for i in 0..m {
        for j in 0..n {
            a[i * n + j] = along(k, |at| b[i * k + at], |at| gx[j * k + at])
                - along(k, |at| gb[i * k + at], |at| x[j * k + at]);
        }
    }
}
