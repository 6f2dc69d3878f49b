//! Reasons read back: the chain behind a fact.
//!
//! A [`Walk`] goes from a fact to the facts it was derived from, until it reaches constraints and
//! policy steps. It visits each fact once, with an explicit stack (chains may be long), and lists
//! causes in derivation order: what came first stands first.
//!
//! A walk may name more than is needed, never less: where the exact dependence on a rank is not
//! recorded it takes the rank's whole proof. [Cores](super::cores) and chains of forced values are
//! therefore shrunk by deletion.

use rustc_hash::{FxHashMap, FxHashSet};

use super::cores::Subsystem;
use super::ranks::Cause as RankCause;
use super::reason::{Conflict, NIL, Policy, Reason, ReasonId, Side};
use super::report::DimShape;
use super::rows::{Kind, RowCon, Slot, Term};
use super::search::Choice;
use super::support::Clause;
use super::{Solver, Stored};
use crate::form::Symbol;
use crate::order::Dim;
use crate::term::{ConstraintId, DimTerm, DimVar, RowVar};

/// What a link of a chain rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A constraint the caller added.
    Constraint(ConstraintId),
    /// A choice among solutions, about the given row variable where it is about one.
    Policy(Policy, Option<RowVar>),
}

/// One link of the chain that fixed a variable. In a chain what was derived first stands first; a
/// policy step stands where it was first used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The constraint or policy.
    pub cause: Cause,
}

impl Link {
    /// The constraint, if the link is one.
    pub fn constraint(&self) -> Option<ConstraintId> {
        if let Cause::Constraint(id) = self.cause { Some(id) } else { None }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Fact {
    Reason(u32),
    ValueAt(u32),
    CapAt(u32),
    Equal(u32, u32),
    Position {
        term: [u32; 4],
        right: bool,
        at: u32,
    },
    LoRank(u32),
    HiRank(u32),
    Marker(u32),
    RowCon(u32),
    PolicyStep(u32),
    /// What arithmetic knows of the size of a node's class.
    Size(u32),
    /// An arithmetic constraint and all it knows of what it mentions.
    Arith(u32),
    /// A support and the bounds of all its rows.
    Support(u32),
}

/// What a walk found.
#[derive(Default)]
pub(crate) struct Walked {
    /// Constraint ids in derivation order.
    pub constraints: Vec<u32>,
    /// Policy steps in derivation order.
    pub policies: Vec<u32>,
    /// For each row whose marker mattered: the first and last marker with the same consequences.
    pub markers: FxHashMap<u32, (u32, u32)>,
    /// Both, interleaved.
    links: Vec<Ended>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Ended {
    Constraint(u32),
    Policy(u32),
}

struct Walk<'a> {
    solver: &'a Solver,
    seen: FxHashSet<Fact>,
    ended: FxHashSet<Ended>,
    found: Walked,
    /// Whether a policy step is followed to the failures that led to it. Not for blame: there the
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
            Fact::Reason(bits) => match ReasonId(bits).as_constraint() {
                Some(id) if bits != NIL => Ended::Constraint(id),
                _ => return,
            },
            Fact::RowCon(con) => Ended::Constraint(self.solver.rows.con(con).id),
            Fact::Arith(con) => Ended::Constraint(self.solver.ariths.id(con)),
            Fact::Support(support) => Ended::Constraint(self.solver.supports.get(support).id),
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
        let solver = self.solver;
        let dims = &solver.dims;
        match fact {
            Fact::Reason(bits) => self.expand_reason(bits, out),
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
                out.push(Fact::Reason(reason.0));
            }
            Fact::CapAt(node) => out.push(Fact::Reason(dims.cap_reason(node).0)),
            Fact::Equal(a, b) => out.extend(dims.path(a, b).into_iter().map(|reason| Fact::Reason(reason.0))),
            Fact::Position { term, right, at } => {
                let [start, lead, trail, hole] = term;
                let side = if right { Side::Right } else { Side::Left };
                self.expand_position(Term { start, lead, trail, hole }, side, at, out);
            }
            Fact::LoRank(row) => match self.solver.ranks.lo_cause(row) {
                RankCause::Edge(edge) => {
                    let edge = self.solver.ranks.edge(edge);
                    out.extend([Fact::LoRank(edge.from), Fact::RowCon(edge.con)]);
                }
                cause => rank_root(cause, out),
            },
            Fact::HiRank(row) => match self.solver.ranks.hi_cause(row) {
                RankCause::Edge(edge) => {
                    let edge = self.solver.ranks.edge(edge);
                    out.extend([Fact::HiRank(edge.to), Fact::RowCon(edge.con)]);
                }
                cause => rank_root(cause, out),
            },
            Fact::Marker(row) => match self.solver.rows.marker_policy(row) {
                NIL => {}
                step => out.push(Fact::PolicyStep(step)),
            },
            Fact::PolicyStep(step) => {
                let searched = self.policy(step).is_some_and(Policy::is_search);
                if self.beyond_policy && searched {
                    let because = solver.failures.get(&step).into_iter().flatten();
                    out.extend(because.map(|id| Fact::Reason(ReasonId::constraint(*id).0)));
                }
            }
            Fact::RowCon(_) => {}
            Fact::Size(node) => self.expand_size(node, out),
            Fact::Arith(con) => self.expand_arith(con, out),
            Fact::Support(support) => self.expand_support(support, out),
        }
    }

