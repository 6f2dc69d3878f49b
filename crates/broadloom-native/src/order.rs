//! The order of loops, and the division of work among threads.
//!
//! A perfect nest, loops around stores, may be run in any order if no cell is written by two
//! iterations, or if values for the same cell are accumulated by a function for which the order
//! does not matter. Such a nest gets an order that suits memory: innermost is the loop along which
//! most accesses are neighbours. Loops that act as one long loop in all accesses are joined. If the
//! innermost loops do not move the cell that is accumulated into, a variable accumulates:
//!
//! ```text
//! for i, j: s[i] += x[j, i]    becomes    for j: for i: s[i] += x[j, i]
//! for i, j: s[i] += x[i, j]    becomes    for i: let t = 0; for j: t += x[i, j]; s[i] += t
//! ```
//!
//! Other nests keep their order. But if neighbours in memory belong to neighbouring iterations of a
//! loop, and not to those of the loops inside it, many of its iterations go through its body in
//! lockstep:
//!
//! ```text
//! for i: let t = 0; for j: t += x[j, i]; s[i] -= t    becomes
//! for each 256 of i: let t[256] = 0; for j: for 256 lanes of i: t[lane] += x[j, i]; for 256 lanes: s[i] -= t[lane]
//! ```

use broadloom_core::projection::is_in_order;
use broadloom_loops::{Binary, Dtype, Local, LoopVar, Program, Size};

use crate::flat::{Access, FlatStatement, Looped, Value};
use crate::types;

/// The division of a unit among threads: the range of a loop is cut into parts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Split {
    /// The loop.
    pub var: LoopVar,
    /// Its extent.
    pub extent: Size,
    /// Starts of parts are multiples of this.
    pub grain: u64,
}

/// The least work for which a unit is shared among threads.
pub(crate) const LEAST_WORK: f64 = 40_000.0;

/// New variables, loops and blocks that arranging creates.
#[derive(Clone, Debug)]
pub(crate) struct Fresh {
    /// The number of the next variable.
    pub locals: u32,
    /// The names of all loops.
    pub vars: Vec<String>,
    /// Numbers of blocks that depend on sizes that are arguments.
    pub blocks: Blocks,
}

/// Numbers of blocks: sizes that are not sums of products. Each is an additional argument after
/// those of the program.
#[derive(Clone, Default, Debug)]
pub(crate) struct Blocks {
    /// The number of arguments and derived sizes of the program.
    pub arguments: u32,
    /// The sizes that are divided into blocks, and the lengths of the blocks.
    pub all: Vec<(Size, u64)>,
}

impl Blocks {
    /// The number of blocks of some length in a size.
    fn of(&mut self, size: Size, length: u64) -> Size {
        if let Some(number) = size.as_number() {
            return (number as u64).div_ceil(length).into();
        }
        let known = self.all.iter().position(|known| *known == (size, length));
        let place = known.unwrap_or_else(|| {
            self.all.push((size, length));
            self.all.len() - 1
        });
        Size::argument(self.arguments + place as u32, 1)
    }
}

/// Brings the loops of a step into a good order, where that is possible.
pub(crate) fn arrange(program: &Program, fresh: &mut Fresh, step: FlatStatement) -> Vec<FlatStatement> {
    let FlatStatement::Loop(each) = step else { return vec![step] };
    if has_blocks(&FlatStatement::Loop(each.clone())) {
        return vec![FlatStatement::Loop(each)];
    }
    let (mut loops, leaf) = chain(each);
    if leaf.iter().any(is_loop) {
        let leaf = leaf.into_iter().flat_map(|step| arrange(program, fresh, step)).collect();
        let Some((var, extent, parallel)) = loops.pop() else { return leaf };
        let mut inner = Looped { var, extent, parallel, block: None, interleaved: false, body: leaf };
        inner.interleaved = suits_interleaving(&inner);
        return nested(loops, vec![FlatStatement::Loop(inner)]);
    }
    if !is_free(program, &loops, &leaf) {
        return nested(loops, leaf);
    }
    let (loops, leaf) = collapse_and_sort(loops, leaf);
    match crossing(&loops, &leaf) {
        Some(other) => in_blocks(fresh, loops, other, leaf),
        None => accumulate_in_variable(program, &mut fresh.locals, loops, leaf),
    }
}

