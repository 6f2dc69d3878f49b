//! Some of the constraints of a system as a system of their own; systems without their last constraints.

use crate::solver::propagate::add::{add, add_stored};
use crate::solver::propagate::held::{hold, release};
use crate::solver::report::DimShape;
use crate::solver::stores::ariths::{Arith, Summand};
use crate::solver::stores::constraints::Stored;
use crate::solver::stores::rows::{Kind, RowCon, Term};
use crate::solver::stores::state::{Point, State};
use crate::term::{Constraint, ConstraintId, DimTerm, DimVar, Hole, Numerator, Piece, RowTerm, RowVar};
use rustc_hash::FxHashMap;

/// Subsystems of more constraints than this are put together at once.
const MANY: usize = 1024;

/// Some of a solver's constraints as a system of their own.
pub(crate) struct Subsystem {
    pub state: State,
    /// The original variables, in their order, with their copies.
    dims: Vec<(DimVar, DimVar)>,
    rows: Vec<(RowVar, RowVar)>,
    ids: Vec<ConstraintId>,
}

impl Subsystem {
    /// The copy of a dimension variable, if a constraint mentions it.
    pub fn dim(&self, var: DimVar) -> Option<DimVar> {
        let at = self.dims.binary_search_by_key(&var, |(node, _)| *node).ok()?;
        Some(self.dims[at].1)
    }

    /// The copy of a row variable, if a constraint mentions it.
    pub fn row(&self, var: RowVar) -> Option<RowVar> {
        let at = self.rows.binary_search_by_key(&var, |(row, _)| *row).ok()?;
        Some(self.rows[at].1)
    }

    pub fn original_dim(&self, copy: DimVar) -> Option<DimVar> {
        self.dims.iter().find(|(_, var)| *var == copy).map(|(node, _)| *node)
    }

    pub fn original_row(&self, copy: RowVar) -> Option<RowVar> {
        self.rows.iter().find(|(_, var)| *var == copy).map(|(row, _)| *row)
    }

    /// A dimension in the names of the original system.
    pub fn original_shape(&self, shape: DimShape) -> Option<DimShape> {
        match shape {
            DimShape::Ground(_) => None,
            DimShape::Var(var) => self.original_dim(var).map(DimShape::Var),
            DimShape::Front(row, at) => self.original_row(row).map(|row| DimShape::Front(row, at)),
            DimShape::Back(row, at) => self.original_row(row).map(|row| DimShape::Back(row, at)),
        }
    }

    /// The original of a constraint.
    pub fn original_id(&self, copy: ConstraintId) -> ConstraintId {
        self.ids[copy.index()]
    }
}

/// Some constraints as a system of their own. Variables keep their roles and their order.
pub(crate) fn subsystem(state: &State, ids: &[ConstraintId]) -> Subsystem {
    let mut sub = Subsystem {
        state: State::with_budget(state.budget),
        dims: Vec::new(),
        rows: Vec::new(),
        ids: ids.to_vec(),
    };
    sub.state.atoms.clone_from(&state.atoms);
    sub.state.atom_ids.clone_from(&state.atom_ids);
    sub.state.dims.zero = state.dims.zero;
    sub.state.symbols = state.symbols.unmentioned();
    let (mut dims, mut rows) = variables(state, ids);
    dims.sort_unstable();
    dims.dedup();
    rows.sort_unstable();
    rows.dedup();
    for node in dims {
        let role = state.dim_role(node);
        let discardable = state.discardable.contains(&node);
        let symbol = state.symbols.made_at(node);
        let copy = if let Some(symbol) = symbol {
            sub.state.make_symbol(symbol, state.symbols.is_dynamic(symbol))
        } else if discardable {
            sub.state.discardable_var(role)
        } else {
            sub.state.dim_var(role)
        };
        sub.dims.push((node, copy));
    }
    for row in rows {
        let copy = sub.state.row_var(state.rows.role(row));
        if let Some(lead) = state.rows.declared(row) {
            sub.state.declare_marker(copy, lead);
        }
        sub.rows.push((row, copy));
    }
    let dim_map: FxHashMap<DimVar, DimVar> = sub.dims.iter().copied().collect();
    let row_map: FxHashMap<RowVar, RowVar> = sub.rows.iter().copied().collect();
    let dim =
        |term: DimTerm| term.var().and_then(|node| dim_map.get(&node)).map_or(term, |var| (*var).into());
    let row = |row: RowVar| row_map.get(&row).copied().unwrap_or(row);
    if ids.len() > MANY {
        hold(&mut sub.state);
    }
    for id in ids {
        add_copy(state, &mut sub.state, *id, &dim, &row);
    }
    release(&mut sub.state);
    sub
}

