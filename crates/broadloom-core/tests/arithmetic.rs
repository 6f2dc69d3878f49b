//! The solver against an independent judge of arithmetic (`arithmetic_model/mod.rs` has the semantics).
//!
//! Each test states one property and checks it on random small systems of every profile. The judge
//! and the search can only show that the solver is wrong: a solution that they find is one, and an
//! assignment that they reject is none, whatever the bounds of the search.
//!
//! `BROADLOOM_SYSTEMS=n` runs n systems per profile instead of the default. A failure is printed with
//! its profile and seed, as the smallest system that fails in the same way; `BROADLOOM_FAILURES=n`
//! prints n failures of each kind.

use crate::arithmetic_model as model;
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use broadloom_core::{DimShape, Middle, RowShape};
use broadloom_testing::setting;
use model::System;
use model::generate::{PROFILES, Profile, generate, shuffled};
use model::judge::satisfies;
use model::search::{Bounds, Found, Goal, Place, find};
use model::shrink::{Failure, shrink};
use model::translate::{Kind, Outcome, Translated, ground, translate};

/// Systems per profile in the normal test run.
const SYSTEMS: u64 = 2_000;

/// The number of failures of one kind and profile that are shrunk and reported.
const REPORTED: u64 = 2;

/// The failure that may happen, but not on more than a few systems in a hundred.
const GAVE_UP: &str = "gave up";

fn systems() -> u64 {
    setting("BROADLOOM_SYSTEMS", SYSTEMS)
}

fn bounds(system: &System, steps: usize) -> Bounds {
    Bounds { domain: system.domain(), max_rank: 2, steps, seed: 0 }
}

/// Counts of the systems on which a property was checked, by their answers.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    systems: u64,
    solved: u64,
    underdetermined: u64,
    unsatisfiable: u64,
    gave_up: u64,
    /// A count that a property keeps for itself.
    noted: u64,
}

impl Tally {
    fn count(&mut self, kind: Kind) {
        match kind {
            Kind::Solved => self.solved += 1,
            Kind::Underdetermined => self.underdetermined += 1,
            Kind::Unsatisfiable => self.unsatisfiable += 1,
            Kind::GaveUp => self.gave_up += 1,
        }
    }
}

/// Checks a property on the systems of every profile. The property adds its counts to the tally.
fn for_all(property: impl Fn(&System, &mut Tally) -> Result<(), Failure>) -> Vec<(Profile, Tally)> {
    let checked = |system: &System, tally: &mut Tally| {
        let result = quietly(|| property(system, tally));
        result.unwrap_or_else(|(place, panic)| Err(Failure::new(format!("panic at {place}"), panic)))
    };
    let mut tallies = Vec::new();
    let mut report = String::new();
    for profile in PROFILES {
        let mut tally = Tally::default();
        let mut failures: BTreeMap<String, Vec<(u64, System, Failure)>> = BTreeMap::new();
        for seed in 0..systems() {
            tally.systems += 1;
            let system = generate(seed, &profile);
            if let Err(failure) = checked(&system, &mut tally) {
                failures.entry(failure.label.clone()).or_default().push((seed, system, failure));
            }
        }
        let tolerated = systems() * profile.give_up_percent / 100;
        failures.retain(|label, found| label != GAVE_UP || found.len() as u64 > tolerated);
        for (label, found) in failures {
            report += &format!("=== profile {}, {label}: {} of {}\n", profile.name, found.len(), systems());
            let n_reported = setting("BROADLOOM_FAILURES", REPORTED) as usize;
            for (seed, system, failure) in found.into_iter().take(n_reported) {
                let (small, failure) =
                    shrink(system, failure, &|system| checked(system, &mut Tally::default()));
                report += &format!("--- seed {seed}: {}\n{small}\n", failure.detail);
            }
        }
        println!("{}: {tally:?}", profile.name);
        tallies.push((profile, tally));
    }
    assert!(report.is_empty(), "\n{report}");
    tallies
}

