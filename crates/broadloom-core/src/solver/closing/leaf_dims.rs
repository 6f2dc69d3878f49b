//! The sizes that leaves take (docs/solver.md, "Which sizes a leaf takes"; Formal Core, Def. 6.1,
//! at dimension sort).
//!
//! Ranks and markers are fixed, caps have travelled to the fixpoint. Open leaf dimensions that a
//! common dimension refines are a *family*: committing one of them gives the others the same cap,
//! and so on. A family whose caps are one size takes it. A family whose caps are two sizes cannot
//! have both, and nothing decides between them: all its members relax to the unit, and those that
//! must be known are reported.
//!
//! For example `3 <= a`, `5 <= b`, `c <= a`, `c <= b` with leaves `a` and `b`: either could keep its cap, not
//! both; both become the unit.

use crate::ids::{AdjacencyId, IdVec, ids};
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::stores::reason::{Conflict, Limit, Outcome, Policy, Reason, ReasonId, Rivalry};
use crate::solver::stores::state::State;
use crate::term::{DimTerm, DimVar, Role, RowVar};
use rustc_hash::{FxHashMap, FxHashSet};

ids! {
    /// Leaves that share what refines them.
    FamilyId "family";
}

/// A value to be committed.
type Commitment = (DimVar, DimTerm, ReasonId);

/// Step 5: leaves first, then fillers.
pub(crate) fn close_leaf_dims(state: &mut State) {
    commit_leaf_dims(state, |role| matches!(role, Role::Leaf | Role::Param));
    commit_leaf_dims(state, |role| role == Role::Filler);
}

/// Commits the leaves of a role: families that disagree relax, the others take their caps in rounds,
/// until no leaf has a cap it has not taken.
fn commit_leaf_dims(state: &mut State, wanted: impl Fn(Role) -> bool) {
    let mut leaf = IdVec::filled(false, state.dims.len());
    let classes = leaf_classes(state, wanted, &mut leaf);
    state.dims.capped.clear();
    let mut round = classes.clone();
    while !round.is_empty() {
        relax_rivals(state, &classes);
        round.retain(|root| {
            leaf[*root] && state.dims.value(*root).is_none() && state.dims.cap(*root).is_some()
        });
        round.sort_unstable();
        round.dedup();
        take_caps(state, &round);
        round = std::mem::take(&mut state.dims.capped);
    }
}

/// The classes that contain a leaf dimension of a role, each once; marks them.
fn leaf_classes(state: &State, wanted: impl Fn(Role) -> bool, leaf: &mut IdVec<DimVar, bool>) -> Vec<DimVar> {
    let named = state.leaf_dims.iter().filter(|(_, role)| wanted(*role)).map(|(node, _)| *node);
    let rows = state.rows.leaves().iter().copied().filter(|row| wanted(state.rows.role(*row)));
    let axes =
        rows.flat_map(|row| (0..state.ranks.lo(row)).filter_map(move |at| state.row_axis(row, at).var()));
    let classes = named.chain(axes).map(|node| state.dims.find(node));
    let open = classes.filter(|root| state.dims.value(*root).is_none());
    open.filter(|root| !std::mem::replace(&mut leaf[*root], true)).collect()
}

fn take_caps(state: &mut State, leaves: &[DimVar]) {
    let step = state.choose(Policy::LeafCap, RowVar::NIL);
    let reason = state.dims.reason(Reason::Policy(step));
    let caps = leaves.iter().filter_map(|root| Some((*root, state.dims.cap(*root)?, reason)));
    commit_together(state, caps.collect());
}

/// Commits dimensions. Arithmetic may have no room for a size: those that do not fit are left to
/// the guesses. The order does not matter: dimensions that fit alone but not together are left,
/// too.
fn commit_together(state: &mut State, mut wanted: Vec<Commitment>) {
    if commit_all(state, &wanted).is_ok() {
        return;
    }
    wanted.retain(|one| {
        let mark = state.mark();
        let outcome = commit_all(state, &[*one]);
        state.undo(mark);
        state.symbols.undecided |= outcome == Err(Conflict::TooMuch(Limit::Expressions));
        outcome.is_ok()
    });
    let _ = commit_all(state, &wanted);
}

