//! Tests of the test oracle itself: hand-made cases, and agreement of its parts with each other.

use crate::oracle;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use oracle::generate::PROFILES;
use oracle::*;

/// The greatest number of solutions that the measurements visit.
const SOLUTION_CAP: usize = 2_000;

fn system(text: &str) -> System {
    System::parse(text).expect("a hand-made system is well-formed")
}

/// The solutions as text, each on one line.
fn solutions(text: &str, max_rank: usize, n_fresh: usize) -> Vec<String> {
    let system = system(text);
    let mut lines = Vec::new();
    let _: ControlFlow<()> = enumerate(&system, max_rank, &system.atoms(n_fresh), |solution| {
        assert_eq!(satisfies(&system, solution), Ok(()));
        lines.push(solution.to_string().trim_end().replace('\n', "; "));
        ControlFlow::Continue(())
    });
    lines
}

fn fast_set(system: &System, max_rank: usize, atoms: &[Atom]) -> BTreeSet<Assignment> {
    let mut found = BTreeSet::new();
    let _: ControlFlow<()> = enumerate(system, max_rank, atoms, |solution| {
        assert_eq!(satisfies(system, solution), Ok(()), "{system}\n{solution}");
        assert!(found.insert(solution.clone()), "twice: {system}\n{solution}");
        ControlFlow::Continue(())
    });
    found
}

fn naive_set(system: &System, max_rank: usize, atoms: &[Atom]) -> BTreeSet<Assignment> {
    let mut found = BTreeSet::new();
    let _: ControlFlow<()> = enumerate_naive(system, max_rank, atoms, |solution| {
        found.insert(system.canonical(solution));
        ControlFlow::Continue(())
    });
    found
}

/// The largest rank up to 3 for which the naive enumeration tries at most this many candidates.
fn naive_rank(system: &System, atoms: &[Atom], max_candidates: u64) -> Option<usize> {
    (0..=3).rev().find(|rank| naive_candidates(system, *rank, atoms) <= max_candidates)
}

