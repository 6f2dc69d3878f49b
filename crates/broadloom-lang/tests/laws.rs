//! Laws that every program obeys, on random programs: it can be written in other ways that say the same.
//!
//! | rewriting | what it does |
//! |---|---|
//! | swap | operands of commutative operations change places |
//! | reorder | statements that do not need each other change places |
//! | reader | a tensor is read once more, and the result is not used |
//! | name | a part of an expression gets a name |
//! | inline | a name is replaced by its expression |
//! | duplicate | a statement is said once more, under another name |
//! | state | a shape of a leaf that was inferred is stated |
//! | state results | the shapes of results are stated |
//! | state ranks | a number of axes that was inferred is stated |
//!
//! The verdict stays the same, every shape stays the same, and what is refused is refused with the same ends: `laws/answer.rs`
//! says exactly what is compared. A failure shows the program, made as small as can be, its other form, and both answers.
//! `BROADLOOM_PROGRAMS=n` tries so many programs, `BROADLOOM_SEED=n` begins at that seed, `BROADLOOM_LAW=name` tries one rewriting.

mod answer;
use crate::dice;
mod drawer;
mod program;
mod rewriting;
mod shape;
mod shrink;
mod specs;

use std::collections::BTreeMap;

use dice::Dice;
use shrink::{Failure, attempt, shrink};

/// How many programs are tried if nothing is said.
const PROGRAMS: u64 = 16_000;

/// How many rewritings of each program are tried.
const REWRITINGS: usize = 3;

/// How many failures of a kind are shown.
const SHOWN: u64 = 2;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Violations that are known and not mended, and one in how many programs may have them. All others have none.
///
/// `state s : _` says that an axis is a leaf's, and leaves take sizes from readers; and a leaf that is given an axis before a
/// row (`stack`, `concat`, `"o, ... => o, ..."`) is itself something to face once its shape is stated. What is refused and said
/// again may be refused for another reason, where two hold.
const KNOWN: &[(&str, u64)] = &[
    ("duplicate: Codes", 16_000),
    ("state ranks: Shapes", 8_000),
    ("state ranks: Verdict", 16_000),
    ("state results: Shapes", 8_000),
    ("state results: Verdict", 16_000),
    ("state: Shapes", 16_000),
];

#[test]
fn programs_may_be_written_in_other_ways() {
    let (first, count) = (number("BROADLOOM_SEED", 0), number("BROADLOOM_PROGRAMS", PROGRAMS));
    let only = std::env::var("BROADLOOM_LAW").ok();
    let shown = number("BROADLOOM_SHOWN", SHOWN);
    let laws: Vec<_> =
        rewriting::ALL.iter().filter(|(name, _)| only.as_ref().is_none_or(|only| only == name)).collect();
    let mut failures: BTreeMap<String, u64> = BTreeMap::new();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut failed, mut text) = (0, String::new());
    for seed in first..first + count {
        let mut dice = Dice::new(seed);
        let program = drawer::draw(&mut dice);
        let answered = answer::answer(&program);
        assert!(
            !answered.errors.iter().any(|(code, _)| code.starts_with("E01") || code.starts_with("E02")),
            "seed {seed}: not well written
{}{}",
            program.text(),
            answered.shown
        );
        let verdict = answered.errors.iter().next().map_or("accepted", |(code, _)| *code);
        *counts.entry(verdict).or_default() += 1;
        for _ in 0..REWRITINGS.min(laws.len()) {
            let (name, rewriting) = **dice.one(&laws);
            let Some(failure) = attempt(&program, &answered, rewriting, &mut dice) else { continue };
            failed += 1;
            let same = failures.entry(format!("{name}: {:?}", failure.difference)).or_default();
            *same += 1;
            if *same <= shown {
                let small = shrink(failure, rewriting);
                text.push_str(&report(name, seed, &small));
            }
        }
    }
    eprintln!("{count} programs: {counts:?}");
    let known = |kind: &str| {
        KNOWN.iter().find(|(known, _)| *known == kind).map_or(0, |(_, every)| count.div_ceil(*every))
    };
    let new = failures.iter().any(|(kind, failed)| *failed > known(kind));
    assert!(!new, "{text}\n{failed} failures: {failures:#?}");
}

fn report(name: &str, seed: u64, failure: &Failure) -> String {
    let Failure { program, answer, rewritten, other, difference } = failure;
    format!(
        "== {name}, seed {seed}: {difference:?}\n{}--\n{}-- is, written in another way,\n{}--\n{}\n",
        program.text(),
        answer::show(answer),
        rewritten.program.text(),
        answer::show(other),
    )
}
