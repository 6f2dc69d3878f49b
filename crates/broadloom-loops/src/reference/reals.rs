//! The types of floats in which the evaluator computes each statement and holds each local.

use rustc_hash::FxHashSet;

use crate::Dtype;
use crate::buffer::Local;
use crate::program::{Program, Statement};
use crate::scalar::Scalar;

/// The type that each statement of a nest computes in: 64-bit floats if it reads or sets those, in
/// buffers or in locals, or sets an integer; 32-bit floats otherwise. A local has the widest type
/// it is set with or used for. Every result is rounded to the type, as the machine does, so that
/// equal things compare equal.
#[derive(Default)]
pub(crate) struct Reals {
    wide_locals: FxHashSet<Local>,
    /// The statements that compute in 64 bits, by their addresses.
    wide: FxHashSet<*const Statement>,
}

impl Reals {
    pub(crate) fn of(program: &Program, body: &[Statement]) -> Reals {
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

    pub(crate) fn of_statement(&self, statement: &Statement) -> Dtype {
        if self.wide.contains(&std::ptr::from_ref(statement)) { Dtype::F64 } else { Dtype::F32 }
    }

    pub(crate) fn of_local(&self, local: Local) -> Dtype {
        if self.wide_locals.contains(&local) { Dtype::F64 } else { Dtype::F32 }
    }
}

/// Returns true if a statement sets integers, or reads, sets or casts to 64-bit floats.
fn has_wide_buffers(program: &Program, statement: &Statement) -> bool {
    let sets = statement.written().map(|id| program.buffer(id).dtype);
    let mut wide = sets.is_some_and(|dtype| dtype == Dtype::F64 || !dtype.is_float());
    statement.each_read(&mut |cell| wide |= program.buffer(cell.buffer).dtype == Dtype::F64);
    wide || statement.value().is_some_and(Scalar::has_wide_cast)
}
