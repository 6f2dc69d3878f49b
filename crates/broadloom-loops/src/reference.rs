//! The reference evaluator: slow and simple, so that everything else is checked against it.
//!
//! Numbers are rounded to the type that a statement computes in after every operation, and to the
//! type of their buffer when they are stored; but sums only when they are complete, so that their
//! error does not depend on the number of terms. Every address is checked. A local buffer holds NaN
//! before it is written, so that reading it too early shows.

use half::{bf16, f16};
use rustc_hash::FxHashSet;

use crate::function::Binary;
use crate::program::{BufferId, Cell, Index, Local, Program, Statement, Storage};
use crate::{Buffer, Dtype, Element, Scalar};
use broadloom_array::random::uniform_f32;

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

/// The contents of all buffers, margins included.
#[derive(Clone, Debug)]
pub struct Memory {
    buffers: Vec<Vec<f64>>,
}

impl Memory {
    /// Memory for a program: kept buffers are 0, local ones NaN, and margins have their fill.
    pub fn new(program: &Program) -> Result<Memory, Stop> {
        let room = |(at, buffer): (usize, &Buffer)| {
            fresh(buffer).ok_or(Stop::Memory { buffer: BufferId(at as u32) })
        };
        Ok(Memory { buffers: program.buffers.iter().enumerate().map(room).collect::<Result<_, _>>()? })
    }

    /// The numbers of a buffer, margins not included.
    pub fn read(&self, program: &Program, id: BufferId) -> Vec<f64> {
        let mut values = Vec::new();
        each_inside(program.buffer(id), |at| values.push(self.buffers[id.index()][at]));
        values
    }

    /// Sets the numbers of a buffer, margins not included.
    ///
    /// # Panics
    /// If there are fewer values than cells.
    pub fn write(&mut self, program: &Program, id: BufferId, values: &[f64]) {
        let buffer = program.buffer(id);
        let (cells, mut next) = (&mut self.buffers[id.index()], 0);
        each_inside(buffer, |at| {
            cells[at] = round(buffer.dtype, values[next]);
            next += 1;
        });
    }
}

/// Runs a program on memory that was made for it.
pub fn evaluate(program: &Program, memory: &mut Memory, symbols: &[i64]) -> Result<(), Stop> {
    // Local buffers keep nothing from one run to the next.
    for (cells, buffer) in memory.buffers.iter_mut().zip(&program.buffers) {
        if buffer.storage == Storage::Local {
            clear(cells, buffer);
        }
    }
    let mut run = Run {
        program,
        memory,
        symbols,
        vars: vec![0; program.vars.len()],
        locals: vec![f64::NAN; program.locals as usize],
        reals: Reals::default(),
        real: Dtype::F64,
    };
    program.nests.iter().try_for_each(|nest| {
        run.reals = Reals::of(program, &nest.body);
        run.block(&nest.body)?;
        run.complete_sums(&nest.body);
        Ok(())
    })
}

/// The type that each statement of a nest computes in: 64-bit floats if it reads or sets those, in
/// buffers or in locals, or sets an integer; 32-bit floats otherwise. A local has the widest type
/// it is set with or used for. Every result is rounded to the type, as the machine does, so that
/// equal things compare equal.
#[derive(Default)]
struct Reals {
    wide_locals: FxHashSet<Local>,
    /// The statements that compute in 64 bits, by their addresses.
    wide: FxHashSet<*const Statement>,
}

impl Reals {
    fn of(program: &Program, body: &[Statement]) -> Reals {
        let mut reals = Reals::default();
        loop {
            let known = reals.wide_locals.len();
            for statement in body {
                statement.each(&mut |inner| reals.look_at(program, inner));
            }
            if reals.wide_locals.len() == known {
                return reals;
            }
        }
    }

