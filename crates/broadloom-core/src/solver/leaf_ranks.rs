//! How many axes leaves take (docs/solver.md, "How many axes a leaf takes"): a function of the set of
//! constraints, whatever their order.
//!
//! A leaf that leaves its rank open takes the axes of what it is used with, and never widens it. Rows that
//! equalities tie are one row here. The *sources* of a row are its known axes, the open leaf it is (if it
//! is one), and the sources of the operands it refines. The ranks are the greatest that satisfy two rules:
//!
//! 1. *Nobody stands out.* Where a row has another source besides an open leaf, some other source is at
//!    least as long as that leaf.
//! 2. *Nobody floats.* Every axis of an open leaf can be traced back, from one source to another of the
//!    same row and so on, to one that is known.
//!
//! Both rules survive unions, so there are greatest ranks. They are found from above: [`Peel`] lowers
//! leaves that stand out, [`Anchor`] those that float, until nothing moves. For the first rule two
//! different sources of each row are enough, the longest and the next.
//!
//! For example `h ⊑ x`, `h ⊑ b`, `t ⊑ b`, `t ⊑ c` with `x = [784]` and leaves `b` and `c`: in `h`, `b` must not be
//! longer than `x`; in `t`, `b` and `c` allow each other anything, but only one axis of them can be
//! traced to `x`. So both have one.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::Solver;
use super::components::components;
use super::ranks::{Pred, UNBOUNDED};
use super::reason::{NIL, Policy, Step};
use super::rows::{Kind, RowCon, Term};
use crate::term::Role;

/// Below every rank.
const NEVER: i64 = i64::MIN / 4;

/// More axes than flanks could sensibly add up to.
const FAR: i64 = 4096;

/// A row `below` that refines a row `above`: it has at least `more` axes more.
#[derive(Clone, Copy)]
struct Edge {
    below: u32,
    above: u32,
    more: i64,
}

/// What stands for a source: the known axes of a row, or an open leaf.
const KNOWN: u32 = NIL - 1;

/// The longest source of a row and the longest of the others; absent ones have no source.
#[derive(Clone, Copy, PartialEq)]
struct Longest {
    first: (i64, u32),
    second: (i64, u32),
}

impl Longest {
    const NONE: Longest = Longest { first: (NEVER, NIL), second: (NEVER, NIL) };

    fn add(&mut self, (length, source): (i64, u32)) {
        if source == NIL {
            return;
        }
        if source == self.first.1 {
            self.first.0 = self.first.0.max(length);
        } else if length > self.first.0 || self.first.1 == NIL {
            self.second = self.first;
            self.first = (length, source);
        } else if source == self.second.1 {
            self.second.0 = self.second.0.max(length);
        } else if length > self.second.0 || self.second.1 == NIL {
            self.second = (length, source);
        }
    }

    fn add_all(&mut self, other: Longest, more: i64) {
        self.add((other.first.0 + more, other.first.1));
        self.add((other.second.0 + more, other.second.1));
    }
}

/// The open rows, those that are equal as one, and how they refine each other.
struct Rows {
    /// The row that stands for each row, and how many axes more the row has.
    group: Vec<(u32, i64)>,
    edges: Vec<Edge>,
    /// Operands before their results, as far as that is possible, and the place of each row in it.
    order: Vec<u32>,
    place: Vec<u32>,
    /// Whether some row refines itself by way of others.
    circular: bool,
    /// The edges by which each row refines others, and those by which others refine it.
    up: Lists,
    down: Lists,
    /// Bounds of each group.
    lo: Vec<i64>,
    hi: Vec<i64>,
    /// How long each group is by what is known apart from its open operands and from itself.
    known: Vec<i64>,
    /// What known results offer.
    offered: Vec<i64>,
    /// Whether the group has an open leaf.
    open: Vec<bool>,
}

/// Lists of edges, one for each row.
#[derive(Default)]
struct Lists {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Lists {
    fn new(rows: usize, edges: &[Edge], of: impl Fn(&Edge) -> u32) -> Lists {
        let mut starts = vec![0u32; rows + 1];
        edges.iter().for_each(|edge| starts[of(edge) as usize + 1] += 1);
        (0..rows).for_each(|row| starts[row + 1] += starts[row]);
        let mut next = starts.clone();
        let mut sorted = vec![0; edges.len()];
        for (at, edge) in (0..).zip(edges) {
            let place = &mut next[of(edge) as usize];
            sorted[*place as usize] = at;
            *place += 1;
        }
        Lists { starts, edges: sorted }
    }

