//! The reads and writes of nests, with the indices they use: the facts that every pass needs.
//!
//! Dependences are kept by buffer: a pass that moves a nest, or an expression, looks at the nests that touch
//! the buffers in question and at no others, so that long programs cost no more than short ones per nest.

use broadloom_core::projection::{Component, is_injective, is_positional, is_surjective};

use crate::Size;
use crate::buffer::{BufferId, Cell, Index, LoopSum, LoopVar};
use crate::program::{Loop, Nest, Program, Statement};

/// The loops around a statement, outermost first: variable and extent.
pub type Scope = Vec<(LoopVar, Size)>;

/// Visits the statements of a body, outermost first, with the loops around each.
pub fn each_in_scope<'a>(
    body: &'a [Statement],
    scope: &mut Scope,
    visit: &mut dyn FnMut(&'a Statement, &Scope),
) {
    for statement in body {
        visit(statement, scope);
        if let Statement::Loop(each) = statement {
            scope.push((each.var, each.extent));
            each_in_scope(&each.body, scope, visit);
            scope.pop();
        }
    }
}

/// The buffers that a part of a program touches, each list ascending and without repetition.
#[derive(Clone, Default, Debug)]
pub struct Touch {
    /// Those it reads, accumulation included.
    pub reads: Vec<BufferId>,
    /// Those it writes.
    pub writes: Vec<BufferId>,
    /// True if it checks indices.
    pub checks: bool,
    /// True if it looks indices up. Then it has to stay behind the checks that precede it.
    pub looks_up: bool,
}

impl Touch {
    /// The buffers that a body touches.
    pub fn of(body: &[Statement]) -> Touch {
        let mut touch = Touch::default();
        for statement in body {
            statement.each(&mut |inner| touch.add(inner));
        }
        touch.settle();
        touch
    }

    fn add(&mut self, statement: &Statement) {
        statement.each_read(&mut |cell| self.reads.push(cell.buffer));
        self.writes.extend(statement.written());
        self.checks |= matches!(statement, Statement::Check { .. });
        each_cell(statement, &mut |cell| {
            self.looks_up |= cell.index.iter().any(|index| matches!(index, Index::Value(_)));
        });
    }

    fn settle(&mut self) {
        for list in [&mut self.reads, &mut self.writes] {
            list.sort_unstable();
            list.dedup();
        }
    }

    /// The buffers that either touches.
    pub fn union(&self, other: &Touch) -> Touch {
        let join = |a: &[BufferId], b: &[BufferId]| [a, b].concat();
        let mut touch = Touch {
            reads: join(&self.reads, &other.reads),
            writes: join(&self.writes, &other.writes),
            checks: self.checks || other.checks,
            looks_up: self.looks_up || other.looks_up,
        };
        touch.settle();
        touch
    }

    /// All buffers, each once.
    pub fn buffers(&self) -> Vec<BufferId> {
        let mut buffers = [&self.reads[..], &self.writes].concat();
        buffers.sort_unstable();
        buffers.dedup();
        buffers
    }

    /// Returns true if it reads or writes a buffer.
    pub fn touches(&self, buffer: BufferId) -> bool {
        self.reads.binary_search(&buffer).is_ok() || self.writes.binary_search(&buffer).is_ok()
    }

    /// The buffers that one writes and the other touches: these keep the two in order.
    pub fn conflicts(&self, other: &Touch) -> Vec<BufferId> {
        let fixed = |a: &Touch, b: &Touch| -> Vec<BufferId> {
            a.writes.iter().filter(|buffer| b.touches(**buffer)).copied().collect()
        };
        let mut conflicts = [fixed(self, other), fixed(other, self)].concat();
        conflicts.sort_unstable();
        conflicts.dedup();
        conflicts
    }
}

/// For each buffer, the nests that touch it, ascending.
#[derive(Debug)]
pub struct Uses {
    /// Those that read it.
    pub readers: Vec<Vec<usize>>,
    /// Those that write it, margins alone included.
    pub writers: Vec<Vec<usize>>,
}

impl Uses {
    /// The uses of all buffers of a program.
    pub fn of(program: &Program) -> Uses {
        let empty = vec![Vec::new(); program.buffers.len()];
        let mut uses = Uses { readers: empty.clone(), writers: empty };
        for (at, nest) in program.nests.iter().enumerate() {
            let touch = Touch::of(&nest.body);
            touch.reads.iter().for_each(|buffer| uses.readers[buffer.index()].push(at));
            touch.writes.iter().for_each(|buffer| uses.writers[buffer.index()].push(at));
        }
        uses
    }

