//! Closing (Formal Core, Def. 6.1): from bounds to shapes, by policy.
//!
//! Leaves close downward, to the join of their caps; interiors close upward, to no further axes and
//! to the unit. Every step is taken on the trail, so that asking for final shapes changes nothing.
//!
//! 1. *Leaf ranks.* A leaf row takes as many axes as the join of its caps has (Prop. 2.7). Leaves
//!    whose caps can no longer grow commit first, all at once; then the others; each commits once.
//! 2. *Least ranks.* Every other row takes its least rank. The least ranks are a model of all rank
//!    facts together, so this step cannot break one.
//! 3. *Markers.* An operand that broadcasts into a longer result is marked at its preferred place.
//! 4. *Leaf dimensions.* With ranks and markers fixed, only dimensions are left, and their caps have
//!    travelled to the fixpoint. Leaves commit to their caps in rounds; leaves that would pin one
//!    dimension to two atoms relax to the unit together. What is left is the unit.
//!
//! If steps 1-3 contradict a constraint, [`search`](super::search) takes over. Step 4 cannot fail.

use rustc_hash::FxHashMap;

use super::cores::{Core, Verdict};
use super::explain::Link;
use super::ranks::{Cause, Pred, UNBOUNDED};
use super::reason::{Conflict, NIL, Policy, Reason, Step};
use super::rows::{Kind, RowCon, Term};
use super::search::{Choice, Search};
use super::{Mark, Solver};
use crate::order::{Dim, Row};
use crate::term::{DimTerm, DimVar, Role, RowVar};

/// What closing found.
pub enum Answer<'a> {
    /// Every variable has a value that satisfies every constraint.
    Solved(Closed<'a>),
    /// There are solutions, but a parameter has a hole.
    Underdetermined(Closed<'a>, Vec<Unfilled>),
    /// There is no solution.
    Unsatisfiable(Core),
    /// A limit was reached before an answer was found.
    GaveUp(Limit),
}

/// What a solver ran out of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Branches of the search ([`Budget::branches`](super::Budget::branches)).
    Branches,
    /// Axes laid out ([`Budget::axes`](super::Budget::axes)), or moves of ranks that raise each other.
    Ranks,
}

/// A position of a parameter that nothing determines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfilled {
    /// A dimension variable.
    Dim(DimVar),
    /// An axis of a row variable, counted from the front.
    Axis(RowVar, u32),
}

/// How a variable came by its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// Entailed by the constraints; for a row, up to its marker.
    Forced,
    /// By the policy for leaves.
    Leaf,
    /// By the policy for interiors.
    Interior,
    /// By search, after the policy's first choice failed.
    Search,
}

/// A solution, and the solver in the state that proves it. Dropping it undoes closing.
pub struct Closed<'a> {
    solver: &'a mut Solver,
    mark: Mark,
    closing: Closing,
}

/// What closing leaves behind besides the solver's state.
#[derive(Default)]
pub(crate) struct Closing {
    /// The preferred marker of each row variable.
    markers: Vec<u32>,
    /// Which of the caller's dimension variables, in their order, were ground before closing.
    forced_dims: Vec<bool>,
    /// Which rows were.
    forced_rows: Vec<bool>,
    pub unfilled: Vec<Unfilled>,
    searched: bool,
}

/// The join of a leaf row's caps: how many axes before and after the marker.
#[derive(Clone, Copy)]
struct Extent {
    lead: u32,
    trail: u32,
    /// No cap can still grow.
    firm: bool,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.solver.dims.closing = false;
        self.solver.undo(self.mark);
    }
}

