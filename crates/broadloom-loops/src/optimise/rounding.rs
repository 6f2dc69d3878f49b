//! The rule by which numbers may skip the rounding of the buffer they would be stored in.
//!
//! A store rounds to the type of its buffer. When a value is used directly instead, as inlining and scalars in
//! place of arrays do, that rounding is lost. For 32-bit floats this is allowed: they are computed in 32 bits, unless a
//! statement has wider numbers, and then the number is only more precise. Three cases are not:
//!
//! - Floats of 16 bits are computed in 32 bits, so that a result would depend on which others are asked for, and may even be
//!   infinite with them and finite without. Stores [state](state) their rounding while the passes run: what
//!   takes the place of a load is rounded like what was stored.
//! - Integers: storing 2.7 makes it 2. A value may skip the rounding only if it is certainly exact.
//!   And a local is a float, which does not hold every 64-bit integer: those stay in their buffers.
//! - Comparisons: in `x == max(x)` both sides come from one computation, and must go on to agree. A float that
//!   reaches a comparison with another computed number, by way of copies, `max`, `min`, `where` and signs, is
//!   *compared*. It keeps its rounding unless it is exact. So does a float that is cast to an integer: 6.9999999 may be 7
//!   once it is rounded.

use crate::Dtype;
use crate::buffer::{BufferId, Local};
use crate::function::{Binary, Unary, Yields};
use crate::program::{Nest, Program, Statement};
use crate::rounding::round;
use crate::scalar::Scalar;

/// States the rounding of what is stored as 16-bit floats, as a cast, wherever it is not exact.
pub fn state(program: &mut Program) {
    let rounding = Rounding::of(program);
    let mut nests = std::mem::take(&mut program.nests);
    each_store(&mut nests, &mut |buffer, accumulate, value| {
        let dtype = program.buffer(buffer).dtype;
        let keeps = matches!(accumulate, None | Some(Binary::Max | Binary::Min));
        if let Some(cast) = rounds_to(dtype)
            && keeps
            && !rounding.is_exact(program, value, dtype)
        {
            *value = Scalar::unary(cast, value.clone());
        }
    });
    program.nests = nests;
}

/// Leaves out the casts of stored values to the type of their buffer: storing does the same.
pub fn leave_to_stores(program: &mut Program) {
    let mut nests = std::mem::take(&mut program.nests);
    each_store(&mut nests, &mut |buffer, _, value| {
        if let Scalar::Unary(function, inner) = value
            && rounds_to(program.buffer(buffer).dtype) == Some(*function)
        {
            *value = (**inner).clone();
        }
    });
    program.nests = nests;
}

/// The cast that rounds to a type of 16-bit floats.
fn rounds_to(dtype: Dtype) -> Option<Unary> {
    match dtype {
        Dtype::F16 => Some(Unary::AsF16),
        Dtype::Bf16 => Some(Unary::AsBf16),
        _ => None,
    }
}

/// Visits what is stored in buffers, and how.
fn each_store(nests: &mut [Nest], visit: &mut dyn FnMut(BufferId, Option<Binary>, &mut Scalar)) {
    fn inside(body: &mut [Statement], visit: &mut dyn FnMut(BufferId, Option<Binary>, &mut Scalar)) {
        for statement in body {
            match statement {
                Statement::Loop(each) => inside(&mut each.body, visit),
                Statement::Store { cell, accumulate, value } => visit(cell.buffer, *accumulate, value),
                _ => {}
            }
        }
    }
    nests.iter_mut().for_each(|nest| inside(&mut nest.body, visit));
}

/// The buffers and locals whose numbers are compared with computed numbers.
#[derive(Debug)]
pub struct Rounding {
    compared: Vec<bool>,
    /// Locals that only ever hold numbers of this type; None if they may hold anything.
    locals: Vec<Option<Dtype>>,
}

/// A buffer or a local.
#[derive(Clone, Copy)]
enum Holder {
    Buffer(BufferId),
    Local(Local),
}

