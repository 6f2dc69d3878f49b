//! Forms of nests that have code of their own: rows on the stack, sums in parts, loops in lockstep,
//! inverses.

use crate::support;

use broadloom_loops::{Binary, Local, Program, Scalar, Statement, Unary};
use broadloom_native::emit;
use support::*;

fn update(local: Local, function: Binary, value: Scalar) -> Statement {
    Statement::Update { local, accumulate: Some(function), value }
}

fn declare(local: Local, value: f64) -> Statement {
    Statement::Declare { local, value: number(value) }
}

/// A softmax that keeps its exponentials; `outer` loops are around the rows.
fn softmax(outer: u64, rows: u64, columns: u64, order: [usize; 3]) -> Program {
    let mut program = Program::default();
    let [o, i, j, k] = program.vars(["outer", "row", "column", "again"]);
    let (sizes, vars) = ([outer, rows, columns], |last| [o, i, last]);
    let x = program.add("x", F32, &sizes, Kept);
    let kept = program.add("exponentials", F32, &order.map(|axis| sizes[axis]), Inner);
    let y = program.add("y", F32, &sizes, Kept);
    let total = program.add_local();
    let held = |last| cell(kept, &order.map(|axis| vars(last)[axis]));
    let body = vec![
        declare(total, 0.0),
        repeat(
            j,
            columns,
            vec![
                store(held(j), one(Unary::Exp, load(x, &vars(j)))),
                update(total, Binary::Add, Scalar::Load(held(j))),
            ],
        ),
        repeat(
            k,
            columns,
            vec![store(cell(y, &vars(k)), two(Binary::Div, Scalar::Load(held(k)), Scalar::Local(total)))],
        ),
    ];
    program.nest("y = softmax(x)", vec![repeat(o, outer, vec![repeat(i, rows, body)])]);
    program
}

#[test]
fn a_row_at_a_time_lies_on_the_stack() {
    let program = softmax(3, 70, 200, [0, 1, 2]);
    let source = emit(&program).unwrap();
    assert!(source.contains("float exponentials[200] __attribute__"), "{source}");
    assert!(source.contains("return 0;\n}\n"), "{source}");
    judge(&program, &[], 1e-5);
    // The rows are columns of the kept buffer: they are not contiguous in memory.
    let program = softmax(3, 70, 200, [0, 2, 1]);
    let source = emit(&program).unwrap();
    assert!(source.contains("float exponentials[14000]"), "{source}");
    judge(&program, &[], 1e-5);
    let program = softmax(2, 3, 100_000, [0, 1, 2]);
    assert!(!emit(&program).unwrap().contains("exponentials[100000]"));
    judge(&program, &[], 1e-4);
}

/// A buffer that the next iteration reads cannot become a row.
#[test]
fn what_is_handed_on_is_not_a_row() {
    let mut program = Program::default();
    let [i, j, k] = program.vars(["i", "j", "k"]);
    let x = program.add("x", F32, &[50, 40], Kept);
    let state = program.add("state", F32, &[51, 40], Inner);
    let next = sums(state, &[(1, &[(1, i)]), (0, &[(1, j)])]);
    let now = Scalar::Load(sums(state, &[(0, &[(1, i)]), (0, &[(1, j)])]));
    let first = two(Binary::Equal, Scalar::Position(broadloom_loops::LoopSum::iterate(i)), number(0.0));
    let before = Scalar::Select(Box::new(first), Box::new(number(0.0)), Box::new(now));
    let after = Scalar::Load(sums(state, &[(1, &[(1, i)]), (0, &[(1, k)])]));
    let body = vec![
        repeat(j, 40, vec![store(next, two(Binary::Add, before, load(x, &[i, j])))]),
        repeat(k, 40, vec![store(cell(x, &[i, k]), after)]),
    ];
    program.nest("running sums", vec![repeat(i, 50, body)]);
    assert!(!emit(&program).unwrap().contains("float state["));
    judge(&program, &[], 1e-5);
}

#[test]
fn sums_of_everything_in_parts() {
    for (function, tolerance) in [(Binary::Add, 1e-4), (Binary::Max, 1e-5), (Binary::Min, 1e-5)] {
        let mut program = Program::default();
        let [i, j] = program.vars(["i", "j"]);
        let x = program.add("x", F32, &[301, 1003], Kept);
        let weights = program.add("weights", F32, &[301], Kept);
        for dtype in [F32, F64] {
            let s = program.add("s", dtype, &[], Kept);
            let body = vec![accumulate(cell(s, &[]), function, load(x, &[i, j]))];
            program.nest("everything", vec![repeat(i, 301, vec![repeat(j, 1003, body)])]);
        }
        let s = program.add("s", F32, &[2], Kept);
        let (total, row) = (program.add_local(), program.add_local());
        let body = vec![
            declare(row, 0.0),
            repeat(j, 1003, vec![update(row, Binary::Add, one(Unary::Abs, load(x, &[i, j])))]),
            store(cell(weights, &[i]), Scalar::Local(row)),
            update(total, function, Scalar::Local(row)),
        ];
        program.nest(
            "of rows",
            vec![
                declare(total, 1.5),
                repeat(i, 301, body),
                store(sums(s, &[(1, &[])]), two(Binary::Div, Scalar::Local(total), number(3.0))),
            ],
        );
        let source = emit(&program).unwrap();
        assert_eq!(
            source.matches("(float *)(arena").count() + source.matches("(double *)(arena").count(),
            2,
            "{source}"
        );
        judge(&program, &[], tolerance);
    }
}

