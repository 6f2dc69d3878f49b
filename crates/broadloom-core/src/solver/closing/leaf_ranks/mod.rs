//! Ranks of leaves (docs/solver.md, "How many axes a leaf takes"): a function of the set of
//! constraints, whatever their order.
//!
//! A leaf that leaves its rank open takes the axes of what it is used with, and never widens it. Rows that
//! equalities tie are one row here. The *sources* of a row are what is known of its axes, the open leaf it
//! is (if it is one), and the sources of the operands it refines. A source has a *length*: all axes of the term it came
//! with. An open leaf has a *reach*, too: how far its own axes go from the back, without those that a term has before
//! it. The ranks are the greatest that satisfy two rules:
//!
//! 1. *No leaf stands out.* In every row, an open leaf is not longer, and does not reach further, than some other source
//!    is long, unless none of the others comes up to the leaf at all: those that end where the leaf begins have nothing
//!    to say about it.
//! 2. *No leaf floats.* Every axis of an open leaf can be traced back, from one source to another of the
//!    same row and so on, to one that is known.
//!
//! Given who has something to say, both rules survive unions, so there are greatest ranks. They are found
//! from above: [`RankProblem::peel`] lowers leaves that stand out, [`RankProblem::anchor`] those that float, until nothing
//! moves. At first every open leaf has something to say; leaves that then turn out too short for that
//! are silent the next time. For the first rule two different sources of each row are enough, the longest
//! and the next.
//!
//! For example `h ⊑ x`, `h ⊑ b`, `t ⊑ b`, `t ⊑ c` with `x = [784]` and leaves `b` and `c`: in `h`, `b` must not be
//! longer than `x`; in `t`, `b` and `c` allow each other anything, but only one axis of them can be
//! traced to `x`. So both have one.
//!
//! | file | is about |
//! |---|---|
//! | `mod` | what the constraints say about lengths, and the ranks that come of it |
//! | `groups` | rows that equalities tie |
//! | `sources` | what is known of the axes of a row |
//! | `settle` | leaves that stand out |
//! | `anchor` | leaves that float |

mod anchor;
mod groups;
mod settle;
mod sources;

use crate::ids::{IdVec, NIL, ids};
use crate::solver::closing::leaf_ranks::groups::{GroupId, Member, equal_rows, numbered};
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::stores::ranks::{Pred, UNBOUNDED};
use crate::solver::stores::reason::{Outcome, Policy};
use crate::solver::stores::rows::{Kind, RowCon, Term};
use crate::solver::stores::state::State;
use crate::term::{Role, RowVar};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

ids! {
    /// An inequality between two groups.
    RefinementId "refinement";
}

/// Below every rank.
const NEVER: i64 = i64::MIN / 4;

/// A row `below` that refines a row `above`, and by how much its length and its reach are greater.
#[derive(Clone, Copy)]
struct Refinement {
    below: GroupId,
    above: GroupId,
    /// The row of the group below that it is about.
    row: RowVar,
    /// The increase in reach of the leaves that are the row above: all their axes behind the marker.
    leaf: i64,
    /// The row above, in terms of its group: how much longer it is, and how far behind.
    through: [i64; 2],
    longer: i64,
    further: i64,
}

/// The number that stands for what is known of a row as a source; an open leaf is named by its group.
const KNOWN: GroupId = GroupId(NIL - 1);

/// The open rows and what is made of them, those that are equal as one, and how they refine each other. What is kept by row is that of its
/// group, at the row that stands for it.
struct RankProblem {
    /// The rows that are here.
    taking_part: IdVec<RowVar, bool>,
    members: IdVec<RowVar, Member>,
    edges: IdVec<RefinementId, Refinement>,
    /// Operands before their results, as far as that is possible, and the place of each row in it.
    order: Vec<GroupId>,
    place: IdVec<GroupId, u32>,
    /// True if some row refines itself by way of others.
    circular: bool,
    /// The edges by which each row refines others, and those by which others refine it.
    up: Lists,
    down: Lists,
    /// Bounds of each group.
    lo: IdVec<GroupId, i64>,
    hi: IdVec<GroupId, i64>,
    /// The known length of each group, apart from its open operands and from itself.
    known: IdVec<GroupId, i64>,
    /// The length that known results offer.
    offered: IdVec<GroupId, i64>,
    /// True if the group has an open leaf.
    open: IdVec<GroupId, bool>,
    /// The distance from the back to the front of the longest row of each group, beyond the length of the group.
    front: IdVec<GroupId, i64>,
    /// The results in each group that has several.
    results: FxHashMap<GroupId, SmallVec<[RowVar; 2]>>,
    /// No chain of sources leads to so many axes, unless it goes round in circles.
    bound: i64,
}

