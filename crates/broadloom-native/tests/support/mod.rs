//! Small programs, and a comparison of compiled code with the reference evaluator.
#![allow(dead_code, unused_imports, reason = "not every test file uses everything")]

use broadloom_array::random::uniform_f64;
use broadloom_loops::reference::{Memory, Stop, evaluate};
use broadloom_loops::{
    Binary, Block, Buffer, BufferId, Cell, Dtype, Index, Loop, LoopSum, LoopVar, Nest, Program, Scalar,
    Statement, Storage, Unary,
};
use broadloom_native::Compiler;

pub use Dtype::{Bf16, F16, F32, F64, I32, I64};
pub use Storage::{Kept, Local as Inner};

/// A compiler with a cache of its own.
pub fn compiler() -> Compiler {
    let cache = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("native-cache");
    Compiler::find().expect("the tests need a C compiler").with_cache(cache)
}

/// Short methods for building programs.
pub trait Build {
    fn add(&mut self, name: &str, dtype: Dtype, sizes: &[u64], storage: Storage) -> BufferId;
    fn add_padded(
        &mut self,
        name: &str,
        sizes: &[u64],
        margins: &[(u64, u64)],
        fill: f64,
        storage: Storage,
    ) -> BufferId;
    fn nest(&mut self, comment: &str, body: Vec<Statement>);
    fn vars<const N: usize>(&mut self, names: [&str; N]) -> [LoopVar; N];
}

impl Build for Program {
    fn add(&mut self, name: &str, dtype: Dtype, sizes: &[u64], storage: Storage) -> BufferId {
        let (name, sizes) = (name.to_string(), sizes.to_vec());
        self.add_buffer(Buffer {
            name,
            dtype,
            sizes: sizes.into_iter().map(Into::into).collect(),
            margins: Vec::new(),
            fill: 0.0,
            storage,
        })
    }

    fn add_padded(
        &mut self,
        name: &str,
        sizes: &[u64],
        margins: &[(u64, u64)],
        fill: f64,
        storage: Storage,
    ) -> BufferId {
        let id = self.add(name, F32, sizes, storage);
        self.buffers[id.index()].margins = margins.to_vec();
        self.buffers[id.index()].fill = fill;
        id
    }

    fn nest(&mut self, comment: &str, body: Vec<Statement>) {
        self.nests.push(Nest { comment: comment.into(), body });
    }

    fn vars<const N: usize>(&mut self, names: [&str; N]) -> [LoopVar; N] {
        names.map(|name| self.add_var(name))
    }
}

/// A cell addressed by one loop per axis.
pub fn cell(buffer: BufferId, vars: &[LoopVar]) -> Cell {
    Cell { buffer, index: vars.iter().map(|var| Index::At(LoopSum::iterate(*var))).collect() }
}

/// A cell addressed by sums of loops: an offset and terms per axis.
pub fn sums(buffer: BufferId, axes: &[(i64, &[(i64, LoopVar)])]) -> Cell {
    let axis =
        |(offset, terms): &(i64, &[(i64, LoopVar)])| Index::At(LoopSum::new(*offset, terms.iter().copied()));
    Cell { buffer, index: axes.iter().map(axis).collect() }
}

pub fn load(buffer: BufferId, vars: &[LoopVar]) -> Scalar {
    Scalar::Load(cell(buffer, vars))
}

pub fn number(value: f64) -> Scalar {
    Scalar::Number(value)
}

pub fn two(function: Binary, a: Scalar, b: Scalar) -> Scalar {
    Scalar::binary(function, a, b)
}

pub fn one(function: Unary, a: Scalar) -> Scalar {
    Scalar::unary(function, a)
}

pub fn store(cell: Cell, value: Scalar) -> Statement {
    Statement::Store { cell, accumulate: None, value }
}

pub fn accumulate(cell: Cell, function: Binary, value: Scalar) -> Statement {
    Statement::Store { cell, accumulate: Some(function), value }
}

pub fn repeat(var: LoopVar, extent: u64, body: Vec<Statement>) -> Statement {
    Statement::Loop(Loop { var, extent: extent.into(), parallel: false, body })
}

