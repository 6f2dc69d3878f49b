//! Closing of sizes that arithmetic leaves open.
//!
//! Three named stages, after ranks, markers and leaf dimensions:
//!
//! - *Capped sizes.* A dimension that a size lies below takes that size, as leaves do.
//! - *Known sizes.* A size that arithmetic fixed takes the default basis, unless a basis reached it. A
//!   size of one becomes an explicit `1`, or the unit if it has to broadcast.
//! - *Guessed sizes.* What is still open takes the least size that fits: the unit, zero if it is
//!   discardable, what a fixed index asks for. The whole of a sum and the numerator of a count go last:
//!   they follow from the others, and guessing them first could only spoil an equation.
//!
//! A guess that contradicts an equation is undone and the next size is tried, so a guess is never the
//! reason for a failure.

use rustc_hash::{FxHashMap, FxHashSet};

use super::arith::Arith;
use super::reason::{Conflict, Limit, Policy, Reason, Step};
use super::sizes::ANY;
use super::{Mark, Solver};
use crate::order::{Atom, Basis};
use crate::term::{DimTerm, Role};

/// How many sizes to try where nothing bounds them.
const MOST_SIZES: u64 = 128;

/// Where a dimension stands in the order of guesses: whether it must have elements, whether it follows from
/// others, and its name.
type Key = ((bool, bool), (u32, u32));

/// A size under decision.
struct Level {
    node: u32,
    options: Vec<(Policy, DimTerm)>,
    next: usize,
    /// Whether greater sizes exist that are not tried.
    cut: bool,
    mark: Option<Mark>,
}

impl Solver {
    /// The dimensions of parameters in arithmetic that have no size yet.
    fn open_params(&self) -> Vec<u32> {
        let named = self.leaf_dims.iter().filter(|(_, role)| *role == Role::Param).map(|(node, _)| *node);
        let rows = self.rows.leaves().iter().copied().filter(|row| self.rows.role(*row) == Role::Param);
        let axes =
            rows.flat_map(|row| (0..self.ranks.lo(row)).filter_map(move |at| self.row_axis(row, at).node()));
        let open = |node: &u32| {
            let root = self.dims.find(*node);
            let (lo, hi) = self.size_bounds(DimTerm(root));
            self.dims.extra_of(root).is_some() && self.dims.value(root).is_none() && lo != hi
        };
        named.chain(axes).filter(open).collect()
    }

    /// Whether any constraint is about sizes.
    pub(crate) fn has_arithmetic(&self) -> bool {
        !self.ariths.is_empty() || !self.ariths.mentioned().is_empty()
    }

    /// Gives a value to every dimension of every arithmetic constraint. Fails only if there is none.
    pub(crate) fn close_sizes(&mut self) -> Step {
        if !self.has_arithmetic() {
            return Ok(());
        }
        self.undecided = None;
        self.symbols.undecided = false;
        self.solve_jointly()?;
        let mark = self.mark();
        self.close_leaf_dims();
        match self.decide_sizes() {
            Ok(()) => {
                self.forget(mark);
                return self.all_decided();
            }
            Err(_) => self.undo(mark),
        }
        // A leaf's cap may be a size that no equation can live with: the equations go first.
        self.decide_sizes()?;
        self.close_leaf_dims();
        self.all_decided()
    }

    /// Whether no choice depended on the sizes of symbols.
    fn all_decided(&self) -> Step {
        if self.symbols.undecided {
            return Err(Conflict::TooMuch(Limit::Expressions));
        }
        self.checks_are_possible()
    }

