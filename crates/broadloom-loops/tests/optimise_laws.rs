//! The optimised program computes what the program computes, on thousands of random programs.

mod support;

use broadloom_core::projection::Component;
use broadloom_loops::optimise::{Options, optimise};
use broadloom_loops::{Cell, Index, Program, Scalar, Statement};
use support::random::sample;
use support::{Sample, difference, run};

/// How the optimised program differs from what was given, if it does.
fn mistake(sample: &Sample, options: &Options) -> Option<String> {
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

/// Leaves out nests as long as the mistake stays one.
fn shrink(mut sample: Sample, options: &Options) -> Sample {
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

/// How many programs each test tries: a million lines of them with `BROADLOOM_SLOW_TESTS`.
fn count() -> u64 {
    if std::env::var_os("BROADLOOM_SLOW_TESTS").is_some() { 200_000 } else { 4_000 }
}

fn check(seeds: std::ops::Range<u64>, options: &Options) {
    for seed in seeds {
        let sample = sample(seed);
        if mistake(&sample, options).is_some() {
            let small = shrink(sample, options);
            let words = mistake(&small, options).unwrap_or_default();
            let optimised = optimise(&small.program, options);
            panic!("seed {seed}: {words}\n{}\n===== optimised =====\n{optimised}", small.program);
        }
    }
}

#[test]
fn nothing() {
    check(0..count() / 4, &Options::none());
}

#[test]
fn simplify_alone() {
    check(0..count(), &Options { simplify: true, ..Options::none() });
}

#[test]
fn first_write_alone() {
    check(0..count(), &Options { first_write: true, ..Options::none() });
}

#[test]
fn dead_alone() {
    check(0..count(), &Options { dead: true, ..Options::none() });
}

#[test]
fn inline_alone() {
    check(0..count(), &Options { inline: true, ..Options::none() });
}

#[test]
fn duplicates_alone() {
    check(0..count(), &Options { duplicates: true, ..Options::none() });
}

#[test]
fn fuse_alone() {
    check(0..count(), &Options { fuse: true, ..Options::none() });
}

#[test]
fn fuse_reductions() {
    check(0..count(), &Options { fuse: true, first_write: true, ..Options::none() });
}

#[test]
fn contract_alone() {
    check(0..count(), &Options { contract: true, ..Options::none() });
}

#[test]
fn contract_after_fuse() {
    check(0..count(), &Options { fuse: true, contract: true, first_write: true, ..Options::none() });
}

#[test]
fn common_after_inline() {
    check(0..count(), &Options { common: true, ..Options::none() });
    check(0..count(), &Options { inline: true, fuse: true, common: true, ..Options::none() });
}

/// Loops marked as parallel run backwards here: nothing may change.
#[test]
fn parallel_in_any_order() {
    for options in [Options { parallel: true, ..Options::none() }, Options::all()] {
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
        let (var, last) = (each.var, each.extent as i64 - 1);
        let turn = |sum: &mut Component| {
            let offset = sum.offset + sum.coefficient(var) * last;
            let terms = sum.terms.iter().map(|(c, known)| if *known == var { (-c, var) } else { (*c, *known) });
            *sum = Component::new(offset, terms.collect::<Vec<_>>());
        };
        each.body.iter_mut().for_each(|inner| turn_statement(inner, &turn));
    }
}

fn turn_statement(statement: &mut Statement, turn: &dyn Fn(&mut Component)) {
    match statement {
        Statement::Loop(each) => each.body.iter_mut().for_each(|inner| turn_statement(inner, turn)),
        Statement::Store { cell, value, .. } => {
            turn_cell(cell, turn);
            turn_scalar(value, turn);
        }
        Statement::Declare { value, .. } | Statement::Update { value, .. } => turn_scalar(value, turn),
        Statement::Check { cell, .. } => turn_cell(cell, turn),
        Statement::Fill { .. } | Statement::FillMargins { .. } => {}
    }
}

fn turn_cell(cell: &mut Cell, turn: &dyn Fn(&mut Component)) {
    for index in &mut cell.index {
        match index {
            Index::At(sum) => turn(sum),
            Index::Symbol(_) => {}
            Index::Value(inner) => turn_cell(inner, turn),
        }
    }
}

fn turn_scalar(scalar: &mut Scalar, turn: &dyn Fn(&mut Component)) {
    match scalar {
        Scalar::Load(cell) => turn_cell(cell, turn),
        Scalar::Position(sum) | Scalar::Uniform { at: sum, .. } => turn(sum),
        _ => scalar.children_mut().for_each(|child| turn_scalar(child, turn)),
    }
}

#[test]
fn all_together() {
    check(0..2 * count(), &Options::all());
}

#[test]
fn twice() {
    for seed in 0..count() {
        let sample = sample(seed);
        let Ok(expected) = run(&sample.program, &sample) else { panic!("seed {seed} stops") };
        let once = optimise(&sample.program, &Options::all());
        let twice = optimise(&once, &Options::all());
        if let Some(words) = compare(&sample, &expected, &twice) {
            panic!("seed {seed}: {words}\n{}\n===== once =====\n{once}\n===== twice =====\n{twice}", sample.program);
        }
    }
}
