//! Systems given to the solver, and answers read back.

use broadloom_core as core;
use broadloom_core::{Answer, Role, Solver};

use super::{Constraint, Ends, Form, Piece, System};
use crate::oracle::{self, Assignment, DimTerm, Hole, Tag};

pub struct Translated {
    pub solver: Solver,
    pub dims: Vec<core::DimVar>,
    pub rows: Vec<core::RowVar>,
    /// The solver's name of each constraint.
    pub ids: Vec<core::ConstraintId>,
}

/// The kind of answer that the solver gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Solved,
    Underdetermined,
    Unsatisfiable,
    GaveUp,
}

/// An answer of the solver.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub kind: Kind,
    /// The values, if there are any and they are small enough for the oracle.
    pub values: Option<Assignment>,
    /// The values as text, whatever their size.
    pub printed: String,
    /// The members of the core by their position in the system, if the answer is one.
    pub core: Option<(Vec<usize>, bool)>,
}

impl Outcome {
    pub fn same_answer(&self, other: &Outcome) -> bool {
        self.kind == other.kind && self.printed == other.printed
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.kind, self.printed)
    }
}

pub fn translate(system: &System) -> Translated {
    let mut t = Translated { solver: Solver::new(), dims: Vec::new(), rows: Vec::new(), ids: Vec::new() };
    for var in &system.dims {
        t.dims.push(match var.discardable {
            true => t.solver.discardable_var(role(var.tag)),
            false => t.solver.dim_var(role(var.tag)),
        });
    }
    for var in &system.rows {
        let row = t.solver.row_var(role(var.tag));
        t.rows.push(row);
        if let Some(lead) = var.lead {
            t.solver.declare_marker(row, lead);
        }
    }
    for constraint in &system.constraints {
        let id = t.add(constraint);
        t.ids.push(id);
    }
    t
}

fn role(tag: Tag) -> Role {
    match tag {
        Tag::Leaf => Role::Leaf,
        Tag::Param => Role::Param,
        Tag::Interior => Role::Interior,
    }
}

type OwnedRow = (Vec<core::DimTerm>, core::Hole, Vec<core::DimTerm>);

