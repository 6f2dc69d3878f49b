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
use super::closing::{Closing, Unfilled};
use super::reason::{NIL, Policy, Reason};
use crate::term::{DimTerm, DimVar, Role, RowVar};

impl Solver {
    /// Step 4.
    pub(crate) fn close_dims(&mut self, closing: &mut Closing) {
        let leaves = self.leaf_classes();
        self.dims.capped.clear();
        let mut round: Vec<u32> = leaves.keys().copied().collect();
        while !round.is_empty() {
            let candidates = self.candidates(&round, &leaves);
            self.commit_leaves(&candidates);
            round = std::mem::take(&mut self.dims.capped);
        }
        self.find_unfilled(closing);
    }

    /// The classes that contain a leaf dimension.
    fn leaf_classes(&self) -> FxHashMap<u32, ()> {
        let named = self.dim_vars.iter().filter(|(_, role)| *role != Role::Interior).map(|(node, _)| *node);
        let rows = (0..self.rows.len() as u32).filter(|row| self.rows.role(*row) != Role::Interior);
        let axes =
            rows.flat_map(|row| (0..self.ranks.lo(row)).filter_map(move |at| self.rows.axis(row, at).node()));
        named.chain(axes).map(|node| (self.dims.find(node), ())).collect()
    }

    /// The leaf classes of a round that have a cap and no value, with the cap.
    fn candidates(&self, round: &[u32], leaves: &FxHashMap<u32, ()>) -> FxHashMap<u32, DimTerm> {
        let open = |root: &u32| leaves.contains_key(root) && self.dims.value(*root).is_none();
        let roots = round.iter().map(|node| self.dims.find(*node)).filter(open);
        roots.filter_map(|root| self.dims.cap(root).map(|cap| (root, cap))).collect()
    }

    /// One round: commit every candidate to its cap, except those that share a lower dimension with
    /// a candidate of another cap; those relax to the unit.
    fn commit_leaves(&mut self, candidates: &FxHashMap<u32, DimTerm>) {
        let relaxed = self.contested(candidates);
        let mut order: Vec<u32> = candidates.keys().copied().collect();
        order.sort_unstable();
        for root in order {
            let (policy, value) = if relaxed.contains(&root) {
                (Policy::RelaxedLeaf, DimTerm::UNIT)
            } else {
                (Policy::LeafCap, candidates[&root])
            };
            if self.dims.value(self.dims.find(root)).is_none() {
                let step = self.choose(policy, NIL);
                let reason = self.dims.reason(Reason::Policy(step));
                let outcome = self.dims.commit(&mut self.trail, root, value, reason);
                debug_assert!(outcome.is_ok(), "leaf commitments are compatible by construction");
            }
        }
    }

    /// The candidates whose down-set meets that of a candidate with another cap.
    fn contested(&self, candidates: &FxHashMap<u32, DimTerm>) -> FxHashSet<u32> {
        let mut wanted: FxHashMap<u32, DimTerm> = FxHashMap::default();
        let mut contested = Vec::new();
        for (root, cap) in candidates {
            let mut stack = vec![*root];
            while let Some(class) = stack.pop() {
                match wanted.insert(class, *cap) {
                    None => stack
                        .extend(self.neighbours(self.dims.down(class).map(|edge| self.dims.edge(edge).lo))),
                    Some(other) if other != *cap => contested.push(class),
                    Some(_) => {}
                }
            }
        }
        let mut above: FxHashSet<u32> = FxHashSet::default();
        while let Some(class) = contested.pop() {
            if above.insert(class) {
                contested.extend(self.neighbours(self.dims.up(class).map(|edge| self.dims.edge(edge).hi)));
            }
        }
        above.retain(|class| candidates.contains_key(class));
        above
    }

    /// The classes without a value among some nodes.
    fn neighbours(&self, nodes: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
        nodes.map(|node| self.dims.find(node)).filter(|root| self.dims.value(*root).is_none())
    }

    /// Parameters with a hole: a position without a value after all commitments.
    fn find_unfilled(&self, closing: &mut Closing) {
        let hole = |term: DimTerm| term.is_none() || !self.dims.resolve(term).is_ground();
        for (node, role) in &self.dim_vars {
            if *role == Role::Param && hole(DimTerm(*node)) {
                closing.unfilled.push(Unfilled::Dim(DimVar(*node)));
            }
        }
        for row in (0..self.rows.len() as u32).filter(|row| self.rows.role(*row) == Role::Param) {
            for at in 0..self.ranks.lo(row) {
                if hole(self.rows.axis(row, at)) {
                    closing.unfilled.push(Unfilled::Axis(RowVar(row), at));
                }
            }
        }
    }
}
