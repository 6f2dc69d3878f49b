//! Decompositions of matrices into others that are easier to work with: QR, eigenvectors, singular values.
//!
//! Signs, which these leave open, are decided: those of LAPACK for QR, and for eigenvectors and right singular vectors the element of the
//! greatest magnitude is positive, or the first of them.

/// Rotations go through all pairs of columns so many times at most; matrices take about ten.
const MOST_SWEEPS: usize = 64;

/// `q` in place of a matrix of `m` rows and `n` columns, and `r`, as LAPACK computes them: with one reflection for each column.
pub(super) fn qr(a: &mut [f64], (m, n): (usize, usize), r: &mut [f64], scale: &mut [f64]) {
    for k in 0..n {
        let below = (k + 1..m).map(|i| a[i * n + k] * a[i * n + k]).sum::<f64>().sqrt();
        let head = a[k * n + k];
        scale[k] = 0.0;
        if below == 0.0 {
            continue;
        }
        let length = -head.hypot(below).copysign(head);
        scale[k] = (length - head) / length;
        (k + 1..m).for_each(|i| a[i * n + k] /= head - length);
        a[k * n + k] = length;
        for j in k + 1..n {
            let along = a[k * n + j] + (k + 1..m).map(|i| a[i * n + k] * a[i * n + j]).sum::<f64>();
            a[k * n + j] -= scale[k] * along;
            for i in k + 1..m {
                a[i * n + j] -= scale[k] * along * a[i * n + k];
            }
        }
    }
    for i in 0..n {
        for j in 0..n {
            r[i * n + j] = if j >= i { a[i * n + j] } else { 0.0 };
        }
    }
    for k in (0..n).rev() {
        for j in k + 1..n {
            let along = (k + 1..m).map(|i| a[i * n + k] * a[i * n + j]).sum::<f64>();
            a[k * n + j] = -scale[k] * along;
            for i in k + 1..m {
                a[i * n + j] -= scale[k] * along * a[i * n + k];
            }
        }
        (k + 1..m).for_each(|i| a[i * n + k] *= -scale[k]);
        a[k * n + k] = 1.0 - scale[k];
        (0..k).for_each(|i| a[i * n + k] = 0.0);
    }
}

/// `(gq + q s) r⁻ᵀ` in place of `gq`, where `s` is the symmetric matrix with the lower triangle of `r grᵀ − gqᵀ q`.
pub(super) fn qr_back([q, r, gr, t]: [&mut [f64]; 4], gq: &mut [f64], (m, n): (usize, usize)) {
    for i in 0..n {
        for j in 0..=i {
            // `r` is 0 below its diagonal, whatever a matrix is: no gradient goes back from there.
            let mut sum: f64 = (i..n).map(|at| r[i * n + at] * gr[j * n + at]).sum();
            sum -= (0..m).map(|at| gq[at * n + i] * q[at * n + j]).sum::<f64>();
            (t[i * n + j], t[j * n + i]) = (sum, sum);
        }
    }
    for row in 0..m {
        for j in 0..n {
            gq[row * n + j] += (0..n).map(|at| q[row * n + at] * t[at * n + j]).sum::<f64>();
        }
        for j in (0..n).rev() {
            let known: f64 = (j + 1..n).map(|at| gq[row * n + at] * r[j * n + at]).sum();
            gq[row * n + j] = (gq[row * n + j] - known) / r[j * n + j];
        }
    }
}

