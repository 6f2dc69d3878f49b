//! Row variables and row constraints: what is known of each row, and who waits for it.
//!
//! A row variable's value has three parts, decided at different times: its rank (in
//! [`Ranks`](super::ranks::Ranks)), its axes, and its marker. Equality relates rank and axes only;
//! an inequality consults the marker of its operand, and that only where the ranks differ. So a
//! marker is never fixed by a binding: it stays open until closing.
//!
//! While the rank is open, axes known from the front and axes known from the back are kept apart
//! ([`Partial`]); both may reach up to the least rank, so they may turn out to overlap. When the rank
//! is fixed they become one block of axes. An axis that has no term yet is
//! [`DimTerm::NONE`], so no variable is made before a rule needs one.

use crate::ids::{IdVec, NIL, RowConId, StepId};
use crate::solver::stores::ranks::Ranks;
use crate::solver::stores::reason::{ReasonId, Side};
use crate::solver::stores::trail::{Cell, Entry, Trail, set};
use crate::term::{ConstraintId, DimTerm, DimVar, Hole, Role, RowTerm, RowVar};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A row term, stored: a range of the literal arena and a row variable (or `NIL`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Term {
    pub start: u32,
    pub lead: u32,
    pub trail: u32,
    pub hole: RowVar,
}

impl Term {
    /// A bare row variable.
    pub fn var(row: RowVar) -> Term {
        Term { start: 0, lead: 0, trail: 0, hole: row }
    }

    /// The number of axes written out.
    pub fn flanks(self) -> u32 {
        self.lead + self.trail
    }

    /// The length of the flank at the given edge.
    pub fn near(self, side: Side) -> u32 {
        match side {
            Side::Left => self.lead,
            Side::Right => self.trail,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Eq,
    Le,
}

/// A row constraint and how far its alignment has come.
#[derive(Clone, Copy)]
pub(crate) struct RowCon {
    /// The result (or the first side of an equality).
    pub res: Term,
    /// The operand (or the second side).
    pub opnd: Term,
    /// The constraint's id.
    pub id: ConstraintId,
    /// Positions already aligned, counted from the left edge.
    pub left: u32,
    /// Positions already aligned, counted from the right edge.
    pub right: u32,
    pub kind: Kind,
    /// True if nothing is left to align.
    pub done: bool,
}

/// A row constraint as it is stored; [`RowCon`] is its readable form.
#[derive(Clone, Copy)]
struct PackedCon {
    /// The place of the literals of both terms: result, then operand.
    start: u32,
    /// Lead and trail of the result, then of the operand.
    flanks: [u32; 4],
    holes: [RowVar; 2],
    id: ConstraintId,
    left: u32,
    right: u32,
    /// The next constraints that watch the two row variables.
    next: [RowConId; 2],
    kind: Kind,
    done: bool,
    queued: bool,
}

/// An axis of a row variable: its term and why it is that term.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub term: DimTerm,
    pub why: ReasonId,
}

const UNNAMED: Axis = Axis { term: DimTerm::NONE, why: ReasonId::NIL };

/// Axes known from either edge while the rank is open; each list reaches at most to the least rank.
#[derive(Clone, Default)]
pub(crate) struct Partial {
    pub front: SmallVec<[Axis; 2]>,
    pub back: SmallVec<[Axis; 2]>,
}

#[derive(Clone, Copy)]
struct RowState {
    /// The place of the block of axes, once the rank is fixed; else `NIL`.
    axes: u32,
    /// The row constraint whose literal axes serve as the block, or `NIL` for a block of our own.
    source: RowConId,
    partial: u32,
    watch: RowConId,
    /// The declared place of the marker, or `NIL`.
    declared: u32,
    role: Role,
}

/// An axis of a row variable that is certain to exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// Counted from the given edge of a row of open rank.
    Edge { row: RowVar, side: Side, at: u32 },
    /// Counted from the front of a row of fixed rank.
    Axis { row: RowVar, at: u32 },
}

/// The content of a position of a row term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spot {
    Known(DimTerm),
    /// An axis of a row variable of which nothing is known.
    Empty(Slot),
    /// Inside a row variable or beyond it, depending on its rank.
    Unknown,
}

impl Spot {
    /// The node of a variable term.
    pub fn var(self) -> Option<DimVar> {
        if let Spot::Known(term) = self { term.var() } else { None }
    }
}

