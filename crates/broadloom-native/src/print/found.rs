//! Searches loops before they are written: for reductions, long sums, divisors that do not change.

use broadloom_loops::Local;
use broadloom_loops::function::Binary;

use super::BLOCK;
use crate::flat::{FlatStatement, Looped, Value};
use crate::order::{Bare, is_injective};

/// Functions for which compilers find no vector form.
pub(super) fn has_no_vector_form(function: Binary) -> bool {
    matches!(function, Binary::Max | Binary::Min | Binary::And | Binary::Or)
}

/// Functions whose results are rounded, so that their order matters unless it is said not to.
pub(super) fn is_sum(function: Binary) -> bool {
    matches!(function, Binary::Add | Binary::Mul)
}

/// The variables that a loop reduces into with such functions, and that have no other part in it.
pub(super) fn reductions(each: &Looped, suits: fn(Binary) -> bool) -> Vec<(Local, Binary)> {
    let mut found = Vec::new();
    for step in &each.body {
        let FlatStatement::Update { local, accumulate: Some(function), .. } = step else { continue };
        let others = |other: &&FlatStatement| !std::ptr::eq(*other, step);
        let touched = each.body.iter().filter(others).any(|other| match other {
            FlatStatement::Update { local: known, .. } | FlatStatement::Declare { local: known, .. } => {
                known == local
            }
            _ => false,
        });
        let read = each.body.iter().filter_map(FlatStatement::value).any(|value| value.uses(*local));
        if suits(*function) && !touched && !read {
            found.push((*local, *function));
        }
    }
    found
}

/// The variables that a loop adds many terms to, and does nothing else with.
pub(super) fn long_sums(each: &Looped) -> Vec<Local> {
    fn visit(each: &Looped, terms: i64, found: &mut Vec<(Local, i64)>, other: &mut Vec<Local>) {
        let length = each.block.map_or(each.extent.typical(), |(_, length)| length as i64);
        let terms = terms.saturating_mul(length);
        for step in &each.body {
            if let Some(value) = step.value() {
                value.each(&mut |value| {
                    other.extend(match value {
                        Value::Local(local) => Some(*local),
                        _ => None,
                    })
                });
            }
            match step {
                FlatStatement::Loop(inner) => visit(inner, terms, found, other),
                FlatStatement::Update { local, accumulate: Some(Binary::Add), .. } => {
                    found.push((*local, terms))
                }
                FlatStatement::Update { local, .. } | FlatStatement::Declare { local, .. } => {
                    other.push(*local)
                }
                _ => {}
            }
        }
    }
    let (mut found, mut other) = (Vec::new(), Vec::new());
    visit(each, 1, &mut found, &mut other);
    found.retain(|(local, terms)| *terms >= 2 * BLOCK && !other.contains(local));
    found.sort_unstable();
    found.dedup_by_key(|(local, _)| *local);
    found.into_iter().map(|(local, _)| local).collect()
}

/// The divisors in a loop that do not change in it, other than numbers.
pub(super) fn constant_divisors(each: &Looped) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    let steady = |value: &Value| {
        let mut steady = !matches!(value, Value::Number(_));
        value.each(&mut |value| {
            steady &= match value {
                Value::Position(sum) => sum.coefficient(each.var) == 0,
                Value::Uniform { .. } => false,
                Value::Local(local) => !each.body.iter().any(|step| {
                    matches!(step, FlatStatement::Declare { local: known, .. } | FlatStatement::Update { local: known, .. } if known == local)
                }),
                Value::Load(access) => {
                    let written = |step: &FlatStatement| matches!(step, FlatStatement::Store { to, .. } if to.buffer == access.buffer);
                    !access.depends_on(each.var) && access.gathers.is_empty() && !each.body.iter().any(written)
                }
                Value::Number(_) | Value::Symbol(_) => true,
                Value::Unary(..) | Value::Binary(..) | Value::Select(..) => true,
            };
        });
        steady
    };
    for value in each.body.iter().filter_map(FlatStatement::value) {
        value.each(&mut |value| {
            if let Value::Binary(Binary::Div, a, divisor) = value
                && !steady(a)
                && steady(divisor)
                && !found.contains(divisor)
            {
                found.push((**divisor).clone());
            }
        });
    }
    found
}

/// Returns true if iterations of a loop, with the loops inside of it, may store different values into the same cell, the last of which counts.
/// Compilers have been seen to run such iterations in lockstep (gcc 12: `out[i + j] = …`).
pub(super) fn writes_again(each: &Looped) -> bool {
    fn again(each: &Looped, loops: &mut Vec<Bare>) -> bool {
        loops.push((each.var, each.extent, each.parallel));
        let found = each.body.iter().any(|step| match step {
            FlatStatement::Loop(inner) => again(inner, loops),
            FlatStatement::Store { to, accumulate: None, .. } => !is_injective(to, loops),
            _ => false,
        });
        loops.pop();
        found
    }
    again(each, &mut Vec::new())
}
