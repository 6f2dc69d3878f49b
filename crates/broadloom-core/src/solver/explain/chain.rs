//! The chain of constraints and policy steps behind the value of a variable.

use crate::solver::explain::walk::{Ended, Fact, Walked, walk_with};
use crate::solver::stores::reason::{Choice, Policy};
use crate::solver::stores::rows::Term;
use crate::solver::stores::state::State;
use crate::term::{ConstraintId, DimVar, RowVar};

/// The cause of a link of a chain.
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

/// The chain behind the value of a dimension variable, as it stands.
pub(crate) fn chain_dim(state: &State, var: DimVar) -> Vec<Link> {
    let root = state.dims.find(var);
    if state.dims.value(root).is_none() {
        // Closed to the unit; what bounds it is all there is to tell.
        let bounded = state.dims.cap(root).map(|_| Fact::CapAt(state.dims.cap_node(var)));
        return links(state, walk_with(state, bounded.into_iter().collect(), true));
    }
    let at = state.dims.value_node(var);
    links(state, walk_with(state, vec![Fact::ValueAt(at), Fact::Equal(var, at)], true))
}

/// The chain behind the rank, the axes and the marker of a row variable, as they stand.
pub(crate) fn chain_row(state: &State, row: RowVar) -> Vec<Link> {
    let mut facts = vec![Fact::LoRank(row), Fact::HiRank(row)];
    let rank = state.ranks.lo(row);
    for at in 0..rank {
        // While the rank is open an axis is known from one edge or the other.
        let front = state.rows.is_fixed(row)
            || state.rows.partial(row).is_some_and(|partial| (at as usize) < partial.front.len());
        let position = if front { at } else { rank - 1 - at };
        facts.push(Fact::Position { term: Term::var(row), right: !front, at: position });
        if let Some(node) = state.row_axis(row, at).var()
            && state.dims.value(state.dims.find(node)).is_some()
        {
            let named = state.dims.value_node(node);
            facts.extend([Fact::ValueAt(named), Fact::Equal(node, named)]);
        }
    }
    if state.rows.is_fixed(row) {
        facts.push(Fact::Marker(row));
    }
    links(state, walk_with(state, facts, true))
}

fn links(state: &State, walked: Walked) -> Vec<Link> {
    let cause = |ended: &Ended| match *ended {
        Ended::Constraint(id) => Some(Cause::Constraint(id)),
        Ended::Policy(step) => state.policies.get(step).map(|choice| {
            let Choice { policy, row, .. } = *choice;
            Cause::Policy(policy, (row != RowVar::NIL).then_some(row))
        }),
    };
    walked.links.iter().filter_map(cause).map(|cause| Link { cause }).collect()
}
