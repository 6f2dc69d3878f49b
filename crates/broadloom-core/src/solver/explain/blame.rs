//! The constraints and policy steps behind a conflict.

use crate::ids::{RowConId, StepId};
use crate::solver::explain::walk::{Fact, Walked, walk};
use crate::solver::report::DimShape;
use crate::solver::stores::constraints::Stored;
use crate::solver::stores::reason::{Conflict, Reason, ReasonId, Side};
use crate::solver::stores::rows::{RowCon, Slot, Term};
use crate::solver::stores::state::State;
use crate::term::{ConstraintId, DimTerm, DimVar, RowVar};

/// The constraints and policy steps behind a conflict.
pub(crate) fn blame(state: &State, conflict: Conflict) -> Walked {
    let value_of = |node: DimVar| {
        let at = state.dims.value_node(node);
        [Fact::ValueAt(at), Fact::Equal(node, at)]
    };
    walk(
        state,
        match conflict {
            Conflict::Value { node, reason, .. } => {
                let [value, equal] = value_of(node);
                vec![value, equal, Fact::Reason(reason)]
            }
            Conflict::Cap { node, reason, .. } => {
                let at = state.dims.cap_node(node);
                vec![Fact::CapAt(at), Fact::Equal(node, at), Fact::Reason(reason)]
            }
            Conflict::Merge { a, b, reason } => {
                let ([value_a, equal_a], [value_b, equal_b]) = (value_of(a), value_of(b));
                vec![value_a, equal_a, value_b, equal_b, Fact::Reason(reason)]
            }
            Conflict::Ground { reason, .. } => vec![Fact::Reason(reason)],
            Conflict::Rank { row, .. } => vec![Fact::LoRank(row), Fact::HiRank(row)],
            Conflict::RankCycle { row, con } => vec![Fact::LoRank(row), Fact::RowCon(con)],
            Conflict::Overflow { con } => vec![Fact::RowCon(con)],
            Conflict::Claim { node, reason } => {
                let [value, equal] = if state.dims.value(state.dims.find(node)).is_some() {
                    value_of(node)
                } else {
                    [Fact::Reason(reason), Fact::Equal(node, node)]
                };
                vec![Fact::Size(node), value, equal, Fact::Reason(reason)]
            }
            Conflict::Size { node } => {
                let mut facts = vec![Fact::Size(node)];
                if state.dims.value(state.dims.find(node)).is_some() {
                    facts.extend(value_of(node));
                }
                facts
            }
            Conflict::Arith { con } => vec![Fact::Arith(con)],
            Conflict::TooSmall { reason, .. } | Conflict::TooLarge { reason, .. } => {
                vec![Fact::Reason(reason)]
            }
            Conflict::Symbols { a, b, reason } => {
                let symbol = |node: DimVar| state.dims.tag(state.dims.find(node));
                let named = |node: DimVar| symbol(node).map_or(node, |tag| state.symbols.node(tag));
                vec![Fact::Equal(a, named(a)), Fact::Equal(b, named(b)), Fact::Reason(reason)]
            }
            Conflict::Short { support } => {
                vec![Fact::LoRank(state.supports.get(support).res), Fact::Support(support)]
            }
            // Every constraint may have a part in what rows are made of, and so may every choice.
            Conflict::Contents => {
                let steps = (0..state.policies.len()).map(StepId::new).map(Fact::PolicyStep);
                state.rows.con_ids().map(Fact::RowCon).chain(steps).collect()
            }
            Conflict::TooMuch(_) => Vec::new(),
        },
    )
}

/// The constraints and policy steps behind a row's rank bounds: the domain of a choice.
pub(crate) fn blame_rank(state: &State, row: RowVar) -> Walked {
    walk(state, vec![Fact::LoRank(row), Fact::HiRank(row)])
}

/// The constraints and policy steps behind a row's least rank.
pub(crate) fn blame_least(state: &State, row: RowVar) -> Walked {
    walk(state, vec![Fact::LoRank(row)])
}

