//! Groups: open rows whose ranks differ by a constant.

use broadloom_core::Role;

use super::bounds::Bounds;
use super::system::{Says, System, Term};

/// The kind of leaves that a round is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// Leaves and parameters.
    Leaves,
    /// Fillers.
    Fillers,
}

impl Round {
    /// Returns true if rows of this role take axes and sizes in this round.
    pub fn takes(self, role: Role) -> bool {
        match self {
            Round::Leaves => matches!(role, Role::Leaf | Role::Param),
            Round::Fillers => role == Role::Filler,
        }
    }
}

/// The position of a row in its group: the number to add to its length, and to a place counted from
/// its back, to count in the axes of the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The group.
    pub group: usize,
    /// Added to lengths.
    pub length: i32,
    /// Added to places from the back.
    pub back: i32,
}

/// A group, counted in the axes of its shortest row (of several, the one made first).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its rows.
    pub rows: Vec<usize>,
    /// True if it may choose its rank.
    pub free: bool,
    /// Its least rank.
    pub lo: i32,
    /// Its greatest rank.
    pub hi: i32,
    /// The distance from the back to the front of its longest row, at rank 0.
    pub front: i32,
}

/// All groups, and the place of each open row.
pub struct Groups {
    /// The groups.
    pub all: Vec<Group>,
    /// The place of each row; none if its rank is fixed.
    pub place: Vec<Option<Place>>,
}

/// Ties open rows together.
pub fn groups(system: &System, bounds: &Bounds, round: Round) -> Groups {
    let open = |term: &Term| term.row.filter(|row| !bounds.fixed(*row));
    let mut place: Vec<Option<Place>> = vec![None; system.rows.len()];
    let mut all = Vec::new();
    for first in (0..system.rows.len()).filter(|row| !bounds.fixed(*row)) {
        if place[first].is_some() {
            continue;
        }
        let group = all.len();
        place[first] = Some(Place { group, length: 0, back: 0 });
        // Follow the equalities until no further row is reached.
        loop {
            let mut reached = false;
            for says in &system.says {
                let Says::Eq(left, right) = says else { continue };
                for (a, b) in [(left, right), (right, left)] {
                    let (Some(from), Some(to)) = (open(a), open(b)) else { continue };
                    let Some(known) = place[from].filter(|place| place.group == group) else { continue };
                    if place[to].is_none() {
                        let length = known.length - (a.flanks() - b.flanks());
                        let back = known.back - (a.after() - b.after());
                        place[to] = Some(Place { group, length, back });
                        reached = true;
                    }
                }
            }
            if !reached {
                break;
            }
        }
        let rows: Vec<usize> =
            (0..place.len()).filter(|row| place[*row].is_some_and(|place| place.group == group)).collect();
        recount(&rows, &mut place);
        let made =
            |row: &usize| system.says.iter().any(|says| matches!(says, Says::Made(res, _) if res == row));
        let free = rows.iter().any(|row| round.takes(system.rows[*row].role)) && !rows.iter().any(made);
        let length = |row: &usize| place[*row].expect("placed").length;
        let lo = rows.iter().map(|row| bounds.lo[*row] + length(row)).max().expect("a group has rows");
        let hi = rows.iter().map(|row| bounds.hi[*row].saturating_add(length(row))).min().expect("rows");
        let hi = if bounds.hi[rows[0]] >= super::bounds::MANY { super::bounds::MANY } else { hi };
        let front = |row: &usize| place[*row].map_or(0, |place| place.back - place.length);
        let front = rows.iter().map(front).max().expect("a group has rows");
        all.push(Group { rows, free, lo, hi, front });
    }
    Groups { all, place }
}

/// Counts in the axes of the shortest row: lengths of all others are greater than its length.
fn recount(rows: &[usize], place: &mut [Option<Place>]) {
    let at = |row: &usize, place: &[Option<Place>]| place[*row].expect("placed");
    // The shortest row is the one whose length has the largest number added.
    let best = rows.iter().map(|row| at(row, place).length).max().expect("a group has rows");
    let chosen = rows.iter().find(|row| at(row, place).length == best).expect("one is the greatest");
    let origin = at(chosen, place);
    for row in rows {
        let old = at(row, place);
        place[*row] = Some(Place { length: old.length - origin.length, back: old.back - origin.back, ..old });
    }
}
