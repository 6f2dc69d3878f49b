//! Blocks: the memory of buffers that outlive a run.
//!
//! A block holds the cells of one buffer with its margins, as compiled code reads and writes them.
//! Callers see only the inside: arrays go in and come out without margins. A block without margins can
//! also be [lent](Block::lend), and it can be [taken](Block::take) out of its place, which stays vacant until it is furnished again.

use broadloom_array::Element;
use half::{bf16, f16};

use crate::lent::Lent;
use crate::plain::{Flag, Plain};
use crate::{Array, ArrayError, Buffer, Dtype};

/// The memory of one buffer.
///
/// ```
/// use broadloom_loops::{Array, Block, Buffer, Dtype, Storage};
///
/// let buffer = Buffer {
///     name: "x".into(),
///     dtype: Dtype::F32,
///     sizes: vec![3.into()],
///     margins: vec![(1, 1)],
///     fill: -1.0,
///     storage: Storage::Kept,
/// };
/// let mut block = Block::new(&buffer)?;
/// block.write(&Array::from_slice(&[3], &[1.0f32, 2.0, 3.0])?)?;
/// assert_eq!(block.read().to_f64s(), [1.0, 2.0, 3.0]);
/// assert_eq!(block.cells(), [-1.0, 1.0, 2.0, 3.0, -1.0]);
/// # Ok::<(), broadloom_loops::ArrayError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Block {
    place: Backing,
    /// The value of cells in margins.
    fill: f64,
    /// The number of cells, margins included.
    cells: usize,
    dtype: Dtype,
    sizes: Vec<u64>,
    margins: Vec<(u64, u64)>,
}

/// The place of the cells of a block.
#[derive(Clone, Debug)]
enum Backing {
    /// Enough lines for all cells.
    Own(Vec<Line>),
    /// Memory of somebody else, which is only read.
    Lent(Lent),
    /// None at the moment.
    Vacant,
}

/// One expression for the cells of a block as the type they have.
macro_rules! each_type {
    ($dtype:expr, $element:ident => $result:expr) => {
        match $dtype {
            Dtype::Bool => {
                type $element = Flag;
                $result
            }
            Dtype::U8 => {
                type $element = u8;
                $result
            }
            Dtype::I8 => {
                type $element = i8;
                $result
            }
            Dtype::I16 => {
                type $element = i16;
                $result
            }
            Dtype::I32 => {
                type $element = i32;
                $result
            }
            Dtype::I64 => {
                type $element = i64;
                $result
            }
            Dtype::Bf16 => {
                type $element = bf16;
                $result
            }
            Dtype::F16 => {
                type $element = f16;
                $result
            }
            Dtype::F32 => {
                type $element = f32;
                $result
            }
            Dtype::F64 => {
                type $element = f64;
                $result
            }
        }
    };
}

impl Block {
    /// Memory for a buffer: 0 inside, margins filled.
    pub fn new(buffer: &Buffer) -> Result<Block, ArrayError> {
        let too_large = || ArrayError { message: format!("`{}` does not fit into memory", buffer.name) };
        let mut block = Block::vacant(buffer).ok_or_else(too_large)?;
        block.place = Backing::Own(lines(block.bytes()).ok_or_else(too_large)?);
        if buffer.has_margins() {
            block.fill_margins(buffer.fill);
        }
        Ok(block)
    }

    /// A block without margins that holds the numbers of an array.
    pub fn of(array: &Array) -> Result<Block, ArrayError> {
        let sizes = array.sizes().iter().map(|size| (*size).into()).collect();
        let (dtype, margins) = (array.dtype(), Vec::new());
        let buffer =
            Buffer { name: String::new(), dtype, sizes, margins, fill: 0.0, storage: crate::Storage::Kept };
        let mut block = Block::new(&buffer)?;
        block.write(array)?;
        Ok(block)
    }

