//! Changes of a system that keep its meaning.
//!
//! [`shuffled`] has the same solutions. [`mirrored`] reads every row from right to left: its
//! solutions are the [`mirrored_assignment`]s. For example `[3, ..r..] <= [4, <>, 5]` becomes
//! `[..r.., 3] <= [5, <>, 4]`.

use broadloom_testing::Dice;

use super::{Assignment, Constraint, RowTerm, System};

/// The system with its constraints permuted and the sides of equalities swapped at random.
pub fn shuffled(system: &System, seed: u64) -> System {
    let mut rng = Dice::new(seed);
    let mut shuffled = system.clone();
    let constraints = &mut shuffled.constraints;
    for n_left in (1..=constraints.len()).rev() {
        constraints.swap(n_left - 1, rng.below(n_left));
    }
    for constraint in constraints {
        if rng.percent(50) {
            match constraint {
                Constraint::DimEq(left, right) => std::mem::swap(left, right),
                Constraint::RowEq(left, right) => std::mem::swap(left, right),
                Constraint::DimLe(..) | Constraint::RowLe(..) => {}
            }
        }
    }
    shuffled
}

/// The system with every row read from right to left.
pub fn mirrored(system: &System) -> System {
    let mirror = |constraint: &Constraint| match constraint {
        Constraint::RowEq(left, right) => Constraint::RowEq(mirrored_row(left), mirrored_row(right)),
        Constraint::RowLe(res, opnd) => Constraint::RowLe(mirrored_row(res), mirrored_row(opnd)),
        Constraint::DimEq(..) | Constraint::DimLe(..) => constraint.clone(),
    };
    System { constraints: system.constraints.iter().map(mirror).collect(), ..system.clone() }
}

/// The assignment with every row read from right to left; a solution of the [`mirrored`] system
/// iff the assignment is one of the system.
pub fn mirrored_assignment(assignment: &Assignment) -> Assignment {
    let mut mirrored = assignment.clone();
    for row in &mut mirrored.rows {
        row.dims.reverse();
        row.marker = row.dims.len() - row.marker;
    }
    mirrored
}

fn mirrored_row(row: &RowTerm) -> RowTerm {
    RowTerm {
        lead: row.trail.iter().rev().copied().collect(),
        hole: row.hole,
        trail: row.lead.iter().rev().copied().collect(),
    }
}
