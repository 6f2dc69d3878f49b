//! Floating axes: those that cannot be traced to a known row are given up.

use crate::ids::IdVec;
use crate::solver::closing::leaf_ranks::groups::GroupId;
use crate::solver::closing::leaf_ranks::sources::Greatest;
use crate::solver::closing::leaf_ranks::{KNOWN, NEVER, RankProblem, Refinement};
use std::collections::{BinaryHeap, VecDeque};

impl RankProblem {
    /// Lowers the leaves that float to what can be traced to a known row, one leaf after the other: what a leaf is
    /// given by another one it does not give back. Returns those that were lowered.
    pub(super) fn anchor(&self, ranks: &mut IdVec<GroupId, i64>) -> Vec<GroupId> {
        let mut traced = Traced::new(self);
        // Known axes go to all results, and those of results back; then one leaf after the other.
        self.order.iter().for_each(|group| self.pass_down(*group, &mut traced, false));
        self.order.iter().rev().for_each(|group| self.pass_up(*group, &mut traced, false));
        let looked_at = |group: &&GroupId| self.circular || self.open[**group];
        self.order.iter().filter(looked_at).for_each(|group| traced.look_at(*group));
        let mut lowered = Vec::new();
        loop {
            self.trace(ranks, &mut traced);
            let next = traced.furthest().unwrap_or_else(|| self.left(&traced));
            if next.is_empty() {
                return lowered;
            }
            for (rank, group) in next {
                if std::mem::replace(&mut ranks[group], rank) > rank {
                    lowered.push(group);
                }
                traced.settle(group, rank);
            }
        }
    }

    /// The greatest number of axes that stand behind those of a leaf where it is used. Of leaves with equally many axes, the one
    /// with more behind it goes further and has more to offer to others.
    fn behind(&self, group: GroupId) -> i64 {
        self.down.of(group).iter().map(|edge| self.edges[*edge].further).max().unwrap_or(0)
    }

    /// The leaves of which nothing more can be traced, at their least ranks: first those that have axes before them,
    /// because these tell others where they end.
    fn left(&self, traced: &Traced) -> Vec<(i64, GroupId)> {
        let open = self.order.iter().copied().filter(|group| !traced.settled[*group]);
        let open: Vec<(i64, GroupId)> = open.map(|group| (self.lo[group], group)).collect();
        let leads = |(_, group): &(i64, GroupId)| {
            let mut edges = self.down.of(*group).iter().map(|edge| self.edges[*edge]);
            edges.any(|edge| edge.longer > edge.further)
        };
        let first: Vec<(i64, GroupId)> = open.iter().copied().filter(leads).collect();
        if first.is_empty() { open } else { first }
    }

    /// Follows what is traced from operands to results, and what that offers from results to operands. A leaf whose
    /// axes are all offered, by others, has them.
    fn trace(&self, ranks: &IdVec<GroupId, i64>, traced: &mut Traced) {
        while let Some(group) = traced.queue.pop_front() {
            traced.queued[group] = false;
            if !traced.settled[group] {
                let others = traced.offered[group].without(group).max(traced.certain[group].without(group));
                let most = traced.lengths[group].max(others);
                if most >= ranks[group] {
                    traced.settled[group] = true;
                    traced.lengths[group] = traced.lengths[group].max(ranks[group]);
                } else if most > self.lo[group] {
                    traced.waiting.push((most, self.behind(group), group));
                }
            }
            self.pass_down(group, traced, true);
            self.pass_up(group, traced, true);
        }
    }

    /// Passes the axes that are traced in a row on to its results.
    fn pass_down(&self, group: GroupId, traced: &mut Traced, again: bool) {
        let (length, certain) = (traced.lengths[group], traced.certain[group]);
        for edge in self.down.of(group) {
            let Refinement { below, longer, further, .. } = self.edges[*edge];
            let more = (length + longer).min(self.bound);
            let is_longer = length > NEVER && more > traced.lengths[below];
            if is_longer {
                traced.lengths[below] = more;
            }
            if (traced.certain[below].raise(certain, further, self.bound) || is_longer) && again {
                traced.look_at(below);
            }
        }
    }

    /// Passes the axes that can be faced in a row on to its operands.
    fn pass_up(&self, group: GroupId, traced: &mut Traced, again: bool) {
        let mut offer = traced.offered[group];
        offer.add_all(traced.certain[group], 0, self.bound);
        if traced.lengths[group] > NEVER {
            offer.add((traced.lengths[group] + self.front[group], KNOWN));
        }
        for edge in self.up.of(group) {
            let Refinement { above, further, .. } = self.edges[*edge];
            if traced.offered[above].raise(offer, -further, self.bound) && again {
                traced.look_at(above);
            }
        }
    }
}

/// The parts of rows that can be traced to known rows.
struct Traced {
    /// The length of each row by what is known, and by leaves that have their axes.
    lengths: IdVec<GroupId, i64>,
    /// The reach of each row, from the back, by axes that stand behind leaves, whatever these have.
    certain: IdVec<GroupId, Greatest>,
    /// The distance from the back up to which there is something to face, in the rows below each.
    offered: IdVec<GroupId, Greatest>,
    /// True if a leaf has its axes; others have none of their own.
    settled: IdVec<GroupId, bool>,
    /// Leaves of which only some axes can be traced: how many, and how many stand behind them. Those with the most come first.
    waiting: BinaryHeap<(i64, i64, GroupId)>,
    /// Rows to look at, each once.
    queue: VecDeque<GroupId>,
    queued: IdVec<GroupId, bool>,
}

impl Traced {
    fn new(rows: &RankProblem) -> Traced {
        let of_leaf =
            |(group, open): (GroupId, &bool)| Greatest::of_one(0, if *open { group } else { GroupId::NIL });
        let of_known =
            |offered: &i64| Greatest::of_one(*offered, if *offered > NEVER { KNOWN } else { GroupId::NIL });
        Traced {
            lengths: rows.known.clone(),
            certain: rows.open.each().map(of_leaf).collect(),
            offered: rows.offered.iter().map(of_known).collect(),
            settled: rows.open.iter().map(|open| !open).collect(),
            waiting: BinaryHeap::new(),
            queue: VecDeque::new(),
            queued: IdVec::filled(false, rows.open.len()),
        }
    }

    /// The leaves that can be traced furthest of those that cannot be traced in full, and how far: all at once, so that
    /// none of them comes first.
    fn furthest(&mut self) -> Option<Vec<(i64, GroupId)>> {
        let mut found: Vec<(i64, GroupId)> = Vec::new();
        let mut most = None;
        while let Some((rank, behind, group)) = self.waiting.peek().copied() {
            if most.is_some_and(|most| most != (rank, behind)) {
                break;
            }
            self.waiting.pop();
            if !self.settled[group] {
                most = Some((rank, behind));
                found.push((rank, group));
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// A leaf has its axes.
    fn settle(&mut self, group: GroupId, rank: i64) {
        self.settled[group] = true;
        self.lengths[group] = self.lengths[group].max(rank);
        self.look_at(group);
    }

    fn look_at(&mut self, group: GroupId) {
        if !std::mem::replace(&mut self.queued[group], true) {
            self.queue.push_back(group);
        }
    }
}