pub fn parallel(var: LoopVar, extent: u64, body: Vec<Statement>) -> Statement {
    Statement::Loop(Loop { var, extent: extent.into(), parallel: true, body })
}

/// A number for each cell of the inside: small, of either sign; integers from 0 to 3 for indices.
pub fn contents(buffer: &Buffer, seed: u64) -> Vec<f64> {
    let cells: u64 = buffer.shape().iter().product();
    let number = |at| {
        let random = uniform_f64(seed, at);
        if buffer.dtype.is_float() { random * 2.0 - 1.0 } else { (random * 4.0).floor() }
    };
    (0..cells).map(number).collect()
}

/// Runs a program on the reference evaluator and compiled with 1, 2 and 3 threads, twice each; compiled runs must
/// agree to the last bit whatever the number of threads, and with the reference within a tolerance.
pub fn judge(program: &Program, symbols: &[i64], tolerance: f64) {
    judge_with(program, symbols, tolerance, |buffer, id| contents(buffer, u64::from(id.0) + 1));
}

pub fn judge_with(
    program: &Program,
    symbols: &[i64],
    tolerance: f64,
    contents: impl Fn(&Buffer, BufferId) -> Vec<f64>,
) {
    let kept: Vec<BufferId> = (0..program.buffers.len())
        .map(|n| BufferId(n as u32))
        .filter(|id| program.buffer(*id).storage == Kept)
        .collect();
    let mut memory = Memory::new(program).expect("there is room");
    for id in &kept {
        memory.write(program, *id, &contents(program.buffer(*id), *id));
    }
    let mut stops: Vec<Result<(), Stop>> = Vec::new();
    let mut expected = Vec::new();
    for _ in 0..2 {
        stops.push(evaluate(program, &mut memory, symbols));
        expected.push(kept.iter().map(|id| memory.read(program, *id)).collect::<Vec<_>>());
    }
    let mut first: Option<Vec<Vec<Vec<u64>>>> = None;
    for threads in [1, 2, 3] {
        let mut compiled =
            compiler().with_threads(threads).compile(program).unwrap_or_else(|error| panic!("{error}"));
        let mut blocks: Vec<Block> =
            kept.iter().map(|id| Block::new(program.buffer(*id)).expect("it fits")).collect();
        for (block, id) in blocks.iter_mut().zip(&kept) {
            block.set_numbers(&contents(program.buffer(*id), *id)).expect("one for each");
        }
        // Blocks are in a different order than buffers.
        blocks.reverse();
        let places: Vec<usize> = (0..kept.len()).rev().collect();
        let mut bits = Vec::new();
        for (stop, expected) in stops.iter().zip(&expected) {
            let result = compiled.run(&mut blocks, &places, symbols);
            assert_eq!(&result, stop, "{}\n{program}", compiled.source());
            if stop.is_err() {
                return;
            }
            for (at, id) in kept.iter().enumerate() {
                let got = blocks[places[at]].numbers();
                compare(program, *id, &expected[at], &got, tolerance, compiled.source());
            }
            bits.push(
                blocks.iter().map(|block| block.cells().iter().map(|x| x.to_bits()).collect()).collect(),
            );
        }
        match &first {
            None => first = Some(bits),
            Some(first) => {
                assert!(*first == bits, "{threads} threads give other bits\n{program}\n{}", compiled.source())
            }
        }
    }
}

fn compare(program: &Program, id: BufferId, expected: &[f64], got: &[f64], tolerance: f64, source: &str) {
    let buffer = program.buffer(id);
    let epsilon = match buffer.dtype {
        Bf16 => 2e-2,
        F16 => 2e-3,
        _ => tolerance,
    };
    for (at, (expected, got)) in expected.iter().zip(got).enumerate() {
        let same = expected == got
            || (expected.is_nan() && got.is_nan())
            || (expected - got).abs() <= epsilon * (1.0 + expected.abs());
        assert!(
            same,
            "{} at {at}: expected {expected}, got {got}\n{program}\n{}",
            buffer.name,
            source.split("FILL_MARGINS(64)").last().unwrap_or_default()
        );
    }
}
