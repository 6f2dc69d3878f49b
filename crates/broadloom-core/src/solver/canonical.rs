//! An order of constraints and dimensions that does not depend on the order of addition.

use crate::order::Dim;
use crate::solver::stores::ariths::Arith;
use crate::solver::stores::constraints::Stored;
use crate::solver::stores::rows::{Kind, RowCon, Term};
use crate::solver::stores::state::State;
use crate::term::{ConstraintId, DimTerm};

/// Every constraint, in an order that does not depend on the order of addition.
pub(crate) fn canonical_order(state: &State) -> Vec<ConstraintId> {
    let mut ids: Vec<ConstraintId> = state.constraints.ids().collect();
    ids.sort_by_cached_key(|id| canonical_key(state, *id));
    ids
}

/// A term as numbers that do not depend on the order of constraints.
pub(crate) fn canonical_dim(state: &State, term: DimTerm) -> [u64; 3] {
    match (term.var(), state.ground(term)) {
        (Some(node), _) => {
            let made = state.dim_vars.binary_search_by_key(&node, |(node, _)| *node);
            [0, made.unwrap_or_else(|at| at) as u64, 0]
        }
        (None, Some(Dim::Atom(atom))) => [1, atom.size, u64::from(atom.basis.0)],
        (None, Some(Dim::Symbolic(dim))) => [3, u64::from(dim.form.0), u64::from(dim.basis.0)],
        (None, _) => [2, 0, 0],
    }
}

/// A constraint as a sequence of numbers that names variables by their order and atoms by value;
/// the sides of an equality are put in order.
fn canonical_key(state: &State, id: ConstraintId) -> (u8, Vec<[u64; 3]>, Vec<[u64; 3]>) {
    let dim = |term: &DimTerm| canonical_dim(state, *term);
    let row = |term: Term| {
        let mut key = vec![[term.hole.0.into(), u64::from(term.lead), u64::from(term.trail)]];
        key.extend(state.rows.literals(term).iter().map(dim));
        key
    };
    let sorted = |kind, a: Vec<[u64; 3]>, b: Vec<[u64; 3]>| if a <= b { (kind, a, b) } else { (kind, b, a) };
    match state.constraints.get(id) {
        Stored::DimEq(a, b) => sorted(0, vec![dim(&a)], vec![dim(&b)]),
        Stored::DimLe(a, b) => (1, vec![dim(&a)], vec![dim(&b)]),
        Stored::Row(con) => {
            let RowCon { res, opnd, kind, .. } = state.rows.con(con);
            match kind {
                Kind::Eq => sorted(2, row(res), row(opnd)),
                Kind::Le => (3, row(res), row(opnd)),
            }
        }
        Stored::AtLeast(term, least) => (4, vec![dim(&term)], vec![[least, 0, 0]]),
        Stored::AtMost(term, most) => (8, vec![dim(&term)], vec![[most, 0, 0]]),
        Stored::Support(support) => {
            let mut terms: Vec<_> = state.supports.terms(support).iter().map(|term| row(*term)).collect();
            terms.sort_unstable();
            let res = state.supports.get(support).res.0.into();
            (9, vec![[res, 0, 0]], terms.concat())
        }
        Stored::Arith(con) => {
            let arith = state.ariths.get(con);
            let (kind, numbers) = match arith {
                Arith::Linear { items, constant, .. } => {
                    let words = |wide: i128| [wide as u64, (wide >> 64) as u64, 0];
                    let coeffs = items.iter().map(|item| {
                        let [low, high, _] = words(item.coeff);
                        [low, high, u64::from(item.claims)]
                    });
                    let [low, high, _] = words(*constant);
                    let slack = arith.slack() as u64;
                    (5, coeffs.chain([[low, high, slack]]).collect())
                }
                Arith::Count { numerator, .. } => (6, vec![[numerator.coeff, numerator.denom, 0]]),
                Arith::Exact { .. } => (7, Vec::new()),
            };
            let rows = arith.rows().map(|row| [3, row.0.into(), 0]);
            (kind, arith.dims().iter().map(dim).chain(rows).collect(), numbers)
        }
    }
}
