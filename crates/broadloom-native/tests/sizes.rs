//! Programs whose sizes are arguments: optimised and compiled for all sizes, and compared with the
//! reference at each of them.

use crate::language as support;

use broadloom_loops::optimise::{PassOptions, optimise};
use broadloom_loops::{Block, BufferId, Program};
use broadloom_native::{ArenaPlan, Compiler};
use broadloom_testing::Dice;
use expect_test::expect;
use support::parse::parse;
use support::{Sample, difference, kept, nests, run};

/// Sizes around the limits of the backend: lanes, blocks, single iterations.
const SIZES: [[u64; 2]; 7] = [[1, 1], [2, 3], [5, 1], [1, 40], [33, 64], [100, 31], [64, 129]];

fn sample(program: &Program) -> Sample {
    let mut random = Dice::from_state(7);
    let mut numbers = |id: BufferId| -> Vec<f64> {
        let buffer = program.buffer(id);
        let cells: u64 = buffer.shape().iter().product();
        let draw = |random: &mut Dice| match buffer.dtype.is_float() {
            true => random.below(33) as f64 / 8.0 - 2.0,
            false => random.below(3) as f64,
        };
        (0..cells).map(|_| draw(&mut random)).collect()
    };
    let inputs = kept(program).map(|id| (id, numbers(id))).collect();
    Sample { program: program.clone(), symbols: Vec::new(), inputs, tolerance: 1e-4 }
}

/// Runs compiled code twice, as the reference does.
fn compiled(open: &Program, sizes: &[u64], sample: &Sample) -> Vec<(BufferId, Vec<f64>)> {
    let cache = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("native-cache");
    let compiler = Compiler::find().expect("the tests need a C compiler").with_cache(cache);
    let mut code = compiler.compile(open).unwrap_or_else(|error| panic!("{error}\n{open}"));
    code.resize(sizes).expect("it is small");
    let mut blocks: Vec<Block> = code.kept().map(|buffer| Block::new(buffer).expect("it fits")).collect();
    for (block, (_, numbers)) in blocks.iter_mut().zip(&sample.inputs) {
        block.set_numbers(numbers).expect("one for each");
    }
    let places: Vec<usize> = (0..blocks.len()).collect();
    let mut results = Vec::new();
    for _ in 0..2 {
        code.run(&mut blocks, &places, &[]).unwrap_or_else(|stop| panic!("{stop:?}\n{}", code.source()));
        results.extend(sample.inputs.iter().zip(&blocks).map(|((id, _), block)| (*id, block.numbers())));
    }
    results
}

fn check(text: &str) -> Program {
    let program = parse(text);
    let optimised = optimise(&program, &PassOptions::all());
    for sizes in SIZES {
        let sizes = &sizes[..program.arguments.len()];
        let at = program.at(sizes).expect("its sizes are numbers");
        let sample = sample(&at);
        let expected = run(&at, &sample).expect("it runs");
        for open in [&program, &optimised] {
            let own = open.at(sizes).expect("its sizes are numbers");
            let reference = run(&own, &sample).expect("it runs");
            assert_eq!(difference(&own, &expected, &reference, 1e-9), None, "{own}");
            let native = compiled(open, sizes, &sample);
            assert_eq!(difference(&own, &expected, &native, sample.tolerance), None, "{own}");
            assert!(ArenaPlan::new(open).expect("it is in order").bytes(&own) < 1 << 30);
        }
    }
    optimised
}

#[test]
fn pointwise_chains_are_one_loop_for_all_sizes() {
    let optimised = check(
        "
        kept x: f32[size_0, 5]
        local a: f32[size_0, 5]
        kept y: f32[size_0, 5]

        for i in 0..size_0
          for j in 0..5
            a[i, j] = x[i, j] * 2

        # y = exp(2 * x)
        for i in 0..size_0
          for j in 0..5
            y[i, j] = exp(a[i, j])
        ",
    );
    expect![[r#"
        # y = exp(2 * x)
        parallel for i in 0..size_0
          for j in 0..5
            y[i, j] = exp(x[i, j] * 2)
    "#]]
    .assert_eq(&nests(&optimised));
}

#[test]
fn products_of_matrices() {
    check(
        "
        kept a: f32[size_0, size_1]
        kept b: f32[size_1, 24]
        kept c: f32[size_0, 24]

        c = 0 everywhere

        for i in 0..size_0
          for j in 0..24
            for k in 0..size_1
              c[i, j] += a[i, k] * b[k, j]
        ",
    );
}

#[test]
fn transpositions_in_blocks() {
    check(
        "
        kept x: f32[size_0, size_1]
        kept y: f32[size_1, size_0]

        for i in 0..size_0
          for j in 0..size_1
            y[j, i] = x[i, j]
        ",
    );
}

#[test]
fn rows_that_are_normalised() {
    check(
        "
        kept x: f32[size_0, size_1]
        local e: f32[size_0, size_1]
        local s: f32[size_0]
        kept y: f32[size_0, size_1]

        for i in 0..size_0
          for j in 0..size_1
            e[i, j] = exp(x[i, j])

        s = 0 everywhere

        for i in 0..size_0
          for j in 0..size_1
            s[i] += e[i, j]

        for i in 0..size_0
          for j in 0..size_1
            y[i, j] = e[i, j] / s[i]
        ",
    );
}

#[test]
fn sums_of_columns_and_of_everything() {
    check(
        "
        kept x: f32[size_0, 6]
        kept columns: f32[6]
        kept all: f32[1]

        columns = 0 everywhere

        for i in 0..size_0
          for j in 0..6
            columns[j] += x[i, j]

        all = 0 everywhere

        for i in 0..size_0
          for j in 0..6
            all[0] += x[i, j]
        ",
    );
}

#[test]
fn margins_and_windows() {
    check(
        "
        local p: f32[1+size_0+1], margins 0
        kept x: f32[size_0]
        kept y: f32[size_0]

        for i in 0..size_0
          p[i] = x[i] * x[i]

        y = 0 everywhere

        for i in 0..size_0
          for k in 0..3
            y[i] += p[i + k - 1]
        ",
    );
}

#[test]
fn rows_that_are_looked_up() {
    check(
        "
        kept table: f32[(size_0 + 2), 4]
        kept ids: i64[size_1]
        kept y: f32[size_1, 4]

        for i in 0..size_1
          check ids[i] < (size_0 + 2), an index of table

        for i in 0..size_1
          for j in 0..4
            y[i, j] = table[ids[i], j]
        ",
    );
}

#[test]
fn what_leaves_an_axis_at_some_sizes_is_refused() {
    let program = parse(
        "
        kept x: f32[size_0]
        kept y: f32[size_0]

        for i in 0..size_0
          y[i] = x[2]
        ",
    );
    let error = ArenaPlan::new(&program).expect_err("a size of 2 has no such cell");
    assert_eq!(error.to_string(), "the program is not in order: an index leaves an axis of `x`");
    assert!(ArenaPlan::new(&program.at(&[3]).expect("a number")).is_ok());
}
