//! Arithmetic on numbers that are known, and the operations that operators stand for.

use broadloom::Pointwise;

use crate::syntax::ast::Binary;

/// The pointwise operation for an operator; none for `@` and `|>`.
pub(crate) fn operation(sign: Binary) -> Option<Pointwise> {
    Some(match sign {
        Binary::Pipe | Binary::Compose => return None,
        Binary::Or => Pointwise::Or,
        Binary::And => Pointwise::And,
        Binary::Less => Pointwise::Less,
        Binary::LessEq => Pointwise::LessOrEqual,
        Binary::Greater => Pointwise::Greater,
        Binary::GreaterEq => Pointwise::GreaterOrEqual,
        Binary::Equal => Pointwise::Equals,
        Binary::NotEqual => Pointwise::NotEquals,
        Binary::Add => Pointwise::Add,
        Binary::Sub => Pointwise::Sub,
        Binary::Mul => Pointwise::Mul,
        Binary::Div => Pointwise::Div,
        Binary::FloorDiv => Pointwise::FloorDiv,
        Binary::Mod => Pointwise::Modulo,
        Binary::Pow => Pointwise::Pow,
    })
}

/// Applies an operator to numbers that are known.
pub(crate) fn fold(sign: Binary, a: f64, b: f64) -> f64 {
    match operation(sign) {
        Some(operation) => number(operation, &[a, b]),
        None if sign == Binary::Compose => a * b,
        None => b,
    }
}

/// The value of a pointwise operation on numbers.
pub(crate) fn number(operation: Pointwise, operands: &[f64]) -> f64 {
    operation.value(operands).unwrap_or(f64::NAN)
}
