//! The shortest chain behind a dimension or a number of axes, once a system is closed.
//!
//! [`explain`](super::explain) reads back how a fact was found first, which may be by a long way
//! round: a size that came through twenty operations was perhaps declared next to the one in
//! question. Here every way counts. With ranks and markers settled, each constraint relates certain
//! places ([`sizes`]) or certain ranks ([`ranks`]). The consequences between facts are a graph, in
//! which the shortest way from a written size is found as in Dijkstra's algorithm (with Knuth's
//! generalisation, because an equation needs several facts at once).
//!
//! A policy step costs more than any number of constraints, so that an entailed fact is shown as
//! entailed.

mod ranks;
mod sizes;
#[cfg(test)]
mod tests;
mod ways;

pub use ways::{Derived, Written};

use crate::solver::explain::chain::chain_dim;
use crate::solver::report::DimShape;
use crate::solver::stores::reason::Policy;
use crate::solver::stores::state::State;
use crate::term::{DimTerm, RowVar};

/// The shortest chain that leads to the value of a dimension; empty if nothing says what it is.
pub(crate) fn shortest_dim(state: &State, marker: impl Fn(RowVar) -> u32, dim: DimShape) -> Vec<Derived> {
    sizes::shortest(state, marker, dim).unwrap_or_else(|| recorded(state, dim))
}

/// The shortest chain that leads to the number of axes of a row variable.
pub(crate) fn shortest_rank(state: &State, row: RowVar) -> Vec<Derived> {
    ranks::shortest(state, row)
}

/// The policy step that gave an axis its value, if one did directly.
pub(crate) fn policy_of(state: &State, dim: DimShape) -> Option<Policy> {
    state.value_policy(term_of(state, dim))
}

/// The term that stands for a dimension.
fn term_of(state: &State, dim: DimShape) -> DimTerm {
    let rank = |row: RowVar| state.ranks.lo(row);
    match dim {
        DimShape::Ground(_) => DimTerm::NONE,
        DimShape::Var(var) => var.into(),
        DimShape::Front(row, at) if at < rank(row) => state.row_axis(row, at),
        DimShape::Back(row, at) if at < rank(row) => state.row_axis(row, rank(row) - 1 - at),
        DimShape::Front(..) | DimShape::Back(..) => DimTerm::NONE,
    }
}

/// The chain as it was recorded, where no other is found.
fn recorded(state: &State, dim: DimShape) -> Vec<Derived> {
    let Some(var) = term_of(state, dim).var() else { return Vec::new() };
    let links = chain_dim(state, var).into_iter();
    links.map(|link| Derived { cause: link.cause, what: None, row: None, written: None }).collect()
}
