//! Choice points (Formal Core, Remark 6.7(ii)): ranks and markers, tried in a fixed order.
//!
//! Reached only when the policy's first choices contradict a constraint. Row variables are decided
//! one by one (leaves first, then fillers, then in the order they were made): the preferred rank (where markers are declared,
//! the policy's), then from the least upward; then markers: the preferred place, then from the left. After each decision,
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
mod contents;
mod level;
mod limits;
mod residues;

use crate::ids::IdVec;
use crate::solver::closing::close_policy;
use crate::solver::closing::extents::preferred_rank;
use crate::solver::closing::guess::close_sizes;
use crate::solver::closing::markers::{awaited_marker, final_markers, preferred_markers};
use crate::solver::closing::symbols::close_symbols;
use crate::solver::explain::blame::{blame, blame_rank};
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::search::cases::{assume_value, cases_fit, has_cases, next_case};
use crate::solver::search::level::{Blame, Half, Impossible, Level, Subject, levels_of};
use crate::solver::search::limits::{Limits, rank_limits};
use crate::solver::search::residues::assume_residue;
use crate::solver::stores::ranks::Pred;
use crate::solver::stores::reason::{Conflict, Limit, Outcome, Policy};
use crate::solver::stores::state::State;
use crate::solver::subsystem::{rows_of, subsystem};
use crate::term::{ConstraintId, Role, RowVar};
use rustc_hash::{FxHashMap, FxHashSet};

/// The verdict on a set of constraints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Satisfiable,
    Unsatisfiable,
    Unknown(Limit),
}

/// The memory of one search.
pub(crate) struct Search {
    /// Failed branches left.
    branches: u64,
    /// Failed branches, not counting those of isolated sets.
    pub failed: u64,
    /// True if failing sets of constraints are tried on their own; not within such a set.
    isolating: bool,
    /// Values that fail whatever else is decided.
    impossible: Impossible,
    /// Sets of constraints already tried on their own.
    isolated: FxHashSet<Vec<ConstraintId>>,
    /// True if sizes and residues are decided before ranks.
    by_cases: bool,
    /// The number of conflicts that each row was part of.
    weights: FxHashMap<RowVar, u64>,
    /// The ranks that the policy gave to leaves with declared markers, each the preferred one of its row.
    policy_ranks: FxHashMap<RowVar, u32>,
    /// The preferred markers, while all ranks are decided.
    preferred: Option<IdVec<RowVar, u32>>,
    /// Constraints proved to have no solution together.
    pub refuted: Option<Vec<ConstraintId>>,
}

impl Search {
    /// Sets of constraints worth trying on their own.
    const ISOLATED: usize = 64;
    /// The part of the branches left that one such set may use.
    const SHARE: u64 = 8;
    /// The part of the branches that may be used before cases are distinguished.
    const PLAIN: u64 = 10;
    /// The branches of the first turn in which they are.
    const TURN: u64 = 500;

    pub fn new(branches: u64) -> Search {
        Search {
            branches,
            failed: 0,
            isolating: true,
            impossible: Impossible::default(),
            isolated: FxHashSet::default(),
            by_cases: false,
            weights: FxHashMap::default(),
            policy_ranks: FxHashMap::default(),
            preferred: None,
            refuted: None,
        }
    }
}

