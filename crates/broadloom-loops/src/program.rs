//! Programs of loops: the language that is lowered to, optimised, printed and run.
//!
//! A program has buffers and nests. A nest is a tree of loops with stores at its leaves; every cell is
//! addressed by one index per axis, in memory order. The same language holds the program before and after
//! optimisation, so that one evaluator judges both.

use std::ops::Range;

use broadloom_core::Size;

use rustc_hash::FxHashSet;

use crate::buffer::{Buffer, BufferId, Cell, Index, Local, LoopSum, LoopVar};
use crate::function::Binary;
use crate::matrix::MatrixFunction;
use crate::progression::Progression;
use crate::scalar::Scalar;

/// A part of a nest.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// Runs its body for each value of a variable.
    Loop(Loop),
    /// Writes a cell: plainly, or accumulated by an operation.
    Store {
        /// The cell that is written.
        cell: Cell,
        /// The operation, if the old value is kept: `cell = operation(cell, value)`.
        accumulate: Option<Binary>,
        /// The value that is written.
        value: Scalar,
    },
    /// Declares a variable, which exists until the end of its body.
    Declare {
        /// The variable.
        local: Local,
        /// Its first value.
        value: Scalar,
    },
    /// Sets a variable or accumulates into it.
    Update {
        /// The variable.
        local: Local,
        /// The operation; without one the variable is set.
        accumulate: Option<Binary>,
        /// The value that is set or accumulated.
        value: Scalar,
    },
    /// Stops the run with an error unless the number in a cell, which holds integers, is below a
    /// bound and not negative.
    Check {
        /// The cell.
        cell: Cell,
        /// The bound.
        below: Size,
        /// The buffer that the number is an index of; the cell's own buffer if it is not an index.
        of: BufferId,
    },
    /// Sets a row of cells along an axis to the positions of the numbers of another row in ascending order: first that of the
    /// least. Equal numbers stay in the order of their positions, and what is not a number comes last.
    Sort {
        /// The first cell of the row of numbers.
        keys: Cell,
        /// The first cell of the row of positions, in a buffer of integers.
        places: Cell,
        /// The axis of both rows.
        axis: u32,
        /// The number of cells of a row: the size of the axis.
        count: Size,
        /// True if the greatest comes first.
        descending: bool,
    },
    /// Computes a function of matrices in place: on a row of cells along the last axis of a buffer of 64-bit floats.
    Matrix {
        /// The function.
        function: MatrixFunction,
        /// The first cell of the row, which is as long as the last axis.
        work: Cell,
        /// The sizes of the function.
        sizes: Vec<Size>,
    },
    /// Sets all cells of a buffer, margins included.
    Fill {
        /// The buffer.
        buffer: BufferId,
        /// The value they are set to.
        value: f64,
    },
    /// Sets the margins of a buffer.
    FillMargins {
        /// The buffer.
        buffer: BufferId,
        /// The value they are set to.
        value: f64,
    },
}

/// A loop: its variable runs from 0 to below its extent.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    /// The variable. No two loops of a nest share one.
    pub var: LoopVar,
    /// The number of iterations.
    pub extent: Size,
    /// True if its iterations are independent of each other, in any order.
    pub parallel: bool,
    /// The statements of each iteration.
    pub body: Vec<Statement>,
}

/// A nest of loops with a comment about its purpose.
#[derive(Clone, PartialEq, Debug)]
pub struct Nest {
    /// The assignments it carries out, for readers.
    pub comment: String,
    /// The statements of the nest.
    pub body: Vec<Statement>,
}

