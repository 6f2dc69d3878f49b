//! Nests as WebAssembly compute what the reference evaluator computes: bit for bit, but for sums of 32-bit floats.

mod host;

use broadloom_loops::optimise::{PassOptions, optimise};
use broadloom_loops::reference::{Memory, Stop, evaluate};
use broadloom_loops::{
    Binary, Block, Buffer, BufferId, Cell, Dtype, Index, LoopSum, LoopVar, Nest, Program, Scalar, Statement,
    Storage, Unary, wasm,
};
use broadloom_testing::Dice;
use broadloom_testing::setting;

use crate::support::parse::parse;
use crate::support::random::{narrow, sample};
use crate::support::{Sample, kept};
use host::Host;

/// The blocks of the buffers of a sample, with its inputs.
fn blocks(program: &Program, sample: &Sample) -> Vec<Block> {
    let mut blocks: Vec<Block> =
        program.buffers.iter().map(|buffer| Block::new(buffer).expect("there is room")).collect();
    for (id, values) in &sample.inputs {
        blocks[id.index()].set_numbers(values).expect("there are as many as cells");
    }
    blocks
}

/// The first difference between a host of either kind and the evaluator.
fn difference(program: &Program, sample: &Sample) -> Option<String> {
    [false, true].into_iter().find_map(|fuses| {
        let mut program = program.clone();
        let mut host = Host::new(&mut program, fuses);
        difference_on(&program, sample, &mut host).map(|words| format!("{words}; the host fuses: {fuses}"))
    })
}

/// The first difference between both ways of running a program, twice in a row: of any bit, or beyond the tolerance of the sample.
fn difference_on(program: &Program, sample: &Sample, host: &mut Host) -> Option<String> {
    let mut slow = Memory::new(program).expect("there is room");
    sample.inputs.iter().for_each(|(id, values)| slow.write(program, *id, values));
    let mut fast = blocks(program, sample);
    let is_near = |x: f64, y: f64| {
        let near = (x - y).abs() <= sample.tolerance * (1.0 + x.abs().max(y.abs()));
        near || x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())
    };
    for _ in 0..2 {
        let expected = evaluate(program, &mut slow, &sample.symbols);
        let mut all: Vec<&mut Block> = fast.iter_mut().collect();
        let found = wasm::run(program, host, &mut all, &sample.symbols);
        if expected != found {
            return Some(format!("it ends with {found:?}, and should end with {expected:?}"));
        }
        for id in kept(program) {
            let (expected, found) = (slow.read(program, id), fast[id.index()].numbers());
            for (at, (x, y)) in expected.into_iter().zip(found).enumerate() {
                if !is_near(x, y) {
                    return Some(format!("{}[{at}] is {y}, but should be {x}", program.buffer(id).name));
                }
            }
        }
    }
    None
}

/// The number of programs, which `BROADLOOM_SEEDS` can set.
fn count() -> u64 {
    setting("BROADLOOM_SEEDS", 600)
}

#[test]
fn random_programs() {
    judge(sample);
}

#[test]
fn random_programs_of_32_bit_floats() {
    judge(narrow);
}

/// Runs programs of many seeds in both ways.
fn judge(sample: fn(u64) -> Sample) {
    let (mut compiled, mut all) = (0, 0);
    for seed in 0..count() {
        let mut sample = sample(seed);
        // Sums of 64-bit floats are rounded alike.
        if sample.program.buffers.iter().all(|buffer| buffer.dtype != Dtype::F32) {
            sample.tolerance = 0.0;
        }
        for program in [sample.program.clone(), optimise(&sample.program, &PassOptions::all())] {
            let nests = Host::new(&mut program.clone(), false).nests;
            all += nests.len();
            compiled += nests.iter().filter(|has| **has).count();
            if let Some(words) = difference(&program, &sample) {
                panic!("seed {seed}: {words}\n{program}");
            }
        }
    }
    println!("{compiled} of {all} nests have code");
    assert!(compiled * 10 > all * 8, "only {compiled} of {all} nests have code");
}

fn buffer(name: &str, dtype: Dtype, size: u64) -> Buffer {
    let (sizes, margins) = (vec![size.into()], Vec::new());
    Buffer { name: name.into(), dtype, sizes, margins, fill: 0.0, storage: Storage::Kept }
}

const SPECIAL: [f64; 14] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    3.0,
    1e-40,
    3.4e38,
    16_777_217.0,
    0.1,
];

