//! Systems of the oracle given to the solver, and answers given back.

use broadloom_core as core;
use broadloom_core::{Answer, Role, Solver};

use crate::oracle::{
    self, Assignment, Binding, Constraint, DimTerm, Hole, PatternDim, Rest, RowPattern, RowTerm, System, Tag,
};

pub struct Translated {
    pub solver: Solver,
    pub dims: Vec<core::DimVar>,
    pub rows: Vec<core::RowVar>,
}

fn role(tag: Tag) -> Role {
    match tag {
        Tag::Leaf => Role::Leaf,
        Tag::Param => Role::Param,
        Tag::Interior => Role::Interior,
    }
}

pub fn translate(system: &System) -> Translated {
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

    pub fn add(&mut self, constraint: &Constraint) {
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

    pub fn outcome(&mut self) -> Outcome {
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
                let members = core.constraints.iter().map(|id| id.index()).collect();
                Outcome::Unsat(Core { members, minimal: core.minimal })
            }
            Answer::Unsupported(short) => unreachable!("nothing is made of others: {short:?}"),
            Answer::GaveUp(_) => Outcome::GaveUp,
        }
    }

    pub fn bindings(&self) -> Vec<Binding> {
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

impl Translated {
    /// A report as a system: the original variables first, then one for every axis and every rest
    /// of a row that the report leaves unnamed. None if those are too many to enumerate.
    pub fn told(&self, system: &System, report: &core::Report) -> Option<System> {
        let mut told = Told { dims: Vec::new(), rests: Vec::new(), of: self, system };
        let mut constraints = Vec::new();
        for binding in &report.bindings {
            constraints.push(match binding {
                core::Binding::Dim(var, shape) => {
                    let at = self.dims.iter().position(|dim| dim == var).expect("named");
                    Constraint::DimEq(DimTerm::Var(at), told.dim(*shape))
                }
                core::Binding::Row(var, shape) => {
                    Constraint::RowEq(RowTerm::var(var.index()), told.row(shape))
                }
            });
        }
        for bound in &report.residual {
            constraints.push(match bound {
                core::Bound::Cap(atom, above) => {
                    Constraint::DimLe(told.dim(core::DimShape::Ground(*atom)), told.dim(*above))
                }
                core::Bound::Below(res, opnd) => Constraint::DimLe(told.dim(*res), told.dim(*opnd)),
                core::Bound::RowLe(res, opnd) => Constraint::RowLe(told.row(res), told.row(opnd)),
                core::Bound::RowEq(a, b) => Constraint::RowEq(told.row(a), told.row(b)),
            });
        }
        let (dims, rows) = (told.dims.len(), told.rests.len());
        let few = dims <= 3 && rows <= 1 && report.complete;
        few.then(|| System::new(system.dim_vars + dims, system.row_vars + rows, constraints))
    }
}

/// Names for what a report leaves unnamed.
struct Told<'a> {
    dims: Vec<core::DimShape>,
    rests: Vec<core::RowVar>,
    of: &'a Translated,
    system: &'a System,
}

impl Told<'_> {
    fn dim(&mut self, shape: core::DimShape) -> DimTerm {
        if let core::DimShape::Ground(dim) = shape {
            return match ground(dim) {
                oracle::Dim::Unit => DimTerm::Unit,
                oracle::Dim::Atom(atom) => DimTerm::Atom(atom),
            };
        }
        if let core::DimShape::Var(var) = shape
            && let Some(at) = self.of.dims.iter().position(|dim| *dim == var)
        {
            return DimTerm::Var(at);
        }
        let at = self.dims.iter().position(|known| *known == shape).unwrap_or_else(|| {
            self.dims.push(shape);
            self.dims.len() - 1
        });
        DimTerm::Var(self.system.dim_vars + at)
    }

    fn row(&mut self, shape: &core::RowShape) -> RowTerm {
        let hole = match shape.middle {
            core::Middle::Closed | core::Middle::Marker => Hole::Marker,
            core::Middle::Var(row) => Hole::Var(row.index()),
            core::Middle::Rest(row) => {
                let at = self.rests.iter().position(|known| *known == row).unwrap_or_else(|| {
                    self.rests.push(row);
                    self.rests.len() - 1
                });
                Hole::Var(self.system.row_vars + at)
            }
        };
        let lead = shape.lead.iter().map(|axis| self.dim(*axis)).collect();
        let trail = shape.trail.iter().map(|axis| self.dim(*axis)).collect();
        RowTerm { lead, hole, trail }
    }
}

fn borrow<'a>(row: &'a (Vec<core::DimTerm>, core::Hole, Vec<core::DimTerm>)) -> core::RowTerm<'a> {
    core::RowTerm { lead: &row.0, hole: row.1, trail: &row.2 }
}

fn ground(dim: core::order::Dim) -> oracle::Dim {
    match dim {
        core::order::Dim::Unit => oracle::Dim::Unit,
        core::order::Dim::Symbolic(_) => panic!("the oracle has no symbols"),
        core::order::Dim::Atom(atom) => oracle::Dim::Atom(oracle::Atom {
            size: u32::try_from(atom.size).expect("small"),
            basis: u8::try_from(atom.basis.0).expect("small"),
        }),
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Core {
    pub members: Vec<usize>,
    pub minimal: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    Solved(Assignment),
    Holes(Assignment, usize),
    Unsat(Core),
    GaveUp,
}

impl Outcome {
    pub fn same_answer(&self, other: &Outcome) -> bool {
        match (self, other) {
            (Outcome::Unsat(_), Outcome::Unsat(_)) => true,
            (a, b) => a == b,
        }
    }
}
