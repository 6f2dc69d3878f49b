//! The functions of matrices in Rust: the judge of those in C, which take the same steps.
//!
//! Matrices lie row by row. A matrix that has no answer (a singular one to be inverted, one that is not positive) gives NaN everywhere,
//! never a number that only looks like one.

mod decompositions;
mod wide;

use super::MatrixFunction;

/// Computes a function on a row of its parts.
pub(super) fn run(function: MatrixFunction, work: &mut [f64], sizes: &[usize]) {
    use MatrixFunction as F;
    let size = |at: usize| sizes.get(at).copied().unwrap_or(1);
    let (n, k, c) = (size(0), size(1), size(2));
    let (square, wide) = (n * n, n * k);
    match function {
        F::Solve => with(work, [square, wide], |[a, b]| solve(a, n, b, k)),
        F::SolveBack => with(work, [square, wide, wide], |[a, x, g]| solve_back(a, n, x, g, k)),
        F::Inverse => with(work, [square, square], |[a, y]| inverse(a, n, y)),
        F::InverseBack => with(work, [square; 3], |[y, g, t]| inverse_back(y, n, g, t)),
        F::Det => with(work, [square, 1], |[a, d]| d[0] = det(a, n)),
        F::DetBack => with(work, [square, 1, square, n, n], |[a, g, c, rows, columns]| {
            det_back(a, n, g[0], c, rows, columns)
        }),
        F::LogDet => with(work, [square, 1], |[a, d]| d[0] = log_det(a, n)),
        F::LogDetBack => with(work, [square, 1, square], |[a, g, y]| log_det_back(a, n, g[0], y)),
        F::Cholesky => cholesky(&mut work[..square], n),
        F::CholeskyBack => with(work, [square; 3], |[l, g, t]| cholesky_back(l, n, g, t)),
        F::Eigh => with(work, [square, n, square], |[a, w, v]| decompositions::eigh(a, n, w, v)),
        F::EighBack => with(work, [n, square, n, square, square], |[w, v, gw, gv, t]| {
            decompositions::eigh_back(w, v, n, gw, gv, t)
        }),
        // Without as many rows as columns there is no answer.
        F::Qr | F::Svd if k < n => work.fill(f64::NAN),
        F::Qr => with(work, [wide, square, n], |[a, r, scale]| decompositions::qr(a, (k, n), r, scale)),
        F::QrBack => with(work, [wide, square, wide, square, square], |[q, r, gq, gr, t]| {
            decompositions::qr_back([q, r, gr, t], gq, (k, n))
        }),
        F::QrWide => {
            with(work, [wide, square, square, n], |[a, q, r, scale]| wide::qr(a, (n, k), [q, r, scale]))
        }
        F::QrWideBack => {
            with(work, [wide, wide, square, square, square, square, square], |[r, gr, all @ ..]| {
                wide::qr_back(r, gr, (n, k), all)
            })
        }
        F::Svd => with(work, [wide, n, square], |[a, s, v]| decompositions::svd(a, (k, n), s, v)),
        F::SvdBack => {
            with(work, [wide, square, n, n], |[u, v, gs, t]| decompositions::svd_back(u, v, n, gs, t))
        }
        F::SvdWide => with(work, [wide, wide, n, square], |[a, v, s, u]| wide::svd(a, (n, k), v, s, u)),
        F::SvdWideBack => {
            with(work, [square, wide, n, wide], |[u, v, gs, g]| wide::svd_back([u, v, gs], g, (n, k)))
        }
        F::Lstsq => with(work, [wide, k * c, n * c, wide, wide, n], |[a, b, x, q, r, scale]| {
            wide::lstsq([n, k, c], [a, b, x], [q, r, scale])
        }),
        F::LstsqBack => {
            let lengths = [wide, k * c, n * c, n * c, k * c, wide, wide, n];
            with(work, lengths, |[a, b, x, gx, gb, q, r, scale]| {
                wide::lstsq_back([n, k, c], [a, b, x, gx, gb], [q, r, scale])
            })
        }
    }
}