/// `z[i, j] = function(x[i], x[j])` in every type of floats.
fn of_special_values(dtype: Dtype, value: impl Fn(Scalar, Scalar) -> Scalar) -> (Program, Sample) {
    let size = SPECIAL.len() as u64;
    let mut program = Program::default();
    let x = program.add_buffer(buffer("x", dtype, size));
    let mut z = buffer("z", dtype, size);
    z.sizes.push(size.into());
    let z = program.add_buffer(z);
    let (i, j) = (program.add_var("i"), program.add_var("j"));
    let load = |var| Scalar::Load(Cell { buffer: x, index: vec![Index::At(LoopSum::iterate(var))] });
    let index = vec![Index::At(LoopSum::iterate(i)), Index::At(LoopSum::iterate(j))];
    let store = Statement::Store {
        cell: Cell { buffer: z, index },
        accumulate: None,
        value: value(load(i), load(j)),
    };
    let body = vec![store.within([(i, size), (j, size)].into_iter())];
    program.nests.push(Nest { comment: "values".into(), body });
    let inputs = vec![(x, SPECIAL.to_vec())];
    (program.clone(), Sample { program, symbols: vec![], inputs, tolerance: 0.0 })
}

#[test]
fn every_function_of_special_values_in_every_type() {
    for dtype in [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::Bf16] {
        for function in Unary::ALL {
            let (program, sample) = of_special_values(dtype, |a, _| Scalar::unary(*function, a));
            let found = difference(&program, &sample);
            assert_eq!(found, None, "{} in {dtype}", function.name());
        }
        for function in Binary::ALL {
            let (program, sample) = of_special_values(dtype, |a, b| Scalar::binary(*function, a, b));
            let found = difference(&program, &sample);
            assert_eq!(found, None, "{} in {dtype}", function.name());
            let chosen = |a: Scalar, b: Scalar| {
                let condition = Scalar::binary(*function, a.clone(), b.clone());
                Scalar::Select(Box::new(condition), Box::new(a), Box::new(b))
            };
            let (program, sample) = of_special_values(dtype, chosen);
            let found = difference(&program, &sample);
            assert_eq!(found, None, "a choice by {} in {dtype}", function.name());
        }
    }
}

/// `y[i] = table[ids[i]]`, with indices of which one may be out of range.
fn lookup(ids: &[f64], dtype: Dtype) -> (Program, Sample) {
    let mut program = Program::default();
    let size = ids.len() as u64;
    let table = program.add_buffer(buffer("table", Dtype::F32, 3));
    let of = program.add_buffer(buffer("ids", dtype, size));
    let y = program.add_buffer(buffer("y", Dtype::F32, size));
    let i = program.add_var("i");
    let at = |buffer| Cell { buffer, index: vec![Index::At(LoopSum::iterate(i))] };
    let check = Statement::Check { cell: at(of), below: 3.into(), of: table };
    let value = Scalar::Load(Cell { buffer: table, index: vec![Index::Value(Box::new(at(of)))] });
    let store = Statement::Store { cell: at(y), accumulate: None, value };
    let looped =
        |body| Statement::Loop(broadloom_loops::Loop { var: i, extent: size.into(), parallel: false, body });
    program.nests.push(Nest { comment: "lookup".into(), body: vec![looped(vec![check, store])] });
    let inputs = vec![(table, vec![10.0, 20.0, 30.0]), (of, ids.to_vec())];
    (program.clone(), Sample { program, symbols: vec![], inputs, tolerance: 0.0 })
}

#[test]
fn rows_are_looked_up_and_an_index_out_of_range_is_found() {
    for dtype in [Dtype::I32, Dtype::I64, Dtype::U8, Dtype::I8, Dtype::I16] {
        let (program, sample) = lookup(&[2.0, 0.0, 1.0, 1.0], dtype);
        assert_eq!(wasm::module(&mut program.clone(), false).nests, [true]);
        assert_eq!(difference(&program, &sample), None);
        let (mut program, sample) = lookup(&[2.0, 0.0, 3.0], dtype);
        let mut host = Host::new(&mut program, false);
        let mut blocks = blocks(&program, &sample);
        let mut blocks: Vec<&mut Block> = blocks.iter_mut().collect();
        let stopped = wasm::run(&program, &mut host, &mut blocks, &[]);
        let (buffer, of) = (BufferId(1), BufferId(0));
        assert_eq!(stopped, Err(Stop::Index { buffer, cell: 2, value: 3, below: 3, of }));
    }
}

