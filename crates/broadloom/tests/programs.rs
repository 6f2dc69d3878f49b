//! Random programs: trained for two steps in every way to run them, with the same parameters in the end.
//!
//! A program is a list of lines over a few parameters and data; its loss is the mean of the squares
//! of all parameters and of all unused results. The judge evaluates the derived loop nests in 64
//! bits. A failing program is reduced and printed. `BROADLOOM_PROGRAMS=3000` runs more of them,
//! `BROADLOOM_PROGRAM=17` runs one and prints it.

pub mod draw;
pub mod lines;
use crate::numbers;

use broadloom::{Backend, Dtype, Error, Settings};
use broadloom_testing::{asked, setting};
use draw::draw;
use lines::Lines;
use numbers::close;

/// The outcome of a program after two steps: the loss and all parameters.
type Outcome = Vec<Vec<f64>>;

fn settings(backend: Backend, optimise: bool, threads: usize) -> Settings {
    Settings { backend, optimise, threads: Some(threads), ..Settings::default() }
}

/// The tolerance of outcomes in a type, compared with those of the judge.
fn tolerance(dtype: Dtype) -> f64 {
    if dtype == Dtype::F64 { 1e-8 } else { 1e-3 }
}

/// The outcome by the judge, which computes in 64 bits. None if its numbers are large, or if it
/// depends on the last digits of the inputs, as the maximum of numbers that are almost equal does.
fn judged(lines: &Lines, dtype: Dtype) -> Result<Option<Outcome>, Error> {
    let judge = |nudge| lines.run(Dtype::F64, settings(Backend::Reference, false, 1), nudge);
    let (outcome, nudged) = (judge(0.0)?, judge(tolerance(dtype) * 1e-3)?);
    let reasonable = outcome.iter().flatten().all(|number| number.abs() < 1e3);
    let steady = difference(&nudged, &outcome, tolerance(dtype) / 4.0).is_none();
    Ok((reasonable && steady).then_some(outcome))
}

/// The difference between the outcomes of two ways, if there is one.
fn difference(found: &Outcome, wanted: &Outcome, tolerance: f64) -> Option<String> {
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let wrong = found.iter().zip(wanted).position(|(a, b)| !close(*a, *b, tolerance));
        if let Some(place) = wrong {
            let of = if at == 0 { "the loss".into() } else { format!("parameter {at}, element {place}") };
            return Some(format!("{of} is {}, by the judge {}", found[place], wanted[place]));
        }
    }
    None
}

/// A description of the mistake in some way to run a program, if there is one.
fn wrong(lines: &Lines, dtype: Dtype, way: &Settings) -> Option<String> {
    let wanted = match judged(lines, dtype) {
        Ok(wanted) => wanted?,
        Err(error) => return Some(format!("the judge refuses it: {error}")),
    };
    match lines.run(dtype, way.clone(), 0.0) {
        Ok(found) => difference(&found, &wanted, tolerance(dtype)),
        Err(error) => Some(error.to_string()),
    }
}

/// Removes the lines that a mistake does not need.
fn smaller(lines: &Lines, dtype: Dtype, way: &Settings) -> Lines {
    let mut least = lines.clone();
    let mut at = least.len();
    while at > 0 {
        at -= 1;
        if let Some(without) = least.without(at)
            && wrong(&without, dtype, way).is_some()
        {
            least = without;
            at = at.min(least.len());
        }
    }
    least
}

/// One program in four has short floats.
fn dtype(seed: u64) -> Dtype {
    if seed % 4 == 3 { Dtype::F32 } else { Dtype::F64 }
}

/// Runs the programs of some seeds in some ways. Most of them have to be programs that run.
pub fn run(seeds: impl Iterator<Item = u64>, ways: &[Settings]) {
    let (ran, passed_over) = run_share(seeds, ways);
    assert!(ran >= passed_over, "{ran} programs ran, {passed_over} were passed over");
}

/// Runs the programs of some seeds, which may be few: the numbers of those that ran, and of those that were passed over.
pub fn run_share(seeds: impl Iterator<Item = u64>, ways: &[Settings]) -> (u64, u64) {
    let (mut ran, mut passed_over) = (0, 0);
    for seed in seeds {
        let dtype = dtype(seed);
        let lines = draw(seed, dtype == Dtype::F32);
        if asked("BROADLOOM_PROGRAM").is_some() {
            println!("{lines}");
        }
        if let Ok(None) = judged(&lines, dtype) {
            passed_over += 1;
            continue;
        }
        for way in ways {
            if let Some(what) = wrong(&lines, dtype, way) {
                let least = smaller(&lines, dtype, way);
                let now = wrong(&least, dtype, way).unwrap_or_default();
                panic!(
                    "program {seed} ({dtype}), {way:?}:\n{what}\n\nmade smaller:\n{least}\n{now}\n\nwhole:\n{lines}"
                );
            }
        }
        ran += 1;
    }
    (ran, passed_over)
}

/// Seeds from a first one on at a stride, as many as are requested.
pub fn seeds(first: u64, stride: u64, usual: u64) -> Box<dyn Iterator<Item = u64>> {
    match asked("BROADLOOM_PROGRAM") {
        Some(one) => Box::new(std::iter::once(one)),
        None => Box::new((first..setting("BROADLOOM_PROGRAMS", usual)).step_by(stride as usize)),
    }
}

#[test]
fn optimised_programs_mean_the_same() {
    run(seeds(0, 1, 420).filter(|seed| dtype(*seed) == Dtype::F64), &[settings(Backend::Reference, true, 1)]);
}

#[test]
fn short_floats_mean_the_same() {
    let ways = [settings(Backend::Reference, false, 1), settings(Backend::Reference, true, 1)];
    run(seeds(0, 1, 420).filter(|seed| dtype(*seed) == Dtype::F32), &ways);
}

/// Compiling takes most of the time: a part of the programs, in two tests that run in parallel.
#[test]
fn machine_code_means_the_same() {
    run(seeds(0, 12, 420), &[settings(Backend::Native, true, 1), settings(Backend::Native, true, 2)]);
}

#[test]
fn machine_code_means_the_same_for_other_programs() {
    run(seeds(7, 12, 420), &[settings(Backend::Native, true, 1), settings(Backend::Native, true, 2)]);
}
