//! The answers of the solver.

use broadloom_core as core;
use broadloom_core::{Answer, Solver};

use super::system::{Dim, Says, Shapes, System, Term, Value};

/// The solver's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A value for every variable.
    Shapes(Shapes),
    /// A result claims a size that none of its operands has.
    Unsupported,
    /// There is no solution.
    Unsatisfiable,
    /// The solver gave up.
    GaveUp,
}

type Owned = (Vec<core::DimTerm>, core::Hole, Vec<core::DimTerm>);

struct Translation {
    solver: Solver,
    rows: Vec<core::RowVar>,
    dims: Vec<core::DimVar>,
}

impl Translation {
    fn dim(&mut self, dim: Dim) -> core::DimTerm {
        match dim {
            Dim::Unit => core::DimTerm::UNIT,
            Dim::Size(size) => self.solver.size(size),
            Dim::Var(var) => self.dims[var].into(),
        }
    }

    fn term(&mut self, term: &Term) -> Owned {
        let hole = term.row.map_or(core::Hole::Marker, |row| core::Hole::Var(self.rows[row]));
        let lead = term.lead.iter().map(|dim| self.dim(*dim)).collect();
        (lead, hole, term.trail.iter().map(|dim| self.dim(*dim)).collect())
    }

    fn add(&mut self, says: &Says) {
        let terms: Vec<Owned> = says.terms().iter().map(|term| self.term(term)).collect();
        let terms: Vec<core::RowTerm<'_>> = terms.iter().map(borrow).collect();
        self.solver.add(match says {
            Says::Le(..) => core::Constraint::RowLe { res: terms[0], opnd: terms[1] },
            Says::Eq(..) => core::Constraint::RowEq(terms[0], terms[1]),
            Says::Made(res, _) => core::Constraint::MadeOf { res: self.rows[*res], opnds: &terms[1..] },
        });
    }
}

fn borrow(owned: &Owned) -> core::RowTerm<'_> {
    core::RowTerm { lead: &owned.0, hole: owned.1, trail: &owned.2 }
}

fn value(dim: core::order::Dim) -> Value {
    match dim {
        core::order::Dim::Unit => Value::Unit,
        core::order::Dim::Atom(atom) => Value::Size(atom.size),
        core::order::Dim::Symbolic(_) => panic!("there are no symbols"),
    }
}

fn translate(system: &System) -> Translation {
    let mut solver = Solver::new();
    let dims = system.dims.iter().map(|role| solver.dim_var(*role)).collect();
    let row = |solver: &mut Solver, row: &super::system::Row| {
        let var = solver.row_var(row.role);
        solver.declare_marker(var, row.marker as u32);
        var
    };
    let rows = system.rows.iter().map(|decl| row(&mut solver, decl)).collect();
    let mut translation = Translation { solver, rows, dims };
    system.says.iter().for_each(|says| translation.add(says));
    translation
}

/// The answer after closing.
pub fn solve(system: &System) -> Outcome {
    let Translation { mut solver, rows, dims } = translate(system);
    let answer = solver.close();
    match answer {
        Answer::Solved(closed) | Answer::Underdetermined(closed, _) => Outcome::Shapes(Shapes {
            rows: rows.iter().map(|row| closed.row(*row).flat().map(value).collect()).collect(),
            dims: dims.iter().map(|dim| value(closed.dim(*dim))).collect(),
        }),
        Answer::Unsupported(_) => Outcome::Unsupported,
        Answer::Unsatisfiable(_) => Outcome::Unsatisfiable,
        Answer::GaveUp(_) => Outcome::GaveUp,
    }
}

/// Rows with an axis that gave way, or that is a hole. Nothing determines its value, so stating the
/// value adds information.
pub fn undecided(system: &System) -> Vec<usize> {
    let Translation { mut solver, rows, .. } = translate(system);
    let gave_way = match solver.close() {
        Answer::Solved(closed) => closed.gave_way().to_vec(),
        Answer::Underdetermined(closed, holes) => [closed.gave_way(), &holes].concat(),
        _ => Vec::new(),
    };
    let undecided = |row: &usize| {
        gave_way.iter().any(|gone| matches!(gone, core::Unfilled::Axis(var, _) if *var == rows[*row]))
    };
    (0..rows.len()).filter(undecided).collect()
}

/// The bounds on ranks before closing; none after a contradiction.
pub fn observed(system: &System) -> Option<Vec<(i32, Option<i32>)>> {
    let translation = translate(system);
    let bounds = |row: &core::RowVar| {
        let shape = translation.solver.observe_row(*row);
        (shape.least as i32, shape.greatest.map(|most| most as i32))
    };
    (!translation.solver.is_failed()).then(|| translation.rows.iter().map(bounds).collect())
}