/// The rotation that makes two columns orthogonal, from their squared lengths and their product: cosine and sine.
fn rotation(first: f64, second: f64, product: f64) -> (f64, f64) {
    let ratio = (second - first) / (2.0 * product);
    let tangent = 1.0f64.copysign(ratio) / (ratio.abs() + ratio.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    (cosine, cosine * tangent)
}

/// Rotates two columns of a matrix.
fn rotate(a: &mut [f64], n: usize, (p, q): (usize, usize), (cosine, sine): (f64, f64)) {
    for row in a.chunks_exact_mut(n) {
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
}

/// The sum of the squares of a matrix; it is not finite if the matrix is not, or is too large.
fn squares(a: &[f64]) -> f64 {
    a.iter().map(|number| number * number).sum()
}

fn identity(v: &mut [f64], n: usize) {
    v.fill(0.0);
    (0..n).for_each(|at| v[at * n + at] = 1.0);
}

/// True if the element of the greatest magnitude of a column is negative: the first of those that are equal up to rounding, which differs
/// from backend to backend.
pub(super) fn is_turned(v: &[f64], n: usize, column: usize) -> bool {
    let elements = || v.iter().skip(column).step_by(n);
    let most = elements().fold(0.0f64, |most, number| most.max(number.abs()));
    elements().find(|number| number.abs() >= (1.0 - 1e-9) * most).is_some_and(|number| *number < 0.0)
}

pub(super) fn eigh(a: &mut [f64], n: usize, w: &mut [f64], v: &mut [f64]) {
    identity(v, n);
    for i in 0..n {
        for j in 0..i {
            let mean = 0.5 * (a[i * n + j] + a[j * n + i]);
            (a[i * n + j], a[j * n + i]) = (mean, mean);
        }
    }
    let total = squares(a);
    if !total.is_finite() {
        w.fill(f64::NAN);
        v.fill(f64::NAN);
        return;
    }
    for _ in 0..MOST_SWEEPS {
        let outside: f64 = (0..n).map(|i| squares(&a[i * n..i * n + i])).sum();
        if outside <= 1e-34 * total {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[p * n + q] == 0.0 {
                    continue;
                }
                let turn = rotation(a[p * n + p], a[q * n + q], a[p * n + q]);
                rotate(a, n, (p, q), turn);
                let (cosine, sine) = turn;
                for j in 0..n {
                    let (x, y) = (a[p * n + j], a[q * n + j]);
                    (a[p * n + j], a[q * n + j]) = (cosine * x - sine * y, sine * x + cosine * y);
                }
                (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
                rotate(v, n, (p, q), turn);
            }
        }
    }
    (0..n).for_each(|at| w[at] = a[at * n + at]);
    for at in 0..n {
        let least = (at..n).fold(at, |least, other| if w[other] < w[least] { other } else { least });
        w.swap(at, least);
        let turned = is_turned(v, n, least);
        for row in v.chunks_exact_mut(n) {
            row.swap(at, least);
            row[at] = if turned { -row[at] } else { row[at] };
        }
    }
}

/// The symmetric part of `v (diag(gw) + f · vᵀ gv) vᵀ` in place of `gv`, where `f` has the inverse differences of the values.
pub(super) fn eigh_back(w: &[f64], v: &[f64], n: usize, gw: &[f64], gv: &mut [f64], t: &mut [f64]) {
    for i in 0..n {
        for j in 0..n {
            let turned: f64 = (0..n).map(|at| v[at * n + i] * gv[at * n + j]).sum();
            // Without a gradient of vectors, equal values are no trouble.
            t[i * n + j] = if i == j {
                gw[i]
            } else if turned == 0.0 {
                0.0
            } else {
                turned / (w[j] - w[i])
            };
        }
    }
    for i in 0..n {
        for j in 0..n {
            gv[i * n + j] = (0..n).map(|at| v[i * n + at] * t[at * n + j]).sum();
        }
    }
    for i in 0..n {
        for j in 0..n {
            t[i * n + j] = (0..n).map(|at| gv[i * n + at] * v[j * n + at]).sum();
        }
    }
    for i in 0..n {
        for j in 0..n {
            gv[i * n + j] = 0.5 * (t[i * n + j] + t[j * n + i]);
        }
    }
}

pub(super) fn svd(a: &mut [f64], (m, n): (usize, usize), s: &mut [f64], v: &mut [f64]) {
    identity(v, n);
    if !squares(a).is_finite() {
        [a, s, v].into_iter().for_each(|part| part.fill(f64::NAN));
        return;
    }
    for _ in 0..MOST_SWEEPS {
        let mut turned = false;
        for p in 0..n {
            for q in p + 1..n {
                let (mut first, mut second, mut product) = (0.0, 0.0, 0.0);
                for row in a.chunks_exact(n) {
                    first += row[p] * row[p];
                    second += row[q] * row[q];
                    product += row[p] * row[q];
                }
                if product.abs() <= 1e-15 * (first * second).sqrt() {
                    continue;
                }
                turned = true;
                let turn = rotation(first, second, product);
                rotate(a, n, (p, q), turn);
                rotate(v, n, (p, q), turn);
            }
        }
        if !turned {
            break;
        }
    }
    for at in 0..n {
        s[at] = a.chunks_exact(n).map(|row| row[at] * row[at]).sum::<f64>().sqrt();
    }
    for at in 0..n {
        let greatest =
            (at..n).fold(at, |greatest, other| if s[other] > s[greatest] { other } else { greatest });
        s.swap(at, greatest);
        let sign = if is_turned(v, n, greatest) { -1.0 } else { 1.0 };
        for row in v.chunks_exact_mut(n) {
            row.swap(at, greatest);
            row[at] *= sign;
        }
        for row in a.chunks_exact_mut(n) {
            row.swap(at, greatest);
            row[at] *= sign;
        }
        if s[at] > 0.0 {
            (0..m).for_each(|row| a[row * n + at] /= s[at]);
        } else {
            complete(a, (m, n), at);
        }
    }
}

/// Sets a column to one of unit length at right angles to those before it: that of the axis which they leave the most of.
fn complete(u: &mut [f64], (m, n): (usize, usize), column: usize) {
    let left =
        |u: &[f64], axis: usize| 1.0 - (0..column).map(|j| u[axis * n + j] * u[axis * n + j]).sum::<f64>();
    let axis = (0..m).fold(0, |best, axis| if left(u, axis) > left(u, best) { axis } else { best });
    (0..m).for_each(|row| u[row * n + column] = f64::from(u8::from(row == axis)));
    // Twice, for what rounding left the first time.
    for _ in 0..2 {
        for j in 0..column {
            let along: f64 = (0..m).map(|row| u[row * n + j] * u[row * n + column]).sum();
            (0..m).for_each(|row| u[row * n + column] -= along * u[row * n + j]);
        }
    }
    let length = (0..m).map(|row| u[row * n + column] * u[row * n + column]).sum::<f64>().sqrt();
    (0..m).for_each(|row| u[row * n + column] /= length);
}

/// `u diag(gs) vᵀ` in place of `u`.
pub(super) fn svd_back(u: &mut [f64], v: &[f64], n: usize, gs: &[f64], t: &mut [f64]) {
    for row in u.chunks_exact_mut(n) {
        for j in 0..n {
            t[j] = (0..n).map(|at| row[at] * gs[at] * v[j * n + at]).sum();
        }
        row.copy_from_slice(t);
    }
}
