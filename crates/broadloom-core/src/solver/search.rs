//! Choice points (Formal Core, Remark 6.7(ii)): ranks and markers, tried in a fixed order.
//!
//! Reached only when the policy's first choices contradict a constraint. Row variables are decided
//! one by one (leaves first, then fillers, then in the order they were made): the preferred rank, then from the
//! least upward; then markers: the preferred place, then from the left. After each decision,
//! propagation runs. At fixed ranks and markers the dimensions need no search (Prop. 5.4), so
//! exhausting ranks and markers decides satisfiability.
//!
//! A conflict names the decisions it rests on; the search returns to the latest of them and skips
//! the rest (conflict-directed backjumping), so unrelated variables cost nothing.
//!
//! # How large a rank is worth trying
//! Where the rank facts give no upper bound, the search stops at
//! `max lo + K·(P + F) + F` per connected component of waiting constraints, with `K` groups of row
//! variables whose ranks are tied to each other, `F` axes written in the flanks, and `P` the least
//! common multiple of the shifts around the component's cycles. The argument is a pumping one. In a
//! solution with a longer row, the ranks of two neighbouring groups differ by more than `P + F`; call
//! the rows above the gap long. Rank facts between a long and a short row are slack by more than `P`.
//! Away from the flanks a long row is related only to long rows, by shifts; along a chain of such
//! relations the order, having height one above the atoms, changes at most once, so some window is
//! periodic in every shift, hence in `P`. Cutting `P` axes there from every long row keeps every
//! relation, and gives a smaller solution.

use rustc_hash::{FxHashMap, FxHashSet};

use super::cores::Verdict;
use super::ranks::{Pred, UNBOUNDED};
use super::reason::{Conflict, Limit, NIL, Policy, Step};
use super::rows::{Kind, RowCon, Term};
use super::{Mark, Solver};
use crate::term::Role;

/// Ranks beyond this are not tried.
const LONGEST: u32 = 4096;

/// A recorded policy step.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub policy: Policy,
    /// The row variable it is about, or `NIL`.
    pub row: u32,
}

/// What one search remembers.
pub(crate) struct Search {
    /// Failed branches left.
    branches: u64,
    /// Failed branches, not counting those of isolated sets.
    pub failed: u64,
    /// Whether to try failing sets of constraints on their own; not within such a set.
    isolating: bool,
    /// Values that fail whatever else is decided.
    hopeless: FxHashSet<(u32, What, u32)>,
    /// Sets of constraints already tried on their own.
    isolated: FxHashSet<Vec<u32>>,
    /// Where markers would rather be, while all ranks are decided.
    wishes: Option<Vec<u32>>,
    /// Constraints proved to have no solution together.
    pub refuted: Option<Vec<u32>>,
}

impl Search {
    /// Sets of constraints worth trying on their own.
    const ISOLATED: usize = 64;
    /// The part of the branches left that one such set may use.
    const SHARE: u64 = 8;

    pub fn new(branches: u64) -> Search {
        Search {
            branches,
            failed: 0,
            isolating: true,
            hopeless: FxHashSet::default(),
            isolated: FxHashSet::default(),
            wishes: None,
            refuted: None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum What {
    Rank,
    Marker,
}

/// A decision under way.
struct Level {
    row: u32,
    what: What,
    preferred: u32,
    /// The next value to try, besides the preferred one.
    next: u32,
    last: u32,
    /// Whether greater values exist that are not tried.
    cut: bool,
    fresh: bool,
    mark: Option<Mark>,
    /// The current value.
    value: u32,
    /// The policy step of the current value: of a rank's lower bound; the next one is the upper's.
    step: u32,
    /// Earlier levels that failures of this one rest on.
    blamed: Vec<Blame>,
    /// The constraints behind the last failure.
    because: Vec<u32>,
    /// Markers that fail for the same reason as one that was tried: first and last.
    dead: Vec<(u32, u32)>,
    /// Where in the order of rows this decision stands.
    place: usize,
}

impl Level {
    /// The next value that is not hopeless: the preferred one, then all others upward.
    fn next_value(&mut self, hopeless: &FxHashSet<(u32, What, u32)>) -> Option<u32> {
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
            let dead = self.dead.iter().any(|(first, last)| (*first..=*last).contains(&value));
            if !dead && !hopeless.contains(&(self.row, self.what, value)) {
                return Some(value);
            }
        }
    }
}

/// A decision that a failure rests on, and which half of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Blame {
    level: usize,
    half: Half,
}

/// A rank is decided by two bounds. A failure that rests on the lower one alone recurs at every
/// greater rank, one that rests on the upper one alone at every smaller rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Half {
    Lower,
    Upper,
}

