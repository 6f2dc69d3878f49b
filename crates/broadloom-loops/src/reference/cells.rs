//! The memory of the evaluator: the cells of all buffers, margins included.

use super::Stop;
use crate::buffer::{BufferId, Storage};
use crate::program::Program;
use crate::rounding::round;
use crate::{Array, ArrayError, Block, Buffer, Dtype};

/// The contents of all buffers, margins included.
#[derive(Clone, Debug)]
pub struct Memory {
    pub(super) buffers: Vec<Cells>,
}

/// The cells of a buffer. A float holds every number of every type but of one.
#[derive(Clone, Debug)]
pub(super) enum Cells {
    Real(Vec<f64>),
    /// 64-bit integers.
    Whole(Vec<i64>),
}

impl Cells {
    pub fn get(&self, at: usize) -> f64 {
        match self {
            Cells::Real(cells) => cells[at],
            Cells::Whole(cells) => cells[at] as f64,
        }
    }

    pub fn whole(&self, at: usize) -> i64 {
        match self {
            Cells::Real(cells) => cells[at] as i64,
            Cells::Whole(cells) => cells[at],
        }
    }

    /// Sets a cell to a number that is rounded to the type of the buffer.
    pub fn set(&mut self, at: usize, value: f64) {
        match self {
            Cells::Real(cells) => cells[at] = value,
            Cells::Whole(cells) => cells[at] = value as i64,
        }
    }

    pub fn set_whole(&mut self, at: usize, value: i64) {
        match self {
            Cells::Real(cells) => cells[at] = value as f64,
            Cells::Whole(cells) => cells[at] = value,
        }
    }

    pub fn fill(&mut self, value: f64) {
        match self {
            Cells::Real(cells) => cells.fill(value),
            Cells::Whole(cells) => cells.fill(value as i64),
        }
    }
}

impl Memory {
    /// Memory for a program: kept buffers are 0, local ones NaN, and margins have their fill.
    pub fn new(program: &Program) -> Result<Memory, Stop> {
        let room = |(at, buffer): (usize, &Buffer)| {
            fresh(buffer).ok_or(Stop::Memory { buffer: BufferId(at as u32) })
        };
        Ok(Memory { buffers: program.buffers.iter().enumerate().map(room).collect::<Result<_, _>>()? })
    }

    /// The cells of some buffers as blocks hold them; those of others are left out.
    pub(crate) fn of_blocks(blocks: &[&mut Block], wanted: impl Fn(BufferId) -> bool) -> Memory {
        let cells = |(at, block): (usize, &&mut Block)| match block.whole_cells() {
            _ if !wanted(BufferId(at as u32)) => Cells::Real(Vec::new()),
            Some(cells) => Cells::Whole(cells.to_vec()),
            None => Cells::Real(block.cells()),
        };
        Memory { buffers: blocks.iter().enumerate().map(cells).collect() }
    }

    /// Sets the cells of a block, which has memory of its own, to those of a buffer.
    pub(crate) fn write_block(&self, id: BufferId, block: &mut Block) {
        match &self.buffers[id.index()] {
            Cells::Real(cells) => block.set_cells(cells),
            Cells::Whole(cells) => block.set_whole_cells(cells),
        }
    }

    /// The numbers of a buffer, margins not included.
    pub fn read(&self, program: &Program, id: BufferId) -> Vec<f64> {
        let mut values = Vec::new();
        each_inside(program.buffer(id), |at| values.push(self.buffers[id.index()].get(at)));
        values
    }

    /// The numbers of a buffer as they are, margins not included.
    pub fn read_array(&self, program: &Program, id: BufferId) -> Result<Array, ArrayError> {
        let buffer = program.buffer(id);
        match &self.buffers[id.index()] {
            Cells::Whole(cells) => {
                let mut values: Vec<i64> = Vec::new();
                each_inside(buffer, |at| values.push(cells[at]));
                Array::new(&buffer.shape(), values)
            }
            Cells::Real(_) => Ok(Array::new(&buffer.shape(), self.read(program, id))?.convert(buffer.dtype)),
        }
    }

    /// Sets the numbers of a buffer as they are, margins not included.
    ///
    /// # Panics
    /// If there are fewer values than cells.
    pub fn write_array(&mut self, program: &Program, id: BufferId, array: &Array) {
        match (&mut self.buffers[id.index()], array.as_slice::<i64>()) {
            (Cells::Whole(cells), Some(values)) => {
                let mut next = 0;
                each_inside(program.buffer(id), |at| {
                    cells[at] = values[next];
                    next += 1;
                });
            }
            _ => self.write(program, id, &array.to_f64s()),
        }
    }

    /// Sets the numbers of a buffer, margins not included.
    ///
    /// # Panics
    /// If there are fewer values than cells.
    pub fn write(&mut self, program: &Program, id: BufferId, values: &[f64]) {
        let buffer = program.buffer(id);
        let (cells, mut next) = (&mut self.buffers[id.index()], 0);
        each_inside(buffer, |at| {
            cells.set(at, round(buffer.dtype, values[next]));
            next += 1;
        });
    }
}

/// The cells of a buffer as they are at first, if there is room for them.
fn fresh(buffer: &Buffer) -> Option<Cells> {
    fn zeros<T: Default + Clone>(count: usize) -> Option<Vec<T>> {
        let mut cells = Vec::new();
        cells.try_reserve_exact(count).ok()?;
        cells.resize(count, T::default());
        Some(cells)
    }
    let count = usize::try_from(buffer.cells().as_number()?).ok()?;
    let mut cells = match buffer.dtype {
        Dtype::I64 => Cells::Whole(zeros(count)?),
        _ => Cells::Real(zeros(count)?),
    };
    clear(&mut cells, buffer);
    Some(cells)
}

/// Sets what a buffer holds at first.
pub(super) fn clear(cells: &mut Cells, buffer: &Buffer) {
    let inside = if buffer.storage == Storage::Kept { 0.0 } else { f64::NAN };
    if buffer.has_margins() {
        cells.fill(round(buffer.dtype, buffer.fill));
        each_inside(buffer, |at| cells.set(at, inside));
    } else {
        cells.fill(inside);
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
