//! Sources: what is known of the axes of a row, and by whom.

use crate::ids::IdVec;
use crate::solver::closing::leaf_ranks::NEVER;
use crate::solver::closing::leaf_ranks::groups::GroupId;

/// The greatest source of a row and the greatest of the others; absent ones have no source.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Greatest {
    pub first: (i64, GroupId),
    pub second: (i64, GroupId),
}

/// The order of sources: the longer one first. Of equally long ones it is always the same: around a circle of rows, sources that took turns
/// would never come to rest.
fn is_before((value, source): (i64, GroupId), other: (i64, GroupId)) -> bool {
    other.1 == GroupId::NIL || value > other.0 || (value == other.0 && source < other.1)
}

impl Greatest {
    pub const NONE: Greatest = Greatest { first: (NEVER, GroupId::NIL), second: (NEVER, GroupId::NIL) };

    pub fn add(&mut self, new: (i64, GroupId)) {
        let (value, source) = new;
        if source == GroupId::NIL {
            return;
        }
        if source == self.first.1 {
            self.first.0 = self.first.0.max(value);
        } else if is_before(new, self.first) {
            self.second = self.first;
            self.first = new;
        } else if source == self.second.1 {
            self.second.0 = self.second.0.max(value);
        } else if is_before(new, self.second) {
            self.second = new;
        }
    }

    /// Adds what is `more` than others, up to a bound: around a circle, lengths may grow without end.
    pub fn add_all(&mut self, other: Greatest, more: i64, bound: i64) {
        self.add(((other.first.0 + more).min(bound), other.first.1));
        self.add(((other.second.0 + more).min(bound), other.second.1));
    }

    /// One source, if there is one.
    pub fn of_one(value: i64, source: GroupId) -> Greatest {
        let mut greatest = Greatest::NONE;
        greatest.add((value, source));
        greatest
    }

    /// Adds what is `more` than others; returns whether that changes anything.
    pub fn raise(&mut self, other: Greatest, more: i64, bound: i64) -> bool {
        let before = *self;
        self.add_all(other, more, bound);
        *self != before
    }

    /// The value of a source; one that is not among the greatest is no greater than those.
    pub fn of(&self, source: GroupId) -> i64 {
        if self.first.1 == source { self.first.0 } else { self.second.0 }
    }

    /// The value of the greatest source, but for one.
    pub fn without(&self, source: GroupId) -> i64 {
        if self.first.1 == source { self.second.0 } else { self.first.0 }
    }
}

/// The sources of a row: the longest, and the open leaf that reaches furthest.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Sources {
    pub lengths: Greatest,
    pub furthest: (i64, GroupId),
}

impl Sources {
    pub const NONE: Sources = Sources { lengths: Greatest::NONE, furthest: (NEVER, GroupId::NIL) };

    pub fn reaches(&mut self, value: i64, leaf: GroupId) {
        if is_before((value, leaf), self.furthest) {
            self.furthest = (value, leaf);
        }
    }

    /// No leaf reaches further than it is long: what would reach beyond the front of a row is not in it.
    pub fn clipped(mut self, front: i64) -> Sources {
        let (value, leaf) = self.furthest;
        if leaf != GroupId::NIL {
            self.furthest.0 = value.min(self.lengths.of(leaf) + front);
        }
        self
    }
}

/// Ranks, and the sources at these ranks.
#[derive(Clone)]
pub(super) struct Measured {
    pub ranks: IdVec<GroupId, i64>,
    pub sources: IdVec<GroupId, Sources>,
}