    /// A block for a buffer, without memory as yet.
    fn vacant(buffer: &Buffer) -> Option<Block> {
        let cells = buffer.padded().map(|size| size.get()).try_fold(1u64, u64::checked_mul)?;
        let bytes = cells.checked_mul(buffer.dtype.bytes() as u64)?;
        usize::try_from(bytes).ok()?;
        Some(Block {
            place: Backing::Vacant,
            fill: buffer.fill,
            cells: cells as usize,
            dtype: buffer.dtype,
            sizes: buffer.shape(),
            margins: (0..buffer.sizes.len()).map(|axis| buffer.margin(axis)).collect(),
        })
    }

    /// Reads the numbers of somebody else from now on, where they are. Returns false, and changes nothing, if they have
    /// another type or other sizes, or if the block has margins.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use broadloom_loops::{Array, Block, Buffer, Dtype, Lent, Storage};
    ///
    /// let lent = Lent::of(&Arc::new(Array::from_slice(&[3], &[1.0f32, 2.0, 3.0])?));
    /// let buffer = Buffer {
    ///     name: "x".into(),
    ///     dtype: Dtype::F32,
    ///     sizes: vec![3.into()],
    ///     margins: vec![],
    ///     fill: 0.0,
    ///     storage: Storage::Kept,
    /// };
    /// let mut block = Block::new(&buffer)?;
    /// assert!(block.lend(&lent));
    /// assert_eq!(block.read().to_f64s(), [1.0, 2.0, 3.0]);
    /// # Ok::<(), broadloom_loops::ArrayError>(())
    /// ```
    pub fn lend(&mut self, lent: &Lent) -> bool {
        let fits = self.dtype == lent.dtype() && self.sizes == lent.sizes() && !self.has_margins();
        if fits {
            self.place = Backing::Lent(lent.clone());
        }
        fits
    }

    /// Takes the block with its numbers, and leaves a vacant one in its place.
    #[must_use]
    pub fn take(&mut self) -> Block {
        let vacant = Block {
            place: Backing::Vacant,
            sizes: self.sizes.clone(),
            margins: self.margins.clone(),
            ..*self
        };
        std::mem::replace(self, vacant)
    }

    /// Gives memory of its own to a block that has none: cells are 0 in a vacant one, and those of the lender in a lent one.
    pub fn furnish(&mut self) -> Result<(), ArrayError> {
        let before = match &self.place {
            Backing::Own(_) => return Ok(()),
            Backing::Lent(_) => Some(self.read()),
            Backing::Vacant => None,
        };
        let no_room = || ArrayError { message: "there is not enough memory".into() };
        self.place = Backing::Own(lines(self.bytes()).ok_or_else(no_room)?);
        match before {
            Some(numbers) => self.write(&numbers)?,
            None if self.has_margins() => self.fill_margins(self.fill),
            None => {}
        }
        Ok(())
    }

    /// Returns true if it has no memory at the moment.
    pub fn is_vacant(&self) -> bool {
        matches!(self.place, Backing::Vacant)
    }

    /// Returns true if its numbers are those of somebody else.
    pub fn is_lent(&self) -> bool {
        matches!(self.place, Backing::Lent(_))
    }

    /// Returns true if its cells are more than the inside.
    pub fn has_margins(&self) -> bool {
        self.margins.iter().any(|margin| *margin != (0, 0))
    }

    /// The type of its numbers.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The sizes of the inside.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// The number of bytes that its cells take, margins included.
    pub fn bytes(&self) -> usize {
        self.cells * self.dtype.bytes()
    }

    /// The number of bytes that are allocated for them.
    pub fn allocated(&self) -> usize {
        match &self.place {
            Backing::Own(lines) => size_of_val(lines.as_slice()),
            Backing::Lent(_) | Backing::Vacant => 0,
        }
    }

    /// Returns true if it has the type, the sizes and the margins of a buffer.
    pub fn fits(&self, buffer: &Buffer) -> bool {
        let margins = || (0..buffer.sizes.len()).map(|axis| buffer.margin(axis));
        self.dtype == buffer.dtype
            && self.sizes == buffer.shape()
            && margins().eq(self.margins.iter().copied())
    }

