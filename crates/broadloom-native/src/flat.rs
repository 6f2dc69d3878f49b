//! Nests with flat addresses, the form that the backend works on.
//!
//! A cell `x[2*i + k - 1, j]` of a buffer with rows of 10 becomes the place `20*i + 10*k + j - 10`
//! in its memory, so that strides can be compared. The translation also checks everything that must
//! hold for the compiled code to stay inside its memory: variables are in scope, and addresses are
//! in their buffers for all values of their loops. Indices that are numbers from memory are clamped
//! to their range where they are used, and so are addresses that occur in only one branch of a
//! choice; indices that are supplied to a run are checked when it begins.
//!
//! Subtraction from a cell or a variable becomes the addition of the opposite, so that there are fewer cases later.

use broadloom_loops::function::{Binary, Unary};
use broadloom_loops::program::{Program, Statement};
use broadloom_loops::scalar::Scalar;
use broadloom_loops::{BufferId, Cell, Dtype, Index, Local, LoopSum, LoopVar, MatrixFunction, Size};
use rustc_hash::FxHashSet;

use crate::Error;

/// A place in the memory of a buffer.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Access {
    /// The buffer.
    pub buffer: BufferId,
    /// The part of the place that depends on loops alone.
    pub at: LoopSum,
    /// Strides and the symbols they go with.
    pub symbols: Vec<(Size, u32)>,
    /// Strides and the numbers from memory they go with.
    pub gathers: Vec<Gather>,
    /// True if the place may lie outside the buffer when the number is not needed.
    pub guarded: bool,
}

/// An index that is a number from memory.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Gather {
    /// The factor of the index in the place.
    pub stride: Size,
    /// The least index that exists.
    pub least: Size,
    /// The greatest.
    pub greatest: Size,
    /// The place that holds the index.
    pub at: Box<Access>,
}

/// An expression: a [`Scalar`] with flat addresses.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Number(f64),
    Load(Access),
    Local(Local),
    Position(LoopSum),
    Symbol(u32),
    Uniform { key: u32, stream: u64, at: LoopSum },
    Unary(Unary, Box<Value>),
    Binary(Binary, Box<Value>, Box<Value>),
    Select(Box<Value>, Box<Value>, Box<Value>),
}

/// A loop.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Looped {
    pub var: LoopVar,
    pub extent: Size,
    pub parallel: bool,
    /// If it runs only within a block of its range: the loop over blocks, and the length of a
    /// block.
    pub block: Option<(LoopVar, u64)>,
    /// True if many of its iterations go through its body in lockstep.
    pub interleaved: bool,
    pub body: Vec<FlatStatement>,
}

/// A part of a nest: a [`Statement`] with flat addresses.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum FlatStatement {
    Loop(Looped),
    Store { to: Access, accumulate: Option<Binary>, value: Value },
    Declare { local: Local, value: Value },
    Update { local: Local, accumulate: Option<Binary>, value: Value },
    Check { cell: Access, below: Size, of: BufferId },
    Sort(Sorted),
    Matrix { function: MatrixFunction, work: Access, sizes: Vec<Size> },
    Margins { buffer: BufferId, value: f64 },
}

/// Rows that are sorted: the first cell and the distance to the next, of numbers and of positions.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sorted {
    pub keys: Access,
    pub key_stride: Size,
    pub places: Access,
    pub place_stride: Size,
    pub count: Size,
    pub descending: bool,
}

/// A nest with flat addresses.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Flat {
    pub comment: String,
    pub body: Vec<FlatStatement>,
}