fn count(system: &System, max_rank: usize, atoms: &[Atom], cap: usize) -> usize {
    let mut n_found = 0;
    let _ = enumerate(system, max_rank, atoms, |_| {
        n_found += 1;
        if n_found == cap { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    n_found
}

#[test]
fn the_marker_is_found_by_a_later_inequality() {
    let found = solutions("[..r..] ~ [3, 5]\n[3, <>, 9, 5] <= [..r..]", 3, 1);
    assert_eq!(found, ["..r.. = [3, <>, 5]"]);
}

#[test]
fn a_marker_that_nothing_consults_is_visited_once() {
    assert_eq!(solutions("[..r..] ~ [3, 5]", 3, 1), ["..r.. = [<>, 3, 5]"]);
    let found = solutions("[..r..] ~ [3, 5]\n[3, 5] <= [..r..]", 3, 1);
    assert_eq!(found.len(), 3);
}

#[test]
fn word_equations() {
    assert!(solutions("[3, ..r..] ~ [..r.., 5]", 3, 1).is_empty());
    assert_eq!(
        solutions("[3, 5, ..r..] ~ [..r.., 5, 3]", 3, 1),
        ["..r.. = [<>, 3]", "..r.. = [<>, 3, 5, 3]"]
    );
    assert_eq!(solutions("[3, ..r..] ~ [..r.., 3]", 3, 1).len(), 4);
    assert!(solutions("[3, ..r..] ~ [..r..]", 3, 1).is_empty());
}

#[test]
fn closed_inequalities() {
    assert!(solutions("[3, <>] <= [5]", 3, 1).is_empty());
    assert_eq!(solutions("[3, <>] <= [3]", 3, 1).len(), 1);
    assert_eq!(solutions("[3] <= [_]", 3, 1).len(), 1);
    assert!(solutions("[_] <= [3]", 3, 1).is_empty());
    assert!(solutions("[1] <= [3]", 3, 1).is_empty());
    assert!(solutions("[_] <= [1]", 3, 1).is_empty());
    assert!(solutions("[] <= [_]", 3, 1).is_empty());
    assert_eq!(solutions("[3, 4] <= []", 3, 1).len(), 1);
    // The operand's marker decides; that of the result does not.
    assert_eq!(solutions("[3, 4] <= [3, <>]", 3, 1).len(), 1);
    assert!(solutions("[3, <>, 4] <= [3]", 3, 1).is_empty());
    assert_eq!(solutions("[<>, 3, 4] <= [4]", 3, 1).len(), 1);
}

#[test]
fn rank_facts() {
    assert!(solutions("[..r..] <= [4, ..r..]", 3, 1).is_empty());
    assert!(solutions("[..r..] <= [3, ..s..]\n[..s..] <= [3, ..r..]", 3, 1).is_empty());
    // `r` is not longer than the closed row. Each of its axes, for each place of the marker,
    // meets one axis of the closed row and is that or the unit.
    let found = solutions("[3, 4] <= [..r..]", 3, 0);
    assert_eq!(found.len(), 1 + 2 * 2 + 3 * (2 * 2));
}

#[test]
fn dimensions() {
    assert_eq!(solutions("3 <= a", 0, 1), ["a = _", "a = 3"]);
    assert_eq!(solutions("a <= 3", 0, 1), ["a = 3"]);
    assert_eq!(solutions("a <= _", 0, 1), ["a = _", "a = 7"]);
    assert_eq!(solutions("a <= 3\na <= 2", 0, 1), [""; 0]);
    assert_eq!(solutions("3 <= a\n2 <= a", 0, 1), ["a = _"]);
    assert_eq!(solutions("2 <= a\n2:b <= a\na = b", 0, 1), ["a = _; b = _"]);
    assert_eq!(solutions("1 = _", 0, 1), [""; 0]);
    assert_eq!(solutions("2 = 2:b", 0, 1), [""; 0]);
}

#[test]
fn atoms_outside_the_list_are_never_assigned() {
    let system = system("a = 3\n[..r..] ~ [3, 3]");
    assert_eq!(satisfiable(&system, 3, &[Atom::new(4)]), None);
    assert!(satisfiable(&system, 3, &[Atom::new(3)]).is_some());
    let system = self::system("[3] <= [a]");
    let found = satisfiable(&system, 3, &[]).expect("the unit is always a candidate");
    assert_eq!(found.dims, [Dim::Unit]);
}

#[test]
fn the_first_violated_constraint_is_named() {
    let system = system("[..r..] ~ [3]\na = 3\na <= _\n[..r..] <= [a, a]");
    let three = Dim::Atom(Atom::new(3));
    let row = |dims: &[Dim]| Row { dims: dims.to_vec(), marker: 0 };
    let check = |dim: Dim, dims: &[Dim]| {
        let assignment = Assignment { dims: vec![dim], rows: vec![row(dims)] };
        satisfies(&system, &assignment)
    };
    assert_eq!(check(three, &[]), Err(0));
    assert_eq!(check(Dim::Unit, &[three]), Err(1));
    assert_eq!(check(three, &[three]), Err(3));
}

#[test]
fn systems_print_as_they_are_written() {
    let text = "\
leaf a, ..r..
param b
a = 3
2:b <= b
_ <= c
[..r.., 4] ~ [3, 5, 4]
[..r..] <= [3, <>, 4]
[3, ..s.., a] <= [3, <>]
[] ~ [..t..]
";
    assert_eq!(system(text).to_string(), text);
    for profile in PROFILES {
        for seed in 0..500 {
            let system = generate(seed, profile);
            let text = system.to_string();
            let parsed = self::system(&text);
            assert_eq!(parsed.to_string(), text);
            assert_eq!(parsed.constraints, system.constraints);
        }
    }
    assert!(System::parse("[..r.., ..s..] ~ []").is_err());
    assert!(System::parse("a < b").is_err());
    assert!(System::parse("leaf 3").is_err());
}

#[test]
fn bindings_match_up_to_markers_and_existential_parts() {
    use PatternDim::{Fresh, Term};
    let three = Term(DimTerm::Atom(Atom::new(3)));
    let row = |row_var, lead: &[PatternDim], rest, trail: &[PatternDim]| {
        let (lead, trail) = (lead.to_vec(), trail.to_vec());
        Binding::Row(row_var, RowPattern { lead, rest, trail })
    };
    let claim = |text: &str, bindings: &[Binding]| {
        let system = system(text);
        counterexample(&system, 3, &system.atoms(1), bindings).is_none()
    };

    let text = "[..r..] ~ [3, ..s.., a]\n[..s..] <= [..r..]";
    assert!(claim(text, &[Binding::Dim(0, Fresh(0))]), "there is no solution");

    let text = "[..r..] ~ [3, ..s.., a]\n[a, ..t..] <= [3, ..s..]";
    let a = Term(DimTerm::Var(0));
    assert!(claim(text, &[row(0, &[three], Rest::Var(1), &[a])]));
    assert!(claim(text, &[row(0, &[three], Rest::Any, &[Fresh(0)])]));
    assert!(claim(text, &[row(0, &[three], Rest::Any, &[three])]));
    assert!(claim(text, &[row(0, &[Fresh(0)], Rest::Any, &[Fresh(0)])]));
    assert!(claim(
        text,
        &[
            row(0, &[Fresh(1)], Rest::Shared(0), &[three]),
            row(1, &[], Rest::Shared(0), &[]),
            Binding::Dim(0, Fresh(1)),
        ]
    ));
    assert!(!claim(text, &[row(0, &[three], Rest::Closed, &[a])]));
    assert!(!claim(text, &[row(0, &[three], Rest::Var(2), &[a])]));
    assert!(!claim(text, &[row(1, &[Fresh(0)], Rest::Any, &[])]));
    assert!(!claim(text, &[row(1, &[], Rest::Shared(0), &[]), row(2, &[], Rest::Shared(0), &[])]));

    // One fresh atom tells variables apart from each other and from the unit.
    assert!(!claim("a <= _", &[Binding::Dim(0, Term(DimTerm::Unit))]));
    assert!(!claim("a <= b", &[Binding::Dim(0, Term(DimTerm::Var(1)))]));
    assert!(claim("a <= b\nb <= a", &[Binding::Dim(0, Term(DimTerm::Var(1)))]));
}

#[test]
fn fast_and_naive_enumeration_agree() {
    let mut n_compared = 0;
    let mut n_solutions = 0;
    for profile in PROFILES {
        for seed in 0..1_200 {
            let system = generate(seed, profile);
            let atoms = system.atoms((seed % 2) as usize);
            let max_candidates = if seed % 40 == 0 { 200_000 } else { 2_000 };
            let Some(max_rank) = naive_rank(&system, &atoms, max_candidates) else {
                continue;
            };
            let naive = naive_set(&system, max_rank, &atoms);
            let fast = fast_set(&system, max_rank, &atoms);
            assert_eq!(fast, naive, "{} {seed}, rank {max_rank}:\n{system}", profile.name);
            n_compared += 1;
            n_solutions += fast.len();
        }
    }
    println!("{n_compared} systems compared, with {n_solutions} solutions");
    assert!(n_compared > 7_000);
}

#[test]
fn a_mirrored_system_has_the_mirrored_solutions() {
    for profile in PROFILES {
        for seed in 0..2_000 {
            let system = generate(seed, profile);
            let mirror = mirrored(&system);
            assert_eq!(mirrored(&mirror), system);
            let atoms = system.atoms(1);
            assert_eq!(
                satisfiable(&system, 3, &atoms).is_some(),
                satisfiable(&mirror, 3, &atoms).is_some(),
                "{} {seed}:\n{system}",
                profile.name
            );
            if count(&system, 2, &atoms, 1_000) < 1_000 {
                let found = fast_set(&system, 2, &atoms);
                let found: BTreeSet<Assignment> =
                    found.iter().map(|solution| mirror.canonical(&mirrored_assignment(solution))).collect();
                let expected = fast_set(&mirror, 2, &atoms);
                assert_eq!(found, expected, "{} {seed}:\n{system}", profile.name);
            }
        }
    }
}

#[test]
fn a_shuffled_system_has_the_same_solutions() {
    for profile in PROFILES {
        for seed in 0..1_000 {
            let system = generate(seed, profile);
            let shuffle = shuffled(&system, seed + 1);
            let atoms = system.atoms(1);
            if count(&system, 2, &atoms, 1_000) < 1_000 {
                let (before, after) = (fast_set(&system, 2, &atoms), fast_set(&shuffle, 2, &atoms));
                assert_eq!(before, after, "{} {seed}:\n{system}", profile.name);
            }
        }
    }
}

#[test]
fn satisfiability_needs_no_fresh_atom() {
    for profile in PROFILES {
        for seed in 0..1_000 {
            let system = generate(seed, profile);
            assert_eq!(
                satisfiable(&system, 3, &system.atoms(0)).is_some(),
                satisfiable(&system, 3, &system.atoms(2)).is_some(),
                "{} {seed}:\n{system}",
                profile.name
            );
        }
    }
}

/// Prints, for each profile, the number of systems that have a solution and the cost of the search.
/// The shares are checked; the times depend on the machine and are only shown.
#[test]
fn profiles_have_a_healthy_share_of_satisfiable_systems() {
    const N_SYSTEMS: u64 = 4_000;
    let mut shares = Vec::new();
    println!("profile        satisfiable  at the cap  deciding µs  visiting µs  worst µs");
    for profile in PROFILES {
        let systems: Vec<System> = (0..N_SYSTEMS).map(|seed| generate(seed, profile)).collect();
        let start = Instant::now();
        let n_satisfiable =
            systems.iter().filter(|system| satisfiable(system, 3, &system.atoms(1)).is_some()).count();
        let deciding = start.elapsed();
        let mut visiting = Duration::ZERO;
        let mut worst = Duration::ZERO;
        let mut n_capped = 0;
        for system in &systems {
            let start = Instant::now();
            let n_found = count(system, 3, &system.atoms(1), SOLUTION_CAP);
            let elapsed = start.elapsed();
            visiting += elapsed;
            worst = worst.max(elapsed);
            n_capped += usize::from(n_found == SOLUTION_CAP);
        }
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let percent = |n_systems: usize| 100.0 * n_systems as f64 / N_SYSTEMS as f64;
        println!(
            "{:<14} {:>10.1}% {:>10.1}% {:>12.2} {:>12.2} {:>9.0}",
            profile.name,
            percent(n_satisfiable),
            percent(n_capped),
            micros(deciding) / N_SYSTEMS as f64,
            micros(visiting) / N_SYSTEMS as f64,
            micros(worst),
        );
        shares.push((profile.name, percent(n_satisfiable)));
    }
    for (name, share) in shares {
        assert!((30.0..=70.0).contains(&share), "{name}: {share}%");
    }
}
