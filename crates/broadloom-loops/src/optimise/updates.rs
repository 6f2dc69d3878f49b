//! Updates: a sum of products that is only added to another buffer is added up there.
//!
//! `g[i, j] = t`, `t` being the sum of a contraction, and later `w[i, j] -= 0.1 * g[i, j]` become one contraction in the place of
//! the second nest, which ends with `w[i, j] -= 0.1 * t`. So a step of plain descent does not store the gradient of a matrix
//! that is used once, whatever the sizes are, and goes over memory once instead of three times.
//!
//! The first nest has to be all that writes `g`, and the second all that reads it. Both go through each cell of `g` once, and the
//! second through different cells of `w`, to which it adds `g` times what no loop changes, and what is no cell of `g`. Nothing that
//! the sum reads is written between the two, or is `w`. Leaving out the rounding of `g` is allowed (see
//! [`rounding`](super::rounding)), and `w` has the same type.
//!
//! The contraction goes as far to the front as the second nest could: at the end of a training step, the operands of all
//! gradients would be needed at the same time.

use super::access::{Perfect, Scope, Touch, Uses, is_one_to_one, simple_axes};
use super::cost::is_contraction;
use super::rewrite::{Substitution, replace_loads, substitute_cell};
use super::rounding::Rounding;
use crate::buffer::{BufferId, Cell, Index, LoopSum, LoopVar, Storage};
use crate::function::{Binary, Unary};
use crate::program::{Nest, Program, Statement};
use crate::scalar::Scalar;

/// Adds sums up where they are added to. Returns how many.
pub fn updates(program: &mut Program) -> usize {
    let rounding = Rounding::of(program);
    let mut uses = Uses::of(program);
    let mut dropped = Vec::new();
    // The nest behind which each nest goes: itself, unless it is a sum that is added up. Until the end, all keep their places,
    // by which uses are known.
    let mut behind: Vec<usize> = (0..program.nests.len()).collect();
    for (at, behind) in behind.iter_mut().enumerate() {
        let Some((from, nest)) = merged(program, &rounding, &uses, at) else { continue };
        *behind = last_needed(program, &uses, from, at);
        // What the sum reads is read here now, too late for another nest to be all that reads it.
        Touch::of(&nest.body).reads.iter().for_each(|buffer| uses.add_reader(*buffer, at));
        program.nests[at] = nest;
        dropped.push(from);
    }
    dropped.iter().for_each(|at| program.nests[*at].body.clear());
    let mut nests: Vec<(usize, Nest)> = behind.into_iter().zip(std::mem::take(&mut program.nests)).collect();
    nests.sort_by_key(|(behind, _)| *behind);
    program.nests = nests.into_iter().map(|(_, nest)| nest).filter(|nest| !nest.body.is_empty()).collect();
    dropped.len()
}

/// The last nest, from one on, that has to be done before another one, which only adds to its target: one that reads or writes
/// the target, or writes what the other one reads.
fn last_needed(program: &Program, uses: &Uses, from: usize, at: usize) -> usize {
    let touch = Touch::of(&program.nests[at].body);
    // Indices that are looked up have to stay behind the checks of them.
    if touch.looks_up {
        return at;
    }
    let writers = touch.reads.iter().chain(&touch.writes).flat_map(|buffer| &uses.writers[buffer.index()]);
    let readers = touch.writes.iter().flat_map(|buffer| &uses.readers[buffer.index()]);
    writers.chain(readers).copied().filter(|nest| (from..at).contains(nest)).max().unwrap_or(from)
}

/// The place of an earlier nest, and the nest that does what that one does and what the nest at hand does.
fn merged(program: &Program, rounding: &Rounding, uses: &Uses, at: usize) -> Option<(usize, Nest)> {
    let second = Perfect::of(&program.nests[at])?;
    if !matches!(second.accumulate?, Binary::Add | Binary::Sub) {
        return None;
    }
    let read = scaled(second.value, &second)?;
    if times_loaded(second.value, read.buffer) != 1 {
        return None;
    }
    let (sum, target) = (program.buffer(read.buffer), program.buffer(second.cell.buffer));
    if sum.storage != Storage::Local || sum.dtype != target.dtype || sum.has_margins() {
        return None;
    }
    let [from] = uses.writers[read.buffer.index()][..] else { return None };
    if from >= at || uses.readers[read.buffer.index()] != [at] {
        return None;
    }
    let first = Summed::of(&program.nests[from]).filter(|first| first.cell.buffer == read.buffer)?;
    let same = Touch::of(&program.nests[from].body)
        .reads
        .iter()
        .all(|buffer| *buffer != second.cell.buffer && !uses.written_between(*buffer, from, at));
    if !same || !rounding.may_skip(program, read.buffer, first.value) {
        return None;
    }
    let from_axes = axes(program, first.cell, &first.loops)?;
    let cell = renamed(second.cell, &axes(program, read, &second.loops)?, &from_axes)?;
    if !is_one_to_one(&cell, &first.loops) {
        return None;
    }
    let mut value = second.value.clone();
    let sum = read.buffer;
    replace_loads(&mut value, &mut |load| (load.buffer == sum).then(|| first.value.clone()))?;
    let mut body = program.nests[from].body.clone();
    *last(&mut body)? = Statement::Store { cell, accumulate: second.accumulate, value };
    Some((from, Nest { comment: comment(&program.nests[from], &program.nests[at]), body }))
}