    fn of(&self, row: u32) -> &[u32] {
        &self.edges[self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize]
    }
}

impl Solver {
    /// Gives open leaves of a role their ranks. Returns whether any has more axes than it had to have.
    pub(crate) fn raise_leaf_ranks(&mut self, wanted: impl Fn(Role) -> bool) -> Step<bool> {
        let open = |row: &u32| wanted(self.rows.role(*row)) && !self.rows.is_fixed(*row);
        let leaves: Vec<u32> = self.rows.leaves().iter().copied().filter(open).collect();
        if leaves.is_empty() {
            return Ok(false);
        }
        let rows = self.refinements(&leaves);
        let ranks = rows.greatest();
        let mut raised = false;
        for row in leaves {
            let (group, shift) = rows.group[row as usize];
            let rank = (ranks[group as usize] + shift).max(0) as u32;
            if rank > self.ranks.lo(row) {
                raised = true;
                let step = self.choose(Policy::LeafRank, row);
                self.ranks.at_least(&mut self.trail, row, rank, Pred::policy(step))?;
            }
        }
        self.propagate()?;
        Ok(raised)
    }

    fn refinements(&self, leaves: &[u32]) -> Rows {
        let count = self.rows.len();
        let is_open = |row: u32| row != NIL && !self.rows.is_fixed(row);
        let mut groups = Groups { parent: (0..count as u32).map(|row| (row, 0)).collect() };
        for RowCon { res, opnd, .. } in self.rows.cons().filter(|con| con.kind == Kind::Eq) {
            if is_open(res.hole) && is_open(opnd.hole) && res.hole != opnd.hole {
                let more = i64::from(res.flanks()) - i64::from(opnd.flanks());
                groups.join(res.hole, opnd.hole, more);
            }
        }
        let group: Vec<(u32, i64)> = (0..count as u32).map(|row| groups.find(row)).collect();
        let mut rows = Rows {
            group,
            edges: Vec::new(),
            order: Vec::new(),
            place: Vec::new(),
            circular: false,
            up: Lists::default(),
            down: Lists::default(),
            lo: vec![NEVER; count],
            hi: vec![i64::MAX; count],
            known: vec![NEVER; count],
            offered: vec![NEVER; count],
            open: vec![false; count],
        };
        for row in (0..count as u32).filter(|row| is_open(*row)) {
            let (group, shift) = rows.group[row as usize];
            let at = group as usize;
            rows.lo[at] = rows.lo[at].max(i64::from(self.ranks.lo(row)) - shift);
            if self.ranks.hi(row) != UNBOUNDED {
                rows.hi[at] = rows.hi[at].min(i64::from(self.ranks.hi(row)) - shift);
            }
        }
        leaves.iter().for_each(|row| rows.open[rows.group[*row as usize].0 as usize] = true);
        let length = |term: Term| {
            let inner = if term.hole == NIL { 0 } else { self.ranks.lo(term.hole) };
            i64::from(term.flanks() + inner)
        };
        // How long each row is by its open operands.
        let mut derived = vec![NEVER; count];
        for RowCon { res, opnd, .. } in self.rows.cons().filter(|con| con.kind == Kind::Le) {
            if is_open(res.hole) {
                let (below, own) = rows.group[res.hole as usize];
                let list = if is_open(opnd.hole) { &mut derived } else { &mut rows.known };
                let least = &mut list[below as usize];
                *least = (*least).max(length(opnd) - i64::from(res.flanks()) - own);
            }
            if !is_open(opnd.hole) {
                continue;
            }
            let (above, shift) = rows.group[opnd.hole as usize];
            let needed = i64::from(opnd.flanks()) + shift;
            if !is_open(res.hole) {
                let offered = &mut rows.offered[above as usize];
                *offered = (*offered).max(length(res) - needed);
                continue;
            }
            let (below, own) = rows.group[res.hole as usize];
            let more = needed - i64::from(res.flanks()) - own;
            if below != above {
                rows.edges.push(Edge { below, above, more });
            }
        }
        // What a result has beyond its operands was asked for by whoever reads it.
        for at in (0..count).filter(|at| !rows.open[*at] && rows.lo[*at] > derived[*at]) {
            rows.known[at] = rows.known[at].max(rows.lo[at]);
        }
        rows.sort();
        rows
    }
}

impl Rows {
    /// Puts operands before results.
    fn sort(&mut self) {
        let count = self.lo.len();
        self.up = Lists::new(count, &self.edges, |edge| edge.below);
        self.down = Lists::new(count, &self.edges, |edge| edge.above);
        let is_open = |row: &u32| self.group[*row as usize].0 == *row && self.lo[*row as usize] > NEVER;
        // Results are usually made after their operands.
        self.order = if self.edges.iter().all(|edge| edge.above < edge.below) {
            (0..count as u32).filter(is_open).collect()
        } else {
            let above = |row: u32, out: &mut Vec<u32>| {
                out.extend(self.up.of(row).iter().map(|edge| self.edges[*edge as usize].above))
            };
            components(count, above).order.into_iter().filter(is_open).collect()
        };
        self.place = vec![0; count];
        for (place, row) in (0..).zip(&self.order) {
            self.place[*row as usize] = place;
        }
        let place = |row: u32| self.place[row as usize];
        self.circular = self.edges.iter().any(|edge| place(edge.above) > place(edge.below));
    }

