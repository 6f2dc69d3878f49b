//! The number of times that the solver gives up on large systems of shifted constraints, whose
//! ranks nothing bounds.
//!
//! Verdicts are compared with enumeration as far as that goes: a system with a solution of small rank is
//! never called unsatisfiable, and every solution satisfies every constraint.
//!
//! `BROADLOOM_SYSTEMS=n` runs n systems instead of the default.

use crate::oracle;
#[allow(dead_code)]
use crate::translate;

use broadloom_testing::setting;
use oracle::{System, satisfiable, satisfies, shifted_system};
use translate::{Outcome, translate};

const SYSTEMS: u64 = 1_628;
/// Enumeration goes up to this rank.
const MAX_RANK: usize = 3;

/// Returns true if the solver gave up; the error describes a wrong answer.
fn gives_up(system: &System) -> Result<bool, String> {
    match translate(system).outcome() {
        Outcome::GaveUp => return Ok(true),
        Outcome::Solved(solution) | Outcome::Holes(solution, _) => {
            if let Err(at) = satisfies(system, &solution) {
                return Err(format!("{system}\n{solution} violates {}", system.constraints[at]));
            }
        }
        Outcome::Unsat(_) => {
            if let Some(witness) = satisfiable(system, MAX_RANK, &system.atoms(0)) {
                return Err(format!("{system}\nunsatisfiable, but {witness} is a solution"));
            }
        }
    }
    Ok(false)
}

/// Trying ranks alone, the search gave up on 13 of these; by cases, on one.
#[test]
fn giving_up_on_shifted_systems_is_rare() {
    let systems = setting("BROADLOOM_SYSTEMS", SYSTEMS);
    let given_up: Vec<u64> = (0..systems)
        .filter(|seed| {
            gives_up(&shifted_system(*seed)).unwrap_or_else(|wrong| panic!("seed {seed}:\n{wrong}"))
        })
        .collect();
    assert!(given_up.len() as u64 <= systems.div_ceil(SYSTEMS), "gave up on {given_up:?}");
}

/// Systems that need more than trying ranks one after another.
#[test]
fn hard_systems_are_decided() {
    let check = |text: &str, expected: bool| {
        let system = System::parse(text).expect("a system");
        assert_eq!(gives_up(&system), Ok(false));
        let unsatisfiable = matches!(translate(&system).outcome(), Outcome::Unsat(_));
        assert_eq!(unsatisfiable, !expected, "{system}");
    };
    // The second and the fourth line make all sizes 2, so `u` cannot have a 3.
    check(
        "[b, a, 5, ..t..] ~ [..r.., 3, c, b]
         [b, a, ..s..] ~ [..s.., b, 2]
         [b, ..s..] <= [..u.., 2]
         [b, c, ..s..] <= [..s.., a, 2]
         [c, c, ..u..] <= [..r.., 3, c]",
        false,
    );
    // Without a 3 to be found, everything is 2.
    check(
        "[b, a, ..s..] ~ [..s.., b, 2]
         [b, ..s..] <= [..u.., 2]
         [b, c, ..s..] <= [..s.., a, 2]
         [c, c, ..u..] <= [..r.., 2, c]
         [..r..] <= [_, _, _, _, _, _]",
        true,
    );
    // Sides of different lengths: `r` is made of 5, `a` and units, wherever it broadcasts.
    check(
        "[5, a, 5, ..r..] <= [..r.., b, a]
         [b, c, ..t..] <= [..u.., a, a]
         [a, c, ..r..] <= [..s.., b, 5]
         [..s.., a, a] <= [2, a, ..t..]
         [3, b, ..u..] <= [..u.., b, c]
         [..s.., a, b, c] <= [b, a, a, ..u..]",
        false,
    );
}