/// The loop along which a unit of one outermost step can be shared among threads, if it is worth it.
pub(crate) fn split(step: &FlatStatement) -> Option<Split> {
    let FlatStatement::Loop(outermost) = step else { return None };
    if work(step) < LEAST_WORK {
        return None;
    }
    let mut candidates = vec![(outermost.var, outermost.extent, outermost.parallel)];
    let mut blocks = Vec::new();
    let mut body = &outermost.body;
    while let [FlatStatement::Loop(inner)] = body.as_slice() {
        match inner.block {
            Some((block, _)) => blocks.push((block, inner.var)),
            None => candidates.push((inner.var, inner.extent, inner.parallel)),
        }
        body = &inner.body;
    }
    let last = candidates.last().map(|(var, ..)| *var);
    let innermost = last.filter(|_| blocks.is_empty() && !body.iter().any(is_loop));
    let distinct = |(var, _, parallel): &&Bare| {
        // Blocks are apart if the loop they belong to is.
        let of = blocks.iter().find(|(block, _)| block == var).map_or(*var, |(_, of)| *of);
        (*parallel && *var == outermost.var) || is_distinct(step, of, &[])
    };
    let candidates: Vec<_> = candidates.iter().filter(distinct).collect();
    // The outermost loop that has enough iterations to share, or the longest.
    let enough = candidates.iter().find(|(_, extent, _)| extent.typical() >= 16);
    let chosen = enough.or(candidates.iter().max_by_key(|(_, extent, _)| extent.typical()))?;
    let mut interleaved = false;
    step.each(&mut |step| {
        interleaved |= matches!(step, FlatStatement::Loop(each) if each.var == chosen.0 && each.interleaved);
    });
    let grain = match interleaved {
        true => 64,
        false if Some(chosen.0) == innermost => 256,
        false => 1,
    };
    (chosen.1.typical() > grain as i64).then_some(Split { var: chosen.0, extent: chosen.1, grain })
}

/// Returns true if the iterations of an innermost loop touch different memory, or the same only for
/// reading.
pub(crate) fn is_independent(each: &Looped) -> bool {
    let mut accesses = Vec::new();
    for step in &each.body {
        if !step.is_scalar() {
            return false;
        }
        step.each_access(&mut |writes, access| accesses.push((writes, access)));
    }
    accesses.iter().filter(|(writes, _)| *writes).all(|(_, written)| {
        written.is_affine()
            && written.stride(each.var) != 0
            && accesses.iter().all(|(_, other)| other.buffer != written.buffer || other == written)
    })
}

/// The approximate number of simple operations that a step takes.
pub(crate) fn work(step: &FlatStatement) -> f64 {
    match step {
        FlatStatement::Loop(each) => {
            let times = each.block.map_or(each.extent.typical(), |(_, length)| length as i64);
            times as f64 * each.body.iter().map(work).sum::<f64>()
        }
        FlatStatement::Margins { .. } | FlatStatement::Check { .. } => 1.0,
        FlatStatement::Matrix { function, sizes, .. } => function.work(sizes),
        FlatStatement::Sort(sorted) => {
            let count = sorted.count.typical().max(2) as f64;
            5.0 * count * count.log2()
        }
        FlatStatement::Store { value, .. }
        | FlatStatement::Declare { value, .. }
        | FlatStatement::Update { value, .. } => {
            let mut total = 1.0;
            value.each(&mut |value| {
                total += match value {
                    Value::Number(_) | Value::Local(_) | Value::Position(_) | Value::Symbol(_) => 0.0,
                    Value::Unary(function, _) => function.time(),
                    Value::Binary(function, ..) => function.time(),
                    Value::Uniform { .. } => 20.0,
                    Value::Load(access) => 1.0 + 2.0 * access.gathers.len() as f64,
                    Value::Select(..) => 1.0,
                }
            });
            total
        }
    }
}

fn is_loop(step: &FlatStatement) -> bool {
    matches!(step, FlatStatement::Loop(_))
}

/// A loop without its body.
pub(crate) type Bare = (LoopVar, Size, bool);

/// Splits perfectly nested loops from the body of the innermost.
pub(crate) fn chain(each: Looped) -> (Vec<Bare>, Vec<FlatStatement>) {
    let mut loops = vec![(each.var, each.extent, each.parallel)];
    let mut body = each.body;
    while let [FlatStatement::Loop(_)] = body.as_slice() {
        if let Some(FlatStatement::Loop(inner)) = body.pop() {
            loops.push((inner.var, inner.extent, inner.parallel));
            body = inner.body;
        }
    }
    (loops, body)
}

