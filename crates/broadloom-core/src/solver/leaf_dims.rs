//! Which sizes leaves take (docs/solver.md, "Which sizes a leaf takes"; Formal Core, Def. 6.1, at dimension
//! sort).
//!
//! Ranks and markers are fixed, caps have travelled to the fixpoint. Open leaf dimensions that a common
//! dimension refines are a *family*: committing one of them gives the others the same cap, and so on. A
//! family whose caps are one size takes it. A family whose caps are two sizes cannot have both, and
//! nothing says which: all its members relax to the unit, and those that must be known are reported.
//!
//! For example `3 <= a`, `5 <= b`, `c <= a`, `c <= b` with leaves `a` and `b`: either could keep its cap, not
//! both; both become the unit.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Solver;
use super::closing::Closing;
use super::reason::{Conflict, Limit, NIL, Policy, Reason, ReasonId, Step};
use crate::term::{DimTerm, Role};

/// Why a leaf had to give way: two leaves with different caps, and the adjacencies between them.
#[derive(Clone)]
pub(crate) struct Rivalry {
    pub leaves: Vec<u32>,
    pub edges: Vec<u32>,
}

/// A value to be committed.
type Commitment = (u32, DimTerm, ReasonId);

impl Solver {
    /// Step 5, and what parameters lack after it.
    pub(crate) fn close_dims(&mut self, closing: &mut Closing) {
        self.close_leaf_dims();
        self.find_unfilled(closing);
    }

    /// Step 5: leaves first, then fillers.
    pub(crate) fn close_leaf_dims(&mut self) {
        self.commit_leaf_dims(|role| matches!(role, Role::Leaf | Role::Param));
        self.commit_leaf_dims(|role| role == Role::Filler);
    }

    /// Commits the leaves of a role: families that disagree relax, the others take their caps in rounds,
    /// until no leaf has a cap it has not taken.
    fn commit_leaf_dims(&mut self, wanted: impl Fn(Role) -> bool) {
        let mut leaf = vec![false; self.dims.len()];
        let classes = self.leaf_classes(wanted, &mut leaf);
        self.dims.capped.clear();
        let mut round = classes.clone();
        while !round.is_empty() {
            self.relax_rivals(&classes);
            round.retain(|root| {
                leaf[*root as usize] && self.dims.value(*root).is_none() && self.dims.cap(*root).is_some()
            });
            round.sort_unstable();
            round.dedup();
            self.take_caps(&round);
            round = std::mem::take(&mut self.dims.capped);
        }
    }

    /// The classes that contain a leaf dimension of a role, each once; marks them.
    fn leaf_classes(&self, wanted: impl Fn(Role) -> bool, leaf: &mut [bool]) -> Vec<u32> {
        let named = self.leaf_dims.iter().filter(|(_, role)| wanted(*role)).map(|(node, _)| *node);
        let rows = self.rows.leaves().iter().copied().filter(|row| wanted(self.rows.role(*row)));
        let axes =
            rows.flat_map(|row| (0..self.ranks.lo(row)).filter_map(move |at| self.row_axis(row, at).node()));
        let classes = named.chain(axes).map(|node| self.dims.find(node));
        let open = classes.filter(|root| self.dims.value(*root).is_none());
        open.filter(|root| !std::mem::replace(&mut leaf[*root as usize], true)).collect()
    }

    fn take_caps(&mut self, leaves: &[u32]) {
        let step = self.choose(Policy::LeafCap, NIL);
        let reason = self.dims.reason(Reason::Policy(step));
        let caps = leaves.iter().filter_map(|root| Some((*root, self.dims.cap(*root)?, reason)));
        self.commit_together(caps.collect());
    }

    /// Commits dimensions. Arithmetic may have no room for a size: what does not fit is left to the guesses.
    /// Nobody wins by coming first: those that fit alone but not together are left, too.
    fn commit_together(&mut self, mut wanted: Vec<Commitment>) {
        if self.commit_all(&wanted).is_ok() {
            return;
        }
        wanted.retain(|one| {
            let mark = self.mark();
            let outcome = self.commit_all(&[*one]);
            self.undo(mark);
            self.symbols.undecided |= outcome == Err(Conflict::TooMuch(Limit::Expressions));
            outcome.is_ok()
        });
        let _ = self.commit_all(&wanted);
    }

