//! The solver against exhaustive enumeration (the oracle shares no code with it).
//!
//! On random small systems: the solver never disagrees about satisfiability, every solution it
//! returns satisfies every constraint, every binding before closing is entailed by all enumerated
//! solutions up to `≈`, and neither shuffling nor observing changes the answer.
//!
//! `BROADLOOM_SYSTEMS=n` runs n systems per profile instead of the default.

#[allow(dead_code)]
mod oracle;

use std::ops::ControlFlow;

use broadloom_core as core;
use broadloom_core::{Answer, Role, Solver};
use oracle::generate::PROFILES;
use oracle::{
    Assignment, Binding, Constraint, DimTerm, Hole, PatternDim, Rest, RowPattern, RowTerm, System, Tag,
};

/// Systems per profile in the normal test run: six profiles, 210,000 in all.
const SYSTEMS: u64 = 35_000;
const MAX_RANK: usize = 3;

struct Translated {
    solver: Solver,
    dims: Vec<core::DimVar>,
    rows: Vec<core::RowVar>,
}

fn role(tag: Tag) -> Role {
    match tag {
        Tag::Leaf => Role::Leaf,
        Tag::Param => Role::Param,
        Tag::Interior => Role::Interior,
    }
}

fn translate(system: &System) -> Translated {
    let mut t = Translated { solver: Solver::new(), dims: Vec::new(), rows: Vec::new() };
    t.dims = system.dim_tags.iter().map(|tag| t.solver.dim_var(role(*tag))).collect();
    t.rows = system.row_tags.iter().map(|tag| t.solver.row_var(role(*tag))).collect();
    for constraint in &system.constraints {
        t.add(constraint);
    }
    t
}

impl Translated {
    fn dim(&mut self, term: DimTerm) -> core::DimTerm {
        match term {
            DimTerm::Var(var) => self.dims[var].into(),
            DimTerm::Unit => core::DimTerm::UNIT,
            DimTerm::Atom(atom) => self.solver.atom(core::order::Atom {
                size: u64::from(atom.size),
                basis: core::order::Basis(u32::from(atom.basis)),
            }),
        }
    }

    fn row(&mut self, term: &RowTerm) -> (Vec<core::DimTerm>, core::Hole, Vec<core::DimTerm>) {
        let hole = match term.hole {
            Hole::Marker => core::Hole::Marker,
            Hole::Var(var) => core::Hole::Var(self.rows[var]),
        };
        let lead = term.lead.iter().map(|d| self.dim(*d)).collect();
        let trail = term.trail.iter().map(|d| self.dim(*d)).collect();
        (lead, hole, trail)
    }

    fn add(&mut self, constraint: &Constraint) {
        match constraint {
            Constraint::DimEq(a, b) => {
                let (a, b) = (self.dim(*a), self.dim(*b));
                self.solver.add(core::Constraint::DimEq(a, b));
            }
            Constraint::DimLe(res, opnd) => {
                let (res, opnd) = (self.dim(*res), self.dim(*opnd));
                self.solver.add(core::Constraint::DimLe { res, opnd });
            }
            Constraint::RowEq(a, b) => {
                let (a, b) = (self.row(a), self.row(b));
                self.solver.add(core::Constraint::RowEq(borrow(&a), borrow(&b)));
            }
            Constraint::RowLe(res, opnd) => {
                let (res, opnd) = (self.row(res), self.row(opnd));
                self.solver.add(core::Constraint::RowLe { res: borrow(&res), opnd: borrow(&opnd) });
            }
        }
    }

