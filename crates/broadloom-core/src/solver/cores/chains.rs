//! Minimal chains: the constraints that force a value, none of them superfluous.

use crate::order::Dim;
use crate::solver::cores::{MOST_WORK, shrink};
use crate::solver::explain::chain::{Link, chain_dim, chain_row};
use crate::solver::report::{DimShape, observe_dim, observe_row};
use crate::solver::stores::state::State;
use crate::solver::subsystem::{Subsystem, subsystem};
use crate::term::{ConstraintId, DimVar, RowVar};

/// Shrinks the constraints of a chain to a minimal set that still entails something, in the
/// chain's order.
fn shrink_chain(state: &State, chain: &[Link], entails: impl Fn(&Subsystem) -> bool) -> Vec<ConstraintId> {
    let ids: Vec<ConstraintId> = chain.iter().filter_map(|link| link.constraint()).collect();
    let mut work = 0;
    let mut enough = |ids: &[ConstraintId]| {
        let sub = subsystem(state, ids);
        work += sub.state.stats().steps + ids.len() as u64;
        (work < MOST_WORK).then(|| entails(&sub))
    };
    let ids = if enough(&ids) == Some(true) { ids } else { state.constraints.ids().collect() };
    shrink(ids, enough).0
}

/// The chain of constraints that forces a dimension variable, if they do: minimal, sources first.
/// ([`Closed::why_dim`](crate::Closed::why_dim) also has policies.)
pub(crate) fn why_dim(state: &State, var: DimVar) -> Option<Vec<ConstraintId>> {
    let value = observe_dim(state, var)?;
    let entails = |sub: &Subsystem| sub.dim(var).and_then(|var| observe_dim(&sub.state, var)) == Some(value);
    Some(shrink_chain(state, &chain_dim(state, var), entails))
}

/// The chain of constraints that forces the axes of a row variable, if they do.
pub(crate) fn why_row(state: &State, var: RowVar) -> Option<Vec<ConstraintId>> {
    let axes = observe_axes(state, var)?;
    let entails =
        |sub: &Subsystem| sub.row(var).and_then(|var| observe_axes(&sub.state, var)).as_ref() == Some(&axes);
    Some(shrink_chain(state, &chain_row(state, var), entails))
}

/// The axes of a row variable, if all are known.
fn observe_axes(state: &State, var: RowVar) -> Option<Vec<Dim>> {
    let shape = observe_row(state, var);
    shape.rank?;
    let ground = |axis: &DimShape| if let DimShape::Ground(dim) = axis { Some(*dim) } else { None };
    shape.lead.iter().chain(&shape.trail).map(ground).collect()
}
