//! Holes of parameters: positions that closing had to fill although nothing asked for them.
//!
//! A parameter takes its shape from its uses. Where no use restricts it, an ordinary leaf takes the
//! least shape; for a parameter that is almost certainly a mistake (a hidden size that was never
//! written), so it is reported.
//!
//! A row of a parameter that takes no axes is a hole, unless it meets a row that has axes, or a
//! tensor that has axes elsewhere and none here: then no axes is an answer. (A number has none
//! anywhere, and is no answer.) It meets the rows beside it in a result, and in the results that
//! this one goes into. An axis is a hole if nothing gave it a size, or only a guess did.

use crate::ids::IdVec;
use crate::solver::stores::reason::Policy;
use crate::solver::stores::rows::{Kind, RowCon, Term};
use crate::solver::stores::state::State;
use crate::term::{DimTerm, DimVar, Role, RowVar};

/// A position of a parameter that nothing determines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfilled {
    /// A dimension variable.
    Dim(DimVar),
    /// An axis of a row variable, counted from the front.
    Axis(RowVar, u32),
    /// A row variable that has no axes, with nothing to say that it should have none.
    Row(RowVar),
}

/// The parameters that no constraint restricts, and the rows that were open, before closing.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    /// The rows of parameters that no constraint restricts.
    params: Vec<RowVar>,
    /// True if a row could have had axes, for all rows if there are such parameters.
    open: IdVec<RowVar, bool>,
}

/// Finds the parameters that no constraint restricts; to be called before closing.
pub(crate) fn find_silence(state: &State) -> Silence {
    let silent = |row: &RowVar| state.rows.role(*row) == Role::Param && is_silent(state, *row);
    let params: Vec<RowVar> = state.rows.leaves().iter().copied().filter(silent).collect();
    let is_open = |row: RowVar| state.ranks.hi(row) > 0;
    let open = if params.is_empty() { IdVec::default() } else { state.rows.ids().map(is_open).collect() };
    Silence { params, open }
}

fn is_silent(state: &State, row: RowVar) -> bool {
    !state.rows.is_fixed(row) && state.ranks.lo(row) == 0 && state.ariths.of_row(row).is_empty()
}

/// The silent rows that have no axes, and that meet no row for which that is known.
fn unanswered_rows(state: &State, Silence { params, open }: &Silence) -> Vec<RowVar> {
    let mut rows: Vec<RowVar> = params.iter().copied().filter(|row| state.ranks.lo(*row) == 0).collect();
    if !rows.is_empty() {
        let answered = answered_rows(state, open);
        rows.retain(|row| !answered[*row]);
    }
    rows
}

/// The rows that have axes, or meet a row with axes or a tensor that has axes elsewhere only; `open` are those
/// whose rank closing chose.
fn answered_rows(state: &State, open: &IdVec<RowVar, bool>) -> IdVec<RowVar, bool> {
    let has_axes = |row: RowVar| state.ranks.lo(row) > 0 || !state.ariths.of_row(row).is_empty();
    let mut answered: IdVec<RowVar, bool> = state.rows.ids().map(has_axes).collect();
    loop {
        let said = said_rows(state, open, &answered);
        let mut more = false;
        for absence in state.absences.iter().filter(|absence| state.is_absent(absence)) {
            let own = absence.own == RowVar::NIL || said[absence.own];
            more |= own && !std::mem::replace(&mut answered[absence.row], true);
        }
        more |= pass_answers(state, &mut answered);
        if !more {
            return answered;
        }
    }
}

