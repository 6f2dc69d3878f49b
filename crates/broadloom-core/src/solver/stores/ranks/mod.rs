//! The rank graph: exact feasibility of ranks (Formal Core, Defs. 4.5 and 5.2.1).
//!
//! Every row constraint is read as difference constraints `rank to ≥ rank from + k` (any sign of
//! `k`) and absolute bounds. The graph keeps the least solution `lo` and the greatest solution `hi`
//! (possibly unbounded), both incrementally. Facts are only ever added, so a positive cycle, or a
//! least rank above the greatest, proves that no ranks exist; otherwise `lo` itself is a rank model,
//! and termination follows (Thm. 5.2(a)). The open Detection Lemma is never needed.
//!
//! Relaxation visits nodes by decreasing gain (for `lo`) and increasing slack (for `hi`). With `lo`
//! as potential all reduced costs are non-negative, so each node is settled once per update, as in
//! Dijkstra's algorithm. A raise that comes back to the source of the edge just added is a positive
//! cycle.

mod settle;

use crate::ids::{ArithId, IdVec, NIL, RankEdgeId, RowConId, StepId, SupportId, words};
use crate::solver::components::{ComponentId, components};
use crate::solver::stores::reason::{Conflict, Limit, Outcome};
use crate::solver::stores::trail::{Cell, Entry, Trail};
use crate::term::RowVar;
use rustc_hash::FxHashSet;
use std::collections::BinaryHeap;

/// No upper bound.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct RankNode {
    lo: u32,
    hi: u32,
    /// Edges along which a raise of `lo` travels on.
    out: RankEdgeId,
    /// Edges along which a fall of `hi` travels on.
    into: RankEdgeId,
    lo_pred: Pred,
    hi_pred: Pred,
    /// True if a [support](super::supports) waits for its bounds.
    supports: bool,
}

/// `rank to ≥ rank from + k`, because of row constraint `con`.
#[derive(Clone, Copy)]
pub(crate) struct RankEdge {
    pub from: RowVar,
    pub to: RowVar,
    pub k: i32,
    pub con: RowConId,
    next_out: RankEdgeId,
    next_into: RankEdgeId,
}

/// The cause that last moved a bound, packed in one word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Pred(u32);

/// [`Pred`], unpacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RankCause {
    Start,
    Edge(RankEdgeId),
    Constraint(RowConId),
    Policy(StepId),
    /// An arithmetic constraint.
    Arith(ArithId),
    /// A support, from the bounds of all rows it is about.
    Support(SupportId),
}

words!(Pred);

impl Pred {
    const NONE: Pred = Pred(NIL);

    fn edge(edge: RankEdgeId) -> Pred {
        Pred(edge.0 << 3)
    }

    /// An absolute bound from a row constraint.
    pub fn constraint(con: RowConId) -> Pred {
        Pred(con.0 << 3 | 1)
    }

    /// A policy step.
    pub fn policy(step: StepId) -> Pred {
        Pred(step.0 << 3 | 2)
    }

    /// An absolute bound from an arithmetic constraint.
    pub fn arith(con: ArithId) -> Pred {
        Pred(con.0 << 3 | 3)
    }

    /// A bound from a support.
    pub fn support(support: SupportId) -> Pred {
        Pred(support.0 << 3 | 4)
    }

    fn cause(self) -> RankCause {
        let Pred(bits) = self;
        match bits & 7 {
            _ if self == Pred::NONE => RankCause::Start,
            0 => RankCause::Edge(RankEdgeId(bits >> 3)),
            1 => RankCause::Constraint(RowConId(bits >> 3)),
            2 => RankCause::Policy(StepId(bits >> 3)),
            3 => RankCause::Arith(ArithId(bits >> 3)),
            _ => RankCause::Support(SupportId(bits >> 3)),
        }
    }
}

/// A bound about to move; the greatest key goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Move {
    key: i64,
    row: RowVar,
    bound: u32,
    pred: Pred,
}

