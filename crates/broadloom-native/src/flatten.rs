//! Translation of nests to flat addresses.
//!
//! It also checks everything that must hold for the compiled code to stay inside its memory: variables are in scope, and
//! addresses are in their buffers for all values of their loops. Indices that are numbers from memory are clamped
//! to their range where they are used, and so are addresses that occur in only one branch of a
//! choice; indices that are supplied to a run are checked when it begins.
//!
//! Subtraction from a cell or a variable becomes the addition of the opposite, so that there are fewer cases later.

use broadloom_loops::function::{Binary, Unary};
use broadloom_loops::program::{Loop, Program, Statement};
use broadloom_loops::scalar::Scalar;
use broadloom_loops::{BufferId, Cell, Dtype, Index, Local, LoopSum, LoopVar, MatrixFunction, Size};
use rustc_hash::FxHashSet;

use crate::Error;
use crate::flat::{Access, Flat, FlatProgram, FlatStatement, Gather, Looped, Sorted, Value};

/// The most cells of a buffer. Addresses are computed in 64 bits; a bound far below leaves room for
/// intermediate sums.
const MOST_CELLS: i64 = 1 << 48;

/// The flat form of a program, if its addresses are valid, whatever its sizes are, and no buffer is
/// too large. Buffers whose sizes are arguments are measured when those are known.
pub(crate) fn flatten(program: &Program) -> Result<FlatProgram, Error> {
    for buffer in &program.buffers {
        if buffer.cells().as_number().is_some_and(|cells| cells > MOST_CELLS) {
            return Err(Error::program(format!("`{}` is too large", buffer.name)));
        }
    }
    let mut lower = Lower {
        program,
        flat: FlatProgram {
            nests: Vec::new(),
            vars: program.vars.clone(),
            locals: program.locals,
            bounds: Vec::new(),
        },
        extents: vec![None; program.vars.len()],
        declared: FxHashSet::default(),
    };
    for nest in &program.nests {
        lower.declared.clear();
        let body = lower.block(&nest.body)?;
        lower.flat.nests.push(Flat { comment: nest.comment.clone(), body });
    }
    Ok(lower.flat)
}

struct Lower<'a> {
    program: &'a Program,
    flat: FlatProgram,
    /// The extents of the loops in scope.
    extents: Vec<Option<Size>>,
    /// The locals in scope.
    declared: FxHashSet<Local>,
}

