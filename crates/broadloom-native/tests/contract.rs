//! Contractions, in every role that loops can play, against the reference evaluator.

use crate::support;

use broadloom_loops::{Binary, BufferId, Cell, Local, LoopVar, Program, Scalar, Statement, Unary};
use support::*;

fn product(a: Cell, b: Cell) -> Scalar {
    two(Binary::Mul, Scalar::Load(a), Scalar::Load(b))
}

fn within(loops: &[(LoopVar, u64)], body: Vec<Statement>) -> Vec<Statement> {
    loops.iter().rev().fold(body, |body, (var, extent)| vec![repeat(*var, *extent, body)])
}

/// The number of nests of a program that use the kernel.
fn kernels(program: &Program) -> usize {
    let source = broadloom_native::emit(program).expect("it is in order");
    source.matches("    run_f32(parallel").count() + source.matches("    run_f64(parallel").count()
}

/// `c = a · b` with each operand and the result transposed or not, in loops and with a variable.
#[test]
fn matrix_products_in_all_layouts() {
    let (m, n, k) = (37, 50, 29);
    let mut program = Program::default();
    let [i, j, p] = program.vars(["i", "j", "k"]);
    for turns in 0..8 {
        let turned = |bit: u32, rows: (u64, LoopVar), columns: (u64, LoopVar)| {
            if turns >> bit & 1 == 1 { [columns, rows] } else { [rows, columns] }
        };
        let mut add = |name: &str, axes: [(u64, LoopVar); 2]| {
            let id = program.add(name, F32, &axes.map(|(size, _)| size), Kept);
            cell(id, &axes.map(|(_, var)| var))
        };
        let a = add("a", turned(0, (m, i), (k, p)));
        let b = add("b", turned(1, (k, p), (n, j)));
        let c = add("c", turned(2, (m, i), (n, j)));
        let body = vec![accumulate(c.clone(), Binary::Add, product(a.clone(), b.clone()))];
        program.nest("c += a b", within(&[(i, m), (p, k), (j, n)], body));
        let t = program.add_local();
        let sum = Statement::Update { local: t, accumulate: Some(Binary::Add), value: product(b, a) };
        let body = vec![
            Statement::Declare { local: t, value: number(0.0) },
            repeat(p, k, vec![sum]),
            store(c, Scalar::Local(t)),
        ];
        program.nest("c = a b", within(&[(j, n), (i, m)], body));
    }
    assert_eq!(kernels(&program), 16);
    judge(&program, &[], 2e-5);
}

#[test]
fn types_of_operands() {
    for (a, b, c) in [
        (F64, F64, F64),
        (F32, F64, F32),
        (Bf16, Bf16, F32),
        (F16, Bf16, Bf16),
        (F32, F32, F16),
        (F64, F16, F64),
    ] {
        let mut program = Program::default();
        let [i, j, k] = program.vars(["i", "j", "k"]);
        let x = program.add("x", a, &[20, 33], Kept);
        let y = program.add("y", b, &[33, 40], Kept);
        let z = program.add("z", c, &[20, 40], Kept);
        let t = program.add_local();
        let sum = Statement::Update {
            local: t,
            accumulate: Some(Binary::Add),
            value: product(cell(x, &[i, k]), cell(y, &[k, j])),
        };
        let body = vec![
            Statement::Declare { local: t, value: number(0.0) },
            repeat(k, 33, vec![sum]),
            store(cell(z, &[i, j]), Scalar::Local(t)),
        ];
        program.nest("z = x y", within(&[(i, 20), (j, 40)], body));
        assert_eq!(kernels(&program), 1);
        judge(&program, &[], 2e-5);
    }
}

#[test]
fn batches() {
    let mut program = Program::default();
    let [b, h, i, j, k] = program.vars(["b", "h", "i", "j", "k"]);
    let q = program.add("q", F32, &[3, 20, 4, 16], Kept);
    let keys = program.add("keys", F32, &[3, 20, 4, 16], Kept);
    let scores = program.add("scores", F32, &[3, 4, 20, 20], Kept);
    let values = program.add("values", F32, &[3, 20, 4, 16], Kept);
    let loops = [(b, 3), (h, 4), (i, 20), (j, 20), (k, 16)];
    let value = two(Binary::Mul, number(0.25), product(cell(q, &[b, i, h, k]), cell(keys, &[b, j, h, k])));
    program.nest("scores", within(&loops, vec![accumulate(cell(scores, &[b, h, i, j]), Binary::Add, value)]));
    let value = product(cell(scores, &[b, h, i, j]), cell(keys, &[b, j, h, k]));
    program.nest("values", within(&loops, vec![accumulate(cell(values, &[b, i, h, k]), Binary::Sub, value)]));
    assert_eq!(kernels(&program), 2);
    judge(&program, &[], 2e-5);
}

