//! First writes: a buffer that is filled and then accumulated into is written once, and reductions are
//! summed up in a local.
//!
//! `b = 0 everywhere`, then `b[i] += value` for `i` and `j`, becomes the canonical reduction
//!
//! ```text
//! for i
//!   let t = 0
//!   for j
//!     t += value
//!   b[i] = t
//! ```
//!
//! if no nest touches `b` in between but for its margins, if `value` does not read `b`, and if the
//! cell, as a function of the loops it mentions, is one-to-one and onto. Margins, which the fill
//! set too, then get a fill of their own. Otherwise the fill stays and only the loops that the cell
//! does not mention, if any, become a local: `b[i] += t`.

use super::access::{Perfect, Scope, Touch, is_one_to_one, is_onto};
use super::rounding::Rounding;
use crate::Dtype;
use crate::buffer::BufferId;
use crate::function::Binary;
use crate::program::{Loop, Nest, Program, Statement};
use crate::rounding::round;
use crate::scalar::Scalar;

/// Turns accumulation into first writes and reductions. Returns how many nests were changed.
pub fn first_write(program: &mut Program) -> usize {
    split_fills(program);
    let rounding = Rounding::of(program);
    // For each buffer, the nest that filled it, as long as no nest has touched it since.
    let mut filled: Vec<Option<(usize, f64)>> = vec![None; program.buffers.len()];
    let (mut changes, mut dropped) = (0, Vec::new());
    for at in 0..program.nests.len() {
        if let [Statement::Fill { buffer, value }] = program.nests[at].body[..] {
            filled[buffer.index()] = Some((at, value));
            continue;
        }
        if let [Statement::FillMargins { .. }] = program.nests[at].body[..] {
            // The inside is still as it was filled, and fills of margins keep their order.
            continue;
        }
        let touch = Touch::of(&program.nests[at].body);
        if let Some(plan) = Rewrites::of(program, &rounding, &program.nests[at]) {
            let buffer = plan.buffer;
            let fill = filled[buffer.index()].filter(|_| plan.whole);
            if let Some((place, value)) = fill {
                // All cells but those in the margins are overwritten.
                dropped.push(place);
                program.nests[place].body = if program.buffer(buffer).has_margins() {
                    let value = round(program.buffer(buffer).dtype, value);
                    vec![Statement::FillMargins { buffer, value }]
                } else {
                    Vec::new()
                };
            }
            if let Some(body) = plan.carry_out(program, &program.nests[at], fill.map(|(_, value)| value)) {
                changes += 1;
                let (body, locals) = body;
                program.nests[at].body = body;
                program.locals += locals;
            }
        }
        touch.buffers().iter().for_each(|buffer| filled[buffer.index()] = None);
    }
    program.nests.retain(|nest| !nest.body.is_empty());
    changes + dropped.len()
}

/// A nest of several fills becomes several nests, so that one of them can go.
fn split_fills(program: &mut Program) {
    let fill =
        |statement: &Statement| matches!(statement, Statement::Fill { .. } | Statement::FillMargins { .. });
    for nest in std::mem::take(&mut program.nests) {
        if nest.body.len() > 1 && nest.body.iter().all(fill) {
            let one = |statement| Nest { comment: nest.comment.clone(), body: vec![statement] };
            program.nests.extend(nest.body.into_iter().map(one));
        } else {
            program.nests.push(nest);
        }
    }
}

/// An accumulating nest and the ways in which it may be rewritten.
struct Rewrites {
    buffer: BufferId,
    /// The loops that the cell mentions, then the others.
    results: Scope,
    reductions: Scope,
    /// True if every cell is written by one iteration of the result loops.
    whole: bool,
    /// True if the reduction may be held in a local.
    held: bool,
}

impl Rewrites {
    fn of(program: &Program, rounding: &Rounding, nest: &Nest) -> Option<Rewrites> {
        let perfect = Perfect::of(nest)?;
        let (cell, function) = (perfect.cell, perfect.accumulate?);
        let mut reads_itself = false;
        perfect.value.each_load(&mut |load| reads_itself |= load.buffer == cell.buffer);
        cell.each_index(&mut |index| {
            if let crate::Index::Value(inner) = index {
                reads_itself |= inner.buffer == cell.buffer;
            }
        });
        if reads_itself {
            return None;
        }
        let (results, reductions): (Scope, Scope) =
            perfect.loops.iter().partition(|(var, _)| cell.mentions(*var));
        let inner = perfect.loops[results.len()..] == reductions[..];
        let sums = matches!(function, Binary::Sub | Binary::Div) || function.is_commutative();
        // Integers are rounded at each step: only what is exact can wait, and a local does not hold all 64-bit integers. Sums
        // of narrow integers leave their range soon.
        let dtype = program.buffer(cell.buffer).dtype;
        let steps = match function {
            Binary::Max | Binary::Min => true,
            Binary::Add | Binary::Sub => dtype == Dtype::I32,
            _ => false,
        };
        let exact = dtype.is_float()
            || (dtype != Dtype::I64 && steps && rounding.is_exact(program, perfect.value, dtype));
        let whole = is_one_to_one(cell, &results) && is_onto(program, cell, &results);
        let held = !reductions.is_empty() && exact && (inner || sums);
        Some(Rewrites {
            buffer: cell.buffer,
            whole: whole && (held || reductions.is_empty()),
            held,
            results,
            reductions,
        })
    }

    /// The new body and the number of locals it adds. With a number to start from, the buffer is
    /// not read.
    fn carry_out(&self, program: &Program, nest: &Nest, start: Option<f64>) -> Option<(Vec<Statement>, u32)> {
        let perfect = Perfect::of(nest)?;
        let (cell, function, value) = (perfect.cell.clone(), perfect.accumulate?, perfect.value.clone());
        let start = start.map(|value| round(program.buffer(cell.buffer).dtype, value));
        if self.reductions.is_empty() {
            // The sign of a zero sum need not be kept: 0 plus the value is the value.
            let value = match (function, start?) {
                (Binary::Add, 0.0) => value,
                (function, start) => Scalar::binary(function, Scalar::Number(start), value),
            };
            let store = Statement::Store { cell, accumulate: None, value };
            return Some((vec![store.within(perfect.loops.into_iter())], 0));
        }
        if !self.held {
            return None;
        }
        let local = crate::Local(program.locals);
        let (first, inner, outer) = match start {
            Some(start) => (start, function, None),
            None => {
                let inner = in_steps(function)?;
                // A reduction that never runs must leave the cell unchanged.
                let runs = self.reductions.iter().all(|(_, extent)| *extent != 0);
                (inner.neutral().filter(|_| runs)?, inner, Some(function))
            }
        };
        let update = Statement::Update { local, accumulate: Some(inner), value };
        let body = vec![
            Statement::Declare { local, value: Scalar::Number(first) },
            update.within(self.reductions.iter().copied()),
            Statement::Store { cell, accumulate: outer, value: Scalar::Local(local) },
        ];
        let body = self.results.iter().rev().fold(body, |body, (var, extent)| {
            vec![Statement::Loop(Loop { var: *var, extent: *extent, parallel: false, body })]
        });
        Some((body, 1))
    }
}

/// The function that combines the values before another accumulates them:
/// `x - a - b = x - (a + b)`.
fn in_steps(function: Binary) -> Option<Binary> {
    match function {
        Binary::Add | Binary::Sub => Some(Binary::Add),
        Binary::Mul | Binary::Div => Some(Binary::Mul),
        Binary::Max | Binary::Min | Binary::And | Binary::Or => Some(function),
        _ => None,
    }
}