    fn look_at(&mut self, program: &Program, statement: &Statement) {
        let mut used = Vec::new();
        if let Some(value) = statement.value() {
            value.each(&mut |scalar| {
                used.extend(match scalar {
                    Scalar::Local(local) => Some(*local),
                    _ => None,
                })
            });
        }
        let set = match statement {
            Statement::Declare { local, .. } | Statement::Update { local, .. } => Some(*local),
            _ => None,
        };
        let of_wide = used.iter().chain(&set).any(|local| self.wide_locals.contains(local));
        if of_wide || has_wide_buffers(program, statement) {
            self.wide.insert(std::ptr::from_ref(statement));
            self.wide_locals.extend(set);
            self.wide_locals.extend(used);
        }
    }

    fn of_statement(&self, statement: &Statement) -> Dtype {
        if self.wide.contains(&std::ptr::from_ref(statement)) { Dtype::F64 } else { Dtype::F32 }
    }

    fn of_local(&self, local: Local) -> Dtype {
        if self.wide_locals.contains(&local) { Dtype::F64 } else { Dtype::F32 }
    }
}

/// Returns true if a statement sets integers, or reads or sets 64-bit floats.
fn has_wide_buffers(program: &Program, statement: &Statement) -> bool {
    let sets = statement.written().map(|id| program.buffer(id).dtype);
    let mut wide = sets.is_some_and(|dtype| dtype == Dtype::F64 || !dtype.is_float());
    statement.each_read(&mut |cell| wide |= program.buffer(cell.buffer).dtype == Dtype::F64);
    wide
}

/// The initial cells of a buffer, if there is room for them.
fn fresh(buffer: &Buffer) -> Option<Vec<f64>> {
    let mut cells = Vec::new();
    let count = usize::try_from(buffer.cells().as_number()?).ok()?;
    cells.try_reserve_exact(count).ok()?;
    cells.resize(count, 0.0);
    clear(&mut cells, buffer);
    Some(cells)
}

/// Sets the initial contents of a buffer.
fn clear(cells: &mut [f64], buffer: &Buffer) {
    let inside = if buffer.storage == Storage::Kept { 0.0 } else { f64::NAN };
    if buffer.has_margins() {
        cells.fill(round(buffer.dtype, buffer.fill));
        each_inside(buffer, |at| cells[at] = inside);
    } else {
        cells.fill(inside);
    }
}

/// A number as a buffer of some type holds it.
pub fn round(dtype: Dtype, value: f64) -> f64 {
    match dtype {
        Dtype::I32 => f64::from(value as i32),
        Dtype::I64 => value as i64 as f64,
        Dtype::Bf16 => <bf16 as Element>::from_f64(value).to_f64(),
        Dtype::F16 => <f16 as Element>::from_f64(value).to_f64(),
        Dtype::F32 => f64::from(value as f32),
        Dtype::F64 => value,
    }
}

/// Visits the cells of a buffer that are not margins, in order.
pub(crate) fn each_inside(buffer: &Buffer, mut visit: impl FnMut(usize)) {
    let (sizes, strides) = (buffer.shape(), buffer.strides());
    let strides: Vec<u64> = strides.into_iter().map(|stride| stride.get()).collect();
    let start: u64 = strides.iter().enumerate().map(|(axis, stride)| buffer.margin(axis).0 * stride).sum();
    let mut point = vec![0; sizes.len()];
    if sizes.contains(&0) {
        return;
    }
    loop {
        let at: u64 = point.iter().zip(&strides).map(|(index, stride): (&u64, &u64)| index * stride).sum();
        visit((start + at) as usize);
        let next = (0..point.len()).rev().find(|axis| {
            point[*axis] = (point[*axis] + 1) % sizes[*axis];
            point[*axis] != 0
        });
        if next.is_none() {
            return;
        }
    }
}

struct Run<'a> {
    program: &'a Program,
    memory: &'a mut Memory,
    symbols: &'a [i64],
    vars: Vec<u64>,
    locals: Vec<f64>,
    reals: Reals,
    /// The type that the current statement computes in.
    real: Dtype,
}