    /// Returns true if a nest strictly between two others writes a buffer.
    pub fn written_between(&self, buffer: BufferId, after: usize, before: usize) -> bool {
        let writers = &self.writers[buffer.index()];
        let next = writers.partition_point(|at| *at <= after);
        writers.get(next).is_some_and(|at| *at < before)
    }

    /// The nest that holds all uses of a buffer, if there is one.
    pub fn only_nest(&self, buffer: BufferId) -> Option<usize> {
        let (readers, writers) = (&self.readers[buffer.index()], &self.writers[buffer.index()]);
        let first = *readers.first().or(writers.first())?;
        readers.iter().chain(writers).all(|at| *at == first).then_some(first)
    }

    /// Records that a nest reads a buffer.
    pub fn add_reader(&mut self, buffer: BufferId, nest: usize) {
        let readers = &mut self.readers[buffer.index()];
        if let Err(place) = readers.binary_search(&nest) {
            readers.insert(place, nest);
        }
    }
}

/// A nest that consists of loops around a single store.
#[derive(Clone, Debug)]
pub struct Perfect<'a> {
    /// The loops, outermost first.
    pub loops: Scope,
    /// The cell that is stored to.
    pub cell: &'a Cell,
    /// The function that it accumulates with, if it accumulates.
    pub accumulate: Option<crate::Binary>,
    /// The value that is stored.
    pub value: &'a crate::Scalar,
}

impl<'a> Perfect<'a> {
    /// Returns the nest as loops around one store, if it has that form.
    pub fn of(nest: &'a Nest) -> Option<Perfect<'a>> {
        let (mut loops, mut body) = (Scope::new(), &nest.body);
        loop {
            match body.as_slice() {
                [Statement::Loop(each)] => {
                    loops.push((each.var, each.extent));
                    body = &each.body;
                }
                [Statement::Store { cell, accumulate, value }] => {
                    return Some(Perfect { loops, cell, accumulate: *accumulate, value });
                }
                _ => return None,
            }
        }
    }
}

/// The least and the greatest value of a sum inside loops that all run at least once; None if a variable
/// is not among them.
pub fn range(sum: &LoopSum, scope: &[(LoopVar, Size)]) -> Option<(Size, Size)> {
    let runs = |var: LoopVar| scope.iter().find(|(known, extent)| *known == var && *extent != 0);
    sum.range(|var| runs(var).map(|(_, extent)| *extent))
}

/// Returns true if a cell surely lies inside the sizes of its buffer, not in the margins. A number
/// that is looked up or supplied counts as inside if the axis has no margins.
pub fn is_inside(program: &Program, cell: &Cell, scope: &[(LoopVar, Size)]) -> bool {
    let buffer = program.buffer(cell.buffer);
    cell.index.iter().enumerate().all(|(axis, index)| match index {
        Index::At(sum) => range(sum, scope)
            .is_some_and(|(least, greatest)| Size::ZERO.at_most(least) && greatest.below(buffer.sizes[axis])),
        Index::Symbol(_) | Index::Value(_) => buffer.margin(axis) == (0, 0),
    })
}

/// Returns true if loops that all run at least once address no cell twice.
pub fn is_one_to_one(cell: &Cell, loops: &[(LoopVar, Size)]) -> bool {
    let Some((map, extents)) = as_map(cell, loops) else { return false };
    is_positional(&map, &extents) || is_injective(&map, &extents).holds()
}

/// Returns true if loops that all run at least once address every cell of the buffer, margins
/// aside, and none outside.
pub fn is_onto(program: &Program, cell: &Cell, loops: &[(LoopVar, Size)]) -> bool {
    let sizes = &program.buffer(cell.buffer).sizes;
    let Some((map, extents)) = as_map(cell, loops) else { return false };
    if !is_inside(program, cell, loops) {
        return false;
    }
    let product = |sizes: &[Size]| sizes.iter().copied().product::<Size>();
    let fits = product(&extents) == product(sizes);
    // As many points as cells, and none twice; or else a search decides.
    (fits && is_positional(&map, &extents))
        || simple_axes(cell, sizes, loops).is_some()
        || is_surjective(&map, &extents, sizes).holds()
}

/// The variable of each axis, if every axis is traversed from start to end by a loop of its own. An
/// axis of size 1 needs none.
pub fn simple_axes(cell: &Cell, sizes: &[Size], loops: &[(LoopVar, Size)]) -> Option<Vec<Option<LoopVar>>> {
    let mut axes: Vec<Option<LoopVar>> = Vec::new();
    for (index, size) in cell.index.iter().zip(sizes) {
        let Index::At(sum) = index else { return None };
        let axis = match sum.terms.as_slice() {
            [] => (*size == 1).then_some(None),
            [(Size::ONE, var)] => {
                let whole = loops.iter().any(|(known, extent)| known == var && extent == size);
                (whole && !axes.contains(&Some(*var))).then_some(Some(*var))
            }
            _ => None,
        };
        axes.push(axis.filter(|_| sum.offset == 0)?);
    }
    Some(axes)
}

/// The cell as a map from the box of the loops, numbered from 0. None if an index is looked up or
/// supplied, or if a loop never runs.
fn as_map(cell: &Cell, loops: &[(LoopVar, Size)]) -> Option<(Vec<Component>, Vec<Size>)> {
    if loops.iter().any(|(_, extent)| *extent == 0) {
        return None;
    }
    let number = |index: &Index| {
        let Index::At(sum) = index else { return None };
        let terms: Option<Vec<(Size, u32)>> = sum
            .terms
            .iter()
            .map(|(coefficient, var)| {
                let place = loops.iter().position(|(known, _)| known == var)?;
                Some((*coefficient, place as u32))
            })
            .collect();
        Some(Component::new(sum.offset, terms?))
    };
    let map: Option<Vec<Component>> = cell.index.iter().map(number).collect();
    Some((map?, loops.iter().map(|(_, extent)| *extent).collect()))
}

/// A cell that a loop touches, with the loops inside that loop that are around it.
#[derive(Clone, Debug)]
pub struct Touched<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// The variable of the loop in question.
    pub var: LoopVar,
    /// The loops between that loop and the cell.
    pub inner: Scope,
}

