//! Arithmetic on sizes: affine axes, concatenation, element counts, listed axes.
//!
//! Affine axes and concatenations are one thing, a linear equation `0 = constant + Σ coefficientᵢ·xᵢ`
//! between sizes; counts are an equation between products; lists of axes are an equation between
//! sequences. Each is a propagator: it waits for the classes and rows it mentions, and when one of them
//! learns something it narrows the bounds of the others. Nothing is retried without an event, and
//! every narrowing is entailed.
//!
//! Sizes and bases are separate facts. Where arithmetic fixes a size, the value follows as soon as the
//! basis is known: the axis, the dimension iterated over it, and the components of a concatenation have
//! one basis. What has no basis by the end gets the default one, at closing.

mod basis;
pub(crate) mod count;
mod exact;
mod linear;
mod narrow;
mod symbolic;

use crate::ids::ArithId;
use crate::order::{Atom, Basis};
use crate::solver::known::{ground_size, size_of};
use crate::solver::propagate::arith::count::run_count;
use crate::solver::propagate::arith::exact::run_exact;
use crate::solver::propagate::arith::linear::run_linear;
use crate::solver::propagate::arith::symbolic::symbol_within;
use crate::solver::stores::ariths::Arith;
use crate::solver::stores::reason::{Conflict, Outcome, Reason, ReasonId};
use crate::solver::stores::sizes::{ANY, Watcher};
use crate::solver::stores::state::State;
use crate::term::{ConstraintId, DimTerm, DimVar};
use smallvec::SmallVec;

/// Adds an arithmetic constraint and makes it wait for what it mentions.
pub(crate) fn add_arith(state: &mut State, what: Arith, id: ConstraintId) -> Outcome {
    let dims = what.dims();
    let waits = !matches!(what, Arith::Exact { .. });
    let claimed: SmallVec<[DimTerm; 3]> = match &what {
        Arith::Linear { items, .. } => items.iter().filter(|item| item.claims).map(|item| item.dim).collect(),
        _ => SmallVec::new(),
    };
    let con = state.ariths.push(what, id);
    if state.conflict.is_some() {
        return Ok(());
    }
    if waits {
        for node in dims.into_iter().filter_map(|dim| dim.var()) {
            let extra = state.dims.extra(&mut state.trail, node);
            state.dims.sizes.watch(&mut state.trail, extra, Watcher::Arith(con));
        }
    }
    let reason = state.dims.reason(Reason::Arith { con });
    for dim in claimed {
        match dim.var() {
            Some(node) => state.dims.claim(&mut state.trail, node, reason)?,
            None if dim == DimTerm::UNIT => return Err(Conflict::Arith { con }),
            None => {}
        }
    }
    state.ariths.enqueue(con);
    Ok(())
}

/// `size ≥ n`.
pub(crate) fn require_at_least(state: &mut State, dim: DimTerm, least: u64, id: ConstraintId) -> Outcome {
    let reason = ReasonId::constraint(id);
    state.ariths.mention(&[dim]);
    match dim.var() {
        Some(node) => state.dims.narrow(&mut state.trail, node, (least, ANY), reason)?,
        None if size_of(state, dim).lo < least => {
            return Err(Conflict::TooSmall { size: size_of(state, dim).lo, least, reason });
        }
        None => {}
    }
    Ok(())
}

/// `size ≤ n`.
pub(crate) fn require_at_most(state: &mut State, dim: DimTerm, most: u64, id: ConstraintId) -> Outcome {
    let reason = ReasonId::constraint(id);
    state.ariths.mention(&[dim]);
    match dim.var() {
        Some(node) => state.dims.narrow(&mut state.trail, node, (0, most), reason)?,
        None if size_of(state, dim).hi > most => {
            return Err(Conflict::TooLarge { size: size_of(state, dim).hi, most, reason });
        }
        None => {}
    }
    Ok(())
}

/// Something became known of a class in arithmetic: check it against its bounds, and wake who waits.
pub(crate) fn check_bounds(state: &mut State, root: DimVar) -> Outcome {
    let root = state.dims.find(root);
    let Some(extra) = state.dims.extra_of(root) else { return Ok(()) };
    state.steps += 1;
    let bounds = state.dims.sizes.get(extra);
    if bounds.lo > bounds.hi {
        return Err(Conflict::Size { node: root });
    }
    match (state.dims.value(root), state.dims.cap(root)) {
        (Some(value), _) => {
            let (least, most) = ground_size(state, value);
            if most < bounds.lo || least > bounds.hi {
                return Err(Conflict::Size { node: root });
            }
            if least != most {
                symbol_within(state, root, value, (bounds.lo, bounds.hi))?;
            }
        }
        (None, Some(cap)) => {
            let (least, most) = ground_size(state, cap);
            let basis = cap.atom().map(|atom| state.atoms[atom].basis);
            let other = state.dims.basis(root).is_some_and(|own| Some(own) != basis && most > 0);
            let literal = bounds.lo == bounds.hi && least != most;
            if most < bounds.lo || least > bounds.hi || other || literal {
                let reason = state.dims.reason(Reason::OnlyUnit { node: root });
                state.dims.commit(&mut state.trail, root, DimTerm::UNIT, reason)?;
            }
        }
        (None, None) if bounds.hi == 0 => {
            let zero = state.size(0);
            let reason = state.dims.reason(Reason::OnlyUnit { node: root });
            state.dims.commit(&mut state.trail, root, zero, reason)?;
        }
        // A symbol whose range is one number is that number.
        (None, None) if bounds.lo == bounds.hi && state.dims.tag(root).is_some() => {
            let basis = state.dims.basis(root).unwrap_or(Basis::DEFAULT);
            let value = state.atom(Atom { size: bounds.lo, basis });
            let reason = state.dims.reason(Reason::OnlyUnit { node: root });
            state.dims.commit(&mut state.trail, root, value, reason)?;
        }
        (None, None) => {}
    }
    if let (Some(value), Some(basis)) = (state.dims.value(root), state.dims.basis(root))
        && let Some(atom) = value.atom()
        && state.atoms[atom].basis != basis
        && state.atoms[atom].size > 0
    {
        return Err(Conflict::Size { node: root });
    }
    let State { dims, ariths, supports, .. } = state;
    for watcher in dims.sizes.watchers(extra) {
        match watcher {
            Watcher::Arith(con) => ariths.enqueue(con),
            Watcher::Clause(clause) => supports.enqueue_clause(clause),
        }
    }
    Ok(())
}

/// Runs a propagator.
pub(crate) fn run_arith(state: &mut State, con: ArithId) -> Outcome {
    state.steps += 1;
    match state.ariths.get(con) {
        Arith::Linear { .. } => run_linear(state, con),
        Arith::Count { .. } => run_count(state, con),
        Arith::Exact { .. } => run_exact(state, con),
    }
}