/// Takes answers from results to operands. A leaf passes on its axes, but not what others say about it, except to its
/// equals: it might as well have been declared. Returns whether anything is new.
fn pass_answers(state: &State, answered: &mut IdVec<RowVar, bool>) -> bool {
    let passes = |answered: &IdVec<RowVar, bool>, row: RowVar, kind: Kind| {
        let heard = kind == Kind::Eq || state.rows.role(row) == Role::Interior || state.ranks.lo(row) > 0;
        answered[row] && heard
    };
    let (mut any, mut more) = (false, true);
    while std::mem::take(&mut more) {
        // Results are usually made after their operands.
        for con in state.rows.con_ids().rev() {
            let RowCon { res, opnd, kind, .. } = state.rows.con(con);
            let mut pass = |from: Term, to: Term| {
                let says =
                    from.flanks() > 0 || (from.hole != RowVar::NIL && passes(answered, from.hole, kind));
                more |= to.hole != RowVar::NIL && says && !std::mem::replace(&mut answered[to.hole], true);
            };
            pass(res, opnd);
            if kind == Kind::Eq {
                pass(opnd, res);
            } else if opnd.hole == RowVar::NIL && res.hole != RowVar::NIL {
                // It is stated that there need be no axes.
                more |= !std::mem::replace(&mut answered[res.hole], true);
            }
        }
        any |= more;
    }
    any
}

/// The rows that are known to have no axes, rather than assumed to for want of an answer:
/// constraints require it, or they are leaves that were answered, or made of such rows.
fn said_rows(
    state: &State,
    open: &IdVec<RowVar, bool>,
    answered: &IdVec<RowVar, bool>,
) -> IdVec<RowVar, bool> {
    let mut said: IdVec<RowVar, bool> = state
        .rows
        .ids()
        .map(|row| {
            let leaf = matches!(state.rows.role(row), Role::Leaf | Role::Param);
            !open[row] || (leaf && answered[row])
        })
        .collect();
    let mut more = true;
    while std::mem::take(&mut more) {
        // Results are usually made after their operands.
        for support in state.supports.ids() {
            let mut terms = state.supports.terms(support).iter();
            let all = terms.all(|term| term.hole == RowVar::NIL || said[term.hole]);
            let res = state.supports.get(support).res;
            more |= all && !std::mem::replace(&mut said[res], true);
        }
    }
    said
}

/// Positions of leaves that closing left without a size.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// Those of parameters: holes.
    pub unfilled: Vec<Unfilled>,
    /// Those of other leaves, which could have had one and gave way.
    pub gave_way: Vec<Unfilled>,
}

/// Finds the gaps of leaves after all commitments.
pub(crate) fn find_gaps(state: &State, silence: &Silence) -> Gaps {
    let mut gaps = Gaps::default();
    for (node, role) in &state.leaf_dims {
        let at = Unfilled::Dim(*node);
        judge_leaf(state, *role, (*node).into(), at, &mut gaps);
    }
    let unanswered = unanswered_rows(state, silence);
    gaps.unfilled.extend(unanswered.into_iter().map(Unfilled::Row));
    for row in state.rows.leaves().iter().copied() {
        for at in 0..state.ranks.lo(row) {
            let (role, axis) = (state.rows.role(row), state.row_axis(row, at));
            let at = Unfilled::Axis(row, at);
            judge_leaf(state, role, axis, at, &mut gaps);
        }
    }
    gaps
}

/// Notes an axis of a leaf that lacks a size, or gave way to another leaf: it could have had one, and
/// nothing says which of them.
fn judge_leaf(state: &State, role: Role, term: DimTerm, at: Unfilled, gaps: &mut Gaps) {
    let relaxed = || state.value_policy(term) == Some(Policy::RelaxedLeaf);
    match role {
        Role::Param if lacks_size(state, term) || relaxed() => gaps.unfilled.push(at),
        Role::Leaf if relaxed() => gaps.gave_way.push(at),
        _ => {}
    }
}

fn lacks_size(state: &State, term: DimTerm) -> bool {
    let Some(node) = term.var().filter(|_| !term.is_none()) else { return term.is_none() };
    let root = state.dims.find(node);
    if state.dims.value(root).is_none() {
        return true;
    }
    // A class without a size when guessing began has one by a guess.
    state.undecided.as_ref().is_some_and(|open| open.contains(&node))
}