/// Neighbouring nests that run in turn, several times: a recurrence. A symbol of the program counts the turns; what one turn
/// leaves in buffers, the next one finds there.
#[derive(Clone, PartialEq, Debug)]
pub struct Repeat {
    /// The places of the nests. Those of two repeats are apart, or one is inside of the other.
    pub nests: Range<usize>,
    /// The symbol that is the number of the turn: its place among the symbols. What a run supplies for it is not read.
    pub symbol: u32,
    /// The number of turns.
    pub turns: Size,
    /// True if the symbol counts down: from the last turn to the first.
    pub backwards: bool,
    /// The segment of the turns that it runs, if a repeat around it goes through segments; otherwise it runs all of them.
    pub segment: Option<Segment>,
}

/// A segment of the turns of a repeat: neighbouring ones, as many as in the other segments, or fewer in the last.
#[derive(Clone, PartialEq, Debug)]
pub struct Segment {
    /// The symbol that is the number of the segment; a repeat around counts it.
    pub number: u32,
    /// The number of turns of a segment.
    pub length: Size,
    /// The symbol that counts the turns of the segment from 0, beside the one that counts them all.
    pub place: u32,
}

impl Repeat {
    /// The turns that it runs, all sizes being numbers, given the symbols.
    pub fn range(&self, symbols: &[i64]) -> Range<i64> {
        let turns = self.turns.get() as i64;
        let Some(segment) = &self.segment else { return 0..turns };
        let length = segment.length.get() as i64;
        let start = symbols[segment.number as usize] * length;
        start..turns.min(start + length)
    }

    /// The bound of a symbol that it counts: the number is always below.
    pub fn bound(&self, symbol: u32) -> Option<Size> {
        let place = self.segment.as_ref().filter(|segment| segment.place == symbol);
        place.map(|segment| segment.length).or((self.symbol == symbol).then_some(self.turns))
    }
}

/// Neighbouring nests of a program that run together.
#[derive(Clone, PartialEq, Debug)]
pub enum Group<'p> {
    /// They run once, one after another.
    Once(Range<usize>),
    /// They are those of a repeat, which are groups again.
    Repeated(&'p Repeat, Vec<Group<'p>>),
}

/// A visit of a nest, given by its place, with the symbols as they are then.
pub type VisitNest<'v, E> = dyn FnMut(usize, &[i64]) -> Result<(), E> + 'v;

/// A size that is computed from others when a program gets its sizes, because it is no sum of products of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Derived {
    /// The square root, rounded up; at least 1.
    Root(Size),
    /// The number of segments of some length that a size takes.
    Segments {
        /// The size.
        of: Size,
        /// The length.
        length: Size,
    },
}

impl Derived {
    /// Its value, given those of the arguments and of the derived sizes before it.
    pub fn at(self, sizes: &[u64]) -> Option<u64> {
        Some(match self {
            Derived::Root(of) => root(of.at(sizes)?).max(1),
            Derived::Segments { of, length } => of.at(sizes)?.div_ceil(length.at(sizes)?.max(1)),
        })
    }
}

/// The square root of a number, rounded up.
fn root(number: u64) -> u64 {
    let root = number.isqrt();
    if root * root == number { root } else { root + 1 }
}

/// A program of loops.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// The names of loop variables, as the user would write them; two may be the same.
    pub vars: Vec<String>,
    /// The names of the numbers supplied to a run.
    pub symbols: Vec<String>,
    /// The number of locals.
    pub locals: u32,
    /// The sizes that are arguments of the program, each given by the numbers that it can be.
    /// In sizes of loops and buffers, [`Size::argument`] of the same place stands for the place of the argument
    /// among them. Most programs have no arguments: all their sizes are numbers.
    pub arguments: Vec<Progression>,
    /// More sizes, which are computed from the arguments. Their places follow those of the arguments.
    pub derived: Vec<Derived>,
    /// The nests, in order.
    pub nests: Vec<Nest>,
    /// The nests that run several times, in order; a repeat comes before those inside of it.
    pub repeats: Vec<Repeat>,
}

