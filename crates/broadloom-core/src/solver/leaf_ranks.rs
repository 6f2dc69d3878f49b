//! How many axes leaves take (docs/solver.md, "How many axes a leaf takes"): a function of the set of
//! constraints, whatever their order.
//!
//! A leaf that leaves its rank open takes the axes of what it is used with, and never widens it. Rows that
//! equalities tie are one row here. The *sources* of a row are what is known of its axes, the open leaf it
//! is (if it is one), and the sources of the operands it refines. A source has a *length*: all axes of the term it came
//! with. An open leaf has a *reach*, too: how far its own axes go from the back, without those that a term has before
//! it. The ranks are the greatest that satisfy two rules:
//!
//! 1. *Nobody stands out.* In every row, an open leaf is not longer, and does not reach further, than some other source
//!    is long, unless none of the others comes up to the leaf at all: those that end where the leaf begins have nothing
//!    to say about it.
//! 2. *Nobody floats.* Every axis of an open leaf can be traced back, from one source to another of the
//!    same row and so on, to one that is known.
//!
//! Given who has something to say, both rules survive unions, so there are greatest ranks. They are found
//! from above: [`Rows::peel`] lowers leaves that stand out, [`Rows::anchor`] those that float, until nothing
//! moves. At first every open leaf has something to say; leaves that then turn out too short for that
//! are silent the next time. For the first rule two different sources of each row are enough, the longest
//! and the next.
//!
//! For example `h ⊑ x`, `h ⊑ b`, `t ⊑ b`, `t ⊑ c` with `x = [784]` and leaves `b` and `c`: in `h`, `b` must not be
//! longer than `x`; in `t`, `b` and `c` allow each other anything, but only one axis of them can be
//! traced to `x`. So both have one.