impl Rounding {
    /// Finds the compared buffers and the types of locals in a program.
    pub fn of(program: &Program) -> Rounding {
        let buffers = program.buffers.len();
        let place = |holder: Holder| match holder {
            Holder::Buffer(id) => id.index(),
            Holder::Local(local) => buffers + local.0 as usize,
        };
        let holders = buffers + program.locals as usize;
        let (mut sources, mut pending) = (vec![Vec::new(); holders], Vec::new());
        for statement in program.nests.iter().flat_map(|nest| &nest.body) {
            statement.each(&mut |inner| {
                let Some(value) = inner.value() else { return };
                each_comparison(value, &mut |side| {
                    each_source(side, &mut |holder| pending.push(place(holder)));
                });
                let target = match inner {
                    Statement::Store { cell, .. } => Holder::Buffer(cell.buffer),
                    Statement::Declare { local, .. } | Statement::Update { local, .. } => {
                        Holder::Local(*local)
                    }
                    _ => return,
                };
                each_source(value, &mut |holder| sources[place(target)].push(place(holder)));
            });
        }
        let mut compared = vec![false; holders];
        while let Some(holder) = pending.pop() {
            if !std::mem::replace(&mut compared[holder], true) {
                pending.extend(&sources[holder]);
            }
        }
        compared.truncate(buffers);
        let mut rounding = Rounding { compared, locals: vec![None; program.locals as usize] };
        rounding.judge_locals(program);
        rounding
    }

    /// Finds the locals that hold a maximum, a minimum or a copy of stored numbers.
    fn judge_locals(&mut self, program: &Program) {
        let mut spoilt = vec![false; self.locals.len()];
        for statement in program.nests.iter().flat_map(|nest| &nest.body) {
            statement.each(&mut |inner| {
                let (local, accumulate, value) = match inner {
                    Statement::Declare { local, value } => (*local, None, value),
                    Statement::Update { local, accumulate, value } => (*local, *accumulate, value),
                    _ => return,
                };
                // Locals inside the value are not followed: they may still turn out to be spoilt.
                let keeps = matches!(accumulate, None | Some(Binary::Max | Binary::Min)) && !has_local(value);
                let known = self.locals[local.0 as usize];
                let fits = Dtype::ALL.into_iter().filter(|dtype| dtype.is_float()).find(|dtype| {
                    self.is_exact(program, value, *dtype) && known.is_none_or(|known| contains(*dtype, known))
                });
                match fits {
                    Some(dtype) if keeps => self.locals[local.0 as usize] = Some(dtype),
                    _ => spoilt[local.0 as usize] = true,
                }
            });
        }
        for (held, spoilt) in self.locals.iter_mut().zip(spoilt) {
            if spoilt {
                *held = None;
            }
        }
    }

    /// Returns true if a value that is stored in a buffer may be used without being stored.
    pub fn may_skip(&self, program: &Program, id: BufferId, value: &Scalar) -> bool {
        let dtype = program.buffer(id).dtype;
        let compared = self.compared.get(id.index()).copied().unwrap_or(true);
        dtype == Dtype::F64 || (dtype == Dtype::F32 && !compared) || self.is_exact(program, value, dtype)
    }

    /// Returns true if a value that is stored in a buffer may be held in a local instead.
    pub fn may_be_held(&self, program: &Program, id: BufferId, value: &Scalar) -> bool {
        self.may_skip(program, id, value) && !is_wide_integer(program, value)
    }