/// Decides every open rank and marker, or proves that it cannot be done. On success the
/// decisions stay on the trail, above the caller's mark.
fn run_search(state: &mut State, search: &mut Search, markers: &mut IdVec<RowVar, u32>) -> Verdict {
    let limits = rank_limits(state, search.by_cases.then_some(&search.weights));
    let mut levels: Vec<Level> = Vec::new();
    *markers = preferred_markers(state, state.rows.declared_markers());
    let verdict = loop {
        match next_level(state, search, &limits, &levels, markers) {
            Some(level) => levels.push(level),
            None => match close_sizes(state) {
                Ok(()) => break Verdict::Satisfiable,
                Err(Conflict::TooMuch(limit)) => break Verdict::Unknown(limit),
                // No sizes fit; which of the decisions is to blame is not known.
                Err(_) => {
                    let halves = [Half::Lower, Half::Upper];
                    let all = (0..levels.len()).flat_map(|level| halves.map(|half| Blame { level, half }));
                    if !jump(state, search, &mut levels, all.collect()) {
                        break Verdict::Unsatisfiable;
                    }
                    search.failed += 1;
                    if search.failed > state.budget.branches {
                        break Verdict::Unknown(Limit::Branches);
                    }
                }
            },
        }
        if let Err(verdict) = settle_level(state, search, &limits, &mut levels) {
            break verdict;
        }
    };
    if verdict == Verdict::Satisfiable {
        *markers = final_markers(state, markers);
    }
    // The caller's mark undoes everything; the levels' own marks are only closed.
    for mark in levels.iter().rev().filter_map(|level| level.mark) {
        state.forget(mark);
    }
    verdict
}