/// A convolution over padded images and its gradients: the one for the images is a scatter.
#[test]
fn convolutions() {
    let (size, kernel, channels, filters) = (9, 3, 5, 8);
    for (stride, dilation) in [(1i64, 1i64), (2, 1), (1, 2)] {
        let out = ((size as i64 + 2 - dilation * (kernel as i64 - 1) - 1) / stride + 1) as u64;
        let mut program = Program::default();
        let [n, y, x, ky, kx, c, o] = program.vars(["n", "y", "x", "ky", "kx", "c", "o"]);
        let margins = [(0, 0), (1, 1), (1, 1), (0, 0)];
        let images = program.add_padded("images", &[2, size, size, channels], &margins, 0.0, Kept);
        let weights = program.add("weights", F32, &[kernel, kernel, channels, filters], Kept);
        let maps = program.add("maps", F32, &[2, out, out, filters], Kept);
        let images_grad = program.add_padded("images'", &[2, size, size, channels], &margins, 0.0, Kept);
        let weights_grad = program.add("weights'", F32, &[kernel, kernel, channels, filters], Kept);
        let window = |buffer: BufferId| {
            sums(
                buffer,
                &[
                    (0, &[(1, n)]),
                    (-1, &[(stride, y), (dilation, ky)]),
                    (-1, &[(stride, x), (dilation, kx)]),
                    (0, &[(1, c)]),
                ],
            )
        };
        let loops = [(n, 2), (y, out), (x, out), (ky, kernel), (kx, kernel), (c, channels), (o, filters)];
        let filter = |buffer| cell(buffer, &[ky, kx, c, o]);
        let map = |buffer| cell(buffer, &[n, y, x, o]);
        let add = |to, a, b| within(&loops, vec![accumulate(to, Binary::Add, product(a, b))]);
        program.nest("maps", add(map(maps), window(images), filter(weights)));
        program.nest("weights'", add(filter(weights_grad), window(images), map(maps)));
        program.nest("images'", add(window(images_grad), map(maps), filter(weights)));
        assert_eq!(kernels(&program), 3);
        judge(&program, &[], 3e-5);
    }
}

#[test]
fn starts_finishes_and_factors() {
    let mut program = Program { symbols: vec!["scale".into(), "row".into()], ..Program::default() };
    let [i, j, k] = program.vars(["i", "j", "k"]);
    let x = program.add("x", F32, &[24, 30], Kept);
    let w = program.add("w", F32, &[3, 30, 40], Kept);
    let bias = program.add("bias", F32, &[40], Kept);
    let v = program.add("v", F32, &[30, 40], Kept);
    let rate = program.add("rate", F32, &[], Kept);
    let y = program.add("y", F32, &[24, 40], Kept);
    let z = program.add("z", F32, &[24, 40], Kept);
    let t: Local = program.add_local();
    let slice = Cell {
        buffer: w,
        index: vec![
            broadloom_loops::Index::Symbol(1),
            broadloom_loops::Index::At(broadloom_loops::LoopSum::iterate(k)),
            broadloom_loops::Index::At(broadloom_loops::LoopSum::iterate(j)),
        ],
    };
    let sum = Statement::Update {
        local: t,
        accumulate: Some(Binary::Add),
        value: product(cell(x, &[i, k]), slice.clone()),
    };
    let body = vec![
        Statement::Declare { local: t, value: load(bias, &[j]) },
        repeat(k, 30, vec![sum]),
        store(cell(y, &[i, j]), two(Binary::Max, Scalar::Local(t), load(bias, &[j]))),
    ];
    program.nest("y = max(x w + bias, bias)", within(&[(i, 24), (j, 40)], body));
    let scaled = two(
        Binary::Mul,
        product(cell(x, &[i, k]), slice),
        two(Binary::Mul, load(rate, &[]), Scalar::Symbol(0)),
    );
    let body = vec![accumulate(cell(z, &[i, j]), Binary::Sub, two(Binary::Div, scaled, number(4.0)))];
    program.nest("z -= rate x w", within(&[(k, 30), (i, 24), (j, 40)], body));
    // A sum that is multiplied where it ends up.
    let last = |of: Scalar| two(Binary::Mul, load(rate, &[]), two(Binary::Mul, of, number(-0.5)));
    let sum = Statement::Update {
        local: t,
        accumulate: Some(Binary::Add),
        value: product(cell(x, &[i, k]), cell(v, &[k, j])),
    };
    for function in [None, Some(Binary::Add), Some(Binary::Sub)] {
        let result =
            Statement::Store { cell: cell(z, &[i, j]), accumulate: function, value: last(Scalar::Local(t)) };
        let begin = Statement::Declare { local: t, value: number(0.0) };
        let body = vec![begin, repeat(k, 30, vec![sum.clone()]), result];
        program.nest("z with rate x v", within(&[(i, 24), (j, 40)], body));
    }
    assert_eq!(kernels(&program), 5);
    judge(&program, &[3, 2], 2e-5);
}