    /// The greatest ranks that satisfy both rules, by group.
    fn greatest(&self) -> Vec<i64> {
        let known = self.lo.iter().chain(&self.offered).copied().max().unwrap_or(0).max(0);
        let shifts: i64 = self.edges.iter().map(|edge| edge.more.abs()).sum();
        // No chain of sources leads to more axes than this, unless it goes round in circles.
        let bound = known + shifts.min(FAR) + 1;
        let start = |at: usize| if self.open[at] { self.hi[at].min(bound) } else { self.lo[at] };
        let mut ranks: Vec<i64> = (0..self.lo.len()).map(start).collect();
        loop {
            self.peel(&mut ranks);
            if !self.anchor(&mut ranks, bound) {
                break;
            }
        }
        // A rank that grew by going round in circles is none.
        for at in (0..ranks.len()).filter(|at| self.open[*at]) {
            if ranks[at] >= bound {
                ranks[at] = self.lo[at];
            }
        }
        ranks
    }

    /// Lowers the leaves that stand out, until none does.
    fn peel(&self, ranks: &mut [i64]) {
        if self.circular {
            return self.peel_circular(ranks);
        }
        let mut longest = vec![Longest::NONE; self.lo.len()];
        // Rows to look at, operands first.
        let mut queue: BinaryHeap<Reverse<u32>> = (0..self.order.len() as u32).map(Reverse).collect();
        while let Some(Reverse(place)) = queue.pop() {
            let row = self.order[place as usize];
            let own = self.measured(row, ranks, &longest);
            if own != longest[row as usize] {
                longest[row as usize] = own;
                let below = self.down.of(row).iter().map(|edge| self.edges[*edge as usize].below);
                queue.extend(below.map(|row| Reverse(self.place[row as usize])));
            }
            if let Some((leaf, rank)) = self.stands_out(own, ranks) {
                ranks[leaf] = rank;
                queue.push(Reverse(self.place[leaf]));
            }
        }
    }

    /// The same where rows refine each other in a circle: they would remember what a leaf was, so all are
    /// measured anew in each round.
    fn peel_circular(&self, ranks: &mut [i64]) {
        loop {
            let mut longest = vec![Longest::NONE; self.lo.len()];
            let mut changed = true;
            while std::mem::take(&mut changed) {
                for row in &self.order {
                    let own = self.measured(*row, ranks, &longest);
                    changed |= own != longest[*row as usize];
                    longest[*row as usize] = own;
                }
            }
            let measured = self.order.iter().map(|row| longest[*row as usize]);
            let lowered: Vec<(usize, i64)> =
                measured.filter_map(|own| self.stands_out(own, ranks)).collect();
            if lowered.is_empty() {
                return;
            }
            for (leaf, rank) in lowered {
                ranks[leaf] = ranks[leaf].min(rank);
            }
        }
    }

