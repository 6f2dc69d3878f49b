//! Random systems: what a shortest chain says has to follow from its constraints alone, and from no fewer.

use broadloom_testing::Dice;

use super::{Derived, DimShape, term_of};
use crate::solver::propagate::add::add;
use crate::solver::stores::state::State;
use crate::solver::subsystem::add_copy;
use crate::solver::{Answer, Cause, Closed, Solver};
use crate::term::{Constraint, DimTerm, DimVar, Role, RowTerm, RowVar};

/// A random system with declared markers.
fn system(dice: &mut Dice) -> (Solver, Vec<DimVar>, Vec<RowVar>) {
    let mut solver = Solver::new();
    let role = |dice: &mut Dice| [Role::Interior, Role::Leaf, Role::Interior][dice.roll(3) as usize];
    let dims: Vec<DimVar> = (0..4).map(|_| solver.dim_var(role(dice))).collect();
    let rows: Vec<RowVar> = (0..4)
        .map(|_| {
            let row = solver.row_var(role(dice));
            solver.declare_marker(row, dice.roll(2) as u32);
            row
        })
        .collect();
    for _ in 0..2 + dice.roll(7) {
        let dim = |dice: &mut Dice, solver: &mut Solver| match dice.roll(8) {
            0 | 1 => solver.size(2),
            2 => solver.size(3),
            3 => DimTerm::UNIT,
            at => dims[at as usize - 4].into(),
        };
        let kind = dice.roll(8);
        if kind < 2 {
            let (a, b) = (dim(dice, &mut solver), dim(dice, &mut solver));
            solver.add(if kind == 0 {
                Constraint::DimEq(a, b)
            } else {
                Constraint::DimLe { res: a, opnd: b }
            });
            continue;
        }
        let mut flanks: Vec<[Vec<DimTerm>; 2]> = Vec::new();
        for _ in 0..2 {
            let flank = |dice: &mut Dice, solver: &mut Solver| -> Vec<DimTerm> {
                (0..dice.roll(3).saturating_sub(1)).map(|_| dim(dice, solver)).collect()
            };
            flanks.push([flank(dice, &mut solver), flank(dice, &mut solver)]);
        }
        let term = |dice: &mut Dice, at: usize| match dice.roll(3) {
            0 => RowTerm::marked(&flanks[at][0], &flanks[at][1]),
            _ => RowTerm::open(&flanks[at][0], rows[dice.roll(4) as usize], &flanks[at][1]),
        };
        let (a, b) = (term(dice, 0), term(dice, 1));
        solver.add(if kind == 2 { Constraint::RowEq(a, b) } else { Constraint::RowLe { res: a, opnd: b } });
    }
    (solver, dims, rows)
}

/// Checks that some links entail a value, once the ranks are as they are and what was chosen is given.
fn entails(closed: &Closed<'_>, links: &[&Derived], dim: DimShape) -> bool {
    let state = &*closed.state;
    let mut copy = State::default();
    copy.atoms.clone_from(&state.atoms);
    copy.atom_ids.clone_from(&state.atom_ids);
    // The solver's own variables stand between the caller's.
    for node in state.dims.ids() {
        copy.dim_var(state.dim_role(node));
    }
    for row in state.rows.ids() {
        let var = copy.row_var(state.rows.role(row));
        copy.declare_marker(var, closed.marker(row));
        let axes: Vec<DimTerm> =
            (0..state.ranks.lo(row)).map(|_| copy.dim_var(Role::Interior).into()).collect();
        add(&mut copy, Constraint::RowEq(RowTerm::var(var), RowTerm::closed(&axes)));
    }
    for link in links {
        match link.cause {
            Cause::Constraint(id) => add_copy(state, &mut copy, id, &|dim| dim, &|row| row),
            Cause::Policy(..) => {
                let what = link.what.expect("sizes are chosen for places");
                let (term, value) = (term_of(&copy, what), state.dims.resolve(term_of(state, what)));
                add(&mut copy, Constraint::DimEq(term, value));
            }
        }
    }
    assert!(!copy.is_failed(), "a part of what has a solution");
    let value = |state: &State| state.ground(state.dims.resolve(term_of(state, dim)));
    value(&copy).is_some() && value(&copy) == value(state)
}

#[test]
fn chains_are_proofs_and_have_nothing_to_spare() {
    let mut dice = Dice::new(0x9e37_79b9_7f4a_7c15);
    let (mut told, mut chosen, mut spared) = (0, 0, 0);
    for _ in 0..4500 {
        let (mut solver, dims, rows) = system(&mut dice);
        let Answer::Solved(closed) = solver.close() else { continue };
        let mut places: Vec<DimShape> = dims.into_iter().map(DimShape::Var).collect();
        for row in rows {
            places.extend((0..closed.rank(row)).map(|at| DimShape::Front(row, at)));
        }
        for place in places {
            let term = term_of(closed.state, place);
            let value = closed.state.dims.resolve(term);
            let chain = closed.shortest_dim(place);
            // Nothing determines it: it is the unit, and at most a bound is recorded.
            if chain.iter().all(|link| link.what.is_none()) {
                assert!(
                    !value.is_ground() || value.is_none() || value == DimTerm::UNIT,
                    "{place:?} is {value:?}"
                );
                continue;
            }
            let all: Vec<&Derived> = chain.iter().collect();
            told += 1;
            let chooses = chain.iter().any(|link| matches!(link.cause, Cause::Policy(..)));
            chosen += usize::from(chooses);
            assert!(entails(&closed, &all, place), "{place:?} by {chain:?}");
            // A choice is given here, and needs no proof. A constraint that is needed twice counts
            // twice, so another way of the same length may have fewer.
            for spare in chain.iter().filter(|_| !chooses) {
                let fewer: Vec<&Derived> =
                    all.iter().copied().filter(|link| link.cause != spare.cause).collect();
                spared += usize::from(entails(&closed, &fewer, place));
            }
        }
    }
    assert!(told > 2000 && chosen > 200, "{told} chains, {chosen} with a choice");
    assert!(spared < told / 200, "{spared} of {told} chains");
}