    /// Commits all of some dimensions, or none.
    fn commit_all(&mut self, wanted: &[Commitment]) -> Step {
        let arithmetic = self.has_arithmetic();
        let before = arithmetic.then(|| (self.mark(), self.dims.capped.clone()));
        self.symbols.guessing = true;
        let commit = |(root, value, reason): &Commitment| {
            // A commitment before this one may have settled it.
            match self.dims.value(self.dims.find(*root)) {
                Some(have) if have == *value || !arithmetic => Ok(()),
                _ => self.dims.commit(&mut self.trail, *root, *value, *reason),
            }
        };
        let outcome = wanted.iter().try_for_each(commit).and_then(|()| self.propagate());
        self.symbols.guessing = false;
        debug_assert!(arithmetic || outcome.is_ok(), "leaf commitments are compatible by construction");
        if let Some((mark, capped)) = before {
            if outcome.is_ok() {
                self.forget(mark);
            } else {
                self.undo(mark);
                self.dims.capped = capped;
            }
        }
        outcome
    }

    /// Families whose caps are different sizes relax to the unit.
    fn relax_rivals(&mut self, classes: &[u32]) {
        let families = self.families(classes);
        let mut caps: FxHashMap<u32, (u32, DimTerm)> = FxHashMap::default();
        let mut rivals: FxHashMap<u32, Rivalry> = FxHashMap::default();
        for (root, family) in &families {
            let Some(cap) = self.dims.cap(*root) else { continue };
            let (first, known) = *caps.entry(*family).or_insert((*root, cap));
            if known != cap && !rivals.contains_key(family) {
                let edges = self.path_between(first, *root);
                rivals.insert(*family, Rivalry { leaves: vec![first, *root], edges });
            }
        }
        if rivals.is_empty() {
            return;
        }
        let mut wanted = Vec::new();
        for (root, family) in families {
            if let Some(rivalry) = rivals.get(&family) {
                let step = self.choose(Policy::RelaxedLeaf, NIL);
                self.rivalries.insert(step, rivalry.clone());
                wanted.push((root, DimTerm::UNIT, self.dims.reason(Reason::Policy(step))));
            }
        }
        self.commit_together(wanted);
    }

    /// The open leaves among some classes, each with a number that it shares with its family. A leaf that
    /// nothing open refines is a family of its own, and left out.
    fn families(&self, classes: &[u32]) -> Vec<(u32, u32)> {
        let open = |root: &u32| self.dims.value(*root).is_none();
        let mut owner: FxHashMap<u32, u32> = FxHashMap::default();
        let mut parent: Vec<u32> = Vec::new();
        let find = |parent: &[u32], mut at: u32| {
            while parent[at as usize] != at {
                at = parent[at as usize];
            }
            at
        };
        let mut leaves = Vec::new();
        let mut stack = Vec::new();
        for root in classes.iter().filter(|root| open(root)) {
            if self.below(*root).next().is_none() {
                continue;
            }
            let number = parent.len() as u32;
            parent.push(number);
            leaves.push((*root, number));
            stack.push(*root);
            while let Some(class) = stack.pop() {
                match owner.get(&class) {
                    Some(other) => {
                        let (a, b) = (find(&parent, *other), find(&parent, number));
                        parent[a.max(b) as usize] = a.min(b);
                    }
                    None => {
                        owner.insert(class, number);
                        stack.extend(self.below(class));
                    }
                }
            }
        }
        leaves.iter().map(|(root, number)| (*root, find(&parent, *number))).collect()
    }

    /// The open classes just below a class.
    fn below(&self, class: u32) -> impl Iterator<Item = u32> + '_ {
        let below = self.dims.down(class).map(|edge| self.dims.find(self.dims.edge(edge).lo));
        below.filter(move |below| *below != class && self.dims.value(*below).is_none())
    }

    /// Adjacencies that lead from one leaf of a family to another.
    fn path_between(&self, from: u32, to: u32) -> Vec<u32> {
        let mut seen: FxHashSet<u32> = [from].into_iter().collect();
        let mut found: Vec<(u32, u32, usize)> = vec![(from, NIL, usize::MAX)];
        let mut at = 0;
        while let Some((class, ..)) = found.get(at).copied() {
            if class == to {
                let mut path = Vec::new();
                let mut step = at;
                while let Some((_, edge, before)) = found.get(step).filter(|(_, edge, _)| *edge != NIL) {
                    path.push(*edge);
                    step = *before;
                }
                path.reverse();
                return path;
            }
            for edge in self.dims.down(class).chain(self.dims.up(class)) {
                let ends = self.dims.edge(edge);
                for next in [ends.lo, ends.hi].map(|node| self.dims.find(node)) {
                    if self.dims.value(next).is_none() && seen.insert(next) {
                        found.push((next, edge, at));
                    }
                }
            }
            at += 1;
        }
        Vec::new()
    }
}
