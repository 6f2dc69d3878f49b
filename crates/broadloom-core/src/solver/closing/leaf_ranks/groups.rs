//! Rows that equalities tie: one group, counted in the axes of its shortest row.

use crate::ids::{IdVec, ids};
use crate::solver::stores::rows::{Kind, RowCon};
use crate::solver::stores::state::State;
use crate::term::RowVar;
use rustc_hash::FxHashMap;

ids! {
    /// Rows that equalities tie.
    pub(super) GroupId "group";
}

/// A row in terms of its group: of the row that stands for it, until groups have numbers.
#[derive(Clone, Copy)]
pub(super) struct Member<G = GroupId> {
    pub group: G,
    /// The number of axes it has more.
    pub longer: i64,
    /// The distance of its last axis from the back of the group's row.
    pub behind: i64,
}

/// The row that stands for each row, where equalities tie them.
pub(crate) fn equal_rows(state: &State) -> IdVec<RowVar, Member<RowVar>> {
    let is_open = |row: RowVar| row != RowVar::NIL && !state.rows.is_fixed(row);
    let alone = |row: RowVar| Member { group: row, longer: 0, behind: 0 };
    let mut groups = Groups { parent: state.rows.ids().map(alone).collect() };
    for RowCon { res, opnd, .. } in state.rows.cons().filter(|con| con.kind == Kind::Eq) {
        if is_open(res.hole) && is_open(opnd.hole) && res.hole != opnd.hole {
            let longer = i64::from(res.flanks()) - i64::from(opnd.flanks());
            let behind = i64::from(opnd.trail) - i64::from(res.trail);
            groups.join(res.hole, Member { group: opnd.hole, longer, behind });
        }
    }
    let mut members: IdVec<RowVar, Member<RowVar>> = state.rows.ids().map(|row| groups.find(row)).collect();
    count_in_the_shortest(&mut members);
    members
}

/// Counts each group in the axes of its shortest row, and among those in the one furthest to the back: which row was
/// made first does not matter.
fn count_in_the_shortest(members: &mut IdVec<RowVar, Member<RowVar>>) {
    let mut least: FxHashMap<RowVar, (i64, i64)> = FxHashMap::default();
    for (row, Member { group, longer, behind }) in members.each() {
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
pub(super) fn numbered(
    members: &IdVec<RowVar, Member<RowVar>>,
    taking_part: &IdVec<RowVar, bool>,
) -> (IdVec<RowVar, Member>, usize) {
    let mut numbers: IdVec<RowVar, GroupId> = IdVec::filled(GroupId::NIL, members.len());
    let mut count = 0;
    let number = |(row, member): (RowVar, &Member<RowVar>)| {
        let Member { group, longer, behind } = *member;
        if !taking_part[row] {
            return Member { group: GroupId::NIL, longer, behind };
        }
        let number = &mut numbers[group];
        if *number == GroupId::NIL {
            *number = GroupId::new(count);
            count += 1;
        }
        Member { group: *number, longer, behind }
    };
    let members = members.each().map(number).collect();
    (members, count)
}

/// Rows that equalities tie, each in terms of its parent.
struct Groups {
    parent: IdVec<RowVar, Member<RowVar>>,
}

impl Groups {
    fn find(&mut self, row: RowVar) -> Member<RowVar> {
        let mut found = Member { group: row, longer: 0, behind: 0 };
        while self.parent[found.group].group != found.group {
            let Member { group, longer, behind } = self.parent[found.group];
            found = Member { group, longer: found.longer + longer, behind: found.behind + behind };
        }
        // Everything on the way points to the root from now on.
        let (mut at, mut left) = (row, found);
        while self.parent[at].group != found.group {
            let Member { group, longer, behind } = std::mem::replace(&mut self.parent[at], left);
            left = Member { longer: left.longer - longer, behind: left.behind - behind, ..left };
            at = group;
        }
        found
    }

    /// Ties two rows: `b.group` is the other row, in terms of `a`. The smaller number stands for both: it was
    /// made first.
    fn join(&mut self, a: RowVar, b: Member<RowVar>) {
        let (own, other) = (self.find(a), self.find(b.group));
        // The root of the other row in terms of the root of this one.
        let longer = own.longer + b.longer - other.longer;
        let behind = own.behind + b.behind - other.behind;
        if own.group < other.group {
            self.parent[other.group] = Member { group: own.group, longer, behind };
        } else if other.group < own.group {
            self.parent[own.group] = Member { group: other.group, longer: -longer, behind: -behind };
        }
    }
}