/// A contraction whose sum starts from 0 in a local and is stored once.
struct Summed<'a> {
    /// The loops around the local.
    loops: Scope,
    /// The cell in which the sum is stored.
    cell: &'a Cell,
    /// The value that is stored: the local, perhaps times a number.
    value: &'a Scalar,
}

impl<'a> Summed<'a> {
    fn of(nest: &'a Nest) -> Option<Summed<'a>> {
        if !is_contraction(nest) {
            return None;
        }
        let (mut loops, mut body) = (Scope::new(), &nest.body);
        while let [Statement::Loop(each)] = body.as_slice() {
            loops.push((each.var, each.extent));
            body = &each.body;
        }
        match body.as_slice() {
            [
                Statement::Declare { value: Scalar::Number(0.0), .. },
                Statement::Loop(_),
                Statement::Store { cell, accumulate: None, value },
            ] => Some(Summed { loops, cell, value }),
            _ => None,
        }
    }
}

/// The cell that what a nest stores is a multiple of: the one factor of a product that changes in its loops.
fn scaled<'a>(scalar: &'a Scalar, nest: &Perfect<'_>) -> Option<&'a Cell> {
    match scalar {
        Scalar::Load(cell) => Some(cell),
        Scalar::Unary(Unary::Neg, a) => scaled(a, nest),
        Scalar::Binary(Binary::Mul, a, b) if is_steady(a, nest) => scaled(b, nest),
        Scalar::Binary(Binary::Mul, a, b) if is_steady(b, nest) => scaled(a, nest),
        _ => None,
    }
}

/// Returns true for a number, or a cell that is the same in all iterations and that they do not change.
fn is_steady(scalar: &Scalar, nest: &Perfect<'_>) -> bool {
    match scalar {
        Scalar::Number(_) => true,
        Scalar::Load(cell) => {
            cell.buffer != nest.cell.buffer && nest.loops.iter().all(|(var, _)| !cell.mentions(*var))
        }
        _ => false,
    }
}

/// The number of places where a scalar loads from a buffer.
fn times_loaded(scalar: &Scalar, buffer: BufferId) -> usize {
    let mut times = 0;
    scalar.each_load(&mut |cell| times += usize::from(cell.buffer == buffer));
    times
}

/// The loop of each axis of a buffer, if the loops go through each of its cells once.
fn axes(program: &Program, cell: &Cell, loops: &Scope) -> Option<Vec<Option<LoopVar>>> {
    let axes = simple_axes(cell, &program.buffer(cell.buffer).sizes, loops)?;
    (loops.len() == axes.iter().flatten().count()).then_some(axes)
}

/// A cell in which the loops over the axes of a buffer in one nest are replaced by those of another.
fn renamed(cell: &Cell, from: &[Option<LoopVar>], to: &[Option<LoopVar>]) -> Option<Cell> {
    let pairs = from.iter().zip(to).filter_map(|(from, to)| Some(((*from)?, *to)));
    let by: Substitution = pairs
        .map(|(from, to)| (from, Index::At(to.map_or(LoopSum::new::<i64>(0, []), LoopSum::iterate))))
        .collect();
    substitute_cell(cell, &by)
}

/// The last statement inside of all loops.
fn last(body: &mut [Statement]) -> Option<&mut Statement> {
    match body {
        [Statement::Loop(each)] => last(&mut each.body),
        [.., store] => Some(store),
        [] => None,
    }
}

/// The statements of both nests.
fn comment(first: &Nest, second: &Nest) -> String {
    match (first.comment.as_str(), second.comment.as_str()) {
        ("", only) | (only, "") => only.to_string(),
        (first, second) => format!("{first}; {second}"),
    }
}