/// The constraint each end of a contradiction between two dimensions comes from: the first one
/// in its chain that writes that dimension.
pub(crate) fn sources(state: &State, conflict: Conflict, ends: [DimTerm; 2]) -> [Option<ConstraintId>; 2] {
    let source = |facts: Vec<Fact>, end: DimTerm| {
        let chain = walk(state, facts).constraints;
        let writer = chain.iter().find(|id| writes(state, **id, end)).or(chain.first());
        writer.copied()
    };
    let value = |node: DimVar, end: DimTerm| {
        let at = state.dims.value_node(node);
        source(vec![Fact::ValueAt(at), Fact::Equal(node, at)], end)
    };
    let demand = |reason: ReasonId, end: DimTerm| source(vec![Fact::Reason(reason)], end);
    match conflict {
        Conflict::Value { node, reason, .. } => [value(node, ends[0]), demand(reason, ends[1])],
        Conflict::Cap { node, reason, .. } => {
            let cap = vec![Fact::CapAt(state.dims.cap_node(node))];
            [source(cap, ends[0]), demand(reason, ends[1])]
        }
        Conflict::Merge { a, b, .. } => [value(a, ends[0]), value(b, ends[1])],
        Conflict::Ground { reason, .. } => match aligned(state, reason) {
            Some((con, side, at)) => {
                let RowCon { res, opnd, id, .. } = state.rows.con(con);
                let named =
                    |term: Term, end: DimTerm| source(named_by(state, term, side, at), end).or(Some(id));
                [named(res, ends[0]), named(opnd, ends[1])]
            }
            None => [None, None],
        },
        _ => [None, None],
    }
}

/// The facts that name the dimension at a position of a term, without the proof that it exists.
fn named_by(state: &State, term: Term, side: Side, at: u32) -> Vec<Fact> {
    let row = term.hole;
    let Some(inner) = at.checked_sub(term.near(side)).filter(|_| row != RowVar::NIL) else {
        return Vec::new();
    };
    let rank = state.ranks.lo(row);
    if state.rows.is_fixed(row) && state.rows.source(row) != RowConId::NIL {
        return vec![Fact::RowCon(state.rows.source(row))];
    }
    let mut whys = vec![state.rows.slot(Slot::Edge { row, side, at: inner }).why];
    if state.rows.is_fixed(row) && inner < rank {
        let index = if side == Side::Left { inner } else { rank - 1 - inner };
        whys.push(state.rows.slot(Slot::Axis { row, at: index }).why);
    }
    // The alignment itself, then whatever it rests on.
    let mut facts = Vec::new();
    for why in whys {
        if let Some((con, ..)) = aligned(state, why) {
            facts.push(Fact::RowCon(con));
        }
        facts.push(Fact::Reason(why));
    }
    facts
}

fn aligned(state: &State, reason: ReasonId) -> Option<(RowConId, Side, u32)> {
    if reason.as_constraint().is_some() {
        return None;
    }
    match state.dims.reason_at(reason)? {
        Reason::Align { con, side, at } | Reason::Pinned { con, side, at } => Some((con, side, at)),
        _ => None,
    }
}

/// The axis of a row variable at which two ground terms faced each other.
pub(crate) fn aligned_axis(state: &State, conflict: Conflict) -> Option<DimShape> {
    let Conflict::Ground { reason, .. } = conflict else { return None };
    let (con, side, at) = aligned(state, reason)?;
    let RowCon { res, opnd, .. } = state.rows.con(con);
    [res, opnd].into_iter().find_map(|term| {
        let (row, inner) = (term.hole, at.checked_sub(term.near(side))?);
        let inside = term.hole != RowVar::NIL && inner < state.ranks.lo(term.hole);
        inside.then_some(match side {
            Side::Left => DimShape::Front(row, inner),
            Side::Right => DimShape::Back(row, inner),
        })
    })
}

/// True if a constraint was written with a term.
fn writes(state: &State, id: ConstraintId, term: DimTerm) -> bool {
    match state.constraints.get(id) {
        Stored::DimEq(a, b) | Stored::DimLe(a, b) => a == term || b == term,
        Stored::Row(con) => {
            let RowCon { res, opnd, .. } = state.rows.con(con);
            state.rows.literals(res).contains(&term) || state.rows.literals(opnd).contains(&term)
        }
        Stored::AtLeast(..) | Stored::AtMost(..) => false,
        Stored::Arith(con) => state.ariths.get(con).dims().contains(&term),
        Stored::Support(support) => {
            state.supports.terms(support).iter().any(|row| state.rows.literals(*row).contains(&term))
        }
    }
}
