//! Shortest ways through a graph of facts: Dijkstra's algorithm, in Knuth's generalisation to steps that need several
//! facts at once.

use crate::solver::explain::chain::Cause;
use crate::solver::report::DimShape;
use crate::solver::stores::reason::Policy;
use crate::term::{ConstraintId, RowVar};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A link of a shortest chain; sources stand first, what was asked for last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Derived {
    /// The constraint, or the choice.
    pub cause: Cause,
    /// The dimension that has its value by this link; none if the link is about a number of axes.
    pub what: Option<DimShape>,
    /// The row variable that it is an axis of, or whose axes are counted.
    pub row: Option<RowVar>,
    /// The place where the constraint itself writes what the chain begins with.
    pub written: Option<Written>,
}

/// A place in a row term of a constraint; of a whole row, its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// True if it is in the second term of the constraint: the operand of an inequality.
    pub second: bool,
    /// The axis, counted from the front.
    pub at: u32,
    /// The number of axes of the row.
    pub of: u32,
}

/// The cost of a policy step: more than all constraints together.
pub(super) const POLICY: u64 = 1 << 32;

/// A fact, by its number; the search decides the meaning of numbers.
pub(super) type Fact = u32;

/// The step by which one fact follows from others.
#[derive(Clone, Copy)]
pub(super) enum Inference {
    /// By a constraint, which may itself write the value.
    Constraint(ConstraintId, Option<Written>),
    Policy(Policy),
    /// Without a line of its own.
    Silent,
}

impl Inference {
    pub fn cost(self) -> u64 {
        match self {
            Inference::Constraint(..) => 1,
            Inference::Policy(_) => POLICY,
            Inference::Silent => 0,
        }
    }
}

/// The best way to a fact that was found.
#[derive(Clone)]
pub(super) enum Way {
    Nothing,
    Start(Inference),
    From(Inference, Fact),
    All(Inference, Box<[Fact]>),
}

/// The shortest ways found so far. Facts are settled in the order of their cost.
pub(super) struct Ways {
    pub best: Vec<u64>,
    pub ways: Vec<Way>,
    pub settled: Vec<bool>,
    pub heap: BinaryHeap<Reverse<(u64, Fact)>>,
}

impl Ways {
    pub fn new(facts: usize) -> Ways {
        Ways {
            best: vec![u64::MAX; facts],
            ways: vec![Way::Nothing; facts],
            settled: vec![false; facts],
            heap: BinaryHeap::new(),
        }
    }

    /// A way to a fact that costs so much besides its last step.
    pub fn offer(&mut self, fact: Fact, before: u64, step: Inference, way: impl FnOnce(Inference) -> Way) {
        let cost = before.saturating_add(step.cost());
        if cost < self.best[fact as usize] {
            self.best[fact as usize] = cost;
            self.ways[fact as usize] = way(step);
            self.heap.push(Reverse((cost, fact)));
        }
    }

    pub fn start(&mut self, fact: Fact, step: Inference) {
        self.offer(fact, 0, step, Way::Start);
    }

    pub fn by(&mut self, fact: Fact, step: Inference, source: Fact) {
        let before = self.best[source as usize];
        self.offer(fact, before, step, |step| Way::From(step, source));
    }

    pub fn by_all(&mut self, fact: Fact, step: Inference, sources: &[Fact]) {
        let before = sources.iter().fold(0, |sum: u64, fact| sum.saturating_add(self.best[*fact as usize]));
        self.offer(fact, before, step, |step| Way::All(step, sources.into()));
    }

    /// The cheapest fact that is not settled yet; settles it.
    pub fn next(&mut self) -> Option<Fact> {
        while let Some(Reverse((_, fact))) = self.heap.pop() {
            if !std::mem::replace(&mut self.settled[fact as usize], true) {
                return Some(fact);
            }
        }
        None
    }

    /// The links of the way to a fact, sources first; `what` says what a fact is about.
    pub fn chain(
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
                    Inference::Constraint(id, written) => (Cause::Constraint(id), written),
                    Inference::Policy(policy) => (Cause::Policy(policy, row), None),
                    Inference::Silent => continue,
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