/// Computes with a row in parts of some lengths.
fn with<const N: usize>(work: &mut [f64], lengths: [usize; N], compute: impl FnOnce([&mut [f64]; N])) {
    let mut rest = work;
    compute(lengths.map(|length| {
        let (part, behind) = std::mem::take(&mut rest).split_at_mut(length);
        rest = behind;
        part
    }))
}

/// The determinant of a matrix, which is overwritten.
fn det(a: &mut [f64], n: usize) -> f64 {
    let sign = eliminate(a, n, &mut [], 0);
    (0..n).fold(sign, |product, at| product * a[at * n + at])
}

/// The logarithm of the absolute determinant of a matrix, which is overwritten.
fn log_det(a: &mut [f64], n: usize) -> f64 {
    eliminate(a, n, &mut [], 0);
    (0..n).map(|at| a[at * n + at].abs().ln()).sum()
}

/// The gradient of that, in place of the matrix.
fn log_det_back(a: &mut [f64], n: usize, g: f64, y: &mut [f64]) {
    inverse(a, n, y);
    for (at, cell) in a.iter_mut().enumerate() {
        *cell = g * y[at % n * n + at / n];
    }
}

/// Makes a matrix upper triangular by elimination with partial pivoting, with the rows of another beside it. Returns the sign of the
/// permutation, or 0 if the matrix is singular.
fn eliminate(a: &mut [f64], n: usize, b: &mut [f64], k: usize) -> f64 {
    let mut sign = 1.0;
    for c in 0..n {
        let mut pivot = c;
        for row in c + 1..n {
            if a[row * n + c].abs() > a[pivot * n + c].abs() {
                pivot = row;
            }
        }
        if a[pivot * n + c] == 0.0 {
            sign = 0.0;
            continue;
        }
        if pivot != c {
            (0..n).for_each(|j| a.swap(pivot * n + j, c * n + j));
            (0..k).for_each(|j| b.swap(pivot * k + j, c * k + j));
            sign = -sign;
        }
        for row in c + 1..n {
            let factor = a[row * n + c] / a[c * n + c];
            for j in c..n {
                a[row * n + j] -= factor * a[c * n + j];
            }
            for j in 0..k {
                b[row * k + j] -= factor * b[c * k + j];
            }
        }
    }
    sign
}

/// The solution of `a @ x = b` in place of `b`.
fn solve(a: &mut [f64], n: usize, b: &mut [f64], k: usize) {
    if eliminate(a, n, b, k) == 0.0 {
        b.fill(f64::NAN);
        return;
    }
    for row in (0..n).rev() {
        for c in row + 1..n {
            for j in 0..k {
                b[row * k + j] -= a[row * n + c] * b[c * k + j];
            }
        }
        for j in 0..k {
            b[row * k + j] /= a[row * n + row];
        }
    }
}

/// Exchanges rows and columns.
fn transpose(a: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..i {
            a.swap(i * n + j, j * n + i);
        }
    }
}

fn solve_back(a: &mut [f64], n: usize, x: &[f64], g: &mut [f64], k: usize) {
    transpose(a, n);
    solve(a, n, g, k);
    for i in 0..n {
        for j in 0..n {
            a[i * n + j] = -(0..k).map(|at| g[i * k + at] * x[j * k + at]).sum::<f64>();
        }
    }
}

fn inverse(a: &mut [f64], n: usize, y: &mut [f64]) {
    y.fill(0.0);
    (0..n).for_each(|at| y[at * n + at] = 1.0);
    solve(a, n, y, n);
}

/// `−yᵀ g yᵀ` in place of `g`.
fn inverse_back(y: &mut [f64], n: usize, g: &mut [f64], t: &mut [f64]) {
    for i in 0..n {
        for j in 0..n {
            t[i * n + j] = (0..n).map(|at| y[at * n + i] * g[at * n + j]).sum();
        }
    }
    for i in 0..n {
        for j in 0..n {
            g[i * n + j] = -(0..n).map(|at| t[i * n + at] * y[j * n + at]).sum::<f64>();
        }
    }
}

