//! The parts of a program that advice quotes.

use crate::program::Program;
use crate::syntax::ast::{ExprId, ExprKind};

/// The name that an expression is.
pub(super) fn name(program: &Program, expr: ExprId) -> Option<&str> {
    match program.file.expr(expr).kind {
        ExprKind::Name(name) => Some(program.names.text(name)),
        _ => None,
    }
}