/// Upper limits on ranks that the facts leave unbounded.
struct Limits {
    /// The order of decisions: rows that matter, then the rest; leaves first, then fillers.
    order: Vec<u32>,
    /// Per row variable, the greatest least rank of its component and how far beyond it to go;
    /// absent for rows whose rank no open question depends on.
    limit: FxHashMap<u32, (u32, u32)>,
    /// Whether exhausting them proves anything.
    exact: bool,
}

impl Solver {
    /// Decides every open rank and marker, or proves that it cannot be done. On success the
    /// decisions stay on the trail, above the caller's mark.
    fn search(&mut self, search: &mut Search, markers: &mut Vec<u32>) -> Verdict {
        let limits = self.limits();
        let mut levels: Vec<Level> = Vec::new();
        *markers = self.preferred_markers(self.rows.declared_markers());
        let verdict = loop {
            match self.next_level(search, &limits, levels.last(), markers) {
                Some(level) => levels.push(level),
                None => match self.close_sizes() {
                    Ok(()) => break Verdict::Satisfiable,
                    Err(Conflict::TooMuch(limit)) => break Verdict::Unknown(limit),
                    // No sizes fit; which of the decisions is to blame is not known.
                    Err(_) => {
                        let halves = [Half::Lower, Half::Upper];
                        let all =
                            (0..levels.len()).flat_map(|level| halves.map(|half| Blame { level, half }));
                        if !self.jump(search, &mut levels, all.collect()) {
                            break Verdict::Unsatisfiable;
                        }
                        search.failed += 1;
                        if search.failed > self.budget.branches {
                            break Verdict::Unknown(Limit::Branches);
                        }
                    }
                },
            }
            if let Err(verdict) = self.settle_level(search, &limits, &mut levels) {
                break verdict;
            }
        };
        if verdict == Verdict::Satisfiable {
            *markers = self.final_markers(markers);
        }
        // The caller's mark undoes everything; the levels' own marks are only closed.
        for mark in levels.iter().rev().filter_map(|level| level.mark) {
            self.forget(mark);
        }
        verdict
    }

    /// Finds a value for the last level, or returns to an earlier one and moves that on.
    fn settle_level(
        &mut self,
        search: &mut Search,
        limits: &Limits,
        levels: &mut Vec<Level>,
    ) -> Result<(), Verdict> {
        loop {
            let Some(top) = levels.last_mut() else {
                return Err(Verdict::Unsatisfiable);
            };
            let blamed = match top.next_value(&search.hopeless) {
                Some(value) => match self.decide_level(top, value) {
                    Ok(()) => return Ok(()),
                    Err(Conflict::TooMuch(limit)) => return Err(Verdict::Unknown(limit)),
                    Err(conflict) => {
                        let walked = self.blame(conflict);
                        top.because.clone_from(&walked.constraints);
                        self.fail_branch(search, walked.constraints)?;
                        let blamed = levels_of(levels, &walked.policies);
                        if let Some(level) = blamed.iter().max().and_then(|blame| levels.get_mut(blame.level))
                            && let Some(same) = walked.markers.get(&level.row)
                            && level.what == What::Marker
                        {
                            level.dead.push(*same);
                        }
                        blamed
                    }
                },
                None => {
                    if !limits.exact && top.cut {
                        return Err(Verdict::Unknown(Limit::RankBound));
                    }
                    let mut blamed = std::mem::take(&mut top.blamed);
                    let because = std::mem::take(&mut top.because);
                    let steps = self.blame_rank(top.row).policies;
                    blamed.extend(levels_of(levels, &steps));
                    levels.pop();
                    if let Some(level) = blamed.iter().max().and_then(|blame| levels.get_mut(blame.level)) {
                        level.because = because;
                    }
                    blamed
                }
            };
            if !self.jump(search, levels, blamed) {
                return Err(Verdict::Unsatisfiable);
            }
        }
    }

