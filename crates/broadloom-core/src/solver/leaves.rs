//! Closing of leaf dimensions (Formal Core, Def. 6.1, step 1, at dimension sort).
//!
//! Ranks and markers are fixed, caps have travelled to the fixpoint. Committing a leaf to its cap
//! pins everything below it; two leaves with different caps and a common dimension below would pin
//! it twice. Such leaves relax to the unit, all of them, so that the answer does not depend on who
//! commits first. A commitment may cap other leaves, which commit in the next round.
//!
//! For example `3 <= a`, `5 <= b`, `c <= a`, `c <= b` with leaves `a` and `b`: either could keep its
//! cap, not both; both become the unit.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Solver;
use super::closing::Closing;
use super::reason::{Conflict, Limit, NIL, Policy, Reason, ReasonId};
use crate::term::DimTerm;

/// Why a leaf had to give way: two leaves and the adjacencies between them and a common dimension.
#[derive(Clone)]
pub(crate) struct Rivalry {
    pub leaves: Vec<u32>,
    pub edges: Vec<u32>,
}

/// A candidate's claim on a class below it, and the adjacency by which it got there.
#[derive(Clone, Copy)]
struct Claim {
    leaf: u32,
    cap: DimTerm,
    edge: u32,
}

impl Solver {
    /// Step 5, and what parameters lack after it.
    pub(crate) fn close_dims(&mut self, closing: &mut Closing) {
        self.close_leaf_dims();
        self.find_unfilled(closing);
    }

    /// Step 5: rounds of commitments, until no leaf has a cap it has not taken.
    pub(crate) fn close_leaf_dims(&mut self) {
        let mut leaf = vec![false; self.dims.len()];
        let mut round = self.leaf_classes(&mut leaf);
        self.dims.capped.clear();
        while !round.is_empty() {
            round.retain(|root| {
                leaf[*root as usize] && self.dims.value(*root).is_none() && self.dims.cap(*root).is_some()
            });
            round.sort_unstable();
            round.dedup();
            self.commit_leaves(&round);
            round = std::mem::take(&mut self.dims.capped);
        }
    }

    /// The classes that contain a leaf dimension, each once; marks them.
    fn leaf_classes(&self, leaf: &mut [bool]) -> Vec<u32> {
        let named = self.leaf_dims.iter().map(|(node, _)| *node);
        let rows = self.rows.leaves().iter().copied();
        let axes =
            rows.flat_map(|row| (0..self.ranks.lo(row)).filter_map(move |at| self.row_axis(row, at).node()));
        let classes = named.chain(axes).map(|node| self.dims.find(node));
        classes.filter(|root| !std::mem::replace(&mut leaf[*root as usize], true)).collect()
    }

    /// One round: commit every candidate to its cap, except those that share a lower dimension with
    /// a candidate of another cap; those relax to the unit.
    fn commit_leaves(&mut self, candidates: &[u32]) {
        let relaxed = self.contested(candidates);
        // With arithmetic a commitment may be refused, so the order matters: by name, not by arrival.
        let mut candidates = candidates.to_vec();
        if self.has_arithmetic() && candidates.len() > 1 {
            let names = self.class_names();
            candidates.sort_by_key(|root| names.get(root).copied().unwrap_or((u32::MAX, *root)));
        }
        let step = self.choose(Policy::LeafCap, NIL);
        let to_cap = self.dims.reason(Reason::Policy(step));
        for root in &candidates {
            let Some(cap) = self.dims.cap(*root).filter(|_| self.dims.value(*root).is_none()) else {
                continue;
            };
            let (reason, value) = match relaxed.get(root) {
                Some(rivalry) => {
                    let step = self.choose(Policy::RelaxedLeaf, NIL);
                    self.rivalries.insert(step, rivalry.clone());
                    (self.dims.reason(Reason::Policy(step)), DimTerm::UNIT)
                }
                None => (to_cap, cap),
            };
            if !self.has_arithmetic() {
                let outcome = self.dims.commit(&mut self.trail, *root, value, reason);
                debug_assert!(outcome.is_ok(), "leaf commitments are compatible by construction");
            } else {
                self.commit_if_it_fits(*root, value, reason);
            }
        }
    }

