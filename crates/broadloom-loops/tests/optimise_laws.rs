//! The optimised program computes the same results, on thousands of random programs.

use crate::support;

use broadloom_loops::optimise::{PassOptions, optimise};
use broadloom_loops::reference::{Memory, Stop, evaluate};
use broadloom_loops::{Cell, Dtype, Index, LoopSum, Program, Scalar, Statement};
use broadloom_testing::setting;
use support::random::{descending, sample};
use support::{Sample, difference, run};

/// The difference between the results of the optimised and the original program, if there is one.
fn mistake(sample: &Sample, options: &PassOptions) -> Option<String> {
    let expected = match run(&sample.program, sample) {
        Ok(values) => values,
        Err(stop) => return Some(format!("the program itself stops: {stop:?}")),
    };
    let optimised = optimise(&sample.program, options);
    compare(sample, &expected, &optimised)
}

fn compare(
    sample: &Sample,
    expected: &[(broadloom_loops::BufferId, Vec<f64>)],
    optimised: &Program,
) -> Option<String> {
    match run(optimised, sample) {
        Ok(values) => difference(optimised, expected, &values, sample.tolerance),
        Err(stop) => Some(format!("it stops: {stop:?}")),
    }
}

/// Removes nests as long as the mistake remains.
fn shrink(mut sample: Sample, options: &PassOptions) -> Sample {
    let usable = |sample: &Sample| {
        let results = run(&sample.program, sample);
        results.is_ok_and(|values| values.iter().all(|(_, values)| !values.iter().any(|x| x.is_nan())))
    };
    let mut at = 0;
    while at < sample.program.nests.len() {
        let mut smaller = sample.clone();
        smaller.program.nests.remove(at);
        if usable(&smaller) && mistake(&smaller, options).is_some() {
            (sample, at) = (smaller, 0);
        } else {
            at += 1;
        }
    }
    sample
}

/// The number of programs that each test tries, which `BROADLOOM_SEEDS` can set.
fn count() -> u64 {
    setting("BROADLOOM_SEEDS", 2_000)
}

/// Checks programs from a seed on, so that every test has its own.
fn check(from: u64, options: &PassOptions) {
    check_drawn(from, options, sample);
}

fn check_drawn(from: u64, options: &PassOptions, draw: fn(u64) -> Sample) {
    for seed in from..from + count() {
        let sample = draw(seed);
        if mistake(&sample, options).is_some() {
            let small = shrink(sample, options);
            let words = mistake(&small, options).unwrap_or_default();
            let optimised = optimise(&small.program, options);
            panic!("seed {seed}: {words}\n{}\n===== optimised =====\n{optimised}", small.program);
        }
    }
}

/// The programs themselves are valid: they run, and nearly all results are numbers.
#[test]
fn nothing() {
    check(0, &PassOptions::none());
    let numbers = |seed: &u64| {
        let sample = sample(*seed);
        let results = run(&sample.program, &sample).unwrap();
        results.iter().all(|(_, values)| values.iter().all(|value| !value.is_nan()))
    };
    let good = (0..count()).filter(numbers).count() as u64;
    assert!(good >= count() * 9 / 10, "{good} of {}", count());
}

/// An index that is too large stops the run before it is used.
#[test]
fn checks_stay_in_front() {
    let mut stopped = 0;
    for seed in 0..2 * count() {
        let mut sample = sample(seed);
        for (id, values) in &mut sample.inputs {
            if sample.program.buffer(*id).dtype == Dtype::I64 {
                values[0] = 1000.0;
            }
        }
        let Err(Stop::Index { .. }) = run(&sample.program, &sample) else { continue };
        stopped += 1;
        let optimised = optimise(&sample.program, &PassOptions::all());
        let result = run(&optimised, &sample);
        assert!(matches!(result, Err(Stop::Index { .. })), "seed {seed}: {result:?}\n{optimised}");
    }
    assert!(stopped * 50 > count(), "{stopped}");
}

/// A run that a check stops has not written what comes behind the check: sessions put back the rest.
#[test]
fn nothing_is_kept_before_a_check() {
    let mut compared = 0;
    for seed in 0..4 * count() {
        let mut sample = sample(seed);
        for (id, values) in &mut sample.inputs {
            if sample.program.buffer(*id).dtype == Dtype::I64 {
                values[0] = 1000.0;
            }
        }
        let before = stopped(&Program { nests: Vec::new(), ..sample.program.clone() }, &sample).0;
        let (expected, true) = stopped(&sample.program, &sample) else { continue };
        let optimised = optimise(&sample.program, &PassOptions::all());
        let (found, _) = stopped(&optimised, &sample);
        for ((id, before), ((_, expected), (_, found))) in before.iter().zip(expected.iter().zip(&found)) {
            let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
            if same(before, expected) {
                let name = &sample.program.buffer(*id).name;
                assert!(same(before, found), "seed {seed}, {name}\n{}\n=====\n{optimised}", sample.program);
                compared += 1;
            }
        }
    }
    assert!(compared > count() / 10, "{compared}");
}

/// The contents of kept buffers after a run, and true if a check has stopped it.
fn stopped(program: &Program, sample: &Sample) -> (Vec<(broadloom_loops::BufferId, Vec<f64>)>, bool) {
    let mut memory = Memory::new(program).expect("there is room");
    for (id, values) in &sample.inputs {
        memory.write(program, *id, values);
    }
    let stopped = evaluate(program, &mut memory, &sample.symbols).is_err();
    (support::kept(program).map(|id| (id, memory.read(program, id))).collect(), stopped)
}