    /// Counts a failed branch.
    fn fail_branch(&mut self, search: &mut Search, blamed: Vec<u32>) -> Result<(), Verdict> {
        search.failed += 1;
        if search.branches == 0 {
            return Err(Verdict::Unknown(Limit::Branches));
        }
        search.branches -= 1;
        self.isolate(search, blamed)
    }

    /// If the constraints a failure rests on have no solution by themselves, the search is over.
    fn isolate(&self, search: &mut Search, mut blamed: Vec<u32>) -> Result<(), Verdict> {
        blamed.sort_unstable();
        let small = blamed.len() < self.constraints.len() && search.isolated.len() < Search::ISOLATED;
        if !(search.isolating && small && search.isolated.insert(blamed.clone())) {
            return Ok(());
        }
        let mut own = Search { isolating: false, ..Search::new(search.branches / Search::SHARE) };
        let verdict = self.subsystem(&blamed).solver.settle_choices(&mut own, &mut Vec::new());
        search.branches = search.branches.saturating_sub(own.failed);
        if verdict == Verdict::Unsatisfiable {
            search.refuted = Some(blamed);
            return Err(verdict);
        }
        Ok(())
    }

    /// Decides every open rank and marker: the policy's first choices if they do, else by search. On
    /// success the decisions stay; a caller that wants them undone holds a mark.
    pub(crate) fn settle_choices(&mut self, search: &mut Search, markers: &mut Vec<u32>) -> Verdict {
        match self.conflict {
            Some(Conflict::TooMuch(limit)) => return Verdict::Unknown(limit),
            Some(_) => return Verdict::Unsatisfiable,
            None => {}
        }
        let mark = self.mark();
        let conflict = match self.close_policy(markers) {
            Ok(()) => return Verdict::Satisfiable,
            Err(Conflict::TooMuch(limit)) => return Verdict::Unknown(limit),
            Err(conflict) => conflict,
        };
        let blamed = self.blame(conflict).constraints;
        self.undo(mark);
        if let Err(verdict) = self.isolate(search, blamed) {
            return verdict;
        }
        // Under a mark, so that what search does and undoes is logged.
        self.mark();
        match self.close_symbols() {
            Ok(()) => self.search(search, markers),
            Err(Conflict::TooMuch(limit)) => Verdict::Unknown(limit),
            Err(_) => Verdict::Unsatisfiable,
        }
    }

    /// Returns to the latest blamed level and undoes its value. False if nobody is to blame.
    fn jump(&mut self, search: &mut Search, levels: &mut Vec<Level>, mut blamed: Vec<Blame>) -> bool {
        blamed.sort_unstable();
        blamed.dedup();
        let Some(Blame { level: target, half }) = blamed.pop() else { return false };
        let both = blamed.pop_if(|blame| blame.level == target).is_some();
        while levels.len() > target + 1 {
            if let Some(mark) = levels.pop().and_then(|level| level.mark) {
                self.undo(mark);
            }
        }
        if let Some(level) = levels.last_mut() {
            if blamed.is_empty() {
                search.hopeless.insert((level.row, level.what, level.value));
            }
            match (level.what, half) {
                (What::Rank, Half::Lower) if !both => {
                    level.last = level.last.min(level.value.saturating_sub(1))
                }
                (What::Rank, Half::Upper) if !both => level.next = level.next.max(level.value + 1),
                _ => {}
            }
            level.blamed.append(&mut blamed);
            if let Some(mark) = level.mark.take() {
                self.undo(mark);
            }
        }
        true
    }