    /// The numbers of the inside.
    pub fn read(&self) -> Array {
        let array = each_type!(self.dtype, T => {
            let (cells, mut numbers) = (self.typed::<T>(), Vec::new());
            self.each_run(|from, length| numbers.extend(cells[from..from + length].iter().map(|cell| cell.number())));
            Array::new(&self.sizes, numbers)
        });
        array.expect("the runs of a block have as many cells as its sizes say")
    }

    /// Sets the numbers of the inside. Sizes must agree; numbers of another type are converted.
    pub fn write(&mut self, array: &Array) -> Result<(), ArrayError> {
        if array.sizes() != self.sizes {
            let message = format!("sizes are {:?}, but {:?} are needed", array.sizes(), self.sizes);
            return Err(ArrayError { message });
        }
        if array.dtype() != self.dtype {
            return self.write(&array.convert(self.dtype));
        }
        if self.is_lent() {
            self.place = Backing::Vacant;
        }
        self.furnish()?;
        each_type!(self.dtype, T => {
            if let Some(numbers) = array.as_slice::<<T as Plain>::Number>() {
                let mut rest = numbers;
                self.edit_runs::<T>(|cells| {
                    let (now, later) = rest.split_at(cells.len());
                    cells.iter_mut().zip(now).for_each(|(cell, number)| *cell = T::of(*number));
                    rest = later;
                });
            }
        });
        Ok(())
    }

    /// The numbers of the inside as 64-bit floats.
    pub fn numbers(&self) -> Vec<f64> {
        let mut numbers = Vec::new();
        each_type!(self.dtype, T => {
            let cells = self.typed::<T>();
            self.each_run(|from, length| numbers.extend(cells[from..from + length].iter().map(|cell| cell.number().to_f64())));
        });
        numbers
    }

    /// Sets the numbers of the inside from 64-bit floats, one for each.
    pub fn set_numbers(&mut self, numbers: &[f64]) -> Result<(), ArrayError> {
        let inside: u64 = self.sizes.iter().product();
        if numbers.len() as u64 != inside {
            let message = format!("there are {} numbers, but {inside} are needed", numbers.len());
            return Err(ArrayError { message });
        }
        self.furnish()?;
        each_type!(self.dtype, T => {
            let mut rest = numbers.iter();
            self.edit_runs::<T>(|cells| {
                cells.iter_mut().zip(&mut rest).for_each(|(cell, x)| *cell = T::of(Element::from_f64(*x)));
            });
        });
        Ok(())
    }

    /// All cells, margins included, as 64-bit floats.
    pub fn cells(&self) -> Vec<f64> {
        each_type!(self.dtype, T => self.typed::<T>().iter().map(|cell| cell.number().to_f64()).collect())
    }

    /// All cells of a block of 64-bit integers, margins included.
    pub(crate) fn whole_cells(&self) -> Option<&[i64]> {
        (self.dtype == Dtype::I64).then(|| self.typed::<i64>())
    }

    /// Sets all cells, margins included, from 64-bit floats.
    pub(crate) fn set_cells(&mut self, numbers: &[f64]) {
        each_type!(self.dtype, T => {
            let cells = self.typed_mut::<T>().iter_mut();
            cells.zip(numbers).for_each(|(cell, x)| *cell = T::of(Element::from_f64(*x)));
        });
    }

    /// The same for a block of 64-bit integers.
    pub(crate) fn set_whole_cells(&mut self, numbers: &[i64]) {
        self.typed_mut::<i64>().copy_from_slice(numbers);
    }

    /// The bytes of memory of its own, margins included; none if it has no such memory.
    pub fn raw_mut(&mut self) -> Option<&mut [u8]> {
        let bytes = self.bytes();
        match &mut self.place {
            Backing::Own(lines) => Some(view::cells_mut(lines, bytes)),
            Backing::Lent(_) | Backing::Vacant => None,
        }
    }

    /// Sets the margins.
    pub fn fill_margins(&mut self, value: f64) {
        each_type!(self.dtype, T => {
            let value = T::of(Element::from_f64(value));
            let mut done = 0;
            let mut runs = Vec::new();
            self.each_run(|from, length| runs.push((from, length)));
            let cells = self.typed_mut::<T>();
            for (from, length) in runs {
                cells[done..from].fill(value);
                done = from + length;
            }
            cells[done..].fill(value);
        });
    }

