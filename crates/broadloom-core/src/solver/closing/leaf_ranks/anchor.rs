//! Floating axes: those that cannot be traced to a known row are given up.

use crate::ids::NIL;
use crate::solver::closing::leaf_ranks::sources::Greatest;
use crate::solver::closing::leaf_ranks::{KNOWN, NEVER, RankProblem, Refinement};
use std::collections::{BinaryHeap, VecDeque};

impl RankProblem {
    /// Lowers the leaves that float to what can be traced to a known row, one leaf after the other: what a leaf is
    /// given by another one it does not give back. Returns those that were lowered.
    pub(super) fn anchor(&self, ranks: &mut [i64]) -> Vec<u32> {
        let mut traced = Traced::new(self);
        // Known axes go to all results, and those of results back; then one leaf after the other.
        self.order.iter().for_each(|row| self.pass_down(*row, &mut traced, false));
        self.order.iter().rev().for_each(|row| self.pass_up(*row, &mut traced, false));
        let looked_at = |row: &&u32| self.circular || self.open[**row as usize];
        self.order.iter().filter(looked_at).for_each(|row| traced.look_at(*row));
        let mut lowered = Vec::new();
        loop {
            self.trace(ranks, &mut traced);
            let next = traced.furthest().unwrap_or_else(|| self.left(&traced));
            if next.is_empty() {
                return lowered;
            }
            for (rank, row) in next {
                if std::mem::replace(&mut ranks[row as usize], rank) > rank {
                    lowered.push(row);
                }
                traced.settle(row, rank);
            }
        }
    }

    /// The leaves of which nothing more can be traced, at their least ranks: first those that have axes before them,
    /// because these tell others where they end.
    fn left(&self, traced: &Traced) -> Vec<(i64, u32)> {
        let open = self.order.iter().copied().filter(|row| !traced.settled[*row as usize]);
        let open: Vec<(i64, u32)> = open.map(|row| (self.lo[row as usize], row)).collect();
        let leads = |(_, row): &(i64, u32)| {
            let mut edges = self.down.of(*row).iter().map(|edge| self.edges[*edge as usize]);
            edges.any(|edge| edge.longer > edge.further)
        };
        let first: Vec<(i64, u32)> = open.iter().copied().filter(leads).collect();
        if first.is_empty() { open } else { first }
    }

    /// Follows what is traced from operands to results, and what that offers from results to operands. A leaf whose
    /// axes are all offered, by others, has them.
    fn trace(&self, ranks: &[i64], traced: &mut Traced) {
        while let Some(row) = traced.queue.pop_front() {
            let at = row as usize;
            traced.queued[at] = false;
            if !traced.settled[at] {
                let others = traced.offered[at].without(row).max(traced.certain[at].without(row));
                let most = traced.lengths[at].max(others);
                if most >= ranks[at] {
                    traced.settled[at] = true;
                    traced.lengths[at] = traced.lengths[at].max(ranks[at]);
                } else if most > self.lo[at] {
                    traced.waiting.push((most, row));
                }
            }
            self.pass_down(row, traced, true);
            self.pass_up(row, traced, true);
        }
    }

    /// Passes the axes that are traced in a row on to its results.
    fn pass_down(&self, row: u32, traced: &mut Traced, again: bool) {
        let at = row as usize;
        let (length, certain) = (traced.lengths[at], traced.certain[at]);
        for edge in self.down.of(row) {
            let Refinement { below, longer, further, .. } = self.edges[*edge as usize];
            let more = (length + longer).min(self.bound);
            let is_longer = length > NEVER && more > traced.lengths[below as usize];
            if is_longer {
                traced.lengths[below as usize] = more;
            }
            if (traced.certain[below as usize].raise(certain, further, self.bound) || is_longer) && again {
                traced.look_at(below);
            }
        }
    }

    /// Passes the axes that can be faced in a row on to its operands.
    fn pass_up(&self, row: u32, traced: &mut Traced, again: bool) {
        let at = row as usize;
        let mut offer = traced.offered[at];
        offer.add_all(traced.certain[at], 0, self.bound);
        if traced.lengths[at] > NEVER {
            offer.add((traced.lengths[at] + self.front[at], KNOWN));
        }
        for edge in self.up.of(row) {
            let Refinement { above, further, .. } = self.edges[*edge as usize];
            if traced.offered[above as usize].raise(offer, -further, self.bound) && again {
                traced.look_at(above);
            }
        }
    }
}

/// The parts of rows that can be traced to known rows.
struct Traced {
    /// The length of each row by what is known, and by leaves that have their axes.
    lengths: Vec<i64>,
    /// The reach of each row, from the back, by axes that stand behind leaves, whatever these have.
    certain: Vec<Greatest>,
    /// The distance from the back up to which there is something to face, in the rows below each.
    offered: Vec<Greatest>,
    /// True if a leaf has its axes; others have none of their own.
    settled: Vec<bool>,
    /// Leaves of which only some axes can be traced, the most first.
    waiting: BinaryHeap<(i64, u32)>,
    /// Rows to look at, each once.
    queue: VecDeque<u32>,
    queued: Vec<bool>,
}

impl Traced {
    fn new(rows: &RankProblem) -> Traced {
        let of_leaf = |(row, open): (u32, &bool)| Greatest::of_one(0, if *open { row } else { NIL });
        let of_known = |offered: &i64| Greatest::of_one(*offered, if *offered > NEVER { KNOWN } else { NIL });
        Traced {
            lengths: rows.known.clone(),
            certain: (0..).zip(&rows.open).map(of_leaf).collect(),
            offered: rows.offered.iter().map(of_known).collect(),
            settled: rows.open.iter().map(|open| !open).collect(),
            waiting: BinaryHeap::new(),
            queue: VecDeque::new(),
            queued: vec![false; rows.open.len()],
        }
    }

    /// The leaves that can be traced furthest of those that cannot be traced in full, and how far: all at once, so that
    /// none of them comes first.
    fn furthest(&mut self) -> Option<Vec<(i64, u32)>> {
        let mut found: Vec<(i64, u32)> = Vec::new();
        while let Some((rank, row)) = self.waiting.peek().copied() {
            if found.first().is_some_and(|(most, _)| *most != rank) {
                break;
            }
            self.waiting.pop();
            if !self.settled[row as usize] {
                found.push((rank, row));
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// A leaf has its axes.
    fn settle(&mut self, row: u32, rank: i64) {
        let at = row as usize;
        self.settled[at] = true;
        self.lengths[at] = self.lengths[at].max(rank);
        self.look_at(row);
    }

    fn look_at(&mut self, row: u32) {
        if !std::mem::replace(&mut self.queued[row as usize], true) {
            self.queue.push_back(row);
        }
    }
}