use std::collections::{BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

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

/// How often leaves that turned out to be silent are taken as such.
const MOST_STAGES: usize = 6;

/// A row `below` that refines a row `above`, and by how much its length and its reach are greater.
#[derive(Clone, Copy)]
struct Edge {
    below: u32,
    above: u32,
    /// The row of the group below that it is about.
    row: u32,
    /// How much greater the reach is of the leaves that are the row above: all their axes behind the marker.
    leaf: i64,
    /// The row above, in terms of its group: how much longer it is, and how far behind.
    through: [i64; 2],
    longer: i64,
    further: i64,
}

/// What stands for a source: what is known of a row, or an open leaf by its row.
const KNOWN: u32 = NIL - 1;

/// The greatest source of a row and the greatest of the others; absent ones have no source.
#[derive(Clone, Copy, PartialEq)]
struct Greatest {
    first: (i64, u32),
    second: (i64, u32),
}

impl Greatest {
    const NONE: Greatest = Greatest { first: (NEVER, NIL), second: (NEVER, NIL) };

    fn add(&mut self, (value, source): (i64, u32)) {
        if source == NIL {
            return;
        }
        if source == self.first.1 {
            self.first.0 = self.first.0.max(value);
        } else if value > self.first.0 || self.first.1 == NIL {
            self.second = self.first;
            self.first = (value, source);
        } else if source == self.second.1 {
            self.second.0 = self.second.0.max(value);
        } else if value > self.second.0 || self.second.1 == NIL {
            self.second = (value, source);
        }
    }

    /// Adds what is `more` than others, up to a bound: around a circle, lengths may grow without end.
    fn add_all(&mut self, other: Greatest, more: i64, bound: i64) {
        self.add(((other.first.0 + more).min(bound), other.first.1));
        self.add(((other.second.0 + more).min(bound), other.second.1));
    }

    /// One source, if there is one.
    fn of_one(value: i64, source: u32) -> Greatest {
        let mut greatest = Greatest::NONE;
        greatest.add((value, source));
        greatest
    }

    /// Adds what is `more` than others; returns whether that changes anything.
    fn raise(&mut self, other: Greatest, more: i64, bound: i64) -> bool {
        let before = *self;
        self.add_all(other, more, bound);
        *self != before
    }

    /// How great a source is; one that is not among the greatest is no greater than those.
    fn of(&self, source: u32) -> i64 {
        if self.first.1 == source { self.first.0 } else { self.second.0 }
    }

    /// How great the greatest source is, but for one.
    fn without(&self, source: u32) -> i64 {
        if self.first.1 == source { self.second.0 } else { self.first.0 }
    }
}

/// The sources of a row: the longest, and the open leaf that reaches furthest.
#[derive(Clone, Copy, PartialEq)]
struct Sources {
    lengths: Greatest,
    furthest: (i64, u32),
}

impl Sources {
    const NONE: Sources = Sources { lengths: Greatest::NONE, furthest: (NEVER, NIL) };

    fn reaches(&mut self, value: i64, leaf: u32) {
        if value > self.furthest.0 {
            self.furthest = (value, leaf);
        }
    }

    /// No leaf reaches further than it is long: what would reach beyond the front of a row is not in it.
    fn clipped(mut self, front: i64) -> Sources {
        let (value, leaf) = self.furthest;
        if leaf != NIL {
            self.furthest.0 = value.min(self.lengths.of(leaf) + front);
        }
        self
    }
}

/// The ranks that say who is heard, and the sources there are at these ranks.
struct Heard {
    ranks: Vec<i64>,
    sources: Vec<Sources>,
}

/// A row in terms of the one that stands for its group.
#[derive(Clone, Copy)]
struct Member {
    group: u32,
    /// How many axes more it has.
    longer: i64,
    /// How far from the back of the group's row its last axis stands.
    behind: i64,
}

/// The open rows and what is made of them, those that are equal as one, and how they refine each other. What is kept by row is that of its
/// group, at the row that stands for it.
struct Rows {
    /// The rows that are here.
    taking_part: Vec<bool>,
    members: Vec<Member>,
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
    /// What is known of the length of each group, apart from its open operands and from itself.
    known: Vec<i64>,
    /// What known results offer.
    offered: Vec<i64>,
    /// Whether the group has an open leaf.
    open: Vec<bool>,
    /// How far from the back the front of the longest row of each group is, beyond the length of the group.
    front: Vec<i64>,
    /// The results in each group that has several.
    results: FxHashMap<u32, SmallVec<[u32; 2]>>,
    /// No chain of sources leads to so many axes, unless it goes round in circles.
    bound: i64,
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
            let Member { group, longer, .. } = rows.members[row as usize];
            let rank = (ranks[group as usize] + longer).max(0) as u32;
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
        let taking_part = self.taking_part();
        let (members, count) = numbered(self.equal_rows(), &taking_part);
        let mut rows = Rows {
            taking_part,
            members,
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
            front: vec![0; count],
            results: FxHashMap::default(),
            bound: 0,
        };
        for row in (0..self.rows.len() as u32).filter(|row| rows.taking_part[*row as usize]) {
            let Member { group, longer, .. } = rows.members[row as usize];
            let at = group as usize;
            rows.lo[at] = rows.lo[at].max(i64::from(self.ranks.lo(row)) - longer);
            if self.ranks.hi(row) != UNBOUNDED {
                rows.hi[at] = rows.hi[at].min(i64::from(self.ranks.hi(row)) - longer);
            }
        }
        leaves.iter().for_each(|row| rows.open[rows.members[*row as usize].group as usize] = true);
        // A row that is made of its operands has theirs, whoever reads it.
        for support in 0..self.supports.len() {
            let res = self.supports.get(support).res;
            let Member { group, .. } = rows.members[res as usize];
            if group == NIL {
                continue;
            }
            rows.open[group as usize] = false;
            rows.results.entry(group).or_default().push(res);
        }
        rows.results.retain(|_, results| results.len() > 1);
        self.silence_fillers(&mut rows);
        // How long each row is by its operands.
        let mut derived = vec![NEVER; count];
        for con in self.rows.cons().filter(|con| con.kind == Kind::Le) {
            self.relate(&mut rows, &mut derived, con);
        }
        // What a result has beyond its operands was asked for by whoever reads it.
        for row in 0..self.rows.len() as u32 {
            if !rows.taking_part[row as usize] {
                continue;
            }
            let at = rows.members[row as usize].group as usize;
            if !rows.open[at] && rows.lo[at] > derived[at] {
                rows.known[at] = rows.known[at].max(rows.lo[at]);
            }
        }
        for row in (0..self.rows.len()).filter(|row| rows.taking_part[*row]) {
            let Member { group, longer, behind } = rows.members[row];
            rows.front[group as usize] = rows.front[group as usize].max(longer + behind);
        }
        rows.sort();
        rows
    }

    /// A filler takes no axes where a tensor that it meets has none, and others elsewhere.
    fn silence_fillers(&self, rows: &mut Rows) {
        let open =
            |row: &u32| self.rows.role(*row) == Role::Filler && rows.members[*row as usize].group != NIL;
        let fillers: Vec<u32> = self.rows.leaves().iter().copied().filter(open).collect();
        if fillers.is_empty() {
            return;
        }
        let mut absent: Vec<bool> = vec![false; self.rows.len()];
        for absence in self.absences.iter().filter(|absence| self.is_absent(absence)) {
            absent[absence.row as usize] = true;
        }
        let mut more = absent.contains(&true);
        while std::mem::take(&mut more) {
            for RowCon { res, opnd, kind, .. } in
                (0..self.rows.con_count()).rev().map(|con| self.rows.con(con))
            {
                let alike = res.flanks() == 0 && opnd.flanks() == 0 && res.hole != NIL && opnd.hole != NIL;
                let interior =
                    alike && self.rows.role(res.hole) == Role::Interior && self.ranks.lo(res.hole) == 0;
                if kind == Kind::Le && interior && absent[res.hole as usize] && !absent[opnd.hole as usize] {
                    absent[opnd.hole as usize] = true;
                    more = true;
                }
            }
        }
        for row in fillers.into_iter().filter(|row| absent[*row as usize]) {
            let Member { group, longer, .. } = rows.members[row as usize];
            let at = group as usize;
            rows.hi[at] = rows.hi[at].min(rows.lo[at].max(-longer));
        }
    }

    /// What an inequality says about lengths.
    fn relate(&self, rows: &mut Rows, derived: &mut [i64], RowCon { res, opnd, .. }: RowCon) {
        let is_open = |row: u32| row != NIL && rows.taking_part[row as usize];
        let inner = |term: Term| if term.hole == NIL { 0 } else { i64::from(self.ranks.lo(term.hole)) };
        let length = |term: Term| i64::from(term.flanks()) + inner(term);
        let own = is_open(res.hole).then(|| rows.members[res.hole as usize]);
        if let Some(own) = own {
            // In terms of the result's group.
            let longer = i64::from(res.flanks()) + own.longer;
            let at = own.group as usize;
            derived[at] = derived[at].max(length(opnd) - longer);
            if !is_open(opnd.hole) {
                rows.known[at] = rows.known[at].max(length(opnd) - longer);
            }
        }
        if !is_open(opnd.hole) {
            return;
        }
        let above = rows.members[opnd.hole as usize];
        if res.hole == NIL || self.rows.is_fixed(res.hole) || res.flanks() > 0 {
            let offered = &mut rows.offered[above.group as usize];
            *offered = (*offered).max(length(res) - i64::from(opnd.trail) + above.behind);
        }
        let Some(own) = own else { return };
        if own.group != above.group {
            let longer = i64::from(opnd.flanks()) - i64::from(res.flanks()) + above.longer - own.longer;
            let reach = i64::from(opnd.trail) - above.behind - i64::from(res.trail) + own.behind;
            let row = res.hole;
            let marker = i64::from(self.rows.declared(opnd.hole).unwrap_or(0));
            let leaf = reach + above.behind + (above.longer - marker).max(-above.behind);
            let through = [above.longer, above.behind];
            let (below, above) = (own.group, above.group);
            rows.edges.push(Edge { below, above, row, leaf, through, longer, further: reach });
        }
    }

    /// The rows whose sources matter: open ones, and results of known rank that are made of such rows. (What a
    /// reader says about the rank of a result says nothing about whose axes they are.)
    fn taking_part(&self) -> Vec<bool> {
        let mut part: Vec<bool> = (0..self.rows.len() as u32).map(|row| !self.rows.is_fixed(row)).collect();
        let mut more = true;
        while std::mem::take(&mut more) {
            for support in 0..self.supports.len() {
                let res = self.supports.get(support).res as usize;
                let takes = |term: &Term| term.hole != NIL && part[term.hole as usize];
                if !part[res] && self.supports.terms(support).iter().any(takes) {
                    part[res] = true;
                    more = true;
                }
            }
        }
        part
    }

    /// The row that stands for each row, where equalities tie them.
    fn equal_rows(&self) -> Vec<Member> {
        let is_open = |row: u32| row != NIL && !self.rows.is_fixed(row);
        let alone = |row: u32| Member { group: row, longer: 0, behind: 0 };
        let mut groups = Groups { parent: (0..self.rows.len() as u32).map(alone).collect() };
        for RowCon { res, opnd, .. } in self.rows.cons().filter(|con| con.kind == Kind::Eq) {
            if is_open(res.hole) && is_open(opnd.hole) && res.hole != opnd.hole {
                let longer = i64::from(res.flanks()) - i64::from(opnd.flanks());
                let behind = i64::from(opnd.trail) - i64::from(res.trail);
                groups.join(res.hole, Member { group: opnd.hole, longer, behind });
            }
        }
        let mut members: Vec<Member> = (0..self.rows.len() as u32).map(|row| groups.find(row)).collect();
        count_in_the_shortest(&mut members);
        members
    }
}

