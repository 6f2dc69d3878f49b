//! Functions of matrices on XLA: the programs of the language's own suite, and batches of random matrices with all gradients, from short and from
//! long floats.

use std::path::Path;

use broadloom::Dtype;
use libtest_mimic::{Failed, Trial};

use super::{compiled, in_file, same_values};

/// Programs with random matrices. All that has a name is compared, and the gradients that are printed: each `print` is one more module to
/// compile.
const CASES: &[(&str, &str)] = &[
    (
        "equations",
        "let a = {a : 3, 2 | 5 -> 5 = normal(1)}
let b = {b : 3, 2 | 5 = normal(1)}
let c = {c : 4 -> 5 = normal(1)}
let x, y = [solve(a, b), solve(a, c)]
let i, d, l = [inverse(a), det(a), logdet(a)]
let loss = sum(square(x)) + sum(tanh(y)) + sum(tanh(i)) + sum(square(d)) + sum(square(l))
backward loss
print a.grad, b.grad, c.grad
",
    ),
    (
        "one_matrix_for_all",
        "let a = {a : 4 -> 4 = normal(1)}
let b = {b : 6 | 4 = normal(1)}
let x = solve(a, b) + lstsq(a, b)
backward sum(square(x))
print a.grad, b.grad
",
    ),
    (
        "cofactors",
        "data a : 5 | 3 -> 3 = [[[0, 2, 1], [1, 0, 0], [3, 1, 2]], [[1, 2, 3], [2, 4, 6], [1, 0, 1]], [[1, 2, 3], [2, 4, 6], [3, 6, 9]], \
[[0, 0, 0], [0, 0, 0], [0, 0, 0]], [[2, 0, 0], [0, 0, 0], [0, 0, 4]]]
data one : 2 | 1 -> 1 = [[[0]], [[3]]]
data two : 2 | 2 -> 2 = [[[0, 2], [0, 0]], [[1, 1], [1, 1]]]
backward sum(square(det(a) - 1)) + sum(det(one)) + sum(det(two))
print a.grad, one.grad, two.grad
",
    ),
    (
        "factors",
        "let a = {a : 3 | 6 -> 6 = normal(1)}
let l = cholesky(a @ transpose(a) + 0.5)
let w = cholesky(einsum(\"... | i -> j => ... | i -> j\", a) @ transpose(a))
backward sum(tanh(l)) + sum(w * [1, 2, 3, 4, 5, 6])
print a.grad
",
    ),
    (
        "reflections",
        "let a = {a : 2 | 3 -> 5 = normal(1)}
let b = {b : 2 | 5 -> 3 = normal(1)}
let c = {c : 4 -> 4 = normal(1)}
let q, r = qr(a)
let p, s = qr(b)
let u, t = qr(c)
backward sum(tanh(q)) + sum(square(r)) + sum(tanh(p)) + sum(tanh(s)) + sum(u * t)
print a.grad, b.grad, c.grad
",
    ),
    (
        "least_squares",
        "let a = {a : 3 | 2 -> 6 = normal(1)}
let b = {b : 3 | 6 -> 2 = normal(1)}
let y = {y : 3 | 6 = normal(1)}
let z = {z : 4 -> 2 = normal(1)}
let x, w = [lstsq(a, y), lstsq(b, z)]
backward sum(square(x)) + sum(tanh(w))
print a.grad, b.grad, y.grad, z.grad
",
    ),
    (
        "no_full_rank",
        "data a : 3 | 2 -> 3 = [[[1, 0], [0, 0], [0, 0]], [[1, 2], [3, 4], [5, 7]], [[0, 0], [0, 0], [0, 0]]]
data b : 2 | 3 -> 2 = [[[1, 0, 2], [0, 0, 0]], [[1, 2, 3], [4, 5, 7]]]
let q, r = qr(a)
let p, s = qr(b)
let u, t, v = svd(a)
let k, l, m = svd(b)
let x, y = [lstsq(a, [1, 2, 3]), lstsq(b, [1, 2])]
",
    ),
    (
        "eigenvectors",
        "let a = {a : 2, 2 | 7 -> 7 = normal(1)}
let b = {b : 8 -> 8 = normal(1)}
let values, vectors = eigh(a)
let others, lines = eigh(b)
backward sum(square(values)) + sum(tanh(vectors)) + sum(others * [1, 2, 3, 4, 5, 6, 7, 8]) + sum(square(lines) * [1, 2, 3, 4, 5, 6, 7, 8])
print a.grad, b.grad
",
    ),
    (
        "equal_eigenvalues",
        "data a : 4 | 3 -> 3 = [[[2, 0, 0], [0, 2, 0], [0, 0, 1]], [[0, 0, 0], [0, 0, 0], [0, 0, 0]], [[2, 1, 0], [1, 2, 0], [0, 0, 5]], \
[[1, 0, 0], [0, -1, 0], [0, 0, 1]]]
data b : 4 | 1 -> 1 = [[[1]], [[-2]], [[0]], [[4]]]
let values, vectors = eigh(a)
let w, v = eigh(b)
backward sum(values ** 3) + sum(w * v)
print a.grad, b.grad
",
    ),
    (
        // Elements of a vector have equal magnitudes, up to rounding.
        "equal_magnitudes",
        "data a : 4 -> 4 = [[1, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 1]]
data b : 7 -> 7 = [[2, -1, 0, 0, 0, 0, 0], [-1, 2, -1, 0, 0, 0, 0], [0, -1, 2, -1, 0, 0, 0], [0, 0, -1, 2, -1, 0, 0], \
[0, 0, 0, -1, 2, -1, 0], [0, 0, 0, 0, -1, 2, -1], [0, 0, 0, 0, 0, -1, 2]]
let values, vectors = eigh(a)
let others, lines = eigh(b)
let u, s, v = svd(b)
",
    ),
    (
        "singular_vectors",
        "let a = {a : 3 | 4 -> 9 = normal(1)}
let b = {b : 2 | 9 -> 5 = normal(1)}
let c = {c : 6 -> 6 = normal(1)}
let d = {d : 1 -> 4 = normal(1)}
let u, s, v = svd(a)
let k, l, m = svd(b)
let x, y, z = svd(c)
let e, f, g = svd(d)
backward sum(square(s)) + sum(tanh(l)) + sum(y) + sum(f)
print a.grad, b.grad, c.grad, d.grad
",
    ),
    (
        "not_finite",
        "data d : 4 | 3 -> 3 = [[[1, 2, 3], [2, 4, 1], [5, 1, 9]], [[0, 1, 2], [1, 3, 2], [2, 4, 5]], [[1, 2, 3], [2, -1, 3], [2, 5, 6]], \
[[1, 0, 3], [2, 2, 1], [2, 1, 7]]]
let a = log(d)
let w, x = eigh(a)
let q, r = qr(a)
let u, s, v = svd(a)
let e, f, g, h = [det(a), logdet(a), inverse(a), cholesky(a)]
let k, l = [solve(a, [1, 2, 3]), lstsq(a, [1, 2, 3])]
",
    ),
];

/// The programs of a document of cases, with their headings.
fn programs_of(text: &str) -> Vec<(String, String)> {
    let program = |section: &str| {
        let heading = section.lines().next()?.trim().replace([' ', ':', '`', ','], "_");
        let (_, behind) = section.split_once("```loom\n")?;
        Some((heading, behind.split("```").next()?.to_owned()))
    };
    text.split("\n## ").skip(1).filter_map(program).collect()
}

/// Runs a program that must be right. Elements of matrices are 64-bit floats, whatever the type of tensors is.
fn same_numbers(name: &str, text: &str, precision: Dtype) -> Result<(), String> {
    let file = in_file(name, text)?;
    if !compiled(&file, precision)?.is_ok() {
        return Err("the program has mistakes".into());
    }
    same_values(&file, precision)
}

/// A trial for every program that is right: those of the suite in short floats, the others in long ones.
pub fn trials(missing: bool) -> Vec<Trial> {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../broadloom-lang/tests/suite/matrices.md");
    let suite = std::fs::read_to_string(suite).expect("the suite of the language");
    let right = programs_of(&suite).into_iter().filter(|(name, _)| !name.starts_with("Mistake"));
    let cases = CASES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let all = right.map(|case| (case, Dtype::F32)).chain(cases.map(|case| (case, Dtype::F64)));
    let trial = |((name, text), precision): ((String, String), Dtype)| {
        let title = format!("xla::matrices::{name}");
        let run = move || same_numbers(&name, &text, precision).map_err(Failed::from);
        Trial::test(title, run).with_ignored_flag(missing)
    };
    all.map(trial).collect()
}