fn borrow(row: &OwnedRow) -> core::RowTerm<'_> {
    core::RowTerm { lead: &row.0, hole: row.1, trail: &row.2 }
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

    fn dim_terms(&mut self, terms: &[DimTerm]) -> Vec<core::DimTerm> {
        terms.iter().map(|term| self.dim(*term)).collect()
    }

    fn row(&mut self, term: &oracle::RowTerm) -> OwnedRow {
        let hole = match term.hole {
            Hole::Marker => core::Hole::Marker,
            Hole::Var(var) => core::Hole::Var(self.rows[var]),
        };
        (self.dim_terms(&term.lead), hole, self.dim_terms(&term.trail))
    }

    fn pieces(&mut self, pieces: &[Piece]) -> Vec<core::Piece> {
        let pieces = pieces.iter().map(|piece| match piece {
            Piece::Dim(term) => core::Piece::Dim(self.dim(*term)),
            Piece::Row(row_var) => core::Piece::Row(self.rows[*row_var]),
        });
        pieces.collect()
    }

    fn add(&mut self, constraint: &Constraint) -> core::ConstraintId {
        match constraint {
            Constraint::Order(oracle::Constraint::DimEq(left, right)) => {
                let (left, right) = (self.dim(*left), self.dim(*right));
                self.solver.add(core::Constraint::DimEq(left, right))
            }
            Constraint::Order(oracle::Constraint::DimLe(res, opnd)) => {
                let (res, opnd) = (self.dim(*res), self.dim(*opnd));
                self.solver.add(core::Constraint::DimLe { res, opnd })
            }
            Constraint::Order(oracle::Constraint::RowEq(left, right)) => {
                let (left, right) = (self.row(left), self.row(right));
                self.solver.add(core::Constraint::RowEq(borrow(&left), borrow(&right)))
            }
            Constraint::Order(oracle::Constraint::RowLe(res, opnd)) => {
                let (res, opnd) = (self.row(res), self.row(opnd));
                self.solver.add(core::Constraint::RowLe { res: borrow(&res), opnd: borrow(&opnd) })
            }
            Constraint::Affine { axis, form, over, kernel } => {
                let (axis, over) = (self.dim(*axis), self.dim(*over));
                let kernel = kernel.map(|kernel| self.dim(kernel));
                self.solver.add(core::Constraint::Affine { axis, form: affine(form), over, kernel })
            }
            Constraint::Concat { axis, components, literal } => {
                let (axis, components) = (self.dim(*axis), self.dim_terms(components));
                let literal = *literal;
                self.solver.add(core::Constraint::Concat { axis, components: &components, literal })
            }
            Constraint::AtLeast(term, least) => {
                let term = self.dim(*term);
                self.solver.add(core::Constraint::AtLeast(term, *least))
            }
            Constraint::Count { pieces, coeff, over, denom, divided_by, rest } => {
                let (pieces, divided_by) = (self.pieces(pieces), self.dim_terms(divided_by));
                let over = over.map(|over| self.dim(over));
                self.solver.add(core::Constraint::Count {
                    pieces: &pieces,
                    numerator: core::Numerator { coeff: *coeff, over, denom: *denom },
                    divided_by: &divided_by,
                    rest: rest.map(|row_var| self.rows[row_var]),
                })
            }
            Constraint::Exact { pieces, axes, rest } => {
                let (pieces, axes) = (self.pieces(pieces), self.dim_terms(axes));
                let rest = rest.map(|row_var| self.rows[row_var]);
                self.solver.add(core::Constraint::Exact { pieces: &pieces, axes: &axes, rest })
            }
        }
    }

    pub fn outcome(&mut self) -> Outcome {
        let (dims, rows) = (&self.dims, &self.rows);
        let read = |kind: Kind, closed: &core::Closed<'_>, holes: usize| {
            let dims: Vec<_> = dims.iter().map(|var| closed.dim(*var)).collect();
            let rows: Vec<_> = rows.iter().map(|var| closed.row(*var)).collect();
            let values = dims.iter().map(|dim| ground(*dim)).collect::<Option<Vec<_>>>().and_then(|dims| {
                let rows = rows.iter().map(|row| {
                    let dims = row.flat().map(ground).collect::<Option<Vec<_>>>()?;
                    Some(oracle::Row { dims, marker: row.marker() })
                });
                Some(Assignment { dims, rows: rows.collect::<Option<Vec<_>>>()? })
            });
            let printed_dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
            let printed_rows: Vec<String> =
                rows.iter().map(|row| format!("{row} marker {}", row.marker())).collect();
            let printed =
                format!("{} | {} | {holes} holes", printed_dims.join(", "), printed_rows.join(", "));
            Outcome { kind, values, printed, core: None }
        };
        let without = |kind| Outcome { kind, values: None, printed: String::new(), core: None };
        match self.solver.close() {
            Answer::Solved(closed) => read(Kind::Solved, &closed, 0),
            Answer::Underdetermined(closed, holes) => read(Kind::Underdetermined, &closed, holes.len()),
            Answer::Unsatisfiable(core) => {
                let position = |id| self.ids.iter().position(|known| *known == id).expect("was added");
                let members = core.constraints.iter().map(|id| position(*id)).collect();
                Outcome { core: Some((members, core.minimal)), ..without(Kind::Unsatisfiable) }
            }
            Answer::Unsupported(short) => unreachable!("nothing is made of others: {short:?}"),
            Answer::GaveUp(_) => without(Kind::GaveUp),
        }
    }
}

fn affine(form: &Form) -> core::Affine {
    let window = form.window.map(|window| core::Window {
        dilation: window.dilation,
        padding: match window.ends {
            Ends::Padded => core::Padding::Padded,
            Ends::Valid => core::Padding::Valid,
            Ends::Dropped => core::Padding::Dropped,
        },
    });
    core::Affine { stride: form.stride, offset: form.offset, window }
}

/// The dimension for the oracle, if its size is not too large for that.
pub fn ground(dim: core::order::Dim) -> Option<oracle::Dim> {
    match dim {
        core::order::Dim::Unit => Some(oracle::Dim::Unit),
        // The oracle has no symbols.
        core::order::Dim::Symbolic(_) => None,
        core::order::Dim::Atom(atom) => Some(oracle::Dim::Atom(oracle::Atom {
            size: u32::try_from(atom.size).ok()?,
            basis: u8::try_from(atom.basis.0).ok()?,
        })),
    }
}