#[test]
fn integers_are_left_to_the_evaluator() {
    let mut program = Program::default();
    let x = program.add_buffer(buffer("x", Dtype::I64, 2));
    let y = program.add_buffer(buffer("y", Dtype::I64, 2));
    let i = program.add_var("i");
    let at = |buffer| Cell { buffer, index: vec![Index::At(LoopSum::iterate(i))] };
    let value = Scalar::binary(Binary::Add, Scalar::Load(at(x)), Scalar::Load(at(x)));
    let store = Statement::Store { cell: at(y), accumulate: None, value };
    program.nests.push(Nest { comment: "twice".into(), body: vec![store.within([(i, 2)].into_iter())] });
    assert_eq!(wasm::module(&mut program, false).nests, [false]);
}

/// A product of two random tensors of 32-bit floats with a random order of axes and loops, random strides and margins, in one of the forms that programs have. The loops have at least so
/// many turns, and fewer than 13 more.
fn product(seed: u64, least: [u64; 4]) -> (Program, Sample) {
    let mut random = Dice::from_state(seed ^ 0x2545_F491_4F6C_DD1D);
    let mut program = Program::default();
    let sizes: Vec<u64> = least.iter().map(|least| least + random.below(13) as u64).collect();
    let vars: Vec<LoopVar> = ["i", "j", "k", "l"].map(|name| program.add_var(name)).into();
    // Which loops each factor and the result have: i in the first, j in the second, k in both and summed, l somewhere.
    let extra = random.below(4);
    let mut axes = [vec![0, 2], vec![1, 2], vec![0, 1]];
    if extra < 3 {
        axes[extra].push(3);
        axes[(extra + 1) % 3].push(3);
    }
    let cells = axes.map(|mut axes| {
        random.shuffle(&mut axes);
        let mut of = buffer("x", Dtype::F32, 1);
        of.sizes = axes.iter().map(|axis: &usize| sizes[*axis].into()).collect();
        if random.chance(4) {
            of.margins = axes.iter().map(|_| (random.below(3) as u64, random.below(3) as u64)).collect();
        }
        let index = axes.iter().map(|axis| Index::At(LoopSum::iterate(vars[*axis]))).collect();
        Cell { buffer: program.add_buffer(of), index }
    });
    let [a, b, c] = cells;
    let mut value = Scalar::binary(Binary::Mul, Scalar::Load(a.clone()), Scalar::Load(b.clone()));
    if random.chance(3) {
        value = Scalar::binary(Binary::Mul, value, Scalar::Number(-0.5));
    }
    let used = if extra < 3 { 4 } else { 3 };
    let mut order: Vec<usize> = (0..used).collect();
    random.shuffle(&mut order);
    let loops = |order: Vec<usize>| order.into_iter().map(|at| (vars[at], sizes[at])).collect::<Vec<_>>();
    let adds = random.chance(2).then_some(if random.chance(3) { Binary::Sub } else { Binary::Add });
    let body = if let Some(function) = adds.filter(|_| random.chance(2)) {
        let store = Statement::Store { cell: c.clone(), accumulate: Some(function), value };
        store.within(loops(order).into_iter())
    } else {
        let (results, sums): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|at| c.mentions(vars[*at]));
        let t = program.add_local();
        let update = Statement::Update { local: t, accumulate: Some(Binary::Add), value };
        let mut stored = Scalar::Local(t);
        if random.chance(3) {
            stored = Scalar::binary(Binary::Add, stored, Scalar::Number(1.0));
        }
        let body = vec![
            Statement::Declare { local: t, value: Scalar::Number(0.0) },
            update.within(loops(sums).into_iter()),
            Statement::Store { cell: c.clone(), accumulate: adds, value: stored },
        ];
        loops(results)
            .into_iter()
            .rev()
            .fold(body, |body, (var, extent)| {
                vec![Statement::Loop(broadloom_loops::Loop {
                    var,
                    extent: extent.into(),
                    parallel: false,
                    body,
                })]
            })
            .remove(0)
    };
    program.nests.push(Nest { comment: "product".into(), body: vec![body] });
    let inputs = [&a, &b, &c].map(|cell| {
        let cells = program.buffer(cell.buffer).shape().iter().product::<u64>();
        (cell.buffer, (0..cells).map(|_| random.below(33) as f64 / 8.0 - 2.0).collect())
    });
    (program.clone(), Sample { program, symbols: vec![], inputs: inputs.into(), tolerance: 1e-5 })
}