/// Every cell of some buffers that the iterations of a loop touch.
pub fn places<'a>(each: &'a Loop, of: &[BufferId]) -> Vec<Touched<'a>> {
    let mut places = Vec::new();
    each_in_scope(&each.body, &mut Scope::new(), &mut |statement, scope| {
        each_cell(statement, &mut |cell| {
            if of.contains(&cell.buffer) {
                places.push(Touched { cell, var: each.var, inner: scope.to_vec() });
            }
        });
    });
    places
}

/// Visits every cell that the statement itself reads or writes.
pub fn each_cell<'a>(statement: &'a Statement, visit: &mut dyn FnMut(&'a Cell)) {
    fn inside<'a>(cell: &'a Cell, visit: &mut dyn FnMut(&'a Cell)) {
        visit(cell);
        for index in &cell.index {
            if let Index::Value(inner) = index {
                inside(inner, visit);
            }
        }
    }
    fn loads<'a>(scalar: &'a crate::Scalar, visit: &mut dyn FnMut(&'a Cell)) {
        if let crate::Scalar::Load(cell) = scalar {
            inside(cell, visit);
        }
        for child in scalar.children() {
            loads(child, visit);
        }
    }
    if let Some(value) = statement.value() {
        loads(value, visit);
    }
    if let Statement::Store { cell, .. } | Statement::Check { cell, .. } = statement {
        inside(cell, visit);
    }
    if let Statement::Sort { keys, places, .. } = statement {
        inside(keys, visit);
        inside(places, visit);
    }
    if let Statement::Matrix { work, .. } = statement {
        inside(work, visit);
    }
}

/// Returns true if different iterations of the loops of `places`, which are all in one buffer,
/// touch different cells.
///
/// On some axis every place is at `c·v + rest`, `v` being the variable of its loop, where `c` is
/// the same everywhere and the rests of all places differ by less than `c`: then the index
/// determines the iteration.
pub fn separates(places: &[Touched<'_>]) -> bool {
    let rank = places.iter().map(|place| place.cell.index.len()).min().unwrap_or(0);
    (0..rank).any(|axis| {
        let (mut step, mut span): (Option<Size>, Option<(Size, Size)>) = (None, None);
        for place in places {
            let Index::At(sum) = &place.cell.index[axis] else { return false };
            let coefficient = sum.coefficient(place.var);
            let terms = sum.terms.iter().copied().filter(|(_, var)| *var != place.var);
            let rest = LoopSum::new(sum.offset, terms);
            // A variable of a loop further out has one value in all these iterations, but the cells
            // of both loops may see different ones: only known ranges count.
            let Some((low, high)) = range(&rest, &place.inner) else { return false };
            if coefficient == 0 || *step.get_or_insert(coefficient) != coefficient {
                return false;
            }
            let Some(wider) = span.map_or(Some((low, high)), |(least, greatest)| {
                Some((least.least(low)?, greatest.greatest(high)?))
            }) else {
                return false;
            };
            span = Some(wider);
        }
        let (step, span) = (step.and_then(Size::distance), span.map(|(least, greatest)| greatest - least));
        step.zip(span).is_some_and(|(step, span)| span.below(step))
    })
}