    /// Decides open sizes one by one, with chronological backtracking.
    fn decide_sizes(&mut self) -> Step {
        let order = self.size_order();
        let mut levels: Vec<Level> = Vec::new();
        loop {
            let Some(node) = self.next_size(&order) else {
                for mark in levels.iter().rev().filter_map(|level| level.mark) {
                    self.forget(mark);
                }
                return Ok(());
            };
            let (options, cut) = self.size_options(node);
            if self.undecided.is_none()
                && options.first().is_some_and(|(policy, _)| *policy == Policy::GuessedSize)
            {
                self.undecided = Some(self.open_params());
            }
            levels.push(Level { node, options, next: 0, cut, mark: None });
            self.settle_size(&mut levels)?;
        }
    }

    /// Finds a size for the last level, or moves an earlier one on.
    fn settle_size(&mut self, levels: &mut Vec<Level>) -> Step {
        let mut last = Conflict::TooMuch(Limit::SizeBound);
        let mut cut = false;
        loop {
            let Some(top) = levels.last_mut() else {
                return Err(if cut { Conflict::TooMuch(Limit::SizeBound) } else { last });
            };
            if let Some(mark) = top.mark.take() {
                self.undo(mark);
            }
            let Some((policy, value)) = top.options.get(top.next).copied() else {
                cut |= top.cut;
                levels.pop();
                continue;
            };
            top.next += 1;
            top.mark = Some(self.mark());
            match self.try_size(top.node, policy, value) {
                Ok(()) => return Ok(()),
                Err(conflict) => last = conflict,
            }
            self.branches += 1;
            if matches!(last, Conflict::TooMuch(_)) || self.branches > self.budget.branches {
                for mark in levels.drain(..).rev().filter_map(|level| level.mark) {
                    self.undo(mark);
                }
                // Where the sizes of symbols would decide which size fits, none can be chosen for all of them.
                let symbolic = last == Conflict::TooMuch(Limit::Expressions);
                return Err(if symbolic { last } else { Conflict::TooMuch(Limit::Branches) });
            }
        }
    }

    fn try_size(&mut self, node: u32, policy: Policy, value: DimTerm) -> Step {
        let step = self.choose(policy, super::reason::NIL);
        let reason = self.dims.reason(Reason::Policy(step));
        self.dims.commit(&mut self.trail, node, value, reason)?;
        self.symbols.guessing = true;
        let outcome = self.propagate();
        self.symbols.guessing = false;
        outcome
    }

    /// The first dimension without a value: known sizes first, then those with a cap.
    fn next_size(&self, order: &[u32]) -> Option<u32> {
        let open = |node: &&u32| self.dims.value(self.dims.find(**node)).is_none();
        let known = |node: &&u32| {
            let (lo, hi) = self.size_bounds(DimTerm(**node));
            lo == hi
        };
        let capped = |node: &&u32| self.dims.cap(self.dims.find(**node)).is_some();
        let find = |wanted: &dyn Fn(&&u32) -> bool| order.iter().filter(open).find(|node| wanted(node));
        find(&known).or_else(|| find(&capped)).or_else(|| find(&|_| true)).copied()
    }

    /// The values to try for a dimension, and whether there are more.
    fn size_options(&mut self, node: u32) -> (Vec<(Policy, DimTerm)>, bool) {
        let root = self.dims.find(node);
        let (lo, hi) = self.size_bounds(DimTerm(root));
        let claims = self.dims.extra_of(root).is_some_and(|extra| self.dims.sizes.claims(extra));
        let policy = if lo == hi { Policy::DefaultBasis } else { Policy::GuessedSize };
        let unit = (!claims && lo <= 1 && hi >= 1).then_some(DimTerm::UNIT);
        if let Some(cap) = self.dims.cap(root) {
            let unit = unit.map(|unit| (Policy::GuessedSize, unit));
            return ([(Policy::LeafCap, cap)].into_iter().chain(unit).collect(), false);
        }
        let last =
            if hi == ANY { lo.saturating_add(MOST_SIZES) } else { hi.min(lo.saturating_add(MOST_SIZES)) };
        let bases = self.likely_bases(root);
        let mut options = Vec::new();
        for size in lo..=last {
            let unit = unit.filter(|_| size == 1);
            // Arithmetic gave it a size, so it is an explicit one; a guess claims nothing.
            options.extend(unit.filter(|_| lo != hi));
            for basis in if size == 0 { &[Basis::DEFAULT] } else { bases.as_slice() } {
                options.push(self.atom(Atom { size, basis: *basis }));
            }
            options.extend(unit.filter(|_| lo == hi));
        }
        (options.into_iter().map(|value| (policy, value)).collect(), last < hi)
    }