/// The graph, one node per row variable.
#[derive(Clone, Default)]
pub(crate) struct Ranks {
    nodes: IdVec<RowVar, RankNode>,
    edges: IdVec<RankEdgeId, RankEdge>,
    heap: BinaryHeap<Move>,
    /// Row variables whose least rank rose, or whose rank became fixed, since the list was last emptied.
    pub touched: Vec<RowVar>,
    /// Row variables that a support waits for and whose bounds moved.
    pub moved: Vec<RowVar>,
    /// Work done: nodes settled.
    pub steps: u64,
    /// Moves that stand: those under a mark are taken off when it is undone.
    pub moves: u64,
}

impl Ranks {
    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.edges.clear();
        self.touched.clear();
        self.moved.clear();
        (self.steps, self.moves) = (0, 0);
    }

    /// A node for a new row variable: any rank.
    pub fn fresh(&mut self) {
        self.nodes.push(RankNode {
            lo: 0,
            hi: UNBOUNDED,
            out: RankEdgeId::NIL,
            into: RankEdgeId::NIL,
            lo_pred: Pred::NONE,
            hi_pred: Pred::NONE,
            supports: false,
        });
    }

    /// Notes that a support waits for the bounds of a row.
    pub fn watch_bounds(&mut self, row: RowVar) {
        self.nodes[row].supports = true;
    }

    /// The least rank in any solution of the rank facts.
    #[inline]
    pub fn lo(&self, row: RowVar) -> u32 {
        self.nodes[row].lo
    }

    /// The greatest rank, or [`UNBOUNDED`].
    #[inline]
    pub fn hi(&self, row: RowVar) -> u32 {
        self.nodes[row].hi
    }

    /// The rank, if it is entailed.
    #[inline]
    pub fn fixed(&self, row: RowVar) -> Option<u32> {
        let RankNode { lo, hi, .. } = self.nodes[row];
        (lo == hi).then_some(lo)
    }

    /// The cause of the least rank.
    pub fn lo_cause(&self, row: RowVar) -> RankCause {
        self.nodes[row].lo_pred.cause()
    }

    /// The cause of the greatest rank.
    pub fn hi_cause(&self, row: RowVar) -> RankCause {
        self.nodes[row].hi_pred.cause()
    }

    pub fn edge(&self, edge: RankEdgeId) -> RankEdge {
        self.edges[edge]
    }

    /// Adds the fact `rank to ≥ rank from + k`. Edges are permanent: they are never added under a
    /// mark, because only constraints bring them.
    pub fn add_edge(
        &mut self,
        trail: &mut Trail,
        from: RowVar,
        to: RowVar,
        k: i32,
        con: RowConId,
    ) -> Outcome {
        if from == to {
            return if k > 0 { Err(Conflict::RankCycle { row: to, con }) } else { Ok(()) };
        }
        let edge = self.link(from, to, k, con);
        let raised = i64::from(self.lo(from)) + i64::from(k);
        if raised > i64::from(self.lo(to)) {
            self.raise(trail, to, raised as u32, Pred::edge(edge), Some((from, con)))?;
        }
        let hi = self.hi(to);
        if hi != UNBOUNDED && i64::from(hi) - i64::from(k) < i64::from(self.hi(from)) {
            self.lower(trail, from, i64::from(hi) - i64::from(k), Pred::edge(edge))?;
        }
        Ok(())
    }

    /// Adds an edge to the lists of both ends.
    fn link(&mut self, from: RowVar, to: RowVar, k: i32, con: RowConId) -> RankEdgeId {
        let edge = self.edges.next();
        let next_out = std::mem::replace(&mut self.nodes[from].out, edge);
        let next_into = std::mem::replace(&mut self.nodes[to].into, edge);
        self.edges.push(RankEdge { from, to, k, con, next_out, next_into });
        edge
    }

    /// True if nothing is known of a rank, and nothing waits for it.
    pub fn is_untouched(&self, row: RowVar) -> bool {
        let RankNode { lo, hi, out, into, supports, .. } = self.nodes[row];
        lo == 0 && hi == UNBOUNDED && out == RankEdgeId::NIL && into == RankEdgeId::NIL && !supports
    }

    /// Adds the fact `rank to ≥ rank from + k` for a row of which nothing is known, so that nothing
    /// has to be woken. `from` is `NIL` for a bound.
    pub fn start_from(&mut self, trail: &mut Trail, to: RowVar, from: RowVar, k: u32, con: RowConId) {
        let (least, pred) = if from == RowVar::NIL {
            (k, Pred::constraint(con))
        } else {
            let edge = self.edges.next();
            let next_out = std::mem::replace(&mut self.nodes[from].out, edge);
            self.nodes[to].into = edge;
            self.edges.push(RankEdge { from, to, k: k as i32, con, next_out, next_into: RankEdgeId::NIL });
            (self.lo(from) + k, Pred::edge(edge))
        };
        if least > 0 {
            self.steps += 1;
            let node = &mut self.nodes[to];
            trail.save_pair(Cell::Lo, to, node.lo, node.lo_pred);
            (node.lo, node.lo_pred) = (least, pred);
        }
    }

    /// Adds the fact `rank row ≥ bound`.
    pub fn at_least(&mut self, trail: &mut Trail, row: RowVar, bound: u32, pred: Pred) -> Outcome {
        if bound > self.lo(row) { self.raise(trail, row, bound, pred, None) } else { Ok(()) }
    }

    /// Adds the fact `rank row ≤ bound`; a negative bound is a conflict.
    pub fn at_most(&mut self, trail: &mut Trail, row: RowVar, bound: i64, pred: Pred) -> Outcome {
        if bound < i64::from(self.hi(row)) { self.lower(trail, row, bound, pred) } else { Ok(()) }
    }

    /// Raises `lo` and everything that follows, largest gain first.
    fn raise(
        &mut self,
        trail: &mut Trail,
        row: RowVar,
        bound: u32,
        pred: Pred,
        cycle: Option<(RowVar, RowConId)>,
    ) -> Outcome {
        self.heap.clear();
        let mut next = Some(Move { key: 0, row, bound, pred });
        // Most moves reach one row or none; the heap is for the others.
        while let Some(Move { row, bound, pred, .. }) = next.take().or_else(|| self.heap.pop()) {
            if bound <= self.nodes[row].lo {
                continue;
            }
            self.spend()?;
            let node = &mut self.nodes[row];
            trail.save_pair(Cell::Lo, row, node.lo, node.lo_pred);
            (node.lo, node.lo_pred) = (bound, pred);
            self.touched.push(row);
            if node.supports {
                self.moved.push(row);
            }
            if let Some((source, con)) = cycle
                && row == source
            {
                return Err(Conflict::RankCycle { row, con });
            }
            if bound > node.hi {
                return Err(Conflict::Rank { row, lo: bound, hi: node.hi });
            }
            let mut edge = node.out;
            while edge != RankEdgeId::NIL {
                let RankEdge { to, k, next_out, .. } = self.edges[edge];
                let reached = i64::from(bound) + i64::from(k);
                let gain = reached - i64::from(self.nodes[to].lo);
                if gain > 0 {
                    let step = Move { key: gain, row: to, bound: reached as u32, pred: Pred::edge(edge) };
                    self.plan(&mut next, step);
                }
                edge = next_out;
            }
        }
        Ok(())
    }

    /// Lowers `hi` and everything that follows, smallest slack first.
    fn lower(&mut self, trail: &mut Trail, row: RowVar, bound: i64, pred: Pred) -> Outcome {
        if bound < 0 {
            // Only a constraint whose own flanks overflow, or an edge from one, gets here.
            let node = &mut self.nodes[row];
            trail.save_pair(Cell::Hi, row, node.hi, node.hi_pred);
            node.hi_pred = pred;
            return match pred.cause() {
                RankCause::Constraint(con) => Err(Conflict::Overflow { con }),
                _ => Err(Conflict::Rank { row, lo: self.lo(row), hi: 0 }),
            };
        }
        self.heap.clear();
        let mut next = Some(Move { key: 0, row, bound: bound as u32, pred });
        while let Some(Move { row, bound, pred, .. }) = next.take().or_else(|| self.heap.pop()) {
            if bound >= self.nodes[row].hi {
                continue;
            }
            self.spend()?;
            let node = &mut self.nodes[row];
            trail.save_pair(Cell::Hi, row, node.hi, node.hi_pred);
            (node.hi, node.hi_pred) = (bound, pred);
            if node.supports {
                self.moved.push(row);
            }
            if bound == node.lo {
                // No alignment waits for an upper bound as such.
                self.touched.push(row);
            }
            if bound < node.lo {
                return Err(Conflict::Rank { row, lo: node.lo, hi: bound });
            }
            let mut edge = node.into;
            while edge != RankEdgeId::NIL {
                let RankEdge { from, k, next_into, .. } = self.edges[edge];
                let RankNode { lo, hi, .. } = self.nodes[from];
                // `lo` is a model, so this is at least `lo from`, and the slack is not negative.
                let reached = i64::from(bound) - i64::from(k);
                if reached < i64::from(hi) {
                    let key = i64::from(lo) - reached;
                    let step = Move { key, row: from, bound: reached as u32, pred: Pred::edge(edge) };
                    self.plan(&mut next, step);
                }
                edge = next_into;
            }
        }
        Ok(())
    }

    /// Counts a move. Each edge is worth a few; a system that makes ranks chase each other up one by
    /// one for longer than this is not one to wait for.
    #[inline]
    fn spend(&mut self) -> Outcome {
        const MOST_MOVES: u64 = 100_000_000;
        self.steps += 1;
        self.moves += 1;
        let most = MOST_MOVES + 64 * self.edges.len() as u64;
        if self.moves > most { Err(Conflict::TooMuch(Limit::RankMoves)) } else { Ok(()) }
    }

    /// Keeps a single planned move at hand, and more than one on the heap.
    #[inline]
    fn plan(&mut self, next: &mut Option<Move>, step: Move) {
        if let Some(other) = next.take() {
            self.heap.extend([other, step]);
        } else if self.heap.is_empty() {
            *next = Some(step);
        } else {
            self.heap.push(step);
        }
    }

    /// The number of groups that some rows fall into, if rows bounded by each other form one group. Counts
    /// every row as its own group where there are too many to compare.
    pub fn tied_groups(&self, rows: &[RowVar]) -> u64 {
        const MANY: usize = 64;
        if rows.len() > MANY {
            return rows.len() as u64;
        }
        let above: Vec<FxHashSet<RowVar>> = rows.iter().map(|row| self.above(*row)).collect();
        let tied = |a: usize, b: usize| above[a].contains(&rows[b]) && above[b].contains(&rows[a]);
        (0..rows.len()).filter(|b| !(0..*b).any(|a| tied(a, *b))).count() as u64
    }

    /// For every row a number that grows along rank facts: rows that bound others from below come first.
    pub fn heights(&self) -> IdVec<RowVar, ComponentId> {
        let found = components(self.nodes.len(), |row: RowVar, out| {
            let mut edge = self.nodes[row].into;
            while edge != RankEdgeId::NIL {
                let RankEdge { from, next_into, .. } = self.edges[edge];
                out.push(from);
                edge = next_into;
            }
        });
        found.of
    }

    /// The rows whose ranks some fact bounds from below by this row's.
    fn above(&self, row: RowVar) -> FxHashSet<RowVar> {
        let mut seen: FxHashSet<RowVar> = [row].into_iter().collect();
        let mut found = vec![row];
        let mut at = 0;
        while let Some(row) = found.get(at) {
            let mut edge = self.nodes[*row].out;
            while edge != RankEdgeId::NIL {
                let RankEdge { to, next_out, .. } = self.edges[edge];
                if self.fixed(to).is_none() && seen.insert(to) {
                    found.push(to);
                }
                edge = next_out;
            }
            at += 1;
        }
        seen
    }

    /// Puts a logged word back.
    pub fn restore(&mut self, entry: Entry) {
        let node = &mut self.nodes[RowVar(entry.at)];
        match entry.cell {
            Cell::Lo => (node.lo, node.lo_pred) = (entry.old, Pred(entry.more)),
            Cell::Hi => (node.hi, node.hi_pred) = (entry.old, Pred(entry.more)),
            _ => {}
        }
    }

    /// Bytes held, for the benchmarks.
    pub fn bytes(&self) -> usize {
        self.nodes.bytes() + self.edges.bytes()
    }
}