#[test]
fn products_of_every_layout() {
    let mut in_lanes = 0;
    for seed in 0..count() * 4 {
        let (program, sample) = product(seed, [1; 4]);
        in_lanes += u64::from(has_vectors(&wasm::module(&mut program.clone(), false).bytes));
        if let Some(words) = difference(&program, &sample) {
            panic!("seed {seed}: {words}\n{program}");
        }
    }
    println!("{in_lanes} of {} products go four at a time", count() * 4);
    assert!(in_lanes * 2 > count() * 4, "only {in_lanes} products go four at a time");
}

#[test]
fn products_whose_columns_are_copied_to_a_panel() {
    let wanted = (count() / 60).max(1);
    let mut with_panel = 0;
    for seed in 0.. {
        // Many rows, whichever of the first two they are, and long sums.
        let (program, sample) = product(seed, [12, 12, 60, 1]);
        let mut translated = program.clone();
        let module = wasm::module(&mut translated, true);
        if translated.buffers.len() == program.buffers.len() {
            continue;
        }
        assert!(multiplies_and_adds_at_once(&module.bytes), "seed {seed}");
        if let Some(words) = difference(&program, &sample) {
            panic!("seed {seed}: {words}\n{program}");
        }
        with_panel += 1;
        if with_panel == wanted {
            break;
        }
    }
}

#[test]
fn products_round_once_only_for_a_host_that_does() {
    let (program, _) = product(1, [8, 8, 8, 1]);
    let module = |fuses| wasm::module(&mut program.clone(), fuses).bytes;
    assert!(multiplies_and_adds_at_once(&module(true)) && !multiplies_and_adds_at_once(&module(false)));
}

/// Returns true if a module has `f32x4.relaxed_madd`.
fn multiplies_and_adds_at_once(module: &[u8]) -> bool {
    module.windows(3).any(|bytes| bytes == [0xFD, 0x85, 0x02])
}

/// Returns true if a module multiplies four floats at once.
fn has_vectors(module: &[u8]) -> bool {
    module.windows(3).any(|bytes| bytes == [0xFD, 0xE6, 0x01])
}

/// Runs a nest over 9 numbers `x` and 12 numbers `y` in both ways. Returns true if its turns go four at a time.
fn goes_in_fours(nest: &str, dtype: &str) -> bool {
    let text = format!("kept x: {dtype}[9]\nkept y: {dtype}[12]\n\n{nest}");
    let program = parse(&text);
    let numbers =
        |id: u32, count: u32| (BufferId(id), (0..count).map(|at| f64::from(at) / 4.0 - 1.0).collect());
    let (symbols, inputs) = (vec![], vec![numbers(0, 9), numbers(1, 12)]);
    let sample = Sample { program, symbols, inputs, tolerance: 1e-6 };
    let found = difference(&sample.program, &sample);
    assert_eq!(found, None, "{nest}");
    has_vectors(&wasm::module(&mut sample.program.clone(), false).bytes)
}

#[test]
fn turns_go_four_at_a_time_where_they_are_apart() {
    let apart = [
        "for i in 0..9\n  y[i] = x[i] * x[i]",
        "for i in 0..9\n  y[i] *= x[i]",
        "for i in 0..9\n  y[i] = x[3] * y[i]",
        "let t0 = 1\nfor i in 0..9\n  t0 *= x[i]\ny[2] = t0",
        "for i in 0..9\n  y[1] += x[i] * 3",
        // A value that is the same in all turns is computed before them.
        "for i in 0..9\n  y[i] = (x[i] * exp(x[8])) + ((x[7] * 2) ** 2)",
        "for i in 0..9\n  y[i] = x[i] * exp(y[i])",
    ];
    for nest in apart {
        assert!(goes_in_fours(nest, "f32"), "{nest}");
        assert!(!goes_in_fours(nest, "f64"), "{nest}");
    }
    let not_apart = [
        // A turn reads what another one writes.
        "for i in 0..9\n  y[i + 1] = x[i] * y[i]",
        "for i in 0..9\n  y[i] = x[i] * y[5]",
        "for i in 0..9\n  y[5] += x[i] * y[i]",
        // Neighbouring turns do not write neighbouring cells.
        "for i in 0..6\n  y[2*i] = x[i] * x[i]",
        "for i in 0..9\n  y[8 - i] = x[i] * x[i]",
        "for i in 0..9\n  y[3] = x[i] * x[i]",
        // There are too few.
        "for i in 0..3\n  y[i] = x[i] * x[i]",
    ];
    for nest in not_apart {
        assert!(!goes_in_fours(nest, "f32"), "{nest}");
    }
}
