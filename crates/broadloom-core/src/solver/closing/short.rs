//! Results that claim more than closing gives to their operands.

use crate::ids::SupportId;
use crate::solver::explain::blame::blame_least;
use crate::solver::explain::chain::chain_dim;
use crate::solver::propagate::support::facing_place;
use crate::solver::stores::reason::{Conflict, Outcome, Side};
use crate::solver::stores::rows::Term;
use crate::solver::stores::state::{Absence, State};
use crate::solver::stores::supports::Support;
use crate::term::{ConstraintId, DimTerm, Role, RowVar};
use rustc_hash::FxHashSet;

/// A result that claims more than closing gives to its operands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Short {
    /// The row of the result.
    pub row: RowVar,
    /// The axis that no operand has the size of, counted from the front; none if the row is longer than all of them.
    pub at: Option<u32>,
    /// The constraint that says what the row is made of.
    pub made_of: ConstraintId,
    /// The constraints behind its length, or behind the size of the axis.
    pub because: Vec<ConstraintId>,
}

/// True if every supported row has an operand as long as itself, at the least ranks.
pub(crate) fn all_long_enough(state: &State) -> Outcome {
    let length = |term: &Term| {
        let inner = if term.hole == RowVar::NIL { 0 } else { state.ranks.lo(term.hole) };
        term.flanks() + inner
    };
    let short = |support: &SupportId| {
        let longest = state.supports.terms(*support).iter().map(length).max();
        state.ranks.lo(state.supports.get(*support).res) > longest.unwrap_or(0)
    };
    let found = state.supports.ids().find(short).or_else(|| filled_where_absent(state));
    found.map_or(Ok(()), |support| Err(Conflict::Short { support }))
}

/// A row with axes that only fillers could give it, although they stand beside a tensor that has axes, and none there: they take
/// its shape and add nothing.
fn filled_where_absent(state: &State) -> Option<SupportId> {
    let has_axes = |absence: &&Absence| {
        absence.own == RowVar::NIL && state.ranks.lo(absence.row) > 0 && state.is_absent(absence)
    };
    let rows: FxHashSet<RowVar> = state.absences.iter().filter(has_axes).map(|absence| absence.row).collect();
    let fills = |term: &Term| {
        term.flanks() == 0 && term.hole != RowVar::NIL && state.rows.role(term.hole) == Role::Filler
    };
    let filled = |support: &SupportId| {
        rows.contains(&state.supports.get(*support).res) && state.supports.terms(*support).iter().all(fills)
    };
    if rows.is_empty() { None } else { state.supports.ids().find(filled) }
}

/// The report of a supported row that is longer than its operands.
pub(crate) fn short_row(state: &State, support: SupportId) -> Short {
    let Support { res, id, .. } = state.supports.get(support);
    let because = blame_least(state, res).constraints;
    Short { row: res, at: None, made_of: id, because }
}

/// A size that a supported row claims and none of its operands, once everything is closed.
pub(crate) fn short_axis(state: &State) -> Option<Short> {
    let value = |term: DimTerm| if term.is_none() { DimTerm::UNIT } else { state.dims.resolve(term) };
    for support in state.supports.ids() {
        let Support { res, id, .. } = state.supports.get(support);
        let rank = state.ranks.lo(res);
        for at in 0..rank {
            let own = value(state.row_axis(res, at));
            let claimed = |term: &Term| {
                let axis = operand_axis(state, *term, rank, at);
                axis.is_some_and(|axis| value(axis) == own)
            };
            let supported = own == DimTerm::UNIT
                || own.var().is_some()
                || state.supports.terms(support).iter().any(claimed);
            if !supported {
                let because = state.row_axis(res, at).var().map_or(Vec::new(), |var| {
                    chain_dim(state, var).iter().filter_map(|link| link.constraint()).collect()
                });
                let (row, made_of) = (res, id);
                return Some(Short { row, at: Some(at), made_of, because });
            }
        }
    }
    None
}

/// The axis of an operand that faces an axis of its result, at the least ranks.
fn operand_axis(state: &State, term: Term, rank: u32, at: u32) -> Option<DimTerm> {
    let (side, place) = facing_place(state, term, rank, at)?;
    let inner = if term.hole == RowVar::NIL { 0 } else { state.ranks.lo(term.hole) };
    let place = if side == Side::Left { place } else { term.flanks() + inner - 1 - place };
    let literals = state.rows.literals(term);
    Some(if place < term.lead {
        literals[place as usize]
    } else if place < term.lead + inner {
        state.row_axis(term.hole, place - term.lead)
    } else {
        literals[(place - inner) as usize]
    })
}
