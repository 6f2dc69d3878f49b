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

use crate::order::{Atom, Basis};
use crate::solver::closing::joint::solve_jointly;
use crate::solver::closing::leaf_dims::close_leaf_dims;
use crate::solver::closing::symbols::checks_are_possible;
use crate::solver::known::size_bounds;
use crate::solver::propagate::fixpoint::propagate;
use crate::solver::stores::ariths::Arith;
use crate::solver::stores::reason::{Conflict, Limit, Outcome, Policy, Reason};
use crate::solver::stores::sizes::ANY;
use crate::solver::stores::state::{Mark, State};
use crate::term::{DimTerm, DimVar, Role, RowVar};
use rustc_hash::{FxHashMap, FxHashSet};

/// The number of sizes to try where nothing bounds them.
const MOST_SIZES: u64 = 128;

/// The place of a dimension in the order of guesses: whether it must have elements, whether it follows from
/// others, and its name.
type Key = ((bool, bool), (u32, u32));

/// A size under decision.
struct SizeDecision {
    node: DimVar,
    options: Vec<(Policy, DimTerm)>,
    next: usize,
    /// True if greater sizes exist that are not tried.
    cut: bool,
    mark: Option<Mark>,
}

/// The dimensions of parameters in arithmetic that have no size yet.
fn open_params(state: &State) -> Vec<DimVar> {
    let named = state.leaf_dims.iter().filter(|(_, role)| *role == Role::Param).map(|(node, _)| *node);
    let rows = state.rows.leaves().iter().copied().filter(|row| state.rows.role(*row) == Role::Param);
    let axes =
        rows.flat_map(|row| (0..state.ranks.lo(row)).filter_map(move |at| state.row_axis(row, at).var()));
    let open = |node: &DimVar| {
        let root = state.dims.find(*node);
        let (lo, hi) = size_bounds(state, root.into());
        state.dims.extra_of(root).is_some() && state.dims.value(root).is_none() && lo != hi
    };
    named.chain(axes).filter(open).collect()
}

/// Gives a value to every dimension of every arithmetic constraint. Fails only if there is none.
pub(crate) fn close_sizes(state: &mut State) -> Outcome {
    if !state.has_arithmetic() {
        return Ok(());
    }
    state.undecided = None;
    state.symbols.undecided = false;
    solve_jointly(state)?;
    let mark = state.mark();
    close_leaf_dims(state);
    match decide_sizes(state) {
        Ok(()) => {
            state.forget(mark);
            return all_decided(state);
        }
        Err(_) => state.undo(mark),
    }
    // A leaf's cap may be a size that no equation can live with: the equations go first.
    decide_sizes(state)?;
    close_leaf_dims(state);
    all_decided(state)
}

/// True if no choice depended on the sizes of symbols.
fn all_decided(state: &State) -> Outcome {
    if state.symbols.undecided {
        return Err(Conflict::TooMuch(Limit::Expressions));
    }
    checks_are_possible(state)
}

/// Decides open sizes one by one, with chronological backtracking.
fn decide_sizes(state: &mut State) -> Outcome {
    let order = size_order(state);
    let mut levels: Vec<SizeDecision> = Vec::new();
    loop {
        let Some(node) = next_size(state, &order) else {
            for mark in levels.iter().rev().filter_map(|level| level.mark) {
                state.forget(mark);
            }
            return Ok(());
        };
        let (options, cut) = size_options(state, node);
        if state.undecided.is_none()
            && options.first().is_some_and(|(policy, _)| *policy == Policy::GuessedSize)
        {
            state.undecided = Some(open_params(state));
        }
        levels.push(SizeDecision { node, options, next: 0, cut, mark: None });
        settle_size(state, &mut levels)?;
    }
}

/// Finds a size for the last level, or moves an earlier one on.
fn settle_size(state: &mut State, levels: &mut Vec<SizeDecision>) -> Outcome {
    let mut last = Conflict::TooMuch(Limit::SizeBound);
    let mut cut = false;
    loop {
        let Some(top) = levels.last_mut() else {
            return Err(if cut { Conflict::TooMuch(Limit::SizeBound) } else { last });
        };
        if let Some(mark) = top.mark.take() {
            state.undo(mark);
        }
        let Some((policy, value)) = top.options.get(top.next).copied() else {
            cut |= top.cut;
            levels.pop();
            continue;
        };
        top.next += 1;
        top.mark = Some(state.mark());
        match try_size(state, top.node, policy, value) {
            Ok(()) => return Ok(()),
            Err(conflict) => last = conflict,
        }
        state.branches += 1;
        if matches!(last, Conflict::TooMuch(_)) || state.branches > state.budget.branches {
            for mark in levels.drain(..).rev().filter_map(|level| level.mark) {
                state.undo(mark);
            }
            // If the size that fits depends on the sizes of symbols, none can be chosen for all of
            // them.
            let symbolic = last == Conflict::TooMuch(Limit::Expressions);
            return Err(if symbolic { last } else { Conflict::TooMuch(Limit::Branches) });
        }
    }
}

fn try_size(state: &mut State, node: DimVar, policy: Policy, value: DimTerm) -> Outcome {
    let step = state.choose(policy, RowVar::NIL);
    let reason = state.dims.reason(Reason::Policy(step));
    state.dims.commit(&mut state.trail, node, value, reason)?;
    state.symbols.guessing = true;
    let outcome = propagate(state);
    state.symbols.guessing = false;
    outcome
}