/// The opposite of [`chain`]: the body inside the loops.
pub(crate) fn nested(loops: Vec<Bare>, leaf: Vec<FlatStatement>) -> Vec<FlatStatement> {
    loops.into_iter().rev().fold(leaf, |body, (var, extent, parallel)| {
        vec![FlatStatement::Loop(Looped { var, extent, parallel, block: None, interleaved: false, body })]
    })
}

/// Returns true if a loop in it runs in blocks.
pub(crate) fn has_blocks(step: &FlatStatement) -> bool {
    let mut blocks = false;
    step.each(&mut |step| blocks |= matches!(step, FlatStatement::Loop(each) if each.block.is_some()));
    blocks
}

/// Returns true if the iterations of a loop with loops inside should go through its body in
/// lockstep: they are independent and neighbours in memory, and those of a loop inside are not.
fn suits_interleaving(each: &Looped) -> bool {
    let whole = FlatStatement::Loop(each.clone());
    let (mut fits, mut far) = (each.extent.typical() >= 32, false);
    whole.each(&mut |step| {
        fits &= match step {
            FlatStatement::Loop(inner) => inner.block.is_none() && !inner.interleaved,
            _ => step.is_scalar(),
        };
        step.each_access(&mut |_, access| {
            fits &= matches!(access.stride(each.var), Size::ZERO | Size::ONE);
            fits &= !access.gathers.iter().any(|gather| gather.at.depends_on(each.var));
        });
        if let FlatStatement::Loop(inner) = step {
            inner.body.iter().for_each(|step| {
                step.each_access(&mut |_, access| {
                    far |= access.stride(each.var) == 1 && access.stride(inner.var).typical().abs() > 1;
                });
            });
        }
    });
    fits && far && (each.parallel || is_distinct(&whole, each.var, &[]))
}

/// Returns true if the iterations of a perfect nest may run in any order.
fn is_free(program: &Program, loops: &[Bare], leaf: &[FlatStatement]) -> bool {
    let mut accesses = Vec::new();
    let mut declared = Vec::new();
    for step in leaf {
        match step {
            FlatStatement::Check { .. }
            | FlatStatement::Sort(_)
            | FlatStatement::Matrix { .. }
            | FlatStatement::Margins { .. }
            | FlatStatement::Loop(_) => return false,
            FlatStatement::Declare { local, .. } => declared.push(*local),
            // A variable from outside: another order would change its last value or its rounding.
            FlatStatement::Update { local, accumulate, .. } if !declared.contains(local) => {
                let commutes = accumulate.is_some_and(Binary::is_commutative);
                let read = leaf.iter().filter_map(FlatStatement::value).any(|value| value.uses(*local));
                let updates = leaf.iter().filter(
                    |other| matches!(other, FlatStatement::Update { local: known, .. } if known == local),
                );
                if !commutes || read || updates.count() > 1 {
                    return false;
                }
            }
            FlatStatement::Update { .. } | FlatStatement::Store { .. } => {}
        }
        step.each_access(&mut |_, access| accesses.push(access));
    }
    leaf.iter().all(|step| {
        let FlatStatement::Store { to, accumulate, .. } = step else { return true };
        let mut others = accesses.iter().filter(|access| access.buffer == to.buffer);
        let alone = others.clone().count() == 1;
        let commutes = accumulate.is_some_and(Binary::is_commutative);
        if alone && commutes && program.buffer(to.buffer).dtype.is_float() {
            return true;
        }
        others.all(|other| *other == to) && is_injective(to, loops)
    })
}

/// Returns true if no two iterations of some loops address the same cell, judged by strides alone:
/// in order of size, each is larger than the sum of what the smaller ones reach.
pub(crate) fn is_injective(access: &Access, loops: &[Bare]) -> bool {
    let moving = loops.iter().filter(|(_, extent, _)| *extent != 1);
    access.is_affine()
        && is_in_order(Size::ZERO, moving.map(|(var, extent, _)| (access.stride(*var), *extent)))
}

/// The least and the greatest place that some accesses of one buffer address over some loops, or
/// None if it is not known for all sizes.
pub(crate) fn span<'a>(
    accesses: impl Iterator<Item = &'a Access>,
    extent: impl Fn(LoopVar) -> Option<Size>,
) -> Option<(Size, Size)> {
    let mut span: Option<(Size, Size)> = None;
    for access in accesses {
        // Loops that are not asked about count as a single iteration.
        let (first, last) = access.at.range(|var| Some(extent(var).unwrap_or(Size::ONE)))?;
        span = Some(match span {
            None => (first, last),
            Some((low, high)) => (low.least(first)?, high.greatest(last)?),
        });
    }
    span
}