/// Finds a value for the last level, or returns to an earlier one and moves that on.
fn settle_level(
    state: &mut State,
    search: &mut Search,
    limits: &Limits,
    levels: &mut Vec<Level>,
) -> Result<(), Verdict> {
    loop {
        let Some(top) = levels.last_mut() else {
            return Err(Verdict::Unsatisfiable);
        };
        let blamed = match top.next_value(&search.impossible) {
            Some(value) => {
                match decide_level(state, limits, top, value).and_then(|()| cases_fit(state, levels)) {
                    Ok(()) => return Ok(()),
                    Err(Conflict::TooMuch(limit)) => return Err(Verdict::Unknown(limit)),
                    Err(conflict) => {
                        let walked = blame(state, conflict);
                        if let Some(top) = levels.last_mut() {
                            top.because.clone_from(&walked.constraints);
                        }
                        for row in rows_of(state, &walked.constraints) {
                            *search.weights.entry(row).or_default() += 1;
                        }
                        fail_branch(state, search, walked.constraints)?;
                        let blamed = levels_of(levels, &walked.policies);
                        if let Some(level) = blamed.iter().max().and_then(|blame| levels.get_mut(blame.level))
                            && let Subject::Marker(row) = level.what
                            && let Some(same) = walked.markers.get(&row)
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
                if let Subject::Rank(row) | Subject::Marker(row) = top.what {
                    let steps = blame_rank(state, row).policies;
                    blamed.extend(levels_of(levels, &steps));
                }
                levels.pop();
                if let Some(level) = blamed.iter().max().and_then(|blame| levels.get_mut(blame.level)) {
                    level.because = because;
                }
                blamed
            }
        };
        if !jump(state, search, levels, blamed) {
            return Err(Verdict::Unsatisfiable);
        }
    }
}

/// Counts a failed branch.
fn fail_branch(state: &mut State, search: &mut Search, blamed: Vec<ConstraintId>) -> Result<(), Verdict> {
    search.failed += 1;
    if search.branches == 0 {
        return Err(Verdict::Unknown(Limit::Branches));
    }
    search.branches -= 1;
    isolate(state, search, blamed)
}

/// If the constraints a failure rests on have no solution by themselves, the search is over.
fn isolate(state: &State, search: &mut Search, mut blamed: Vec<ConstraintId>) -> Result<(), Verdict> {
    blamed.sort_unstable();
    let small = blamed.len() < state.constraints.len() && search.isolated.len() < Search::ISOLATED;
    if !(search.isolating && small && search.isolated.insert(blamed.clone())) {
        return Ok(());
    }
    let mut own = Search { isolating: false, ..Search::new(search.branches / Search::SHARE) };
    let verdict = settle_choices(&mut subsystem(state, &blamed).state, &mut own, &mut IdVec::default());
    search.branches = search.branches.saturating_sub(own.failed);
    if verdict == Verdict::Unsatisfiable {
        search.refuted = Some(blamed);
        return Err(verdict);
    }
    Ok(())
}

/// Decides every open rank and marker: the policy's first choices if they do, else by search. On
/// success the decisions stay; a caller that will undo them holds a mark.
pub(crate) fn settle_choices(
    state: &mut State,
    search: &mut Search,
    markers: &mut IdVec<RowVar, u32>,
) -> Verdict {
    match state.conflict {
        Some(Conflict::TooMuch(limit)) => return Verdict::Unknown(limit),
        Some(_) => return Verdict::Unsatisfiable,
        None => {}
    }
    let mark = state.mark();
    let conflict = match close_policy(state, markers) {
        Ok(()) => return Verdict::Satisfiable,
        Err(Conflict::TooMuch(limit)) => return Verdict::Unknown(limit),
        Err(conflict) => conflict,
    };
    let blamed = blame(state, conflict).constraints;
    if state.rows.all_declared() {
        search.policy_ranks = state.rows.leaves().iter().map(|row| (*row, state.ranks.lo(*row))).collect();
    }
    state.undo(mark);
    if let Err(verdict) = isolate(state, search, blamed) {
        return verdict;
    }
    search_in_turns(state, search, markers)
}

/// Searches plainly; if that takes long, by cases, with a better order of rows in each turn.
fn search_in_turns(state: &mut State, search: &mut Search, markers: &mut IdVec<RowVar, u32>) -> Verdict {
    let mut left = search.branches;
    let mut turn = if has_cases(state) { left / Search::PLAIN } else { left };
    loop {
        search.branches = turn.min(left);
        left -= search.branches;
        let mark = state.mark();
        let verdict = search_once(state, search, markers);
        // Sizes that do not fit are counted elsewhere: another turn would not help.
        let used_up = verdict == Verdict::Unknown(Limit::Branches) && search.branches == 0;
        if !used_up || left == 0 {
            search.branches += left;
            return verdict;
        }
        state.undo(mark);
        turn = if search.by_cases { turn.saturating_mul(2) } else { Search::TURN };
        search.by_cases = true;
    }
}

/// Searches until the branches are used up. The caller holds a mark, so that what search does and undoes is logged.
fn search_once(state: &mut State, search: &mut Search, markers: &mut IdVec<RowVar, u32>) -> Verdict {
    match close_symbols(state) {
        Ok(()) => run_search(state, search, markers),
        Err(Conflict::TooMuch(limit)) => Verdict::Unknown(limit),
        Err(_) => Verdict::Unsatisfiable,
    }
}

/// Returns to the latest blamed level and undoes its value. False if no level is blamed.
fn jump(state: &mut State, search: &mut Search, levels: &mut Vec<Level>, mut blamed: Vec<Blame>) -> bool {
    blamed.sort_unstable();
    blamed.dedup();
    let Some(Blame { level: target, half }) = blamed.pop() else { return false };
    let both = blamed.pop_if(|blame| blame.level == target).is_some();
    while levels.len() > target + 1 {
        if let Some(mark) = levels.pop().and_then(|level| level.mark) {
            state.undo(mark);
        }
    }
    if let Some(level) = levels.last_mut() {
        if blamed.is_empty() {
            search.impossible.insert((level.what, level.value));
        }
        match (level.what, half) {
            (Subject::Rank(_), Half::Lower) if !both => {
                level.last = level.last.min(level.value.saturating_sub(1))
            }
            (Subject::Rank(_), Half::Upper) if !both => level.next = level.next.max(level.value + 1),
            _ => {}
        }
        level.blamed.append(&mut blamed);
        if let Some(mark) = level.mark.take() {
            state.undo(mark);
        }
    }
    true
}

/// The next open question: the first undecided row, then the first awaited marker. By cases, the cases come first, and
/// markers before the next rank.
fn next_level(
    state: &State,
    search: &mut Search,
    limits: &Limits,
    levels: &[Level],
    markers: &IdVec<RowVar, u32>,
) -> Option<Level> {
    if search.by_cases {
        return (next_case(state, &limits.cases, levels))
            .or_else(|| next_marker(state, RowVar(0), markers))
            .or_else(|| next_rank(state, search, limits, levels, markers));
    }
    let start = match levels.last() {
        Some(Level { what: Subject::Marker(last), .. }) => RowVar::new(last.index() + 1),
        _ => {
            if let Some(level) = next_rank(state, search, limits, levels, markers) {
                return Some(level);
            }
            search.preferred = None;
            RowVar(0)
        }
    };
    let preferred = search.preferred.get_or_insert_with(|| final_markers(state, markers));
    next_marker(state, start, preferred)
}

/// The first row of open rank, after those that were decided.
fn next_rank(
    state: &State,
    search: &Search,
    limits: &Limits,
    levels: &[Level],
    markers: &IdVec<RowVar, u32>,
) -> Option<Level> {
    // Subject stands before the last decision is settled.
    let decided = levels.iter().rfind(|level| matches!(level.what, Subject::Rank(_)));
    let mut places = decided.map_or(0, |level| level.place + 1)..limits.order.len();
    let place = places.find(|place| !state.rows.is_fixed(limits.order[*place]))?;
    let row = limits.order[place];
    let (lo, hi) = (state.ranks.lo(row), state.ranks.hi(row));
    let (least, beyond) = limits.limit.get(&row).copied().unwrap_or((lo, 0));
    let preferred = match search.policy_ranks.get(&row) {
        Some(rank) => (*rank).clamp(lo, hi),
        None => preferred_rank(state, row, markers),
    };
    let limit = least.max(lo).saturating_add(beyond).max(preferred);
    let mut level = Level::new(Subject::Rank(row), place, preferred, (lo, hi.min(limit)));
    level.cut = hi > limit;
    let own = |level: &Level| level.what == Subject::Residue(row);
    if let Some(at) = levels.iter().position(own) {
        // Ranks of other residues are left out because of that decision.
        level.residue = (levels[at].value, levels[at].last + 1);
        level.blamed.push(Blame { level: at, half: Half::Lower });
    }
    Some(level)
}

/// The first row from a place on whose marker a constraint waits for.
fn next_marker(state: &State, start: RowVar, preferred: &IdVec<RowVar, u32>) -> Option<Level> {
    let awaits = |row: &RowVar| state.rows.watchers(*row).any(|con| awaited_marker(state, con) == Some(*row));
    let row = state.rows.ids().skip(start.index()).find(awaits)?;
    let rank = state.ranks.lo(row);
    Some(Level::new(Subject::Marker(row), row.index(), preferred[row].min(rank), (0, rank)))
}

fn decide_level(state: &mut State, limits: &Limits, level: &mut Level, value: u32) -> Outcome {
    level.mark = Some(state.mark());
    level.value = value;
    let policy = match (level.what, value == level.preferred) {
        (Subject::Value(_) | Subject::Residue(_), _) | (Subject::Rank(_), false) => Policy::SearchRank,
        (Subject::Rank(row), true) if state.rows.role(row) == Role::Interior => Policy::LeastRank,
        (Subject::Rank(_), true) => Policy::LeafRank,
        (Subject::Marker(_), true) => Policy::PreferredMarker,
        (Subject::Marker(_), false) => Policy::SearchMarker,
    };
    level.step = state.choose(policy, level.what.row());
    if value != level.preferred {
        state.failures.insert(level.step, level.because.clone());
    }
    match level.what {
        Subject::Value(dim) => assume_value(state, dim, limits.cases.values[value as usize], level.step)?,
        Subject::Residue(row) => assume_residue(state, row, (value, level.last + 1), level.step)?,
        Subject::Rank(row) => {
            let upper = state.choose(policy, row);
            state.ranks.at_least(&mut state.trail, row, value, Pred::policy(level.step))?;
            state.ranks.at_most(&mut state.trail, row, i64::from(value), Pred::policy(upper))?;
        }
        Subject::Marker(row) => {
            state.rows.set_marker(&mut state.trail, row, value, level.step);
            state.rows.wake(&state.ranks, row, &mut state.queue);
        }
    }
    propagate(state)
}
