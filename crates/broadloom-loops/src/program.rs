//! Programs of loops: what is lowered to, optimised, printed and run.
//!
//! A program has buffers and nests. A nest is a tree of loops with stores at its leaves; every cell is
//! addressed by one index per axis, in memory order. The same language holds the program before and after
//! optimisation, so that one evaluator judges both.

use broadloom_core::Size;
use broadloom_core::projection::Component;

use crate::Dtype;
use crate::function::Binary;
use crate::scalar::Scalar;

/// A buffer of a [`Program`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BufferId(pub u32);

impl BufferId {
    /// Its place among the buffers.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A variable of a [`Program`] inside one nest: a number that is set, perhaps several times, and read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Local(pub u32);

/// Where numbers are kept.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// The name of its tensor.
    pub name: String,
    /// How each number is stored.
    pub dtype: Dtype,
    /// The sizes of its axes, in memory order, margins not included.
    pub sizes: Vec<Size>,
    /// What lies before and after each axis, for windows that reach beyond its ends. Empty if nothing does.
    pub margins: Vec<(u64, u64)>,
    /// What the margins hold when a run begins.
    pub fill: f64,
    /// Whether it outlives a run.
    pub storage: Storage,
}

/// How long the contents of a buffer last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    /// From run to run: data, parameters, results that are asked for.
    Kept,
    /// Within a run. Nothing is promised about what it holds at first, except in the margins.
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

    /// Whether it has any margin.
    pub fn has_margins(&self) -> bool {
        self.margins.iter().any(|margin| *margin != (0, 0))
    }

    /// The number of cells, margins included.
    pub fn cells(&self) -> Size {
        self.padded().product()
    }

    /// How many cells lie between neighbours on each axis, margins included.
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
    At(Component),
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

/// A part of a nest.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// Its body, for each value of a variable.
    Loop(Loop),
    /// A cell is written: plainly, or accumulated into by an operation.
    Store {
        /// Where to.
        cell: Cell,
        /// The operation, if what is there is kept: `cell = operation(cell, value)`.
        accumulate: Option<Binary>,
        /// What is written.
        value: Scalar,
    },
    /// A variable comes into being, until the end of the body it stands in.
    Declare {
        /// Which.
        local: Local,
        /// Its first value.
        value: Scalar,
    },
    /// A variable is accumulated into.
    Update {
        /// Which.
        local: Local,
        /// The operation; without one it is set.
        accumulate: Option<Binary>,
        /// What is accumulated.
        value: Scalar,
    },
    /// The run stops with an error unless the number in a cell, which holds integers, is below a bound and
    /// not negative.
    Check {
        /// The cell.
        cell: Cell,
        /// The bound.
        below: Size,
        /// Whose index it is; its own buffer if it is none.
        of: BufferId,
    },
    /// All cells of a buffer are set, margins included.
    Fill {
        /// The buffer.
        buffer: BufferId,
        /// To what.
        value: f64,
    },
    /// The margins of a buffer are set.
    FillMargins {
        /// The buffer.
        buffer: BufferId,
        /// To what.
        value: f64,
    },
}

/// A loop: its variable runs from 0 to below its extent.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    /// The variable: its place among the variables of the program. No two loops of a nest share one.
    pub var: u32,
    /// How often it runs.
    pub extent: Size,
    /// Whether its iterations do not depend on each other, in any order.
    pub parallel: bool,
    /// What is done.
    pub body: Vec<Statement>,
}

/// A nest and what it is for.
#[derive(Clone, PartialEq, Debug)]
pub struct Nest {
    /// For readers: the assignments it carries out.
    pub comment: String,
    /// What is done.
    pub body: Vec<Statement>,
}

