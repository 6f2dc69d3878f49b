//! The greatest ranks at which no leaf stands out.

use crate::ids::IdVec;
use crate::solver::closing::leaf_ranks::groups::GroupId;
use crate::solver::closing::leaf_ranks::sources::{Measured, Sources};
use crate::solver::closing::leaf_ranks::{KNOWN, Lists, NEVER, RankProblem, Refinement};
use crate::solver::components::components;
use crate::term::RowVar;

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
        let is_open = |group: &GroupId| self.lo[*group] > NEVER;
        // Results are usually made after their operands.
        self.order = if self.edges.iter().all(|edge| edge.above < edge.below) {
            self.lo.ids().filter(is_open).collect()
        } else {
            let above = |group: GroupId, out: &mut Vec<GroupId>| {
                out.extend(self.up.of(group).iter().map(|edge| self.edges[*edge].above))
            };
            components(count, above).order.into_iter().filter(is_open).collect()
        };
        self.place = IdVec::filled(0, count);
        for (place, group) in (0..).zip(&self.order) {
            self.place[*group] = place;
        }
        let known = self.lo.iter().chain(self.offered.iter()).copied().max().unwrap_or(0).max(0);
        let shift = |edge: &Refinement| edge.longer.abs() + edge.further.abs();
        self.bound = known + self.edges.iter().map(shift).sum::<i64>().min(FAR) + 1;
        let place = |group: GroupId| self.place[group];
        self.circular = self.edges.iter().any(|edge| place(edge.above) > place(edge.below));
    }

    /// The greatest ranks that satisfy both rules, by group.
    pub(super) fn greatest(&self) -> IdVec<GroupId, i64> {
        let bound = self.bound;
        let start =
            |group: GroupId| if self.open[group] { self.hi[group].min(bound) } else { self.lo[group] };
        let start: IdVec<GroupId, i64> = self.lo.ids().map(start).collect();
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
        for group in ranks.ids().filter(|group| self.open[*group]) {
            if ranks[group] >= bound {
                ranks[group] = self.lo[group];
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
        let Question { group, result, leaf, begins, .. } = *question;
        let sources = match result {
            RowVar::NIL => heard.sources[group],
            result => self.made_of(group, result, heard),
        };
        sources.lengths.without(leaf) > begins
    }

    /// The sources of one result of a group: what is known of the group, and its own operands.
    fn made_of(&self, group: GroupId, result: RowVar, Measured { ranks, sources }: &Measured) -> Sources {
        let mut own = Sources::NONE;
        if self.known[group] > NEVER {
            own.lengths.add((self.known[group], KNOWN));
        }
        for edge in self.up.of(group).iter().map(|edge| self.edges[*edge]) {
            if edge.row == result {
                self.add_operand(&mut own, edge, ranks, sources);
            }
        }
        own.clipped(self.front[group])
    }

    /// The sources of all rows.
    fn measured(&self, ranks: &IdVec<GroupId, i64>) -> IdVec<GroupId, Sources> {
        let mut sources = IdVec::filled(Sources::NONE, self.lo.len());
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for group in &self.order {
                let own = self.sources(*group, ranks, &sources);
                changed |= self.circular && own != sources[*group];
                sources[*group] = own;
            }
        }
        sources
    }

    /// The sources of a row, given those of its operands.
    fn sources(
        &self,
        group: GroupId,
        ranks: &IdVec<GroupId, i64>,
        sources: &IdVec<GroupId, Sources>,
    ) -> Sources {
        let mut own = Sources::NONE;
        if self.known[group] > NEVER {
            own.lengths.add((self.known[group], KNOWN));
        }
        if self.open[group] {
            own.lengths.add((ranks[group], group));
            own.reaches(ranks[group], group);
        }
        for edge in self.up.of(group) {
            self.add_operand(&mut own, self.edges[*edge], ranks, sources);
        }
        own.clipped(self.front[group])
    }

    /// Adds the sources of an operand.
    fn add_operand(
        &self,
        own: &mut Sources,
        edge: Refinement,
        ranks: &IdVec<GroupId, i64>,
        sources: &IdVec<GroupId, Sources>,
    ) {
        let Refinement { above, longer, further, leaf: more, through: [more_axes, behind], .. } = edge;
        let Sources { lengths, furthest: (value, leaf) } = sources[above];
        let bound = 2 * self.bound;
        own.lengths.add_all(lengths, longer, bound);
        if leaf != GroupId::NIL {
            // By way of a row, a leaf reaches no further than that row does.
            let value = value.min(lengths.of(leaf) + more_axes + behind);
            own.reaches((value + further).min(bound), leaf);
        }
        if self.open[above] {
            own.reaches((ranks[above] + more).min(bound), above);
        }
    }
}