    /// The bases to try for a class: the one it is known to have, else the default one and then every
    /// basis that somebody wrote.
    fn likely_bases(&self, root: u32) -> Vec<Basis> {
        let mut bases: Vec<Basis> = self.atoms.iter().map(|atom| atom.basis).collect();
        bases.push(Basis::DEFAULT);
        bases.sort_unstable();
        bases.dedup();
        if let Some(basis) = self.dims.basis(root) {
            bases.sort_by_key(|other| *other != basis);
        }
        bases
    }

    /// Names for classes that depend on the caller's variables alone: the first dimension variable, or
    /// else the first axis of a row variable.
    pub(crate) fn class_names(&self) -> FxHashMap<u32, (u32, u32)> {
        let mut names: FxHashMap<u32, (u32, u32)> = FxHashMap::default();
        for (index, (node, _)) in self.dim_vars.iter().enumerate() {
            names.entry(self.dims.find(*node)).or_insert((0, index as u32));
        }
        for row in 0..self.rows.len() as u32 {
            for at in 0..self.ranks.lo(row) {
                if let Some(node) = self.row_axis(row, at).node() {
                    names.entry(self.dims.find(node)).or_insert((row + 1, at));
                }
            }
        }
        names
    }

    /// The dimensions that arithmetic mentions: what follows from others last, otherwise in an order that
    /// depends on the caller's variables alone.
    fn size_order(&self) -> Vec<u32> {
        let names = self.class_names();
        let rows = self.ariths.pending().flat_map(|con| self.ariths.get(con).rows());
        let rows: Vec<u32> = rows.filter(|row| self.rows.is_fixed(*row)).collect();
        let axes = rows.iter().flat_map(|row| (0..self.ranks.lo(*row)).map(move |at| (*row, at)));
        let axes: Vec<u32> = axes.filter_map(|(row, at)| self.row_axis(row, at).node()).collect();
        let derived = self.ariths.pending().filter_map(|con| match self.ariths.get(con) {
            Arith::Linear { items, .. } => items.first().map(|item| item.dim),
            Arith::Count { numerator, .. } => numerator.over,
            Arith::Exact { .. } => None,
        });
        let derived = derived.filter_map(|dim| dim.node()).map(|node| (node, true));
        let mentioned = self.ariths.mentioned().iter().filter_map(|dim| dim.node());
        let mentioned = mentioned.chain(axes.iter().copied()).map(|node| (node, false));
        let open = derived.chain(mentioned).filter_map(|(node, derived)| {
            let root = self.dims.find(node);
            let open = self.dims.value(root).is_none() && self.dims.extra_of(root).is_some();
            // What may be empty goes before what may not.
            let firm = (self.size_bounds(DimTerm(root)).0 > 0, derived);
            open.then(|| ((firm, names.get(&root).copied().unwrap_or((u32::MAX, node))), root))
        });
        let mut keyed: Vec<(Key, u32)> = open.collect();
        // A class that follows from others somewhere goes last everywhere.
        let last: FxHashSet<u32> =
            keyed.iter().filter(|(((_, derived), _), _)| *derived).map(|(_, root)| *root).collect();
        keyed.retain(|(((_, derived), _), root)| *derived || !last.contains(root));
        keyed.sort_unstable();
        let mut order: Vec<u32> = keyed.into_iter().map(|(_, root)| root).collect();
        order.dedup();
        order
    }
}