/// Nests that look like a contraction but are none, or for which the kernel does not pay off.
#[test]
fn what_stays_with_loops() {
    let mut program = Program::default();
    let [i, j, k] = program.vars(["i", "j", "k"]);
    let a = program.add("a", F32, &[30, 30], Kept);
    let b = program.add("b", F32, &[30, 30], Kept);
    let whole = program.add("whole", I32, &[30, 30], Kept);
    let c = program.add("c", F32, &[30, 30], Kept);
    let loops = [(i, 30), (j, 30), (k, 30)];
    let mut add = |to: Cell, value: Scalar| {
        program.nest("add", within(&loops, vec![accumulate(to, Binary::Add, value)]));
    };
    let (left, right) = (cell(a, &[i, k]), cell(b, &[k, j]));
    add(cell(c, &[i, j]), product(cell(c, &[i, k]), right.clone()));
    add(cell(c, &[i, j]), product(cell(whole, &[i, k]), right.clone()));
    add(cell(c, &[i, j]), one(Unary::Abs, product(left.clone(), right.clone())));
    add(cell(c, &[i, j]), two(Binary::Mul, product(left.clone(), right.clone()), load(a, &[i, j])));
    add(cell(c, &[i, j]), Scalar::Load(left));
    program.nests[0].body = within(&[(k, 1)], program.nests[0].body.clone());
    program.nests.remove(0);
    assert_eq!(kernels(&program), 0);
    judge(&program, &[], 2e-5);
}

/// A sum of one operand over loops of its own, and a result that is repeated along others.
#[test]
fn loops_of_one_operand_only() {
    let mut program = Program::default();
    let [i, j, k, l, m] = program.vars(["i", "j", "k", "only_a", "only_c"]);
    let a = program.add("a", F32, &[20, 16, 3], Kept);
    let b = program.add("b", F32, &[16, 24], Kept);
    let c = program.add("c", F32, &[20, 24, 2], Kept);
    let value = product(cell(a, &[i, k, l]), cell(b, &[k, j]));
    let loops = [(i, 20), (j, 24), (k, 16), (l, 3), (m, 2)];
    program.nest("c", within(&loops, vec![accumulate(cell(c, &[i, j, m]), Binary::Add, value)]));
    judge(&program, &[], 2e-5);
}

#[test]
fn vectors_and_large_products() {
    let mut program = Program::default();
    let [i, j, k] = program.vars(["i", "j", "k"]);
    let a = program.add("a", F32, &[300, 200], Kept);
    let b = program.add("b", F32, &[200, 150], Kept);
    let c = program.add("c", F32, &[300, 150], Kept);
    let v = program.add("v", F32, &[200], Kept);
    let w = program.add("w", F32, &[300], Kept);
    let u = program.add("u", F32, &[150], Kept);
    let add = |to, a, b| vec![accumulate(to, Binary::Add, product(a, b))];
    program.nest(
        "c",
        within(&[(i, 300), (j, 150), (k, 200)], add(cell(c, &[i, j]), cell(a, &[i, k]), cell(b, &[k, j]))),
    );
    program.nest("w", within(&[(i, 300), (k, 200)], add(cell(w, &[i]), cell(a, &[i, k]), cell(v, &[k]))));
    program.nest("u", within(&[(j, 150), (k, 200)], add(cell(u, &[j]), cell(v, &[k]), cell(b, &[k, j]))));
    judge(&program, &[], 1e-4);
}

/// Blocks that repeat share one plan and one function.
#[test]
fn repeated_blocks_share_code() {
    let mut program = Program::default();
    let [i, j, k] = program.vars(["i", "j", "k"]);
    let mut last = program.add("x", F32, &[16, 16], Kept);
    for layer in 0..6 {
        let w = program.add(&format!("w{layer}"), F32, &[16, 16], Kept);
        let h = program.add(&format!("h{layer}"), F32, &[16, 16], Inner);
        let y = program.add(&format!("y{layer}"), F32, &[16, 16], if layer == 5 { Kept } else { Inner });
        program.nest("clear", vec![Statement::Fill { buffer: h, value: 0.0 }]);
        let body =
            vec![accumulate(cell(h, &[i, j]), Binary::Add, product(cell(last, &[i, k]), cell(w, &[k, j])))];
        program.nest(&format!("h{layer} = y w{layer}"), within(&[(i, 16), (j, 16), (k, 16)], body));
        let body = vec![store(cell(y, &[i, j]), one(Unary::Tanh, load(h, &[i, j])))];
        program.nest(&format!("y{layer} = tanh(h{layer})"), within(&[(i, 16), (j, 16)], body));
        last = y;
    }
    let source = broadloom_native::emit(&program).unwrap();
    assert_eq!(source.matches("static contraction contraction_").count(), 1);
    assert_eq!(source.matches("NEST void nest_").count(), 2, "{source}");
    judge(&program, &[], 1e-4);
}

#[test]
fn types_of_64_bits_meet_32_bits() {
    let mut program = Program::default();
    let [i, j, k] = program.vars(["i", "j", "k"]);
    for dtype in [F32, F64] {
        let a = program.add("a", dtype, &[20, 20], Kept);
        let c = program.add("c", dtype, &[20, 20], Kept);
        let body =
            vec![accumulate(cell(c, &[i, j]), Binary::Add, product(cell(a, &[i, k]), cell(a, &[j, k])))];
        program.nest("c", within(&[(i, 20), (j, 20), (k, 20)], body));
    }
    assert_eq!(kernels(&program), 2);
    judge(&program, &[], 2e-5);
}