    /// The bounds that a support relies on.
    fn expand_support(&self, support: u32, out: &mut Vec<Fact>) {
        let Solver { supports, .. } = self.solver;
        let holes = supports.terms(support).iter().map(|term| term.hole).filter(|hole| *hole != NIL);
        for row in holes.chain([supports.get(support).res]) {
            out.extend([Fact::LoRank(row), Fact::HiRank(row)]);
        }
    }

    /// What a clause relies on: its support, the axes that face each other, and what is known of them.
    fn expand_clause(&self, clause: u32, out: &mut Vec<Fact>) {
        let Solver { supports, ranks, .. } = self.solver;
        let Clause { support, at, result, .. } = supports.clause(clause);
        let res = supports.get(support).res;
        out.push(Fact::Support(support));
        out.push(Fact::Position { term: [0, 0, 0, res], right: false, at });
        for term in supports.terms(support) {
            if let Some((side, place)) = self.solver.facing_place(*term, ranks.lo(res), at) {
                let key = [term.start, term.lead, term.trail, term.hole];
                out.push(Fact::Position { term: key, right: side == Side::Right, at: place });
            }
        }
        for dim in supports.facing(clause).iter().chain([&result]) {
            self.expand_known(*dim, out);
            let cap = dim.node().map(|node| self.solver.dims.cap_node(node));
            if let (Some(node), Some(cap)) = (dim.node(), cap.filter(|cap| *cap != NIL)) {
                out.extend([Fact::Equal(node, cap), Fact::CapAt(cap)]);
            }
        }
    }

    fn expand_size(&self, node: u32, out: &mut Vec<Fact>) {
        let dims = &self.solver.dims;
        let Some(extra) = dims.extra_of(dims.find(node)) else { return };
        for (at, reason) in dims.sizes.steps(extra) {
            out.extend([Fact::Equal(node, at), Fact::Reason(reason.0)]);
        }
    }

    fn expand_arith(&self, con: u32, out: &mut Vec<Fact>) {
        let Solver { ariths, rows, ranks, .. } = self.solver;
        let arith = ariths.get(con);
        for row in arith.rows() {
            out.extend([Fact::LoRank(row), Fact::HiRank(row)]);
            if rows.is_fixed(row) {
                // A rank that was pushed beyond what was laid out is itself the conflict.
                for at in 0..ranks.lo(row).min(ranks.hi(row)) {
                    out.push(Fact::Position { term: [0, 0, 0, row], right: false, at });
                    self.expand_known(rows.axis(row, at), out);
                }
            }
        }
        for dim in arith.dims() {
            self.expand_known(dim, out);
        }
    }