/// Adds one of the constraints to another solver, with its own names for the variables.
pub(crate) fn add_copy(
    state: &State,
    to: &mut State,
    id: ConstraintId,
    dim: &impl Fn(DimTerm) -> DimTerm,
    row: &impl Fn(RowVar) -> RowVar,
) {
    let axes =
        |term: Term| -> Vec<DimTerm> { state.rows.literals(term).iter().map(|axis| dim(*axis)).collect() };
    fn split<'a>(term: Term, axes: &'a [DimTerm], row: &impl Fn(RowVar) -> RowVar) -> RowTerm<'a> {
        let hole = if term.hole == RowVar::NIL { Hole::Marker } else { Hole::Var(row(term.hole)) };
        let (lead, trail) = axes.split_at(term.lead as usize);
        RowTerm { lead, hole, trail }
    }
    match state.constraints.get(id) {
        Stored::DimEq(a, b) => add(to, Constraint::DimEq(dim(a), dim(b))),
        Stored::DimLe(res, opnd) => add(to, Constraint::DimLe { res: dim(res), opnd: dim(opnd) }),
        Stored::AtLeast(term, least) => add(to, Constraint::AtLeast(dim(term), least)),
        Stored::AtMost(term, most) => add(to, Constraint::AtMost(dim(term), most)),
        Stored::Arith(con) => add_stored(to, renamed(state.ariths.get(con), dim, row)),
        Stored::Support(support) => {
            let terms = state.supports.terms(support);
            let written: Vec<Vec<DimTerm>> = terms.iter().map(|term| axes(*term)).collect();
            let opnds = terms.iter().zip(&written).map(|(term, axes)| split(*term, axes, row));
            let opnds: Vec<RowTerm<'_>> = opnds.collect();
            let res = row(state.supports.get(support).res);
            add(to, Constraint::MadeOf { res, opnds: &opnds })
        }
        Stored::Row(con) => {
            let RowCon { res, opnd, kind, .. } = state.rows.con(con);
            let (below, above) = (axes(res), axes(opnd));
            let (res, opnd) = (split(res, &below, row), split(opnd, &above, row));
            add(
                to,
                match kind {
                    Kind::Eq => Constraint::RowEq(res, opnd),
                    Kind::Le => Constraint::RowLe { res, opnd },
                },
            )
        }
    };
}

/// The row variables some constraints mention, with repetitions.
pub(crate) fn rows_of(state: &State, ids: &[ConstraintId]) -> Vec<RowVar> {
    variables(state, ids).1
}