/// The cofactors times a number, in place of a matrix.
///
/// With `P a Q = L U` by complete pivoting the adjugate is `± Q adj(U) L⁻¹ P`. The last row of `adj(U)` is a product of pivots without the
/// last one, and the others follow by substitution that divides by all but the last: it may be 0.
fn det_back(a: &mut [f64], n: usize, g: f64, c: &mut [f64], rows: &mut [f64], columns: &mut [f64]) {
    if n == 0 {
        return;
    }
    if a.iter().any(|number| !number.is_finite()) {
        a.fill(f64::NAN);
        return;
    }
    for at in 0..n {
        (rows[at], columns[at]) = (at as f64, at as f64);
    }
    let (mut sign, mut rank) = (1.0, 0);
    while rank < n {
        let at = rank;
        let (mut p, mut q) = (at, at);
        for i in at..n {
            for j in at..n {
                if a[i * n + j].abs() > a[p * n + q].abs() {
                    (p, q) = (i, j);
                }
            }
        }
        if a[p * n + q] == 0.0 {
            break;
        }
        if p != at {
            (0..n).for_each(|j| a.swap(p * n + j, at * n + j));
            rows.swap(p, at);
            sign = -sign;
        }
        if q != at {
            (0..n).for_each(|i| a.swap(i * n + q, i * n + at));
            columns.swap(q, at);
            sign = -sign;
        }
        for i in at + 1..n {
            let factor = a[i * n + at] / a[at * n + at];
            a[i * n + at] = factor;
            for j in at + 1..n {
                a[i * n + j] -= factor * a[at * n + j];
            }
        }
        rank += 1;
    }
    if rank + 1 < n {
        a.fill(0.0);
        return;
    }
    // L⁻¹ P.
    c.fill(0.0);
    for i in 0..n {
        c[i * n + rows[i] as usize] = 1.0;
        for row in 0..i {
            for j in 0..n {
                c[i * n + j] -= a[i * n + row] * c[row * n + j];
            }
        }
    }
    let most = (0..n - 1).fold(1.0, |product, at| product * a[at * n + at]);
    let last = a[n * n - 1];
    (0..n).for_each(|j| c[(n - 1) * n + j] *= most);
    for i in (0..n - 1).rev() {
        for j in 0..n {
            let mut sum = most * last * c[i * n + j];
            for row in i + 1..n {
                sum -= a[i * n + row] * c[row * n + j];
            }
            c[i * n + j] = sum / a[i * n + i];
        }
    }
    for row in 0..n {
        for i in 0..n {
            a[i * n + columns[row] as usize] = g * sign * c[row * n + i];
        }
    }
}

/// The factor of the symmetric part of a matrix, in its place.
fn cholesky(a: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..=i {
            let mut sum = 0.5 * (a[i * n + j] + a[j * n + i]);
            for at in 0..j {
                sum -= a[i * n + at] * a[j * n + at];
            }
            if i == j && !(sum > 0.0 && sum.is_finite()) {
                a.fill(f64::NAN);
                return;
            }
            a[i * n + j] = if i == j { sum.sqrt() } else { sum / a[j * n + j] };
        }
    }
    for i in 0..n {
        a[i * n + i + 1..(i + 1) * n].fill(0.0);
    }
}

/// The symmetric part of `l⁻ᵀ Φ(lᵀ g) l⁻¹` in place of `g`; `Φ` keeps the lower triangle, and halves the diagonal.
fn cholesky_back(l: &mut [f64], n: usize, g: &mut [f64], t: &mut [f64]) {
    for i in 0..n {
        for j in 0..n {
            let sum: f64 = (i..n).map(|at| l[at * n + i] * g[at * n + j]).sum();
            t[i * n + j] = if i > j {
                sum
            } else if i == j {
                0.5 * sum
            } else {
                0.0
            };
        }
    }
    for i in (0..n).rev() {
        for j in 0..n {
            let mut sum = t[i * n + j];
            for at in i + 1..n {
                sum -= l[at * n + i] * t[at * n + j];
            }
            t[i * n + j] = sum / l[i * n + i];
        }
    }
    for i in 0..n {
        for j in (0..n).rev() {
            let mut sum = t[i * n + j];
            for at in j + 1..n {
                sum -= t[i * n + at] * l[at * n + j];
            }
            t[i * n + j] = sum / l[j * n + j];
        }
    }
    for i in 0..n {
        for j in 0..n {
            g[i * n + j] = 0.5 * (t[i * n + j] + t[j * n + i]);
        }
    }
}