/// The store of row variables and row constraints.
#[derive(Clone, Default)]
pub(crate) struct Rows {
    literals: Vec<DimTerm>,
    blocks: Vec<Axis>,
    partials: Vec<Partial>,
    states: IdVec<RowVar, RowState>,
    cons: IdVec<RowConId, PackedCon>,
    /// The rows of leaves and parameters.
    leaves: Vec<RowVar>,
    /// Rows whose marker is not declared.
    undeclared: u32,
    /// Decided markers and the policy steps that decided them: few rows have one.
    markers: FxHashMap<RowVar, (u32, StepId)>,
}

/// Lengths to cut back to on undo.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowsMark {
    blocks: usize,
    partials: usize,
}

impl Rows {
    /// Forgets everything but the memory.
    pub fn clear(&mut self) {
        self.literals.clear();
        self.blocks.clear();
        self.partials.clear();
        self.states.clear();
        self.cons.clear();
        self.leaves.clear();
        self.undeclared = 0;
        self.markers.clear();
    }

    pub fn fresh(&mut self, role: Role) -> RowVar {
        let row = self.states.push(RowState {
            axes: NIL,
            source: RowConId::NIL,
            partial: NIL,
            watch: RowConId::NIL,
            declared: NIL,
            role,
        });
        self.undeclared += 1;
        if role != Role::Interior {
            self.leaves.push(row);
        }
        row
    }

    /// The rows of leaves and parameters, in the order they were made.
    pub fn leaves(&self) -> &[RowVar] {
        &self.leaves
    }

    /// Makes every row an interior one.
    pub fn forget_roles(&mut self) {
        for row in std::mem::take(&mut self.leaves) {
            self.states[row].role = Role::Interior;
        }
    }

