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
//! A system that uses up a tenth of the budget that way is searched *by cases*: sizes and residues are decided before
//! ranks ([`cases`]), each marker as soon as its row has a rank, and rows that took part in many conflicts
//! go first. The order of rows is learnt, so the search starts anew after a while, each time with twice the branches. It
//! finds any solution, not the one that the policies prefer.
//!
//! [`limits`] says how large a rank is worth trying, [`level`] what a decision remembers.

mod cases;
mod level;
mod limits;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Solver;
use super::cores::Verdict;
use super::ranks::Pred;
use super::reason::{Conflict, Limit, Policy, Step};
use crate::term::Role;

use level::{Blame, Half, Hopeless, Level, What, levels_of};
use limits::Limits;

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
    hopeless: Hopeless,
    /// Sets of constraints already tried on their own.
    isolated: FxHashSet<Vec<u32>>,
    /// Whether sizes and residues are decided before ranks.
    by_cases: bool,
    /// How often each row was part of a conflict.
    weights: FxHashMap<u32, u64>,
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
    /// The part of the branches that may be used before cases are told apart.
    const PLAIN: u64 = 10;
    /// The branches of the first turn in which they are.
    const TURN: u64 = 500;

    pub fn new(branches: u64) -> Search {
        Search {
            branches,
            failed: 0,
            isolating: true,
            hopeless: Hopeless::default(),
            isolated: FxHashSet::default(),
            by_cases: false,
            weights: FxHashMap::default(),
            wishes: None,
            refuted: None,
        }
    }
}

impl Solver {
    /// Decides every open rank and marker, or proves that it cannot be done. On success the
    /// decisions stay on the trail, above the caller's mark.
    fn search(&mut self, search: &mut Search, markers: &mut Vec<u32>) -> Verdict {
        let limits = self.limits(search.by_cases.then_some(&search.weights));
        let mut levels: Vec<Level> = Vec::new();
        *markers = self.preferred_markers(self.rows.declared_markers());
        let verdict = loop {
            match self.next_level(search, &limits, &levels, markers) {
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
                Some(value) => {
                    match self.decide_level(limits, top, value).and_then(|()| self.cases_fit(levels)) {
                        Ok(()) => return Ok(()),
                        Err(Conflict::TooMuch(limit)) => return Err(Verdict::Unknown(limit)),
                        Err(conflict) => {
                            let walked = self.blame(conflict);
                            if let Some(top) = levels.last_mut() {
                                top.because.clone_from(&walked.constraints);
                            }
                            for row in self.rows_of(&walked.constraints) {
                                *search.weights.entry(row).or_default() += 1;
                            }
                            self.fail_branch(search, walked.constraints)?;
                            let blamed = levels_of(levels, &walked.policies);
                            if let Some(level) =
                                blamed.iter().max().and_then(|blame| levels.get_mut(blame.level))
                                && let Some(same) = walked.markers.get(&level.row)
                                && level.what == What::Marker
                            {
                                level.dead.push(*same);
                            }
                            blamed
                        }
                    }
                }
                None => {
                    if !limits.exact && top.cut {
                        return Err(Verdict::Unknown(Limit::RankBound));
                    }
                    let mut blamed = std::mem::take(&mut top.blamed);
                    let because = std::mem::take(&mut top.because);
                    if !top.what.is_case() {
                        let steps = self.blame_rank(top.row).policies;
                        blamed.extend(levels_of(levels, &steps));
                    }
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
        self.search_in_turns(search, markers)
    }

    /// Searches plainly; if that takes long, by cases, with a better order of rows in each turn.
    fn search_in_turns(&mut self, search: &mut Search, markers: &mut Vec<u32>) -> Verdict {
        let mut left = search.branches;
        let mut turn = if self.has_cases() { left / Search::PLAIN } else { left };
        loop {
            search.branches = turn.min(left);
            left -= search.branches;
            let mark = self.mark();
            let verdict = self.search_once(search, markers);
            // Sizes that do not fit are counted elsewhere: another turn would not help.
            let used_up = verdict == Verdict::Unknown(Limit::Branches) && search.branches == 0;
            if !used_up || left == 0 {
                search.branches += left;
                return verdict;
            }
            self.undo(mark);
            turn = if search.by_cases { turn.saturating_mul(2) } else { Search::TURN };
            search.by_cases = true;
        }
    }

    /// Searches until the branches are used up. The caller holds a mark, so that what search does and undoes is logged.
    fn search_once(&mut self, search: &mut Search, markers: &mut Vec<u32>) -> Verdict {
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

    /// The next open question: the first undecided row, then the first awaited marker. By cases, the cases come first, and
    /// markers before the next rank.
    fn next_level(
        &self,
        search: &mut Search,
        limits: &Limits,
        levels: &[Level],
        markers: &[u32],
    ) -> Option<Level> {
        if search.by_cases {
            return (self.next_case(&limits.cases, levels))
                .or_else(|| self.next_marker(0, markers))
                .or_else(|| self.next_rank(limits, levels, markers));
        }
        let start = match levels.last() {
            Some(last) if last.what == What::Marker => last.place as u32 + 1,
            _ => {
                if let Some(level) = self.next_rank(limits, levels, markers) {
                    return Some(level);
                }
                search.wishes = None;
                0
            }
        };
        let wishes = search.wishes.get_or_insert_with(|| self.final_markers(markers));
        self.next_marker(start, wishes)
    }

    /// The first row of open rank, after those that were decided.
    fn next_rank(&self, limits: &Limits, levels: &[Level], markers: &[u32]) -> Option<Level> {
        // What stands before the last decision is settled.
        let decided = levels.iter().rfind(|level| level.what == What::Rank);
        let mut places = decided.map_or(0, |level| level.place + 1)..limits.order.len();
        let place = places.find(|place| !self.rows.is_fixed(limits.order[*place]))?;
        let row = limits.order[place];
        let (lo, hi) = (self.ranks.lo(row), self.ranks.hi(row));
        let (least, beyond) = limits.limit.get(&row).copied().unwrap_or((lo, 0));
        let preferred = self.preferred_rank(row, markers);
        let limit = least.max(lo).saturating_add(beyond).max(preferred);
        let mut level = Level::new(row, What::Rank, place, preferred, (lo, hi.min(limit)));
        level.cut = hi > limit;
        let own = |level: &Level| level.what == What::Residue && level.row == row;
        if let Some(at) = levels.iter().position(own) {
            // Ranks of other residues are left out because of that decision.
            level.residue = (levels[at].value, levels[at].last + 1);
            level.blamed.push(Blame { level: at, half: Half::Lower });
        }
        Some(level)
    }

    /// The first row from a place on whose marker somebody waits for.
    fn next_marker(&self, start: u32, wishes: &[u32]) -> Option<Level> {
        let awaits = |row: &u32| self.rows.watchers(*row).any(|con| self.awaited_marker(con) == Some(*row));
        let row = (start..self.rows.len() as u32).find(awaits)?;
        let rank = self.ranks.lo(row);
        Some(Level::new(row, What::Marker, row as usize, wishes[row as usize].min(rank), (0, rank)))
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

    fn decide_level(&mut self, limits: &Limits, level: &mut Level, value: u32) -> Step {
        let row = level.row;
        level.mark = Some(self.mark());
        level.value = value;
        let policy = match (level.what, value == level.preferred) {
            (What::Value | What::Residue, _) | (What::Rank, false) => Policy::SearchRank,
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
            What::Value => self.assume_value(row, limits.cases.values[value as usize], level.step)?,
            What::Residue => self.assume_residue(row, (value, level.last + 1), level.step)?,
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
}