    fn outcome(&mut self) -> Outcome {
        let (dims, rows) = (self.dims.clone(), self.rows.clone());
        let read = |closed: &core::Closed<'_>| Assignment {
            dims: dims.iter().map(|var| ground(closed.dim(*var))).collect(),
            rows: rows
                .iter()
                .map(|var| {
                    let row = closed.row(*var);
                    oracle::Row { dims: row.flat().map(ground).collect(), marker: row.marker() }
                })
                .collect(),
        };
        match self.solver.close() {
            Answer::Solved(closed) => Outcome::Solved(read(&closed)),
            Answer::Underdetermined(closed, holes) => Outcome::Holes(read(&closed), holes.len()),
            Answer::Unsatisfiable(core) => {
                Outcome::Unsat(core.constraints.iter().map(|c| c.index()).collect())
            }
            Answer::GaveUp => Outcome::GaveUp,
        }
    }

    fn bindings(&self) -> Vec<Binding> {
        let dim_var = |var: core::DimVar| self.dims.iter().position(|d| *d == var);
        let mut fresh = Vec::new();
        let mut pattern = |shape: core::DimShape| match shape {
            core::DimShape::Ground(dim) => PatternDim::Term(match ground(dim) {
                oracle::Dim::Unit => DimTerm::Unit,
                oracle::Dim::Atom(atom) => DimTerm::Atom(atom),
            }),
            core::DimShape::Var(var) if dim_var(var).is_some() => {
                PatternDim::Term(DimTerm::Var(dim_var(var).expect("checked")))
            }
            other => {
                let at = fresh.iter().position(|f| *f == other).unwrap_or_else(|| {
                    fresh.push(other);
                    fresh.len() - 1
                });
                PatternDim::Fresh(at)
            }
        };
        let report = self.solver.report();
        let translate = |binding: core::Binding| match binding {
            core::Binding::Dim(var, shape) => Binding::Dim(dim_var(var).expect("named"), pattern(shape)),
            core::Binding::Row(var, shape) => Binding::Row(
                var.index(),
                RowPattern {
                    lead: shape.lead.iter().map(|d| pattern(*d)).collect(),
                    rest: match shape.middle {
                        core::Middle::Closed | core::Middle::Marker => Rest::Closed,
                        core::Middle::Var(row) => Rest::Var(row.index()),
                        core::Middle::Rest(_) => Rest::Any,
                    },
                    trail: shape.trail.iter().map(|d| pattern(*d)).collect(),
                },
            ),
        };
        report.bindings.into_iter().map(translate).collect()
    }
}

fn borrow<'a>(row: &'a (Vec<core::DimTerm>, core::Hole, Vec<core::DimTerm>)) -> core::RowTerm<'a> {
    core::RowTerm { lead: &row.0, hole: row.1, trail: &row.2 }
}

fn ground(dim: core::order::Dim) -> oracle::Dim {
    match dim {
        core::order::Dim::Unit => oracle::Dim::Unit,
        core::order::Dim::Atom(atom) => oracle::Dim::Atom(oracle::Atom {
            size: u32::try_from(atom.size).expect("small"),
            basis: u8::try_from(atom.basis.0).expect("small"),
        }),
    }
}

#[derive(Clone, PartialEq, Debug)]
enum Outcome {
    Solved(Assignment),
    Holes(Assignment, usize),
    Unsat(Vec<usize>),
    GaveUp,
}

impl Outcome {
    fn same_answer(&self, other: &Outcome) -> bool {
        match (self, other) {
            (Outcome::Unsat(_), Outcome::Unsat(_)) => true,
            (a, b) => a == b,
        }
    }
}

fn systems() -> u64 {
    std::env::var("BROADLOOM_SYSTEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(SYSTEMS)
}

/// Checks one system; the error says what is wrong. True if the solver gave up, which it may do on
/// a system in ten thousand.
fn check(system: &System, seed: u64) -> Result<bool, String> {
    let mut translated = translate(system);
    let bindings = (!translated.solver.is_failed()).then(|| translated.bindings());
    let outcome = translated.outcome();
    let witness = oracle::satisfiable(system, MAX_RANK, &system.atoms(0));
    match (&outcome, &witness) {
        (Outcome::GaveUp, _) => return Ok(true),
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
    if let Some(bindings) = bindings
        && let Some(witness) = counterexample(system, &bindings)
    {
        return Err(format!("binding not entailed: {witness} against {bindings:?}"));
    }
    let again = translated.outcome();
    if !outcome.same_answer(&again) {
        return Err(format!("asked twice: {outcome:?} then {again:?}"));
    }
    let shuffled = oracle::shuffled(system, seed);
    let other = translate(&shuffled).outcome();
    if !outcome.same_answer(&other) {
        return Err(format!("shuffled to\n{shuffled}\n{outcome:?} becomes {other:?}"));
    }
    Ok(false)
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

/// A core has no solution, and every proper subset has one.
fn check_core(system: &System, members: &[usize]) -> Result<(), String> {
    let subset = |ids: &[usize]| System {
        constraints: ids.iter().map(|id| system.constraints[*id].clone()).collect(),
        ..system.clone()
    };
    let core = subset(members);
    if let Some(witness) = oracle::satisfiable(&core, MAX_RANK, &core.atoms(0)) {
        return Err(format!("core has solution {witness}:\n{core}"));
    }
    for skip in 0..members.len() {
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
    let (mut failures, mut gave_up) = (Vec::new(), 0);
    for seed in 0..systems() {
        let system = oracle::generate(seed, PROFILES[profile]);
        match check(&system, seed) {
            Ok(tired) => gave_up += u64::from(tired),
            Err(problem) => failures.push(format!("seed {seed}:\n{system}\n{problem}\n")),
        }
        if failures.len() >= 5 {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(gave_up <= systems() / 10_000, "gave up on {gave_up} systems");
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
