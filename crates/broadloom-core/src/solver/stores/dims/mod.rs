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

use crate::ids::NIL;
use crate::solver::stores::reason::{Conflict, Outcome, Reason, ReasonId};
use crate::solver::stores::sizes::{Sizes, SizesMark};
use crate::solver::stores::trail::{Cell, Entry, Trail, set};
use crate::term::DimTerm;

/// A class representative's state; only `parent` matters on other nodes.
#[derive(Clone, Copy)]
struct ClassNode {
    parent: u32,
    size: u32,
    /// A ground term's bits, or `NIL`.
    value: u32,
    /// An atom's bits, or `NIL`.
    cap: u32,
    /// Adjacencies whose lower end is in this class.
    up: List,
    /// Adjacencies whose upper end is in this class.
    down: List,
    /// The record of the class's size, or `NIL`.
    extra: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct List {
    head: u32,
    tail: u32,
}

const EMPTY: List = List { head: NIL, tail: NIL };

/// Reasons, read only by explanations.
#[derive(Clone, Copy)]
struct Why {
    /// Parent in the proof forest, and the reason for that equality.
    forest: u32,
    forest_reason: ReasonId,
    /// On a representative: the node at which the class's value was recorded.
    value_node: u32,
    /// On that node: the reason.
    value_reason: ReasonId,
    cap_node: u32,
    cap_reason: ReasonId,
}

/// A dimension inequality between two nodes (`DI-adj`).
#[derive(Clone, Copy)]
pub(crate) struct Adjacency {
    /// The result, below.
    pub lo: u32,
    /// The operand, above.
    pub hi: u32,
    next_up: u32,
    next_down: u32,
    pub reason: ReasonId,
}

#[derive(Clone, Copy)]
enum Event {
    Value(u32),
    Cap(u32),
    Claim(u32),
}

/// The store of dimension variables.
#[derive(Clone, Default)]
pub(crate) struct Dims {
    nodes: Vec<ClassNode>,
    whys: Vec<Why>,
    edges: Vec<Adjacency>,
    reasons: Vec<Reason>,
    events: Vec<Event>,
    /// Work done: events handled and edges looked at.
    pub steps: u64,
    /// True if the policy stage is under way.
    pub closing: bool,
    /// While closing: classes that received a cap, so that new candidates are found without a scan.
    pub capped: Vec<u32>,
    pub sizes: Sizes,
    /// Classes in arithmetic about which something became known.
    pub woken: Vec<u32>,
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
    pub fn fresh(&mut self) -> u32 {
        let id = self.nodes.len() as u32;
        self.nodes.push(ClassNode {
            parent: id,
            size: 1,
            value: NIL,
            cap: NIL,
            up: EMPTY,
            down: EMPTY,
            extra: NIL,
        });
        let none = ReasonId(NIL);
        self.whys.push(Why {
            forest: NIL,
            forest_reason: none,
            value_node: NIL,
            value_reason: none,
            cap_node: NIL,
            cap_reason: none,
        });
        id
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn edge_count(&self) -> u32 {
        self.edges.len() as u32
    }

    /// Records a reason.
    pub fn reason(&mut self, reason: Reason) -> ReasonId {
        self.reasons.push(reason);
        ReasonId(self.reasons.len() as u32 - 1)
    }

    /// The recorded reason behind an id that is not a constraint.
    pub fn reason_at(&self, id: ReasonId) -> Option<Reason> {
        self.reasons.get(id.0 as usize).copied()
    }

    /// The representative of a node's class. Union by size keeps the path logarithmic, so no
    /// compression is needed and reading stays free of writes.
    #[inline]
    pub fn find(&self, mut node: u32) -> u32 {
        loop {
            let parent = self.nodes[node as usize].parent;
            if parent == node {
                return node;
            }
            node = parent;
        }
    }

    /// The term with its variable replaced by its class's value, if it has one.
    #[inline]
    pub fn resolve(&self, term: DimTerm) -> DimTerm {
        match term.node() {
            Some(node) => {
                let root = self.find(node);
                let value = self.nodes[root as usize].value;
                if value == NIL { DimTerm(root) } else { DimTerm(value) }
            }
            None => term,
        }
    }

    /// The value of a representative.
    pub fn value(&self, root: u32) -> Option<DimTerm> {
        let value = self.nodes[root as usize].value;
        (value != NIL).then_some(DimTerm(value))
    }

    /// The atom cap of a representative.
    pub fn cap(&self, root: u32) -> Option<DimTerm> {
        let cap = self.nodes[root as usize].cap;
        (cap != NIL).then_some(DimTerm(cap))
    }

    /// `t1 = t2`: rules `DE-refl`, `DE-clash` and `DE-bind`.
    pub fn equate(&mut self, trail: &mut Trail, a: DimTerm, b: DimTerm, reason: ReasonId) -> Outcome {
        match (a.node(), b.node()) {
            (None, None) if a == b => Ok(()),
            (None, None) => Err(Conflict::Ground { a: a.0, b: b.0, reason }),
            (Some(node), None) => self.set_value(trail, node, b, reason),
            (None, Some(node)) => self.set_value(trail, node, a, reason),
            (Some(a), Some(b)) => self.merge(trail, a, b, reason),
        }?;
        self.drain(trail)
    }

    /// `res ⊑ opnd`: the `DI-…` rules.
    pub fn refine(&mut self, trail: &mut Trail, res: DimTerm, opnd: DimTerm, reason: ReasonId) -> Outcome {
        match (res.node(), opnd.node()) {
            // DI-top, DI-ground.
            _ if opnd == DimTerm::UNIT || res == opnd => return Ok(()),
            (None, None) => {
                return Err(Conflict::Ground { a: res.0, b: opnd.0, reason });
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
    fn adjoin(&mut self, trail: &mut Trail, lo: u32, hi: u32, reason: ReasonId) -> Outcome {
        let (below, above) = (self.find(lo), self.find(hi));
        let (lo_value, hi_value) = (self.value(below), self.value(above));
        if below == above || hi_value == Some(DimTerm::UNIT) {
            return Ok(());
        }
        let edge = self.edges.len() as u32;
        self.edges.push(Adjacency { lo, hi, next_up: NIL, next_down: NIL, reason });
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
        if self.nodes[below as usize].cap != NIL { self.flow_up(trail, edge) } else { Ok(()) }
    }

    /// The upper end is an atom: pin the lower end to it.
    fn flow_down(&mut self, trail: &mut Trail, edge: u32) -> Outcome {
        let Adjacency { lo, hi, .. } = self.edges[edge as usize];
        let above = self.find(hi);
        if let Some(value) = self.value(above).filter(|value| *value != DimTerm::UNIT) {
            if self.tag(above).is_some() {
                // A symbol that has a size is still a symbol, and so is what equals it.
                return self.equate_claimed(trail, edge);
            }
            let from = self.whys[above as usize].value_node;
            let reason = self.reason(Reason::FlowDown { edge, from });
            self.set_value(trail, lo, value, reason)?;
        }
        Ok(())
    }

    /// The lower end has a value or a cap: the upper end is capped by it, or is the unit.
    fn flow_up(&mut self, trail: &mut Trail, edge: u32) -> Outcome {
        let Adjacency { lo, hi, .. } = self.edges[edge as usize];
        let below = self.find(lo) as usize;
        let above = self.find(hi) as usize;
        if self.nodes[above].value == DimTerm::UNIT.0 {
            return Ok(());
        }
        let ClassNode { value, cap, .. } = self.nodes[below];
        if value != NIL {
            let from = self.whys[below].value_node;
            let reason = self.reason(Reason::FlowUp { edge, from });
            if value == DimTerm::UNIT.0 {
                self.set_value(trail, hi, DimTerm::UNIT, reason)
            } else {
                self.add_cap(trail, hi, DimTerm(value), reason)
            }
        } else if cap != NIL && self.nodes[above].cap != cap {
            let from = self.whys[below].cap_node;
            let reason = self.reason(Reason::FlowCap { edge, from });
            self.add_cap(trail, hi, DimTerm(cap), reason)
        } else {
            Ok(())
        }
    }

    /// Gives a class its value and queues the consequences.
    pub fn set_value(&mut self, trail: &mut Trail, node: u32, value: DimTerm, reason: ReasonId) -> Outcome {
        let root = self.find(node);
        let at = root as usize;
        let ClassNode { value: have, cap, .. } = self.nodes[at];
        if have == value.0 {
            return Ok(());
        }
        if have != NIL {
            return Err(Conflict::Value { node, have, want: value.0, reason });
        }
        if cap != NIL && value != DimTerm::UNIT && cap != value.0 {
            return Err(Conflict::Cap { node, cap, want: value.0, reason });
        }
        if Some(value) == self.zero {
            // The record of sizes says that it is not empty.
            self.extra(trail, root);
        }
        if self.nodes[at].extra != NIL {
            if value == DimTerm::UNIT && self.claims(root) {
                return Err(Conflict::Claim { node, reason });
            }
            self.woken.push(root);
        }
        set!(trail, Value, root, self.nodes[at].value, value.0);
        self.whys[at].value_node = node;
        self.whys[node as usize].value_reason = reason;
        let ClassNode { up, down, .. } = self.nodes[at];
        if up.head != NIL || down.head != NIL {
            self.events.push(Event::Value(root));
        }
        Ok(())
    }

    /// DI-cap: record, discard, or collapse to the unit.
    fn add_cap(&mut self, trail: &mut Trail, node: u32, atom: DimTerm, reason: ReasonId) -> Outcome {
        let root = self.find(node);
        let at = root as usize;
        let ClassNode { value, cap, .. } = self.nodes[at];
        if value == DimTerm::UNIT.0 || value == atom.0 || (value == NIL && cap == atom.0) {
            return Ok(());
        }
        if value != NIL {
            return Err(Conflict::Value { node, have: value, want: atom.0, reason });
        }
        if Some(atom) == self.zero && !self.may_be_empty(root) {
            return self.set_value(trail, node, DimTerm::UNIT, reason);
        }
        if cap != NIL {
            let first = self.whys[at].cap_node;
            let collapse = self.reason(Reason::TwoCaps { node: first, second: reason });
            return self.set_value(trail, node, DimTerm::UNIT, collapse);
        }
        set!(trail, Cap, root, self.nodes[at].cap, atom.0);
        self.whys[at].cap_node = node;
        self.whys[node as usize].cap_reason = reason;
        if self.closing {
            self.capped.push(root);
        }
        if self.nodes[at].up.head != NIL {
            self.events.push(Event::Cap(root));
        }
        if self.nodes[at].extra != NIL {
            self.woken.push(root);
            return self.take_claimed_cap(trail, root);
        }
        Ok(())
    }

    /// Gives a class its value and follows every consequence; for policy steps.
    pub fn commit(&mut self, trail: &mut Trail, node: u32, value: DimTerm, reason: ReasonId) -> Outcome {
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
    fn value_event(&mut self, trail: &mut Trail, root: u32) -> Outcome {
        let at = root as usize;
        if self.nodes[at].value != DimTerm::UNIT.0 {
            let mut edge = self.nodes[at].down.head;
            while edge != NIL {
                self.steps += 1;
                self.flow_down(trail, edge)?;
                edge = self.edges[edge as usize].next_down;
            }
        }
        self.each_up(trail, root)?;
        set!(trail, UpHead, root, self.nodes[at].up.head, NIL);
        set!(trail, UpTail, root, self.nodes[at].up.tail, NIL);
        set!(trail, DownHead, root, self.nodes[at].down.head, NIL);
        set!(trail, DownTail, root, self.nodes[at].down.tail, NIL);
        Ok(())
    }

    fn each_up(&mut self, trail: &mut Trail, root: u32) -> Outcome {
        let mut edge = self.nodes[root as usize].up.head;
        while edge != NIL {
            self.steps += 1;
            self.flow_up(trail, edge)?;
            edge = self.edges[edge as usize].next_up;
        }
        Ok(())
    }

    /// `α = β`: one class, with the facts of both.
    fn merge(&mut self, trail: &mut Trail, a: u32, b: u32, reason: ReasonId) -> Outcome {
        let (root_a, root_b) = (self.find(a), self.find(b));
        if root_a == root_b {
            return Ok(());
        }
        let larger = self.nodes[root_a as usize].size >= self.nodes[root_b as usize].size;
        let (keep, gone) = if larger { (root_a, root_b) } else { (root_b, root_a) };
        let (kept, lost) = (self.nodes[keep as usize], self.nodes[gone as usize]);
        if kept.value != NIL && lost.value != NIL && kept.value != lost.value {
            return Err(Conflict::Merge { a, b, reason });
        }
        if kept.extra != NIL && lost.extra != NIL && self.sizes.name_two(kept.extra, lost.extra) {
            return Err(Conflict::Symbols { a, b, reason });
        }
        // Turning the smaller tree round keeps the total work near linear.
        let (child, parent) = if keep == root_b { (a, b) } else { (b, a) };
        self.link_forest(trail, child, parent, reason);
        set!(trail, Parent, gone, self.nodes[gone as usize].parent, keep);
        set!(trail, Size, keep, self.nodes[keep as usize].size, kept.size + lost.size);
        self.merge_facts(trail, keep, gone, kept, lost)
    }

    /// Brings the value, the cap and the adjacencies of a merged class over to its new root.
    fn merge_facts(
        &mut self,
        trail: &mut Trail,
        keep: u32,
        gone: u32,
        kept: ClassNode,
        lost: ClassNode,
    ) -> Outcome {
        self.merge_sizes(trail, keep, kept, lost)?;
        let mut value_from = None;
        if kept.value == NIL && lost.value != NIL {
            value_from = Some((self.whys[gone as usize].value_node, lost.value));
        }
        // The lower bound of either side now bounds both.
        let mut cap_from = None;
        if lost.cap != NIL && lost.cap != kept.cap {
            cap_from = Some((self.whys[gone as usize].cap_node, lost.cap));
        }
        // Whatever the kept class knows must reach the neighbours of the lost one.
        if kept.value == NIL && kept.cap != NIL {
            let mut edge = lost.up.head;
            while edge != NIL {
                self.steps += 1;
                self.flow_up(trail, edge)?;
                edge = self.edges[edge as usize].next_up;
            }
        }
        self.link_up(trail, keep, lost.up);
        self.link_down(trail, keep, lost.down);
        if let Some((node, value)) = value_from {
            let reason = self.whys[node as usize].value_reason;
            self.set_value(trail, node, DimTerm(value), reason)?;
        } else if kept.value != NIL {
            self.events.push(Event::Value(keep));
        }
        if let Some((node, cap)) = cap_from {
            let reason = self.whys[node as usize].cap_reason;
            self.add_cap(trail, node, DimTerm(cap), reason)?;
        }
        Ok(())
    }

    fn link_up(&mut self, trail: &mut Trail, root: u32, list: List) {
        if list.head == NIL {
            return;
        }
        let at = root as usize;
        match self.nodes[at].up.tail {
            NIL => set!(trail, UpHead, root, self.nodes[at].up.head, list.head),
            tail => set!(trail, NextUp, tail, self.edges[tail as usize].next_up, list.head),
        }
        set!(trail, UpTail, root, self.nodes[at].up.tail, list.tail);
    }

    fn link_down(&mut self, trail: &mut Trail, root: u32, list: List) {
        if list.head == NIL {
            return;
        }
        let at = root as usize;
        match self.nodes[at].down.tail {
            NIL => set!(trail, DownHead, root, self.nodes[at].down.head, list.head),
            tail => set!(trail, NextDown, tail, self.edges[tail as usize].next_down, list.head),
        }
        set!(trail, DownTail, root, self.nodes[at].down.tail, list.tail);
    }

    /// Adds `a = b` to the proof forest: turn `a`'s tree round so that `a` is its root, then hang
    /// it under `b`.
    fn link_forest(&mut self, trail: &mut Trail, a: u32, b: u32, reason: ReasonId) {
        let (mut node, mut parent, mut why) = (a, b, reason);
        while node != NIL {
            let at = node as usize;
            let (old_parent, old_why) = (self.whys[at].forest, self.whys[at].forest_reason);
            set!(trail, Forest, node, self.whys[at].forest, parent);
            set!(trail, ForestReason, node, self.whys[at].forest_reason.0, why.0);
            (parent, why, node) = (node, old_why, old_parent);
        }
    }
}

/// Reading, for closing and explanations.
impl Dims {
    pub fn edge(&self, edge: u32) -> Adjacency {
        self.edges[edge as usize]
    }

    /// Adjacencies above a representative.
    pub fn up(&self, root: u32) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.nodes[root as usize].up.head;
        std::iter::from_fn(move || {
            let edge = (next != NIL).then_some(next)?;
            next = self.edges[edge as usize].next_up;
            Some(edge)
        })
    }

    /// Adjacencies below a representative.
    pub fn down(&self, root: u32) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.nodes[root as usize].down.head;
        std::iter::from_fn(move || {
            let edge = (next != NIL).then_some(next)?;
            next = self.edges[edge as usize].next_down;
            Some(edge)
        })
    }

    /// The node at which a class's value was recorded, or `NIL`. Undoing takes back a value, and leaves the record: it may be about a node
    /// that is gone.
    pub fn value_node(&self, node: u32) -> u32 {
        let root = self.find(node) as usize;
        if self.nodes[root].value == NIL { NIL } else { self.whys[root].value_node }
    }

    /// The node at which a class's cap was recorded, or `NIL`.
    pub fn cap_node(&self, node: u32) -> u32 {
        let root = self.find(node) as usize;
        if self.nodes[root].cap == NIL { NIL } else { self.whys[root].cap_node }
    }

    pub fn value_reason(&self, node: u32) -> ReasonId {
        self.whys[node as usize].value_reason
    }

    pub fn cap_reason(&self, node: u32) -> ReasonId {
        self.whys[node as usize].cap_reason
    }

    /// The equalities on the proof forest path between two nodes of one class.
    pub fn path(&self, a: u32, b: u32) -> Vec<ReasonId> {
        let ancestors = |start: u32| {
            let mut node = start;
            std::iter::from_fn(move || {
                let here = (node != NIL).then_some(node)?;
                node = self.whys[here as usize].forest;
                Some(here)
            })
        };
        let up_a: Vec<u32> = ancestors(a).collect();
        let up_b: Vec<u32> = ancestors(b).collect();
        let shared = up_a.iter().rev().zip(up_b.iter().rev()).take_while(|(x, y)| x == y).count();
        let side_a = &up_a[..up_a.len() - shared];
        let side_b = &up_b[..up_b.len() - shared];
        side_a.iter().chain(side_b.iter().rev()).map(|node| self.whys[*node as usize].forest_reason).collect()
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
        let at = at as usize;
        match cell {
            Cell::Parent => self.nodes[at].parent = old,
            Cell::Size => self.nodes[at].size = old,
            Cell::Value => self.nodes[at].value = old,
            Cell::Cap => self.nodes[at].cap = old,
            Cell::UpHead => self.nodes[at].up.head = old,
            Cell::UpTail => self.nodes[at].up.tail = old,
            Cell::DownHead => self.nodes[at].down.head = old,
            Cell::DownTail => self.nodes[at].down.tail = old,
            Cell::NextUp => self.edges[at].next_up = old,
            Cell::NextDown => self.edges[at].next_down = old,
            Cell::Forest => self.whys[at].forest = old,
            Cell::ForestReason => self.whys[at].forest_reason = ReasonId(old),
            Cell::Extra => self.nodes[at].extra = old,
            _ => {}
        }
    }

    /// Bytes held, for the benchmarks.
    pub fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<ClassNode>()
            + self.whys.capacity() * size_of::<Why>()
            + self.edges.capacity() * size_of::<Adjacency>()
            + self.reasons.capacity() * size_of::<Reason>()
            + self.sizes.bytes()
    }
}