    /// What fixed or bounded the size of a dimension.
    fn expand_known(&self, dim: DimTerm, out: &mut Vec<Fact>) {
        let Some(node) = dim.node().filter(|_| !dim.is_none()) else { return };
        let dims = &self.solver.dims;
        if dims.value(dims.find(node)).is_some() {
            let at = dims.value_node(node);
            out.extend([Fact::ValueAt(at), Fact::Equal(node, at)]);
        }
        out.push(Fact::Size(node));
    }

    fn expand_reason(&mut self, bits: u32, out: &mut Vec<Fact>) {
        let solver = self.solver;
        let dims = &solver.dims;
        let mut flow = |edge: u32, end: fn(&super::dims::Edge) -> u32, from: u32, told: Fact| {
            let edge = dims.edge(edge);
            out.extend([told, Fact::Equal(end(&edge), from), Fact::Reason(edge.reason.0)]);
        };
        match self.reason(ReasonId(bits)) {
            None => {}
            Some(Reason::FlowDown { edge, from }) => flow(edge, |edge| edge.hi, from, Fact::ValueAt(from)),
            Some(Reason::FlowUp { edge, from }) => flow(edge, |edge| edge.lo, from, Fact::ValueAt(from)),
            Some(Reason::FlowCap { edge, from }) => flow(edge, |edge| edge.lo, from, Fact::CapAt(from)),
            Some(Reason::TwoCaps { node, second }) => out.extend([Fact::CapAt(node), Fact::Reason(second.0)]),
            Some(Reason::Align { con, side, at }) => self.expand_align(con, side, at, out),
            Some(Reason::Pinned { con, side, at }) => {
                self.expand_align(con, side, at, out);
                let opnd = solver.rows.con(con).opnd;
                if let Some(node) = solver.rows.spot(&solver.ranks, opnd, side, at).node() {
                    let named = dims.value_node(node);
                    if named != NIL {
                        out.extend([Fact::ValueAt(named), Fact::Equal(node, named)]);
                    }
                }
            }
            Some(Reason::Arith { con }) => out.push(Fact::Arith(con)),
            Some(Reason::Claimed { edge }) => {
                let edge = dims.edge(edge);
                out.extend([Fact::Size(edge.hi), Fact::Reason(edge.reason.0)]);
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
                if edge != NIL {
                    let edge = dims.edge(edge);
                    out.push(Fact::Reason(edge.reason.0));
                    let Clause { result, .. } = solver.supports.clause(clause);
                    out.extend(result.node().map(|node| Fact::Equal(node, edge.lo)));
                    let above = solver.supports.facing(clause).iter().filter_map(|term| term.node());
                    let above = above.filter(|node| dims.find(*node) == dims.find(edge.hi));
                    out.extend(above.map(|node| Fact::Equal(node, edge.hi)));
                }
            }
            Some(Reason::Overlap { row, at }) => {
                let rank = self.solver.ranks.lo(row);
                for slot in [
                    Slot::Edge { row, side: Side::Left, at },
                    Slot::Edge { row, side: Side::Right, at: rank - 1 - at },
                ] {
                    out.push(Fact::Reason(self.solver.rows.slot(slot).why.0));
                }
                out.extend([Fact::LoRank(row), Fact::HiRank(row)]);
            }
            Some(Reason::Chain { con, step }) => out.extend([Fact::RowCon(con), Fact::PolicyStep(step)]),
            Some(Reason::Policy(step)) => {
                if let Some(rivalry) = solver.rivalries.get(&step)
                    && self.policy(step) == Some(Policy::RelaxedLeaf)
                {
                    out.extend(rivalry.leaves.iter().map(|leaf| Fact::CapAt(dims.cap_node(*leaf))));
                    out.extend(rivalry.edges.iter().map(|edge| Fact::Reason(dims.edge(*edge).reason.0)));
                }
                out.push(Fact::PolicyStep(step));
            }
        }
    }

