//! Compiled programs against the reference evaluator: each kind of statement, number and address.

use crate::support;

use broadloom_loops::reference::Stop;
use broadloom_loops::{
    Binary, BufferId, Cell, Dtype, Index, LoopSum, LoopVar, Program, Scalar, Statement, Unary,
};
use support::*;

/// `z = f(x, y)` for each function, in one program.
fn functions(dtype: Dtype) -> Program {
    let mut program = Program::default();
    let [i] = program.vars(["i"]);
    let x = program.add("x", dtype, &[103], Kept);
    let y = program.add("y", dtype, &[103], Kept);
    for function in Unary::ALL.iter().copied() {
        let name = function.name();
        let z = program.add(name, dtype, &[103], Kept);
        program.nest(name, vec![repeat(i, 103, vec![store(cell(z, &[i]), one(function, load(x, &[i])))])]);
    }
    for function in Binary::ALL.iter().copied() {
        let name = function.name();
        let z = program.add(&format!("x {name} y"), dtype, &[103], Kept);
        let a = if function == Binary::Pow { one(Unary::Abs, load(x, &[i])) } else { load(x, &[i]) };
        let value = two(function, a, load(y, &[i]));
        program.nest(name, vec![repeat(i, 103, vec![store(cell(z, &[i]), value)])]);
    }
    program
}

#[test]
fn functions_of_32_bit_floats() {
    judge(&functions(F32), &[], 3e-6);
}

#[test]
fn functions_of_64_bit_floats() {
    judge(&functions(F64), &[], 1e-13);
}

#[test]
fn special_numbers_go_through_functions() {
    for dtype in [F32, F64] {
        let special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            0.5,
            -0.5,
            1.5,
            2.5,
            100.0,
            -100.0,
        ];
        let program = functions(dtype);
        judge_with(&program, &[], 3e-6, |buffer, id| {
            let pick = |at: usize| {
                special[if id.0 == 0 { at % special.len() } else { at / special.len() % special.len() }]
            };
            (0..buffer.sizes[0].get() as usize).map(pick).collect()
        });
    }
}

/// Every type is read and written, by itself and together with another.
#[test]
fn types_convert() {
    let mut program = Program::default();
    let [i] = program.vars(["i"]);
    let sources: Vec<BufferId> =
        Dtype::ALL.iter().map(|dtype| program.add(dtype.name(), *dtype, &[65], Kept)).collect();
    for from in &sources {
        for dtype in Dtype::ALL {
            let to = program.add("to", dtype, &[65], Kept);
            let scaled = two(Binary::Mul, load(*from, &[i]), number(3.3));
            program.nest("convert", vec![repeat(i, 65, vec![store(cell(to, &[i]), scaled.clone())])]);
            program.nest("add", vec![repeat(i, 65, vec![accumulate(cell(to, &[i]), Binary::Add, scaled)])]);
        }
    }
    judge(&program, &[], 1e-5);
}

#[test]
fn floats_become_integers_towards_zero_and_within_range() {
    let mut program = Program::default();
    let [i] = program.vars(["i"]);
    let (x, short) = (program.add("x", F64, &[16], Kept), program.add("short", F32, &[16], Kept));
    for (dtype, from) in Dtype::ALL.into_iter().flat_map(|dtype| [(dtype, x), (dtype, short)]) {
        let to = program.add("to", dtype, &[16], Kept);
        program.nest("convert", vec![repeat(i, 16, vec![store(cell(to, &[i]), load(from, &[i]))])]);
    }
    let numbers = [
        1e30,
        -1e30,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -2.9,
        2.9,
        1e12,
        255.5,
        256.0,
        -128.9,
        -129.0,
        32767.5,
        -0.9,
        1e-40,
        -0.0,
    ];
    judge_with(
        &program,
        &[],
        0.0,
        |buffer, id| if id.0 <= 1 { numbers.to_vec() } else { contents(buffer, 1) },
    );
}

#[test]
fn every_accumulation() {
    for dtype in [F32, F64, I32, Dtype::Bool, Dtype::U8, Dtype::I8, Dtype::I16] {
        let mut program = Program::default();
        let [i, j] = program.vars(["i", "j"]);
        let x = program.add("x", dtype, &[5, 200], Kept);
        for function in Binary::ALL.iter().copied() {
            let name = function.name();
            if function == Binary::Mod {
                continue;
            }
            let value = two(Binary::Add, load(x, &[i, j]), number(1.5));
            for by_rows in [false, true] {
                let (size, kept_var) = if by_rows { (5, i) } else { (200, j) };
                let s = program.add(name, dtype, &[size], Kept);
                let body = vec![accumulate(cell(s, &[kept_var]), function, value.clone())];
                program.nest(name, vec![repeat(i, 5, vec![repeat(j, 200, body)])]);
            }
        }
        judge(&program, &[], 2e-5);
    }
}