    /// The address at which its memory begins; null if it is vacant. What is lent must not be written to.
    pub fn address(&mut self) -> *mut std::ffi::c_void {
        match &mut self.place {
            Backing::Own(lines) => lines.as_mut_ptr().cast(),
            Backing::Lent(lent) => lent.address().cast_mut(),
            Backing::Vacant => std::ptr::null_mut(),
        }
    }

    /// Visits the runs of neighbouring cells inside, in order, with the start and the length of
    /// each.
    fn each_run(&self, mut visit: impl FnMut(usize, usize)) {
        let Some((last, outer)) = self.sizes.split_last() else { return visit(0, 1) };
        if self.sizes.contains(&0) {
            return;
        }
        let padded = |axis: usize| self.margins[axis].0 + self.sizes[axis] + self.margins[axis].1;
        let mut point = vec![0u64; outer.len()];
        loop {
            let row = point
                .iter()
                .enumerate()
                .fold(0, |row, (axis, index)| row * padded(axis) + self.margins[axis].0 + index);
            let from = row * padded(outer.len()) + self.margins[outer.len()].0;
            visit(from as usize, *last as usize);
            let next = (0..point.len()).rev().find(|axis| {
                point[*axis] = (point[*axis] + 1) % outer[*axis];
                point[*axis] != 0
            });
            if next.is_none() {
                return;
            }
        }
    }

    fn edit_runs<T: Plain>(&mut self, mut edit: impl FnMut(&mut [T])) {
        let mut runs = Vec::new();
        self.each_run(|from, length| runs.push((from, length)));
        let cells = self.typed_mut::<T>();
        runs.into_iter().for_each(|(from, length)| edit(&mut cells[from..from + length]));
    }

    fn typed<T: Plain>(&self) -> &[T] {
        assert_eq!(T::Number::DTYPE, self.dtype, "cells are seen as what they are");
        match &self.place {
            Backing::Own(lines) => view::cells(lines, self.cells),
            Backing::Lent(lent) => lent.cells(),
            Backing::Vacant => panic!("a block is furnished before it is read"),
        }
    }

    fn typed_mut<T: Plain>(&mut self) -> &mut [T] {
        assert_eq!(T::Number::DTYPE, self.dtype, "cells are seen as what they are");
        match &mut self.place {
            Backing::Own(lines) => view::cells_mut(lines, self.cells),
            Backing::Lent(_) | Backing::Vacant => panic!("a block is furnished before it is written to"),
        }
    }
}

/// 64 bytes, aligned for the widest vector instructions.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Line([u8; 64]);

/// Zeroed memory of at least this many bytes and at least one line, or None if there is not enough.
pub fn lines(bytes: usize) -> Option<Vec<Line>> {
    let mut lines = Vec::new();
    let length = bytes.div_ceil(size_of::<Line>()).max(1);
    lines.try_reserve_exact(length).ok()?;
    lines.resize(length, Line([0; 64]));
    Some(lines)
}

/// Lines seen as numbers.
#[allow(unsafe_code, reason = "memory that compiled code writes has no type of its own")]
mod view {
    use super::{Line, Plain};

