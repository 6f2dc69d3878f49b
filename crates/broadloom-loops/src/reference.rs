//! The reference evaluator: slow and simple, so that everything else is checked against it.
//!
//! Numbers are rounded to the type that a statement computes in after every operation, and to the type of their buffer
//! where they are stored; but sums only when they are complete, so that their error does not depend on how many terms
//! they have. Integers, and what is computed from integers alone by functions whose values are integers, are computed as integers: what is too
//! large is the nearest there is. Every address is checked; a local buffer holds NaN before it is written, so that reading it too early shows in the results.

mod cells;
mod reals;

use std::cmp::{Ordering, Reverse};

use crate::buffer::{BufferId, Cell, Index, Storage};
use crate::function::{Binary, whole_number};
use crate::program::{Program, Statement};
pub use crate::rounding::round;
use crate::{Dtype, MatrixFunction, Scalar, Size};
use broadloom_array::random::uniform_f32;

pub use cells::Memory;
pub(crate) use cells::each_inside;
use cells::{Cells, clear};
pub(crate) use reals::Reals;

/// The reason why a run stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// An index read from a buffer is outside the axis it is for.
    Index {
        /// The buffer that holds the index.
        buffer: BufferId,
        /// The position of that cell.
        cell: u64,
        /// The index.
        value: i64,
        /// The bound.
        below: u64,
        /// The buffer that would be read.
        of: BufferId,
    },
    /// There is not enough memory for a buffer.
    Memory {
        /// The buffer.
        buffer: BufferId,
    },
    /// The program addresses a cell that does not exist: a defect in the program's construction.
    Address {
        /// The buffer.
        buffer: BufferId,
    },
}

/// Runs a program on memory that was made for it.
pub fn evaluate(program: &Program, memory: &mut Memory, symbols: &[i64]) -> Result<(), Stop> {
    // Local buffers keep nothing from one run to the next.
    for (cells, buffer) in memory.buffers.iter_mut().zip(&program.buffers) {
        if buffer.storage == Storage::Local {
            clear(cells, buffer);
        }
    }
    let mut run = Run::new(program, memory, symbols);
    program.each_nest(symbols, &mut |nest, symbols| {
        run.symbols.clear();
        run.symbols.extend(symbols);
        run.nest(nest)
    })
}

/// Runs one nest of a program, given by its place, on memory that holds all cells it mentions.
pub(crate) fn evaluate_nest(
    program: &Program,
    nest: usize,
    memory: &mut Memory,
    symbols: &[i64],
) -> Result<(), Stop> {
    Run::new(program, memory, symbols).nest(nest)
}

/// An integer, and whether an integer that is stored has to do with it.
#[derive(Clone, Copy)]
struct WholeNumber {
    number: i64,
    stored: bool,
}

struct Run<'a> {
    program: &'a Program,
    memory: &'a mut Memory,
    symbols: Vec<i64>,
    vars: Vec<u64>,
    locals: Vec<f64>,
    reals: Reals,
    /// The type that the current statement computes in.
    real: Dtype,
}