/// The variables some constraints mention, with repetitions.
fn variables(state: &State, ids: &[ConstraintId]) -> (Vec<DimVar>, Vec<RowVar>) {
    let (mut dims, mut rows) = (Vec::new(), Vec::new());
    for id in ids {
        match state.constraints.get(*id) {
            Stored::DimEq(a, b) | Stored::DimLe(a, b) => {
                dims.extend([a, b].iter().filter_map(|term| term.var()))
            }
            Stored::Row(con) => {
                let RowCon { res, opnd, .. } = state.rows.con(con);
                for term in [res, opnd] {
                    dims.extend(state.rows.literals(term).iter().filter_map(|axis| axis.var()));
                    rows.extend((term.hole != RowVar::NIL).then_some(term.hole));
                }
            }
            Stored::AtLeast(term, _) | Stored::AtMost(term, _) => dims.extend(term.var()),
            Stored::Arith(con) => {
                let arith = state.ariths.get(con);
                dims.extend(arith.dims().iter().filter_map(|term| term.var()));
                rows.extend(arith.rows());
            }
            Stored::Support(support) => {
                rows.push(state.supports.get(support).res);
                for term in state.supports.terms(support) {
                    dims.extend(state.rows.literals(*term).iter().filter_map(|axis| axis.var()));
                    rows.extend((term.hole != RowVar::NIL).then_some(term.hole));
                }
            }
        }
    }
    (dims, rows)
}

/// An arithmetic constraint with other variables.
fn renamed(arith: &Arith, dim: &impl Fn(DimTerm) -> DimTerm, row: &impl Fn(RowVar) -> RowVar) -> Arith {
    let piece = |piece: &Piece| match *piece {
        Piece::Dim(term) => Piece::Dim(dim(term)),
        Piece::Row(var) => Piece::Row(row(var)),
    };
    match arith {
        Arith::Linear { items, constant, form } => Arith::Linear {
            items: items.iter().map(|item| Summand { dim: dim(item.dim), ..*item }).collect(),
            constant: *constant,
            form: *form,
        },
        Arith::Count { pieces, numerator, divided_by, rest } => Arith::Count {
            pieces: pieces.iter().map(piece).collect(),
            numerator: Numerator { over: numerator.over.map(dim), ..*numerator },
            divided_by: divided_by.iter().map(|term| dim(*term)).collect(),
            rest: rest.map(row),
        },
        Arith::Exact { pieces, axes, rest } => Arith::Exact {
            pieces: pieces.iter().map(piece).collect(),
            axes: axes.iter().map(|term| dim(*term)).collect(),
            rest: rest.map(row),
        },
    }
}

/// Forgets every variable and constraint made after a point. Variables made before keep their
/// names. The rest is solved anew: meant for the rare case that a constraint has to be taken back.
pub(crate) fn retract(state: &mut State, point: Point) {
    let mut fresh = State::with_budget(state.budget);
    fresh.atoms = std::mem::take(&mut state.atoms);
    fresh.atom_ids = std::mem::take(&mut state.atom_ids);
    fresh.dims.zero = state.dims.zero;
    let symbols = state.symbols.clone();
    fresh.symbols = std::mem::take(&mut state.symbols).without_nodes();
    for row in (0..point.rows as u32).map(RowVar) {
        let copy = fresh.row_var(state.rows.role(row));
        if let Some(lead) = state.rows.declared(row) {
            fresh.declare_marker(copy, lead);
        }
    }
    // The solver's own nodes come between the caller's; made in the same order, all are the same.
    let mut dims = state.dim_vars[..point.dims].iter().peekable();
    let mut make = |fresh: &mut State, all: bool| {
        while let Some((node, role)) = dims.next_if(|(node, _)| all || node.index() == fresh.dims.len()) {
            let discardable = state.discardable.contains(node);
            if let Some(symbol) = symbols.made_at(*node) {
                fresh.make_symbol(symbol, symbols.is_dynamic(symbol))
            } else if discardable {
                fresh.discardable_var(*role)
            } else {
                fresh.dim_var(*role)
            };
        }
    };
    for id in state.constraints.ids().take(point.constraints) {
        make(&mut fresh, false);
        add_copy(state, &mut fresh, id, &|dim| dim, &|row| row);
    }
    make(&mut fresh, true);
    fresh.absences = std::mem::take(&mut state.absences);
    fresh.absences.truncate(point.absences);
    *state = fresh;
}