impl Closed<'_> {
    /// The value of a dimension variable.
    pub fn dim(&self, var: DimVar) -> Dim {
        self.solver.closed_dim(var.into())
    }

    /// The value of a row variable.
    pub fn row(&self, var: RowVar) -> Row {
        let solver = &*self.solver;
        let rank = solver.ranks.lo(var.0);
        let axes = (0..rank).map(|at| solver.closed_dim(solver.rows.axis(var.0, at)));
        let marker = solver.rows.marker(var.0).unwrap_or(self.closing.markers[var.index()]);
        let marker = marker.min(rank) as usize;
        let axes: Vec<Dim> = axes.collect();
        Row::new(axes[..marker].iter().copied(), axes[marker..].iter().copied())
    }

    /// How a dimension variable came by its value.
    pub fn how_dim(&self, var: DimVar) -> How {
        let solver = &*self.solver;
        let made = solver.dim_vars.binary_search_by_key(&var.0, |(node, _)| *node);
        if made.is_ok_and(|at| self.closing.forced_dims.get(at) == Some(&true)) {
            return How::Forced;
        }
        let role = solver.dim_role(var);
        let closed = if role == Role::Interior { How::Interior } else { How::Leaf };
        if solver.dims.value(solver.dims.find(var.0)).is_none() {
            return closed;
        }
        match solver.dims.reason_at(solver.dims.value_reason(solver.dims.value_node(var.0))) {
            Some(Reason::Policy(_)) => How::Leaf,
            _ if self.closing.searched => How::Search,
            Some(Reason::FlowDown { .. } | Reason::FlowUp { .. }) => How::Leaf,
            _ => closed,
        }
    }

    /// How a row variable came by its value.
    pub fn how_row(&self, var: RowVar) -> How {
        let solver = &*self.solver;
        let policy = |step: u32| solver.policies.get(step as usize).map(|choice| choice.policy);
        if policy(solver.rows.marker_policy(var.0)) == Some(Policy::SearchMarker) {
            return How::Search;
        }
        if self.closing.forced_rows.get(var.index()) == Some(&true) {
            return How::Forced;
        }
        let by = |cause| if let Cause::Policy(step) = cause { policy(step) } else { None };
        match (by(solver.ranks.lo_cause(var.0)), by(solver.ranks.hi_cause(var.0))) {
            (Some(Policy::SearchRank), _) | (_, Some(Policy::SearchRank)) => How::Search,
            (Some(Policy::LeafRank), _) | (_, Some(Policy::LeafRank)) => How::Leaf,
            _ if solver.rows.role(var.0) != Role::Interior => How::Leaf,
            _ => How::Interior,
        }
    }

    /// The chain of constraints and policies that fixed a dimension variable.
    pub fn why_dim(&self, var: DimVar) -> Vec<Link> {
        self.solver.chain_dim(var)
    }

    /// The chain of constraints and policies that fixed a row variable.
    pub fn why_row(&self, var: RowVar) -> Vec<Link> {
        self.solver.chain_row(var)
    }

    /// Counters, including the work of closing.
    pub fn stats(&self) -> super::Stats {
        self.solver.stats()
    }
}

