//! Nests as WebAssembly compute what the reference evaluator computes, bit for bit.

mod host;

use broadloom_loops::optimise::{PassOptions, optimise};
use broadloom_loops::reference::{Memory, Stop, evaluate, evaluate_with};
use broadloom_loops::{
    Binary, Buffer, BufferId, Cell, Dtype, Index, LoopSum, Nest, Program, Scalar, Statement, Storage, Unary,
    wasm,
};
use broadloom_testing::setting;

use crate::support::random::sample;
use crate::support::{Sample, kept};
use host::Host;

/// The first difference between both ways of running a program, twice in a row.
fn difference(program: &Program, sample: &Sample, host: &mut Host) -> Option<String> {
    let mut slow = Memory::new(program).expect("there is room");
    sample.inputs.iter().for_each(|(id, values)| slow.write(program, *id, values));
    let mut fast = slow.clone();
    for _ in 0..2 {
        let expected = evaluate(program, &mut slow, &sample.symbols);
        let found = evaluate_with(program, &mut fast, &sample.symbols, Some(host));
        if expected != found {
            return Some(format!("it ends with {found:?}, and should end with {expected:?}"));
        }
        for id in kept(program) {
            for (at, (x, y)) in slow.read(program, id).iter().zip(fast.read(program, id)).enumerate() {
                if x.to_bits() != y.to_bits() && !(x.is_nan() && y.is_nan()) {
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
    let (mut compiled, mut all) = (0, 0);
    for seed in 0..count() {
        let sample = sample(seed);
        for program in [sample.program.clone(), optimise(&sample.program, &PassOptions::all())] {
            let mut host = Host::new(&program);
            all += host.nests.len();
            compiled += host.nests.iter().filter(|has| **has).count();
            if let Some(words) = difference(&program, &sample, &mut host) {
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
            let found = difference(&program, &sample, &mut Host::new(&program));
            assert_eq!(found, None, "{} in {dtype}", function.name());
        }
        for function in Binary::ALL {
            let (program, sample) = of_special_values(dtype, |a, b| Scalar::binary(*function, a, b));
            let found = difference(&program, &sample, &mut Host::new(&program));
            assert_eq!(found, None, "{} in {dtype}", function.name());
            let chosen = |a: Scalar, b: Scalar| {
                let condition = Scalar::binary(*function, a.clone(), b.clone());
                Scalar::Select(Box::new(condition), Box::new(a), Box::new(b))
            };
            let (program, sample) = of_special_values(dtype, chosen);
            let found = difference(&program, &sample, &mut Host::new(&program));
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
        let mut host = Host::new(&program);
        assert_eq!(host.nests, [true]);
        assert_eq!(difference(&program, &sample, &mut host), None);
        let (program, sample) = lookup(&[2.0, 0.0, 3.0], dtype);
        let mut memory = Memory::new(&program).expect("there is room");
        sample.inputs.iter().for_each(|(id, values)| memory.write(&program, *id, values));
        let stopped = evaluate_with(&program, &mut memory, &[], Some(&mut Host::new(&program)));
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
    assert_eq!(wasm::module(&program).nests, [false]);
}