    /// The leaf that is longer than all other sources of a row, and the rank at which it is not.
    fn stands_out(&self, own: Longest, ranks: &[i64]) -> Option<(usize, i64)> {
        let Longest { first: (length, leaf), second: (other, source) } = own;
        // No axes say nothing.
        let silent = source == NIL || source == KNOWN && other <= 0;
        if leaf == KNOWN || leaf == NIL || silent || other >= length {
            return None;
        }
        let at = leaf as usize;
        let rank = (ranks[at] - (length - other)).max(self.lo[at]);
        (rank < ranks[at]).then_some((at, rank))
    }

    /// The longest sources of a row, given those of its operands.
    fn measured(&self, row: u32, ranks: &[i64], longest: &[Longest]) -> Longest {
        let at = row as usize;
        let mut own = Longest::NONE;
        if self.known[at] > NEVER {
            own.add((self.known[at], KNOWN));
        }
        if self.open[at] {
            own.add((ranks[at], row));
        }
        for edge in self.up.of(row) {
            let Edge { above, more, .. } = self.edges[*edge as usize];
            own.add_all(longest[above as usize], more);
        }
        own
    }

    /// Lowers the leaves that float to what can be traced to a known row. Returns whether any was.
    fn anchor(&self, ranks: &mut [i64], bound: i64) -> bool {
        // How long each row is by what is traced so far, and what the rows that refine it offer.
        let mut traced: Vec<i64> = self.lo.iter().map(|lo| if *lo > 0 { *lo } else { NEVER }).collect();
        let mut offered = self.offered.clone();
        let begins = |row: &u32| traced[*row as usize] > NEVER || offered[*row as usize] > NEVER;
        let mut queue: VecDeque<u32> = self.order.iter().copied().filter(begins).collect();
        while let Some(row) = queue.pop_front() {
            let at = row as usize;
            if self.open[at] {
                traced[at] = traced[at].max(offered[at].min(ranks[at]));
            }
            for edge in self.down.of(row) {
                let Edge { below, more, .. } = self.edges[*edge as usize];
                if traced[at] > NEVER && traced[at] + more > traced[below as usize] {
                    traced[below as usize] = traced[at] + more;
                    queue.push_back(below);
                }
            }
            let offer = traced[at].max(offered[at]);
            for edge in self.up.of(row) {
                let Edge { above, more, .. } = self.edges[*edge as usize];
                let offer = (offer - more).min(bound);
                if offer > offered[above as usize] {
                    offered[above as usize] = offer;
                    queue.push_back(above);
                }
            }
        }
        let mut lowered = false;
        for at in (0..ranks.len()).filter(|at| self.open[*at]) {
            let rank = ranks[at].min(offered[at]).max(self.lo[at]);
            lowered |= rank < ranks[at];
            ranks[at] = rank;
        }
        lowered
    }
}

/// Rows that equalities tie, each with how many axes more than its parent it has.
struct Groups {
    parent: Vec<(u32, i64)>,
}

impl Groups {
    fn find(&mut self, row: u32) -> (u32, i64) {
        let (mut root, mut shift) = (row, 0);
        while self.parent[root as usize].0 != root {
            let (parent, more) = self.parent[root as usize];
            (root, shift) = (parent, shift + more);
        }
        // Everything on the way points to the root from now on.
        let (mut at, mut left) = (row, shift);
        while self.parent[at as usize].0 != root {
            let (parent, more) = std::mem::replace(&mut self.parent[at as usize], (root, left));
            (at, left) = (parent, left - more);
        }
        (root, shift)
    }

    /// `rank b = rank a + more`. The smaller number stands for both: it was made first.
    fn join(&mut self, a: u32, b: u32, more: i64) {
        let ((root_a, shift_a), (root_b, shift_b)) = (self.find(a), self.find(b));
        // rank root_b = rank root_a + between
        let between = shift_a + more - shift_b;
        if root_a < root_b {
            self.parent[root_b as usize] = (root_a, between);
        } else if root_b < root_a {
            self.parent[root_a as usize] = (root_b, -between);
        }
    }
}