/// A program with flat addresses.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FlatProgram {
    pub nests: Vec<Flat>,
    /// Names of loop variables: those of the program, then those of loops that were made here.
    pub vars: Vec<String>,
    /// The number of locals.
    pub locals: u32,
    /// Symbols that are used as indices: the symbol, the least and the greatest number, the buffer.
    pub bounds: Vec<(u32, Size, Size, BufferId)>,
}

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
        steps.push(match statement {
            // Loops that never run need no code and no checks.
            Statement::Loop(each) if each.extent == 0 => return Ok(()),
            Statement::Loop(each) => {
                let known = self.extents.get_mut(each.var.index());
                let known = known.ok_or_else(|| Error::program("a loop has no variable"))?;
                if known.is_some() {
                    return Err(Error::program("two loops, one in the other, have the same variable"));
                }
                *known = Some(each.extent);
                let body = self.block(&each.body)?;
                self.extents[each.var.index()] = None;
                FlatStatement::Loop(Looped {
                    var: each.var,
                    extent: each.extent,
                    parallel: each.parallel,
                    block: None,
                    interleaved: false,
                    body,
                })
            }
            Statement::Store { cell, accumulate, value } => {
                let value = self.value(value, false)?;
                let to = self.access(cell, false)?;
                let (accumulate, value) = without_subtraction(*accumulate, value);
                FlatStatement::Store { to, accumulate, value }
            }
            Statement::Declare { local, value } => {
                let value = self.value(value, false)?;
                if local.0 >= self.flat.locals {
                    return Err(Error::program("there are fewer variables than the program uses"));
                }
                // A variable that is declared again is the same variable.
                if self.declared.insert(*local) {
                    FlatStatement::Declare { local: *local, value }
                } else {
                    FlatStatement::Update { local: *local, accumulate: None, value }
                }
            }
            Statement::Update { local, accumulate, value } => {
                self.in_scope(*local)?;
                let value = self.value(value, false)?;
                let (accumulate, value) = without_subtraction(*accumulate, value);
                FlatStatement::Update { local: *local, accumulate, value }
            }
            Statement::Check { cell, below, of } => {
                self.known(*of)?;
                FlatStatement::Check { cell: self.access(cell, false)?, below: *below, of: *of }
            }
            Statement::Sort { keys, places, axis, count, descending } => {
                if *count == 0 {
                    return Ok(());
                }
                let [key_stride, place_stride] =
                    [self.row(keys, *axis, *count)?, self.row(places, *axis, *count)?];
                if self.program.buffer(places.buffer).dtype != Dtype::I64 {
                    return Err(Error::program("positions are 64-bit integers"));
                }
                let (keys, places) = (self.access(keys, false)?, self.access(places, false)?);
                let descending = *descending;
                FlatStatement::Sort(Sorted {
                    keys,
                    key_stride,
                    places,
                    place_stride,
                    count: *count,
                    descending,
                })
            }
            Statement::Matrix { function, work, sizes } => {
                let Some(last) = work.index.len().checked_sub(1) else {
                    return Err(Error::program("a row of matrices has no axis"));
                };
                self.row(work, last as u32, function.room(sizes))?;
                if self.program.buffer(work.buffer).dtype != Dtype::F64 || sizes.len() != function.arity() {
                    return Err(Error::program("matrices are 64-bit floats, with all their sizes"));
                }
                if function.room(sizes) == 0 {
                    return Ok(());
                }
                let work = self.access(work, false)?;
                FlatStatement::Matrix { function: *function, work, sizes: sizes.clone() }
            }
            Statement::Fill { buffer, value } => {
                self.known(*buffer)?;
                let cells = self.program.buffer(*buffer).cells();
                if cells == 0 {
                    return Ok(());
                }
                let var = LoopVar(self.flat.vars.len() as u32);
                self.flat.vars.push("cell".into());
                let at = LoopSum::iterate(var);
                let to =
                    Access { buffer: *buffer, at, symbols: Vec::new(), gathers: Vec::new(), guarded: false };
                let store = FlatStatement::Store { to, accumulate: None, value: Value::Number(*value) };
                FlatStatement::Loop(Looped {
                    var,
                    extent: cells,
                    parallel: true,
                    block: None,
                    interleaved: false,
                    body: vec![store],
                })
            }
            Statement::FillMargins { buffer, value } => {
                self.known(*buffer)?;
                if !self.program.buffer(*buffer).has_margins() {
                    return Ok(());
                }
                FlatStatement::Margins { buffer: *buffer, value: *value }
            }
        });
        Ok(())
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

