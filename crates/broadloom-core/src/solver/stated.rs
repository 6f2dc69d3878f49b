//! The constraints read back, for those who check an answer on their own.

use crate::solver::stores::ariths::Arith;
use crate::solver::stores::constraints::Stored;
use crate::solver::stores::rows::{Kind, RowCon, Term};
use crate::solver::stores::state::State;
use crate::term::{Constraint, DimTerm, DimVar, Hole, RowTerm, RowVar};

/// Calls `each` with every constraint as it was added, in the order of addition.
pub(crate) fn each_constraint(state: &State, mut each: impl FnMut(Constraint<'_>)) {
    for id in state.constraints.ids() {
        match state.constraints.get(id) {
            Stored::DimEq(a, b) => each(Constraint::DimEq(a, b)),
            Stored::DimLe(res, opnd) => each(Constraint::DimLe { res, opnd }),
            Stored::AtLeast(term, least) => each(Constraint::AtLeast(term, least)),
            Stored::AtMost(term, most) => each(Constraint::AtMost(term, most)),
            Stored::Row(con) => {
                let RowCon { res, opnd, kind, .. } = state.rows.con(con);
                let (res, opnd) = (row_term(state, res), row_term(state, opnd));
                each(match kind {
                    Kind::Eq => Constraint::RowEq(res, opnd),
                    Kind::Le => Constraint::RowLe { res, opnd },
                });
            }
            Stored::Arith(con) => each_arith(state.ariths.get(con), &mut each),
            Stored::Support(support) => {
                let opnds = state.supports.terms(support).iter().map(|term| row_term(state, *term));
                let opnds: Vec<RowTerm<'_>> = opnds.collect();
                each(Constraint::MadeOf { res: state.supports.get(support).res, opnds: &opnds });
            }
        }
    }
}

/// True if a dimension variable may have size zero, because
/// [`discardable_var`](crate::Solver::discardable_var) made it.
pub(crate) fn is_discardable(state: &State, var: DimVar) -> bool {
    state.discardable.contains(&var)
}

fn row_term(state: &State, term: Term) -> RowTerm<'_> {
    let (lead, trail) = state.rows.literals(term).split_at(term.lead as usize);
    let hole = if term.hole == RowVar::NIL { Hole::Marker } else { Hole::Var(term.hole) };
    RowTerm { lead, hole, trail }
}

/// An arithmetic constraint, from the form it is kept in.
fn each_arith(arith: &Arith, each: &mut impl FnMut(Constraint<'_>)) {
    match arith {
        Arith::Linear { items, constant, form } => {
            let dims: Vec<DimTerm> = items.iter().map(|item| item.dim).collect();
            match (form, dims.as_slice()) {
                (Some(form), [axis, over, kernel @ ..]) => each(Constraint::Affine {
                    axis: *axis,
                    form: *form,
                    over: *over,
                    kernel: kernel.first().copied(),
                }),
                (_, [axis, components @ ..]) => {
                    let literal = u64::try_from(*constant).unwrap_or_default();
                    each(Constraint::Concat { axis: *axis, components, literal });
                }
                // A linear equation has an axis.
                (_, []) => debug_assert!(false, "an equation of nothing"),
            }
        }
        Arith::Count { pieces, numerator, divided_by, rest } => {
            each(Constraint::Count { pieces, numerator: *numerator, divided_by, rest: *rest });
        }
        Arith::Exact { pieces, axes, rest } => each(Constraint::Exact { pieces, axes, rest: *rest }),
    }
}