#[test]
fn sums_over_everything() {
    let mut program = Program::default();
    let [i, j] = program.vars(["i", "j"]);
    let x = program.add("x", F32, &[50, 70], Kept);
    for (function, name) in
        [(Binary::Add, "sum"), (Binary::Max, "max"), (Binary::Min, "min"), (Binary::Sub, "minus")]
    {
        let s = program.add(name, F32, &[], Kept);
        let body = vec![accumulate(cell(s, &[]), function, load(x, &[i, j]))];
        program.nest(name, vec![repeat(i, 50, vec![repeat(j, 70, body)])]);
    }
    judge(&program, &[], 1e-5);
}

#[test]
fn not_a_number_survives_a_maximum() {
    let mut program = Program::default();
    let [i] = program.vars(["i"]);
    let x = program.add("x", F32, &[300], Kept);
    for function in [Binary::Max, Binary::Min] {
        let s = program.add("s", F32, &[], Kept);
        program
            .nest("extreme", vec![repeat(i, 300, vec![accumulate(cell(s, &[]), function, load(x, &[i]))])]);
    }
    judge_with(&program, &[], 0.0, |buffer, id| {
        let mut numbers = contents(buffer, 3);
        if id.0 == 0 {
            numbers[131] = f64::NAN;
        }
        numbers
    });
}

/// `let m = …; for …; …`: a softmax over rows, as the optimiser writes it.
fn softmax(rows: u64, columns: u64) -> Program {
    let mut program = Program::default();
    let [i, j, k, l] = program.vars(["row", "column", "column", "column"]);
    let x = program.add("x", F32, &[rows, columns], Kept);
    let y = program.add("y", F32, &[rows, columns], Kept);
    let (greatest, total) = (program.add_local(), program.add_local());
    let shifted = |var| one(Unary::Exp, two(Binary::Sub, load(x, &[i, var]), Scalar::Local(greatest)));
    let update = |local, function, value| Statement::Update { local, accumulate: Some(function), value };
    let body = vec![
        Statement::Declare { local: greatest, value: number(f64::NEG_INFINITY) },
        repeat(j, columns, vec![update(greatest, Binary::Max, load(x, &[i, j]))]),
        Statement::Declare { local: total, value: number(0.0) },
        repeat(k, columns, vec![update(total, Binary::Add, shifted(k))]),
        repeat(l, columns, vec![store(cell(y, &[i, l]), two(Binary::Div, shifted(l), Scalar::Local(total)))]),
    ];
    program.nest("y = softmax(x)", vec![parallel(i, rows, body)]);
    program
}

#[test]
fn trees_with_variables() {
    judge(&softmax(40, 333), &[], 1e-5);
    judge(&softmax(3, 1), &[], 1e-5);
}

#[test]
fn variables_are_set_and_declared_again() {
    let mut program = Program::default();
    let [i, j] = program.vars(["i", "j"]);
    let x = program.add("x", F32, &[10, 4], Kept);
    let y = program.add("y", F32, &[10], Kept);
    let t = program.add_local();
    let declare = |value| Statement::Declare { local: t, value };
    let body = vec![
        declare(number(1.0)),
        repeat(
            j,
            4,
            vec![Statement::Update { local: t, accumulate: Some(Binary::Sub), value: load(x, &[i, j]) }],
        ),
        Statement::Update {
            local: t,
            accumulate: None,
            value: two(Binary::Mul, Scalar::Local(t), number(2.0)),
        },
        declare(two(Binary::Add, Scalar::Local(t), number(1.0))),
        store(cell(y, &[i]), Scalar::Local(t)),
    ];
    program.nest("t", vec![repeat(i, 10, body)]);
    judge(&program, &[], 1e-5);
}

