//! The dimension store: classes, values, caps and adjacencies (Formal Core, Defs. 4.1 and 4.2).
//!
//! Each variable is a node; equal nodes form a class in a union-find. A class has at most one
//! ground value, at most one atom cap, and adjacency lists to the classes above and below it. The
//! rules of Def. 4.2 are [`equate`](Dims::equate) (the `DE-…` rules) and [`refine`](Dims::refine)
//! (the `DI-…` rules); what they defer is kept as an [`Adjacency`] and replayed when an end learns
//! something. Each class changes at most three times (cap, value, merge), and an edge is looked at
//! once per change of its ends, so the work is linear in the number of edges.
//!
//! After propagation without conflict, giving the unit to every class without a value is a
//! solution (Prop. 5.4): at fixed ranks and markers the order needs no search.
//!
//! The reasons for equalities are in a proof forest beside the union-find: one tree per class, an
//! edge per merge, so the reason for `x = y` is the tree path between them.

mod claims;

use crate::ids::{AdjacencyId, IdVec, SizeId};
use crate::solver::stores::reason::{Conflict, Outcome, Reason, ReasonId};
use crate::solver::stores::sizes::{Sizes, SizesMark};
use crate::solver::stores::trail::{Cell, Entry, Trail, set};
use crate::term::{DimTerm, DimVar};

/// A class representative's state; only `parent` matters on other nodes.
#[derive(Clone, Copy)]
struct ClassNode {
    parent: DimVar,
    size: u32,
    /// A ground term, or `NONE`.
    value: DimTerm,
    /// An atom, or `NONE`.
    cap: DimTerm,
    /// Adjacencies whose lower end is in this class.
    up: List,
    /// Adjacencies whose upper end is in this class.
    down: List,
    /// The record of the class's size, or `NIL`.
    extra: SizeId,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct List {
    head: AdjacencyId,
    tail: AdjacencyId,
}

const EMPTY: List = List { head: AdjacencyId::NIL, tail: AdjacencyId::NIL };

/// Reasons, read only by explanations.
#[derive(Clone, Copy)]
struct Why {
    /// Parent in the proof forest, and the reason for that equality.
    forest: DimVar,
    forest_reason: ReasonId,
    /// On a representative: the node at which the class's value was recorded.
    value_node: DimVar,
    /// On that node: the reason.
    value_reason: ReasonId,
    cap_node: DimVar,
    cap_reason: ReasonId,
}

/// A dimension inequality between two nodes (`DI-adj`).
#[derive(Clone, Copy)]
pub(crate) struct Adjacency {
    /// The result, below.
    pub lo: DimVar,
    /// The operand, above.
    pub hi: DimVar,
    next_up: AdjacencyId,
    next_down: AdjacencyId,
    pub reason: ReasonId,
}

#[derive(Clone, Copy)]
enum Event {
    Value(DimVar),
    Cap(DimVar),
    Claim(DimVar),
}

/// The store of dimension variables.
#[derive(Clone, Default)]
pub(crate) struct Dims {
    nodes: IdVec<DimVar, ClassNode>,
    whys: IdVec<DimVar, Why>,
    edges: IdVec<AdjacencyId, Adjacency>,
    reasons: IdVec<ReasonId, Reason>,
    events: Vec<Event>,
    /// Work done: events handled and edges looked at.
    pub steps: u64,
    /// True if the policy stage is under way.
    pub closing: bool,
    /// While closing: classes that received a cap, so that new candidates are found without a scan.
    pub capped: Vec<DimVar>,
    pub sizes: Sizes,
    /// Classes in arithmetic about which something became known.
    pub woken: Vec<DimVar>,
    /// The atom of size zero, once there is one: only discardable variables may be it.
    pub zero: Option<DimTerm>,
}

/// Lengths to cut back to on undo.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DimsMark {
    nodes: usize,
    edges: usize,
    reasons: usize,
    sizes: SizesMark,
}