/// Returns true if different values of a loop never share a cell that one of them writes: every
/// written buffer is accessed through one injective map, or in ranges that this loop moves by more
/// than their length. They must not share a variable either, except those that are `carried`.
pub(crate) fn is_distinct(step: &FlatStatement, var: LoopVar, carried: &[Local]) -> bool {
    let mut loops: Vec<Bare> = Vec::new();
    let mut accesses: Vec<(bool, &Access)> = Vec::new();
    let mut declared = carried.to_vec();
    let mut fine = true;
    step.each(&mut |inner| {
        match inner {
            FlatStatement::Loop(each) => loops.push((each.var, each.extent, each.parallel)),
            FlatStatement::Margins { .. } => fine = false,
            FlatStatement::Declare { local, .. } => declared.push(*local),
            FlatStatement::Update { local, .. } => fine &= declared.contains(local),
            FlatStatement::Store { .. }
            | FlatStatement::Check { .. }
            | FlatStatement::Sort(_)
            | FlatStatement::Matrix { .. } => {}
        }
        inner.each_access(&mut |writes, access| accesses.push((writes, access)));
    });
    fine && accesses.iter().filter(|(writes, _)| *writes).all(|(_, written)| {
        let same =
            || accesses.iter().map(|(_, access)| *access).filter(|access| access.buffer == written.buffer);
        let stride = written.stride(var);
        let comparable = |access: &Access| {
            access.is_affine() && access.symbols == written.symbols && access.stride(var) == stride
        };
        if stride == 0 || !same().all(comparable) {
            return false;
        }
        let moving = loops.iter().copied().filter(|(known, ..)| written.stride(*known) != 0);
        if same().all(|access| access == *written) && is_injective(written, &moving.collect::<Vec<_>>()) {
            return true;
        }
        let others = |known: LoopVar| loops.iter().find(|(other, ..)| *other == known && known != var);
        let span = span(same(), |known| others(known).map(|(_, extent, _)| *extent));
        stride.distance().zip(span).is_some_and(|(stride, (low, high))| (high - low).below(stride))
    })
}

/// The loops of a free nest in a good order, in which loops that act as one long loop are joined.
fn collapse_and_sort(loops: Vec<Bare>, mut leaf: Vec<FlatStatement>) -> (Vec<Bare>, Vec<FlatStatement>) {
    let mut loops: Vec<Bare> = loops
        .into_iter()
        .filter(|(var, extent, _)| {
            if *extent == 1 {
                forget(&mut leaf, *var);
            }
            *extent != 1
        })
        .collect();
    if loops.is_empty() {
        return (loops, leaf);
    }
    let innermost = best_innermost(&loops, &leaf);
    let inner = loops.remove(innermost);
    // Around it, sorted from long strides to short ones; loops that do not move the written cell go
    // as far inside as they can, so that what they accumulate stays in the cache.
    let stride = |var: LoopVar| {
        leaf.iter()
            .filter_map(|step| match step {
                FlatStatement::Store { to, .. } => Some(to.stride(var).typical().unsigned_abs()),
                _ => None,
            })
            .max()
            .unwrap_or(0)
    };
    loops.sort_by_key(|(var, ..)| std::cmp::Reverse(stride(*var)));
    loops.push(inner);
    let mut place = loops.len() - 1;
    while place > 0 {
        place -= 1;
        let (outer, inner) = (loops[place], loops[place + 1]);
        if is_one_loop(outer, inner, &leaf) {
            forget(&mut leaf, outer.0);
            loops[place] = (inner.0, outer.1 * inner.1, outer.2 && inner.2);
            loops.remove(place + 1);
        }
    }
    (loops, leaf)
}

/// Returns true if two directly nested loops move everything as one long loop would.
fn is_one_loop(outer: Bare, inner: Bare, leaf: &[FlatStatement]) -> bool {
    let mut fits = true;
    for mut step in leaf.iter().cloned() {
        step.each_sum_mut(&mut |sum| {
            fits &= sum.coefficient(inner.0) * inner.1 == sum.coefficient(outer.0);
        });
    }
    fits
}

/// Removes a loop from all sums: because it is 0, or because the loop it is joined with counts for
/// both.
fn forget(leaf: &mut [FlatStatement], var: LoopVar) {
    for step in leaf {
        step.each_sum_mut(&mut |sum| sum.terms.retain(|(_, known)| *known != var));
    }
}

/// The length of blocks.
const BLOCK: i64 = 32;