/// Runs without printing panics; the error is the place and the message of a panic.
fn quietly<T>(run: impl FnOnce() -> T) -> Result<T, (String, String)> {
    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
        static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if QUIET.get() {
                PLACE.set(info.location().map(ToString::to_string).unwrap_or_default());
            } else {
                usual(info);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    QUIET.set(false);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        (PLACE.take(), text.unwrap_or_default())
    })
}

/// The facts that are known before closing: the dimensions, and the rows.
type Observed = (Vec<Option<broadloom_core::order::Dim>>, Vec<RowShape>);

fn observe(translated: &Translated) -> Observed {
    let dims = translated.dims.iter().map(|var| translated.solver.observe_dim(*var)).collect();
    let rows = translated.rows.iter().map(|var| translated.solver.observe_row(*var)).collect();
    (dims, rows)
}

fn judge(system: &System, outcome: &Outcome) -> Result<(), Failure> {
    match &outcome.values {
        None => Ok(()),
        Some(values) => satisfies(system, values)
            .map_err(|violation| Failure::new(violation.label, format!("{outcome} {}", violation.what))),
    }
}

/// A system that the solver calls unsatisfiable has no solution, neither on adding nor on closing;
/// `noted` counts contradictions where the search was cut off.
#[test]
fn a_contradiction_has_no_solution() {
    let tallies = for_all(|system, tally| {
        let mut translated = translate(system);
        let failed = translated.solver.is_failed();
        let outcome = translated.outcome();
        tally.count(outcome.kind);
        if failed && outcome.kind != Kind::Unsatisfiable {
            return Err(Failure::new("failed, then not", format!("failed before closing, then {outcome}")));
        }
        if outcome.kind != Kind::Unsatisfiable {
            return Ok(());
        }
        match find(system, &bounds(system, 20_000), &Goal::Any) {
            Found::Nothing => Ok(()),
            Found::CutOff => {
                tally.noted += 1;
                Ok(())
            }
            Found::Solution(solution) => {
                Err(Failure::new("wrongly unsatisfiable", format!("there is the solution\n{solution}")))
            }
        }
    });
    for (profile, tally) in tallies {
        let (least, satisfiable) = (tally.systems / 10, tally.solved + tally.underdetermined);
        assert!(satisfiable >= least, "{}: few systems have a solution: {tally:?}", profile.name);
        assert!(tally.unsatisfiable >= least, "{}: few systems have none: {tally:?}", profile.name);
        assert!(tally.noted <= tally.systems / 20, "{}: the search is cut off: {tally:?}", profile.name);
    }
}

/// The solver gives up on at most one system in a hundred, a few more if the numbers are enormous;
/// `noted` counts those that have a solution.
#[test]
fn giving_up_is_rare() {
    for_all(|system, tally| {
        let kind = translate(system).outcome().kind;
        tally.count(kind);
        if kind != Kind::GaveUp {
            return Ok(());
        }
        let found = find(system, &bounds(system, 20_000), &Goal::Any);
        tally.noted += u64::from(matches!(found, Found::Solution(_)));
        Err(Failure::new(GAVE_UP, format!("the search says {found:?}")))
    });
}

/// The values of an answer are a solution, markers and empty dimensions included; `noted` counts
/// answers that are too large to judge.
#[test]
fn an_answer_satisfies_every_constraint() {
    let tallies = for_all(|system, tally| {
        let outcome = translate(system).outcome();
        tally.count(outcome.kind);
        let answered = matches!(outcome.kind, Kind::Solved | Kind::Underdetermined);
        tally.noted += u64::from(answered && outcome.values.is_none());
        judge(system, &outcome)
    });
    for (profile, tally) in tallies {
        assert!(tally.noted == 0 || profile.enormous, "{}: {tally:?}", profile.name);
    }
}

