//! Classes in arithmetic: bounds on their sizes, and what follows from a claim to have one.

use crate::ids::NIL;
use crate::order::Basis;
use crate::solver::stores::dims::{Adjacency, ClassNode, Dims, Event};
use crate::solver::stores::reason::{Conflict, Outcome, Reason, ReasonId};
use crate::solver::stores::sizes::ANY;
use crate::solver::stores::trail::{Trail, set};
use crate::term::DimTerm;

impl Dims {
    /// Notes that a class is not empty.
    pub fn not_empty(&mut self, trail: &mut Trail, node: u32, reason: ReasonId) -> Outcome {
        if self.may_be_empty(self.find(node)) { self.narrow(trail, node, (1, ANY), reason) } else { Ok(()) }
    }

    /// True if the class of a representative may have size zero.
    pub(super) fn may_be_empty(&self, root: u32) -> bool {
        self.extra_of(root).is_some_and(|extra| self.sizes.get(extra).lo == 0)
    }

    /// True if the class of a representative claims a size.
    pub fn claims(&self, root: u32) -> bool {
        let extra = self.nodes[root as usize].extra;
        extra != NIL && self.sizes.claims(extra)
    }

    /// A class that is not the unit is its cap.
    pub(super) fn take_claimed_cap(&mut self, trail: &mut Trail, root: u32) -> Outcome {
        let ClassNode { cap, value, .. } = self.nodes[root as usize];
        if cap == NIL || value != NIL || !self.claims(root) {
            return Ok(());
        }
        let node = self.whys[root as usize].cap_node;
        let reason = self.reason(Reason::ClaimedCap { node });
        self.set_value(trail, node, DimTerm(cap), reason)
    }

    /// A class below one that is not the unit is equal to it.
    pub(super) fn equate_claimed(&mut self, trail: &mut Trail, edge: u32) -> Outcome {
        let Adjacency { lo, hi, .. } = self.edges[edge as usize];
        let reason = self.reason(Reason::Claimed { edge });
        self.merge(trail, lo, hi, reason)
    }

    /// A class claims a size: its cap, if it has one, is its value, and what is below is equal.
    pub(super) fn claim_event(&mut self, trail: &mut Trail, root: u32) -> Outcome {
        let root = self.find(root);
        if self.nodes[root as usize].value != NIL {
            return Ok(());
        }
        self.take_claimed_cap(trail, root)?;
        let below: Vec<u32> = self.down(root).collect();
        below.into_iter().try_for_each(|edge| self.equate_claimed(trail, edge))
    }

    /// The record of sizes of a node's class, made if there is none.
    pub fn extra(&mut self, trail: &mut Trail, node: u32) -> u32 {
        let root = self.find(node);
        if self.nodes[root as usize].extra == NIL {
            let extra = self.sizes.fresh(1);
            set!(trail, Extra, root, self.nodes[root as usize].extra, extra);
        }
        self.nodes[root as usize].extra
    }

    /// A new variable that may have size zero.
    pub fn fresh_discardable(&mut self) -> u32 {
        let node = self.fresh();
        self.nodes[node as usize].extra = self.sizes.fresh(0);
        node
    }

    /// A new variable that is a symbol.
    pub fn fresh_symbol(&mut self, symbol: u32, dynamic: bool) -> u32 {
        let node = self.fresh();
        self.nodes[node as usize].extra = self.sizes.fresh_symbol(symbol, dynamic, Basis::DEFAULT.0);
        node
    }

    /// The symbol that the class of a representative is, if it is one.
    pub fn tag(&self, root: u32) -> Option<u32> {
        self.extra_of(root).and_then(|extra| self.sizes.tag(extra))
    }

    /// The record of sizes of a representative, if there is one.
    pub fn extra_of(&self, root: u32) -> Option<u32> {
        let extra = self.nodes[root as usize].extra;
        (extra != NIL).then_some(extra)
    }

    /// Narrows the bounds on the size of a class; from two on, it claims one.
    pub fn narrow(&mut self, trail: &mut Trail, node: u32, bounds: (u64, u64), reason: ReasonId) -> Outcome {
        let extra = self.extra(trail, node);
        if self.sizes.narrow(trail, extra, bounds, node, reason) {
            self.woken.push(self.find(node));
            if self.sizes.get(extra).lo >= 2 {
                return self.claim(trail, node, reason);
            }
        }
        Ok(())
    }

    /// The basis of a class, if arithmetic knows it.
    pub fn basis(&self, root: u32) -> Option<Basis> {
        self.sizes.basis(self.extra_of(root)?).map(Basis)
    }

    /// Notes the basis of a class.
    pub fn set_basis(&mut self, trail: &mut Trail, node: u32, basis: Basis, reason: ReasonId) {
        let extra = self.extra(trail, node);
        if self.sizes.set_basis(trail, extra, basis.0, node, reason) {
            self.woken.push(self.find(node));
        }
    }

    /// Notes that a class is not the unit.
    pub fn claim(&mut self, trail: &mut Trail, node: u32, reason: ReasonId) -> Outcome {
        let extra = self.extra(trail, node);
        if self.sizes.claim(trail, extra, node, reason) {
            let root = self.find(node);
            if self.nodes[root as usize].value == DimTerm::UNIT.0 {
                return Err(Conflict::Claim { node, reason });
            }
            self.woken.push(root);
            self.events.push(Event::Claim(root));
            return self.drain(trail);
        }
        Ok(())
    }

    /// Brings what arithmetic knows of a merged class over to its new root.
    pub(super) fn merge_sizes(
        &mut self,
        trail: &mut Trail,
        keep: u32,
        kept: ClassNode,
        lost: ClassNode,
    ) -> Outcome {
        let extra = match (kept.extra, lost.extra) {
            (NIL, NIL) => return Ok(()),
            (NIL, extra) => {
                set!(trail, Extra, keep, self.nodes[keep as usize].extra, extra);
                extra
            }
            (extra, NIL) => extra,
            (extra, gone) => {
                self.sizes.join(trail, extra, gone);
                extra
            }
        };
        self.woken.push(keep);
        if kept.extra == NIL || lost.extra == NIL {
            // A variable that arithmetic does not mention is never empty.
            self.sizes.narrow(trail, extra, (1, ANY), keep, ReasonId(NIL));
        }
        if self.sizes.claims(extra) {
            let unit = DimTerm::UNIT.0;
            if kept.value == unit || lost.value == unit {
                return Err(Conflict::Claim { node: keep, reason: ReasonId(NIL) });
            }
            self.events.push(Event::Claim(keep));
        }
        Ok(())
    }
}
