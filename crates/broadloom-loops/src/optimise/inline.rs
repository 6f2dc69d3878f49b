//! Virtual tensors: a local buffer is not stored; its values are computed where they are read.
//!
//! The buffer is written by one nest only: a fill, or a plain store in which each axis has a loop
//! of its own that covers it from start to end. Then the contents of a cell are a known scalar of
//! its indices. A reader may compute that scalar instead of loading if
//!
//! - it comes later, and no buffer that the scalar reads is written in between, nor by the reader
//!   itself, except at the cell that the reader is about to write and no other iteration touches;
//! - it stays inside the sizes, because margins hold other values;
//! - an index that is looked up or supplied replaces only variables that are an index by
//!   themselves;
//! - losing the rounding of the buffer is allowed (see [`rounding`](super::rounding)).
//!
//! [`Policy`] decides whether it pays. Only loads, perhaps times a number, go into a contraction.

use super::access::{Perfect, Scope, Uses, each_cell, each_in_scope, is_inside, is_one_to_one, simple_axes};
use super::cost::{Cost, is_contraction};
use super::rewrite::{Substitution, replace_in_body, substitute};
use super::rounding::Rounding;
use crate::buffer::{BufferId, Cell, Index, LoopVar, Storage};
use crate::function::Binary;
use crate::program::{Nest, Program, Statement};
use crate::rounding::round;
use crate::scalar::Scalar;

/// Limits on what is computed again rather than loaded.
#[derive(Clone, PartialEq, Debug)]
pub struct Policy {
    /// The most loads and operations that several readers, each of which reads a cell once, compute
    /// each for itself.
    pub several_readers: u32,
    /// The most operations, on a single load, that are computed again when a reader reads a cell
    /// repeatedly.
    pub again: u32,
    /// The most loads and operations that a statement may grow to.
    pub statement: u32,
    /// The most buffers that a nest may grow to touch.
    pub buffers: usize,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { several_readers: 5, again: 2, statement: 400, buffers: 16 }
    }
}

/// Makes buffers virtual where it is possible and worth it. Returns how many readers changed.
///
/// The nests that wrote them stay, for [`dead`](super::dead) to remove.
pub fn inline(program: &mut Program, policy: &Policy) -> usize {
    let rounding = Rounding::of(program);
    let mut uses = Uses::of(program);
    let mut changes = 0;
    // In order, so that what is substituted for a load has already been substituted into.
    for at in 0..program.nests.len() {
        let Some(source) = Producer::of(program, &uses, at) else { continue };
        if !rounding.may_skip(program, source.buffer, &source.value) {
            continue;
        }
        let readers = uses.readers[source.buffer.index()].clone();
        let plans = readers.iter().map(|reader| plan(program, &uses, policy, &source, *reader));
        let plans: Vec<Option<Inlining>> = plans.collect();
        if !source.is_free() && !is_worth(policy, &source, &plans) {
            continue;
        }
        let mut loads = Vec::new();
        source.value.each_load(&mut |cell| loads.push(cell.buffer));
        for (reader, plan) in readers.into_iter().zip(plans) {
            if let Some(plan) = plan {
                program.nests[reader].body = plan.body;
                loads.iter().for_each(|buffer| uses.add_reader(*buffer, reader));
                let own = &mut uses.readers[source.buffer.index()];
                own.retain(|known| *known != reader);
                changes += 1;
            }
        }
    }
    changes
}

/// A nest that determines the contents of a buffer.
struct Producer {
    nest: usize,
    buffer: BufferId,
    /// The variable of each axis of more than one cell.
    axes: Vec<Option<LoopVar>>,
    value: Scalar,
    /// True if it holds in the margins too.
    margins: bool,
}

impl Producer {
    fn of(program: &Program, uses: &Uses, at: usize) -> Option<Producer> {
        let nest = &program.nests[at];
        let (buffer, source) = match nest.body.as_slice() {
            [Statement::Fill { buffer, value }] => {
                let dtype = program.buffer(*buffer).dtype;
                let axes = vec![None; program.buffer(*buffer).sizes.len()];
                let value = Scalar::Number(round(dtype, *value));
                (*buffer, Producer { nest: at, buffer: *buffer, axes, value, margins: true })
            }
            _ => {
                let perfect = Perfect::of(nest)?;
                let buffer = perfect.cell.buffer;
                let axes = simple_axes(perfect.cell, &program.buffer(buffer).sizes, &perfect.loops)?;
                if perfect.accumulate.is_some() || perfect.loops.len() != axes.iter().flatten().count() {
                    return None;
                }
                let value = perfect.value.clone();
                (buffer, Producer { nest: at, buffer, axes, value, margins: false })
            }
        };
        // Fills of margins do not matter to readers that stay inside.
        let margins_only = |at: &&usize| {
            !source.margins && matches!(program.nests[**at].body[..], [Statement::FillMargins { .. }])
        };
        let mut writers = uses.writers[buffer.index()].iter().filter(|at| !margins_only(at));
        let alone = writers.next() == Some(&at) && writers.next().is_none();
        let later = uses.readers[buffer.index()].iter().all(|reader| *reader > at);
        let local = program.buffer(buffer).storage == Storage::Local;
        (local && alone && later && !has_local(&source.value)).then_some(source)
    }

