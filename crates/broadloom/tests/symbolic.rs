//! Random programs over named sizes, compared with the same programs with numbers in place of the
//! names: their shapes, their refusals, the bounds of their sizes, and their results.
//!
//! A failing program is reduced and printed. `BROADLOOM_PROGRAMS=3000` draws more of them,
//! `BROADLOOM_PROGRAM=17` draws one.

pub mod draw;
pub mod judge;
pub mod program;
mod run;
mod sessions;

use broadloom::Backend;
use broadloom_testing::Dice;
use draw::{Drawn, Purpose, draw};
use judge::{Counts, Named, bounds, judge};
use program::Program;
use run::Running;
use sessions::{Way, tour};

use crate::programs::seeds;

/// Failures with reduced programs, which are all reported at once.
#[derive(Default)]
struct Complaints(Vec<String>);

impl Complaints {
    fn add(
        &mut self,
        seed: u64,
        program: &Program,
        numbers: &[u64],
        what: &str,
        wrong: impl Fn(&Program) -> Option<String>,
    ) {
        let least = program.smaller(|program| wrong(program).is_some());
        let now = wrong(&least).unwrap_or_default();
        self.0.push(format!("program {seed} at {numbers:?}: {what}\nmade smaller:\n{least}\n{now}"));
    }

    /// The program of a seed, unless a failure occurred while drawing it.
    fn drawn(&mut self, seed: u64, purpose: Purpose, counts: &mut Counts) -> Option<Drawn> {
        let drawn = draw(seed, purpose, counts).map_err(|what| format!("program {seed}: {what}"));
        drawn.map_err(|what| self.0.push(what)).ok()
    }

    fn tell(self) {
        let count = self.0.len();
        assert!(count == 0, "{count} complaints\n\n{}", self.0.join("\n\n"));
    }
}

/// Numbers for the names of a program, in their ranges: those it was drawn with, primes, ones, and
/// others.
fn choices(random: &mut Dice, drawn: &Drawn) -> Vec<Vec<u64>> {
    let names = &drawn.program.names;
    let within = |at: usize, number: u64| {
        let (least, most) = names[at].range;
        number.clamp(least, most.unwrap_or(u64::MAX))
    };
    let all = |of: &mut dyn FnMut(usize) -> u64| -> Vec<u64> {
        (0..names.len()).map(|at| within(at, of(at))).collect()
    };
    let mut choices = vec![
        drawn.guide.clone(),
        all(&mut |at| [101, 131, 173][at]),
        all(&mut |at| [11, 7, 13][at]),
        all(&mut |at| drawn.guide[at] * 3),
        all(&mut |at| drawn.guide[at] / 2),
        all(&mut |_| 1),
        all(&mut |_| 6),
    ];
    for _ in 0..3 {
        choices.push(all(&mut |_| 1 + random.below(30) as u64));
        choices.push(all(&mut |_| 12 * (1 + random.below(30) as u64)));
    }
    choices
}

fn wrong_at(program: &Program, numbers: &[u64]) -> Option<String> {
    let mut named = Named::new(program).ok()?;
    judge(program, &mut named, numbers, &mut Counts::default()).err()
}

#[test]
fn shapes_are_those_of_the_program_with_numbers() {
    let (mut counts, mut complaints) = (Counts::default(), Complaints::default());
    for seed in seeds(0, 1, 300) {
        let Some(drawn) = complaints.drawn(seed, Purpose::Shapes, &mut counts) else { continue };
        let mut named = Named::new(&drawn.program).expect("it was built before");
        counts.programs += 1;
        for numbers in choices(&mut Dice::new(seed), &drawn) {
            if let Err(what) = judge(&drawn.program, &mut named, &numbers, &mut counts) {
                complaints.add(seed, &drawn.program, &numbers, &what, |program| wrong_at(program, &numbers));
                break;
            }
        }
    }
    complaints.tell();
    let Counts { programs, same, symbolic_axes, neither, by_chance, gave_up, for_some_sizes, .. } = counts;
    if programs >= 300 {
        assert!(same > 3000 && symbolic_axes > 30_000 && neither > 200, "{counts:?}");
        assert!(
            by_chance * 100 < same && gave_up < programs / 5 && for_some_sizes < programs / 50,
            "{counts:?}"
        );
    }
}

#[test]
fn bounds_hold_for_all_sizes() {
    let (mut counts, mut complaints) = (Counts::default(), Complaints::default());
    for seed in seeds(0, 1, 120) {
        let Some(drawn) = complaints.drawn(seed, Purpose::Enumeration, &mut counts) else { continue };
        let mut named = Named::new(&drawn.program).expect("it was built before");
        let wrong = |program: &Program| bounds(program, &mut Named::new(program).ok()?, 13).err();
        if let Err(what) = bounds(&drawn.program, &mut named, 13) {
            complaints.add(seed, &drawn.program, &[], &what, wrong);
        }
    }
    complaints.tell();
}

