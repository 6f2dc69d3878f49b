//! Chains and cycles of rank facts through many rows: decided in time that grows with their length, not with its
//! square.

use broadloom_core::{Answer, Clash, Constraint, DimTerm, Role, RowTerm, RowVar, Solver};

const ROWS: usize = 20_000;
/// Units of work for each constraint, at most.
const STEPS_EACH: u64 = 32;

/// The forms in which one row is said to be longer than another by the axes of a flank.
#[derive(Clone, Copy, Debug)]
enum Form {
    EqualLead,
    EqualTrail,
    RefinesLead,
    RefinesTrail,
}

const FORMS: [Form; 4] = [Form::EqualLead, Form::EqualTrail, Form::RefinesLead, Form::RefinesTrail];

fn link(solver: &mut Solver, form: Form, long: RowVar, short: RowVar, flank: &[DimTerm]) {
    let (res, opnd) = (RowTerm::var(long), RowTerm::var(short));
    let (lead, trail) = (RowTerm { lead: flank, ..opnd }, RowTerm { trail: flank, ..opnd });
    solver.add(match form {
        Form::EqualLead => Constraint::RowEq(lead, res),
        Form::EqualTrail => Constraint::RowEq(res, trail),
        Form::RefinesLead => Constraint::RowLe { res, opnd: lead },
        Form::RefinesTrail => Constraint::RowLe { res, opnd: trail },
    });
}

/// A system in which row `at` is longer than the next one by `longer(at)` axes, which are units.
fn chain(form: Form, links: usize, backwards: bool, longer: impl Fn(usize) -> usize) -> Solver {
    let mut solver = Solver::new();
    let rows: Vec<RowVar> = (0..ROWS).map(|_| solver.row_var(Role::Interior)).collect();
    solver.hold();
    for at in 0..links {
        let at = if backwards { links - 1 - at } else { at };
        link(&mut solver, form, rows[at], rows[(at + 1) % ROWS], &vec![DimTerm::UNIT; longer(at)]);
    }
    solver.release();
    solver
}

#[test]
fn a_cycle_through_many_rows_is_refuted_at_once() {
    for form in FORMS {
        for backwards in [false, true] {
            // All steps have a gain; or one of them only.
            for gains in [ROWS, 1] {
                let mut solver = chain(form, ROWS, backwards, |at| usize::from(at < gains));
                assert!(solver.is_failed(), "{form:?}");
                let Answer::Unsatisfiable(core) = solver.close() else { panic!("{form:?} has no solution") };
                assert_eq!((core.constraints.len(), core.clash), (ROWS, Clash::RankCycle), "{form:?}");
                let steps = solver.stats().steps;
                assert!(steps < STEPS_EACH * ROWS as u64, "{form:?}: {steps} steps");
            }
        }
    }
}

#[test]
fn long_chains_are_solved() {
    for form in FORMS {
        for backwards in [false, true] {
            // A few axes at the end of the chain, which all rows have.
            let mut solver = chain(form, ROWS - 1, backwards, |at| if at + 2 == ROWS { 3 } else { 0 });
            let Answer::Solved(closed) = solver.close() else { panic!("{form:?} has a solution") };
            let steps = closed.stats().steps;
            assert!(steps < STEPS_EACH * ROWS as u64, "{form:?}: {steps} steps");
        }
    }
}

/// A cycle of which nothing is left over is no contradiction: all its rows are as long as each other.
#[test]
fn a_cycle_without_a_gain_is_solved() {
    for form in FORMS {
        let mut solver = chain(form, ROWS, false, |_| 0);
        assert!(matches!(solver.close(), Answer::Solved(_)), "{form:?}");
    }
}

/// Held constraints and constraints that come one by one have the same consequences.
#[test]
fn short_cycles_keep_their_cores() {
    let mut solver = Solver::new();
    let rows: Vec<RowVar> = (0..5).map(|_| solver.row_var(Role::Interior)).collect();
    solver.hold();
    for (long, short, flank) in [(0, 1, 1), (1, 2, 0), (2, 0, 0), (3, 4, 1), (0, 3, 2)] {
        let flank = vec![DimTerm::UNIT; flank];
        link(&mut solver, Form::RefinesLead, rows[long], rows[short], &flank);
    }
    let Answer::Unsatisfiable(core) = solver.close() else { panic!("a cycle with a gain") };
    let ids: Vec<usize> = core.constraints.iter().map(|id| id.index()).collect();
    assert_eq!((ids, core.minimal, core.clash), (vec![0, 1, 2], true, Clash::RankCycle));
}