/// Counts each group in the axes of its shortest row, and among those in the one furthest to the back: which row was
/// made first does not matter.
fn count_in_the_shortest(members: &mut [Member]) {
    let mut least: FxHashMap<u32, (i64, i64)> = FxHashMap::default();
    for (row, Member { group, longer, behind }) in (0..).zip(members.iter()) {
        if *group != row {
            let least = least.entry(*group).or_insert((0, 0));
            *least = (*least).min((*longer, *behind));
        }
    }
    for member in members.iter_mut() {
        if let Some((longer, behind)) = least.get(&member.group) {
            (member.longer, member.behind) = (member.longer - longer, member.behind - behind);
        }
    }
}

/// The groups of the rows that take part, numbered one after the other, and how many there are; no others have one.
fn numbered(mut members: Vec<Member>, taking_part: &[bool]) -> (Vec<Member>, usize) {
    let mut numbers: Vec<u32> = vec![NIL; members.len()];
    let mut count = 0;
    for (member, takes_part) in members.iter_mut().zip(taking_part) {
        if !takes_part {
            member.group = NIL;
            continue;
        }
        let number = &mut numbers[member.group as usize];
        if *number == NIL {
            *number = count;
            count += 1;
        }
        member.group = *number;
    }
    (members, count as usize)
}