/// A question to the sources of a row, but for one leaf: does one of them go beyond a place?
struct Question {
    group: GroupId,
    /// The result of the row that is looked at, `NIL` for all of them.
    result: RowVar,
    leaf: GroupId,
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
    fn peel(&mut self, lowered: &[GroupId]) {
        let rows = self.rows;
        if rows.circular {
            return self.peel_circular();
        }
        // Rows to look at, operands first, and those whose sources may have changed; a leaf that was lowered leads back to it.
        let mut waits = vec![true; rows.order.len()];
        let mut stale = vec![false; rows.order.len()];
        lowered.iter().for_each(|leaf| stale[rows.place[*leaf] as usize] = true);
        let mut from = 0;
        while let Some(place) = (from..waits.len()).find(|place| waits[*place]) {
            from = place + 1;
            waits[place] = false;
            let group = rows.order[place];
            if std::mem::take(&mut stale[place]) {
                let own = rows.sources(group, &self.now.ranks, &self.now.sources);
                if std::mem::replace(&mut self.now.sources[group], own) != own {
                    for edge in rows.down.of(group) {
                        let below = rows.place[rows.edges[*edge].below] as usize;
                        (waits[below], stale[below]) = (true, true);
                    }
                }
            }
            if let Some((leaf, rank)) = self.stands_out_of(group) {
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
            let lowered: Vec<_> = rows.order.iter().filter_map(|group| self.stands_out_of(*group)).collect();
            if lowered.is_empty() {
                return;
            }
            for (leaf, rank) in lowered {
                self.now.ranks[leaf] = self.now.ranks[leaf].min(rank);
            }
        }
    }

    /// The leaf that stands out in a group. Results that equalities tie are looked at one by one: the
    /// sources of one are not compared with those of another.
    fn stands_out_of(&mut self, group: GroupId) -> Option<(GroupId, i64)> {
        let rows = self.rows;
        match rows.results.get(&group) {
            None => self.stands_out(group, RowVar::NIL, self.now.sources[group]),
            Some(results) => results
                .iter()
                .find_map(|result| self.stands_out(group, *result, rows.made_of(group, *result, &self.now))),
        }
    }

    /// The leaf that is greater than all other sources of a row, and the rank at which it is not.
    fn stands_out(&mut self, group: GroupId, result: RowVar, own: Sources) -> Option<(GroupId, i64)> {
        let lengths = own.lengths;
        let front = self.rows.front[group];
        [(lengths.first, 0), (own.furthest, front)].into_iter().find_map(|((value, leaf), front)| {
            if leaf == KNOWN || leaf == GroupId::NIL {
                return None;
            }
            let other = lengths.without(leaf) + front;
            let rank = self.now.ranks[leaf];
            let lower = (rank - (value - other)).max(self.rows.lo[leaf]);
            if other >= value || lower >= rank {
                return None;
            }
            let begins = value - rank - front;
            let mut question = Question { group, result, leaf, begins, heard: false };
            question.heard = self.rows.is_heard(&question, self.heard);
            let heard = question.heard;
            self.asked.push(question);
            heard.then_some((leaf, lower))
        })
    }
}
