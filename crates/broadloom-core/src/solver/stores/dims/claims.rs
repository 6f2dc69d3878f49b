//! Classes in arithmetic: bounds on their sizes, and what follows from a claim to have one.

use crate::form::Symbol;
use crate::ids::{AdjacencyId, SizeId};
use crate::order::Basis;
use crate::solver::stores::dims::{Adjacency, ClassNode, Dims, Event};
use crate::solver::stores::reason::{Conflict, Outcome, Reason, ReasonId};
use crate::solver::stores::sizes::ANY;
use crate::solver::stores::trail::{Trail, set};
use crate::term::{DimTerm, DimVar};

impl Dims {
    /// Notes that a class is not empty.
    pub fn not_empty(&mut self, trail: &mut Trail, node: DimVar, reason: ReasonId) -> Outcome {
        if self.may_be_empty(self.find(node)) { self.narrow(trail, node, (1, ANY), reason) } else { Ok(()) }
    }

    /// True if the class of a representative may have size zero.
    pub(super) fn may_be_empty(&self, root: DimVar) -> bool {
        self.extra_of(root).is_some_and(|extra| self.sizes.get(extra).lo == 0)
    }

    /// True if the class of a representative claims a size.
    pub fn claims(&self, root: DimVar) -> bool {
        let extra = self.nodes[root].extra;
        extra != SizeId::NIL && self.sizes.claims(extra)
    }

    /// A class that is not the unit is its cap.
    pub(super) fn take_claimed_cap(&mut self, trail: &mut Trail, root: DimVar) -> Outcome {
        let ClassNode { cap, value, .. } = self.nodes[root];
        if cap.is_none() || !value.is_none() || !self.claims(root) {
            return Ok(());
        }
        let node = self.whys[root].cap_node;
        let reason = self.reason(Reason::ClaimedCap { node });
        self.set_value(trail, node, cap, reason)
    }

    /// A class below one that is not the unit is equal to it.
    pub(super) fn equate_claimed(&mut self, trail: &mut Trail, edge: AdjacencyId) -> Outcome {
        let Adjacency { lo, hi, .. } = self.edges[edge];
        let reason = self.reason(Reason::Claimed { edge });
        self.merge(trail, lo, hi, reason)
    }

    /// A class claims a size: its cap, if it has one, is its value, and what is below is equal.
    pub(super) fn claim_event(&mut self, trail: &mut Trail, root: DimVar) -> Outcome {
        let root = self.find(root);
        if self.nodes[root].value != DimTerm::NONE {
            return Ok(());
        }
        self.take_claimed_cap(trail, root)?;
        let below: Vec<AdjacencyId> = self.down(root).collect();
        below.into_iter().try_for_each(|edge| self.equate_claimed(trail, edge))
    }

    /// The record of sizes of a node's class, made if there is none.
    pub fn extra(&mut self, trail: &mut Trail, node: DimVar) -> SizeId {
        let root = self.find(node);
        if self.nodes[root].extra == SizeId::NIL {
            let extra = self.sizes.fresh(1);
            set!(trail, Extra, root, self.nodes[root].extra, extra);
        }
        self.nodes[root].extra
    }

    /// A new variable that may have size zero.
    pub fn fresh_discardable(&mut self) -> DimVar {
        let node = self.fresh();
        self.nodes[node].extra = self.sizes.fresh(0);
        node
    }

    /// A new variable that is a symbol.
    pub fn fresh_symbol(&mut self, symbol: Symbol, dynamic: bool) -> DimVar {
        let node = self.fresh();
        self.nodes[node].extra = self.sizes.fresh_symbol(symbol, dynamic, Basis::DEFAULT);
        node
    }

    /// The symbol that the class of a representative is, if it is one.
    pub fn tag(&self, root: DimVar) -> Option<Symbol> {
        self.extra_of(root).and_then(|extra| self.sizes.tag(extra))
    }

    /// The record of sizes of a representative, if there is one.
    pub fn extra_of(&self, root: DimVar) -> Option<SizeId> {
        self.nodes[root].extra.some()
    }

    /// Narrows the bounds on the size of a class; from two on, it claims one.
    pub fn narrow(
        &mut self,
        trail: &mut Trail,
        node: DimVar,
        bounds: (u64, u64),
        reason: ReasonId,
    ) -> Outcome {
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
    pub fn basis(&self, root: DimVar) -> Option<Basis> {
        self.sizes.basis(self.extra_of(root)?)
    }

    /// Notes the basis of a class.
    pub fn set_basis(&mut self, trail: &mut Trail, node: DimVar, basis: Basis, reason: ReasonId) {
        let extra = self.extra(trail, node);
        if self.sizes.set_basis(trail, extra, basis, node, reason) {
            self.woken.push(self.find(node));
        }
    }

    /// Notes that a class is not the unit.
    pub fn claim(&mut self, trail: &mut Trail, node: DimVar, reason: ReasonId) -> Outcome {
        let extra = self.extra(trail, node);
        if self.sizes.claim(trail, extra, node, reason) {
            let root = self.find(node);
            if self.nodes[root].value == DimTerm::UNIT {
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
        keep: DimVar,
        kept: ClassNode,
        lost: ClassNode,
    ) -> Outcome {
        let extra = match (kept.extra, lost.extra) {
            (SizeId::NIL, SizeId::NIL) => return Ok(()),
            (SizeId::NIL, extra) => {
                set!(trail, Extra, keep, self.nodes[keep].extra, extra);
                extra
            }
            (extra, SizeId::NIL) => extra,
            (extra, gone) => {
                self.sizes.join(trail, extra, gone);
                extra
            }
        };
        self.woken.push(keep);
        if kept.extra == SizeId::NIL || lost.extra == SizeId::NIL {
            // A variable that arithmetic does not mention is never empty.
            self.sizes.narrow(trail, extra, (1, ANY), keep, ReasonId::NIL);
        }
        if self.sizes.claims(extra) {
            let unit = DimTerm::UNIT;
            if kept.value == unit || lost.value == unit {
                return Err(Conflict::Claim { node: keep, reason: ReasonId::NIL });
            }
            self.events.push(Event::Claim(keep));
        }
        Ok(())
    }
}
