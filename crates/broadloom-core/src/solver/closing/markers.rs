//! Markers that no operation declares: where they are preferred, and closing them there.

use crate::ids::{NIL, RowConId};
use crate::solver::closing::extents::join_lead;
use crate::solver::propagate::align::align;
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::stores::reason::{Outcome, Policy};
use crate::solver::stores::rows::{Kind, RowCon, Term};
use crate::solver::stores::state::State;
use crate::term::Role;

/// Step 4.
pub(crate) fn close_markers(state: &mut State, markers: &[u32]) -> Outcome {
    for con in state.rows.con_ids() {
        if let Some(row) = awaited_marker(state, con) {
            let step = state.choose(Policy::PreferredMarker, row);
            let marker = markers[row as usize].min(state.ranks.lo(row));
            state.rows.set_marker(&mut state.trail, row, marker, step);
        }
        if !state.rows.con(con).done {
            align(state, con)?;
        }
    }
    propagate(state)
}

/// The row variable whose marker an inequality waits for.
pub(crate) fn awaited_marker(state: &State, con: RowConId) -> Option<u32> {
    let RowCon { opnd, kind, done, .. } = state.rows.con(con);
    let waits = !done && kind == Kind::Le && opnd.hole != NIL;
    (waits && state.rows.is_fixed(opnd.hole) && state.rows.marker(opnd.hole).is_none()).then_some(opnd.hole)
}

/// The preferred marker of each row variable: at the longest leading flank declared by
/// the closed rows it equals and by the operands it refines, within its rank; at the left edge
/// where nothing is declared. A function of the constraints, not of their order.
pub(crate) fn preferred_markers(state: &State, mut markers: Vec<u32>) -> Vec<u32> {
    if !state.declared_markers && !state.rows.any_marker() {
        return markers;
    }
    let mut queue: Vec<RowConId> = state.rows.con_ids().collect();
    queue.reverse();
    while let Some(con) = queue.pop() {
        let RowCon { res, opnd, kind, .. } = state.rows.con(con);
        let mut prefer = |to: Term, from: Term, equal: bool| {
            if to.hole == NIL || state.rows.declared(to.hole).is_some() {
                return;
            }
            let inner = match from.hole {
                NIL => 0,
                row => {
                    let marker = state.rows.marker(row).unwrap_or(markers[row as usize]);
                    marker.min(state.ranks.lo(row))
                }
            };
            // An equality passes on a declared marker, not a default one, and only outward
            // from the row nested in the other (Def. 4.3(b) and (c)).
            let nested = to.lead <= from.lead && to.trail <= from.trail;
            if equal && from.hole != NIL && (inner == 0 || !nested) {
                return;
            }
            let place = (from.lead + inner).saturating_sub(to.lead);
            let rank = state.ranks.lo(to.hole);
            // A closed row's marker outside the variable's part says nothing about it.
            if equal && from.hole == NIL && place > rank {
                return;
            }
            let place = place.min(rank);
            if place > markers[to.hole as usize] {
                markers[to.hole as usize] = place;
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
pub(crate) fn final_markers(state: &State, markers: &[u32]) -> Vec<u32> {
    let mut preferred = preferred_markers(state, markers.to_vec());
    for row in 0..state.rows.len() as u32 {
        if state.rows.role(row) != Role::Interior
            && state.rows.declared(row).is_none()
            && let Some(lead) = join_lead(state, row, markers)
        {
            preferred[row as usize] = preferred[row as usize].max(lead);
        }
    }
    preferred
}