    /// True if every row has a declared marker.
    pub fn all_declared(&self) -> bool {
        self.undeclared == 0
    }

    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// All rows, in the order they were made.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = RowVar> + use<> {
        self.states.ids()
    }

    pub fn axis_count(&self) -> u32 {
        self.blocks.len() as u32
    }

    pub fn role(&self, row: RowVar) -> Role {
        self.states[row].role
    }

    /// True if the rank is fixed and the axes laid out.
    #[inline]
    pub fn is_fixed(&self, row: RowVar) -> bool {
        self.states[row].axes != NIL
    }

    /// True if no constraint mentions a row variable.
    pub fn is_unmentioned(&self, row: RowVar) -> bool {
        let RowState { axes, partial, watch, .. } = self.states[row];
        axes == NIL && partial == NIL && watch == RowConId::NIL
    }

    /// The row constraint whose literal axes are this row's axes, if it was bound in bulk.
    pub fn source(&self, row: RowVar) -> RowConId {
        self.states[row].source
    }

    pub fn declare_marker(&mut self, row: RowVar, lead: u32) {
        let declared = &mut self.states[row].declared;
        self.undeclared -= u32::from(*declared == NIL);
        *declared = lead;
    }

    /// The declared place of the marker, not yet cut to the rank.
    pub fn declared(&self, row: RowVar) -> Option<u32> {
        let declared = self.states[row].declared;
        (declared != NIL).then_some(declared)
    }

    /// The marker, if it was declared or decided.
    pub fn marker(&self, row: RowVar) -> Option<u32> {
        if let Some(declared) = self.declared(row) {
            return Some(declared);
        }
        if self.markers.is_empty() { None } else { self.markers.get(&row).map(|(marker, _)| *marker) }
    }

    /// The declared markers of all rows; the left edge where none is declared.
    pub fn declared_markers(&self) -> IdVec<RowVar, u32> {
        self.states.iter().map(|state| if state.declared == NIL { 0 } else { state.declared }).collect()
    }

    /// True if any marker was decided.
    pub fn any_marker(&self) -> bool {
        !self.markers.is_empty()
    }

    /// The policy step that decided the marker, or `NIL`.
    pub fn marker_policy(&self, row: RowVar) -> StepId {
        self.markers.get(&row).map_or(StepId::NIL, |(_, policy)| *policy)
    }

    pub fn set_marker(&mut self, trail: &mut Trail, row: RowVar, marker: u32, step: StepId) {
        let (old, before) = self.markers.insert(row, (marker, step)).unwrap_or((NIL, StepId::NIL));
        trail.save_pair(Cell::Marker, row, old, before);
    }

    /// A row constraint, unpacked.
    #[inline]
    pub fn con(&self, con: RowConId) -> RowCon {
        let PackedCon { start, flanks, holes, id, left, right, kind, done, .. } = self.cons[con];
        let res = Term { start, lead: flanks[0], trail: flanks[1], hole: holes[0] };
        let opnd = Term { start: start + res.flanks(), lead: flanks[2], trail: flanks[3], hole: holes[1] };
        RowCon { res, opnd, id, left, right, kind, done }
    }

    /// The number that the next row constraint gets.
    pub fn next_con(&self) -> RowConId {
        self.cons.next()
    }

    /// The numbers of all row constraints, in the order of addition.
    pub fn con_ids(&self) -> impl DoubleEndedIterator<Item = RowConId> + use<> {
        self.con_ids_from(RowConId(0))
    }

    /// The numbers of the row constraints from one on.
    pub fn con_ids_from(&self, first: RowConId) -> impl DoubleEndedIterator<Item = RowConId> + use<> {
        (first.0..self.cons.len() as u32).map(RowConId)
    }

    /// All row constraints, in the order of addition.
    pub fn cons(&self) -> impl Iterator<Item = RowCon> + '_ {
        self.con_ids().map(|con| self.con(con))
    }

    /// Records how far an alignment has come.
    #[inline]
    pub fn advance(&mut self, trail: &mut Trail, con: RowConId, left: u32, right: u32, done: bool) {
        let entry = &mut self.cons[con];
        if (entry.left, entry.right, entry.done) != (left, right, done) {
            trail.save_pair(Cell::Progress, con, entry.left, entry.right);
            (entry.left, entry.right, entry.done) = (left, right, done);
        }
    }

    /// Notes that a constraint is queued, or no longer.
    pub fn set_queued(&mut self, con: RowConId, queued: bool) {
        self.cons[con].queued = queued;
    }

    /// Copies a term into the store.
    pub fn store(&mut self, term: RowTerm<'_>) -> Term {
        let start = self.literals.len() as u32;
        if term.lead.len() + term.trail.len() > 0 {
            self.literals.extend_from_slice(term.lead);
            self.literals.extend_from_slice(term.trail);
        }
        let hole = self.hole_of(term);
        Term { start, lead: term.lead.len() as u32, trail: term.trail.len() as u32, hole }
    }

    /// The row variable of a term, or `NIL`.
    pub fn hole_of(&self, term: RowTerm<'_>) -> RowVar {
        match term.hole {
            Hole::Marker => RowVar::NIL,
            Hole::Var(row) => row,
        }
    }

    /// The literal axes of a stored term, lead then trail.
    pub fn literals(&self, term: Term) -> &[DimTerm] {
        let start = term.start as usize;
        &self.literals[start..start + term.flanks() as usize]
    }

    /// Adds a constraint to the watch lists of its row variables.
    pub fn watch(&mut self, kind: Kind, res: Term, opnd: Term, id: ConstraintId) -> RowConId {
        let con = self.next_con();
        let mut next = [RowConId::NIL; 2];
        for (at, hole) in [res.hole, opnd.hole].into_iter().enumerate() {
            if hole != RowVar::NIL && !(at == 1 && hole == res.hole) {
                next[at] = std::mem::replace(&mut self.states[hole].watch, con);
            }
        }
        debug_assert_eq!(
            opnd.start,
            res.start + res.flanks(),
            "the terms of a constraint are stored together"
        );
        self.cons.push(PackedCon {
            start: res.start,
            flanks: [res.lead, res.trail, opnd.lead, opnd.trail],
            holes: [res.hole, opnd.hole],
            id,
            left: 0,
            right: 0,
            next,
            kind,
            done: false,
            queued: false,
        });
        con
    }

    /// The constraint after `con` in the watch list of `row`.
    #[inline]
    fn next_watch(&self, con: RowConId, row: RowVar) -> RowConId {
        let PackedCon { holes, next, .. } = self.cons[con];
        if holes[0] == row { next[0] } else { next[1] }
    }

    /// The constraints that mention a row variable.
    pub fn watchers(&self, row: RowVar) -> impl Iterator<Item = RowConId> + '_ {
        let mut next = self.states[row].watch;
        std::iter::from_fn(move || {
            let con = (next != RowConId::NIL).then_some(next)?;
            next = self.next_watch(con, row);
            Some(con)
        })
    }

    /// Queues the unfinished constraints that mention a row variable, except inequalities in which all
    /// that is certain is aligned and that wait for a rank to be fixed while this one only rose.
    pub fn wake(&mut self, ranks: &Ranks, row: RowVar, queue: &mut Vec<RowConId>) {
        let fixed = self.is_fixed(row);
        let mut con = self.states[row].watch;
        while con != RowConId::NIL {
            let PackedCon { kind, left, right, flanks, holes, done, queued, .. } = self.cons[con];
            if !done
                && !queued
                && (fixed || kind == Kind::Eq || {
                    let declared = holes[1] != RowVar::NIL && self.states[holes[1]].declared != NIL;
                    let certain = if declared { ranks.lo(holes[1]) } else { 0 };
                    left < flanks[2] || right < flanks[3] || left + right < flanks[2] + flanks[3] + certain
                })
            {
                self.cons[con].queued = true;
                queue.push(con);
            }
            con = self.next_watch(con, row);
        }
    }

    /// Takes the literal axes of a closed term as the axes of `row`, without copying them.
    pub fn bind_literals(&mut self, trail: &mut Trail, row: RowVar, start: u32, con: RowConId) {
        let state = &mut self.states[row];
        trail.save_pair(Cell::Axes, row, state.axes, state.source);
        (state.axes, state.source) = (start, con);
    }

    /// True if anything is known of the axes of a row of open rank.
    pub fn partial(&self, row: RowVar) -> Option<&Partial> {
        self.partials.get(self.states[row].partial as usize)
    }

    /// Lays out the axes of a row whose rank is now fixed. Returns the axes claimed both by the
    /// front and by the back: the caller equates them.
    pub fn lay_out(
        &mut self,
        trail: &mut Trail,
        row: RowVar,
        rank: u32,
    ) -> SmallVec<[(u32, DimTerm, DimTerm); 2]> {
        let start = self.blocks.len();
        self.blocks.resize(start + rank as usize, UNNAMED);
        let mut overlaps = SmallVec::new();
        if let Some(partial) = self.partials.get(self.states[row].partial as usize) {
            let block = &mut self.blocks[start..];
            for (at, axis) in partial.front.iter().enumerate().take(rank as usize) {
                block[at] = *axis;
            }
            for (at, axis) in partial.back.iter().enumerate().take(rank as usize) {
                let place = &mut block[rank as usize - 1 - at];
                if place.term.is_none() {
                    *place = *axis;
                } else if !axis.term.is_none() && axis.term != place.term {
                    overlaps.push((rank - 1 - at as u32, place.term, axis.term));
                }
            }
        }
        let state = &mut self.states[row];
        trail.save_pair(Cell::Axes, row, state.axes, state.source);
        state.axes = start as u32;
        overlaps
    }

    /// The axes of a row of fixed rank.
    pub fn axis(&self, row: RowVar, at: u32) -> DimTerm {
        let RowState { axes, source, .. } = self.states[row];
        let index = (axes + at) as usize;
        if source == RowConId::NIL { self.blocks[index].term } else { self.literals[index] }
    }

    /// The record of a slot: the term (or `NONE`) and why.
    pub fn slot(&self, slot: Slot) -> Axis {
        match slot {
            Slot::Edge { row, side, at } => self.partial(row).map_or(UNNAMED, |partial| {
                let list = match side {
                    Side::Left => &partial.front,
                    Side::Right => &partial.back,
                };
                list.get(at as usize).copied().unwrap_or(UNNAMED)
            }),
            Slot::Axis { row, at } => {
                let RowState { axes, source, .. } = self.states[row];
                let index = (axes + at) as usize;
                // A rank that was pushed beyond what was laid out is a conflict under explanation.
                if source == RowConId::NIL {
                    self.blocks.get(index).copied().unwrap_or(UNNAMED)
                } else {
                    let term = self.literals.get(index).copied().unwrap_or(DimTerm::NONE);
                    Axis { term, why: ReasonId::NIL }
                }
            }
        }
    }

    /// Records the term at a slot that was empty.
    pub fn fill(&mut self, trail: &mut Trail, slot: Slot, term: DimTerm, why: ReasonId) {
        match slot {
            Slot::Axis { row, at } => {
                let index = self.states[row].axes + at;
                trail.save(Cell::Axis, index, 0);
                self.blocks[index as usize] = Axis { term, why };
            }
            Slot::Edge { row, side, at } => {
                let state = &mut self.states[row];
                if state.partial == NIL {
                    set!(trail, Partial, row, state.partial, self.partials.len() as u32);
                    self.partials.push(Partial::default());
                }
                let partial = &mut self.partials[state.partial as usize];
                let (list, cell) = match side {
                    Side::Left => (&mut partial.front, Cell::Front),
                    Side::Right => (&mut partial.back, Cell::Back),
                };
                trail.save(cell, state.partial, at);
                if list.len() == at as usize {
                    list.push(Axis { term, why });
                    return;
                }
                if list.len() < at as usize {
                    list.resize(at as usize + 1, UNNAMED);
                }
                list[at as usize] = Axis { term, why };
            }
        }
    }

    /// The content of position `at` from `side` of a term.
    #[inline]
    pub fn spot(&self, ranks: &Ranks, term: Term, side: Side, at: u32) -> Spot {
        let near = term.near(side);
        let literal = |index: u32| Spot::Known(self.literals[index as usize]);
        let from_edge = |at: u32| match side {
            Side::Left => term.start + at,
            Side::Right => term.start + term.flanks() - 1 - at,
        };
        if at < near || term.hole == RowVar::NIL {
            return literal(from_edge(at));
        }
        let (row, inner) = (term.hole, at - near);
        if self.is_fixed(row) {
            let rank = ranks.lo(row);
            if inner >= rank {
                return literal(from_edge(at - rank));
            }
            let at = match side {
                Side::Left => inner,
                Side::Right => rank - 1 - inner,
            };
            match self.axis(row, at) {
                DimTerm::NONE => Spot::Empty(Slot::Axis { row, at }),
                term => Spot::Known(term),
            }
        } else if inner < ranks.lo(row) {
            let slot = Slot::Edge { row, side, at: inner };
            match self.slot(slot).term {
                DimTerm::NONE => Spot::Empty(slot),
                term => Spot::Known(term),
            }
        } else {
            Spot::Unknown
        }
    }

    /// The rank of a term, if its row variable's rank is fixed (or it has none).
    pub fn rank(&self, ranks: &Ranks, term: Term) -> Option<u32> {
        if term.hole == RowVar::NIL {
            Some(term.flanks())
        } else if self.is_fixed(term.hole) {
            Some(term.flanks() + ranks.lo(term.hole))
        } else {
            None
        }
    }

    pub fn mark(&self) -> RowsMark {
        RowsMark { blocks: self.blocks.len(), partials: self.partials.len() }
    }

    pub fn cut(&mut self, mark: RowsMark) {
        self.blocks.truncate(mark.blocks);
        self.partials.truncate(mark.partials);
    }

    /// Puts a logged word back.
    pub fn restore(&mut self, entry: Entry) {
        let Entry { cell, at, old, more } = entry;
        let index = at as usize;
        match cell {
            Cell::Axes => {
                let state = &mut self.states[RowVar(at)];
                (state.axes, state.source) = (old, RowConId(more));
            }
            Cell::Partial => self.states[RowVar(at)].partial = old,
            Cell::Marker if old == NIL => {
                self.markers.remove(&RowVar(at));
            }
            Cell::Marker => {
                self.markers.insert(RowVar(at), (old, StepId(more)));
            }
            Cell::Progress => {
                let con = &mut self.cons[RowConId(at)];
                (con.left, con.right, con.done) = (old, more, false);
            }
            Cell::Axis => self.blocks[index] = UNNAMED,
            Cell::Front => forget(&mut self.partials[index].front, old),
            Cell::Back => forget(&mut self.partials[index].back, old),
            _ => {}
        }
    }

    /// Bytes held, for the benchmarks.
    pub fn bytes(&self) -> usize {
        self.literals.capacity() * size_of::<DimTerm>()
            + self.blocks.capacity() * size_of::<Axis>()
            + self.partials.capacity() * size_of::<Partial>()
            + self.states.bytes()
            + self.cons.bytes()
    }
}

/// Removes the axis at `at`, and the empty axes that padded the list up to it.
fn forget(list: &mut SmallVec<[Axis; 2]>, at: u32) {
    list[at as usize] = UNNAMED;
    while list.last().is_some_and(|axis| axis.term.is_none()) {
        list.pop();
    }
}
