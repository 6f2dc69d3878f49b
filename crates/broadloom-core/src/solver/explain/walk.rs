//! Reasons read back: the chain behind a fact.
//!
//! A [`Walk`] goes from a fact to the facts it was derived from, until it reaches constraints and
//! policy steps. It visits each fact once, with an explicit stack (chains may be long), and lists
//! causes in derivation order: what came first stands first.
//!
//! A walk may name more than is needed, never less: where the exact dependence on a rank is not
//! recorded it takes the rank's whole proof. Cores and chains of forced values are
//! therefore shrunk by deletion.

use crate::ids::{AdjacencyId, ArithId, ClauseId, RowConId, StepId, SupportId};
use crate::solver::propagate::support::facing_place;
use crate::solver::stores::dims::Adjacency;
use crate::solver::stores::ranks::RankCause;
use crate::solver::stores::reason::{Policy, Reason, ReasonId, Side};
use crate::solver::stores::rows::{Kind, RowCon, Slot, Term};
use crate::solver::stores::state::State;
use crate::solver::stores::supports::Clause;
use crate::term::{ConstraintId, DimTerm, DimVar, RowVar};
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Fact {
    Reason(ReasonId),
    ValueAt(DimVar),
    CapAt(DimVar),
    Equal(DimVar, DimVar),
    Position {
        term: Term,
        right: bool,
        at: u32,
    },
    LoRank(RowVar),
    HiRank(RowVar),
    Marker(RowVar),
    RowCon(RowConId),
    PolicyStep(StepId),
    /// The bounds on the size of a node's class.
    Size(DimVar),
    /// An arithmetic constraint and all it knows of what it mentions.
    Arith(ArithId),
    /// A support and the bounds of all its rows.
    Support(SupportId),
}

/// The result of a walk.
#[derive(Default)]
pub(crate) struct Walked {
    /// Constraint ids in derivation order.
    pub constraints: Vec<ConstraintId>,
    /// Policy steps in derivation order.
    pub policies: Vec<StepId>,
    /// For each row whose marker mattered: the first and last marker with the same consequences.
    pub markers: FxHashMap<RowVar, (u32, u32)>,
    /// Both, interleaved.
    pub links: Vec<Ended>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ended {
    Constraint(ConstraintId),
    Policy(StepId),
}

struct Walk<'a> {
    state: &'a State,
    seen: FxHashSet<Fact>,
    ended: FxHashSet<Ended>,
    found: Walked,
    /// True if a policy step is followed to the failures that led to it. Not for blame: there the
    /// step itself is the culprit.
    beyond_policy: bool,
}