/// The position of a loop along which neighbours are accessed that the innermost loop visits in
/// long strides, as in a transposition.
fn crossing(loops: &[Bare], leaf: &[FlatStatement]) -> Option<usize> {
    let (innermost, others) = loops.split_last()?;
    let mut found = None;
    for step in leaf {
        step.each_access(&mut |_, access| {
            let crosses = |(var, extent, _): &Bare| {
                access.stride(*var).typical().abs() == 1 && extent.typical() >= 2 * BLOCK
            };
            if access.stride(innermost.0).typical().abs() >= BLOCK && innermost.1.typical() >= 2 * BLOCK {
                found = found.or(others.iter().position(crosses));
            }
        });
    }
    found
}

/// A nest in which the innermost loop and another run in blocks, so that the cells that one visits
/// are still in the cache when the other needs their neighbours.
fn in_blocks(
    fresh: &mut Fresh,
    mut loops: Vec<Bare>,
    other: usize,
    leaf: Vec<FlatStatement>,
) -> Vec<FlatStatement> {
    let other = loops.remove(other);
    let Some(innermost) = loops.pop() else { return nested(vec![other], leaf) };
    let mut body = leaf;
    for (var, extent, parallel) in [innermost, other] {
        let block = LoopVar(fresh.vars.len() as u32);
        let name = fresh.vars.get(var.index()).map_or("i", String::as_str);
        fresh.vars.push(format!("{name}_block"));
        loops.push((block, fresh.blocks.of(extent, BLOCK as u64), false));
        let block = Some((block, BLOCK as u64));
        body = vec![FlatStatement::Loop(Looped { var, extent, parallel, block, interleaved: false, body })];
    }
    nested(loops, body)
}

/// The position of the loop that should be innermost.
pub(crate) fn best_innermost(loops: &[Bare], leaf: &[FlatStatement]) -> usize {
    let mut accesses = Vec::new();
    for step in leaf {
        step.each_access(&mut |writes, access| accesses.push((writes, access)));
    }
    let score = |(var, extent, _): &Bare| {
        let along: i64 = accesses
            .iter()
            .map(|(writes, access)| {
                let gathers = access.gathers.iter().any(|gather| gather.at.depends_on(*var));
                match access.stride(*var).typical() {
                    _ if gathers => -2,
                    // A reduction: as good as neighbours, except for the sum at its end.
                    0 if *writes => 1,
                    0 | 1 => 2,
                    -1 => 1,
                    _ if *writes => -4,
                    _ => -2,
                }
            })
            .sum();
        // Short loops gain little, however well they fit.
        let length = match extent.typical() {
            ..4 => -4,
            4..8 => -2,
            8..16 => -1,
            _ => 0,
        };
        along + length * accesses.len() as i64 / 2
    };
    let mut best = loops.len() - 1;
    for place in (0..loops.len()).rev() {
        if score(&loops[place]) > score(&loops[best]) {
            best = place;
        }
    }
    best
}

/// Returns true if a variable that is accumulated into holds as many digits as a cell.
pub(crate) fn holds(program: &Program, to: &Access, update: &FlatStatement) -> bool {
    let dtype = program.buffer(to.buffer).dtype;
    let wide = types::real(program, &types::Locals::default(), update) == types::Real::F64;
    dtype.is_float() && (dtype != Dtype::F64 || wide)
}

/// Rebuilds a free nest, with a variable if its innermost loops do not move the cell that is
/// accumulated into.
fn accumulate_in_variable(
    program: &Program,
    locals: &mut u32,
    loops: Vec<Bare>,
    leaf: Vec<FlatStatement>,
) -> Vec<FlatStatement> {
    let [FlatStatement::Store { to, accumulate: Some(function), value }] = leaf.as_slice() else {
        return nested(loops, leaf);
    };
    let moving = loops.iter().rposition(|(var, ..)| to.depends_on(*var)).map_or(0, |place| place + 1);
    let (Some(neutral), true) = (function.neutral(), function.is_commutative()) else {
        return nested(loops, leaf);
    };
    let update =
        FlatStatement::Update { local: Local(*locals), accumulate: Some(*function), value: value.clone() };
    if moving == loops.len() || !holds(program, to, &update) {
        return nested(loops, leaf);
    }
    let local = Local(*locals);
    *locals += 1;
    let store =
        FlatStatement::Store { to: to.clone(), accumulate: Some(*function), value: Value::Local(local) };
    let mut body = vec![FlatStatement::Declare { local, value: Value::Number(neutral) }];
    body.extend(nested(loops[moving..].to_vec(), vec![update]));
    body.push(store);
    nested(loops[..moving].to_vec(), body)
}