impl Program {
    /// A buffer.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.index()]
    }

    /// The program at some sizes of its arguments, in which all sizes are numbers. None if an
    /// argument cannot have that size, or if some size would not be a number.
    ///
    /// ```
    /// use broadloom_loops::{Buffer, Dtype, Program, Progression, Size, Storage};
    /// let even = Progression { first: 0, step: 2 };
    /// let mut program = Program { arguments: vec![even], ..Program::default() };
    /// let (half, margins) = (Size::argument(0, 1), Vec::new());
    /// let (sizes, storage) = (vec![half, half * 2], Storage::Kept);
    /// program.add_buffer(Buffer { name: "x".into(), dtype: Dtype::F32, sizes, margins, fill: 0.0, storage });
    /// assert_eq!(program.at(&[6]).map(|program| program.buffers[0].shape()), Some(vec![3, 6]));
    /// assert!(program.at(&[7]).is_none() && program.at(&[]).is_none());
    /// ```
    pub fn at(&self, sizes: &[u64]) -> Option<Program> {
        let symbols = self.symbols_at(sizes)?;
        let mut program = self.clone();
        program.arguments.clear();
        program.derived.clear();
        for size in program.buffers.iter_mut().flat_map(|buffer| &mut buffer.sizes) {
            *size = size.at(&symbols)?.into();
        }
        let mut numbers = SizeNumbers { symbols: &symbols, whole: true };
        for nest in &mut program.nests {
            nest.body.iter_mut().for_each(|statement| numbers.statement(statement));
        }
        for repeat in &mut program.repeats {
            numbers.size(&mut repeat.turns);
            repeat.segment.iter_mut().for_each(|segment| numbers.size(&mut segment.length));
        }
        numbers.whole.then_some(program)
    }

    /// The places of the size arguments among the numbers that they can be, and the derived sizes; None if one of them cannot be
    /// such a number.
    pub fn symbols_at(&self, sizes: &[u64]) -> Option<Vec<u64>> {
        let symbols = self.arguments.iter().zip(sizes).map(|(of, size)| of.place_of(*size));
        let symbols: Option<Vec<u64>> = symbols.collect();
        let mut symbols = symbols.filter(|_| sizes.len() == self.arguments.len())?;
        for derived in &self.derived {
            symbols.push(derived.at(&symbols)?);
        }
        Some(symbols)
    }

    /// The nests in groups, in order: those that run together once, and those of each repeat.
    pub fn groups(&self) -> Vec<Group<'_>> {
        groups_within(0..self.nests.len(), &mut &self.repeats[..])
    }

    /// Visits the nests in the order in which they run, those of a repeat once for each turn, with the symbols as they are then. Ends at the first failure.
    pub fn each_nest<E>(&self, symbols: &[i64], visit: &mut VisitNest<'_, E>) -> Result<(), E> {
        each_nest_of(&self.groups(), &mut symbols.to_vec(), visit)
    }

    /// The buffers that some nests read or write.
    pub fn mentioned(&self, nests: Range<usize>) -> FxHashSet<BufferId> {
        let mut mentioned = FxHashSet::default();
        for statement in self.nests[nests].iter().flat_map(|nest| &nest.body) {
            statement.each(&mut |inner| {
                mentioned.extend(inner.written());
                inner.each_read(&mut |cell| {
                    mentioned.insert(cell.buffer);
                });
            });
        }
        mentioned
    }

    /// The buffers that some nests read before they write them: in a repeat, those that carry something from turn to turn.
    pub fn read_first(&self, nests: Range<usize>) -> FxHashSet<BufferId> {
        let (mut found, mut written) = (FxHashSet::default(), FxHashSet::default());
        for statement in self.nests[nests].iter().flat_map(|nest| &nest.body) {
            statement.each(&mut |inner| {
                inner.each_read(&mut |cell| {
                    if !written.contains(&cell.buffer) {
                        found.insert(cell.buffer);
                    }
                });
                written.extend(inner.written());
            });
        }
        found
    }

    /// The buffers that some nests write.
    pub fn written(&self, nests: Range<usize>) -> FxHashSet<BufferId> {
        let mut written = FxHashSet::default();
        for statement in self.nests[nests].iter().flat_map(|nest| &nest.body) {
            statement.each(&mut |inner| written.extend(inner.written()));
        }
        written
    }

    /// The buffers that a repeat writes, and that a later turn or a later nest may read, or that are `wanted` in the end. In order.
    pub fn carried(&self, repeat: &Repeat, wanted: impl Fn(BufferId) -> bool) -> Vec<BufferId> {
        let found = self.read_first(repeat.nests.clone());
        let later = self.mentioned(repeat.nests.end..self.nests.len());
        let written = self.written(repeat.nests.clone()).into_iter();
        let mut carried: Vec<BufferId> =
            written.filter(|id| found.contains(id) || later.contains(id) || wanted(*id)).collect();
        carried.sort_unstable();
        carried
    }

    /// Adds a buffer.
    pub fn add_buffer(&mut self, buffer: Buffer) -> BufferId {
        self.buffers.push(buffer);
        BufferId(self.buffers.len() as u32 - 1)
    }

    /// Adds a loop variable.
    pub fn add_var(&mut self, name: impl Into<String>) -> LoopVar {
        self.vars.push(name.into());
        LoopVar(self.vars.len() as u32 - 1)
    }

    /// Adds a local.
    pub fn add_local(&mut self) -> Local {
        self.locals += 1;
        Local(self.locals - 1)
    }
}