/// Observations before closing are true in every solution: ground dimensions, the range of a rank,
/// and the axes of a row that are ground or equal to something named. `noted` counts claims.
#[test]
fn what_is_forced_holds_in_every_solution() {
    let tallies = for_all(|system, tally| {
        let translated = translate(system);
        if translated.solver.is_failed() {
            return Ok(());
        }
        let (dims, rows) = observe(&translated);
        let mut goals = Vec::new();
        for (dim_var, dim) in dims.iter().enumerate() {
            if let Some(dim) = dim.and_then(ground) {
                goals.push(Goal::Differ(Place::Var(dim_var), Place::Ground(dim)));
            }
        }
        for (row_var, shape) in rows.iter().enumerate() {
            claims_on_row(&translated, row_var, shape, &mut goals);
        }
        for goal in goals {
            tally.noted += 1;
            if let Found::Solution(solution) = find(system, &bounds(system, 3_000), &goal) {
                let detail = format!("not so: {goal:?}, in the solution\n{solution}");
                return Err(Failure::new("observed, but not forced", detail));
            }
        }
        Ok(())
    });
    for (profile, tally) in tallies {
        assert!(tally.noted > tally.systems / 3, "{}: few claims: {tally:?}", profile.name);
    }
}

/// The chain of constraints that explains a forced dimension forces it, without the others.
#[test]
fn a_reason_forces_what_it_explains() {
    let tallies = for_all(|system, tally| {
        let translated = translate(system);
        if translated.solver.is_failed() {
            return Ok(());
        }
        for (dim_var, var) in translated.dims.iter().enumerate() {
            let Some(dim) = translated.solver.observe_dim(*var) else { continue };
            let Some(chain) = translated.solver.why_dim(*var) else {
                return Err(Failure::new("no reason", format!("{dim} is known, but not why")));
            };
            tally.noted += 1;
            let member = |id: &usize| chain.contains(&translated.ids[*id]);
            let part = system.part((0..system.constraints.len()).filter(member));
            let alone = translate(&part);
            let again = alone.solver.observe_dim(alone.dims[dim_var]);
            if again != Some(dim) {
                let detail = format!("{dim} is known, but by its reason alone {again:?}:\n{part}of");
                return Err(Failure::new("weak reason", detail));
            }
            let Some(dim) = ground(dim) else { continue };
            let goal = Goal::Differ(Place::Var(dim_var), Place::Ground(dim));
            if let Found::Solution(solution) = find(&part, &bounds(&part, 3_000), &goal) {
                let detail = format!("{goal:?} in {solution}, which satisfies the reason\n{part}of");
                return Err(Failure::new("wrong reason", detail));
            }
        }
        Ok(())
    });
    let n_reasons: u64 = tallies.iter().map(|(_, tally)| tally.noted).sum();
    assert!(n_reasons > systems(), "only {n_reasons} forced dimensions: the generator changed");
}

/// The claims that the shape of a row variable makes.
fn claims_on_row(translated: &Translated, row_var: usize, shape: &RowShape, goals: &mut Vec<Goal>) {
    let (least, greatest) = (shape.least as usize, shape.greatest.map_or(usize::MAX, |rank| rank as usize));
    goals.push(Goal::RankOutside(row_var, least, greatest));
    if let Some(rank) = shape.rank {
        goals.push(Goal::RankOutside(row_var, rank as usize, rank as usize));
    }
    let (n_lead, n_trail) = (shape.lead.len(), shape.trail.len());
    goals.push(Goal::RankOutside(row_var, n_lead + n_trail, usize::MAX));
    if matches!(shape.middle, Middle::Closed | Middle::Marker) {
        goals.push(Goal::RankOutside(row_var, n_lead + n_trail, n_lead + n_trail));
    }
    let lead = shape.lead.iter().enumerate().map(|(at, dim)| (Place::Front(row_var, at), *dim));
    let trail = shape.trail.iter().rev().enumerate().map(|(at, dim)| (Place::Back(row_var, at), *dim));
    let row_of = |var| translated.rows.iter().position(|row| *row == var);
    for (place, dim) in lead.chain(trail) {
        let claimed = match dim {
            DimShape::Ground(dim) => ground(dim).map(Place::Ground),
            DimShape::Var(var) => translated.dims.iter().position(|dim| *dim == var).map(Place::Var),
            DimShape::Front(row, at) => row_of(row).map(|row| Place::Front(row, at as usize)),
            DimShape::Back(row, at) => row_of(row).map(|row| Place::Back(row, at as usize)),
        };
        if let Some(claimed) = claimed
            && claimed != place
        {
            goals.push(Goal::Differ(place, claimed));
        }
    }
}