#[test]
fn margins_are_read_filled_and_kept() {
    let mut program = Program::default();
    let [i, k] = program.vars(["i", "k"]);
    let x = program.add_padded("x", &[20], &[(1, 2)], 0.5, Kept);
    let hidden = program.add_padded("hidden", &[20], &[(1, 2)], -1.0, Inner);
    let y = program.add("y", F32, &[20], Kept);
    let z = program.add("z", F32, &[20], Kept);
    let window = |buffer| Scalar::Load(sums(buffer, &[(-1, &[(1, i), (1, k)])]));
    let over = |body| vec![repeat(i, 20, vec![repeat(k, 4, vec![body])])];
    program.nest(
        "hidden = 2 x",
        vec![repeat(i, 20, vec![store(cell(hidden, &[i]), two(Binary::Mul, load(x, &[i]), number(2.0)))])],
    );
    program.nest("y += x around", over(accumulate(cell(y, &[i]), Binary::Add, window(x))));
    program.nest("z max= hidden around", over(accumulate(cell(z, &[i]), Binary::Max, window(hidden))));
    program.nest("margins", vec![Statement::FillMargins { buffer: hidden, value: 3.0 }]);
    program.nest("z += hidden around", over(accumulate(cell(z, &[i]), Binary::Add, window(hidden))));
    program.nest("margins of x", vec![Statement::FillMargins { buffer: x, value: 0.25 }]);
    program.nest("fill", vec![Statement::Fill { buffer: hidden, value: 7.0 }]);
    program.nest("y += hidden around", over(accumulate(cell(y, &[i]), Binary::Add, window(hidden))));
    // The reference evaluator does not reset margins when it runs a second time.
    program.nest("as before", vec![Statement::FillMargins { buffer: hidden, value: -1.0 }]);
    judge(&program, &[], 1e-5);
}

/// Margins of every type, on several axes.
#[test]
fn margins_of_every_type() {
    let mut program = Program::default();
    let [i, j] = program.vars(["i", "j"]);
    for dtype in Dtype::ALL {
        let id = program.add("x", dtype, &[3, 2], Inner);
        program.buffers[id.index()].margins = vec![(1, 2), (2, 1)];
        program.buffers[id.index()].fill = 2.0;
        let y = program.add("y", F32, &[6, 5], Kept);
        program.nest(
            "inside",
            vec![repeat(i, 3, vec![repeat(j, 2, vec![store(cell(id, &[i, j]), number(1.0))])])],
        );
        let all = Scalar::Load(sums(id, &[(-1, &[(1, i)]), (-2, &[(1, j)])]));
        program.nest("all", vec![repeat(i, 6, vec![repeat(j, 5, vec![store(cell(y, &[i, j]), all)])])]);
    }
    judge(&program, &[], 0.0);
}

fn gathered(buffer: BufferId, index: Cell, rest: &[LoopVar]) -> Cell {
    let rest = rest.iter().map(|var| Index::At(LoopSum::iterate(*var)));
    Cell { buffer, index: std::iter::once(Index::Value(Box::new(index))).chain(rest).collect() }
}

/// Rows are looked up and added to by numbers from memory, which are checked first.
fn lookup(dtype: Dtype, vocabulary: u64) -> Program {
    let mut program = Program::default();
    let [i, j] = program.vars(["i", "j"]);
    let tokens = program.add("tokens", dtype, &[700], Kept);
    let table = program.add("table", F32, &[vocabulary, 33], Kept);
    let out = program.add("out", F32, &[700, 33], Kept);
    let counts = program.add("counts", F32, &[vocabulary, 33], Kept);
    let check = Statement::Check { cell: cell(tokens, &[i]), below: vocabulary.into(), of: table };
    let row = gathered(table, cell(tokens, &[i]), &[j]);
    let to = gathered(counts, cell(tokens, &[i]), &[j]);
    let body = vec![check, repeat(j, 33, vec![store(cell(out, &[i, j]), Scalar::Load(row))])];
    program.nest("out = table[tokens]", vec![parallel(i, 700, body)]);
    let body = vec![accumulate(to, Binary::Add, load(out, &[i, j]))];
    program.nest("counts[tokens] += out", vec![repeat(i, 700, vec![repeat(j, 33, body)])]);
    program
}

#[test]
fn numbers_from_memory_are_indices() {
    for dtype in Dtype::ALL.into_iter().filter(|dtype| *dtype != Dtype::Bool) {
        judge_with(&lookup(dtype, 4), &[], 1e-5, |buffer, id| match id.0 {
            0 => (0..700).map(|n| f64::from(n * n % 7 % 4)).collect(),
            _ => contents(buffer, 5),
        });
    }
}