/// Lists of edges, one for each group.
#[derive(Default)]
struct Lists {
    starts: Vec<u32>,
    edges: Vec<RefinementId>,
}

impl Lists {
    fn new(
        groups: usize,
        edges: &IdVec<RefinementId, Refinement>,
        of: impl Fn(&Refinement) -> GroupId,
    ) -> Lists {
        let mut starts = vec![0u32; groups + 1];
        edges.iter().for_each(|edge| starts[of(edge).index() + 1] += 1);
        (0..groups).for_each(|group| starts[group + 1] += starts[group]);
        let mut next = starts.clone();
        let mut sorted = vec![RefinementId(0); edges.len()];
        for (at, edge) in edges.each() {
            let place = &mut next[of(edge).index()];
            sorted[*place as usize] = at;
            *place += 1;
        }
        Lists { starts, edges: sorted }
    }

    fn of(&self, group: GroupId) -> &[RefinementId] {
        &self.edges[self.starts[group.index()] as usize..self.starts[group.index() + 1] as usize]
    }
}

/// Gives open leaves of a role their ranks. Returns whether any has more axes than it had to have.
pub(crate) fn raise_leaf_ranks(state: &mut State, wanted: impl Fn(Role) -> bool) -> Outcome<bool> {
    let open = |row: &RowVar| wanted(state.rows.role(*row)) && !state.rows.is_fixed(*row);
    let leaves: Vec<RowVar> = state.rows.leaves().iter().copied().filter(open).collect();
    if leaves.is_empty() {
        return Ok(false);
    }
    let rows = refinements(state, &leaves);
    let ranks = rows.greatest();
    let mut raised = false;
    for row in leaves {
        let Member { group, longer, .. } = rows.members[row];
        let rank = (ranks[group] + longer).max(0) as u32;
        if rank > state.ranks.lo(row) {
            raised = true;
            let step = state.choose(Policy::LeafRank, row);
            state.ranks.at_least(&mut state.trail, row, rank, Pred::policy(step))?;
        }
    }
    propagate(state)?;
    Ok(raised)
}

fn refinements(state: &State, leaves: &[RowVar]) -> RankProblem {
    let taking_part = taking_part(state);
    let (members, count) = numbered(&equal_rows(state), &taking_part);
    let mut rows = RankProblem {
        taking_part,
        members,
        edges: IdVec::default(),
        order: Vec::new(),
        place: IdVec::default(),
        circular: false,
        up: Lists::default(),
        down: Lists::default(),
        lo: IdVec::filled(NEVER, count),
        hi: IdVec::filled(i64::MAX, count),
        known: IdVec::filled(NEVER, count),
        offered: IdVec::filled(NEVER, count),
        open: IdVec::filled(false, count),
        front: IdVec::filled(0, count),
        results: FxHashMap::default(),
        bound: 0,
    };
    for row in state.rows.ids().filter(|row| rows.taking_part[*row]) {
        let Member { group: at, longer, .. } = rows.members[row];
        rows.lo[at] = rows.lo[at].max(i64::from(state.ranks.lo(row)) - longer);
        if state.ranks.hi(row) != UNBOUNDED {
            rows.hi[at] = rows.hi[at].min(i64::from(state.ranks.hi(row)) - longer);
        }
    }
    leaves.iter().for_each(|row| rows.open[rows.members[*row].group] = true);
    // A row that is made of its operands has their axes, whatever reads it.
    let results = state.supports.ids().map(|support| state.supports.get(support).res);
    let grouped =
        results.map(|res| (rows.members[res].group, res)).filter(|(group, _)| *group != GroupId::NIL);
    let grouped: Vec<(GroupId, RowVar)> = grouped.collect();
    let mut first = IdVec::filled(RowVar::NIL, count);
    for (group, res) in &grouped {
        rows.open[*group] = false;
        // Few groups have several results.
        if std::mem::replace(&mut first[*group], *res) != RowVar::NIL {
            rows.results.entry(*group).or_default();
        }
    }
    if !rows.results.is_empty() {
        for (group, res) in grouped {
            if let Some(results) = rows.results.get_mut(&group) {
                results.push(res);
            }
        }
    }
    exclude_absent_fillers(state, &mut rows);
    // The length of each row by its operands.
    let mut derived = IdVec::filled(NEVER, count);
    for con in state.rows.cons().filter(|con| con.kind == Kind::Le) {
        relate(state, &mut rows, &mut derived, con);
    }
    // Axes that a result has beyond its operands were required by a reader.
    for row in state.rows.ids() {
        if !rows.taking_part[row] {
            continue;
        }
        let at = rows.members[row].group;
        if !rows.open[at] && rows.lo[at] > derived[at] {
            rows.known[at] = rows.known[at].max(rows.lo[at]);
        }
    }
    for row in state.rows.ids().filter(|row| rows.taking_part[*row]) {
        let Member { group, longer, behind } = rows.members[row];
        rows.front[group] = rows.front[group].max(longer + behind);
    }
    rows.sort();
    rows
}

