//! Nests with flat addresses, the form that the backend works on.
//!
//! A cell `x[2*i + k - 1, j]` of a buffer with rows of 10 becomes the place `20*i + 10*k + j - 10`
//! in its memory, so that strides can be compared.

use broadloom_loops::function::{Binary, Unary};
use broadloom_loops::{BufferId, Local, LoopSum, LoopVar, MatrixFunction, Size};

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

/// An expression: a [`Scalar`](broadloom_loops::Scalar) with flat addresses.
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

/// A part of a nest: a [`Statement`](broadloom_loops::Statement) with flat addresses.
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

    /// Returns true if it computes one value: it is neither a loop nor a check, and does not work on a whole row or buffer.
    pub fn is_scalar(&self) -> bool {
        self.value().is_some()
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
