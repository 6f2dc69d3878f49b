//! Arithmetic on numbers that are known.

use broadloom::Operation;

use crate::syntax::ast::Binary;

/// Applies an operator to numbers that are known.
pub(crate) fn fold(sign: Binary, a: f64, b: f64) -> f64 {
    match sign {
        Binary::Compose => a * b,
        Binary::Pipe => b,
        _ => number(sign.operation(), &[a, b]),
    }
}

/// The value of a pointwise operation on numbers. Every operation that has a sign or a name in the
/// language is in the table.
pub(crate) fn number(name: &str, operands: &[f64]) -> f64 {
    Operation::value(name, operands).unwrap_or(f64::NAN)
}
