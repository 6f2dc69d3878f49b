//! A failure made small: constraints are deleted, and declarations forgotten, as long as the same
//! failure remains.

use super::{Constraint, System};
use crate::oracle::Tag;

/// A violated property: which one, and what was seen.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Tells this failure from others of the same property; shrinking does not change it.
    pub label: String,
    pub detail: String,
}

impl Failure {
    pub fn new(label: impl Into<String>, detail: impl Into<String>) -> Failure {
        Failure { label: label.into(), detail: detail.into() }
    }
}

/// A smaller system that fails in the same way, with its failure.
pub fn shrink(
    mut system: System,
    mut failure: Failure,
    check: &dyn Fn(&System) -> Result<(), Failure>,
) -> (System, Failure) {
    loop {
        let smaller = smaller(&system).into_iter().find_map(|candidate| match check(&candidate) {
            Err(found) if found.label == failure.label => Some((candidate, found)),
            _ => None,
        });
        match smaller {
            None => return (system, failure),
            Some(found) => (system, failure) = found,
        }
    }
}

/// The systems that are one step smaller.
fn smaller(system: &System) -> Vec<System> {
    let mut all: Vec<System> = (0..system.constraints.len()).map(|id| system.without(id)).collect();
    let mut change = |change: &dyn Fn(&mut System)| {
        let mut changed = system.clone();
        change(&mut changed);
        if changed != *system {
            all.push(changed);
        }
    };
    for id in 0..system.constraints.len() {
        for at in 0..4 {
            change(&|system| drop_part(&mut system.constraints[id], at));
        }
    }
    for dim_var in 0..system.dims.len() {
        change(&|system| system.dims[dim_var].discardable = false);
        change(&|system| system.dims[dim_var].tag = Tag::Interior);
    }
    for row_var in 0..system.rows.len() {
        change(&|system| system.rows[row_var].lead = None);
        change(&|system| system.rows[row_var].tag = Tag::Interior);
    }
    all
}

/// Takes the component, piece or divisor at this place away.
fn drop_part(constraint: &mut Constraint, at: usize) {
    match constraint {
        Constraint::Concat { components, .. } if at < components.len() => {
            components.remove(at);
        }
        Constraint::Count { divided_by, .. } if at < divided_by.len() => {
            divided_by.remove(at);
        }
        Constraint::Count { over, .. } if at == 3 => *over = None,
        Constraint::Count { rest, .. } | Constraint::Exact { rest, .. } if at == 2 => *rest = None,
        _ => {}
    }
}