    /// The contents of a cell.
    fn at(&self, cell: &Cell) -> Option<Scalar> {
        let bind = |(axis, index): (&Option<LoopVar>, &Index)| axis.map(|var| (var, index.clone()));
        let by: Substitution = self.axes.iter().zip(&cell.index).filter_map(bind).collect();
        substitute(&self.value, &by)
    }

    /// Returns true if computing it costs no more than a load: a constant, a position, a load.
    fn is_free(&self) -> bool {
        let cost = Cost::of(&self.value);
        cost.work == 0 && cost.loads <= 1
    }
}

/// A reader that computes the value instead of loading it.
struct Inlining {
    body: Vec<Statement>,
    /// The number of places in which it does.
    places: usize,
    /// True if each place reads a cell once.
    once: bool,
}

fn plan(
    program: &Program,
    uses: &Uses,
    policy: &Policy,
    source: &Producer,
    reader: usize,
) -> Option<Inlining> {
    let nest = &program.nests[reader];
    let mut unchanged = true;
    source.value.each_load(&mut |cell| {
        unchanged &= !uses.written_between(cell.buffer, source.nest, reader);
        unchanged &= cell.buffer != source.buffer;
    });
    if !unchanged {
        return None;
    }
    let (mut places, mut once, mut inside) = (0, true, true);
    each_in_scope(&nest.body, &mut Scope::new(), &mut |statement, scope| {
        each_cell(statement, &mut |cell| {
            if cell.buffer == source.buffer {
                places += 1;
                once = once && is_one_to_one(cell, scope);
                inside = inside && (source.margins || is_inside(program, cell, scope));
            }
        });
    });
    if !inside {
        return None;
    }
    let mut body = nest.body.clone();
    let mut possible = true;
    replace_in_body(&mut body, &mut |cell| {
        if cell.buffer != source.buffer {
            return None;
        }
        let value = source.at(cell);
        possible &= value.is_some();
        value
    })?;
    let changed = Nest { comment: String::new(), body };
    let fits = possible
        && keeps_contraction(source, nest, &changed)
        && writes_apart(source, &changed)
        && is_moderate(policy, nest, &changed);
    fits.then_some(Inlining { body: changed.body, places, once })
}

/// Returns true if a contraction stays one: it takes constants, and loads whose indices are sums,
/// perhaps times a number.
fn keeps_contraction(source: &Producer, nest: &Nest, changed: &Nest) -> bool {
    if !is_contraction(nest) {
        return true;
    }
    let affine = |cell: &Cell| cell.index.iter().all(|index| matches!(index, Index::At(_)));
    match &source.value {
        Scalar::Number(_) => true,
        Scalar::Load(cell) => affine(cell) && is_contraction(changed),
        Scalar::Binary(Binary::Mul, a, b) => match (&**a, &**b) {
            (Scalar::Load(cell), Scalar::Number(_)) | (Scalar::Number(_), Scalar::Load(cell)) => {
                affine(cell) && is_contraction(changed)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Returns true if the reader writes nothing that it now reads, or only the cell that each
/// iteration reads and writes for itself.
fn writes_apart(source: &Producer, changed: &Nest) -> bool {
    let mut loads = Vec::new();
    source.value.each_load(&mut |cell| loads.push(cell.buffer));
    let mut written = Vec::new();
    for statement in &changed.body {
        statement.each(&mut |inner| written.extend(inner.written()));
    }
    if !written.iter().any(|buffer| loads.contains(buffer)) {
        return true;
    }
    let Some(perfect) = Perfect::of(changed) else { return false };
    let mut same = true;
    perfect.value.each_load(&mut |cell| same &= cell.buffer != perfect.cell.buffer || cell == perfect.cell);
    perfect.cell.each_index(&mut |index| same &= matches!(index, Index::At(_)));
    same && is_one_to_one(perfect.cell, &perfect.loops)
}

fn is_moderate(policy: &Policy, nest: &Nest, changed: &Nest) -> bool {
    let mut largest = 0;
    let mut buffers: Vec<BufferId> = Vec::new();
    for statement in &changed.body {
        statement.each(&mut |inner| {
            largest = largest.max(inner.value().map_or(0, |value| Cost::of(value).total()));
            inner.each_read(&mut |cell| buffers.push(cell.buffer));
        });
    }
    buffers.sort_unstable();
    buffers.dedup();
    let grows = super::access::Touch::of(&nest.body).reads.len() < buffers.len();
    largest <= policy.statement && (buffers.len() <= policy.buffers || !grows)
}

/// Returns true if all readers can do without the buffer, and computing it again costs little.
fn is_worth(policy: &Policy, source: &Producer, plans: &[Option<Inlining>]) -> bool {
    if plans.iter().any(Option::is_none) {
        return false;
    }
    let places: usize = plans.iter().flatten().map(|plan| plan.places).sum();
    let once = plans.iter().flatten().all(|plan| plan.once);
    let cost = Cost::of(&source.value);
    match (places, once) {
        (..=1, true) => true,
        (_, true) if cost.total() <= policy.several_readers => true,
        _ => cost.loads <= 1 && cost.work <= policy.again,
    }
}

fn has_local(scalar: &Scalar) -> bool {
    matches!(scalar, Scalar::Local(_)) || scalar.children().any(has_local)
}
