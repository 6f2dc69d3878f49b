//! Markers that no operation declares: where they would rather be, and closing them there.

use super::Solver;
use super::reason::{NIL, Policy, Step};
use super::rows::{Kind, RowCon, Term};

impl Solver {
    /// Step 4.
    pub(crate) fn close_markers(&mut self, markers: &[u32]) -> Step {
        for con in 0..self.rows.con_count() {
            if let Some(row) = self.awaited_marker(con) {
                let step = self.choose(Policy::PreferredMarker, row);
                let marker = markers[row as usize].min(self.ranks.lo(row));
                self.rows.set_marker(&mut self.trail, row, marker, step);
            }
            if !self.rows.con(con).done {
                self.align(con)?;
            }
        }
        self.propagate()
    }

    /// The row variable whose marker an inequality waits for.
    pub(crate) fn awaited_marker(&self, con: u32) -> Option<u32> {
        let RowCon { opnd, kind, done, .. } = self.rows.con(con);
        let waits = !done && kind == Kind::Le && opnd.hole != NIL;
        (waits && self.rows.is_fixed(opnd.hole) && self.rows.marker(opnd.hole).is_none()).then_some(opnd.hole)
    }

    /// Where each row variable's marker would rather be: at the longest leading flank declared by
    /// the closed rows it equals and by the operands it refines, within its rank; at the left edge
    /// where nothing is declared. A function of the constraints, not of their order.
    pub(crate) fn preferred_markers(&self, mut markers: Vec<u32>) -> Vec<u32> {
        if !self.declared_markers && !self.rows.any_marker() {
            return markers;
        }
        let mut queue: Vec<u32> = (0..self.rows.con_count()).collect();
        queue.reverse();
        while let Some(con) = queue.pop() {
            let RowCon { res, opnd, kind, .. } = self.rows.con(con);
            let mut wish = |to: Term, from: Term, equal: bool| {
                if to.hole == NIL || self.rows.declared(to.hole).is_some() {
                    return;
                }
                let inner = match from.hole {
                    NIL => 0,
                    row => {
                        let marker = self.rows.marker(row).unwrap_or(markers[row as usize]);
                        marker.min(self.ranks.lo(row))
                    }
                };
                // An equality passes on a declared marker, not a default one, and only outward
                // from the row nested in the other (Def. 4.3(b) and (c)).
                let nested = to.lead <= from.lead && to.trail <= from.trail;
                if equal && from.hole != NIL && (inner == 0 || !nested) {
                    return;
                }
                let place = (from.lead + inner).saturating_sub(to.lead);
                let rank = self.ranks.lo(to.hole);
                // A closed row's marker outside the variable's part says nothing about it.
                if equal && from.hole == NIL && place > rank {
                    return;
                }
                let place = place.min(rank);
                if place > markers[to.hole as usize] {
                    markers[to.hole as usize] = place;
                    queue.extend(self.rows.watchers(to.hole));
                }
            };
            wish(res, opnd, kind == Kind::Eq);
            if kind == Kind::Eq {
                wish(opnd, res, true);
            }
        }
        markers
    }
}