/// Commits all of some dimensions, or none.
fn commit_all(state: &mut State, wanted: &[Commitment]) -> Outcome {
    let arithmetic = state.has_arithmetic();
    let before = arithmetic.then(|| (state.mark(), state.dims.capped.clone()));
    state.symbols.guessing = true;
    let commit = |(root, value, reason): &Commitment| {
        // A commitment before this one may have settled it.
        match state.dims.value(state.dims.find(*root)) {
            Some(have) if have == *value || !arithmetic => Ok(()),
            _ => state.dims.commit(&mut state.trail, *root, *value, *reason),
        }
    };
    let outcome = wanted.iter().try_for_each(commit).and_then(|()| propagate(state));
    state.symbols.guessing = false;
    debug_assert!(arithmetic || outcome.is_ok(), "leaf commitments are compatible by construction");
    if let Some((mark, capped)) = before {
        if outcome.is_ok() {
            state.forget(mark);
        } else {
            state.undo(mark);
            state.dims.capped = capped;
        }
    }
    outcome
}

/// Families whose caps are different sizes relax to the unit.
fn relax_rivals(state: &mut State, classes: &[DimVar]) {
    let families = families(state, classes);
    let mut caps: FxHashMap<FamilyId, (DimVar, DimTerm)> = FxHashMap::default();
    let mut rivals: FxHashMap<FamilyId, Rivalry> = FxHashMap::default();
    for (root, family) in &families {
        let Some(cap) = state.dims.cap(*root) else { continue };
        let (first, known) = *caps.entry(*family).or_insert((*root, cap));
        if known != cap && !rivals.contains_key(family) {
            let edges = path_between(state, first, *root);
            rivals.insert(*family, Rivalry { leaves: vec![first, *root], edges });
        }
    }
    if rivals.is_empty() {
        return;
    }
    let mut wanted = Vec::new();
    for (root, family) in families {
        if let Some(rivalry) = rivals.get(&family) {
            let step = state.choose(Policy::RelaxedLeaf, RowVar::NIL);
            state.rivalries.insert(step, rivalry.clone());
            wanted.push((root, DimTerm::UNIT, state.dims.reason(Reason::Policy(step))));
        }
    }
    commit_together(state, wanted);
}

/// The open leaves among some classes, each with a number that it shares with its family. A leaf that
/// nothing open refines is a family of its own, and left out.
fn families(state: &State, classes: &[DimVar]) -> Vec<(DimVar, FamilyId)> {
    let open = |root: &DimVar| state.dims.value(*root).is_none();
    let mut owner: FxHashMap<DimVar, FamilyId> = FxHashMap::default();
    let mut parent: IdVec<FamilyId, FamilyId> = IdVec::default();
    let find = |parent: &IdVec<FamilyId, FamilyId>, mut at: FamilyId| {
        while parent[at] != at {
            at = parent[at];
        }
        at
    };
    let mut leaves = Vec::new();
    let mut stack = Vec::new();
    for root in classes.iter().filter(|root| open(root)) {
        if below(state, *root).next().is_none() {
            continue;
        }
        let number = parent.push(parent.next());
        leaves.push((*root, number));
        stack.push(*root);
        while let Some(class) = stack.pop() {
            match owner.get(&class) {
                Some(other) => {
                    let (a, b) = (find(&parent, *other), find(&parent, number));
                    parent[a.max(b)] = a.min(b);
                }
                None => {
                    owner.insert(class, number);
                    stack.extend(below(state, class));
                }
            }
        }
    }
    leaves.iter().map(|(root, number)| (*root, find(&parent, *number))).collect()
}

/// The open classes just below a class.
fn below(state: &State, class: DimVar) -> impl Iterator<Item = DimVar> + '_ {
    let below = state.dims.down(class).map(|edge| state.dims.find(state.dims.edge(edge).lo));
    below.filter(move |below| *below != class && state.dims.value(*below).is_none())
}

/// Adjacencies that lead from one leaf of a family to another.
fn path_between(state: &State, from: DimVar, to: DimVar) -> Vec<AdjacencyId> {
    let mut seen: FxHashSet<DimVar> = [from].into_iter().collect();
    let mut found: Vec<(DimVar, AdjacencyId, usize)> = vec![(from, AdjacencyId::NIL, usize::MAX)];
    let mut at = 0;
    while let Some((class, ..)) = found.get(at).copied() {
        if class == to {
            let mut path = Vec::new();
            let mut step = at;
            while let Some((_, edge, before)) =
                found.get(step).filter(|(_, edge, _)| *edge != AdjacencyId::NIL)
            {
                path.push(*edge);
                step = *before;
            }
            path.reverse();
            return path;
        }
        for edge in state.dims.down(class).chain(state.dims.up(class)) {
            let ends = state.dims.edge(edge);
            for next in [ends.lo, ends.hi].map(|node| state.dims.find(node)) {
                if state.dims.value(next).is_none() && seen.insert(next) {
                    found.push((next, edge, at));
                }
            }
        }
        at += 1;
    }
    Vec::new()
}