impl Walk<'_> {
    fn run(mut self, facts: Vec<Fact>) -> Walked {
        // Post-order: `None` closes a fact's subtree.
        let mut stack: Vec<(Fact, bool)> = facts.into_iter().rev().map(|fact| (fact, false)).collect();
        let mut children = Vec::new();
        while let Some((fact, expanded)) = stack.pop() {
            if expanded {
                self.end(fact);
            } else if self.seen.insert(fact) {
                stack.push((fact, true));
                children.clear();
                self.expand(fact, &mut children);
                stack.extend(children.iter().rev().map(|fact| (*fact, false)));
            }
        }
        self.found
    }

    /// Notes the constraint or policy a fact itself rests on.
    fn end(&mut self, fact: Fact) {
        let ended = match fact {
            Fact::Reason(reason) => match reason.as_constraint() {
                Some(id) if reason != ReasonId::NIL => Ended::Constraint(id),
                _ => return,
            },
            Fact::RowCon(con) => Ended::Constraint(self.state.rows.con(con).id),
            Fact::Arith(con) => Ended::Constraint(self.state.ariths.id(con)),
            Fact::Support(support) => Ended::Constraint(self.state.supports.get(support).id),
            Fact::PolicyStep(step) => Ended::Policy(step),
            _ => return,
        };
        if self.ended.insert(ended) {
            self.found.links.push(ended);
            match ended {
                Ended::Constraint(id) => self.found.constraints.push(id),
                Ended::Policy(step) => self.found.policies.push(step),
            }
        }
    }

    /// The facts a fact was derived from.
    fn expand(&mut self, fact: Fact, out: &mut Vec<Fact>) {
        let state = self.state;
        let dims = &state.dims;
        match fact {
            // What was taken back has no record.
            Fact::ValueAt(DimVar::NIL) | Fact::CapAt(DimVar::NIL) | Fact::Equal(_, DimVar::NIL) => {}
            Fact::Reason(reason) => self.expand_reason(reason, out),
            Fact::ValueAt(node) => {
                let reason = dims.value_reason(node);
                match self.reason(reason) {
                    Some(Reason::TwoCaps { node: first, .. }) => out.push(Fact::Equal(first, node)),
                    Some(Reason::Policy(step)) if self.policy(step) == Some(Policy::LeafCap) => {
                        let cap = dims.cap_node(node);
                        out.extend([Fact::Equal(node, cap), Fact::CapAt(cap)]);
                    }
                    _ => {}
                }
                out.push(Fact::Reason(reason));
            }
            Fact::CapAt(node) => out.push(Fact::Reason(dims.cap_reason(node))),
            Fact::Equal(a, b) => out.extend(dims.path(a, b).into_iter().map(Fact::Reason)),
            Fact::Position { term, right, at } => {
                let side = if right { Side::Right } else { Side::Left };
                self.expand_position(term, side, at, out);
            }
            Fact::LoRank(row) => match self.state.ranks.lo_cause(row) {
                RankCause::Edge(edge) => {
                    let edge = self.state.ranks.edge(edge);
                    out.extend([Fact::LoRank(edge.from), Fact::RowCon(edge.con)]);
                }
                cause => rank_root(cause, out),
            },
            Fact::HiRank(row) => match self.state.ranks.hi_cause(row) {
                RankCause::Edge(edge) => {
                    let edge = self.state.ranks.edge(edge);
                    out.extend([Fact::HiRank(edge.to), Fact::RowCon(edge.con)]);
                }
                cause => rank_root(cause, out),
            },
            Fact::Marker(row) => match self.state.rows.marker_policy(row) {
                StepId::NIL => {}
                step => out.push(Fact::PolicyStep(step)),
            },
            Fact::PolicyStep(step) => {
                let searched = self.policy(step).is_some_and(Policy::is_search);
                if self.beyond_policy && searched {
                    let because = state.failures.get(&step).into_iter().flatten();
                    out.extend(because.map(|id| Fact::Reason(ReasonId::constraint(*id))));
                }
            }
            Fact::RowCon(_) => {}
            Fact::Size(node) => self.expand_size(node, out),
            Fact::Arith(con) => self.expand_arith(con, out),
            Fact::Support(support) => self.expand_support(support, out),
        }
    }

    /// The bounds that a support relies on.
    fn expand_support(&self, support: SupportId, out: &mut Vec<Fact>) {
        let State { supports, .. } = self.state;
        let holes = supports.terms(support).iter().map(|term| term.hole).filter(|hole| *hole != RowVar::NIL);
        for row in holes.chain([supports.get(support).res]) {
            out.extend([Fact::LoRank(row), Fact::HiRank(row)]);
        }
    }

    /// The premises of a clause: its support, the axes that face each other, and what is known of them.
    fn expand_clause(&self, clause: ClauseId, out: &mut Vec<Fact>) {
        let State { supports, ranks, .. } = self.state;
        let Clause { support, at, result, .. } = supports.clause(clause);
        let res = supports.get(support).res;
        out.push(Fact::Support(support));
        out.push(Fact::Position { term: Term::var(res), right: false, at });
        for term in supports.terms(support) {
            if let Some((side, place)) = facing_place(self.state, *term, ranks.lo(res), at) {
                out.push(Fact::Position { term: *term, right: side == Side::Right, at: place });
            }
        }
        for dim in supports.facing(clause).iter().chain([&result]) {
            self.expand_known(*dim, out);
            let cap = dim.var().map(|node| self.state.dims.cap_node(node));
            if let (Some(node), Some(cap)) = (dim.var(), cap.filter(|cap| *cap != DimVar::NIL)) {
                out.extend([Fact::Equal(node, cap), Fact::CapAt(cap)]);
            }
        }
    }

    fn expand_size(&self, node: DimVar, out: &mut Vec<Fact>) {
        let dims = &self.state.dims;
        let Some(extra) = dims.extra_of(dims.find(node)) else { return };
        for (at, reason) in dims.sizes.steps(extra) {
            out.extend([Fact::Equal(node, at), Fact::Reason(reason)]);
        }
    }

    fn expand_arith(&self, con: ArithId, out: &mut Vec<Fact>) {
        let State { ariths, rows, ranks, .. } = self.state;
        let arith = ariths.get(con);
        for row in arith.rows() {
            out.extend([Fact::LoRank(row), Fact::HiRank(row)]);
            if rows.is_fixed(row) {
                // A rank that was pushed beyond what was laid out is itself the conflict.
                for at in 0..ranks.lo(row).min(ranks.hi(row)) {
                    out.push(Fact::Position { term: Term::var(row), right: false, at });
                    self.expand_known(rows.axis(row, at), out);
                }
            }
        }
        for dim in arith.dims() {
            self.expand_known(dim, out);
        }
    }

    /// The facts that fixed or bounded the size of a dimension.
    fn expand_known(&self, dim: DimTerm, out: &mut Vec<Fact>) {
        let Some(node) = dim.var().filter(|_| !dim.is_none()) else { return };
        let dims = &self.state.dims;
        if dims.value(dims.find(node)).is_some() {
            let at = dims.value_node(node);
            out.extend([Fact::ValueAt(at), Fact::Equal(node, at)]);
        }
        out.push(Fact::Size(node));
    }

    fn expand_reason(&mut self, reason: ReasonId, out: &mut Vec<Fact>) {
        let state = self.state;
        let dims = &state.dims;
        let mut flow = |edge: AdjacencyId, end: fn(&Adjacency) -> DimVar, from: DimVar, premise: Fact| {
            let edge = dims.edge(edge);
            out.extend([premise, Fact::Equal(end(&edge), from), Fact::Reason(edge.reason)]);
        };
        match self.reason(reason) {
            None => {}
            Some(Reason::FlowDown { edge, from }) => flow(edge, |edge| edge.hi, from, Fact::ValueAt(from)),
            Some(Reason::FlowUp { edge, from }) => flow(edge, |edge| edge.lo, from, Fact::ValueAt(from)),
            Some(Reason::FlowCap { edge, from }) => flow(edge, |edge| edge.lo, from, Fact::CapAt(from)),
            Some(Reason::TwoCaps { node, second }) => out.extend([Fact::CapAt(node), Fact::Reason(second)]),
            Some(Reason::Align { con, side, at }) => self.expand_align(con, side, at, out),
            Some(Reason::Pinned { con, side, at }) => {
                self.expand_align(con, side, at, out);
                let opnd = state.rows.con(con).opnd;
                if let Some(node) = state.rows.spot(&state.ranks, opnd, side, at).var() {
                    let named = dims.value_node(node);
                    if named != DimVar::NIL {
                        out.extend([Fact::ValueAt(named), Fact::Equal(node, named)]);
                    }
                }
            }
            Some(Reason::Arith { con }) => out.push(Fact::Arith(con)),
            Some(Reason::Claimed { edge }) => {
                let edge = dims.edge(edge);
                out.extend([Fact::Size(edge.hi), Fact::Reason(edge.reason)]);
            }
            Some(Reason::ClaimedCap { node }) => out.extend([Fact::CapAt(node), Fact::Size(node)]),
            Some(Reason::OnlyUnit { node }) => {
                if dims.cap(dims.find(node)).is_some() {
                    let at = dims.cap_node(node);
                    out.extend([Fact::CapAt(at), Fact::Equal(node, at)]);
                }
                out.push(Fact::Size(node));
            }
            Some(Reason::Unsupported { clause }) => self.expand_clause(clause, out),
            Some(Reason::Sole { clause, edge }) => {
                self.expand_clause(clause, out);
                if edge != AdjacencyId::NIL {
                    let edge = dims.edge(edge);
                    out.push(Fact::Reason(edge.reason));
                    let Clause { result, .. } = state.supports.clause(clause);
                    out.extend(result.var().map(|node| Fact::Equal(node, edge.lo)));
                    let above = state.supports.facing(clause).iter().filter_map(|term| term.var());
                    let above = above.filter(|node| dims.find(*node) == dims.find(edge.hi));
                    out.extend(above.map(|node| Fact::Equal(node, edge.hi)));
                }
            }
            Some(Reason::Overlap { row, at }) => {
                let rank = self.state.ranks.lo(row);
                for slot in [
                    Slot::Edge { row, side: Side::Left, at },
                    Slot::Edge { row, side: Side::Right, at: rank - 1 - at },
                ] {
                    out.push(Fact::Reason(self.state.rows.slot(slot).why));
                }
                out.extend([Fact::LoRank(row), Fact::HiRank(row)]);
            }
            Some(Reason::Chain { con, step }) => out.extend([Fact::RowCon(con), Fact::PolicyStep(step)]),
            Some(Reason::Policy(step)) => {
                if let Some(rivalry) = state.rivalries.get(&step)
                    && self.policy(step) == Some(Policy::RelaxedLeaf)
                {
                    out.extend(rivalry.leaves.iter().map(|leaf| Fact::CapAt(dims.cap_node(*leaf))));
                    out.extend(rivalry.edges.iter().map(|edge| Fact::Reason(dims.edge(*edge).reason)));
                }
                out.push(Fact::PolicyStep(step));
            }
        }
    }

    fn expand_align(&mut self, con: RowConId, side: Side, at: u32, out: &mut Vec<Fact>) {
        let State { rows, ranks, .. } = self.state;
        let RowCon { res, opnd, kind, .. } = rows.con(con);
        for term in [res, opnd] {
            out.push(Fact::Position { term, right: side == Side::Right, at });
        }
        out.push(Fact::RowCon(con));
        if kind == Kind::Eq || at < opnd.near(side) {
            return;
        }
        if rows.declared(opnd.hole).is_some() {
            out.push(Fact::LoRank(opnd.hole));
            return;
        }
        // Beyond the operand's flank the pairing rests on equal ranks or on its marker.
        match rows.marker(opnd.hole) {
            Some(_) if rows.rank(ranks, res) != rows.rank(ranks, opnd) => {
                let (rank, inner) = (ranks.lo(opnd.hole), at - opnd.near(side));
                let same = self.found.markers.entry(opnd.hole).or_insert((0, rank));
                match side {
                    // Axis `inner` stays before every marker beyond it.
                    Side::Left => same.0 = same.0.max(inner + 1),
                    Side::Right => same.1 = same.1.min(rank - 1 - inner),
                }
                out.push(Fact::Marker(opnd.hole));
            }
            _ => {
                for hole in [res.hole, opnd.hole].into_iter().filter(|hole| *hole != RowVar::NIL) {
                    out.extend([Fact::LoRank(hole), Fact::HiRank(hole)]);
                }
            }
        }
    }

    /// The facts that identify the dimension at a position of a term.
    fn expand_position(&self, term: Term, side: Side, at: u32, out: &mut Vec<Fact>) {
        let near = term.near(side);
        if at < near || term.hole == RowVar::NIL {
            return;
        }
        let (row, inner) = (term.hole, at - near);
        let rows = &self.state.rows;
        out.push(Fact::LoRank(row));
        if !rows.is_fixed(row) {
            out.push(Fact::Reason(rows.slot(Slot::Edge { row, side, at: inner }).why));
            return;
        }
        let rank = self.state.ranks.lo(row);
        if inner >= rank {
            out.push(Fact::HiRank(row));
            return;
        }
        if rows.source(row) != RowConId::NIL {
            out.extend([Fact::HiRank(row), Fact::RowCon(rows.source(row))]);
            return;
        }
        // The value recorded from this edge while the rank was open is a reason of its own.
        out.push(Fact::Reason(rows.slot(Slot::Edge { row, side, at: inner }).why));
        let index = if side == Side::Left { inner } else { rank - 1 - inner };
        let why = rows.slot(Slot::Axis { row, at: index }).why;
        out.push(Fact::Reason(why));
        // Named from the same edge, the axis is the same at every rank.
        let same_edge = matches!(self.reason(why), Some(Reason::Align { side: named, .. } | Reason::Pinned { side: named, .. }) if named == side);
        if !same_edge {
            out.push(Fact::HiRank(row));
        }
    }

    fn reason(&self, id: ReasonId) -> Option<Reason> {
        if id == ReasonId::NIL || id.as_constraint().is_some() { None } else { self.state.dims.reason_at(id) }
    }

    fn policy(&self, step: StepId) -> Option<Policy> {
        self.state.policies.get(step).map(|choice| choice.policy)
    }
}

fn rank_root(cause: RankCause, out: &mut Vec<Fact>) {
    match cause {
        RankCause::Constraint(con) => out.push(Fact::RowCon(con)),
        RankCause::Policy(step) => out.push(Fact::PolicyStep(step)),
        RankCause::Arith(con) => out.push(Fact::Arith(con)),
        RankCause::Support(support) => out.push(Fact::Support(support)),
        RankCause::Start | RankCause::Edge(_) => {}
    }
}

pub(crate) fn walk(state: &State, facts: Vec<Fact>) -> Walked {
    walk_with(state, facts, false)
}

pub(crate) fn walk_with(state: &State, facts: Vec<Fact>, beyond_policy: bool) -> Walked {
    let walk = Walk {
        beyond_policy,
        state,
        seen: FxHashSet::default(),
        ended: FxHashSet::default(),
        found: Walked::default(),
    };
    walk.run(facts)
}
