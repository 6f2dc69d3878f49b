//! The greatest rank worth trying, and the order in which rows are decided.
//!
//! If the rank facts give no upper bound, the search stops at `max lo + K·(P + F) + F` per connected
//! component of waiting constraints, with `K` groups of row variables whose ranks are tied to each other, `F`
//! axes written in the flanks, and `P` the least common multiple of the shifts around the component's cycles.
//! The argument is a pumping one. In a solution with a longer row, the ranks of two neighbouring groups
//! differ by more than `P + F`; call the rows above the gap long. Rank facts between a long and a short row
//! are slack by more than `P`. Away from the flanks a long row is related only to long rows, by shifts; along
//! a chain of such relations the order, having height one above the atoms, changes at most once, so some
//! window is periodic in every shift, hence in `P`. Cutting `P` axes there from every long row keeps every
//! relation, and gives a smaller solution.

use crate::number::lcm;
use crate::solver::search::cases::{Cases, find_cases};
use crate::solver::stores::ranks::UNBOUNDED;
use crate::solver::stores::rows::{Kind, RowCon, Term};
use crate::solver::stores::state::State;
use crate::term::{Role, RowVar};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Ranks beyond this are not tried.
const LONGEST: u32 = 4096;

/// Upper limits on ranks that the facts leave unbounded.
pub(super) struct Limits {
    /// The order of decisions: rows that matter, then the rest; leaves first, then fillers.
    pub order: Vec<RowVar>,
    /// Per row variable, the greatest least rank of its component and the distance to go beyond it;
    /// absent for rows whose rank no open question depends on.
    pub limit: FxHashMap<RowVar, (u32, u32)>,
    /// The cases that are decided before ranks.
    pub cases: Cases,
    /// True if exhausting them proves anything.
    pub exact: bool,
}

/// The limits described in the module's header. With weights, rows are ordered by them, and cases are distinguished.
pub(crate) fn rank_limits(state: &State, weights: Option<&FxHashMap<RowVar, u64>>) -> Limits {
    let waiting: Vec<RowCon> = state.rows.cons().filter(|con| !con.done).collect();
    let mut component = RowGroups::default();
    for con in &waiting {
        component.join(state, con);
    }
    // A row whose known ends overlap at its least rank waits only for itself.
    for row in state.rows.ids().filter(|row| !state.rows.is_fixed(*row)) {
        if state.rows.partial(row).is_some() {
            component.place(row);
        }
    }
    let mut limits = component.limits(state, &waiting);
    // A count needs at most one axis more; a list bounds its rows itself.
    for row in state.ariths.pending().flat_map(|con| state.ariths.get(con).rows()) {
        let (least, beyond) = limits.limit.get(&row).copied().unwrap_or((state.ranks.lo(row), 0));
        let most = state.ranks.hi(row);
        let more = if most == UNBOUNDED { 1 } else { most.saturating_sub(least).min(LONGEST) };
        limits.limit.insert(row, (least, beyond.max(more)));
    }
    limits.order = state.rows.ids().filter(|row| !state.rows.is_fixed(*row)).collect();
    if let Some(weights) = weights {
        limits.cases = find_cases(state);
        let heights = state.ranks.heights();
        let weight = |row: &RowVar| Reverse(weights.get(row).copied().unwrap_or(0));
        let key = |row: &RowVar| (!limits.limit.contains_key(row), weight(row), heights[*row], *row);
        limits.order.sort_unstable_by_key(key);
        return limits;
    }
    let late = |row: &RowVar| match state.rows.role(*row) {
        Role::Leaf | Role::Param => 0,
        Role::Filler => 1,
        Role::Interior => 2,
    };
    let key = |row: &RowVar| (!limits.limit.contains_key(row), late(row), *row);
    limits.order.sort_unstable_by_key(key);
    limits
}