impl Access {
    /// The distance by which the place moves in one step of a loop. For places that memory decides,
    /// only the part that the loop decides directly.
    pub fn stride(&self, var: LoopVar) -> Size {
        self.at.coefficient(var)
    }

    /// Returns true if the place depends on a loop.
    pub fn depends_on(&self, var: LoopVar) -> bool {
        self.stride(var) != 0 || self.gathers.iter().any(|gather| gather.at.depends_on(var))
    }

    /// Returns true if loops and symbols alone decide the place.
    pub fn is_affine(&self) -> bool {
        self.gathers.is_empty() && !self.guarded
    }

    /// Visits the accesses in its indices.
    pub fn each_inner<'a>(&'a self, visit: &mut impl FnMut(&'a Access)) {
        for gather in &self.gathers {
            visit(&gather.at);
            gather.at.each_inner(visit);
        }
    }

    /// Changes it and the accesses in its indices.
    pub fn each_mut(&mut self, change: &mut impl FnMut(&mut Access)) {
        change(self);
        self.gathers.iter_mut().for_each(|gather| gather.at.each_mut(change));
    }

    /// Changes every sum of loops in it.
    pub fn each_sum_mut(&mut self, change: &mut impl FnMut(&mut LoopSum)) {
        change(&mut self.at);
        self.gathers.iter_mut().for_each(|gather| gather.at.each_sum_mut(change));
    }
}

impl Value {
    /// The values it is computed from.
    pub fn children(&self) -> impl Iterator<Item = &Value> {
        let children: [Option<&Value>; 3] = match self {
            Value::Unary(_, a) => [Some(a), None, None],
            Value::Binary(_, a, b) => [Some(a), Some(b), None],
            Value::Select(a, b, c) => [Some(a), Some(b), Some(c)],
            _ => [None; 3],
        };
        children.into_iter().flatten()
    }

    /// Visits this value and those it is computed from.
    pub fn each<'a>(&'a self, visit: &mut impl FnMut(&'a Value)) {
        visit(self);
        for child in self.children() {
            child.each(visit);
        }
    }

    /// Visits every access, those in indices included.
    pub fn each_access<'a>(&'a self, visit: &mut impl FnMut(&'a Access)) {
        self.each(&mut |value| {
            if let Value::Load(access) = value {
                visit(access);
                access.each_inner(visit);
            }
        });
    }

    /// Changes every access, those in indices included.
    pub fn each_access_mut(&mut self, change: &mut impl FnMut(&mut Access)) {
        match self {
            Value::Load(access) => access.each_mut(change),
            Value::Unary(_, a) => a.each_access_mut(change),
            Value::Binary(_, a, b) => {
                a.each_access_mut(change);
                b.each_access_mut(change);
            }
            Value::Select(a, b, c) => {
                a.each_access_mut(change);
                b.each_access_mut(change);
                c.each_access_mut(change);
            }
            Value::Number(_) | Value::Local(_) | Value::Symbol(_) => {}
            Value::Position(_) | Value::Uniform { .. } => {}
        }
    }

    /// Returns true if it uses a local.
    pub fn uses(&self, local: Local) -> bool {
        let mut uses = false;
        self.each(&mut |value| uses |= matches!(value, Value::Local(known) if *known == local));
        uses
    }