/// A program of loops.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// The names of loop variables, as the user would write them; they need not differ.
    pub vars: Vec<String>,
    /// The names of the numbers supplied to a run.
    pub symbols: Vec<String>,
    /// How many locals there are.
    pub locals: u32,
    /// The sizes that are arguments of the program: what each is a multiple of. In sizes of loops and buffers,
    /// [`Size::argument`] of the same place stands for the argument divided by that. Most programs have none: all their sizes
    /// are numbers.
    pub arguments: Vec<u64>,
    /// The nests, in order.
    pub nests: Vec<Nest>,
}

impl Program {
    /// A buffer.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.index()]
    }

    /// The program at some sizes of its arguments, in which all sizes are numbers; nothing if one is no multiple of what it
    /// has to be, or if some size would be no number.
    ///
    /// ```
    /// use broadloom_loops::{Buffer, Dtype, Program, Size, Storage};
    /// let mut program = Program { arguments: vec![2], ..Program::default() };
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
        for size in program.buffers.iter_mut().flat_map(|buffer| &mut buffer.sizes) {
            *size = size.at(&symbols)?.into();
        }
        let mut numbers = At { symbols: &symbols, whole: true };
        for nest in &mut program.nests {
            nest.body.iter_mut().for_each(|statement| numbers.statement(statement));
        }
        numbers.whole.then_some(program)
    }

    /// The numbers of the symbols at some sizes of the arguments.
    pub fn symbols_at(&self, sizes: &[u64]) -> Option<Vec<u64>> {
        let symbol = |(size, of): (&u64, &u64)| size.is_multiple_of(*of).then(|| size / of);
        let symbols: Option<Vec<u64>> = sizes.iter().zip(&self.arguments).map(symbol).collect();
        symbols.filter(|_| sizes.len() == self.arguments.len())
    }

    /// Adds a buffer.
    pub fn add_buffer(&mut self, buffer: Buffer) -> BufferId {
        self.buffers.push(buffer);
        BufferId(self.buffers.len() as u32 - 1)
    }

    /// Adds a loop variable.
    pub fn add_var(&mut self, name: impl Into<String>) -> u32 {
        self.vars.push(name.into());
        self.vars.len() as u32 - 1
    }

    /// Adds a local.
    pub fn add_local(&mut self) -> Local {
        self.locals += 1;
        Local(self.locals - 1)
    }
}

/// Puts numbers in place of symbols.
struct At<'a> {
    symbols: &'a [u64],
    /// Whether everything so far is a number.
    whole: bool,
}

impl At<'_> {
    fn size(&mut self, size: &mut Size) {
        match size.at(self.symbols) {
            Some(number) => *size = number.into(),
            None => self.whole = false,
        }
    }

    fn sum(&mut self, sum: &mut Component) {
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
            Statement::Fill { .. } | Statement::FillMargins { .. } => {}
        }
    }
}

impl Cell {
    /// Every index, cells in indices included.
    pub fn each_index(&self, visit: &mut impl FnMut(&Index)) {
        for index in &self.index {
            visit(index);
            if let Index::Value(cell) = index {
                cell.each_index(visit);
            }
        }
    }

    /// Whether an index depends on a variable.
    pub fn mentions(&self, var: u32) -> bool {
        self.index.iter().any(|index| match index {
            Index::At(sum) => sum.terms.iter().any(|(_, known)| *known == var),
            Index::Symbol(_) => false,
            Index::Value(cell) => cell.mentions(var),
        })
    }
}

impl Statement {
    /// The statement inside loops, outermost first.
    pub fn within<E: Into<Size>>(self, loops: impl DoubleEndedIterator<Item = (u32, E)>) -> Statement {
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

    /// The value that a statement computes, if it does.
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
            _ => {}
        }
    }

    /// The buffer that the statement itself writes, if it does.
    pub fn written(&self) -> Option<BufferId> {
        match self {
            Statement::Store { cell, .. } => Some(cell.buffer),
            Statement::Fill { buffer, .. } | Statement::FillMargins { buffer, .. } => Some(*buffer),
            _ => None,
        }
    }
}