#[test]
fn indices_out_of_range_stop_the_run() {
    let source = broadloom_native::emit(&lookup(I32, 4)).unwrap();
    assert!(source.contains("first_report(reports, report)"), "the nest is shared among threads");
    for wrong in [-1.0, 4.0, 1e9] {
        judge_with(&lookup(I32, 4), &[], 1e-5, |buffer, id| {
            let mut numbers = contents(buffer, 5);
            if id.0 == 0 {
                (numbers[123], numbers[250]) = (wrong, wrong + 7.0);
            }
            numbers
        });
    }
}

#[test]
fn symbols_are_numbers_and_indices() {
    let mut program = Program { symbols: vec!["step".into(), "row".into()], ..Program::default() };
    let [i] = program.vars(["i"]);
    let x = program.add("x", F32, &[4, 9], Kept);
    let y = program.add("y", F32, &[9], Kept);
    let row = Cell { buffer: x, index: vec![Index::Symbol(1), Index::At(LoopSum::iterate(i))] };
    let value = two(Binary::Add, Scalar::Symbol(0), Scalar::Load(row));
    program.nest("y", vec![repeat(i, 9, vec![accumulate(cell(y, &[i]), Binary::Add, value)])]);
    judge(&program, &[100, 2], 1e-6);
    judge(&program, &[-3, 0], 1e-6);
    let mut compiled = compiler().compile(&program).unwrap();
    let mut blocks = vec![
        broadloom_loops::Block::new(program.buffer(x)).unwrap(),
        broadloom_loops::Block::new(program.buffer(y)).unwrap(),
    ];
    for outside in [-1, 4] {
        assert_eq!(compiled.run(&mut blocks, &[0, 1], &[0, outside]), Err(Stop::Address { buffer: x }));
    }
    assert!(compiled.run(&mut blocks, &[0, 1], &[0]).is_err(), "a symbol is missing");
    assert!(compiled.run(&mut blocks, &[0, 0], &[0, 0]).is_err(), "a block is used twice");
    assert!(compiled.run(&mut blocks, &[1, 0], &[0, 0]).is_err(), "blocks are exchanged");
    assert!(compiled.run(&mut blocks, &[0, 2], &[0, 0]).is_err(), "there is no such block");
    assert!(compiled.run(&mut blocks, &[0], &[0, 0]).is_err(), "a block is missing");
    assert_eq!(compiled.run(&mut blocks, &[0, 1], &[0, 0]), Ok(()));
}

#[test]
fn random_numbers_and_positions() {
    let mut program = Program { symbols: vec!["seed".into(), "other".into()], ..Program::default() };
    let [i, j] = program.vars(["i", "j"]);
    for (key, stream) in [(0, 7), (1, 0xFFFF_FFFF_FFFF_FFFF)] {
        for dtype in [F32, F64] {
            let y = program.add("noise", dtype, &[30, 70], Kept);
            let at = LoopSum::new(5, [(70, i), (1, j)]);
            let value = two(
                Binary::Add,
                Scalar::Uniform { key, stream, at: at.clone() },
                Scalar::Position(LoopSum::new(-3, [(2, i), (-1, j)])),
            );
            program.nest(
                "noise",
                vec![repeat(i, 30, vec![repeat(j, 70, vec![store(cell(y, &[i, j]), value)])])],
            );
        }
    }
    judge(&program, &[42, -1], 1e-6);
}

#[test]
fn choices_guard_addresses() {
    let mut program = Program::default();
    let [i] = program.vars(["i"]);
    let a = program.add("a", F32, &[30], Kept);
    let b = program.add("b", F32, &[50], Kept);
    let empty = program.add("empty", F32, &[0], Kept);
    let c = program.add("c", F32, &[80], Kept);
    let first = two(Binary::Less, Scalar::Position(LoopSum::iterate(i)), number(30.0));
    let of = |buffer, offset| Box::new(Scalar::Load(sums(buffer, &[(offset, &[(1, i)])])));
    let value = Scalar::Select(Box::new(first), of(a, 0), of(b, -30));
    let never = two(Binary::Less, Scalar::Position(LoopSum::iterate(i)), number(0.0));
    let value = Scalar::Select(Box::new(never), of(empty, 0), Box::new(value));
    program.nest("c = a ^ b", vec![repeat(i, 80, vec![store(cell(c, &[i]), value)])]);
    judge(&program, &[], 0.0);
}

#[test]
fn loops_that_never_run() {
    let mut program = Program::default();
    let [i, j] = program.vars(["i", "j"]);
    let x = program.add("x", F32, &[0, 3], Kept);
    let y = program.add("y", F32, &[3], Kept);
    let body = vec![accumulate(cell(y, &[j]), Binary::Add, load(x, &[i, j]))];
    program.nest("nothing", vec![repeat(i, 0, vec![repeat(j, 3, body)])]);
    program.nest("fill", vec![Statement::Fill { buffer: x, value: 1.0 }]);
    judge(&program, &[], 0.0);
}

