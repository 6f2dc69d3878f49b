//! Rows that equalities tie: one group, counted in the axes of its shortest row.

use crate::ids::NIL;
use crate::solver::stores::rows::{Kind, RowCon};
use crate::solver::stores::state::State;
use rustc_hash::FxHashMap;

/// A row in terms of the one that stands for its group.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub group: u32,
    /// The number of axes it has more.
    pub longer: i64,
    /// The distance of its last axis from the back of the group's row.
    pub behind: i64,
}

/// The row that stands for each row, where equalities tie them.
pub(crate) fn equal_rows(state: &State) -> Vec<Member> {
    let is_open = |row: u32| row != NIL && !state.rows.is_fixed(row);
    let alone = |row: u32| Member { group: row, longer: 0, behind: 0 };
    let mut groups = Groups { parent: (0..state.rows.len() as u32).map(alone).collect() };
    for RowCon { res, opnd, .. } in state.rows.cons().filter(|con| con.kind == Kind::Eq) {
        if is_open(res.hole) && is_open(opnd.hole) && res.hole != opnd.hole {
            let longer = i64::from(res.flanks()) - i64::from(opnd.flanks());
            let behind = i64::from(opnd.trail) - i64::from(res.trail);
            groups.join(res.hole, Member { group: opnd.hole, longer, behind });
        }
    }
    let mut members: Vec<Member> = (0..state.rows.len() as u32).map(|row| groups.find(row)).collect();
    count_in_the_shortest(&mut members);
    members
}

/// Counts each group in the axes of its shortest row, and among those in the one furthest to the back: which row was
/// made first does not matter.
fn count_in_the_shortest(members: &mut [Member]) {
    let mut least: FxHashMap<u32, (i64, i64)> = FxHashMap::default();
    for (row, Member { group, longer, behind }) in (0..).zip(members.iter()) {
        if *group != row {
            let least = least.entry(*group).or_insert((0, 0));
            *least = (*least).min((*longer, *behind));
        }
    }
    for member in members.iter_mut() {
        if let Some((longer, behind)) = least.get(&member.group) {
            (member.longer, member.behind) = (member.longer - longer, member.behind - behind);
        }
    }
}

/// The groups of the rows that take part, numbered one after the other, and how many there are; no others have one.
pub(super) fn numbered(mut members: Vec<Member>, taking_part: &[bool]) -> (Vec<Member>, usize) {
    let mut numbers: Vec<u32> = vec![NIL; members.len()];
    let mut count = 0;
    for (member, takes_part) in members.iter_mut().zip(taking_part) {
        if !takes_part {
            member.group = NIL;
            continue;
        }
        let number = &mut numbers[member.group as usize];
        if *number == NIL {
            *number = count;
            count += 1;
        }
        member.group = *number;
    }
    (members, count as usize)
}

/// Rows that equalities tie, each in terms of its parent.
struct Groups {
    parent: Vec<Member>,
}

impl Groups {
    fn find(&mut self, row: u32) -> Member {
        let mut found = Member { group: row, longer: 0, behind: 0 };
        while self.parent[found.group as usize].group != found.group {
            let Member { group, longer, behind } = self.parent[found.group as usize];
            found = Member { group, longer: found.longer + longer, behind: found.behind + behind };
        }
        // Everything on the way points to the root from now on.
        let (mut at, mut left) = (row, found);
        while self.parent[at as usize].group != found.group {
            let Member { group, longer, behind } = std::mem::replace(&mut self.parent[at as usize], left);
            left = Member { longer: left.longer - longer, behind: left.behind - behind, ..left };
            at = group;
        }
        found
    }

    /// Ties two rows: `b.group` is the other row, in terms of `a`. The smaller number stands for both: it was
    /// made first.
    fn join(&mut self, a: u32, b: Member) {
        let (own, other) = (self.find(a), self.find(b.group));
        // The root of the other row in terms of the root of this one.
        let longer = own.longer + b.longer - other.longer;
        let behind = own.behind + b.behind - other.behind;
        if own.group < other.group {
            self.parent[other.group as usize] = Member { group: own.group, longer, behind };
        } else if other.group < own.group {
            self.parent[own.group as usize] = Member { group: other.group, longer: -longer, behind: -behind };
        }
    }
}
