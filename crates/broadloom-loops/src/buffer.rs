//! Buffers, which hold numbers in memory, and their cells.

use broadloom_core::Size;
use broadloom_core::projection::{Component, LoopId};

use crate::Dtype;

/// A buffer of a [`Program`](crate::Program).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BufferId(pub u32);

impl BufferId {
    /// Its place among the buffers.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A variable of a loop of a [`Program`](crate::Program): its place among the variables of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LoopVar(pub u32);

impl LoopVar {
    /// Its place among the variables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl LoopId for LoopVar {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A sum of loop variables and a constant.
pub type LoopSum = Component<LoopVar>;

/// A variable of a [`Program`](crate::Program) inside one nest: a number that is set, perhaps several times, and read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Local(pub u32);

impl Local {
    /// Its place among the locals.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A block of numbers in memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// The name of its tensor.
    pub name: String,
    /// The type in which each number is stored.
    pub dtype: Dtype,
    /// The sizes of its axes, in memory order, margins not included.
    pub sizes: Vec<Size>,
    /// The numbers of cells before and after each axis, for windows that reach beyond its ends.
    /// Empty if there are none.
    pub margins: Vec<(u64, u64)>,
    /// The value that the margins hold when a run begins.
    pub fill: f64,
    /// The lifetime of its contents.
    pub storage: Storage,
}

/// The lifetime of the contents of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    /// From run to run: data, parameters, requested results.
    Kept,
    /// Within a run. The initial contents are unspecified, except in the margins.
    Local,
}

impl Buffer {
    /// The sizes with margins.
    pub fn padded(&self) -> impl Iterator<Item = Size> + '_ {
        self.sizes.iter().enumerate().map(|(axis, size)| {
            let (left, right) = self.margin(axis);
            *size + left + right
        })
    }

    /// The sizes of a buffer of a program in which all sizes are numbers.
    pub fn shape(&self) -> Vec<u64> {
        self.sizes.iter().map(|size| size.get()).collect()
    }

    /// The margins of an axis.
    pub fn margin(&self, axis: usize) -> (u64, u64) {
        self.margins.get(axis).copied().unwrap_or((0, 0))
    }

    /// Returns true if it has any margin.
    pub fn has_margins(&self) -> bool {
        self.margins.iter().any(|margin| *margin != (0, 0))
    }

    /// The number of cells, margins included.
    pub fn cells(&self) -> Size {
        self.padded().product()
    }

    /// The distance in cells between neighbours on each axis, margins included.
    pub fn strides(&self) -> Vec<Size> {
        let mut strides: Vec<Size> = self.padded().collect();
        let mut stride = Size::ONE;
        for size in strides.iter_mut().rev() {
            (*size, stride) = (stride, stride * *size);
        }
        strides
    }
}

/// The index on one axis.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Index {
    /// A sum of loop variables.
    At(LoopSum),
    /// A number supplied to the run: its place among the symbols.
    Symbol(u32),
    /// The number in another cell, which holds integers.
    Value(Box<Cell>),
}

/// A cell of a buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cell {
    /// The buffer.
    pub buffer: BufferId,
    /// One index per axis.
    pub index: Vec<Index>,
}

impl Cell {
    /// Visits every index, those of cells in indices included.
    pub fn each_index(&self, visit: &mut impl FnMut(&Index)) {
        for index in &self.index {
            visit(index);
            if let Index::Value(cell) = index {
                cell.each_index(visit);
            }
        }
    }

    /// Returns true if an index depends on a variable.
    pub fn mentions(&self, var: LoopVar) -> bool {
        self.index.iter().any(|index| match index {
            Index::At(sum) => sum.terms.iter().any(|(_, known)| *known == var),
            Index::Symbol(_) => false,
            Index::Value(cell) => cell.mentions(var),
        })
    }
}
