//! The shortest chain behind a dimension or a number of axes, once a system is closed.
//!
//! [`explain`](super::explain) reads back how a fact was found first, which may be by a long way round: a size that
//! came through twenty operations was perhaps declared next to the one that is asked about. Here every way counts.
//! With ranks and markers settled, each constraint relates certain places ([`sizes`]) or certain ranks ([`ranks`]),
//! and what follows from what is a graph, in which the shortest way from what somebody wrote is found as in
//! Dijkstra's algorithm (with Knuth's generalisation, because an equation needs several facts at once).
//!
//! A policy step costs more than any number of constraints: what is entailed is shown to be.

mod ranks;
mod sizes;
#[cfg(test)]
mod tests;

use crate::solver::explain::chain::{Cause, chain_dim};
use crate::solver::report::DimShape;
use crate::solver::stores::reason::Policy;
use crate::solver::stores::state::State;
use crate::term::{ConstraintId, DimTerm, RowVar};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A link of a shortest chain; sources stand first, what was asked for last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Derived {
    /// The constraint, or the choice.
    pub cause: Cause,
    /// The dimension that has its value by this link; none where numbers of axes are told.
    pub what: Option<DimShape>,
    /// The row variable that it is an axis of, or whose axes are counted.
    pub row: Option<RowVar>,
    /// Where the constraint itself writes what the chain begins with.
    pub written: Option<Written>,
}

/// A place in a row term of a constraint; of a whole row, its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// Whether it is in the second term of the constraint: the operand of an inequality.
    pub second: bool,
    /// The axis, counted from the front.
    pub at: u32,
    /// How many axes the row has.
    pub of: u32,
}

/// The shortest chain that leads to the value of a dimension; empty if nothing says what it is.
pub(crate) fn shortest_dim(state: &State, marker: impl Fn(RowVar) -> u32, dim: DimShape) -> Vec<Derived> {
    sizes::shortest(state, marker, dim).unwrap_or_else(|| recorded(state, dim))
}

/// The shortest chain that leads to the number of axes of a row variable.
pub(crate) fn shortest_rank(state: &State, row: RowVar) -> Vec<Derived> {
    ranks::shortest(state, row.0)
}

/// The policy step that gave an axis its value, if one did directly.
pub(crate) fn policy_of(state: &State, dim: DimShape) -> Option<Policy> {
    state.value_policy(term_of(state, dim))
}

/// What stands for a dimension.
fn term_of(state: &State, dim: DimShape) -> DimTerm {
    let rank = |row: RowVar| state.ranks.lo(row.0);
    match dim {
        DimShape::Ground(_) => DimTerm::NONE,
        DimShape::Var(var) => var.into(),
        DimShape::Front(row, at) if at < rank(row) => state.row_axis(row.0, at),
        DimShape::Back(row, at) if at < rank(row) => state.row_axis(row.0, rank(row) - 1 - at),
        DimShape::Front(..) | DimShape::Back(..) => DimTerm::NONE,
    }
}

/// The chain as it was recorded, where no other is found.
fn recorded(state: &State, dim: DimShape) -> Vec<Derived> {
    let Some(var) = term_of(state, dim).var() else { return Vec::new() };
    let links = chain_dim(state, var).into_iter();
    links.map(|link| Derived { cause: link.cause, what: None, row: None, written: None }).collect()
}

/// What one policy step costs: more than all constraints together.
const POLICY: u64 = 1 << 32;

/// A fact, by its number; what that means is up to whoever searches.
type Fact = u32;

/// How one fact follows from others.
#[derive(Clone, Copy)]
enum Step {
    /// By a constraint, which may itself write what is told.
    Constraint(u32, Option<Written>),
    Policy(Policy),
    /// Without another word.
    Silent,
}

impl Step {
    fn cost(self) -> u64 {
        match self {
            Step::Constraint(..) => 1,
            Step::Policy(_) => POLICY,
            Step::Silent => 0,
        }
    }
}

/// The best way to a fact that was found.
#[derive(Clone)]
enum Way {
    Nothing,
    Start(Step),
    From(Step, Fact),
    All(Step, Box<[Fact]>),
}

/// A search for shortest ways. Facts are settled in the order of their cost.
struct Search {
    best: Vec<u64>,
    ways: Vec<Way>,
    settled: Vec<bool>,
    heap: BinaryHeap<Reverse<(u64, Fact)>>,
}

impl Search {
    fn new(facts: usize) -> Search {
        Search {
            best: vec![u64::MAX; facts],
            ways: vec![Way::Nothing; facts],
            settled: vec![false; facts],
            heap: BinaryHeap::new(),
        }
    }

    /// A way to a fact that costs so much besides its last step.
    fn offer(&mut self, fact: Fact, before: u64, step: Step, way: impl FnOnce(Step) -> Way) {
        let cost = before.saturating_add(step.cost());
        if cost < self.best[fact as usize] {
            self.best[fact as usize] = cost;
            self.ways[fact as usize] = way(step);
            self.heap.push(Reverse((cost, fact)));
        }
    }

    fn start(&mut self, fact: Fact, step: Step) {
        self.offer(fact, 0, step, Way::Start);
    }

    fn by(&mut self, fact: Fact, step: Step, source: Fact) {
        let before = self.best[source as usize];
        self.offer(fact, before, step, |step| Way::From(step, source));
    }

    fn by_all(&mut self, fact: Fact, step: Step, sources: &[Fact]) {
        let before = sources.iter().fold(0, |sum: u64, fact| sum.saturating_add(self.best[*fact as usize]));
        self.offer(fact, before, step, |step| Way::All(step, sources.into()));
    }

    /// The cheapest fact that is not settled yet; settles it.
    fn next(&mut self) -> Option<Fact> {
        while let Some(Reverse((_, fact))) = self.heap.pop() {
            if !std::mem::replace(&mut self.settled[fact as usize], true) {
                return Some(fact);
            }
        }
        None
    }

    /// The links of the way to a fact, sources first; `what` says what a fact is about.
    fn chain(
        &self,
        goals: &[Fact],
        what: impl Fn(Fact) -> (Option<RowVar>, Option<DimShape>),
    ) -> Vec<Derived> {
        let (mut seen, mut chain) = (FxHashSet::default(), Vec::new());
        let mut stack: Vec<(Fact, bool)> = goals.iter().rev().map(|goal| (*goal, false)).collect();
        while let Some((fact, expanded)) = stack.pop() {
            let way = &self.ways[fact as usize];
            if expanded {
                let (Way::Start(step) | Way::From(step, _) | Way::All(step, _)) = way else { continue };
                let (row, what) = what(fact);
                let (cause, written) = match *step {
                    Step::Constraint(id, written) => (Cause::Constraint(ConstraintId(id)), written),
                    Step::Policy(policy) => (Cause::Policy(policy, row), None),
                    Step::Silent => continue,
                };
                chain.push(Derived { cause, what, row, written });
            } else if seen.insert(fact) {
                stack.push((fact, true));
                match way {
                    Way::Nothing | Way::Start(_) => {}
                    Way::From(_, source) => stack.push((*source, false)),
                    Way::All(_, sources) => stack.extend(sources.iter().rev().map(|fact| (*fact, false))),
                }
            }
        }
        chain
    }
}
