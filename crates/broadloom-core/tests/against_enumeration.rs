//! The solver against exhaustive enumeration (the oracle shares no code with it).
//!
//! On random small systems: the solver never disagrees about satisfiability, every solution it
//! returns satisfies every constraint, every binding before closing is entailed by all enumerated
//! solutions up to `≈`, and neither shuffling nor observing changes the answer.
//!
//! `BROADLOOM_SYSTEMS=n` runs n systems per profile instead of the default.

use crate::oracle;
#[allow(dead_code)]
use crate::translate;

use std::ops::ControlFlow;

use broadloom_core as core;
use broadloom_testing::setting;
use oracle::generate::PROFILES;
use oracle::{Assignment, Binding, Constraint, RowTerm, System};
use translate::{Core, Outcome, Translated, translate};

/// Systems per profile in the normal test run: six profiles, 210,000 in all.
const SYSTEMS: u64 = 35_000;
const MAX_RANK: usize = 3;

fn systems() -> u64 {
    setting("BROADLOOM_SYSTEMS", SYSTEMS)
}

/// Questions that the solver may leave open without being wrong.
#[derive(Default)]
struct Unsaid {
    /// It gave up, or could not settle that a core is minimal: at most one system in ten thousand.
    answer: bool,
    /// Its bindings are principal, and a bound that they imply was kept: at most one in five
    /// hundred.
    principal: bool,
}

/// Checks one system; the error describes what is wrong.
fn check(system: &System, seed: u64) -> Result<Unsaid, String> {
    let mut unsaid = Unsaid::default();
    let mut translated = translate(system);
    // Observing is allowed at any time.
    let report = translated.solver.report();
    for row in &translated.rows {
        translated.solver.observe_row(*row);
    }
    let bindings = (!translated.solver.is_failed()).then(|| translated.bindings());
    if let Some(bindings) = &bindings
        && seed.is_multiple_of(4)
    {
        if let Some(told) = translated.told(system, &report) {
            check_sufficient(system, bindings, &told)?;
        }
        unsaid.principal = !check_principal(system, &translated)?;
    }
    let outcome = translated.outcome();
    let witness = oracle::satisfiable(system, MAX_RANK, &system.atoms(0));
    match (&outcome, &witness) {
        (Outcome::GaveUp, _) => {
            // Tags choose among solutions; they never lose them.
            let untagged = System::new(system.dim_vars, system.row_vars, system.constraints.clone());
            let answer = translate(&untagged).outcome();
            if !matches!(answer, Outcome::GaveUp) {
                return Err(format!("gave up because of tags; without them {answer:?}"));
            }
        }
        (Outcome::Unsat(_), Some(witness)) => {
            return Err(format!("unsatisfiable, but {witness} is a solution"));
        }
        (Outcome::Solved(solution) | Outcome::Holes(solution, _), _) => {
            if let Err(at) = oracle::satisfies(system, solution) {
                return Err(format!("{solution} violates {}", system.constraints[at]));
            }
        }
        (Outcome::Unsat(core), None) => check_core(system, core)?,
    }
    if let Some(bindings) = &bindings
        && let Some(witness) = counterexample(system, bindings)
    {
        return Err(format!("binding not entailed: {witness} against {bindings:?}"));
    }
    let branches = translated.solver.stats().branches;
    let again = translated.outcome();
    if !outcome.same_answer(&again) {
        return Err(format!("asked twice: {outcome:?} then {again:?}"));
    }
    let shuffled = oracle::shuffled(system, seed);
    let mut other = translate(&shuffled);
    let other_report = (other.solver.report().principal, other.bindings());
    let answer = other.outcome();
    if !outcome.same_answer(&answer) {
        return Err(format!("shuffled to\n{shuffled}\n{outcome:?} becomes {answer:?}"));
    }
    if let Some(bindings) = &bindings
        && (other_report.0 != report.principal || other_report.1 != *bindings)
    {
        let other = other_report.1;
        return Err(format!("shuffled to\n{shuffled}\n{bindings:?} becomes {other:?}"));
    }
    if let Some(bindings) = &bindings {
        let mut twice = system.clone();
        twice.constraints.extend(system.constraints.clone());
        let repeated = translate(&twice);
        let (own, other) = (report.principal, repeated.solver.report().principal);
        if own != other || repeated.bindings() != *bindings {
            return Err(format!(
                "said twice, principal {own} becomes {other}, {bindings:?} {:?}",
                repeated.bindings()
            ));
        }
    }
    let other_branches = other.solver.stats().branches;
    // A contradiction found while adding constraints ends before any search, in some orders.
    if branches != other_branches && !matches!(outcome, Outcome::Unsat(_)) {
        return Err(format!("shuffled to\n{shuffled}\n{branches} branches become {other_branches}"));
    }
    unsaid.answer = match outcome {
        Outcome::GaveUp => true,
        Outcome::Unsat(core) => !core.minimal,
        _ => false,
    };
    Ok(unsaid)
}

/// A solution that a binding does not cover, among the first few hundred.
fn counterexample(system: &System, bindings: &[Binding]) -> Option<Assignment> {
    let mut left = 400;
    let found = oracle::enumerate(system, MAX_RANK, &system.atoms(1), |assignment| {
        left -= 1;
        if !oracle::binding_holds(assignment, bindings) {
            ControlFlow::Break(Some(assignment.clone()))
        } else if left == 0 {
            ControlFlow::Break(None)
        } else {
            ControlFlow::Continue(())
        }
    });
    found.break_value().flatten()
}