impl Dims {
    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.whys.clear();
        self.edges.clear();
        self.reasons.clear();
        self.events.clear();
        self.capped.clear();
        self.sizes.clear();
        self.woken.clear();
        (self.steps, self.closing, self.zero) = (0, false, None);
    }

    /// A new variable.
    pub fn fresh(&mut self) -> DimVar {
        let id = self.nodes.next();
        self.nodes.push(ClassNode {
            parent: id,
            size: 1,
            value: DimTerm::NONE,
            cap: DimTerm::NONE,
            up: EMPTY,
            down: EMPTY,
            extra: SizeId::NIL,
        });
        let none = ReasonId::NIL;
        self.whys.push(Why {
            forest: DimVar::NIL,
            forest_reason: none,
            value_node: DimVar::NIL,
            value_reason: none,
            cap_node: DimVar::NIL,
            cap_reason: none,
        });
        id
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// All variables, in the order they were made.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = DimVar> + use<> {
        self.nodes.ids()
    }

    pub fn edge_count(&self) -> u32 {
        self.edges.len() as u32
    }

    /// Records a reason.
    pub fn reason(&mut self, reason: Reason) -> ReasonId {
        self.reasons.push(reason)
    }

    /// The recorded reason behind an id that is not a constraint.
    pub fn reason_at(&self, id: ReasonId) -> Option<Reason> {
        self.reasons.get(id).copied()
    }

    /// The representative of a node's class. Union by size keeps the path logarithmic, so no
    /// compression is needed and reading stays free of writes.
    #[inline]
    pub fn find(&self, mut node: DimVar) -> DimVar {
        loop {
            let parent = self.nodes[node].parent;
            if parent == node {
                return node;
            }
            node = parent;
        }
    }

    /// The term with its variable replaced by its class's value, if it has one.
    #[inline]
    pub fn resolve(&self, term: DimTerm) -> DimTerm {
        match term.var() {
            Some(node) => {
                let root = self.find(node);
                let value = self.nodes[root].value;
                if value.is_none() { root.into() } else { value }
            }
            None => term,
        }
    }

    /// The value of a representative.
    pub fn value(&self, root: DimVar) -> Option<DimTerm> {
        let value = self.nodes[root].value;
        (!value.is_none()).then_some(value)
    }

    /// The atom cap of a representative.
    pub fn cap(&self, root: DimVar) -> Option<DimTerm> {
        let cap = self.nodes[root].cap;
        (!cap.is_none()).then_some(cap)
    }

    /// `t1 = t2`: rules `DE-refl`, `DE-clash` and `DE-bind`.
    pub fn equate(&mut self, trail: &mut Trail, a: DimTerm, b: DimTerm, reason: ReasonId) -> Outcome {
        match (a.var(), b.var()) {
            (None, None) if a == b => Ok(()),
            (None, None) => Err(Conflict::Ground { a, b, reason }),
            (Some(node), None) => self.set_value(trail, node, b, reason),
            (None, Some(node)) => self.set_value(trail, node, a, reason),
            (Some(a), Some(b)) => self.merge(trail, a, b, reason),
        }?;
        self.drain(trail)
    }

    /// `res ⊑ opnd`: the `DI-…` rules.
    pub fn refine(&mut self, trail: &mut Trail, res: DimTerm, opnd: DimTerm, reason: ReasonId) -> Outcome {
        match (res.var(), opnd.var()) {
            // DI-top, DI-ground.
            _ if opnd == DimTerm::UNIT || res == opnd => return Ok(()),
            (None, None) => {
                return Err(Conflict::Ground { a: res, b: opnd, reason });
            }
            // DI-pin: only the atom itself is below an atom.
            (Some(node), None) => self.set_value(trail, node, opnd, reason)?,
            // DI-pin-top: only the top is above the top.
            (None, Some(node)) if res == DimTerm::UNIT => self.set_value(trail, node, res, reason)?,
            // DI-cap.
            (None, Some(node)) => self.add_cap(trail, node, res, reason)?,
            (Some(lo), Some(hi)) => self.adjoin(trail, lo, hi, reason)?,
        }
        self.drain(trail)
    }

    /// `α ⊑ β` (DI-refl, DI-adj), with the rules above applied at once where an end is known.
    fn adjoin(&mut self, trail: &mut Trail, lo: DimVar, hi: DimVar, reason: ReasonId) -> Outcome {
        let (below, above) = (self.find(lo), self.find(hi));
        let (lo_value, hi_value) = (self.value(below), self.value(above));
        if below == above || hi_value == Some(DimTerm::UNIT) {
            return Ok(());
        }
        let (next_up, next_down) = (AdjacencyId::NIL, AdjacencyId::NIL);
        let edge = self.edges.push(Adjacency { lo, hi, next_up, next_down, reason });
        if hi_value.is_some() {
            return self.flow_down(trail, edge);
        }
        if lo_value.is_some() {
            return self.flow_up(trail, edge);
        }
        if self.claims(above) {
            return self.equate_claimed(trail, edge);
        }
        self.link_up(trail, below, List { head: edge, tail: edge });
        self.link_down(trail, above, List { head: edge, tail: edge });
        if !self.nodes[below].cap.is_none() { self.flow_up(trail, edge) } else { Ok(()) }
    }

    /// The upper end is an atom: pin the lower end to it.
    fn flow_down(&mut self, trail: &mut Trail, edge: AdjacencyId) -> Outcome {
        let Adjacency { lo, hi, .. } = self.edges[edge];
        let above = self.find(hi);
        if let Some(value) = self.value(above).filter(|value| *value != DimTerm::UNIT) {
            if self.tag(above).is_some() {
                // A symbol that has a size is still a symbol, and so is what equals it.
                return self.equate_claimed(trail, edge);
            }
            let from = self.whys[above].value_node;
            let reason = self.reason(Reason::FlowDown { edge, from });
            self.set_value(trail, lo, value, reason)?;
        }
        Ok(())
    }

    /// The lower end has a value or a cap: the upper end is capped by it, or is the unit.
    fn flow_up(&mut self, trail: &mut Trail, edge: AdjacencyId) -> Outcome {
        let Adjacency { lo, hi, .. } = self.edges[edge];
        let below = self.find(lo);
        let above = self.find(hi);
        if self.nodes[above].value == DimTerm::UNIT {
            return Ok(());
        }
        let ClassNode { value, cap, .. } = self.nodes[below];
        if !value.is_none() {
            let from = self.whys[below].value_node;
            let reason = self.reason(Reason::FlowUp { edge, from });
            if value == DimTerm::UNIT {
                self.set_value(trail, hi, DimTerm::UNIT, reason)
            } else {
                self.add_cap(trail, hi, value, reason)
            }
        } else if !cap.is_none() && self.nodes[above].cap != cap {
            let from = self.whys[below].cap_node;
            let reason = self.reason(Reason::FlowCap { edge, from });
            self.add_cap(trail, hi, cap, reason)
        } else {
            Ok(())
        }
    }

    /// Gives a class its value and queues the consequences.
    pub fn set_value(
        &mut self,
        trail: &mut Trail,
        node: DimVar,
        value: DimTerm,
        reason: ReasonId,
    ) -> Outcome {
        let root = self.find(node);
        let ClassNode { value: have, cap, .. } = self.nodes[root];
        if have == value {
            return Ok(());
        }
        if !have.is_none() {
            return Err(Conflict::Value { node, have, want: value, reason });
        }
        if !cap.is_none() && value != DimTerm::UNIT && cap != value {
            return Err(Conflict::Cap { node, cap, want: value, reason });
        }
        if Some(value) == self.zero {
            // The record of sizes says that it is not empty.
            self.extra(trail, root);
        }
        if self.nodes[root].extra != SizeId::NIL {
            if value == DimTerm::UNIT && self.claims(root) {
                return Err(Conflict::Claim { node, reason });
            }
            self.woken.push(root);
        }
        set!(trail, Value, root, self.nodes[root].value, value);
        self.whys[root].value_node = node;
        self.whys[node].value_reason = reason;
        let ClassNode { up, down, .. } = self.nodes[root];
        if up.head != AdjacencyId::NIL || down.head != AdjacencyId::NIL {
            self.events.push(Event::Value(root));
        }
        Ok(())
    }

    /// DI-cap: record, discard, or collapse to the unit.
    fn add_cap(&mut self, trail: &mut Trail, node: DimVar, atom: DimTerm, reason: ReasonId) -> Outcome {
        let root = self.find(node);
        let ClassNode { value, cap, .. } = self.nodes[root];
        if value == DimTerm::UNIT || value == atom || (value.is_none() && cap == atom) {
            return Ok(());
        }
        if !value.is_none() {
            return Err(Conflict::Value { node, have: value, want: atom, reason });
        }
        if Some(atom) == self.zero && !self.may_be_empty(root) {
            return self.set_value(trail, node, DimTerm::UNIT, reason);
        }
        if !cap.is_none() {
            let first = self.whys[root].cap_node;
            let collapse = self.reason(Reason::TwoCaps { node: first, second: reason });
            return self.set_value(trail, node, DimTerm::UNIT, collapse);
        }
        set!(trail, Cap, root, self.nodes[root].cap, atom);
        self.whys[root].cap_node = node;
        self.whys[node].cap_reason = reason;
        if self.closing {
            self.capped.push(root);
        }
        if self.nodes[root].up.head != AdjacencyId::NIL {
            self.events.push(Event::Cap(root));
        }
        if self.nodes[root].extra != SizeId::NIL {
            self.woken.push(root);
            return self.take_claimed_cap(trail, root);
        }
        Ok(())
    }

    /// Gives a class its value and follows every consequence; for policy steps.
    pub fn commit(&mut self, trail: &mut Trail, node: DimVar, value: DimTerm, reason: ReasonId) -> Outcome {
        self.set_value(trail, node, value, reason)?;
        self.drain(trail)
    }

    #[inline]
    fn drain(&mut self, trail: &mut Trail) -> Outcome {
        if self.events.is_empty() { Ok(()) } else { self.drain_events(trail) }
    }

    fn drain_events(&mut self, trail: &mut Trail) -> Outcome {
        while let Some(event) = self.events.pop() {
            self.steps += 1;
            // A claim merges classes, so a representative may have been absorbed since.
            let result = match event {
                Event::Value(root) => self.value_event(trail, self.find(root)),
                Event::Cap(root) => self.each_up(trail, self.find(root)),
                Event::Claim(root) => self.claim_event(trail, root),
            };
            if result.is_err() {
                self.events.clear();
                return result;
            }
        }
        Ok(())
    }

    /// A class got its value: tell its neighbours, then let go of the adjacencies, which are now
    /// discharged; a later merge must not look at them again.
    fn value_event(&mut self, trail: &mut Trail, root: DimVar) -> Outcome {
        if self.nodes[root].value != DimTerm::UNIT {
            let mut edge = self.nodes[root].down.head;
            while edge != AdjacencyId::NIL {
                self.steps += 1;
                self.flow_down(trail, edge)?;
                edge = self.edges[edge].next_down;
            }
        }
        self.each_up(trail, root)?;
        set!(trail, UpHead, root, self.nodes[root].up.head, AdjacencyId::NIL);
        set!(trail, UpTail, root, self.nodes[root].up.tail, AdjacencyId::NIL);
        set!(trail, DownHead, root, self.nodes[root].down.head, AdjacencyId::NIL);
        set!(trail, DownTail, root, self.nodes[root].down.tail, AdjacencyId::NIL);
        Ok(())
    }

    fn each_up(&mut self, trail: &mut Trail, root: DimVar) -> Outcome {
        let mut edge = self.nodes[root].up.head;
        while edge != AdjacencyId::NIL {
            self.steps += 1;
            self.flow_up(trail, edge)?;
            edge = self.edges[edge].next_up;
        }
        Ok(())
    }

    /// `α = β`: one class, with the facts of both.
    fn merge(&mut self, trail: &mut Trail, a: DimVar, b: DimVar, reason: ReasonId) -> Outcome {
        let (root_a, root_b) = (self.find(a), self.find(b));
        if root_a == root_b {
            return Ok(());
        }
        let larger = self.nodes[root_a].size >= self.nodes[root_b].size;
        let (keep, gone) = if larger { (root_a, root_b) } else { (root_b, root_a) };
        let (kept, lost) = (self.nodes[keep], self.nodes[gone]);
        if !kept.value.is_none() && !lost.value.is_none() && kept.value != lost.value {
            return Err(Conflict::Merge { a, b, reason });
        }
        if kept.extra != SizeId::NIL
            && lost.extra != SizeId::NIL
            && self.sizes.name_two(kept.extra, lost.extra)
        {
            return Err(Conflict::Symbols { a, b, reason });
        }
        // Turning the smaller tree round keeps the total work near linear.
        let (child, parent) = if keep == root_b { (a, b) } else { (b, a) };
        self.link_forest(trail, child, parent, reason);
        set!(trail, Parent, gone, self.nodes[gone].parent, keep);
        set!(trail, Size, keep, self.nodes[keep].size, kept.size + lost.size);
        self.merge_facts(trail, keep, gone, kept, lost)
    }

    /// Brings the value, the cap and the adjacencies of a merged class over to its new root.
    fn merge_facts(
        &mut self,
        trail: &mut Trail,
        keep: DimVar,
        gone: DimVar,
        kept: ClassNode,
        lost: ClassNode,
    ) -> Outcome {
        self.merge_sizes(trail, keep, kept, lost)?;
        let mut value_from = None;
        if kept.value.is_none() && !lost.value.is_none() {
            value_from = Some((self.whys[gone].value_node, lost.value));
        }
        // The lower bound of either side now bounds both.
        let mut cap_from = None;
        if !lost.cap.is_none() && lost.cap != kept.cap {
            cap_from = Some((self.whys[gone].cap_node, lost.cap));
        }
        // Whatever the kept class knows must reach the neighbours of the lost one.
        if kept.value.is_none() && !kept.cap.is_none() {
            let mut edge = lost.up.head;
            while edge != AdjacencyId::NIL {
                self.steps += 1;
                self.flow_up(trail, edge)?;
                edge = self.edges[edge].next_up;
            }
        }
        self.link_up(trail, keep, lost.up);
        self.link_down(trail, keep, lost.down);
        if let Some((node, value)) = value_from {
            let reason = self.whys[node].value_reason;
            self.set_value(trail, node, value, reason)?;
        } else if !kept.value.is_none() {
            self.events.push(Event::Value(keep));
        }
        if let Some((node, cap)) = cap_from {
            let reason = self.whys[node].cap_reason;
            self.add_cap(trail, node, cap, reason)?;
        }
        Ok(())
    }

    fn link_up(&mut self, trail: &mut Trail, root: DimVar, list: List) {
        if list.head == AdjacencyId::NIL {
            return;
        }
        match self.nodes[root].up.tail {
            AdjacencyId::NIL => set!(trail, UpHead, root, self.nodes[root].up.head, list.head),
            tail => set!(trail, NextUp, tail, self.edges[tail].next_up, list.head),
        }
        set!(trail, UpTail, root, self.nodes[root].up.tail, list.tail);
    }

    fn link_down(&mut self, trail: &mut Trail, root: DimVar, list: List) {
        if list.head == AdjacencyId::NIL {
            return;
        }
        match self.nodes[root].down.tail {
            AdjacencyId::NIL => set!(trail, DownHead, root, self.nodes[root].down.head, list.head),
            tail => set!(trail, NextDown, tail, self.edges[tail].next_down, list.head),
        }
        set!(trail, DownTail, root, self.nodes[root].down.tail, list.tail);
    }

    /// Adds `a = b` to the proof forest: turn `a`'s tree round so that `a` is its root, then hang
    /// it under `b`.
    fn link_forest(&mut self, trail: &mut Trail, a: DimVar, b: DimVar, reason: ReasonId) {
        let (mut node, mut parent, mut why) = (a, b, reason);
        while node != DimVar::NIL {
            let (old_parent, old_why) = (self.whys[node].forest, self.whys[node].forest_reason);
            set!(trail, Forest, node, self.whys[node].forest, parent);
            set!(trail, ForestReason, node, self.whys[node].forest_reason, why);
            (parent, why, node) = (node, old_why, old_parent);
        }
    }
}

