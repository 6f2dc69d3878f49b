//! Functions along an axis and of matrices, compared with golden values.

use broadloom::{Backend, Dtype};

use super::golden::{array, check_by, close, compiled, found, run_by, sizes_of};

#[test]
fn along_an_axis() {
    let cases = [
        ("flip", "flip(\"... | t, ...\")(x)"),
        ("flip_batch", "flip(\"t | ...\")(x)"),
        ("roll", "roll(\"... | t, ...\", 2)(x)"),
        ("roll_back", "roll(\"... | t, ...\", -12)(x)"),
        ("pad", "pad(\"... | t, ...\", 1, 2, value = 9)(x)"),
        ("pad_edge", "pad_edge(\"... | ..., t\", 2, 1)(x)"),
        ("pad_reflect", "pad_reflect(\"... | t, ...\", 3, 9)(x)"),
        ("tril", "tril(x, 1)"),
        ("triu", "triu(x)"),
        ("sort", "sort(\"... | t, ...\")(x)"),
        ("sort_descending", "sort(\"... | t, ...\", descending = true)(x)"),
        ("topk", "topk(\"... | t, ...\", 3)(x)[0]"),
        ("interleave", "interleave(\"... | t, ...\")(x, flip(\"... | t, ...\")(x))"),
    ];
    for (name, call) in cases {
        let text = format!("data x : ... | _, _ = load(\"CASE\", \"x\")\nlet y = {call}");
        for backend in [Backend::Reference, Backend::Native] {
            check_by(backend, name, &text, &[("x", "x")]);
        }
    }
}

#[test]
fn functions_of_matrices() {
    let cases = [
        ("inverse", "inverse(a) # matrix"),
        ("det", "det(a) # flat"),
        ("det_singular", "det(a) # flat"),
        ("logdet", "logdet(a) # flat"),
        ("cholesky", "cholesky(a) # matrix"),
        ("qr", "concat(qr(a)[0], qr(a)[1]) # matrix"),
        ("qr_square", "concat(qr(a)[0], qr(a)[1]) # matrix"),
        ("qr_wide", "concat(transpose(qr(a)[0]), transpose(qr(a)[1])) # matrix"),
        ("eigenvalues", "eigh(a)[0]"),
        ("eigenvectors", "eigh(a)[1] # matrix"),
        ("singular_values", "svd(a)[1]"),
        ("singular_values_wide", "svd(a)[1]"),
    ];
    for backend in [Backend::Reference, Backend::Native] {
        for (name, call) in cases {
            let text = format!("data a : ... | _ -> _ = load(\"CASE\", \"a\")\nlet y = {call}");
            check_by(backend, name, &text, &[("a", "a")]);
        }
        let both = "data a : ROWS _ -> _ = load(\"CASE\", \"a\")\ndata b : ... | COLUMNS _ = load(\"CASE\", \"b\")\n";
        let (matrices, vectors) = (both.replace("COLUMNS", "_ ->"), both.replace("COLUMNS", ""));
        let text = format!("{}let y = solve(a, b) # matrix", matrices.replace("ROWS", "... |"));
        check_by(backend, "solve", &text, &[("a", "a"), ("b", "b")]);
        for name in ["lstsq", "lstsq_wide"] {
            check_by(backend, name, &text.replace("solve", "lstsq"), &[("a", "a"), ("b", "b")]);
        }
        let text = format!("{}let y = solve(a, b)", vectors.replace("ROWS", ""));
        check_by(backend, "solve_vectors", &text, &[("a", "a"), ("b", "b")]);
    }
}

#[test]
fn products_with_zeros() {
    let text = "data x : ... | _ = load(\"CASE\", \"x\")\nlet y = product(\"b | n => b |\", x)\n# flat";
    for backend in [Backend::Reference, Backend::Native] {
        check_by(backend, "product", text, &[("x", "x")]);
    }
}

#[test]
fn places_among_sorted_numbers() {
    let text = "data edges : _ = load(\"searchsorted.npz\", \"edges\")
data x : _ = load(\"searchsorted.npz\", \"x\")
let left, right = [searchsorted(\"t\")(edges, x), searchsorted(\"t\", right = true)(edges, x)]
print left, right";
    for backend in [Backend::Reference, Backend::Native] {
        let program = compiled(text);
        let both = ["left", "right"].map(|name| found(&program, name));
        let (mut session, _) = run_by(backend, program, Vec::new());
        for (tensor, key) in both.into_iter().zip(["left", "right"]) {
            close(key, &session.get(tensor).unwrap().to_f64s(), &array("searchsorted", key).to_f64s());
        }
    }
}

#[test]
fn places_of_the_greatest_and_the_least() {
    let sizes = sizes_of("argmax", "x");
    let [_, rows, columns] = sizes.split(", ").collect::<Vec<_>>()[..] else { panic!("three axes") };
    let named = format!("dim t in 2..99 = {rows}\ndim c in 1..9 = {columns}\n");
    for (dims, shape) in [("", "... | _, _"), (&*named, "... | t, c")] {
        for dtype in ["f32", "f16", "i32"] {
            let text = format!(
                "{dims}data x : {shape} as {dtype} = load(\"argmax.npz\", \"x\")
let argmax_0, argmin_0 = [argmax(\"t | ...\", x), argmin(\"t | ...\", x)]
let argmax_1, argmin_1 = [argmax(\"... | t, ...\", x), argmin(\"b | i j => b | j\", x)]
let argmax_2, argmin_2 = [argmax(x), argmin(\"... | ..., t\", x)]
print argmax_0, argmin_0, argmax_1, argmin_1, argmax_2, argmin_2"
            );
            for backend in [Backend::Reference, Backend::Native] {
                let program = compiled(&text);
                let keys = ["argmax_0", "argmin_0", "argmax_1", "argmin_1", "argmax_2", "argmin_2"];
                let places = keys.map(|name| found(&program, name));
                let (mut session, _) = run_by(backend, program, Vec::new());
                for (tensor, key) in places.into_iter().zip(keys) {
                    let made = session.get(tensor).unwrap();
                    assert_eq!(made.dtype(), Dtype::I64, "{key} of {dtype}");
                    close(key, &made.to_f64s(), &array("argmax", key).to_f64s());
                }
            }
        }
    }
}