/// The first dimension without a value: known sizes first, then those with a cap.
fn next_size(state: &State, order: &[DimVar]) -> Option<DimVar> {
    let open = |node: &&DimVar| state.dims.value(state.dims.find(**node)).is_none();
    let known = |node: &&DimVar| {
        let (lo, hi) = size_bounds(state, (**node).into());
        lo == hi
    };
    let capped = |node: &&DimVar| state.dims.cap(state.dims.find(**node)).is_some();
    let find = |wanted: &dyn Fn(&&DimVar) -> bool| order.iter().filter(open).find(|node| wanted(node));
    find(&known).or_else(|| find(&capped)).or_else(|| find(&|_| true)).copied()
}

/// The values to try for a dimension, and whether there are more.
fn size_options(state: &mut State, node: DimVar) -> (Vec<(Policy, DimTerm)>, bool) {
    let root = state.dims.find(node);
    let (lo, hi) = size_bounds(state, root.into());
    let claims = state.dims.extra_of(root).is_some_and(|extra| state.dims.sizes.claims(extra));
    let policy = if lo == hi { Policy::DefaultBasis } else { Policy::GuessedSize };
    let unit = (!claims && lo <= 1 && hi >= 1).then_some(DimTerm::UNIT);
    if let Some(cap) = state.dims.cap(root) {
        let unit = unit.map(|unit| (Policy::GuessedSize, unit));
        return ([(Policy::LeafCap, cap)].into_iter().chain(unit).collect(), false);
    }
    let last = if hi == ANY { lo.saturating_add(MOST_SIZES) } else { hi.min(lo.saturating_add(MOST_SIZES)) };
    let bases = likely_bases(state, root);
    let mut options = Vec::new();
    for size in lo..=last {
        let unit = unit.filter(|_| size == 1);
        // Arithmetic gave it a size, so it is an explicit one; a guess claims nothing.
        options.extend(unit.filter(|_| lo != hi));
        for basis in if size == 0 { &[Basis::DEFAULT] } else { bases.as_slice() } {
            options.push(state.atom(Atom { size, basis: *basis }));
        }
        options.extend(unit.filter(|_| lo == hi));
    }
    (options.into_iter().map(|value| (policy, value)).collect(), last < hi)
}

/// The bases to try for a class: the one it is known to have, else the default one and then every
/// basis that occurs in a constraint.
fn likely_bases(state: &State, root: DimVar) -> Vec<Basis> {
    let mut bases: Vec<Basis> = state.atoms.iter().map(|atom| atom.basis).collect();
    bases.push(Basis::DEFAULT);
    bases.sort_unstable();
    bases.dedup();
    if let Some(basis) = state.dims.basis(root) {
        bases.sort_by_key(|other| *other != basis);
    }
    bases
}

/// Names for classes that depend on the caller's variables alone: the first dimension variable, or
/// else the first axis of a row variable.
fn class_names(state: &State) -> FxHashMap<DimVar, (u32, u32)> {
    let mut names: FxHashMap<DimVar, (u32, u32)> = FxHashMap::default();
    for (index, (node, _)) in state.dim_vars.iter().enumerate() {
        names.entry(state.dims.find(*node)).or_insert((0, index as u32));
    }
    for row in state.rows.ids() {
        for at in 0..state.ranks.lo(row) {
            if let Some(node) = state.row_axis(row, at).var() {
                names.entry(state.dims.find(node)).or_insert((row.0 + 1, at));
            }
        }
    }
    names
}

/// The dimensions that arithmetic mentions: what follows from others last, otherwise in an order that
/// depends on the caller's variables alone.
fn size_order(state: &State) -> Vec<DimVar> {
    let names = class_names(state);
    let rows = state.ariths.pending().flat_map(|con| state.ariths.get(con).rows());
    let rows: Vec<RowVar> = rows.filter(|row| state.rows.is_fixed(*row)).collect();
    let axes = rows.iter().flat_map(|row| (0..state.ranks.lo(*row)).map(move |at| (*row, at)));
    let axes: Vec<DimVar> = axes.filter_map(|(row, at)| state.row_axis(row, at).var()).collect();
    let derived = state.ariths.pending().filter_map(|con| match state.ariths.get(con) {
        Arith::Linear { items, .. } => items.first().map(|item| item.dim),
        Arith::Count { numerator, .. } => numerator.over,
        Arith::Exact { .. } => None,
    });
    let derived = derived.filter_map(|dim| dim.var()).map(|node| (node, true));
    let mentioned = state.ariths.mentioned().iter().filter_map(|dim| dim.var());
    let mentioned = mentioned.chain(axes.iter().copied()).map(|node| (node, false));
    let open = derived.chain(mentioned).filter_map(|(node, derived)| {
        let root = state.dims.find(node);
        let open = state.dims.value(root).is_none() && state.dims.extra_of(root).is_some();
        // Classes that may be empty go before those that may not.
        let firm = (size_bounds(state, root.into()).0 > 0, derived);
        open.then(|| ((firm, names.get(&root).copied().unwrap_or((u32::MAX, node.0))), root))
    });
    let mut keyed: Vec<(Key, DimVar)> = open.collect();
    // A class that follows from others somewhere goes last everywhere.
    let last: FxHashSet<DimVar> =
        keyed.iter().filter(|(((_, derived), _), _)| *derived).map(|(_, root)| *root).collect();
    keyed.retain(|(((_, derived), _), root)| *derived || !last.contains(root));
    keyed.sort_unstable();
    let mut order: Vec<DimVar> = keyed.into_iter().map(|(_, root)| root).collect();
    order.dedup();
    order
}