/// Reading, for closing and explanations.
impl Dims {
    pub fn edge(&self, edge: AdjacencyId) -> Adjacency {
        self.edges[edge]
    }

    /// All adjacencies, in the order they were made.
    pub fn edges(&self) -> impl Iterator<Item = Adjacency> + '_ {
        self.edges.iter().copied()
    }

    /// Adjacencies above a representative.
    pub fn up(&self, root: DimVar) -> impl Iterator<Item = AdjacencyId> + '_ {
        let mut next = self.nodes[root].up.head;
        std::iter::from_fn(move || {
            let edge = next.some()?;
            next = self.edges[edge].next_up;
            Some(edge)
        })
    }

    /// Adjacencies below a representative.
    pub fn down(&self, root: DimVar) -> impl Iterator<Item = AdjacencyId> + '_ {
        let mut next = self.nodes[root].down.head;
        std::iter::from_fn(move || {
            let edge = next.some()?;
            next = self.edges[edge].next_down;
            Some(edge)
        })
    }

    /// The node at which a class's value was recorded, or `NIL`. Undoing takes back a value, and leaves the record: it may be about a node
    /// that is gone.
    pub fn value_node(&self, node: DimVar) -> DimVar {
        let root = self.find(node);
        if self.nodes[root].value.is_none() { DimVar::NIL } else { self.whys[root].value_node }
    }

    /// The node at which a class's cap was recorded, or `NIL`.
    pub fn cap_node(&self, node: DimVar) -> DimVar {
        let root = self.find(node);
        if self.nodes[root].cap.is_none() { DimVar::NIL } else { self.whys[root].cap_node }
    }

    pub fn value_reason(&self, node: DimVar) -> ReasonId {
        self.whys[node].value_reason
    }

    pub fn cap_reason(&self, node: DimVar) -> ReasonId {
        self.whys[node].cap_reason
    }

    /// The equalities on the proof forest path between two nodes of one class.
    pub fn path(&self, a: DimVar, b: DimVar) -> Vec<ReasonId> {
        let ancestors = |start: DimVar| {
            let mut node = start;
            std::iter::from_fn(move || {
                let here = node.some()?;
                node = self.whys[here].forest;
                Some(here)
            })
        };
        let up_a: Vec<DimVar> = ancestors(a).collect();
        let up_b: Vec<DimVar> = ancestors(b).collect();
        let shared = up_a.iter().rev().zip(up_b.iter().rev()).take_while(|(x, y)| x == y).count();
        let side_a = &up_a[..up_a.len() - shared];
        let side_b = &up_b[..up_b.len() - shared];
        side_a.iter().chain(side_b.iter().rev()).map(|node| self.whys[*node].forest_reason).collect()
    }

    pub fn mark(&self) -> DimsMark {
        DimsMark {
            nodes: self.nodes.len(),
            edges: self.edges.len(),
            reasons: self.reasons.len(),
            sizes: self.sizes.mark(),
        }
    }

    pub fn cut(&mut self, mark: DimsMark) {
        self.nodes.truncate(mark.nodes);
        self.whys.truncate(mark.nodes);
        self.edges.truncate(mark.edges);
        self.reasons.truncate(mark.reasons);
        self.sizes.cut(mark.sizes);
        self.woken.clear();
        self.capped.clear();
        self.events.clear();
    }

    /// Puts a logged word back.
    pub fn restore(&mut self, entry: Entry) {
        let Entry { cell, at, old, .. } = entry;
        let (node, edge) = (DimVar(at), AdjacencyId(at));
        match cell {
            Cell::Parent => self.nodes[node].parent = DimVar(old),
            Cell::Size => self.nodes[node].size = old,
            Cell::Value => self.nodes[node].value = DimTerm(old),
            Cell::Cap => self.nodes[node].cap = DimTerm(old),
            Cell::UpHead => self.nodes[node].up.head = AdjacencyId(old),
            Cell::UpTail => self.nodes[node].up.tail = AdjacencyId(old),
            Cell::DownHead => self.nodes[node].down.head = AdjacencyId(old),
            Cell::DownTail => self.nodes[node].down.tail = AdjacencyId(old),
            Cell::NextUp => self.edges[edge].next_up = AdjacencyId(old),
            Cell::NextDown => self.edges[edge].next_down = AdjacencyId(old),
            Cell::Forest => self.whys[node].forest = DimVar(old),
            Cell::ForestReason => self.whys[node].forest_reason = ReasonId(old),
            Cell::Extra => self.nodes[node].extra = SizeId(old),
            _ => {}
        }
    }

    /// Bytes held, for the benchmarks.
    pub fn bytes(&self) -> usize {
        self.nodes.bytes()
            + self.whys.bytes()
            + self.edges.bytes()
            + self.reasons.bytes()
            + self.sizes.bytes()
    }
}
