//! One decision of the search: what it is about, which values are left, and who is to blame for those that failed.

use crate::ids::StepId;
use crate::solver::stores::state::Mark;
use crate::term::{ConstraintId, DimVar, RowVar};
use rustc_hash::FxHashSet;

/// The subject of a decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// The value of a dimension variable: a place in a list of values.
    Value(DimVar),
    /// The rank of a row, modulo what its shifted constraints with itself ask for.
    Residue(RowVar),
    Rank(RowVar),
    Marker(RowVar),
}

impl Subject {
    /// True if it is decided before any rank.
    pub fn is_case(self) -> bool {
        matches!(self, Subject::Value(_) | Subject::Residue(_))
    }

    /// The row that it is about, or `NIL`.
    pub fn row(self) -> RowVar {
        match self {
            Subject::Value(_) => RowVar::NIL,
            Subject::Residue(row) | Subject::Rank(row) | Subject::Marker(row) => row,
        }
    }
}

/// Values that fail whatever else is decided.
pub(super) type Impossible = FxHashSet<(Subject, u32)>;

/// A decision under way.
pub(super) struct Level {
    pub what: Subject,
    pub preferred: u32,
    /// The next value to try, besides the preferred one.
    pub next: u32,
    pub last: u32,
    /// True if greater values exist that are not tried.
    pub cut: bool,
    /// Only ranks of this residue are tried: residue and modulus.
    pub residue: (u32, u32),
    pub fresh: bool,
    pub mark: Option<Mark>,
    /// The current value.
    pub value: u32,
    /// The policy step of the current value: of a rank's lower bound; the next one is the upper's.
    pub step: StepId,
    /// Earlier levels that failures of this one rest on.
    pub blamed: Vec<Blame>,
    /// The constraints behind the last failure.
    pub because: Vec<ConstraintId>,
    /// Markers that fail for the same reason as one that was tried: first and last.
    pub dead: Vec<(u32, u32)>,
    /// The place of this decision in the order of its kind.
    pub place: usize,
}

impl Level {
    pub fn new(what: Subject, place: usize, preferred: u32, (next, last): (u32, u32)) -> Level {
        Level {
            what,
            preferred,
            next,
            last,
            cut: false,
            residue: (0, 1),
            fresh: true,
            mark: None,
            value: 0,
            step: StepId::NIL,
            blamed: Vec::new(),
            because: Vec::new(),
            dead: Vec::new(),
            place,
        }
    }

    /// The next value that is not impossible: the preferred one, then all others upward.
    pub fn next_value(&mut self, impossible: &Impossible) -> Option<u32> {
        loop {
            let value = if std::mem::take(&mut self.fresh) {
                self.preferred
            } else if self.next > self.last {
                return None;
            } else if self.next == self.preferred {
                self.next += 1;
                continue;
            } else {
                self.next += 1;
                self.next - 1
            };
            let (residue, modulus) = self.residue;
            let dead = self.dead.iter().any(|(first, last)| (*first..=*last).contains(&value));
            if value % modulus == residue && !dead && !impossible.contains(&(self.what, value)) {
                return Some(value);
            }
        }
    }
}

/// A decision that a failure rests on, and which half of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Blame {
    pub level: usize,
    pub half: Half,
}

/// A rank is decided by two bounds. A failure that rests on the lower one alone recurs at every
/// greater rank, one that rests on the upper one alone at every smaller rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Half {
    Lower,
    Upper,
}

/// The decisions behind some policy steps.
pub(super) fn levels_of(levels: &[Level], steps: &[StepId]) -> Vec<Blame> {
    let decided = |level: &Level| level.mark.is_some();
    let of = |step: &StepId| {
        // Steps grow with levels, so the owner is the last level that begins at or before the step.
        let decided = levels.partition_point(|level| decided(level) && level.step <= *step);
        let level = decided.checked_sub(1)?;
        let half = if levels[level].step == *step { Half::Lower } else { Half::Upper };
        Some(Blame { level, half })
    };
    steps.iter().filter_map(of).collect()
}
