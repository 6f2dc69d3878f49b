//! Factors: constant factors move out of the sums of contractions.
//!
//! `t += (a[i, k] * 0.5) * b[k, j]`, stored as `t`, becomes `t += a[i, k] * b[k, j]`, stored as
//! `t * 0.5`. The sum starts from 0, so this is the distributive law, up to rounding, and the
//! kernel for matrices sees a plain product.
//!
//! Factors that are very large or very small stay: whoever writes `x * 1e-20` may do so because the squares of `x` are too
//! large for the type, and without the factor the sum would be infinite.

use super::cost::is_contraction;
use crate::buffer::Local;
use crate::function::{Binary, Unary};
use crate::program::{Program, Statement};
use crate::scalar::Scalar;

/// Moves factors out of contractions. Returns the number of contractions that changed.
pub fn factors(program: &mut Program) -> usize {
    let mut changes = 0;
    for nest in &mut program.nests {
        if !is_contraction(nest) {
            continue;
        }
        let mut body = &mut nest.body[..];
        while let [Statement::Loop(each)] = body {
            body = &mut each.body;
        }
        if let [
            Statement::Declare { local, value: Scalar::Number(0.0) },
            inner,
            Statement::Store { value, .. },
        ] = body
            && *value == Scalar::Local(*local)
            && let Some(factor) = take(inner, *local)
        {
            *value = Scalar::binary(Binary::Mul, value.clone(), Scalar::Number(factor));
            changes += 1;
        }
    }
    changes
}

/// Takes the factor out of the update of a local inside loops.
fn take(statement: &mut Statement, of: Local) -> Option<f64> {
    match statement {
        Statement::Loop(each) => match &mut each.body[..] {
            [inner] => take(inner, of),
            _ => None,
        },
        Statement::Update { local, accumulate: Some(Binary::Add | Binary::Sub), value } if *local == of => {
            let (factor, rest) = split(value);
            *value = rest.filter(|_| factor != 1.0 && is_moderate(factor))?;
            Some(factor)
        }
        _ => None,
    }
}

/// Returns true if summands without a factor are about as far from overflow and underflow as those with it. A factor that is
/// infinite or 0 is not moderate: it would change the result for infinite summands.
fn is_moderate(factor: f64) -> bool {
    const BITS: f64 = 32.0;
    factor.abs().log2().abs() <= BITS
}

/// Splits a product into a number and the rest.
fn split(scalar: &Scalar) -> (f64, Option<Scalar>) {
    match scalar {
        Scalar::Number(value) => (*value, None),
        Scalar::Unary(Unary::Neg, a) => {
            let (factor, rest) = split(a);
            (-factor, rest)
        }
        Scalar::Binary(Binary::Mul, a, b) => {
            let ((x, a), (y, b)) = (split(a), split(b));
            let rest = match (a, b) {
                (Some(a), Some(b)) => Some(Scalar::binary(Binary::Mul, a, b)),
                (a, b) => a.or(b),
            };
            (x * y, rest)
        }
        other => (1.0, Some(other.clone())),
    }
}