impl Run<'_> {
    fn block(&mut self, body: &[Statement]) -> Result<(), Stop> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Stop> {
        self.real = self.reals.of_statement(statement);
        match statement {
            Statement::Loop(each) => {
                for value in 0..each.extent.get() {
                    self.vars[each.var as usize] = value;
                    self.block(&each.body)?;
                }
            }
            Statement::Store { cell, accumulate, value } => {
                let value = self.scalar(value)?;
                let at = self.address(cell)?;
                let dtype = self.program.buffer(cell.buffer).dtype;
                let held = &mut self.memory.buffers[cell.buffer.index()][at];
                *held = match accumulate {
                    Some(Binary::Add) if dtype.is_float() => *held + value,
                    Some(function) => round(dtype, function.of(*held, value)),
                    None => round(dtype, value),
                };
            }
            Statement::Declare { local, value } => {
                self.locals[local.0 as usize] = round(self.reals.of_local(*local), self.scalar(value)?);
            }
            Statement::Update { local, accumulate, value } => {
                let value = self.scalar(value)?;
                let held = &mut self.locals[local.0 as usize];
                *held = match accumulate {
                    Some(Binary::Add) => *held + value,
                    Some(function) => round(self.real, function.of(*held, value)),
                    None => round(self.real, value),
                };
            }
            Statement::Check { cell, below, of } => self.check(cell, below.get(), *of)?,
            Statement::Fill { buffer, value } => {
                let value = round(self.program.buffer(*buffer).dtype, *value);
                self.memory.buffers[buffer.index()].fill(value);
            }
            Statement::FillMargins { buffer, value } => {
                let inside = self.memory.read(self.program, *buffer);
                self.memory.buffers[buffer.index()].fill(*value);
                self.memory.write(self.program, *buffer, &inside);
            }
        }
        Ok(())
    }

    /// Rounds the sums that a nest has accumulated.
    fn complete_sums(&mut self, body: &[Statement]) {
        for statement in body {
            statement.each(&mut |inner| {
                if let Statement::Store { cell, accumulate: Some(Binary::Add), .. } = inner {
                    let dtype = self.program.buffer(cell.buffer).dtype;
                    let cells = &mut self.memory.buffers[cell.buffer.index()];
                    cells.iter_mut().for_each(|held| *held = round(dtype, *held));
                }
            });
        }
    }

    /// The contents of a cell, rounded as they will be when its sum is complete.
    fn held(&self, cell: &Cell) -> Result<f64, Stop> {
        let held = self.memory.buffers[cell.buffer.index()][self.address(cell)?];
        Ok(round(self.program.buffer(cell.buffer).dtype, held))
    }

    fn check(&self, cell: &Cell, below: u64, of: BufferId) -> Result<(), Stop> {
        let at = self.address(cell)?;
        let value = self.memory.buffers[cell.buffer.index()][at] as i64;
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
            Index::Value(cell) => self.memory.buffers[cell.buffer.index()][self.address(cell)?] as i64,
        })
    }

    fn scalar(&self, scalar: &Scalar) -> Result<f64, Stop> {
        Ok(match scalar {
            Scalar::Number(value) => round(self.real, *value),
            Scalar::Load(cell) => round(self.real, self.held(cell)?),
            Scalar::Local(local) => round(self.real, self.locals[local.0 as usize]),
            Scalar::Position(sum) => round(self.real, sum.at(&self.vars) as f64),
            Scalar::Symbol(symbol) => round(self.real, self.symbols[*symbol as usize] as f64),
            Scalar::Uniform { key, stream, at } => {
                let key = self.symbols[*key as usize] as u64 ^ stream;
                f64::from(uniform_f32(key, at.at(&self.vars) as u64))
            }
            Scalar::Unary(function, a) => round(self.real, function.of(self.scalar(a)?)),
            Scalar::Binary(function, a, b) => round(self.real, function.of(self.scalar(a)?, self.scalar(b)?)),
            Scalar::Select(condition, a, b) => {
                let chosen = if self.scalar(condition)? == 0.0 { b } else { a };
                self.scalar(chosen)?
            }
        })
    }
}