/// Visits the nests of groups; repeats set the symbols that count their turns.
fn each_nest_of<E>(
    groups: &[Group<'_>],
    symbols: &mut Vec<i64>,
    visit: &mut VisitNest<'_, E>,
) -> Result<(), E> {
    for group in groups {
        let (repeat, inside) = match group {
            Group::Once(nests) => {
                nests.clone().try_for_each(|at| visit(at, symbols))?;
                continue;
            }
            Group::Repeated(repeat, inside) => (repeat, inside),
        };
        let Range { start, end } = repeat.range(symbols);
        for turn in start..end {
            let turn = if repeat.backwards { start + end - 1 - turn } else { turn };
            symbols[repeat.symbol as usize] = turn;
            if let Some(segment) = &repeat.segment {
                symbols[segment.place as usize] = turn - start;
            }
            each_nest_of(inside, symbols, visit)?;
        }
    }
    Ok(())
}

/// The groups of some nests; takes the repeats among them from the front of a list.
fn groups_within<'p>(nests: Range<usize>, repeats: &mut &'p [Repeat]) -> Vec<Group<'p>> {
    let mut groups = Vec::new();
    let mut next = nests.start;
    while let Some((repeat, rest)) = repeats.split_first()
        && repeat.nests.end <= nests.end
    {
        *repeats = rest;
        if next < repeat.nests.start {
            groups.push(Group::Once(next..repeat.nests.start));
        }
        groups.push(Group::Repeated(repeat, groups_within(repeat.nests.clone(), repeats)));
        next = repeat.nests.end;
    }
    if next < nests.end {
        groups.push(Group::Once(next..nests.end));
    }
    groups
}

/// Replaces symbolic sizes by numbers.
struct SizeNumbers<'a> {
    symbols: &'a [u64],
    /// True if everything so far is a number.
    whole: bool,
}

