//! The greatest ranks at which no leaf stands out.

use crate::ids::NIL;
use crate::solver::closing::leaf_ranks::sources::{Heard, Sources};
use crate::solver::closing::leaf_ranks::{KNOWN, Lists, NEVER, RankProblem, Refinement};
use crate::solver::components::components;

/// More axes than flanks could sensibly add up to.
const FAR: i64 = 4096;

/// The number of times that leaves which turned out to be silent are taken as such.
const MOST_STAGES: usize = 6;

impl RankProblem {
    /// Puts operands before results, and finds the bound.
    pub(super) fn sort(&mut self) {
        let count = self.lo.len();
        self.up = Lists::new(count, &self.edges, |edge| edge.below);
        self.down = Lists::new(count, &self.edges, |edge| edge.above);
        let is_open = |group: &u32| self.lo[*group as usize] > NEVER;
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
        let known = self.lo.iter().chain(&self.offered).copied().max().unwrap_or(0).max(0);
        let shift = |edge: &Refinement| edge.longer.abs() + edge.further.abs();
        self.bound = known + self.edges.iter().map(shift).sum::<i64>().min(FAR) + 1;
        let place = |row: u32| self.place[row as usize];
        self.circular = self.edges.iter().any(|edge| place(edge.above) > place(edge.below));
    }