/// Numbers at which the program is valid, and has the same shapes as with names.
fn stops(drawn: &Drawn, random: &mut Dice) -> Vec<Vec<u64>> {
    let Drawn { program, guide } = drawn;
    let Ok(mut named) = Named::new(program) else { return Vec::new() };
    let mut good = |numbers: &[u64]| {
        let mut counts = Counts::default();
        judge(program, &mut named, numbers, &mut counts).is_ok() && counts.same == 1
    };
    let ranges: Vec<(u64, Option<u64>)> = program.names.iter().map(|name| name.range).collect();
    let mut all = judge::all(&ranges, 13);
    random.shuffle(&mut all);
    let mut stops: Vec<Vec<u64>> = vec![guide.clone()];
    stops.extend(ranges.iter().all(|(least, _)| *least == 1).then(|| vec![1; ranges.len()]));
    stops.extend(all.into_iter().take(40));
    stops.retain(|numbers| good(numbers));
    stops.truncate(5);
    stops
}

fn sessions(seeds: impl Iterator<Item = u64>, way: &Way, seed_of: u64) -> sessions::Counts {
    let (mut counts, mut complaints) = (sessions::Counts::default(), Complaints::default());
    for seed in seeds {
        let Some(drawn) = complaints.drawn(seed + seed_of, Purpose::Running, &mut Counts::default()) else {
            continue;
        };
        let stops = stops(&drawn, &mut Dice::new(seed));
        let wrong = |program: &Program, counts: &mut sessions::Counts| {
            tour(program, way, &stops, &mut Dice::new(seed), counts)
        };
        if stops.len() < 2 {
            continue;
        }
        counts.programs += 1;
        match wrong(&drawn.program, &mut counts) {
            Ok(notice) => {
                if let Some(notice) = notice {
                    counts.by_themselves += 1;
                    println!("program {}: {notice}\n{}", seed + seed_of, drawn.program);
                }
            }
            Err(what) => {
                let fails = |program: &Program| wrong(program, &mut sessions::Counts::default()).err();
                complaints.add(seed, &drawn.program, &drawn.guide, &what, fails);
            }
        }
    }
    println!("{counts:?}");
    complaints.tell();
    counts
}

#[test]
fn one_session_runs_for_every_size() {
    let counts = sessions(seeds(0, 1, 200), &Way::new(Backend::Reference, 1e-9), 0);
    assert!(counts.programs < 100 || counts.by_data > 100 && counts.refused > 1000, "{counts:?}");
}

/// Compiled once, for all sizes.
#[test]
fn machine_code_runs_for_every_size() {
    let counts = sessions(seeds(0, 1, 36), &Way::new(Backend::Native, 1e-9), 10_000);
    assert!(counts.by_themselves * 5 <= counts.programs, "most are compiled once: {counts:?}");
}

/// The judges detect mistakes: programs with slightly wrong shapes, bounds or values.
#[test]
fn judges_notice_mistakes() {
    let [mut shapes, mut noticed] = [0, 0];
    for seed in 0..60 {
        let Ok(Drawn { program, guide }) = draw(seed, Purpose::Shapes, &mut Counts::default()) else {
            continue;
        };
        let named = Named::new(&program).expect("it was built before");
        let of_named: Vec<_> = named.tensors().map(|tensor| named.shapes.get(tensor)).collect();
        let Ok((made, plain)) = judge::plain(&program, &guide) else { continue };
        let of_plain: Vec<_> = made.results.iter().flatten().map(|own| plain.get(*own)).collect();
        let says = |guide: &[u64]| {
            judge::compare(&of_named, &of_plain, &program.pairs(guide), &mut Counts::default())
        };
        says(&guide).unwrap_or_else(|what| panic!("program {seed}: {what}\n{program}"));
        // One name has another number, at which no two sizes are equal.
        let off: Vec<u64> = guide.iter().map(|number| number + 132).collect();
        if of_named.iter().any(broadloom::Shape::is_symbolic) {
            shapes += 1;
            noticed += usize::from(says(&off).is_err());
        }
    }
    assert!(shapes > 40 && noticed == shapes, "{noticed} of {shapes}");

    // Slightly different data in a session changes the loss; so do different sizes.
    let way = Way::new(Backend::Reference, 1e-9);
    let [mut runs, mut by_values, mut by_sizes] = [0, 0, 0];
    for seed in 0..40 {
        let Ok(drawn) = draw(seed, Purpose::Running, &mut Counts::default()) else { continue };
        let Drawn { program, .. } = &drawn;
        let stops = stops(&drawn, &mut Dice::new(seed));
        let [first, second, ..] = &stops[..] else { continue };
        let outcome = |numbers: &[u64], nudge: bool| {
            let mut it = Running::new(program, Some(numbers), way.settings.clone()).ok()?;
            it.set_all(program).ok()?;
            it.set_params().ok()?;
            if nudge {
                it.nudge().ok()?;
            }
            it.run().ok()
        };
        let (Some(right), Some(nudged), Some(other)) =
            (outcome(first, false), outcome(first, true), outcome(second, false))
        else {
            continue;
        };
        runs += 1;
        by_values += usize::from(run::difference(&nudged, &right, way.tolerance).is_err());
        by_sizes += usize::from(run::difference(&other, &right, way.tolerance).is_err());
    }
    assert!(
        runs > 25 && by_values * 10 > runs * 9 && by_sizes * 10 > runs * 8,
        "{by_values}, {by_sizes} of {runs}"
    );
}