    /// The next open question: the first undecided row, then the first awaited marker.
    fn next_level(
        &self,
        search: &mut Search,
        limits: &Limits,
        last: Option<&Level>,
        markers: &[u32],
    ) -> Option<Level> {
        let level = |row, what, preferred, next, last, cut, place| Level {
            row,
            what,
            preferred,
            next,
            last,
            cut,
            fresh: true,
            mark: None,
            value: 0,
            step: NIL,
            blamed: Vec::new(),
            because: Vec::new(),
            dead: Vec::new(),
            place,
        };
        // What stands before the last decision is settled.
        let (start, what) = last.map_or((0, What::Rank), |level| (level.place + 1, level.what));
        let mut first_marker = 0;
        match what {
            What::Rank => {
                let mut open = limits.order.iter().enumerate().skip(start);
                if let Some((place, row)) = open.find(|(_, row)| !self.rows.is_fixed(**row)) {
                    let (lo, hi) = (self.ranks.lo(*row), self.ranks.hi(*row));
                    let (least, beyond) = limits.limit.get(row).copied().unwrap_or((lo, 0));
                    let preferred = self.preferred_rank(*row, markers);
                    let limit = least.max(lo).saturating_add(beyond).max(preferred);
                    return Some(level(*row, What::Rank, preferred, lo, hi.min(limit), hi > limit, place));
                }
            }
            What::Marker => first_marker = start,
        }
        let awaits = |row: &u32| self.rows.watchers(*row).any(|con| self.awaited_marker(con) == Some(*row));
        let awaited = (first_marker as u32..self.rows.len() as u32).find(awaits)?;
        if what == What::Rank {
            search.wishes = None;
        }
        let wishes = search.wishes.get_or_insert_with(|| self.final_markers(markers));
        let rank = self.ranks.lo(awaited);
        Some(level(
            awaited,
            What::Marker,
            wishes[awaited as usize].min(rank),
            0,
            rank,
            false,
            awaited as usize,
        ))
    }

    /// Where markers would rather be now that ranks are fixed; a leaf's, where the join of its caps
    /// puts it.
    pub(crate) fn final_markers(&self, markers: &[u32]) -> Vec<u32> {
        let mut wishes = self.preferred_markers(markers.to_vec());
        for row in 0..self.rows.len() as u32 {
            if self.rows.role(row) != Role::Interior
                && self.rows.declared(row).is_none()
                && let Some(lead) = self.join_lead(row, markers)
            {
                wishes[row as usize] = wishes[row as usize].max(lead);
            }
        }
        wishes
    }

    fn decide_level(&mut self, level: &mut Level, value: u32) -> Step {
        let row = level.row;
        level.mark = Some(self.mark());
        level.value = value;
        let policy = match (level.what, value == level.preferred) {
            (What::Rank, false) => Policy::SearchRank,
            (What::Rank, true) if self.rows.role(row) == Role::Interior => Policy::LeastRank,
            (What::Rank, true) => Policy::LeafRank,
            (What::Marker, true) => Policy::PreferredMarker,
            (What::Marker, false) => Policy::SearchMarker,
        };
        level.step = self.choose(policy, row);
        if value != level.preferred {
            self.failures.insert(level.step, level.because.clone());
        }
        match level.what {
            What::Rank => {
                let upper = self.choose(policy, row);
                self.ranks.at_least(&mut self.trail, row, value, Pred::policy(level.step))?;
                self.ranks.at_most(&mut self.trail, row, i64::from(value), Pred::policy(upper))?;
            }
            What::Marker => {
                self.rows.set_marker(&mut self.trail, row, value, level.step);
                self.rows.wake(&self.ranks, row, &mut self.queue);
            }
        }
        self.propagate()
    }

    /// The limits described in the module's header.
    fn limits(&self) -> Limits {
        let waiting: Vec<RowCon> = self.rows.cons().filter(|con| !con.done).collect();
        let mut component = Components::default();
        for con in &waiting {
            component.join(self, con);
        }
        // A row whose known ends overlap at its least rank waits for nobody but itself.
        for row in (0..self.rows.len() as u32).filter(|row| !self.rows.is_fixed(*row)) {
            if self.rows.partial(row).is_some() {
                component.place(row);
            }
        }
        let mut limits = component.limits(self, &waiting);
        // A count needs at most one axis more; a list bounds its rows itself.
        for row in self.ariths.pending().flat_map(|con| self.ariths.get(con).rows()) {
            let (least, beyond) = limits.limit.get(&row).copied().unwrap_or((self.ranks.lo(row), 0));
            let most = self.ranks.hi(row);
            let more = if most == UNBOUNDED { 1 } else { most.saturating_sub(least).min(LONGEST) };
            limits.limit.insert(row, (least, beyond.max(more)));
        }
        limits.order = (0..self.rows.len() as u32).filter(|row| !self.rows.is_fixed(*row)).collect();
        let late = |row: &u32| match self.rows.role(*row) {
            Role::Leaf | Role::Param => 0,
            Role::Filler => 1,
            Role::Interior => 2,
        };
        let key = |row: &u32| (!limits.limit.contains_key(row), late(row), *row);
        limits.order.sort_unstable_by_key(key);
        limits
    }
}