    /// Commits a leaf, unless arithmetic has no room for the size: then it is left to the guesses.
    fn commit_if_it_fits(&mut self, root: u32, value: DimTerm, reason: ReasonId) {
        let mark = self.mark();
        let outcome = self.dims.commit(&mut self.trail, root, value, reason);
        self.symbols.guessing = true;
        let outcome = outcome.and_then(|()| self.propagate());
        self.symbols.guessing = false;
        match outcome {
            Ok(()) => self.forget(mark),
            Err(conflict) => {
                self.symbols.undecided |= conflict == Conflict::TooMuch(Limit::Expressions);
                let capped = std::mem::take(&mut self.dims.capped);
                self.undo(mark);
                self.dims.capped = capped;
            }
        }
    }

    /// The candidates whose down-set meets that of a candidate with another cap, and why.
    fn contested(&self, candidates: &[u32]) -> FxHashMap<u32, Rivalry> {
        let mut claims: FxHashMap<u32, Claim> = FxHashMap::default();
        let mut relaxed: FxHashMap<u32, Rivalry> = FxHashMap::default();
        let mut stack = Vec::new();
        let mut above: FxHashSet<u32> = FxHashSet::default();
        // A leaf with nothing below it meets nobody.
        for root in candidates.iter().filter(|root| self.dims.down(**root).next().is_some()) {
            let Some(cap) = self.dims.cap(*root) else { continue };
            stack.push((*root, Claim { leaf: *root, cap, edge: NIL }));
            while let Some((class, claim)) = stack.pop() {
                match claims.get(&class) {
                    None => {
                        claims.insert(class, claim);
                        for edge in self.dims.down(class) {
                            let below = self.dims.find(self.dims.edge(edge).lo);
                            if self.dims.value(below).is_none() {
                                stack.push((below, Claim { edge, ..claim }));
                            }
                        }
                    }
                    Some(other) if other.cap != claim.cap && !above.contains(&class) => {
                        let mut edges = self.path_up(&claims, other.edge);
                        edges.extend(self.path_up(&claims, claim.edge));
                        let rivalry = Rivalry { leaves: vec![other.leaf, claim.leaf], edges };
                        self.relax_above(class, candidates, &rivalry, &mut above, &mut relaxed);
                    }
                    Some(_) => {}
                }
            }
        }
        relaxed
    }

    /// The adjacencies from a class up to the leaf that claims it.
    fn path_up(&self, claims: &FxHashMap<u32, Claim>, mut edge: u32) -> Vec<u32> {
        let mut edges = Vec::new();
        while edge != NIL && edges.len() <= claims.len() {
            edges.push(edge);
            let above = self.dims.find(self.dims.edge(edge).hi);
            edge = claims.get(&above).map_or(NIL, |claim| claim.edge);
        }
        edges
    }

    /// Every candidate above a contested class relaxes.
    fn relax_above(
        &self,
        contested: u32,
        candidates: &[u32],
        rivalry: &Rivalry,
        seen: &mut FxHashSet<u32>,
        relaxed: &mut FxHashMap<u32, Rivalry>,
    ) {
        let mut stack = vec![contested];
        while let Some(class) = stack.pop() {
            if seen.insert(class) {
                stack.extend(self.neighbours(self.dims.up(class).map(|edge| self.dims.edge(edge).hi)));
                if candidates.binary_search(&class).is_ok() {
                    relaxed.entry(class).or_insert_with(|| rivalry.clone());
                }
            }
        }
    }

    /// The classes without a value among some nodes.
    fn neighbours(&self, nodes: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
        nodes.map(|node| self.dims.find(node)).filter(|root| self.dims.value(*root).is_none())
    }
}
