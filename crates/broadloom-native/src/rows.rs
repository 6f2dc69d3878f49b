//! Buffers of which a nest needs only one row at a time.
//!
//! ```text
//! for i: for j: e[i, j] = exp(x[i, j])    becomes    for i: for j: row[j] = exp(x[i, j])
//!        for j: y[i, j] = e[i, j] / s[i]                    for j: y[i, j] = row[j] / s[i]
//! ```
//!
//! if nothing else uses `e`. The row is on the stack of the function and stays in the cache;
//! iterations that run on different threads have different rows.

use broadloom_core::projection::is_in_order;
use broadloom_loops::{BufferId, LoopVar, Program, Size};

use crate::flat::{Access, FlatStatement, Looped};
use crate::order::span;

/// A row: the buffer that it replaces, and its number of cells.
pub(crate) type Row = (BufferId, u64);

/// The most bytes of all rows of a function.
const MOST_BYTES: u64 = 64 << 10;

/// Turns suitable buffers of a nest into rows, among candidates that nothing else uses and that
/// hold nothing before. The size of a row must be known, because it is on the stack.
pub(crate) fn rows(program: &Program, candidates: &[BufferId], step: &mut FlatStatement) -> Vec<Row> {
    let outer = around(step);
    let mut rows = Vec::new();
    let mut room = MOST_BYTES;
    for buffer in candidates.iter().copied().filter(|buffer| !program.buffer(*buffer).has_margins()) {
        // The more loops are around a row, the shorter it is.
        let found = (1..=outer.len()).rev().find_map(|depth| row(step, &outer[..depth], buffer));
        let Some((depth, least, cells)) = found else { continue };
        let Some(cells) = cells.as_number().and_then(|cells| u64::try_from(cells).ok()) else { continue };
        let bytes = cells.saturating_mul(program.buffer(buffer).dtype.bytes() as u64);
        let bytes = bytes.checked_next_multiple_of(64).unwrap_or(u64::MAX);
        if bytes > room {
            continue;
        }
        room -= bytes;
        step.each_access_mut(&mut |access| {
            if access.buffer == buffer {
                access.at.terms.retain(|(_, var)| !outer[..depth].iter().any(|(known, _)| known == var));
                access.at.offset = access.at.offset - least;
            }
        });
        rows.push((buffer, cells));
    }
    rows
}

/// The loops around everything else, with their extents. Empty if there are no loops inside: such a
/// nest already has a suitable order.
fn around(step: &FlatStatement) -> Vec<(LoopVar, Size)> {
    let mut loops = Vec::new();
    let mut body = std::slice::from_ref(step);
    while let [
        FlatStatement::Loop(Looped { var, extent, block: None, interleaved: false, body: inner, .. }),
    ] = body
    {
        loops.push((*var, *extent));
        body = inner;
    }
    if body.iter().any(|step| matches!(step, FlatStatement::Loop(_))) { loops } else { Vec::new() }
}

/// If each iteration of the outer loops has its own part of the buffer: the number of these loops,
/// the least place in the part of the first iteration, and the number of cells of a part.
fn row(step: &FlatStatement, outer: &[(LoopVar, Size)], buffer: BufferId) -> Option<(usize, Size, Size)> {
    let mut extents = Vec::new();
    let mut accesses: Vec<&Access> = Vec::new();
    step.each(&mut |step| {
        if let FlatStatement::Loop(each) = step {
            extents.push((each.var, each.extent));
        }
        step.each_access(&mut |_, access| {
            if access.buffer == buffer {
                accesses.push(access);
            }
        });
    });
    let first = *accesses.first()?;
    for access in &accesses {
        let alike = outer.iter().all(|(var, _)| access.stride(*var) == first.stride(*var));
        if !alike || !access.is_affine() || !access.symbols.is_empty() {
            return None;
        }
    }
    let inner = |var: LoopVar| {
        extents.iter().find(|(known, _)| *known == var && !outer.iter().any(|(o, _)| *o == var))
    };
    let (least, greatest) = span(accesses.into_iter(), |var| inner(var).map(|(_, extent)| *extent))?;
    let moving = outer.iter().filter(|(_, extent)| *extent != 1);
    let apart = is_in_order(greatest - least, moving.map(|(var, extent)| (first.stride(*var), *extent)));
    apart.then_some((outer.len(), least, greatest - least + 1))
}
