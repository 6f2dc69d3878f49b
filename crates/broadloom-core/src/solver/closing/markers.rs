//! Markers that no operation declares: where they are preferred, and closing them there.

use crate::ids::{IdVec, RowConId};
use crate::solver::closing::extents::join_lead;
use crate::solver::propagate::align::align;
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::stores::reason::{Outcome, Policy};
use crate::solver::stores::rows::{Kind, RowCon, Term};
use crate::solver::stores::state::State;
use crate::term::{Role, RowVar};

/// Step 4.
pub(crate) fn close_markers(state: &mut State, markers: &IdVec<RowVar, u32>) -> Outcome {
    for con in state.rows.con_ids() {
        if let Some(row) = awaited_marker(state, con) {
            let step = state.choose(Policy::PreferredMarker, row);
            let marker = markers[row].min(state.ranks.lo(row));
            state.rows.set_marker(&mut state.trail, row, marker, step);
        }
        if !state.rows.con(con).done {
            align(state, con)?;
        }
    }
    propagate(state)
}

/// The row variable whose marker an inequality waits for.
pub(crate) fn awaited_marker(state: &State, con: RowConId) -> Option<RowVar> {
    let RowCon { opnd, kind, done, .. } = state.rows.con(con);
    let waits = !done && kind == Kind::Le && opnd.hole != RowVar::NIL;
    (waits && state.rows.is_fixed(opnd.hole) && state.rows.marker(opnd.hole).is_none()).then_some(opnd.hole)
}

/// The preferred marker of each row variable: at the longest leading flank declared by
/// the closed rows it equals and by the operands it refines, within its rank; at the left edge
/// where nothing is declared. A function of the constraints, not of their order.
pub(crate) fn preferred_markers(state: &State, mut markers: IdVec<RowVar, u32>) -> IdVec<RowVar, u32> {
    if !state.declared_markers && !state.rows.any_marker() {
        return markers;
    }
    let mut queue: Vec<RowConId> = state.rows.con_ids().collect();
    queue.reverse();
    while let Some(con) = queue.pop() {
        let RowCon { res, opnd, kind, .. } = state.rows.con(con);
        let mut prefer = |to: Term, from: Term, equal: bool| {
            if to.hole == RowVar::NIL || state.rows.declared(to.hole).is_some() {
                return;
            }
            let inner = match from.hole {
                RowVar::NIL => 0,
                row => {
                    let marker = state.rows.marker(row).unwrap_or(markers[row]);
                    marker.min(state.ranks.lo(row))
                }
            };
            // An equality passes on a declared marker, not a default one, and only outward
            // from the row nested in the other (Def. 4.3(b) and (c)).
            let nested = to.lead <= from.lead && to.trail <= from.trail;
            if equal && from.hole != RowVar::NIL && (inner == 0 || !nested) {
                return;
            }
            let place = (from.lead + inner).saturating_sub(to.lead);
            let rank = state.ranks.lo(to.hole);
            // A closed row's marker outside the variable's part says nothing about it.
            if equal && from.hole == RowVar::NIL && place > rank {
                return;
            }
            let place = place.min(rank);
            if place > markers[to.hole] {
                markers[to.hole] = place;
                queue.extend(state.rows.watchers(to.hole));
            }
        };
        prefer(res, opnd, kind == Kind::Eq);
        if kind == Kind::Eq {
            prefer(opnd, res, true);
        }
    }
    markers
}

/// The preferred markers now that ranks are fixed; a leaf's is where the join of its caps
/// puts it.
pub(crate) fn final_markers(state: &State, markers: &IdVec<RowVar, u32>) -> IdVec<RowVar, u32> {
    let mut preferred = preferred_markers(state, markers.clone());
    for row in state.rows.ids() {
        if state.rows.role(row) != Role::Interior
            && state.rows.declared(row).is_none()
            && let Some(lead) = join_lead(state, row, markers)
        {
            preferred[row] = preferred[row].max(lead);
        }
    }
    preferred
}