    fn expand_align(&mut self, con: u32, side: Side, at: u32, out: &mut Vec<Fact>) {
        let Solver { rows, ranks, .. } = self.solver;
        let RowCon { res, opnd, kind, .. } = rows.con(con);
        for term in [res, opnd] {
            let key = [term.start, term.lead, term.trail, term.hole];
            out.push(Fact::Position { term: key, right: side == Side::Right, at });
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
                for hole in [res.hole, opnd.hole].into_iter().filter(|hole| *hole != NIL) {
                    out.extend([Fact::LoRank(hole), Fact::HiRank(hole)]);
                }
            }
        }
    }

    /// What identifies the dimension at a position of a term.
    fn expand_position(&self, term: Term, side: Side, at: u32, out: &mut Vec<Fact>) {
        let near = term.near(side);
        if at < near || term.hole == NIL {
            return;
        }
        let (row, inner) = (term.hole, at - near);
        let rows = &self.solver.rows;
        out.push(Fact::LoRank(row));
        if !rows.is_fixed(row) {
            out.push(Fact::Reason(rows.slot(Slot::Edge { row, side, at: inner }).why.0));
            return;
        }
        let rank = self.solver.ranks.lo(row);
        if inner >= rank {
            out.push(Fact::HiRank(row));
            return;
        }
        if rows.source(row) != NIL {
            out.extend([Fact::HiRank(row), Fact::RowCon(rows.source(row))]);
            return;
        }
        // What was said from this edge while the rank was open is a reason of its own.
        out.push(Fact::Reason(rows.slot(Slot::Edge { row, side, at: inner }).why.0));
        let index = if side == Side::Left { inner } else { rank - 1 - inner };
        let why = rows.slot(Slot::Axis { row, at: index }).why;
        out.push(Fact::Reason(why.0));
        // Named from the same edge, the axis is the same at every rank.
        let same_edge = matches!(self.reason(why), Some(Reason::Align { side: named, .. } | Reason::Pinned { side: named, .. }) if named == side);
        if !same_edge {
            out.push(Fact::HiRank(row));
        }
    }

    fn reason(&self, id: ReasonId) -> Option<Reason> {
        if id.0 == NIL || id.as_constraint().is_some() { None } else { self.solver.dims.reason_at(id) }
    }

    fn policy(&self, step: u32) -> Option<Policy> {
        self.solver.policies.get(step as usize).map(|choice| choice.policy)
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

impl Solver {
    fn walk(&self, facts: Vec<Fact>) -> Walked {
        self.walk_with(facts, false)
    }

    fn walk_with(&self, facts: Vec<Fact>, beyond_policy: bool) -> Walked {
        let walk = Walk {
            beyond_policy,
            solver: self,
            seen: FxHashSet::default(),
            ended: FxHashSet::default(),
            found: Walked::default(),
        };
        walk.run(facts)
    }

    /// The constraints and policy steps behind a conflict.
    pub(crate) fn blame(&self, conflict: Conflict) -> Walked {
        let value_of = |node: u32| {
            let at = self.dims.value_node(node);
            [Fact::ValueAt(at), Fact::Equal(node, at)]
        };
        self.walk(match conflict {
            Conflict::Value { node, reason, .. } => {
                let [value, equal] = value_of(node);
                vec![value, equal, Fact::Reason(reason.0)]
            }
            Conflict::Cap { node, reason, .. } => {
                let at = self.dims.cap_node(node);
                vec![Fact::CapAt(at), Fact::Equal(node, at), Fact::Reason(reason.0)]
            }
            Conflict::Merge { a, b, reason } => {
                let ([value_a, equal_a], [value_b, equal_b]) = (value_of(a), value_of(b));
                vec![value_a, equal_a, value_b, equal_b, Fact::Reason(reason.0)]
            }
            Conflict::Ground { reason, .. } => vec![Fact::Reason(reason.0)],
            Conflict::Rank { row, .. } => vec![Fact::LoRank(row), Fact::HiRank(row)],
            Conflict::RankCycle { row, con } => vec![Fact::LoRank(row), Fact::RowCon(con)],
            Conflict::Overflow { con } => vec![Fact::RowCon(con)],
            Conflict::Claim { node, reason } => {
                let [value, equal] = if self.dims.value(self.dims.find(node)).is_some() {
                    value_of(node)
                } else {
                    [Fact::Reason(reason.0), Fact::Equal(node, node)]
                };
                vec![Fact::Size(node), value, equal, Fact::Reason(reason.0)]
            }
            Conflict::Size { node } => {
                let mut facts = vec![Fact::Size(node)];
                if self.dims.value(self.dims.find(node)).is_some() {
                    facts.extend(value_of(node));
                }
                facts
            }
            Conflict::Arith { con } => vec![Fact::Arith(con)],
            Conflict::TooSmall { reason, .. } | Conflict::TooLarge { reason, .. } => {
                vec![Fact::Reason(reason.0)]
            }
            Conflict::Symbols { a, b, reason } => {
                let symbol = |node: u32| self.dims.tag(self.dims.find(node));
                let named = |node: u32| symbol(node).map_or(node, |tag| self.symbols.node(Symbol(tag)));
                vec![Fact::Equal(a, named(a)), Fact::Equal(b, named(b)), Fact::Reason(reason.0)]
            }
            Conflict::Short { support } => {
                vec![Fact::LoRank(self.supports.get(support).res), Fact::Support(support)]
            }
            // Every constraint may have a part in what rows are made of, and so may every choice.
            Conflict::Contents => {
                let steps = (0..self.policies.len() as u32).map(Fact::PolicyStep);
                (0..self.rows.con_count()).map(Fact::RowCon).chain(steps).collect()
            }
            Conflict::TooMuch(_) => Vec::new(),
        })
    }

    /// The constraints and policy steps behind a row's rank bounds: the domain of a choice.
    pub(crate) fn blame_rank(&self, row: u32) -> Walked {
        self.walk(vec![Fact::LoRank(row), Fact::HiRank(row)])
    }

    /// The constraints and policy steps behind a row's least rank.
    pub(crate) fn blame_least(&self, row: u32) -> Walked {
        self.walk(vec![Fact::LoRank(row)])
    }

    /// The chain of constraints that forces a dimension variable, if they do: minimal, sources first.
    /// ([`Closed::why_dim`](super::Closed::why_dim) also tells of policies.)
    ///
    /// ```
    /// # use broadloom_core::{Constraint, Role, Solver};
    /// let mut solver = Solver::new();
    /// let (a, b) = (solver.dim_var(Role::Leaf), solver.dim_var(Role::Leaf));
    /// let three = solver.size(3);
    /// let equal = solver.add(Constraint::DimEq(a.into(), b.into()));
    /// let sized = solver.add(Constraint::DimEq(a.into(), three));
    /// let chain = solver.why_dim(b).expect("forced");
    /// assert!(chain.contains(&equal) && chain.contains(&sized));
    /// ```
    pub fn why_dim(&self, var: DimVar) -> Option<Vec<ConstraintId>> {
        let value = self.observe_dim(var)?;
        let entails =
            |sub: &Subsystem| sub.dim(var).and_then(|var| sub.solver.observe_dim(var)) == Some(value);
        Some(self.shrink_chain(&self.chain_dim(var), entails))
    }

    /// The chain of constraints that forces the axes of a row variable, if they do.
    pub fn why_row(&self, var: RowVar) -> Option<Vec<ConstraintId>> {
        let axes = self.observe_axes(var)?;
        let entails = |sub: &Subsystem| {
            sub.row(var).and_then(|var| sub.solver.observe_axes(var)).as_ref() == Some(&axes)
        };
        Some(self.shrink_chain(&self.chain_row(var), entails))
    }

    /// The axes of a row variable, if all are known.
    fn observe_axes(&self, var: RowVar) -> Option<Vec<Dim>> {
        let shape = self.observe_row(var);
        shape.rank?;
        let ground = |axis: &DimShape| if let DimShape::Ground(dim) = axis { Some(*dim) } else { None };
        shape.lead.iter().chain(&shape.trail).map(ground).collect()
    }

    /// The chain behind the value of a dimension variable, as it stands.
    pub(crate) fn chain_dim(&self, var: DimVar) -> Vec<Link> {
        let root = self.dims.find(var.0);
        if self.dims.value(root).is_none() {
            // Closed to the unit; what bounds it is all there is to tell.
            let bounded = self.dims.cap(root).map(|_| Fact::CapAt(self.dims.cap_node(var.0)));
            return self.links(self.walk_with(bounded.into_iter().collect(), true));
        }
        let at = self.dims.value_node(var.0);
        self.links(self.walk_with(vec![Fact::ValueAt(at), Fact::Equal(var.0, at)], true))
    }

    /// The chain behind the rank, the axes and the marker of a row variable, as they stand.
    pub(crate) fn chain_row(&self, var: RowVar) -> Vec<Link> {
        let row = var.0;
        let mut facts = vec![Fact::LoRank(row), Fact::HiRank(row)];
        let rank = self.ranks.lo(row);
        for at in 0..rank {
            // While the rank is open an axis is known from one edge or the other.
            let front = self.rows.is_fixed(row)
                || self.rows.partial(row).is_some_and(|partial| (at as usize) < partial.front.len());
            let position = if front { at } else { rank - 1 - at };
            facts.push(Fact::Position { term: [0, 0, 0, row], right: !front, at: position });
            if let Some(node) = self.row_axis(row, at).node()
                && self.dims.value(self.dims.find(node)).is_some()
            {
                let named = self.dims.value_node(node);
                facts.extend([Fact::ValueAt(named), Fact::Equal(node, named)]);
            }
        }
        if self.rows.is_fixed(row) {
            facts.push(Fact::Marker(row));
        }
        self.links(self.walk_with(facts, true))
    }

    fn links(&self, walked: Walked) -> Vec<Link> {
        let cause = |ended: &Ended| match *ended {
            Ended::Constraint(id) => Some(Cause::Constraint(ConstraintId(id))),
            Ended::Policy(step) => self.policies.get(step as usize).map(|choice| {
                let Choice { policy, row, .. } = *choice;
                Cause::Policy(policy, (row != NIL).then_some(RowVar(row)))
            }),
        };
        walked.links.iter().filter_map(cause).map(|cause| Link { cause }).collect()
    }

    /// The constraint each end of a contradiction between two dimensions comes from: the first one
    /// in its chain that writes that dimension.
    pub(crate) fn sources(&self, conflict: Conflict, ends: [DimTerm; 2]) -> [Option<ConstraintId>; 2] {
        let source = |facts: Vec<Fact>, end: DimTerm| {
            let chain = self.walk(facts).constraints;
            let writer = chain.iter().find(|id| self.writes(**id, end)).or(chain.first());
            writer.map(|id| ConstraintId(*id))
        };
        let value = |node: u32, end: DimTerm| {
            let at = self.dims.value_node(node);
            source(vec![Fact::ValueAt(at), Fact::Equal(node, at)], end)
        };
        let demand = |reason: ReasonId, end: DimTerm| source(vec![Fact::Reason(reason.0)], end);
        match conflict {
            Conflict::Value { node, reason, .. } => [value(node, ends[0]), demand(reason, ends[1])],
            Conflict::Cap { node, reason, .. } => {
                let cap = vec![Fact::CapAt(self.dims.cap_node(node))];
                [source(cap, ends[0]), demand(reason, ends[1])]
            }
            Conflict::Merge { a, b, .. } => [value(a, ends[0]), value(b, ends[1])],
            Conflict::Ground { reason, .. } => match self.aligned(reason) {
                Some((con, side, at)) => {
                    let RowCon { res, opnd, id, .. } = self.rows.con(con);
                    let named = |term: Term, end: DimTerm| {
                        source(self.named_by(term, side, at), end).or(Some(ConstraintId(id)))
                    };
                    [named(res, ends[0]), named(opnd, ends[1])]
                }
                None => [None, None],
            },
            _ => [None, None],
        }
    }

    /// What said which dimension stands at a position of a term, without the proof that it exists.
    fn named_by(&self, term: Term, side: Side, at: u32) -> Vec<Fact> {
        let row = term.hole;
        let Some(inner) = at.checked_sub(term.near(side)).filter(|_| row != NIL) else { return Vec::new() };
        let rank = self.ranks.lo(row);
        if self.rows.is_fixed(row) && self.rows.source(row) != NIL {
            return vec![Fact::RowCon(self.rows.source(row))];
        }
        let mut whys = vec![self.rows.slot(Slot::Edge { row, side, at: inner }).why];
        if self.rows.is_fixed(row) && inner < rank {
            let index = if side == Side::Left { inner } else { rank - 1 - inner };
            whys.push(self.rows.slot(Slot::Axis { row, at: index }).why);
        }
        // The alignment itself, then whatever it rests on.
        let mut facts = Vec::new();
        for why in whys {
            if let Some((con, ..)) = self.aligned(why) {
                facts.push(Fact::RowCon(con));
            }
            facts.push(Fact::Reason(why.0));
        }
        facts
    }

    fn aligned(&self, reason: ReasonId) -> Option<(u32, Side, u32)> {
        if reason.as_constraint().is_some() {
            return None;
        }
        match self.dims.reason_at(reason)? {
            Reason::Align { con, side, at } | Reason::Pinned { con, side, at } => Some((con, side, at)),
            _ => None,
        }
    }

    /// The axis of a row variable at which two ground terms faced each other.
    pub(crate) fn aligned_axis(&self, conflict: Conflict) -> Option<DimShape> {
        let Conflict::Ground { reason, .. } = conflict else { return None };
        let (con, side, at) = self.aligned(reason)?;
        let RowCon { res, opnd, .. } = self.rows.con(con);
        [res, opnd].into_iter().find_map(|term| {
            let (row, inner) = (RowVar(term.hole), at.checked_sub(term.near(side))?);
            let inside = term.hole != NIL && inner < self.ranks.lo(term.hole);
            inside.then_some(match side {
                Side::Left => DimShape::Front(row, inner),
                Side::Right => DimShape::Back(row, inner),
            })
        })
    }

    /// Whether a constraint was written with a term.
    fn writes(&self, id: u32, term: DimTerm) -> bool {
        match self.constraints.get(id) {
            Stored::DimEq(a, b) | Stored::DimLe(a, b) => a == term || b == term,
            Stored::Row(con) => {
                let RowCon { res, opnd, .. } = self.rows.con(con);
                self.rows.literals(res).contains(&term) || self.rows.literals(opnd).contains(&term)
            }
            Stored::AtLeast(..) | Stored::AtMost(..) => false,
            Stored::Arith(con) => self.ariths.get(con).dims().contains(&term),
            Stored::Support(support) => {
                self.supports.terms(support).iter().any(|row| self.rows.literals(*row).contains(&term))
            }
        }
    }
}