/// Thm. 5.6(1): bindings and residual bounds lose nothing. Every assignment that satisfies them
/// (with some choice for the axes and rows they leave unnamed) satisfies the system.
fn check_sufficient(system: &System, bindings: &[Binding], told: &System) -> Result<(), String> {
    let mut left = 60;
    let found = oracle::enumerate(told, 2, &system.atoms(1), |assignment| {
        left -= 1;
        let own = Assignment {
            dims: assignment.dims[..system.dim_vars].to_vec(),
            rows: assignment.rows[..system.row_vars].to_vec(),
        };
        match oracle::satisfies(system, &own) {
            Err(at) => ControlFlow::Break(Some((own, at))),
            Ok(()) if left == 0 => ControlFlow::Break(None),
            Ok(()) => ControlFlow::Continue(()),
        }
    });
    match found.break_value().flatten() {
        None => Ok(()),
        Some((own, at)) => {
            let lost = &system.constraints[at];
            Err(format!("the report allows {own}, which violates {lost}\n{bindings:?}\ntold as\n{told}"))
        }
    }
}

/// Bindings that are called principal are: every assignment that satisfies them satisfies the
/// system. Returns true if those that are not called principal are not.
fn check_principal(system: &System, translated: &Translated) -> Result<bool, String> {
    let report = translated.solver.report();
    let bindings = core::Report { residual: Vec::new(), ..report.clone() };
    let Some(mut told) = translated.told(system, &bindings) else { return Ok(true) };
    // No binding consults a marker; this has the enumeration visit all of them.
    told.constraints
        .extend((0..system.row_vars).map(|row| Constraint::RowLe(RowTerm::var(row), RowTerm::var(row))));
    let flanks = |constraint: &Constraint| match constraint {
        Constraint::RowEq(_, term) => term.flank_len(),
        _ => 0,
    };
    let longest = told.constraints.iter().map(flanks).max().unwrap_or(0);
    let mut left = if report.principal { 60 } else { 20_000 };
    let found = oracle::enumerate(&told, (longest + 1).max(2), &system.atoms(1), |assignment| {
        left -= 1;
        let own = Assignment {
            dims: assignment.dims[..system.dim_vars].to_vec(),
            rows: assignment.rows[..system.row_vars].to_vec(),
        };
        match oracle::satisfies(system, &own) {
            Err(_) => ControlFlow::Break(Some(own)),
            Ok(()) if left == 0 => ControlFlow::Break(None),
            Ok(()) => ControlFlow::Continue(()),
        }
    });
    match (report.principal, found.break_value().flatten()) {
        (true, Some(own)) => Err(format!("called principal, and {own} is no solution")),
        (false, None) => Ok(left == 0),
        _ => Ok(true),
    }
}

/// A core has no solution, and every proper subset has one.
fn check_core(system: &System, found: &Core) -> Result<(), String> {
    let members = &found.members;
    let subset = |ids: &[usize]| System {
        constraints: ids.iter().map(|id| system.constraints[*id].clone()).collect(),
        ..system.clone()
    };
    let core = subset(members);
    if let Some(witness) = oracle::satisfiable(&core, MAX_RANK, &core.atoms(0)) {
        return Err(format!("core has solution {witness}:\n{core}"));
    }
    // Where the solver could not settle minimality, it claims nothing.
    let claimed = if found.minimal { members.len() } else { 0 };
    for skip in 0..claimed {
        let rest: Vec<usize> =
            members.iter().copied().enumerate().filter(|(at, _)| *at != skip).map(|(_, id)| id).collect();
        let rest = subset(&rest);
        // A witness may need ranks beyond the enumeration; the solver's own is checked instead.
        let found = match translate(&rest).outcome() {
            Outcome::Solved(solution) | Outcome::Holes(solution, _) => {
                oracle::satisfies(&rest, &solution).is_ok()
            }
            _ => false,
        };
        if !found {
            return Err(format!("core is not minimal: without member {skip} of\n{core}\nstill no solution"));
        }
    }
    Ok(())
}

fn run(profile: usize) {
    let (mut failures, mut gave_up, mut kept) = (Vec::new(), 0, 0);
    for seed in 0..systems() {
        let system = oracle::generate(seed, PROFILES[profile]);
        match check(&system, seed) {
            Ok(unsaid) => {
                gave_up += u64::from(unsaid.answer);
                kept += u64::from(unsaid.principal);
            }
            Err(problem) => failures.push(format!("seed {seed}:\n{system}\n{problem}\n")),
        }
        if failures.len() >= 5 {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(gave_up <= systems() / 10_000, "gave up on {gave_up} systems");
    assert!(kept <= systems() / 500, "bounds that are implied were kept on {kept} systems");
}

#[test]
fn dimensions_agree_with_enumeration() {
    run(0);
}

#[test]
fn rows_agree_with_enumeration() {
    run(1);
}

#[test]
fn word_equations_agree_with_enumeration() {
    run(2);
}

#[test]
fn shifted_inequalities_agree_with_enumeration() {
    run(3);
}

#[test]
fn rank_cycles_agree_with_enumeration() {
    run(4);
}

#[test]
fn mixed_systems_agree_with_enumeration() {
    run(5);
}