    /// Changes every sum of loops in it.
    pub fn each_sum_mut(&mut self, change: &mut impl FnMut(&mut LoopSum)) {
        match self {
            Value::Load(access) => access.each_sum_mut(change),
            Value::Position(at) | Value::Uniform { at, .. } => change(at),
            Value::Unary(_, a) => a.each_sum_mut(change),
            Value::Binary(_, a, b) => {
                a.each_sum_mut(change);
                b.each_sum_mut(change);
            }
            Value::Select(a, b, c) => {
                a.each_sum_mut(change);
                b.each_sum_mut(change);
                c.each_sum_mut(change);
            }
            Value::Number(_) | Value::Local(_) | Value::Symbol(_) => {}
        }
    }
}

impl FlatStatement {
    /// Visits this step and those inside it, outermost first.
    pub fn each<'a>(&'a self, visit: &mut impl FnMut(&'a FlatStatement)) {
        visit(self);
        if let FlatStatement::Loop(each) = self {
            each.body.iter().for_each(|inner| inner.each(visit));
        }
    }

    /// The value that the step itself computes.
    pub fn value(&self) -> Option<&Value> {
        match self {
            FlatStatement::Store { value, .. }
            | FlatStatement::Declare { value, .. }
            | FlatStatement::Update { value, .. } => Some(value),
            FlatStatement::Loop(_)
            | FlatStatement::Check { .. }
            | FlatStatement::Sort(_)
            | FlatStatement::Matrix { .. }
            | FlatStatement::Margins { .. } => None,
        }
    }

    /// Visits every access of the step itself, with true for writes.
    pub fn each_access<'a>(&'a self, visit: &mut impl FnMut(bool, &'a Access)) {
        if let Some(value) = self.value() {
            value.each_access(&mut |access| visit(false, access));
        }
        if let FlatStatement::Store { to: place, .. } | FlatStatement::Check { cell: place, .. } = self {
            visit(matches!(self, FlatStatement::Store { .. }), place);
            place.each_inner(&mut |inner| visit(false, inner));
        }
        if let FlatStatement::Sort(sorted) = self {
            for (writes, place) in [(false, &sorted.keys), (true, &sorted.places)] {
                visit(writes, place);
                place.each_inner(&mut |inner| visit(false, inner));
            }
        }
        if let FlatStatement::Matrix { work, .. } = self {
            visit(true, work);
            work.each_inner(&mut |inner| visit(false, inner));
        }
    }

    /// Changes every access of the step and those inside it, those in indices included.
    pub fn each_access_mut(&mut self, change: &mut impl FnMut(&mut Access)) {
        match self {
            FlatStatement::Loop(each) => each.body.iter_mut().for_each(|step| step.each_access_mut(change)),
            FlatStatement::Store { to, value, .. } => {
                to.each_mut(change);
                value.each_access_mut(change);
            }
            FlatStatement::Declare { value, .. } | FlatStatement::Update { value, .. } => {
                value.each_access_mut(change)
            }
            FlatStatement::Check { cell, .. } | FlatStatement::Matrix { work: cell, .. } => {
                cell.each_mut(change)
            }
            FlatStatement::Sort(Sorted { keys, places, .. }) => {
                keys.each_mut(change);
                places.each_mut(change);
            }
            FlatStatement::Margins { .. } => {}
        }
    }

    /// Changes every sum of loops of the step itself.
    pub fn each_sum_mut(&mut self, change: &mut impl FnMut(&mut LoopSum)) {
        match self {
            FlatStatement::Store { to, value, .. } => {
                to.each_sum_mut(change);
                value.each_sum_mut(change);
            }
            FlatStatement::Declare { value, .. } | FlatStatement::Update { value, .. } => {
                value.each_sum_mut(change)
            }
            FlatStatement::Check { cell, .. } | FlatStatement::Matrix { work: cell, .. } => {
                cell.each_sum_mut(change)
            }
            FlatStatement::Sort(Sorted { keys, places, .. }) => {
                keys.each_sum_mut(change);
                places.each_sum_mut(change);
            }
            FlatStatement::Loop(_) | FlatStatement::Margins { .. } => {}
        }
    }
}