/// Connected components of waiting constraints, with the offsets of their rows.
#[derive(Default)]
struct RowGroups {
    /// Open row variable to (component, offset from the left, offset from the right).
    place: FxHashMap<RowVar, (usize, i64, i64)>,
    /// Members of each component; a component merged into another is left empty.
    members: Vec<Vec<RowVar>>,
    /// Shifts found around cycles.
    shifts: Vec<Vec<i64>>,
}

impl RowGroups {
    fn place(&mut self, row: RowVar) -> (usize, i64, i64) {
        let next = self.members.len();
        let place = *self.place.entry(row).or_insert((next, 0, 0));
        if place.0 == next {
            self.members.push(vec![row]);
            self.shifts.push(Vec::new());
        }
        place
    }

    fn open(&mut self, state: &State, term: Term) -> Option<(usize, i64, i64)> {
        (term.hole != RowVar::NIL && !state.rows.is_fixed(term.hole)).then(|| self.place(term.hole))
    }

    fn join(&mut self, state: &State, con: &RowCon) {
        let (Some(a), Some(b)) = (self.open(state, con.res), self.open(state, con.opnd)) else {
            return;
        };
        // Position p of the one row faces position p + shift of the other.
        let left = i64::from(con.res.lead) - i64::from(con.opnd.lead);
        let right = i64::from(con.res.trail) - i64::from(con.opnd.trail);
        if a.0 == b.0 {
            self.shifts[a.0].extend([a.1 + left - b.1, a.2 + right - b.2]);
            return;
        }
        // Move the smaller component over, adjusting its offsets.
        let (to, from, dl, dr) = if self.members[a.0].len() >= self.members[b.0].len() {
            (a.0, b.0, a.1 + left - b.1, a.2 + right - b.2)
        } else {
            (b.0, a.0, b.1 - left - a.1, b.2 - right - a.2)
        };
        for row in std::mem::take(&mut self.members[from]) {
            if let Some(place) = self.place.get_mut(&row) {
                *place = (to, place.1 + dl, place.2 + dr);
            }
            self.members[to].push(row);
        }
        let shifts = std::mem::take(&mut self.shifts[from]);
        self.shifts[to].extend(shifts);
    }

    fn limits(&self, state: &State, waiting: &[RowCon]) -> Limits {
        const LONGEST: u64 = self::LONGEST as u64;
        let mut flanks = vec![0u64; self.members.len()];
        let length = |term: Term| {
            let fixed = term.hole != RowVar::NIL && state.rows.is_fixed(term.hole);
            u64::from(term.flanks()) + if fixed { u64::from(state.ranks.lo(term.hole)) } else { 0 }
        };
        for con in waiting {
            let hole = [con.res.hole, con.opnd.hole].into_iter().find(|hole| self.place.contains_key(hole));
            if let Some((component, ..)) = hole.and_then(|hole| self.place.get(&hole)) {
                let inequality = u64::from(con.kind == Kind::Le);
                flanks[*component] += length(con.res) + length(con.opnd) + inequality;
            }
        }
        for (row, (component, ..)) in &self.place {
            if let Some(partial) = state.rows.partial(*row) {
                flanks[*component] += (partial.front.len() + partial.back.len()) as u64;
            }
        }
        let mut limits =
            Limits { order: Vec::new(), limit: FxHashMap::default(), cases: Cases::default(), exact: true };
        for (component, members) in self.members.iter().enumerate() {
            let shifts =
                self.shifts[component].iter().map(|shift| shift.unsigned_abs()).filter(|shift| *shift > 0);
            let period = shifts.fold(1u64, |acc, shift| lcm(acc, shift).min(LONGEST));
            let least = members.iter().map(|row| state.ranks.lo(*row)).max().unwrap_or(0);
            let beyond = state.ranks.tied_groups(members) * (period + flanks[component]) + flanks[component];
            limits.exact &= beyond < LONGEST;
            let beyond = beyond.min(LONGEST) as u32;
            limits.limit.extend(members.iter().map(|row| (*row, (least, beyond))));
        }
        limits
    }
}
