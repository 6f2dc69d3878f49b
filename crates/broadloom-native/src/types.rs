//! The types in which numbers are computed.
//!
//! A statement is computed in 32-bit floats, unless its buffers, variables or casts include 64-bit floats,
//! or it sets integers, which 32-bit floats would not hold. A variable has the widest type it is
//! set with or used for.

use broadloom_loops::{Dtype, Local, Program, Unary};
use rustc_hash::FxHashMap;

use crate::flat::{FlatStatement, Value};

/// A type to compute in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Real {
    F32,
    F64,
}

impl Real {
    /// Its name in C.
    pub fn name(self) -> &'static str {
        match self {
            Real::F32 => "float",
            Real::F64 => "double",
        }
    }

    /// The prefix of the names of its functions.
    pub fn prefix(self) -> &'static str {
        match self {
            Real::F32 => "f32",
            Real::F64 => "f64",
        }
    }

    /// A number of this type.
    pub fn number(self, value: f64) -> String {
        let suffix = if self == Real::F32 { "f" } else { "" };
        let as_stored = if self == Real::F32 { f64::from(value as f32) } else { value };
        match as_stored {
            value if value.is_nan() => "NAN".into(),
            f64::INFINITY => "INFINITY".into(),
            f64::NEG_INFINITY => "-INFINITY".into(),
            // The shortest text that is read back as the same number.
            _ if self == Real::F32 => format!("{:?}{suffix}", value as f32),
            _ => format!("{value:?}"),
        }
    }
}

/// The types of variables.
pub(crate) type Locals = FxHashMap<Local, Real>;

/// The types of the variables in some steps.
pub(crate) fn locals(program: &Program, steps: &[FlatStatement]) -> Locals {
    let mut locals = Locals::default();
    loop {
        let mut changed = false;
        let mut want = |locals: &mut Locals, local: Local, wanted: Real| {
            let known = locals.entry(local).or_insert(Real::F32);
            changed |= *known < wanted;
            *known = (*known).max(wanted);
        };
        each_step(steps, &mut |step| {
            let wanted = real(program, &locals, step);
            if let FlatStatement::Declare { local, .. } | FlatStatement::Update { local, .. } = step {
                want(&mut locals, *local, wanted);
            }
            each_local(step, &mut |local| want(&mut locals, local, wanted));
        });
        if !changed {
            return locals;
        }
    }
}

fn each_step<'a>(steps: &'a [FlatStatement], visit: &mut impl FnMut(&'a FlatStatement)) {
    steps.iter().for_each(|step| step.each(visit));
}

/// Visits the variables that a step itself reads.
fn each_local(step: &FlatStatement, visit: &mut impl FnMut(Local)) {
    if let Some(value) = step.value() {
        value.each(&mut |value| {
            if let Value::Local(local) = value {
                visit(*local);
            }
        });
    }
}

/// The type of one variable in a step.
pub(crate) fn local(program: &Program, step: &FlatStatement, local: Local) -> Real {
    locals(program, std::slice::from_ref(step)).get(&local).copied().unwrap_or(Real::F32)
}

/// The type that a step is computed in.
pub(crate) fn real(program: &Program, locals: &Locals, step: &FlatStatement) -> Real {
    let mut real = Real::F32;
    let mut widen = |is: bool| real = if is { Real::F64 } else { real };
    step.each_access(&mut |writes, access| {
        let dtype = program.buffer(access.buffer).dtype;
        widen(dtype == Dtype::F64 || (writes && !dtype.is_float()));
    });
    if let Some(value) = step.value() {
        value.each(&mut |value| widen(matches!(value, Value::Unary(Unary::AsF64, _))));
    }
    if let FlatStatement::Declare { local, .. } | FlatStatement::Update { local, .. } = step {
        widen(locals.get(local) == Some(&Real::F64));
    }
    each_local(step, &mut |local| widen(locals.get(&local) == Some(&Real::F64)));
    real
}

/// The type in memory, in C.
pub(crate) fn stored(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Bool | Dtype::U8 => "uint8_t",
        Dtype::I8 => "int8_t",
        Dtype::I16 => "int16_t",
        Dtype::I32 => "int32_t",
        Dtype::I64 => "int64_t",
        Dtype::Bf16 | Dtype::F16 => "uint16_t",
        Dtype::F32 => "float",
        Dtype::F64 => "double",
    }
}