/// A reduction that reads its own intermediate result must stay in order; a product of vectors is
/// divided.
#[test]
fn what_is_not_divided() {
    let mut program = Program::default();
    let [i] = program.vars(["i"]);
    let x = program.add("x", F32, &[200_000], Kept);
    let s = program.add("s", F32, &[], Kept);
    let t = program.add_local();
    // It reads its own intermediate result.
    let value = two(Binary::Mul, Scalar::Local(t), number(-0.5));
    let body = vec![update(t, Binary::Add, two(Binary::Add, value, load(x, &[i])))];
    program.nest(
        "s = filtered",
        vec![declare(t, 0.0), repeat(i, 200_000, body), store(cell(s, &[]), Scalar::Local(t))],
    );
    assert!(!emit(&program).unwrap().contains("partial"));
    judge(&program, &[], 1e-4);
    let mut program = Program::default();
    let [i] = program.vars(["i"]);
    let x = program.add("x", F32, &[200_000], Kept);
    let y = program.add("y", F32, &[200_000], Kept);
    let s = program.add("s", F32, &[], Kept);
    let product = two(Binary::Mul, load(x, &[i]), load(y, &[i]));
    program.nest("s += x y", vec![repeat(i, 200_000, vec![accumulate(cell(s, &[]), Binary::Add, product)])]);
    assert!(emit(&program).unwrap().contains("partial"));
    judge(&program, &[], 1e-4);
}

#[test]
fn sums_over_the_leading_axis_go_side_by_side() {
    for columns in [32, 100, 777] {
        let mut program = Program::default();
        let [i, j] = program.vars(["i", "j"]);
        let x = program.add("x", F32, &[150, columns], Kept);
        let y = program.add("y", F32, &[150, columns], Kept);
        let gain = program.add("gain", F32, &[columns], Kept);
        let bias = program.add("bias", F64, &[columns], Kept);
        let (s, t) = (program.add_local(), program.add_local());
        let step = |local| two(Binary::Mul, Scalar::Local(local), number(0.01));
        let body = vec![
            declare(s, 0.0),
            declare(t, 0.0),
            repeat(
                i,
                150,
                vec![
                    update(s, Binary::Add, two(Binary::Mul, load(x, &[i, j]), load(y, &[i, j]))),
                    update(t, Binary::Add, load(y, &[i, j])),
                ],
            ),
            accumulate(cell(gain, &[j]), Binary::Sub, step(s)),
            accumulate(cell(bias, &[j]), Binary::Sub, step(t)),
        ];
        program.nest("gain, bias", vec![repeat(j, columns, body)]);
        assert!(emit(&program).unwrap().contains("float t0[256];"));
        judge(&program, &[], 1e-5);
    }
}

/// Divisors of every size, including those whose inverse is not a usable number.
#[test]
fn division_by_what_does_not_change() {
    let mut program = Program::default();
    let [i, j] = program.vars(["i", "j"]);
    let divisors = [1.0, -3.0, 1e-40, 1e-45, 3e38, 0.0, f64::INFINITY, f64::NAN, 0.7, 1e-30, 1e30];
    let numbers = [1.0, -2.5, 1e-40, 1e38, 0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-30];
    let rows = divisors.len() as u64;
    let x = program.add("x", F32, &[64], Kept);
    let by = program.add("by", F32, &[rows], Kept);
    let y = program.add("y", F32, &[rows, 64], Kept);
    let quotient = two(Binary::Div, load(x, &[j]), load(by, &[i]));
    program.nest(
        "y = x / by",
        vec![repeat(i, rows, vec![repeat(j, 64, vec![store(cell(y, &[i, j]), quotient)])])],
    );
    assert!(emit(&program).unwrap().contains("f32_over(x[j], by[i], inverse_0)"));
    judge_with(&program, &[], 1e-6, |buffer, id| match id.0 {
        0 => numbers.iter().cycle().take(64).copied().collect(),
        1 => divisors.to_vec(),
        _ => contents(buffer, 1),
    });
}

/// Blocks of a deep model differ in their buffers and loops only.
#[test]
fn equal_nests_share_a_function() {
    let mut program = Program::default();
    let mut from = program.add("x", F32, &[200, 300], Kept);
    for _ in 0..5 {
        let [i, j] = program.vars(["i", "j"]);
        let bias = program.add("bias", F32, &[300], Kept);
        let to = program.add("h", F32, &[200, 300], Kept);
        let value = one(Unary::Tanh, two(Binary::Add, load(from, &[i, j]), load(bias, &[j])));
        program.nest("h", vec![repeat(i, 200, vec![repeat(j, 300, vec![store(cell(to, &[i, j]), value)])])]);
        from = to;
    }
    let source = emit(&program).unwrap();
    assert_eq!(source.matches("\nSHARED void").count(), 1, "{source}");
    judge(&program, &[], 1e-5);
}
