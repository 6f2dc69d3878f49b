//! A parsed system given to the solver, and the way back from its variables to names and lines.

use broadloom_core::order::{Atom, Basis};
use broadloom_core::{
    Budget, Constraint, ConstraintId, DimTerm, DimVar, Hole, Role, RowTerm, RowVar, Solver,
};
use broadloom_diagnostics::Span;

use crate::{self as rows, DimKind, HoleKind, NameId, NameKind, StatementKind, System, Tag};

/// A variable of the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Var {
    /// A dimension.
    Dim(DimVar),
    /// A row.
    Row(RowVar),
}

/// A system and its solver.
pub struct Problem<'a> {
    /// The parsed text.
    pub system: &'a System,
    /// The solver, with the constraints added.
    pub solver: Solver,
    /// Names in alphabetical order with their variables: also the order in which ties are broken.
    pub vars: Vec<(NameId, Var)>,
    /// Name by index to its variable.
    by_name: Vec<Option<Var>>,
    /// Variables by index to their names.
    dims: Vec<Option<NameId>>,
    rows: Vec<NameId>,
    /// Per constraint, its statement.
    statements: Vec<u32>,
}

impl<'a> Problem<'a> {
    /// Gives every constraint of a system to a solver.
    pub fn new(system: &'a System, branches: u64) -> Problem<'a> {
        let mut problem = Problem::empty(system, branches);
        problem.solver.hold();
        for statement in 0..system.statements.len() as u32 {
            problem.add(statement);
        }
        problem.solver.release();
        problem
    }

    /// The variables of a system and none of its constraints. They are made in the order of their
    /// names, so that no answer depends on the order of lines.
    pub fn empty(system: &'a System, branches: u64) -> Problem<'a> {
        let mut names: Vec<NameId> = system.names.iter().map(|(name, _)| name).collect();
        names.sort_unstable_by_key(|name| system.names.text(*name));
        let mut problem = Problem {
            system,
            solver: Solver::with_budget(Budget { branches, ..Budget::default() }),
            vars: Vec::with_capacity(names.len()),
            by_name: vec![None; names.len()],
            dims: Vec::new(),
            rows: Vec::new(),
            statements: Vec::new(),
        };
        for name in names {
            let entry = system.names.get(name);
            let role = match entry.tag {
                None => Role::Interior,
                Some(Tag::Leaf) => Role::Leaf,
                Some(Tag::Param) => Role::Param,
            };
            let var = match entry.kind {
                NameKind::Dim => {
                    let var = problem.solver.dim_var(role);
                    problem.dims.resize(var.index() + 1, None);
                    problem.dims[var.index()] = Some(name);
                    Var::Dim(var)
                }
                NameKind::Row => {
                    problem.rows.push(name);
                    Var::Row(problem.solver.row_var(role))
                }
            };
            problem.by_name[name.0 as usize] = Some(var);
            problem.vars.push((name, var));
        }
        problem
    }

    /// Adds the constraint of a statement, if it is one.
    pub fn add(&mut self, statement: u32) {
        let StatementKind::Constraint(constraint) = &self.system.statements[statement as usize].kind else {
            return;
        };
        self.statements.push(statement);
        match constraint {
            rows::Constraint::DimEq { left, right } => {
                let (left, right) = (self.dim(left), self.dim(right));
                self.solver.add(Constraint::DimEq(left, right));
            }
            rows::Constraint::DimLe { result, operand } => {
                let (res, opnd) = (self.dim(result), self.dim(operand));
                self.solver.add(Constraint::DimLe { res, opnd });
            }
            rows::Constraint::RowEq { left, right } => {
                let (left, right) = (self.row(left), self.row(right));
                self.solver.add(Constraint::RowEq(left.term(), right.term()));
            }
            rows::Constraint::RowLe { result, operand } => {
                let (res, opnd) = (self.row(result), self.row(operand));
                self.solver.add(Constraint::RowLe { res: res.term(), opnd: opnd.term() });
            }
        }
    }

    fn dim(&mut self, dim: &rows::Dim) -> DimTerm {
        match dim.kind {
            DimKind::Unit => DimTerm::UNIT,
            DimKind::Atom { size, basis } => self.solver.atom(Atom { size, basis: Basis(basis.0) }),
            DimKind::Var(name) => match self.by_name[name.0 as usize] {
                Some(Var::Dim(var)) => var.into(),
                // The parser gives each name one kind.
                _ => DimTerm::UNIT,
            },
        }
    }

    fn row(&mut self, row: &rows::Row) -> OwnedRow {
        let system = self.system;
        let hole = match row.hole.kind {
            HoleKind::Marker => Hole::Marker,
            HoleKind::Var(name) => match self.by_name[name.0 as usize] {
                Some(Var::Row(var)) => Hole::Var(var),
                _ => Hole::Marker,
            },
        };
        let lead: Vec<DimTerm> = system.leading(row).iter().map(|dim| self.dim(dim)).collect();
        let trail = system.trailing(row).iter().map(|dim| self.dim(dim)).collect();
        OwnedRow { lead, hole, trail }
    }

    /// The variable of a name as a person writes it, with or without dots.
    pub fn find(&self, text: &str) -> Option<(NameId, Var)> {
        let bare = text.trim().trim_matches('.');
        let name = self.system.names.find(bare)?;
        Some((name, self.by_name[name.0 as usize]?))
    }

    /// The name of a dimension variable of the system.
    pub fn dim_name(&self, var: DimVar) -> Option<&str> {
        self.dims.get(var.index()).copied().flatten().map(|name| self.system.names.text(name))
    }

    /// The name of a row variable, without dots.
    pub fn row_name(&self, var: RowVar) -> &str {
        self.rows.get(var.index()).map_or("?", |name| self.system.names.text(*name))
    }

    /// The statement of a constraint.
    pub fn statement(&self, id: ConstraintId) -> &rows::Statement {
        &self.system.statements[self.statements[id.index()] as usize]
    }

    /// The statement's number, for [`add`](Problem::add).
    pub fn statement_index(&self, id: ConstraintId) -> u32 {
        self.statements[id.index()]
    }

    /// The line of a constraint.
    pub fn line(&self, id: ConstraintId) -> u32 {
        self.statement(id).line
    }

    /// The place of a constraint.
    pub fn span(&self, id: ConstraintId) -> Span {
        self.statement(id).span
    }
}

struct OwnedRow {
    lead: Vec<DimTerm>,
    hole: Hole,
    trail: Vec<DimTerm>,
}

impl OwnedRow {
    fn term(&self) -> RowTerm<'_> {
        RowTerm { lead: &self.lead, hole: self.hole, trail: &self.trail }
    }
}
