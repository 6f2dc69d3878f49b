//! Reductions in a variable whose loops are in an order that prevents vectorisation.
//!
//! ```text
//! for j: let t = 0; for i: t += x[i, j]; s[j] = t
//! ```
//!
//! strides through memory. If a loop around the variable would be better innermost, the sum is kept
//! in the cell itself, in a nest whose loops can be reordered freely: `s[j] = 0`, then
//! `s[j] += x[i, j]`.

use broadloom_loops::Program;

use crate::contract::{Unit, may_hold, with_local};
use crate::flat::{FlatStatement, Value};
use crate::order::{Bare, best_innermost, chain, is_injective, nested};
use crate::types;

/// A reduction in a variable, rewritten as nests without one, if that is better.
pub(crate) fn spread(program: &Program, step: &FlatStatement) -> Option<Vec<Unit>> {
    let FlatStatement::Loop(each) = step else { return None };
    let (outer, leaf) = chain(each.clone());
    let [
        FlatStatement::Declare { local, value: start },
        FlatStatement::Loop(sum),
        FlatStatement::Store { to, accumulate: stored, value: finish },
    ] = leaf.as_slice()
    else {
        return None;
    };
    let (inner, summed) = chain(sum.clone());
    let [FlatStatement::Update { local: updated, accumulate: Some(function), value }] = summed.as_slice()
    else {
        return None;
    };
    let mut reads_it = value.uses(*local);
    value.each_access(&mut |access| reads_it |= access.buffer == to.buffer);
    value.each(&mut |value| reads_it |= matches!(value, Value::Local(_)));
    if updated != local || reads_it || !function.is_commutative() || !is_injective(to, &outer) {
        return None;
    }
    let loops: Vec<Bare> = outer.iter().chain(&inner).copied().collect();
    let reduce = FlatStatement::Store { to: to.clone(), accumulate: Some(*function), value: value.clone() };
    if best_innermost(&loops, std::slice::from_ref(&reduce)) >= outer.len() {
        return None;
    }
    let neutral = matches!(start, Value::Number(number) if Some(*number) == function.neutral());
    let plain = *finish == Value::Local(*local);
    if !may_hold(program, to, types::local(program, step, *local), *local, [start, finish]) {
        return None;
    }
    let everywhere = |value: Value| {
        let store = FlatStatement::Store { to: to.clone(), accumulate: None, value };
        Unit::Loops(nested(outer.clone(), vec![store]))
    };
    let reduction = Unit::Loops(nested(loops, vec![reduce]));
    match stored {
        None => {
            let mut units = vec![everywhere(start.clone()), reduction];
            if !plain {
                units.push(everywhere(with_local(finish, *local, &Value::Load(to.clone()))));
            }
            Some(units)
        }
        Some(stored) if stored == function && neutral && plain => Some(vec![reduction]),
        Some(_) => None,
    }
}