impl<'a> Run<'a> {
    fn new(program: &'a Program, memory: &'a mut Memory, symbols: &[i64]) -> Run<'a> {
        Run {
            program,
            memory,
            symbols: symbols.to_vec(),
            vars: vec![0; program.vars.len()],
            locals: vec![f64::NAN; program.locals as usize],
            reals: Reals::default(),
            real: Dtype::F64,
        }
    }

    fn nest(&mut self, at: usize) -> Result<(), Stop> {
        let nest = &self.program.nests[at];
        self.reals = Reals::of(self.program, &nest.body);
        self.block(&nest.body)?;
        self.complete_sums(&nest.body);
        Ok(())
    }

    fn block(&mut self, body: &[Statement]) -> Result<(), Stop> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Stop> {
        self.real = self.reals.of_statement(statement);
        match statement {
            Statement::Loop(each) => {
                for value in 0..each.extent.get() {
                    self.vars[each.var.index()] = value;
                    self.block(&each.body)?;
                }
            }
            Statement::Store { cell, accumulate, value } => {
                let dtype = self.program.buffer(cell.buffer).dtype;
                let whole = if dtype.is_float() { None } else { self.whole(value)? };
                if let Some(value) = whole {
                    let at = self.address(cell)?;
                    let held = &mut self.memory.buffers[cell.buffer.index()];
                    let result = match accumulate {
                        Some(function) => function.of_whole(held.whole(at), value.number),
                        None => Some(value.number),
                    };
                    if let Some(result) = result {
                        held.set_whole(at, dtype.nearest(result));
                        return Ok(());
                    }
                }
                let value = self.scalar(value)?;
                let at = self.address(cell)?;
                let cells = &mut self.memory.buffers[cell.buffer.index()];
                let held = cells.get(at);
                cells.set(
                    at,
                    match accumulate {
                        Some(Binary::Add) if dtype.is_float() => held + value,
                        Some(function) => round(dtype, function.of(held, value)),
                        None => round(dtype, value),
                    },
                );
            }
            Statement::Declare { local, value } => {
                self.locals[local.index()] = round(self.reals.of_local(*local), self.scalar(value)?);
            }
            Statement::Update { local, accumulate, value } => {
                let value = self.scalar(value)?;
                let held = &mut self.locals[local.index()];
                *held = match accumulate {
                    Some(Binary::Add) => *held + value,
                    Some(function) => round(self.real, function.of(*held, value)),
                    None => round(self.real, value),
                };
            }
            Statement::Check { cell, below, of } => self.check(cell, below.get(), *of)?,
            Statement::Sort { keys, places, axis, count, descending } => {
                let order = self.order(keys, *axis as usize, count.get(), *descending)?;
                let (start, step) = (self.address(places)?, self.stride(places.buffer, *axis as usize));
                let cells = &mut self.memory.buffers[places.buffer.index()];
                for (at, place) in order.into_iter().enumerate() {
                    cells.set_whole(start + at * step, place);
                }
            }
            Statement::Matrix { function, work, sizes } => self.matrix(*function, work, sizes)?,
            Statement::Fill { buffer, value } => {
                let value = round(self.program.buffer(*buffer).dtype, *value);
                self.memory.buffers[buffer.index()].fill(value);
            }
            Statement::FillMargins { buffer, value } => {
                let inside = self.memory.buffers[buffer.index()].clone();
                let (cells, dtype) =
                    (&mut self.memory.buffers[buffer.index()], self.program.buffer(*buffer).dtype);
                cells.fill(*value);
                each_inside(self.program.buffer(*buffer), |at| match (&mut *cells, &inside) {
                    (Cells::Whole(cells), Cells::Whole(inside)) => cells[at] = inside[at],
                    (cells, inside) => cells.set(at, round(dtype, inside.get(at))),
                });
            }
        }
        Ok(())
    }

    /// Computes a function of matrices on a row.
    #[cfg(not(target_arch = "wasm32"))]
    fn matrix(&mut self, function: MatrixFunction, work: &Cell, sizes: &[Size]) -> Result<(), Stop> {
        let (start, room) = (self.address(work)?, function.room(sizes).get() as usize);
        let sizes: Vec<usize> = sizes.iter().map(|size| size.get() as usize).collect();
        let row = match &mut self.memory.buffers[work.buffer.index()] {
            Cells::Real(cells) => cells.get_mut(start..start + room),
            Cells::Whole(_) => None,
        };
        function.run(row.ok_or(Stop::Address { buffer: work.buffer })?, &sizes);
        Ok(())
    }

    /// The page has no room for functions of matrices, and the language refuses them there.
    #[cfg(target_arch = "wasm32")]
    fn matrix(&mut self, _: MatrixFunction, work: &Cell, _: &[Size]) -> Result<(), Stop> {
        Err(Stop::Address { buffer: work.buffer })
    }

    /// The distance between neighbours along an axis of a buffer.
    fn stride(&self, buffer: BufferId, axis: usize) -> usize {
        self.program.buffer(buffer).strides()[axis].get() as usize
    }

    /// The positions of a row of numbers in the order of the numbers.
    fn order(&self, keys: &Cell, axis: usize, count: u64, descending: bool) -> Result<Vec<i64>, Stop> {
        let (start, step) = (self.address(keys)?, self.stride(keys.buffer, axis));
        let cells = &self.memory.buffers[keys.buffer.index()];
        let at = |place: &i64| start + *place as usize * step;
        let mut order: Vec<i64> = (0..count as i64).collect();
        match cells {
            Cells::Whole(_) if descending => order.sort_by_key(|place| Reverse(cells.whole(at(place)))),
            Cells::Whole(_) => order.sort_by_key(|place| cells.whole(at(place))),
            Cells::Real(_) => order.sort_by(|a, b| {
                let (a, b) = (cells.get(at(a)), cells.get(at(b)));
                let by_size = || if descending { b.partial_cmp(&a) } else { a.partial_cmp(&b) };
                // What is not a number comes last, in either order.
                a.is_nan().cmp(&b.is_nan()).then_with(|| by_size().unwrap_or(Ordering::Equal))
            }),
        }
        Ok(order)
    }

    /// Rounds the sums that a nest has accumulated.
    fn complete_sums(&mut self, body: &[Statement]) {
        for statement in body {
            statement.each(&mut |inner| {
                if let Statement::Store { cell, accumulate: Some(Binary::Add), .. } = inner {
                    let dtype = self.program.buffer(cell.buffer).dtype;
                    if let Cells::Real(cells) = &mut self.memory.buffers[cell.buffer.index()] {
                        cells.iter_mut().for_each(|held| *held = round(dtype, *held));
                    }
                }
            });
        }
    }

    /// The contents of a cell, rounded as they will be when its sum is complete.
    fn held(&self, cell: &Cell) -> Result<f64, Stop> {
        let held = self.memory.buffers[cell.buffer.index()].get(self.address(cell)?);
        Ok(round(self.program.buffer(cell.buffer).dtype, held))
    }

    /// The contents of a cell in the type that is computed in, rounded once.
    fn load(&self, cell: &Cell) -> Result<f64, Stop> {
        match &self.memory.buffers[cell.buffer.index()] {
            Cells::Whole(cells) if self.real == Dtype::F32 => {
                Ok(f64::from(cells[self.address(cell)?] as f32))
            }
            _ => Ok(round(self.real, self.held(cell)?)),
        }
    }

    fn check(&self, cell: &Cell, below: u64, of: BufferId) -> Result<(), Stop> {
        let at = self.address(cell)?;
        let value = self.memory.buffers[cell.buffer.index()].whole(at);
        if u64::try_from(value).is_ok_and(|value| value < below) {
            return Ok(());
        }
        Err(Stop::Index { buffer: cell.buffer, cell: at as u64, value, below, of })
    }

    /// The place of a cell in its buffer.
    fn address(&self, cell: &Cell) -> Result<usize, Stop> {
        let buffer = self.program.buffer(cell.buffer);
        let outside = Stop::Address { buffer: cell.buffer };
        let mut at = 0;
        for (axis, index) in cell.index.iter().enumerate() {
            let (left, right) = buffer.margin(axis);
            let size = (left + buffer.sizes[axis].get() + right) as i64;
            let place = self.index(index)? + left as i64;
            if place < 0 || place >= size {
                return Err(outside);
            }
            at = at * size as usize + place as usize;
        }
        if cell.index.len() == buffer.sizes.len() { Ok(at) } else { Err(outside) }
    }

    fn index(&self, index: &Index) -> Result<i64, Stop> {
        Ok(match index {
            Index::At(sum) => sum.at(&self.vars),
            Index::Symbol(symbol) => self.symbols[*symbol as usize],
            Index::Value(cell) => self.memory.buffers[cell.buffer.index()].whole(self.address(cell)?),
        })
    }

    /// The value of what is computed from integers alone, by functions whose values are integers; nothing of anything else.
    fn whole(&self, scalar: &Scalar) -> Result<Option<WholeNumber>, Stop> {
        let literal = |number: i64| WholeNumber { number, stored: false };
        Ok(match scalar {
            Scalar::Number(value) => whole_number(*value).map(literal),
            Scalar::Load(cell) if !self.program.buffer(cell.buffer).dtype.is_float() => {
                let number = self.memory.buffers[cell.buffer.index()].whole(self.address(cell)?);
                Some(WholeNumber { number, stored: true })
            }
            Scalar::Position(sum) => Some(literal(sum.at(&self.vars))),
            Scalar::Symbol(symbol) => Some(literal(self.symbols[*symbol as usize])),
            Scalar::Unary(function, a) => {
                let Some(a) = self.whole(a)? else { return Ok(None) };
                function.of_whole(a.number).map(|number| WholeNumber { number, ..a })
            }
            Scalar::Binary(function, a, b) => {
                let Some(a) = self.whole(a)? else { return Ok(None) };
                let Some(b) = self.whole(b)? else { return Ok(None) };
                let stored = a.stored || b.stored;
                function.of_whole(a.number, b.number).map(|number| WholeNumber { number, stored })
            }
            Scalar::Select(condition, a, b) => {
                let Some(a) = self.whole(a)? else { return Ok(None) };
                let Some(b) = self.whole(b)? else { return Ok(None) };
                let chosen = if self.scalar(condition)? == 0.0 { b } else { a };
                Some(WholeNumber { number: chosen.number, stored: a.stored || b.stored })
            }
            Scalar::Load(_) | Scalar::Local(_) | Scalar::Uniform { .. } => None,
        })
    }

    /// The result of a comparison of integers, at least one of which is stored.
    fn compared(&self, function: Binary, a: &Scalar, b: &Scalar) -> Result<Option<f64>, Stop> {
        let Some(a) = self.whole(a)? else { return Ok(None) };
        let Some(b) = self.whole(b)? else { return Ok(None) };
        let holds = function.of_whole(a.number, b.number).filter(|_| a.stored || b.stored);
        Ok(holds.map(|holds| holds as f64))
    }

    fn scalar(&self, scalar: &Scalar) -> Result<f64, Stop> {
        Ok(match scalar {
            Scalar::Number(value) => round(self.real, *value),
            Scalar::Load(cell) => self.load(cell)?,
            Scalar::Local(local) => round(self.real, self.locals[local.index()]),
            Scalar::Position(sum) => round(self.real, sum.at(&self.vars) as f64),
            Scalar::Symbol(symbol) => round(self.real, self.symbols[*symbol as usize] as f64),
            Scalar::Uniform { key, stream, at } => {
                let key = self.symbols[*key as usize] as u64 ^ stream;
                f64::from(uniform_f32(key, at.at(&self.vars) as u64))
            }
            Scalar::Unary(function, a) => round(self.real, function.of(self.scalar(a)?)),
            Scalar::Binary(function, a, b)
                if function.is_comparison()
                    && let Some(holds) = self.compared(*function, a, b)? =>
            {
                holds
            }
            Scalar::Binary(function, a, b) => round(self.real, function.of(self.scalar(a)?, self.scalar(b)?)),
            Scalar::Select(condition, a, b) => {
                let chosen = if self.scalar(condition)? == 0.0 { b } else { a };
                self.scalar(chosen)?
            }
        })
    }
}