    /// The greatest ranks that satisfy both rules, by group.
    pub(super) fn greatest(&self) -> Vec<i64> {
        let bound = self.bound;
        let start = |at: usize| if self.open[at] { self.hi[at].min(bound) } else { self.lo[at] };
        let start: Vec<i64> = (0..self.lo.len()).map(start).collect();
        let heard = |ranks: &[i64]| Heard { sources: self.measured(ranks), ranks: ranks.to_vec() };
        let mut ranks = self.settle(start.clone(), &heard(&start));
        // Without shifts, only a leaf without axes can turn out to be silent.
        let plain = self.edges.iter().all(|edge| (edge.longer, edge.further) == (0, 0));
        if !plain || (0..ranks.len()).any(|at| self.open[at] && ranks[at] == 0) {
            for _ in 0..MOST_STAGES {
                let next = self.settle(start.clone(), &heard(&ranks));
                if std::mem::replace(&mut ranks, next) == ranks {
                    break;
                }
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

    /// The greatest ranks, if those have something to say whose sources are as long as in `heard`.
    fn settle(&self, mut ranks: Vec<i64>, heard: &Heard) -> Vec<i64> {
        loop {
            self.peel(&mut ranks, heard);
            if !self.anchor(&mut ranks) {
                return ranks;
            }
        }
    }

    /// Lowers the leaves that stand out, until none does.
    fn peel(&self, ranks: &mut [i64], heard: &Heard) {
        if self.circular {
            return self.peel_circular(ranks, heard);
        }
        let mut sources = vec![Sources::NONE; self.lo.len()];
        // RankProblem to look at, operands first; a leaf that was lowered leads back to it.
        let mut waits = vec![true; self.order.len()];
        let mut from = 0;
        while let Some(place) = (from..waits.len()).find(|place| waits[*place]) {
            from = place + 1;
            waits[place] = false;
            let row = self.order[place];
            let own = self.sources(row, ranks, &sources);
            if own != sources[row as usize] {
                sources[row as usize] = own;
                for edge in self.down.of(row) {
                    waits[self.place[self.edges[*edge as usize].below as usize] as usize] = true;
                }
            }
            if let Some((leaf, rank)) = self.stands_out_of(row, own, &sources, heard, ranks) {
                ranks[leaf] = rank;
                let leaf = self.place[leaf] as usize;
                waits[leaf] = true;
                from = from.min(leaf);
            }
        }
    }

    /// The leaf that stands out in a group. Results that equalities tie are looked at one by one: what one of them is
    /// made of is no company for what another is made of.
    fn stands_out_of(
        &self,
        row: u32,
        own: Sources,
        sources: &[Sources],
        heard: &Heard,
        ranks: &[i64],
    ) -> Option<(usize, i64)> {
        match self.results.get(&row) {
            None => self.stands_out(row, own, heard.sources[row as usize], ranks),
            Some(results) => results.iter().find_map(|result| {
                let own = self.made_of(row, *result, ranks, sources);
                self.stands_out(row, own, self.made_of(row, *result, &heard.ranks, &heard.sources), ranks)
            }),
        }
    }

    /// The sources of one result of a group: what is known of the group, and its own operands.
    fn made_of(&self, row: u32, result: u32, ranks: &[i64], sources: &[Sources]) -> Sources {
        let mut own = Sources::NONE;
        if self.known[row as usize] > NEVER {
            own.lengths.add((self.known[row as usize], KNOWN));
        }
        for edge in self.up.of(row).iter().map(|edge| self.edges[*edge as usize]) {
            if edge.row == result {
                self.add_operand(&mut own, edge, ranks, sources);
            }
        }
        own.clipped(self.front[row as usize])
    }

    /// The same where rows refine each other in a circle: they would remember what a leaf was, so all are
    /// measured anew in each round.
    fn peel_circular(&self, ranks: &mut [i64], heard: &Heard) {
        loop {
            let sources = self.measured(ranks);
            let lowered = self
                .order
                .iter()
                .filter_map(|row| self.stands_out_of(*row, sources[*row as usize], &sources, heard, ranks));
            let lowered: Vec<(usize, i64)> = lowered.collect();
            if lowered.is_empty() {
                return;
            }
            for (leaf, rank) in lowered {
                ranks[leaf] = ranks[leaf].min(rank);
            }
        }
    }

    /// The leaf that is greater than all other sources of a row, and the rank at which it is not.
    fn stands_out(&self, row: u32, own: Sources, heard: Sources, ranks: &[i64]) -> Option<(usize, i64)> {
        let lengths = own.lengths;
        let front = self.front[row as usize];
        [(lengths.first, 0), (own.furthest, front)].into_iter().find_map(|((value, leaf), front)| {
            let other = lengths.without(leaf) + front;
            if leaf == KNOWN || leaf == NIL || other >= value {
                return None;
            }
            let at = leaf as usize;
            // Sources that end where the leaf begins, or before, do not restrict it.
            if heard.lengths.without(leaf) + front <= value - ranks[at] {
                return None;
            }
            let rank = (ranks[at] - (value - other)).max(self.lo[at]);
            (rank < ranks[at]).then_some((at, rank))
        })
    }

    /// The sources of all rows.
    fn measured(&self, ranks: &[i64]) -> Vec<Sources> {
        let mut sources = vec![Sources::NONE; self.lo.len()];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for row in &self.order {
                let own = self.sources(*row, ranks, &sources);
                changed |= self.circular && own != sources[*row as usize];
                sources[*row as usize] = own;
            }
        }
        sources
    }

    /// The sources of a row, given those of its operands.
    fn sources(&self, row: u32, ranks: &[i64], sources: &[Sources]) -> Sources {
        let at = row as usize;
        let mut own = Sources::NONE;
        if self.known[at] > NEVER {
            own.lengths.add((self.known[at], KNOWN));
        }
        if self.open[at] {
            own.lengths.add((ranks[at], row));
            own.reaches(ranks[at], row);
        }
        for edge in self.up.of(row) {
            self.add_operand(&mut own, self.edges[*edge as usize], ranks, sources);
        }
        own.clipped(self.front[row as usize])
    }

    /// Adds the sources of an operand.
    fn add_operand(&self, own: &mut Sources, edge: Refinement, ranks: &[i64], sources: &[Sources]) {
        let Refinement { above, longer, further, leaf: more, through: [more_axes, behind], .. } = edge;
        let Sources { lengths, furthest: (value, leaf) } = sources[above as usize];
        let bound = 2 * self.bound;
        own.lengths.add_all(lengths, longer, bound);
        if leaf != NIL {
            // By way of a row, a leaf reaches no further than that row does.
            let value = value.min(lengths.of(leaf) + more_axes + behind);
            own.reaches((value + further).min(bound), leaf);
        }
        if self.open[above as usize] {
            own.reaches((ranks[above as usize] + more).min(bound), above);
        }
    }
}