impl Rows {
    /// Puts operands before results, and finds the bound.
    fn sort(&mut self) {
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
        let shift = |edge: &Edge| edge.longer.abs() + edge.further.abs();
        self.bound = known + self.edges.iter().map(shift).sum::<i64>().min(FAR) + 1;
        let place = |row: u32| self.place[row as usize];
        self.circular = self.edges.iter().any(|edge| place(edge.above) > place(edge.below));
    }

    /// The greatest ranks that satisfy both rules, by group.
    fn greatest(&self) -> Vec<i64> {
        let bound = self.bound;
        let start = |at: usize| if self.open[at] { self.hi[at].min(bound) } else { self.lo[at] };
        let start: Vec<i64> = (0..self.lo.len()).map(start).collect();
        let heard = |ranks: &[i64]| Heard { sources: self.measured(ranks), ranks: ranks.to_vec() };
        let mut ranks = self.settle(start.clone(), &heard(&start));
        // Where nothing is shifted, only a leaf without axes can turn out to be silent.
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
        // Rows to look at, operands first; a leaf that was lowered leads back to it.
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
            // Those that end where the leaf begins, or before, have nothing to say about it.
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
    fn add_operand(&self, own: &mut Sources, edge: Edge, ranks: &[i64], sources: &[Sources]) {
        let Edge { above, longer, further, leaf: more, through: [more_axes, behind], .. } = edge;
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

    /// Lowers the leaves that float to what can be traced to a known row, one leaf after the other: what a leaf is
    /// given by another one it does not give back. Returns whether any was lowered.
    fn anchor(&self, ranks: &mut [i64]) -> bool {
        let count = ranks.len();
        let mut traced = Traced {
            lengths: self.known.clone(),
            certain: (0..count)
                .map(|at| Greatest::of_one(0, if self.open[at] { at as u32 } else { NIL }))
                .collect(),
            offered: self
                .offered
                .iter()
                .map(|offered| Greatest::of_one(*offered, if *offered > NEVER { KNOWN } else { NIL }))
                .collect(),
            settled: self.open.iter().map(|open| !open).collect(),
            waiting: BinaryHeap::new(),
            queue: VecDeque::new(),
            queued: vec![false; count],
        };
        // What is known goes to all results, and what is known of results back; then one leaf after the other.
        self.order.iter().for_each(|row| self.pass_down(*row, &mut traced, false));
        self.order.iter().rev().for_each(|row| self.pass_up(*row, &mut traced, false));
        let looked_at = |row: &&u32| self.circular || self.open[**row as usize];
        self.order.iter().filter(looked_at).for_each(|row| traced.look_at(*row));
        let mut lowered = false;
        let mut begin = 0;
        loop {
            self.trace(ranks, &mut traced);
            // Nothing else is certain: those that can be traced furthest go first, all at once.
            if let Some((most, _)) = traced.waiting.peek().copied() {
                while let Some((_, row)) = traced.waiting.peek().copied().filter(|(rank, _)| *rank == most) {
                    traced.waiting.pop();
                    if !traced.settled[row as usize] {
                        ranks[row as usize] = most;
                        traced.settle(row, most);
                        lowered = true;
                    }
                }
                continue;
            }
            // What has axes before it tells others where it ends.
            let open = |row: &&u32| !traced.settled[**row as usize];
            let leads = |row: &&u32| {
                self.down.of(**row).iter().any(|edge| {
                    let Edge { longer, further, .. } = self.edges[*edge as usize];
                    longer > further
                })
            };
            let rest: Vec<u32> = self.order[begin..].iter().filter(open).copied().collect();
            let first: Vec<u32> = rest.iter().filter(leads).copied().collect();
            begin = if first.is_empty() { self.order.len() } else { 0 };
            let last = if first.is_empty() { rest } else { first };
            if last.is_empty() {
                return lowered;
            }
            for row in last {
                let least = self.lo[row as usize];
                lowered |= ranks[row as usize] > least;
                ranks[row as usize] = least;
                traced.settle(row, least);
            }
        }
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

    /// Tells the results of a row what is traced in it.
    fn pass_down(&self, row: u32, traced: &mut Traced, again: bool) {
        let at = row as usize;
        let (length, certain) = (traced.lengths[at], traced.certain[at]);
        for edge in self.down.of(row) {
            let Edge { below, longer, further, .. } = self.edges[*edge as usize];
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

    /// Tells the operands of a row what there is to face in it.
    fn pass_up(&self, row: u32, traced: &mut Traced, again: bool) {
        let at = row as usize;
        let mut offer = traced.offered[at];
        offer.add_all(traced.certain[at], 0, self.bound);
        if traced.lengths[at] > NEVER {
            offer.add((traced.lengths[at] + self.front[at], KNOWN));
        }
        for edge in self.up.of(row) {
            let Edge { above, further, .. } = self.edges[*edge as usize];
            if traced.offered[above as usize].raise(offer, -further, self.bound) && again {
                traced.look_at(above);
            }
        }
    }
}

/// What can be traced to known rows.
struct Traced {
    /// How long each row is by what is known, and by leaves that have their axes.
    lengths: Vec<i64>,
    /// How far from the back each row goes by axes that stand behind leaves, whatever these have.
    certain: Vec<Greatest>,
    /// How far from the back there is something to face, in the rows below each.
    offered: Vec<Greatest>,
    /// Whether a leaf has its axes; others have none of their own.
    settled: Vec<bool>,
    /// Leaves of which only some axes can be traced, the most first.
    waiting: BinaryHeap<(i64, u32)>,
    /// Rows to look at, each once.
    queue: VecDeque<u32>,
    queued: Vec<bool>,
}

impl Traced {
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

/// Rows that equalities tie, each in terms of its parent.
struct Groups {
    parent: Vec<Member>,
}

impl Groups {
    fn find(&mut self, row: u32) -> Member {
        let mut found = Member { group: row, longer: 0, behind: 0 };
        while self.parent[found.group as usize].group != found.group {
            let Member { group, longer, behind } = self.parent[found.group as usize];
            found = Member { group, longer: found.longer + longer, behind: found.behind + behind };
        }
        // Everything on the way points to the root from now on.
        let (mut at, mut left) = (row, found);
        while self.parent[at as usize].group != found.group {
            let Member { group, longer, behind } = std::mem::replace(&mut self.parent[at as usize], left);
            left = Member { longer: left.longer - longer, behind: left.behind - behind, ..left };
            at = group;
        }
        found
    }

    /// Ties two rows: `b.group` is the other row, in terms of `a`. The smaller number stands for both: it was
    /// made first.
    fn join(&mut self, a: u32, b: Member) {
        let (own, other) = (self.find(a), self.find(b.group));
        // The root of the other row in terms of the root of this one.
        let longer = own.longer + b.longer - other.longer;
        let behind = own.behind + b.behind - other.behind;
        if own.group < other.group {
            self.parent[other.group as usize] = Member { group: own.group, longer, behind };
        } else if other.group < own.group {
            self.parent[own.group as usize] = Member { group: other.group, longer: -longer, behind: -behind };
        }
    }
}