/// The decisions behind some policy steps.
fn levels_of(levels: &[Level], steps: &[u32]) -> Vec<Blame> {
    let decided = |level: &Level| level.mark.is_some();
    let of = |step: &u32| {
        // Steps grow with levels, so the owner is the last level that begins at or before the step.
        let decided = levels.partition_point(|level| decided(level) && level.step <= *step);
        let level = decided.checked_sub(1)?;
        let half = if levels[level].step == *step { Half::Lower } else { Half::Upper };
        Some(Blame { level, half })
    };
    steps.iter().filter_map(of).collect()
}

/// Connected components of waiting constraints, with the offsets of their rows.
#[derive(Default)]
struct Components {
    /// Open row variable to (component, offset from the left, offset from the right).
    place: FxHashMap<u32, (usize, i64, i64)>,
    /// Members of each component; a component merged into another is left empty.
    members: Vec<Vec<u32>>,
    /// Shifts found around cycles.
    shifts: Vec<Vec<i64>>,
}

impl Components {
    fn place(&mut self, row: u32) -> (usize, i64, i64) {
        let next = self.members.len();
        let place = *self.place.entry(row).or_insert((next, 0, 0));
        if place.0 == next {
            self.members.push(vec![row]);
            self.shifts.push(Vec::new());
        }
        place
    }

    fn open(&mut self, solver: &Solver, term: Term) -> Option<(usize, i64, i64)> {
        (term.hole != NIL && !solver.rows.is_fixed(term.hole)).then(|| self.place(term.hole))
    }

    fn join(&mut self, solver: &Solver, con: &RowCon) {
        let (Some(a), Some(b)) = (self.open(solver, con.res), self.open(solver, con.opnd)) else {
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

    fn limits(&self, solver: &Solver, waiting: &[RowCon]) -> Limits {
        const LONGEST: u64 = self::LONGEST as u64;
        let mut flanks = vec![0u64; self.members.len()];
        let length = |term: Term| {
            let fixed = term.hole != NIL && solver.rows.is_fixed(term.hole);
            u64::from(term.flanks()) + if fixed { u64::from(solver.ranks.lo(term.hole)) } else { 0 }
        };
        for con in waiting {
            let hole = [con.res.hole, con.opnd.hole].into_iter().find(|hole| self.place.contains_key(hole));
            if let Some((component, ..)) = hole.and_then(|hole| self.place.get(&hole)) {
                let inequality = u64::from(con.kind == Kind::Le);
                flanks[*component] += length(con.res) + length(con.opnd) + inequality;
            }
        }
        for (row, (component, ..)) in &self.place {
            if let Some(partial) = solver.rows.partial(*row) {
                flanks[*component] += (partial.front.len() + partial.back.len()) as u64;
            }
        }
        let mut limits = Limits { order: Vec::new(), limit: FxHashMap::default(), exact: true };
        for (component, members) in self.members.iter().enumerate() {
            let shifts =
                self.shifts[component].iter().map(|shift| shift.unsigned_abs()).filter(|shift| *shift > 0);
            let period = shifts.fold(1u64, |acc, shift| lcm(acc, shift).min(LONGEST));
            let least = members.iter().map(|row| solver.ranks.lo(*row)).max().unwrap_or(0);
            let beyond = solver.ranks.tied_groups(members) * (period + flanks[component]) + flanks[component];
            limits.exact &= beyond < LONGEST;
            let beyond = beyond.min(LONGEST) as u32;
            limits.limit.extend(members.iter().map(|row| (*row, (least, beyond))));
        }
        limits
    }
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}
