//! Signatures of functions, compared with applications, on random functions.
//!
//! A signature is inferred once, from the body alone. It is read here as text, values are drawn for its variables, and
//! a program that applies the function to tensors of these shapes is compiled:
//!
//! | drawn | must be |
//! |---|---|
//! | values for which the conditions hold, as numbers or as sizes with names | accepted, with the shapes of the result and of every parameter that the signature says |
//! | a variable in two places of arguments, with another size in one of them | refused; if not, it is one variable too few |
//! | values for which a condition does not hold | refused; if not, it is one condition too many |
//! | a function that is said to be wrong, and any shapes | refused |
//! | all of these, and shapes that are meant with mistakes in them | what the body is in place of the application: accepted with the same shapes, or refused with the same ends (`schemes/inlined.rs`) |
//!
//! A failure shows the functions, shrunk as far as possible, the signature, and the application. `BROADLOOM_PROGRAMS=n`
//! sets the number of files, `BROADLOOM_SEED=n` the first seed, `BROADLOOM_SHOWN=n` how many of a kind are shown,
//! `BROADLOOM_KIND=text,text` only kinds that contain one of some texts.

mod application;
pub mod drawer;
pub mod function;
mod inlined;
mod specs;
pub mod text;
mod values;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use broadloom_testing::{Dice, seeds, setting};

use application::{Failure, Report, Times, examine};
use function::File;

/// The default number of files, each of one to three functions.
const FILES: u64 = 2_400;

/// The number of failures of each kind that are shown.
const SHOWN: u64 = 1;

/// The number of applications of each function.
const TIMES: Times = Times { values: 2, wrong: 6, negative: 2, careless: 2 };

/// The same while a failure is shrunk.
const AGAIN: Times = Times { values: 6, wrong: 12, negative: 8, careless: 8 };

/// Known failures that are not fixed yet: each may occur in at most one of so many functions. All others must not
/// occur.
///
/// - A row variable stands where the body has one axis, or looks at its last or first axis: with rows of two axes, E0301,
///   E0302 and other shapes.
/// - A size of the configuration that the body makes a number (`{p : size}`, `set y.c = 10`) is shown as that number, and
///   no condition says so: E0301 with rows of one axis.
/// - Axes of a parameter that nothing determines in an application are chosen in a scheme: E0303.
/// - Conditions say that windows come out, but not always that they fit: E0302 with rows of one axis.
/// - A parameter with one size twice (`{p : c, c}`) is broadcast where what it meets has two sizes: the scheme shows the instance
///   in which it is not.
/// - Where a result is stated, leaves may share its axes in another way than a scheme does.
const KNOWN: &[(&str, u64)] = &[
    ("a condition is missing", 1_000),
    ("a parameter differs", 1_000),
    ("a parameter differs in units", 1_000),
    ("a parameter differs, rows of one axis", 1_000),
    ("a parameter differs, rows of one axis, the result is stated", 1_000),
    ("a parameter differs, the result is stated", 1_000),
    ("accepted against a condition", 1_000),
    ("accepted unequal: row in two arguments", 500),
    ("accepted unequal: size in two arguments", 1_000),
    ("refused E0301", 1_000),
    ("refused E0301, rows of one axis", 1_000),
    ("refused E0302", 800),
    ("refused E0302, rows of one axis", 1_000),
    ("refused E0303", 90),
    ("refused E0303, rows of one axis", 70),
    ("refused E0306, only with names", 1_000),
    ("refused E0306, rows of one axis, only with names", 1_000),
    ("the result differs", 1_000),
    ("the result differs, rows of one axis", 1_000),
];

/// A failure that is kept to be shown: its seed, and the functions it was found in.
type Kept = (u64, File, Failure);

/// Runs `examine`; a panic is a failure like others.
fn attempt(file: &File, only: Option<usize>, times: Times, seed: u64) -> Report {
    let found = catch_unwind(AssertUnwindSafe(|| examine(file, only, times, &mut Dice::of_function(seed))));
    found.unwrap_or_else(|_| {
        let text = file.written();
        let failure = Failure { kind: "panic".into(), function: file.0.len() - 1, text };
        Report { failures: vec![failure], counts: BTreeMap::new() }
    })
}

#[test]
fn signatures_say_what_applications_are() {
    let seeds = seeds(FILES);
    let count = seeds.end - seeds.start;
    let shown = setting("BROADLOOM_SHOWN", SHOWN);
    let only = std::env::var("BROADLOOM_KIND").ok();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut kinds: BTreeMap<String, (u64, Vec<Kept>)> = BTreeMap::new();
    for seed in seeds {
        let file = drawer::draw(&mut Dice::of_function(seed));
        let report = attempt(&file, None, TIMES, seed);
        for (what, number) in report.counts {
            *counts.entry(what).or_default() += number;
        }
        for failure in report.failures {
            let (same, kept) = kinds.entry(failure.kind.clone()).or_default();
            *same += 1;
            if *same <= shown {
                kept.push((seed, file.clone(), failure));
            }
        }
    }
    let failed: BTreeMap<&str, u64> =
        kinds.iter().map(|(kind, (found, _))| (kind.as_str(), *found)).collect();
    eprintln!("{count} files: {counts:#?}\n{failed:#?}");
    let functions = counts.get("functions").copied().unwrap_or_default();
    let known = |kind: &str| {
        KNOWN.iter().find(|(known, _)| *known == kind).map_or(0, |(_, every)| functions.div_ceil(*every))
    };
    let mut text = String::new();
    for (kind, (found, kept)) in &kinds {
        let wanted = only.as_ref().map(|only| only.split(',').any(|part| kind.contains(part)));
        if wanted.unwrap_or(*found > known(kind)) {
            for (seed, file, failure) in kept {
                let small = shrink(file, failure.clone());
                text.push_str(&format!("== {kind}, seed {seed}\n{}\n", small.text));
            }
        }
    }
    eprintln!("{text}");
    let new: Vec<&String> =
        kinds.iter().filter(|(kind, (found, _))| *found > known(kind)).map(|(kind, _)| kind).collect();
    assert!(new.is_empty(), "more than is known: {new:#?}");
}

/// Shrinks the functions of a failure as far as possible.
fn shrink(file: &File, mut failure: Failure) -> Failure {
    let mut file = File(file.0[..=failure.function].to_vec());
    'smaller: loop {
        for less in file.smaller() {
            for seed in 0..2 {
                let report = attempt(&less, Some(less.0.len() - 1), AGAIN, seed);
                if let Some(same) = report.failures.into_iter().find(|found| found.kind == failure.kind) {
                    (file, failure) = (less, same);
                    continue 'smaller;
                }
            }
        }
        return failure;
    }
}