/// A filler takes no axes where a tensor that it meets has none, and others elsewhere.
fn exclude_absent_fillers(state: &State, rows: &mut RankProblem) {
    let open =
        |row: &RowVar| state.rows.role(*row) == Role::Filler && rows.members[*row].group != GroupId::NIL;
    let fillers: Vec<RowVar> = state.rows.leaves().iter().copied().filter(open).collect();
    if fillers.is_empty() {
        return;
    }
    let mut absent: IdVec<RowVar, bool> = IdVec::filled(false, state.rows.len());
    for absence in state.absences.iter().filter(|absence| state.is_absent(absence)) {
        absent[absence.row] = true;
    }
    let mut more = absent.iter().any(|absent| *absent);
    while std::mem::take(&mut more) {
        for RowCon { res, opnd, kind, .. } in state.rows.con_ids().rev().map(|con| state.rows.con(con)) {
            let alike = res.flanks() == 0
                && opnd.flanks() == 0
                && res.hole != RowVar::NIL
                && opnd.hole != RowVar::NIL;
            let interior =
                alike && state.rows.role(res.hole) == Role::Interior && state.ranks.lo(res.hole) == 0;
            if kind == Kind::Le && interior && absent[res.hole] && !absent[opnd.hole] {
                absent[opnd.hole] = true;
                more = true;
            }
        }
    }
    for row in fillers.into_iter().filter(|row| absent[*row]) {
        let Member { group: at, longer, .. } = rows.members[row];
        rows.hi[at] = rows.hi[at].min(rows.lo[at].max(-longer));
    }
}

/// Records what an inequality says about lengths.
fn relate(
    state: &State,
    rows: &mut RankProblem,
    derived: &mut IdVec<GroupId, i64>,
    RowCon { res, opnd, .. }: RowCon,
) {
    let is_open = |row: RowVar| row != RowVar::NIL && rows.taking_part[row];
    let inner = |term: Term| if term.hole == RowVar::NIL { 0 } else { i64::from(state.ranks.lo(term.hole)) };
    let length = |term: Term| i64::from(term.flanks()) + inner(term);
    let own = is_open(res.hole).then(|| rows.members[res.hole]);
    if let Some(own) = own {
        // In terms of the result's group.
        let longer = i64::from(res.flanks()) + own.longer;
        let at = own.group;
        derived[at] = derived[at].max(length(opnd) - longer);
        if !is_open(opnd.hole) {
            rows.known[at] = rows.known[at].max(length(opnd) - longer);
        }
    }
    if !is_open(opnd.hole) {
        return;
    }
    let above = rows.members[opnd.hole];
    if res.hole == RowVar::NIL || state.rows.is_fixed(res.hole) || res.flanks() > 0 {
        let offered = &mut rows.offered[above.group];
        *offered = (*offered).max(length(res) - i64::from(opnd.trail) + above.behind);
    }
    let Some(own) = own else { return };
    if own.group != above.group {
        let longer = i64::from(opnd.flanks()) - i64::from(res.flanks()) + above.longer - own.longer;
        let reach = i64::from(opnd.trail) - above.behind - i64::from(res.trail) + own.behind;
        let row = res.hole;
        let marker = i64::from(state.rows.declared(opnd.hole).unwrap_or(0));
        let leaf = reach + above.behind + (above.longer - marker).max(-above.behind);
        let through = [above.longer, above.behind];
        let (below, above) = (own.group, above.group);
        rows.edges.push(Refinement { below, above, row, leaf, through, longer, further: reach });
    }
}

/// The rows whose sources matter: open ones, and results of known rank that are made of such rows. (What a
/// reader says about the rank of a result says nothing about whose axes they are.)
fn taking_part(state: &State) -> IdVec<RowVar, bool> {
    let mut part: IdVec<RowVar, bool> = state.rows.ids().map(|row| !state.rows.is_fixed(row)).collect();
    let mut more = true;
    while std::mem::take(&mut more) {
        for support in state.supports.ids() {
            let res = state.supports.get(support).res;
            let takes = |term: &Term| term.hole != RowVar::NIL && part[term.hole];
            if !part[res] && state.supports.terms(support).iter().any(takes) {
                part[res] = true;
                more = true;
            }
        }
    }
    part
}
