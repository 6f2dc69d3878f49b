//! The greatest ranks at which no leaf stands out.

use crate::ids::NIL;
use crate::solver::closing::leaf_ranks::sources::{Measured, Sources};
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
        let start = Measured { sources: self.measured(&start), ranks: start };
        let (mut found, mut asked) = self.settle(start.clone(), &start);
        for _ in 0..MOST_STAGES {
            // The same answers to the same questions would lead to the same ranks.
            if asked.iter().all(|question| self.is_heard(question, &found) == question.heard) {
                break;
            }
            (found, asked) = self.settle(start.clone(), &found);
        }
        let mut ranks = found.ranks;
        // A rank that grew by going round in circles is none.
        for at in (0..ranks.len()).filter(|at| self.open[*at]) {
            if ranks[at] >= bound {
                ranks[at] = self.lo[at];
            }
        }
        ranks
    }

    /// The greatest ranks up to `start`, if those have something to say whose sources are as long as in `heard`; and who was
    /// asked whether they have.
    fn settle(&self, start: Measured, heard: &Measured) -> (Measured, Vec<Question>) {
        let mut search = Search { rows: self, heard, now: start, asked: Vec::new() };
        let mut lowered = Vec::new();
        loop {
            search.peel(&lowered);
            lowered = self.anchor(&mut search.now.ranks);
            if lowered.is_empty() {
                return (search.now, search.asked);
            }
        }
    }

    /// True if, at the ranks of `heard`, some other source of the row goes beyond the place where the leaf begins. Sources
    /// that end there, or before, do not restrict it.
    fn is_heard(&self, question: &Question, heard: &Measured) -> bool {
        let Question { row, result, leaf, begins, .. } = *question;
        let sources = match result {
            NIL => heard.sources[row as usize],
            result => self.made_of(row, result, heard),
        };
        sources.lengths.without(leaf) > begins
    }

    /// The sources of one result of a group: what is known of the group, and its own operands.
    fn made_of(&self, row: u32, result: u32, Measured { ranks, sources }: &Measured) -> Sources {
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

/// A question to the sources of a row, but for one leaf: does one of them go beyond a place?
struct Question {
    row: u32,
    /// The result of the row that is looked at, [`NIL`] for all of them.
    result: u32,
    leaf: u32,
    begins: i64,
    /// The answer that counted.
    heard: bool,
}

/// The way down to the greatest ranks at which no leaf stands out.
struct Search<'a> {
    rows: &'a RankProblem,
    /// The ranks at which sources are asked whether they have something to say.
    heard: &'a Measured,
    now: Measured,
    asked: Vec<Question>,
}

impl Search<'_> {
    /// Lowers the leaves that stand out, until none does. The sources are those at the present ranks, but for leaves that
    /// were lowered since.
    fn peel(&mut self, lowered: &[u32]) {
        let rows = self.rows;
        if rows.circular {
            return self.peel_circular();
        }
        // Rows to look at, operands first, and those whose sources may have changed; a leaf that was lowered leads back to it.
        let mut waits = vec![true; rows.order.len()];
        let mut stale = vec![false; rows.order.len()];
        lowered.iter().for_each(|leaf| stale[rows.place[*leaf as usize] as usize] = true);
        let mut from = 0;
        while let Some(place) = (from..waits.len()).find(|place| waits[*place]) {
            from = place + 1;
            waits[place] = false;
            let row = rows.order[place];
            if std::mem::take(&mut stale[place]) {
                let own = rows.sources(row, &self.now.ranks, &self.now.sources);
                if std::mem::replace(&mut self.now.sources[row as usize], own) != own {
                    for edge in rows.down.of(row) {
                        let below = rows.place[rows.edges[*edge as usize].below as usize] as usize;
                        (waits[below], stale[below]) = (true, true);
                    }
                }
            }
            if let Some((leaf, rank)) = self.stands_out_of(row) {
                self.now.ranks[leaf] = rank;
                let leaf = rows.place[leaf] as usize;
                (waits[leaf], stale[leaf]) = (true, true);
                from = from.min(leaf);
            }
        }
    }

    /// The same where rows refine each other in a circle: they would remember what a leaf was, so all are
    /// measured anew in each round.
    fn peel_circular(&mut self) {
        loop {
            self.now.sources = self.rows.measured(&self.now.ranks);
            let rows = self.rows;
            let lowered: Vec<_> = rows.order.iter().filter_map(|row| self.stands_out_of(*row)).collect();
            if lowered.is_empty() {
                return;
            }
            for (leaf, rank) in lowered {
                self.now.ranks[leaf] = self.now.ranks[leaf].min(rank);
            }
        }
    }

    /// The leaf that stands out in a group. Results that equalities tie are looked at one by one: what one of them is
    /// made of is no company for what another is made of.
    fn stands_out_of(&mut self, row: u32) -> Option<(usize, i64)> {
        let rows = self.rows;
        match rows.results.get(&row) {
            None => self.stands_out(row, NIL, self.now.sources[row as usize]),
            Some(results) => results
                .iter()
                .find_map(|result| self.stands_out(row, *result, rows.made_of(row, *result, &self.now))),
        }
    }

    /// The leaf that is greater than all other sources of a row, and the rank at which it is not.
    fn stands_out(&mut self, row: u32, result: u32, own: Sources) -> Option<(usize, i64)> {
        let lengths = own.lengths;
        let front = self.rows.front[row as usize];
        [(lengths.first, 0), (own.furthest, front)].into_iter().find_map(|((value, leaf), front)| {
            if leaf == KNOWN || leaf == NIL {
                return None;
            }
            let other = lengths.without(leaf) + front;
            let (at, rank) = (leaf as usize, self.now.ranks[leaf as usize]);
            let lower = (rank - (value - other)).max(self.rows.lo[at]);
            if other >= value || lower >= rank {
                return None;
            }
            let begins = value - rank - front;
            let mut question = Question { row, result, leaf, begins, heard: false };
            question.heard = self.rows.is_heard(&question, self.heard);
            let heard = question.heard;
            self.asked.push(question);
            heard.then_some((at, lower))
        })
    }
}
