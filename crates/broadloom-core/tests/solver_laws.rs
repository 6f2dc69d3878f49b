//! Laws of the solver beyond single answers: reasons entail, observing changes nothing, growing
//! costs only the new work, mirror images agree, and work is linear in the number of constraints.

use crate::oracle;
#[allow(dead_code)]
use crate::translate;

use broadloom_core::{Answer, Solver};
use families::FAMILIES;
use oracle::generate::PROFILES;
use translate::{Outcome, translate};

/// The same families the benchmark runs.
#[allow(dead_code)]
use crate::families;

const SYSTEMS: u64 = 4_000;

fn each_system(mut check: impl FnMut(&oracle::System, u64)) {
    for profile in PROFILES {
        for seed in 1_000_000..1_000_000 + SYSTEMS {
            check(&oracle::generate(seed, profile), seed);
        }
    }
}

/// `why` names constraints that, on their own, force the same value; leaving out any one does not.
#[test]
fn chains_entail_and_are_minimal() {
    let mut chains = 0;
    each_system(|system, _| {
        let full = translate(system);
        if full.solver.is_failed() {
            return;
        }
        for (at, var) in full.dims.iter().enumerate() {
            let Some(chain) = full.solver.why_dim(*var) else { continue };
            let value = full.solver.observe_dim(*var);
            let ids: Vec<usize> = chain.iter().map(|id| id.index()).collect();
            let observe = |ids: &[usize]| {
                let part = translate(&oracle::System {
                    constraints: ids.iter().map(|id| system.constraints[*id].clone()).collect(),
                    ..system.clone()
                });
                part.solver.observe_dim(part.dims[at])
            };
            assert_eq!(observe(&ids), value, "{system}\nchain {ids:?}");
            for skip in &ids {
                let rest: Vec<usize> = ids.iter().copied().filter(|id| id != skip).collect();
                assert_ne!(observe(&rest), value, "{system}\nchain {ids:?} does not need {skip}");
            }
            chains += 1;
        }
    });
    assert!(chains > 1_000, "only {chains} forced dimensions: the generator changed");
}

/// Asking for the partial and the final answer after every constraint changes neither.
#[test]
fn observing_changes_nothing() {
    each_system(|system, _| {
        let expected = translate(system).outcome();
        let mut watched = translate(&oracle::System { constraints: Vec::new(), ..system.clone() });
        for constraint in &system.constraints {
            watched.add(constraint);
            if !watched.solver.is_failed() {
                watched.solver.report();
            }
            watched.outcome();
        }
        let outcome = watched.outcome();
        assert!(outcome.same_answer(&expected), "{system}\n{expected:?} becomes {outcome:?}");
    });
}

/// Left and right are alike: a mirrored system is satisfiable exactly if the original is.
#[test]
fn mirror_images_agree() {
    each_system(|system, _| {
        let (here, there) = (translate(system).outcome(), translate(&oracle::mirrored(system)).outcome());
        let same = match (&here, &there) {
            (Outcome::GaveUp, _) | (_, Outcome::GaveUp) => true,
            (Outcome::Unsat(_), Outcome::Unsat(_)) => true,
            (Outcome::Unsat(_), _) | (_, Outcome::Unsat(_)) => false,
            _ => true,
        };
        assert!(same, "{system}\n{here:?} mirrored {there:?}");
    });
}

/// Termination and steps: the step counter grows linearly, and the usual program never branches.
#[test]
fn work_is_linear_and_never_branches() {
    for family in &FAMILIES {
        let steps: Vec<f64> = [1_000, 10_000, 100_000]
            .map(|n| {
                let mut solver = Solver::new();
                (family.fill)(&mut solver, n);
                let Answer::Solved(closed) = solver.close() else { panic!("{} is not solved", family.name) };
                let stats = closed.stats();
                assert_eq!(stats.branches, 0, "{}", family.name);
                stats.steps as f64 / stats.constraints as f64
            })
            .to_vec();
        assert!(steps[2] < 1.1 * steps[0] + 0.1, "{}: {steps:?} steps a constraint", family.name);
        assert!(steps[2] < 10.0, "{}: {steps:?} steps a constraint", family.name);
    }
}

/// Incremental use: adding one constraint to a large system costs a bounded number of steps, whether
/// or not partial answers were read in between.
#[test]
fn growing_costs_only_the_new_work() {
    for family in &FAMILIES {
        let cost = |n: usize| {
            let mut solver = Solver::new();
            (family.fill)(&mut solver, n);
            let before = solver.stats().steps;
            let row = solver.row_var(broadloom_core::Role::Interior);
            let axes = [solver.size(3), solver.size(4)];
            let closed = broadloom_core::RowTerm::closed(&axes);
            solver.add(broadloom_core::Constraint::RowLe {
                res: broadloom_core::RowTerm::var(row),
                opnd: closed,
            });
            solver.observe_row(row);
            solver.stats().steps - before
        };
        assert_eq!(cost(1_000), cost(100_000), "{}", family.name);
    }
}
