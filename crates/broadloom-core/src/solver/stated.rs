//! What was said to a solver, read back: for those who check an answer on their own.

use super::arith::Arith;
use super::reason::NIL;
use super::rows::{Kind, RowCon, Term};
use super::{Solver, Stored};
use crate::term::{Constraint, DimTerm, DimVar, Hole, RowTerm, RowVar};

impl Solver {
    /// Calls `each` with every constraint as it was added, in the order of addition.
    ///
    /// ```
    /// use broadloom_core::{Affine, Constraint, Role, Solver};
    /// let mut solver = Solver::new();
    /// let (axis, over) = (solver.size(8), solver.dim_var(Role::Interior));
    /// let form = Affine::strided(2);
    /// solver.add(Constraint::Affine { axis, form, over: over.into(), kernel: None });
    /// let mut seen = Vec::new();
    /// solver.each_constraint(|constraint| match constraint {
    ///     Constraint::Affine { axis, form, over, .. } => seen.push((solver.ground(axis), form, over.var())),
    ///     _ => unreachable!("nothing else was said"),
    /// });
    /// assert_eq!(seen, [(solver.ground(axis), form, Some(over))]);
    /// ```
    pub fn each_constraint(&self, mut each: impl FnMut(Constraint<'_>)) {
        for id in 0..self.constraints.len() as u32 {
            match self.constraints.get(id) {
                Stored::DimEq(a, b) => each(Constraint::DimEq(a, b)),
                Stored::DimLe(res, opnd) => each(Constraint::DimLe { res, opnd }),
                Stored::AtLeast(term, least) => each(Constraint::AtLeast(term, least)),
                Stored::AtMost(term, most) => each(Constraint::AtMost(term, most)),
                Stored::Row(con) => {
                    let RowCon { res, opnd, kind, .. } = self.rows.con(con);
                    let (res, opnd) = (self.row_term(res), self.row_term(opnd));
                    each(match kind {
                        Kind::Eq => Constraint::RowEq(res, opnd),
                        Kind::Le => Constraint::RowLe { res, opnd },
                    });
                }
                Stored::Arith(con) => each_arith(self.ariths.get(con), &mut each),
                Stored::Support(support) => {
                    let opnds = self.supports.terms(support).iter().map(|term| self.row_term(*term));
                    let opnds: Vec<RowTerm<'_>> = opnds.collect();
                    each(Constraint::MadeOf { res: RowVar(self.supports.get(support).res), opnds: &opnds });
                }
            }
        }
    }

    /// Whether a dimension variable may have size zero: whether
    /// [`discardable_var`](Solver::discardable_var) made it.
    pub fn is_discardable(&self, var: DimVar) -> bool {
        self.discardable.contains(&var.0)
    }

    fn row_term(&self, term: Term) -> RowTerm<'_> {
        let (lead, trail) = self.rows.literals(term).split_at(term.lead as usize);
        let hole = if term.hole == NIL { Hole::Marker } else { Hole::Var(RowVar(term.hole)) };
        RowTerm { lead, hole, trail }
    }
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