/// A size that a count leaves open gets a basis, and is not lost.
#[test]
fn a_conversion_has_all_its_elements() {
    let mut g = broadloom::Graph::new();
    g.dim("batch", 3..=1000, None).expect("a name");
    let x = g.data("x", "batch").expect("a shape");
    let c = g.convert(x, 4, 1).expect("four times as many");
    g.add(c, x).expect("it broadcasts");
    assert_eq!(g.final_shape(c).expect("closes").to_string(), "4, batch");
}

/// A search finds ranks on a copy of the system; what closing makes of them has to hold for all named sizes.
#[test]
fn what_a_search_found_is_closed_for_all_sizes() {
    let mut g = broadloom::Graph::new();
    g.dim("batch", 2..=12, None).expect("a name");
    let pairs = g.data("pairs", "batch, batch | 1").expect("a shape");
    let map = g.data("map", "2 -> batch").expect("a shape");
    let half = g.constant(0.5);
    g.sub(pairs, half).expect("it broadcasts");
    let counted = g.data_with_count("counted", "... | _", 24).expect("a shape");
    g.add(half, counted).expect("it broadcasts");
    let made = g.compose_accumulate(map, counted, half).expect("some shapes do");
    assert_eq!(g.final_shape(made).expect("closes").to_string(), "12 | batch");
}

/// `batch - 3` is `seq` for some sizes, such as 10 and 7, and a check could say so, as it does for a spec. Today an expression that may be one
/// is refused where it meets a name in a sum: at a `batch` of 4 it is one element, which might also be a unit.
#[test]
fn an_expression_that_may_be_one_is_no_other_name() {
    let mut g = broadloom::Graph::new();
    g.dim("batch", 4..=12, None).expect("a name");
    g.dim("seq", 1..=12, None).expect("a name");
    let (x, y) = (g.data("x", "batch").expect("a shape"), g.data("y", "seq").expect("a shape"));
    let rest = g.einsum("3^a => a", &[x]).expect("a spec");
    let sum = g.add(rest, y).expect("some sizes do");
    let error = g.final_shape(sum).expect_err("it is refused, although some sizes do");
    assert_eq!(error.kind(), broadloom::ErrorKind::Mismatch, "{error}");
    assert_eq!(error.sentence(), "`a` of `einsum(\"3^a => a\", x)` cannot be both batch - 3 and seq");
}

/// The parts of `a^b` are open, but `b^a` has the same length as `a^b`, whatever they are: no guess decides the parameter. Today that is found
/// for a number only, because equations are taken together for numbers: for a named size the program has to state it.
#[test]
fn exchanged_parts_have_the_size_of_the_whole() {
    let square_of = |size: &str| {
        let mut g = broadloom::Graph::new();
        g.dim("batch", 2.., None).expect("a name");
        let x = g.data("x", size).expect("a shape");
        let exchanged = g.einsum("a^b => b^a", &[x]).expect("a spec");
        let square = g.param_shaped("square", "n -> n").expect("a shape");
        g.compose(square, exchanged).expect("it fits");
        g.final_shape(square)
    };
    assert_eq!(square_of("12").expect("a number").to_string(), "12 -> 12");
    let error = square_of("batch").expect_err("it is refused, although it is `batch`");
    assert_eq!(error.kind(), broadloom::ErrorKind::Undetermined, "{error}");
}

/// With numbers, the 24 elements are `24, _`, `24` or `2, 12`, depending on the size: no choice fits all, so it should give up. Today the number
/// of axes of a counted row is chosen by a check on the named size.
#[test]
fn a_counted_row_is_chosen_by_a_check() {
    let mut g = broadloom::Graph::new();
    g.dim("batch", 1.., None).expect("a name");
    let x = g.data("x", "batch").expect("a shape");
    let c = g.data_with_count("c", "...", 24).expect("a shape");
    g.add(c, x).expect("it broadcasts");
    let checks: Vec<String> =
        g.runtime_checks().expect("it closes").iter().map(ToString::to_string).collect();
    assert_eq!(checks, ["`batch` = `24`", "`batch` is at least 24", "`batch` is at most 24"]);
}