impl Lower<'_> {
    fn block(&mut self, body: &[Statement]) -> Result<Vec<FlatStatement>, Error> {
        let outside = self.declared.clone();
        let mut steps = Vec::new();
        for statement in body {
            self.statement(statement, &mut steps)?;
        }
        self.declared = outside;
        Ok(steps)
    }

    fn statement(&mut self, statement: &Statement, steps: &mut Vec<FlatStatement>) -> Result<(), Error> {
        let flat = match statement {
            Statement::Loop(each) => self.repeated(each)?,
            Statement::Store { cell, accumulate, value } => {
                let value = self.value(value, false)?;
                let to = self.access(cell, false)?;
                let (accumulate, value) = without_subtraction(*accumulate, value);
                Some(FlatStatement::Store { to, accumulate, value })
            }
            Statement::Declare { local, value } => Some(self.declaration(*local, value)?),
            Statement::Update { local, accumulate, value } => {
                self.in_scope(*local)?;
                let value = self.value(value, false)?;
                let (accumulate, value) = without_subtraction(*accumulate, value);
                Some(FlatStatement::Update { local: *local, accumulate, value })
            }
            Statement::Check { cell, below, of } => {
                self.known(*of)?;
                Some(FlatStatement::Check { cell: self.access(cell, false)?, below: *below, of: *of })
            }
            Statement::Sort { keys, places, axis, count, descending } => {
                self.sorted([keys, places], *axis, *count, *descending)?
            }
            Statement::Matrix { function, work, sizes } => self.of_matrices(*function, work, sizes)?,
            Statement::Fill { buffer, value } => self.filled(*buffer, *value)?,
            Statement::FillMargins { buffer, value } => {
                self.known(*buffer)?;
                let has_margins = self.program.buffer(*buffer).has_margins();
                has_margins.then_some(FlatStatement::Margins { buffer: *buffer, value: *value })
            }
        };
        steps.extend(flat);
        Ok(())
    }

    /// A loop; none if it never runs: then it needs no code and no checks.
    fn repeated(&mut self, each: &Loop) -> Result<Option<FlatStatement>, Error> {
        if each.extent == 0 {
            return Ok(None);
        }
        let known = self.extents.get_mut(each.var.index());
        let known = known.ok_or_else(|| Error::program("a loop has no variable"))?;
        if known.is_some() {
            return Err(Error::program("two loops, one in the other, have the same variable"));
        }
        *known = Some(each.extent);
        let body = self.block(&each.body)?;
        self.extents[each.var.index()] = None;
        let Loop { var, extent, parallel, .. } = *each;
        Ok(Some(FlatStatement::Loop(Looped { var, extent, parallel, block: None, interleaved: false, body })))
    }

    /// A variable with its first value. One that is declared again is the same variable.
    fn declaration(&mut self, local: Local, value: &Scalar) -> Result<FlatStatement, Error> {
        let value = self.value(value, false)?;
        if local.0 >= self.flat.locals {
            return Err(Error::program("there are fewer variables than the program uses"));
        }
        Ok(match self.declared.insert(local) {
            true => FlatStatement::Declare { local, value },
            false => FlatStatement::Update { local, accumulate: None, value },
        })
    }

    /// The order of the rows of keys; none if they have no elements.
    fn sorted(
        &mut self,
        [keys, places]: [&Cell; 2],
        axis: u32,
        count: Size,
        descending: bool,
    ) -> Result<Option<FlatStatement>, Error> {
        if count == 0 {
            return Ok(None);
        }
        let [key_stride, place_stride] = [self.row(keys, axis, count)?, self.row(places, axis, count)?];
        if self.program.buffer(places.buffer).dtype != Dtype::I64 {
            return Err(Error::program("positions are 64-bit integers"));
        }
        let (keys, places) = (self.access(keys, false)?, self.access(places, false)?);
        let sorted = Sorted { keys, key_stride, places, place_stride, count, descending };
        Ok(Some(FlatStatement::Sort(sorted)))
    }

    /// A function of matrices; none if they have no elements.
    fn of_matrices(
        &mut self,
        function: MatrixFunction,
        work: &Cell,
        sizes: &[Size],
    ) -> Result<Option<FlatStatement>, Error> {
        let Some(last) = work.index.len().checked_sub(1) else {
            return Err(Error::program("a row of matrices has no axis"));
        };
        self.row(work, last as u32, function.room(sizes))?;
        if self.program.buffer(work.buffer).dtype != Dtype::F64 || sizes.len() != function.arity() {
            return Err(Error::program("matrices are 64-bit floats, with all their sizes"));
        }
        if function.room(sizes) == 0 {
            return Ok(None);
        }
        let work = self.access(work, false)?;
        Ok(Some(FlatStatement::Matrix { function, work, sizes: sizes.to_vec() }))
    }

    /// A loop that fills a buffer; none if it has no cells.
    fn filled(&mut self, buffer: BufferId, value: f64) -> Result<Option<FlatStatement>, Error> {
        self.known(buffer)?;
        let extent = self.program.buffer(buffer).cells();
        if extent == 0 {
            return Ok(None);
        }
        let var = LoopVar(self.flat.vars.len() as u32);
        self.flat.vars.push("cell".into());
        let at = LoopSum::iterate(var);
        let to = Access { buffer, at, symbols: Vec::new(), gathers: Vec::new(), guarded: false };
        let body = vec![FlatStatement::Store { to, accumulate: None, value: Value::Number(value) }];
        let looped = Looped { var, extent, parallel: true, block: None, interleaved: false, body };
        Ok(Some(FlatStatement::Loop(looped)))
    }

    /// The distance between the cells of a row that begins with a cell and goes through an axis.
    fn row(&self, start: &Cell, axis: u32, count: Size) -> Result<Size, Error> {
        self.known(start.buffer)?;
        let buffer = self.program.buffer(start.buffer);
        let axis = axis as usize;
        let whole = start.index.get(axis) == Some(&Index::At(LoopSum::fixed(0)))
            && buffer.sizes.get(axis) == Some(&count);
        match buffer.strides().get(axis) {
            Some(stride) if whole => Ok(*stride),
            _ => Err(Error::program(format!("a row of `{}` is not one of its axes", buffer.name))),
        }
    }

    fn known(&self, buffer: BufferId) -> Result<(), Error> {
        match self.program.buffers.get(buffer.index()) {
            Some(_) => Ok(()),
            None => Err(Error::program("there are fewer buffers than the program uses")),
        }
    }

    fn is_empty(&self, cell: &Cell) -> bool {
        self.program.buffers.get(cell.buffer.index()).is_some_and(|buffer| buffer.cells() == 0)
    }

    fn in_scope(&self, local: Local) -> Result<(), Error> {
        match self.declared.contains(&local) {
            true => Ok(()),
            false => Err(Error::program(format!("variable t{} is used where it does not exist", local.0))),
        }
    }

    fn symbol(&self, symbol: u32) -> Result<(), Error> {
        match self.program.symbols.get(symbol as usize) {
            Some(_) => Ok(()),
            None => Err(Error::program("there are fewer symbols than the program uses")),
        }
    }

    /// The least and the greatest value of a sum of loops.
    fn range(&self, sum: &LoopSum) -> Result<(Size, Size), Error> {
        let extent = |var: LoopVar| self.extents.get(var.index()).copied().flatten();
        if sum.terms.iter().any(|(_, var)| extent(*var).is_none()) {
            return Err(Error::program("an index uses a loop that is not around it"));
        }
        let unknown = || Error::program("an index moves in a direction that its sizes decide");
        sum.range(extent).ok_or_else(unknown)
    }

    /// The place of a cell. It is `guarded` if it is needed only in some cases.
    fn access(&mut self, cell: &Cell, guarded: bool) -> Result<Access, Error> {
        self.known(cell.buffer)?;
        let buffer = self.program.buffer(cell.buffer);
        let wrong = |what: &str| Err(Error::program(format!("{what} of `{}`", buffer.name)));
        if cell.index.len() != buffer.sizes.len() {
            return wrong("there is not one index for each axis");
        }
        let mut at = LoopSum::fixed(0);
        let mut access = Access {
            buffer: cell.buffer,
            at: LoopSum::fixed(0),
            symbols: Vec::new(),
            gathers: Vec::new(),
            guarded: false,
        };
        for ((axis, index), stride) in cell.index.iter().enumerate().zip(buffer.strides()) {
            let (left, right) = buffer.margin(axis);
            let (left, size) = (Size::from(left), buffer.sizes[axis]);
            let (least, greatest) = (-left, size - 1 + right);
            at.offset += left * stride;
            if greatest.below(least) {
                return wrong("a cell is read or written, but there are none");
            }
            match index {
                Index::At(sum) => {
                    let (low, high) = self.range(sum)?;
                    if !least.at_most(low) || !high.at_most(greatest) {
                        if !guarded {
                            return wrong("an index leaves an axis");
                        }
                        access.guarded = true;
                    }
                    at = at.plus(&sum.scaled(stride));
                }
                Index::Symbol(symbol) => {
                    self.symbol(*symbol)?;
                    let turns = self.program.repeats.iter().find_map(|repeat| repeat.bound(*symbol));
                    let bound = (*symbol, least, greatest, cell.buffer);
                    match turns {
                        // The number of a turn is known to be within the axis.
                        Some(turns) if (turns - 1).at_most(greatest) => {}
                        Some(_) => return wrong("a turn leaves an axis"),
                        None if self.flat.bounds.contains(&bound) => {}
                        None => self.flat.bounds.push(bound),
                    }
                    access.symbols.push((stride, *symbol));
                }
                Index::Value(inner) => {
                    let at = Box::new(self.access(inner, guarded)?);
                    access.gathers.push(Gather { stride, least, greatest, at });
                }
            }
        }
        access.at = at;
        Ok(access)
    }

    fn value(&mut self, scalar: &Scalar, guarded: bool) -> Result<Value, Error> {
        let checked = |lower: &Self, sum: &LoopSum| match lower.range(sum)? {
            (low, high) if low.is_moderate() && high.is_moderate() => Ok(sum.clone()),
            _ => Err(Error::program("a position is too large")),
        };
        Ok(match scalar {
            Scalar::Number(number) => Value::Number(*number),
            // A cell of an empty buffer is never in the branch that is chosen.
            Scalar::Load(cell) if guarded && self.is_empty(cell) => Value::Number(0.0),
            Scalar::Load(cell) => Value::Load(self.access(cell, guarded)?),
            Scalar::Local(local) => {
                self.in_scope(*local)?;
                Value::Local(*local)
            }
            Scalar::Position(sum) => Value::Position(checked(self, sum)?),
            Scalar::Symbol(symbol) => {
                self.symbol(*symbol)?;
                Value::Symbol(*symbol)
            }
            Scalar::Uniform { key, stream, at } => {
                self.symbol(*key)?;
                Value::Uniform { key: *key, stream: *stream, at: checked(self, at)? }
            }
            Scalar::Unary(function, a) => Value::Unary(*function, Box::new(self.value(a, guarded)?)),
            Scalar::Binary(function, a, b) => {
                Value::Binary(*function, Box::new(self.value(a, guarded)?), Box::new(self.value(b, guarded)?))
            }
            Scalar::Select(condition, a, b) => Value::Select(
                Box::new(self.value(condition, guarded)?),
                Box::new(self.value(a, true)?),
                Box::new(self.value(b, true)?),
            ),
        })
    }
}

/// `c -= v` as `c += -v`, which is the same to the last bit.
fn without_subtraction(accumulate: Option<Binary>, value: Value) -> (Option<Binary>, Value) {
    match accumulate {
        Some(Binary::Sub) => (Some(Binary::Add), Value::Unary(Unary::Neg, Box::new(value))),
        _ => (accumulate, value),
    }
}
