//! Is this assignment a solution?
//!
//! The definition, written for reading and not for speed: each term is made ground and each
//! constraint is judged as it is defined. For example `[3, ..r..] <= [4, <>]` under `r = [4, <>]`
//! is `[3, 4]` against `[4]` expanded to rank 2, which is `[4, _]`; it fails at the first axis.

use super::{Assignment, Constraint, Dim, DimTerm, Hole, Row, RowTerm, System};

/// Checks that the assignment satisfies every constraint; the error is the index of the first
/// violated one.
pub fn satisfies(system: &System, assignment: &Assignment) -> Result<(), usize> {
    let violated = system.constraints.iter().position(|constraint| !holds(constraint, assignment));
    violated.map_or(Ok(()), Err)
}

/// Returns true if the assignment satisfies one constraint.
pub fn holds(constraint: &Constraint, assignment: &Assignment) -> bool {
    match constraint {
        Constraint::DimEq(left, right) => assignment.dim(*left) == assignment.dim(*right),
        Constraint::DimLe(res, opnd) => assignment.dim(*res).refines(assignment.dim(*opnd)),
        Constraint::RowEq(left, right) => assignment.row(left).dims == assignment.row(right).dims,
        Constraint::RowLe(res, opnd) => {
            let res = assignment.row(res).dims;
            let opnd = assignment.row(opnd);
            res.len() >= opnd.dims.len()
                && res.iter().zip(opnd.expand(res.len())).all(|(res, opnd)| res.refines(opnd))
        }
    }
}

impl Dim {
    /// The order `self ⊑ opnd`: the operand is the unit, or the two are identical.
    pub fn refines(self, opnd: Dim) -> bool {
        opnd == Dim::Unit || self == opnd
    }
}

impl Row {
    /// The flat content with units inserted at the marker to reach `rank` (Formal Core, Def. 2.2).
    pub fn expand(&self, rank: usize) -> Vec<Dim> {
        assert!(rank >= self.dims.len(), "expansion never removes an axis");
        let mut expanded = self.dims[..self.marker].to_vec();
        expanded.resize(self.marker + rank - self.dims.len(), Dim::Unit);
        expanded.extend_from_slice(&self.dims[self.marker..]);
        expanded
    }
}

impl Assignment {
    /// The ground dimension of a term.
    pub fn dim(&self, term: DimTerm) -> Dim {
        match term {
            DimTerm::Var(dim_var) => self.dims[dim_var],
            DimTerm::Atom(atom) => Dim::Atom(atom),
            DimTerm::Unit => Dim::Unit,
        }
    }

    /// The ground row of a term (Formal Core, Def. 3.2).
    pub fn row(&self, term: &RowTerm) -> Row {
        let mut dims: Vec<Dim> = term.lead.iter().map(|term| self.dim(*term)).collect();
        let mut marker = dims.len();
        if let Hole::Var(row_var) = term.hole {
            let value = &self.rows[row_var];
            marker += value.marker;
            dims.extend_from_slice(&value.dims);
        }
        dims.extend(term.trail.iter().map(|term| self.dim(*term)));
        Row { dims, marker }
    }
}