    /// Returns true if rounding to a type changes nothing, for any contents of the cells.
    pub fn is_exact(&self, program: &Program, scalar: &Scalar, dtype: Dtype) -> bool {
        let exact = |scalar: &Scalar| self.is_exact(program, scalar, dtype);
        let of_function = |yields: Yields| match yields {
            Yields::Truth => true,
            Yields::Operand => scalar.children().all(exact),
            Yields::Exact => dtype.is_float() && scalar.children().all(exact),
            Yields::Rounded | Yields::Fractions => dtype == Dtype::F64,
        };
        match scalar {
            Scalar::Number(value) => round(dtype, *value).to_bits() == value.to_bits(),
            Scalar::Load(cell) => contains(dtype, program.buffer(cell.buffer).dtype),
            Scalar::Local(local) => {
                let held = self.locals.get(local.0 as usize).copied().flatten();
                held.is_some_and(|held| contains(dtype, held))
            }
            Scalar::Position(_) => matches!(dtype, Dtype::I64 | Dtype::F64),
            Scalar::Symbol(_) => dtype == Dtype::I64,
            Scalar::Uniform { .. } => matches!(dtype, Dtype::F32 | Dtype::F64),
            Scalar::Select(_, a, b) => exact(a) && exact(b),
            Scalar::Unary(function, _)
                if let Some(held) = function.cast_to()
                    && held.is_float() =>
            {
                contains(dtype, held)
            }
            Scalar::Unary(function, _) => of_function(function.yields()),
            Scalar::Binary(function, ..) => of_function(function.yields()),
        }
    }
}

/// Returns true if a value may be a 64-bit integer that no float holds.
pub fn is_wide_integer(program: &Program, scalar: &Scalar) -> bool {
    let inner = |scalar: &Scalar| is_wide_integer(program, scalar);
    match scalar {
        Scalar::Load(cell) => program.buffer(cell.buffer).dtype == Dtype::I64,
        Scalar::Unary(function, a) => function.yields() != Yields::Truth && inner(a),
        Scalar::Binary(function, a, b) => function.yields() != Yields::Truth && (inner(a) || inner(b)),
        Scalar::Select(_, a, b) => inner(a) || inner(b),
        _ => false,
    }
}

/// Returns true if every number of one type is a number of another.
fn contains(wide: Dtype, narrow: Dtype) -> bool {
    wide == narrow
        || match wide {
            Dtype::F64 => narrow != Dtype::I64,
            Dtype::F32 => !matches!(narrow, Dtype::I32 | Dtype::I64 | Dtype::F64),
            Dtype::F16 | Dtype::Bf16 => matches!(narrow, Dtype::Bool | Dtype::U8 | Dtype::I8),
            Dtype::I64 | Dtype::I32 | Dtype::I16 | Dtype::U8 | Dtype::I8 => holds_range(wide, narrow),
            Dtype::Bool => false,
        }
}

/// Returns true if a type of integers has all numbers of another one.
fn holds_range(wide: Dtype, narrow: Dtype) -> bool {
    match (wide.range(), narrow.range()) {
        (Some((least, greatest)), Some((from, to))) => least <= from && to <= greatest,
        _ => false,
    }
}

fn has_local(scalar: &Scalar) -> bool {
    matches!(scalar, Scalar::Local(_)) || scalar.children().any(has_local)
}

/// Visits both sides of comparisons of two computed numbers, and what is cast to integers. A comparison with a constant is
/// not at risk: it involves only one computation.
fn each_comparison(scalar: &Scalar, visit: &mut dyn FnMut(&Scalar)) {
    if let Scalar::Unary(function, a) = scalar
        && function.cast_to().is_some_and(|dtype| !dtype.is_float())
    {
        visit(a);
    }
    if let Scalar::Binary(Binary::Less | Binary::LessEq | Binary::Equal | Binary::NotEqual, a, b) = scalar
        && !matches!(**a, Scalar::Number(_))
        && !matches!(**b, Scalar::Number(_))
    {
        visit(a);
        visit(b);
    }
    for child in scalar.children() {
        each_comparison(child, visit);
    }
}

/// Visits the buffers and locals whose numbers a scalar may pass on unchanged, up to the sign.
fn each_source(scalar: &Scalar, visit: &mut dyn FnMut(Holder)) {
    match scalar {
        Scalar::Load(cell) => visit(Holder::Buffer(cell.buffer)),
        Scalar::Local(local) => visit(Holder::Local(*local)),
        Scalar::Unary(Unary::Neg | Unary::Abs, a) => each_source(a, visit),
        Scalar::Binary(Binary::Max | Binary::Min, a, b) | Scalar::Select(_, a, b) => {
            each_source(a, visit);
            each_source(b, visit);
        }
        _ => {}
    }
}