#[test]
fn simplify_alone() {
    check(1_000_000, &PassOptions { simplify: true, ..PassOptions::none() });
}

#[test]
fn products_alone() {
    check(13_000_000, &PassOptions { products: true, ..PassOptions::none() });
}

#[test]
fn first_write_alone() {
    check(2_000_000, &PassOptions { first_write: true, ..PassOptions::none() });
}

#[test]
fn dead_alone() {
    check(3_000_000, &PassOptions { dead: true, ..PassOptions::none() });
}

#[test]
fn inline_alone() {
    check(4_000_000, &PassOptions { inline: true, ..PassOptions::none() });
}

#[test]
fn duplicates_alone() {
    check(5_000_000, &PassOptions { duplicates: true, ..PassOptions::none() });
}

#[test]
fn fuse_alone() {
    check(6_000_000, &PassOptions { fuse: true, ..PassOptions::none() });
}

#[test]
fn fuse_reductions() {
    check(7_000_000, &PassOptions { fuse: true, first_write: true, ..PassOptions::none() });
}

#[test]
fn factors_after_inline() {
    check(8_000_000, &PassOptions { factors: true, inline: true, first_write: true, ..PassOptions::none() });
}

#[test]
fn updates_after_first_write() {
    let options = PassOptions { first_write: true, updates: true, ..PassOptions::none() };
    check_drawn(14_000_000, &options, descending);
    check_drawn(15_000_000, &PassOptions::all(), descending);
}

#[test]
fn contract_alone() {
    check(9_000_000, &PassOptions { contract: true, ..PassOptions::none() });
}

#[test]
fn contract_after_fuse() {
    check(10_000_000, &PassOptions { fuse: true, contract: true, first_write: true, ..PassOptions::none() });
}

#[test]
fn common_after_inline() {
    check(11_000_000, &PassOptions { common: true, ..PassOptions::none() });
    check(12_000_000, &PassOptions { inline: true, fuse: true, common: true, ..PassOptions::none() });
}

/// Loops marked as parallel run backwards here: results must not change.
#[test]
fn parallel_in_any_order() {
    for options in [PassOptions { parallel: true, ..PassOptions::none() }, PassOptions::all()] {
        for seed in 0..count() {
            let sample = sample(seed);
            let Ok(expected) = run(&sample.program, &sample) else { panic!("seed {seed} stops") };
            let mut optimised = optimise(&sample.program, &options);
            let shown = optimised.to_string();
            optimised.nests.iter_mut().for_each(|nest| nest.body.iter_mut().for_each(backwards));
            if let Some(words) = compare(&sample, &expected, &optimised) {
                panic!("seed {seed}: {words}\n{}\n===== optimised =====\n{shown}", sample.program);
            }
        }
    }
}

/// Turns a parallel loop around: `i` becomes `extent - 1 - i`.
fn backwards(statement: &mut Statement) {
    let Statement::Loop(each) = statement else { return };
    if each.parallel {
        let (var, last) = (each.var, each.extent - 1);
        let turn = |sum: &mut LoopSum| {
            let offset = sum.offset + sum.coefficient(var) * last;
            let terms =
                sum.terms.iter().map(|(c, known)| if *known == var { (-*c, var) } else { (*c, *known) });
            *sum = LoopSum::new(offset, terms.collect::<Vec<_>>());
        };
        each.body.iter_mut().for_each(|inner| turn_statement(inner, &turn));
    }
}

fn turn_statement(statement: &mut Statement, turn: &dyn Fn(&mut LoopSum)) {
    match statement {
        Statement::Loop(each) => each.body.iter_mut().for_each(|inner| turn_statement(inner, turn)),
        Statement::Store { cell, value, .. } => {
            turn_cell(cell, turn);
            turn_scalar(value, turn);
        }
        Statement::Declare { value, .. } | Statement::Update { value, .. } => turn_scalar(value, turn),
        Statement::Check { cell, .. } => turn_cell(cell, turn),
        Statement::Sort { keys, places, .. } => {
            turn_cell(keys, turn);
            turn_cell(places, turn);
        }
        Statement::Matrix { work, .. } => turn_cell(work, turn),
        Statement::Fill { .. } | Statement::FillMargins { .. } => {}
    }
}

fn turn_cell(cell: &mut Cell, turn: &dyn Fn(&mut LoopSum)) {
    for index in &mut cell.index {
        match index {
            Index::At(sum) => turn(sum),
            Index::Symbol(_) => {}
            Index::Value(inner) => turn_cell(inner, turn),
        }
    }
}

fn turn_scalar(scalar: &mut Scalar, turn: &dyn Fn(&mut LoopSum)) {
    match scalar {
        Scalar::Load(cell) => turn_cell(cell, turn),
        Scalar::Position(sum) | Scalar::Uniform { at: sum, .. } => turn(sum),
        _ => scalar.children_mut().for_each(|child| turn_scalar(child, turn)),
    }
}

#[test]
fn all_together() {
    check(13_000_000, &PassOptions::all());
}

#[test]
fn twice() {
    for seed in 0..count() {
        let sample = sample(seed);
        let Ok(expected) = run(&sample.program, &sample) else { panic!("seed {seed} stops") };
        let once = optimise(&sample.program, &PassOptions::all());
        let twice = optimise(&once, &PassOptions::all());
        if let Some(words) = compare(&sample, &expected, &twice) {
            panic!(
                "seed {seed}: {words}\n{}\n===== once =====\n{once}\n===== twice =====\n{twice}",
                sample.program
            );
        }
    }
}