/// A chain of local buffers that reuse memory, some with margins.
#[test]
fn local_buffers_share_memory() {
    let mut program = Program::default();
    let [i, k] = program.vars(["i", "k"]);
    let x = program.add("x", F32, &[1000], Kept);
    let y = program.add("y", F32, &[1000], Kept);
    let mut last = x;
    for step in 0..12 {
        let next = if step % 3 == 0 {
            program.add_padded("padded", &[1000], &[(1, 1)], f64::from(step), Inner)
        } else {
            program.add("plain", F32, &[1000], Inner)
        };
        let value = if program.buffer(last).has_margins() {
            let near = Scalar::Load(sums(last, &[(-1, &[(1, i), (1, k)])]));
            program.nest(
                "clear",
                vec![Statement::Loop(broadloom_loops::Loop {
                    var: i,
                    extent: 1000.into(),
                    parallel: true,
                    body: vec![store(cell(next, &[i]), number(0.1))],
                })],
            );
            program.nest(
                "around",
                vec![repeat(
                    i,
                    1000,
                    vec![repeat(k, 3, vec![accumulate(cell(next, &[i]), Binary::Add, near)])],
                )],
            );
            two(Binary::Mul, load(next, &[i]), number(0.5))
        } else {
            two(Binary::Add, load(last, &[i]), number(1.0))
        };
        program.nest("next", vec![repeat(i, 1000, vec![store(cell(next, &[i]), value)])]);
        last = next;
    }
    program.nest("y", vec![repeat(i, 1000, vec![store(cell(y, &[i]), load(last, &[i]))])]);
    judge(&program, &[], 1e-5);
    let compiled = compiler().with_threads(1).compile(&program).unwrap();
    let all = 12 * 4096;
    assert!(compiled.arena_bytes() < all / 2, "{} of {all} bytes", compiled.arena_bytes());
}

/// The order of iterations matters if one reads what another has written.
#[test]
fn order_is_kept_where_it_matters() {
    let mut program = Program::default();
    let [i, j] = program.vars(["i", "j"]);
    let x = program.add("x", F32, &[60, 61], Kept);
    let previous = Scalar::Load(sums(x, &[(0, &[(1, i)]), (0, &[(1, j)])]));
    let body =
        vec![store(sums(x, &[(0, &[(1, i)]), (1, &[(1, j)])]), two(Binary::Mul, previous, number(1.01)))];
    program.nest("running", vec![repeat(j, 60, vec![repeat(i, 60, body)])]);
    let last = program.add("last", F32, &[60], Kept);
    let body = vec![store(cell(last, &[i]), load(x, &[i, j]))];
    program.nest("the last wins", vec![repeat(i, 60, vec![repeat(j, 61, body)])]);
    let body =
        vec![accumulate(cell(last, &[i]), Binary::Div, two(Binary::Add, load(x, &[i, j]), number(3.0)))];
    program.nest("division", vec![repeat(i, 60, vec![repeat(j, 61, body)])]);
    judge(&program, &[], 1e-5);
}

/// Nests large enough to be shared among threads.
#[test]
fn large_nests() {
    let mut program = Program::default();
    let [i, j] = program.vars(["i", "j"]);
    let x = program.add("x", F32, &[300, 1000], Kept);
    let y = program.add("y", F32, &[300, 1000], Kept);
    let rows = program.add("rows", F32, &[300], Kept);
    let columns = program.add("columns", F32, &[1000], Kept);
    let turned = program.add("turned", F32, &[1000, 300], Kept);
    let both = |body| vec![repeat(i, 300, vec![repeat(j, 1000, vec![body])])];
    program.nest("y", both(store(cell(y, &[i, j]), one(Unary::Tanh, load(x, &[i, j])))));
    program.nest("rows", both(accumulate(cell(rows, &[i]), Binary::Add, load(y, &[i, j]))));
    program.nest("columns", both(accumulate(cell(columns, &[j]), Binary::Max, load(y, &[i, j]))));
    program.nest("turned", both(store(cell(turned, &[j, i]), load(y, &[i, j]))));
    program.nest("fill", vec![Statement::Fill { buffer: x, value: 2.5 }]);
    judge(&program, &[], 2e-5);
}