    /// The first numbers.
    pub(super) fn cells<T: Plain>(lines: &[Line], length: usize) -> &[T] {
        assert!(length * size_of::<T>() <= size_of_val(lines), "the lines hold the cells");
        // SAFETY: the memory is long enough, initialised, and more aligned than any number; elements are
        // plain numbers, for which all bit patterns are valid; the lines stay borrowed.
        unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), length) }
    }

    /// The first numbers, to be changed.
    pub(super) fn cells_mut<T: Plain>(lines: &mut [Line], length: usize) -> &mut [T] {
        assert!(length * size_of::<T>() <= size_of_val(lines), "the lines hold the cells");
        // SAFETY: as above, and the lines are borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;

    fn buffer(dtype: Dtype, sizes: &[u64], margins: &[(u64, u64)]) -> Buffer {
        let (sizes, margins) = (sizes.iter().map(|size| (*size).into()).collect(), margins.to_vec());
        Buffer { name: "x".into(), dtype, sizes, margins, fill: 7.0, storage: Storage::Kept }
    }

    #[test]
    fn every_type_goes_in_and_out() {
        for dtype in Dtype::ALL {
            let mut block = Block::new(&buffer(dtype, &[2, 3], &[(1, 0), (0, 2)])).unwrap();
            let held = |x: f64| crate::rounding::round(dtype, x);
            let numbers: Vec<f64> = (1..=6).map(f64::from).map(held).collect();
            block.set_numbers(&[1., 2., 3., 4., 5., 6.]).unwrap();
            assert_eq!(block.numbers(), numbers);
            assert_eq!(block.read().dtype(), dtype);
            let mut other = block.clone();
            other.write(&Array::new(&[2, 3], vec![9.0f32; 6]).unwrap()).unwrap();
            assert_eq!(other.numbers(), [held(9.0); 6]);
            other.write(&block.read()).unwrap();
            assert_eq!(other.numbers(), numbers);
            let expected = [7., 7., 7., 7., 7., 1., 2., 3., 7., 7., 4., 5., 6., 7., 7.];
            assert_eq!(block.cells(), expected.map(held), "{dtype}");
        }
    }

    #[test]
    fn taken_and_lent() {
        let mut block = Block::new(&buffer(Dtype::F32, &[3], &[(1, 0)])).unwrap();
        block.set_numbers(&[1.0, 2.0, 3.0]).unwrap();
        let taken = block.take();
        assert_eq!((taken.numbers(), block.is_vacant()), (vec![1.0, 2.0, 3.0], true));
        block.furnish().unwrap();
        assert_eq!(block.cells(), [7.0, 0.0, 0.0, 0.0]);

        let owner = std::sync::Arc::new(Array::new(&[2], vec![4.0f32, 5.0]).unwrap());
        let lent = Lent::of(&owner);
        let mut block = Block::new(&buffer(Dtype::F32, &[2], &[])).unwrap();
        let others =
            [Array::new(&[2], vec![4i32, 5]).unwrap(), Array::new(&[2, 1], vec![4.0f32, 5.0]).unwrap()];
        assert!(others.into_iter().all(|other| !block.lend(&Lent::of(&std::sync::Arc::new(other)))));
        assert!(block.lend(&lent));
        assert_eq!(block.address().cast_const(), lent.address());
        // Writing never reaches the owner.
        block.write(&Array::new(&[2], vec![8.0f32, 9.0]).unwrap()).unwrap();
        assert_eq!((block.numbers(), owner.to_f64s()), (vec![8.0, 9.0], vec![4.0, 5.0]));
        let mut padded = Block::new(&buffer(Dtype::F32, &[2], &[(1, 1)])).unwrap();
        assert!(!padded.lend(&lent));
    }

    #[test]
    fn odd_sizes() {
        let scalar = Block::new(&buffer(Dtype::F64, &[], &[])).unwrap();
        assert_eq!((scalar.numbers(), scalar.bytes()), (vec![0.0], 8));
        let empty = Block::new(&buffer(Dtype::F32, &[2, 0], &[])).unwrap();
        assert_eq!((empty.numbers(), empty.bytes()), (vec![], 0));
        let only_margins = Block::new(&buffer(Dtype::F32, &[0], &[(1, 1)])).unwrap();
        assert_eq!(only_margins.cells(), [7.0, 7.0]);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        assert!(Block::new(&buffer(Dtype::F32, &[1 << 40, 1 << 40], &[])).is_err());
        assert!(Block::new(&buffer(Dtype::F32, &[1 << 61], &[])).is_err());
        let mut block = Block::new(&buffer(Dtype::F32, &[2], &[])).unwrap();
        assert!(block.set_numbers(&[1.0]).is_err());
        assert!(block.write(&Array::from_slice(&[1, 2], &[1.0f32, 2.0]).unwrap()).is_err());
    }
}