impl SizeNumbers<'_> {
    fn size(&mut self, size: &mut Size) {
        match size.at(self.symbols) {
            Some(number) => *size = number.into(),
            None => self.whole = false,
        }
    }

    fn sum(&mut self, sum: &mut LoopSum) {
        match sum.with(self.symbols) {
            Some(numbers) => *sum = numbers,
            None => self.whole = false,
        }
    }

    fn cell(&mut self, cell: &mut Cell) {
        for index in &mut cell.index {
            match index {
                Index::At(sum) => self.sum(sum),
                Index::Symbol(_) => {}
                Index::Value(inner) => self.cell(inner),
            }
        }
    }

    fn scalar(&mut self, scalar: &mut Scalar) {
        match scalar {
            Scalar::Load(cell) => self.cell(cell),
            Scalar::Position(at) | Scalar::Uniform { at, .. } => self.sum(at),
            _ => scalar.children_mut().for_each(|child| self.scalar(child)),
        }
    }

    fn statement(&mut self, statement: &mut Statement) {
        match statement {
            Statement::Loop(each) => {
                self.size(&mut each.extent);
                each.body.iter_mut().for_each(|inner| self.statement(inner));
            }
            Statement::Store { cell, value, .. } => {
                self.cell(cell);
                self.scalar(value);
            }
            Statement::Declare { value, .. } | Statement::Update { value, .. } => self.scalar(value),
            Statement::Check { cell, below, .. } => {
                self.cell(cell);
                self.size(below);
            }
            Statement::Sort { keys, places, count, .. } => {
                self.cell(keys);
                self.cell(places);
                self.size(count);
            }
            Statement::Matrix { work, sizes, .. } => {
                self.cell(work);
                sizes.iter_mut().for_each(|size| self.size(size));
            }
            Statement::Fill { .. } | Statement::FillMargins { .. } => {}
        }
    }
}

impl Statement {
    /// Wraps the statement in loops, outermost first.
    pub fn within<E: Into<Size>>(self, loops: impl DoubleEndedIterator<Item = (LoopVar, E)>) -> Statement {
        loops.rev().fold(self, |body, (var, extent)| {
            Statement::Loop(Loop { var, extent: extent.into(), parallel: false, body: vec![body] })
        })
    }

    /// Visits this statement and those inside it, outermost first.
    pub fn each(&self, visit: &mut impl FnMut(&Statement)) {
        visit(self);
        if let Statement::Loop(each) = self {
            each.body.iter().for_each(|inner| inner.each(visit));
        }
    }

    /// Returns true if it computes one value, or is a loop: it is no check, and does not work on a whole row or buffer.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Statement::Loop(_)
            | Statement::Store { .. }
            | Statement::Declare { .. }
            | Statement::Update { .. } => true,
            Statement::Check { .. }
            | Statement::Sort { .. }
            | Statement::Matrix { .. }
            | Statement::Fill { .. }
            | Statement::FillMargins { .. } => false,
        }
    }

    /// The value that a statement computes, if any.
    pub fn value(&self) -> Option<&Scalar> {
        match self {
            Statement::Store { value, .. }
            | Statement::Declare { value, .. }
            | Statement::Update { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Visits every cell that the statement itself reads, those in indices included.
    pub fn each_read(&self, visit: &mut impl FnMut(&Cell)) {
        let inside = |cell: &Cell, visit: &mut dyn FnMut(&Cell)| {
            cell.each_index(&mut |index| {
                if let Index::Value(cell) = index {
                    visit(cell);
                }
            });
        };
        if let Some(value) = self.value() {
            value.each_load(visit);
        }
        match self {
            Statement::Store { cell, accumulate, .. } => {
                inside(cell, visit);
                if accumulate.is_some() {
                    visit(cell);
                }
            }
            Statement::Check { cell, .. } => {
                visit(cell);
                inside(cell, visit);
            }
            Statement::Sort { keys, places, .. } => {
                visit(keys);
                inside(keys, visit);
                inside(places, visit);
            }
            Statement::Matrix { work, .. } => {
                inside(work, visit);
                visit(work);
            }
            _ => {}
        }
    }

    /// The buffer that the statement itself writes, if any.
    pub fn written(&self) -> Option<BufferId> {
        match self {
            Statement::Store { cell, .. }
            | Statement::Sort { places: cell, .. }
            | Statement::Matrix { work: cell, .. } => Some(cell.buffer),
            Statement::Fill { buffer, .. } | Statement::FillMargins { buffer, .. } => Some(*buffer),
            _ => None,
        }
    }
}