impl Solver {
    /// Closes every variable. The answer borrows the solver; when it is dropped, the solver is as it
    /// was before, ready for more constraints.
    pub fn close(&mut self) -> Answer<'_> {
        if let Some(conflict) = self.conflict {
            return self.refuse(conflict);
        }
        let mut closing = self.forced();
        let mark = self.mark();
        self.dims.closing = true;
        let Err(conflict) = self.close_ranks(&mut closing.markers) else {
            return self.finish_closing(mark, closing);
        };
        let blamed = self.blame(conflict).constraints;
        self.undo(mark);
        self.dims.closing = false;
        if conflict == Conflict::TooMuch {
            return Answer::GaveUp(Limit::Ranks);
        }
        let mut search = Search::new(self.budget.branches);
        // A contradiction that needs no more than these constraints is settled on its own.
        if self.isolate(&mut search, blamed).is_ok() {
            let mark = self.mark();
            self.dims.closing = true;
            closing.searched = true;
            match self.search(&mut search, &mut closing.markers) {
                Verdict::Satisfiable => return self.finish_closing(mark, closing),
                verdict => {
                    self.undo(mark);
                    self.dims.closing = false;
                    if verdict == Verdict::Unknown {
                        return Answer::GaveUp(Limit::Branches);
                    }
                }
            }
        }
        let all = || (0..self.constraints.len() as u32).collect();
        Answer::Unsatisfiable(self.core_from(search.refuted.unwrap_or_else(all)))
    }

    fn refuse(&mut self, conflict: Conflict) -> Answer<'_> {
        if conflict == Conflict::TooMuch {
            return Answer::GaveUp(Limit::Ranks);
        }
        let blamed = self.blame(conflict).constraints;
        Answer::Unsatisfiable(self.core_from(blamed))
    }

    fn finish_closing(&mut self, mark: Mark, mut closing: Closing) -> Answer<'_> {
        self.close_dims(&mut closing);
        let unfilled = std::mem::take(&mut closing.unfilled);
        let closed = Closed { solver: self, mark, closing };
        if unfilled.is_empty() { Answer::Solved(closed) } else { Answer::Underdetermined(closed, unfilled) }
    }

    fn forced(&self) -> Closing {
        let ground = |term: DimTerm| self.dims.resolve(term).is_ground();
        let row_is_ground = |row: u32| {
            self.rows.is_fixed(row) && (0..self.ranks.lo(row)).all(|at| ground(self.rows.axis(row, at)))
        };
        Closing {
            forced_dims: self.dim_vars.iter().map(|(node, _)| ground(DimTerm(*node))).collect(),
            forced_rows: (0..self.rows.len() as u32).map(row_is_ground).collect(),
            ..Closing::default()
        }
    }

    fn closed_dim(&self, term: DimTerm) -> Dim {
        if term.is_none() {
            return Dim::Unit;
        }
        self.ground(self.dims.resolve(term)).unwrap_or(Dim::Unit)
    }

    /// Steps 1-3, with every choice at its first value.
    pub(crate) fn close_ranks(&mut self, markers: &mut Vec<u32>) -> Step {
        *markers = self.preferred_markers(vec![0; self.rows.len()]);
        self.close_leaf_ranks(markers)?;
        let step = self.choose(Policy::LeastRank, NIL);
        for row in 0..self.rows.len() as u32 {
            if !self.rows.is_fixed(row) {
                let least = i64::from(self.ranks.lo(row));
                self.ranks.at_most(&mut self.trail, row, least, Pred::policy(step))?;
            }
        }
        self.propagate()?;
        *markers = self.preferred_markers(std::mem::take(markers));
        self.close_markers(markers)
    }

    /// Records a policy step.
    pub(crate) fn choose(&mut self, policy: Policy, row: u32) -> u32 {
        self.policies.push(Choice { policy, row });
        self.policies.len() as u32 - 1
    }

    /// Step 1.
    fn close_leaf_ranks(&mut self, markers: &mut [u32]) -> Step {
        // Leaves whose caps are known but may still grow.
        let mut growing: FxHashMap<u32, Extent> = FxHashMap::default();
        let mut dirty: Vec<u32> =
            (0..self.rows.len() as u32).filter(|row| self.rows.role(*row) != Role::Interior).collect();
        loop {
            let mut ready: Vec<(u32, Extent)> = Vec::new();
            for row in dirty.drain(..).filter(|row| !self.rows.is_fixed(*row)) {
                match self.join_extent(row, markers) {
                    Some(extent) if extent.firm => ready.push((row, extent)),
                    Some(extent) => {
                        growing.insert(row, extent);
                    }
                    None => {}
                }
            }
            if ready.is_empty() {
                ready = growing.drain().collect();
            }
            if ready.is_empty() {
                return Ok(());
            }
            ready.sort_unstable_by_key(|(row, _)| *row);
            let logged = self.trail.entries.len();
            for (row, extent) in ready {
                growing.remove(&row);
                if self.rows.is_fixed(row) {
                    continue;
                }
                let rank = (extent.lead + extent.trail).clamp(self.ranks.lo(row), self.ranks.hi(row));
                markers[row as usize] = markers[row as usize].max(extent.lead);
                let step = self.choose(Policy::LeafRank, row);
                self.ranks.at_least(&mut self.trail, row, rank, Pred::policy(step))?;
                self.ranks.at_most(&mut self.trail, row, i64::from(rank), Pred::policy(step))?;
                self.propagate()?;
            }
            self.leaves_above(logged, &mut dirty);
        }
    }

    /// The leaves capped by rows whose ranks moved since a point of the trail.
    fn leaves_above(&self, logged: usize, dirty: &mut Vec<u32>) {
        use super::trail::Cell;
        for entry in &self.trail.entries[logged..] {
            if !matches!(entry.cell, Cell::Lo | Cell::Axes) {
                continue;
            }
            for con in self.rows.watchers(entry.at) {
                let RowCon { res, opnd, kind, .. } = self.rows.con(con);
                let above = kind == Kind::Le && res.hole == entry.at && opnd.hole != NIL;
                if above && self.rows.role(opnd.hole) != Role::Interior && !self.rows.is_fixed(opnd.hole) {
                    dirty.push(opnd.hole);
                }
            }
        }
    }

    /// The join of the caps of a row variable (Prop. 2.7), as far as their ranks are known. A bare
    /// adjacency to a row of which nothing is known is no cap (Def. 4.1).
    fn join_extent(&self, row: u32, markers: &[u32]) -> Option<Extent> {
        let mut join: Option<Extent> = None;
        for con in self.rows.watchers(row) {
            let RowCon { res, opnd, kind, .. } = self.rows.con(con);
            if kind != Kind::Le || opnd.hole != row || res.hole == row {
                continue;
            }
            let (inner, marker, firm) = match res.hole {
                NIL => (0, 0, true),
                below => {
                    let least = self.ranks.lo(below);
                    (least, markers[below as usize].min(least), self.rows.is_fixed(below))
                }
            };
            let material = (res.flanks() + inner).saturating_sub(opnd.flanks());
            if !firm && material == 0 {
                continue;
            }
            let lead = (res.lead + marker).saturating_sub(opnd.lead).min(material);
            let trail = material - lead;
            join = Some(match join {
                None => Extent { lead, trail, firm },
                Some(join) => Extent {
                    lead: join.lead.min(lead),
                    trail: join.trail.min(trail),
                    firm: join.firm && firm,
                },
            });
        }
        join
    }

    /// Where the join of a row's caps has its marker.
    pub(crate) fn join_lead(&self, row: u32, markers: &[u32]) -> Option<u32> {
        self.join_extent(row, markers).map(|extent| extent.lead)
    }

    /// The rank the policy prefers for a row variable.
    pub(crate) fn preferred_rank(&self, row: u32, markers: &[u32]) -> u32 {
        let (lo, hi) = (self.ranks.lo(row), self.ranks.hi(row));
        if self.rows.role(row) == Role::Interior {
            return lo;
        }
        self.join_extent(row, markers).map_or(lo, |extent| (extent.lead + extent.trail).clamp(lo, hi))
    }

    /// Step 3.
    fn close_markers(&mut self, markers: &[u32]) -> Step {
        for con in 0..self.rows.con_count() {
            if let Some(row) = self.awaited_marker(con) {
                let step = self.choose(Policy::PreferredMarker, row);
                let marker = markers[row as usize].min(self.ranks.lo(row));
                self.rows.set_marker(&mut self.trail, row, marker, step);
            }
            if !self.rows.con(con).done {
                self.align(con)?;
            }
        }
        Ok(())
    }

    /// The row variable whose marker an inequality waits for.
    pub(crate) fn awaited_marker(&self, con: u32) -> Option<u32> {
        let RowCon { opnd, kind, done, .. } = self.rows.con(con);
        let waits = !done && kind == Kind::Le && opnd.hole != NIL;
        (waits && self.rows.is_fixed(opnd.hole) && self.rows.marker(opnd.hole).is_none()).then_some(opnd.hole)
    }

    /// Where each row variable's marker would rather be: at the longest leading flank declared by
    /// the closed rows it equals and by the operands it refines, within its rank; at the left edge
    /// where nothing is declared. A function of the constraints, not of their order.
    pub(crate) fn preferred_markers(&self, mut markers: Vec<u32>) -> Vec<u32> {
        if !self.declared_markers {
            return markers;
        }
        let mut queue: Vec<u32> = (0..self.rows.con_count()).collect();
        queue.reverse();
        while let Some(con) = queue.pop() {
            let RowCon { res, opnd, kind, .. } = self.rows.con(con);
            let mut wish = |to: Term, from: Term, equal: bool| {
                if to.hole == NIL {
                    return;
                }
                let inner = match from.hole {
                    NIL => 0,
                    row => markers[row as usize].min(self.ranks.lo(row)),
                };
                // An equality passes on a declared marker, not a default one, and only outward
                // from the row nested in the other (Def. 4.3(b) and (c)).
                let nested = to.lead <= from.lead && to.trail <= from.trail;
                if equal && from.hole != NIL && (inner == 0 || !nested) {
                    return;
                }
                let place = (from.lead + inner).saturating_sub(to.lead);
                let rank = self.ranks.lo(to.hole);
                // A closed row's marker outside the variable's part says nothing about it.
                if equal && from.hole == NIL && place > rank {
                    return;
                }
                let place = place.min(rank);
                if place > markers[to.hole as usize] {
                    markers[to.hole as usize] = place;
                    queue.extend(self.rows.watchers(to.hole));
                }
            };
            wish(res, opnd, kind == Kind::Eq);
            if kind == Kind::Eq {
                wish(opnd, res, true);
            }
        }
        markers
    }

    /// The greatest rank worth trying, if the rank facts give one.
    pub(crate) fn greatest_rank(&self, row: u32) -> Option<u32> {
        let hi = self.ranks.hi(row);
        (hi != UNBOUNDED).then_some(hi)
    }
}