/// The order in which constraints are added changes neither the kind of the answer nor a value.
#[test]
fn the_order_of_constraints_does_not_matter() {
    for_all(|system, tally| {
        let outcome = translate(system).outcome();
        tally.count(outcome.kind);
        for seed in 0..4 {
            let shuffled = shuffled(system, seed);
            let other = translate(&shuffled).outcome();
            if !outcome.same_answer(&other) {
                let label = match (outcome.kind == other.kind, outcome.values == other.values) {
                    (false, _) => "the order decides the answer",
                    (true, false) => "the order decides a value",
                    (true, true) => "the order decides about holes",
                };
                let detail = format!("{outcome} becomes {other} in the order\n{shuffled}as given:");
                return Err(Failure::new(label, detail));
            }
        }
        Ok(())
    });
}

/// A core has no solution, by itself, and if it is called minimal all of it is needed. `noted`
/// counts the few that are not called minimal.
#[test]
fn a_core_is_contradictory_and_minimal() {
    let tallies = for_all(|system, tally| {
        let Some((members, minimal)) = translate(system).outcome().core else { return Ok(()) };
        tally.unsatisfiable += 1;
        tally.noted += u64::from(!minimal);
        let core = system.part(members);
        let alone = translate(&core).outcome();
        if alone.kind != Kind::Unsatisfiable {
            return Err(Failure::new("no core", format!("{alone} is the answer to the core\n{core}of")));
        }
        if let Found::Solution(solution) = find(&core, &bounds(&core, 3_000), &Goal::Any) {
            return Err(Failure::new("satisfiable core", format!("{solution} solves the core\n{core}of")));
        }
        for id in 0..if minimal { core.constraints.len() } else { 0 } {
            let rest = core.without(id);
            let outcome = translate(&rest).outcome();
            if matches!(outcome.kind, Kind::Unsatisfiable | Kind::GaveUp) {
                let member = &core.constraints[id];
                let detail = format!("{outcome} is the answer without {member} in the core\n{core}of");
                return Err(Failure::new("not minimal", detail));
            }
            judge(&rest, &outcome)?;
        }
        Ok(())
    });
    for (profile, tally) in tallies {
        let tolerated = 3 + tally.unsatisfiable * 3 / 100;
        assert!(tally.noted <= tolerated, "{}: cores not called minimal: {tally:?}", profile.name);
    }
}

/// Closing is a question: asked twice it has the same answer, and the known facts stay the same.
#[test]
fn closing_changes_nothing() {
    for_all(|system, _| {
        let mut translated = translate(system);
        let failed = translated.solver.is_failed();
        let observed = (!failed).then(|| observe(&translated));
        let outcome = translated.outcome();
        let observed_again = (!failed).then(|| observe(&translated));
        if observed != observed_again {
            let detail = format!("{observed:?} becomes {observed_again:?}");
            return Err(Failure::new("observed differently", detail));
        }
        let again = translated.outcome();
        if !outcome.same_answer(&again) || outcome.core != again.core {
            return Err(Failure::new("answered differently", format!("{outcome}, then {again}")));
        }
        if failed != translated.solver.is_failed() {
            return Err(Failure::new("failed differently", "closing changes whether the solver is failed"));
        }
        Ok(())
    });
}
