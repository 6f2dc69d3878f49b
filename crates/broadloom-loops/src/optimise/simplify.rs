//! Simplification: constants, neutral elements, powers, and loops that run once or never.
//!
//! Results are those of IEEE arithmetic, except that the last bit of a power may differ, and that
//! `x ** 0.5` of minus infinity becomes NaN, as its square root is. In particular `x * 0` and
//! `x - x` stay, because `x` may be infinite or NaN; `x + 0` and `0 - x` stay, because `x` may be a
//! zero whose sign they change; and a division by a constant becomes a product only if its inverse
//! is exact. Constants are folded in the type that their statement computes in, as if they were not constant.

use super::cost::Cost;
use super::rewrite::{substitute_body, value_mut};
use crate::Dtype;
use crate::buffer::{Index, LoopSum};
use crate::function::{Binary, Unary};
use crate::program::{Nest, Program, Statement};
use crate::reference::{Reals, round};
use crate::scalar::Scalar;

/// Simplifies every nest. Returns how many scalars and loops were changed.
pub fn simplify(program: &mut Program) -> usize {
    let mut changes = 0;
    let mut nests = std::mem::take(&mut program.nests);
    for nest in &mut nests {
        let mut reals = reals(program, &nest.body).into_iter();
        block(&mut nest.body, &mut reals, &mut changes);
    }
    nests.retain(|nest: &Nest| !nest.body.is_empty());
    program.nests = nests;
    changes
}

/// The type that each statement computes in, with those inside it behind it.
fn reals(program: &Program, body: &[Statement]) -> Vec<Dtype> {
    let (reals, mut types) = (Reals::of(program, body), Vec::new());
    for statement in body {
        statement.each(&mut |inner| types.push(reals.of_statement(inner)));
    }
    types
}

fn block(body: &mut Vec<Statement>, reals: &mut impl Iterator<Item = Dtype>, changes: &mut usize) {
    let mut result = Vec::with_capacity(body.len());
    for mut statement in std::mem::take(body) {
        let real = reals.next().unwrap_or(Dtype::F64);
        if let Some(value) = value_mut(&mut statement) {
            scalar(value, real, changes);
        }
        match statement {
            Statement::Loop(mut each) => {
                // The variable of a loop that runs once is 0.
                let zero = vec![(each.var, Index::At(LoopSum::fixed(0)))];
                let once = each.extent == 1 && substitute_body(&mut each.body, &zero).is_some();
                block(&mut each.body, reals, changes);
                if each.extent == 0 || each.body.is_empty() {
                    *changes += 1;
                } else if once {
                    *changes += 1;
                    result.append(&mut each.body);
                } else {
                    result.push(Statement::Loop(each));
                }
            }
            Statement::Store { accumulate: Some(function), ref value, .. }
            | Statement::Update { accumulate: Some(function), ref value, .. }
                if keeps_left(function, value) =>
            {
                *changes += 1;
            }
            other => result.push(other),
        }
    }
    *body = result;
}

/// Returns true if `x function value` is `x`, for every `x`.
fn keeps_left(function: Binary, value: &Scalar) -> bool {
    let Scalar::Number(value) = value else { return false };
    let truth = matches!(function, Binary::And | Binary::Or);
    !truth && function.neutral().is_some_and(|neutral| neutral == *value)
}

/// Simplifies a scalar and all scalars inside it, which are computed in a type of floats.
fn scalar(scalar: &mut Scalar, real: Dtype, changes: &mut usize) {
    for child in scalar.children_mut() {
        self::scalar(child, real, changes);
    }
    // Each rule makes the scalar smaller or moves it further down this list, so the loop ends.
    while let Some(simpler) = step(scalar, real) {
        *scalar = simpler;
        *changes += 1;
    }
}

/// One rule, if one applies.
fn step(scalar: &Scalar, real: Dtype) -> Option<Scalar> {
    match scalar {
        Scalar::Position(sum) if sum.terms.is_empty() => {
            sum.offset.as_number().map(|offset| Scalar::Number(offset as f64))
        }
        Scalar::Unary(function, a) => unary(*function, a, real),
        Scalar::Binary(function, a, b) => binary(*function, a, b, real),
        Scalar::Select(condition, a, b) => match &**condition {
            Scalar::Number(value) => Some(if *value == 0.0 { (**b).clone() } else { (**a).clone() }),
            // where(not c, a, b) = where(c, b, a)
            Scalar::Unary(Unary::Not, inner) => Some(Scalar::Select(inner.clone(), b.clone(), a.clone())),
            _ if a == b => Some((**a).clone()),
            _ => None,
        },
        _ => None,
    }
}

fn unary(function: Unary, a: &Scalar, real: Dtype) -> Option<Scalar> {
    match (function, a) {
        (function, Scalar::Number(value)) => {
            Some(Scalar::Number(round(real, function.of(round(real, *value)))))
        }
        // -(-x) = x
        (Unary::Neg, Scalar::Unary(Unary::Neg, x)) => Some((**x).clone()),
        // -(x - y) = y - x but for the sign of zero, which a division can show: it stays.
        // |-x| = ||x|| = |x|
        (Unary::Abs, Scalar::Unary(Unary::Neg | Unary::Abs, x)) => {
            Some(Scalar::unary(Unary::Abs, (**x).clone()))
        }
        // 1 / (1 / x) = x up to rounding, but not for zeros and infinities of either sign: it stays.
        _ => None,
    }
}

fn binary(function: Binary, a: &Scalar, b: &Scalar, real: Dtype) -> Option<Scalar> {
    match (a, b) {
        (Scalar::Number(x), Scalar::Number(y)) => {
            return Some(Scalar::Number(round(real, function.of(round(real, *x), round(real, *y)))));
        }
        (_, Scalar::Number(y)) => {
            if let Some(result) = constant_right(function, a, *y) {
                return Some(result);
            }
        }
        (Scalar::Number(x), _) => {
            if let Some(result) = constant_left(function, *x, b) {
                return Some(result);
            }
        }
        _ => {}
    }
    match (function, a, b) {
        // x + -y = x - y; x - -y = x + y
        (Binary::Add, _, Scalar::Unary(Unary::Neg, y)) => {
            Some(Scalar::binary(Binary::Sub, a.clone(), (**y).clone()))
        }
        (Binary::Sub, _, Scalar::Unary(Unary::Neg, y)) => {
            Some(Scalar::binary(Binary::Add, a.clone(), (**y).clone()))
        }
        // -x + y = y - x
        (Binary::Add, Scalar::Unary(Unary::Neg, x), _) => {
            Some(Scalar::binary(Binary::Sub, b.clone(), (**x).clone()))
        }
        // -x * -y = x * y
        (Binary::Mul, Scalar::Unary(Unary::Neg, x), Scalar::Unary(Unary::Neg, y)) => {
            Some(Scalar::Binary(Binary::Mul, x.clone(), y.clone()))
        }
        (Binary::Max | Binary::Min, _, _) if a == b => Some(a.clone()),
        _ => None,
    }
}

fn constant_right(function: Binary, a: &Scalar, y: f64) -> Option<Scalar> {
    let a = || a.clone();
    match function {
        // x + -0 = x - 0 = x * 1 = x / 1 = x ** 1 = x; max(x, -inf) = min(x, inf) = x
        Binary::Add if y == 0.0 && y.is_sign_negative() => Some(a()),
        Binary::Sub if y == 0.0 && y.is_sign_positive() => Some(a()),
        Binary::Mul | Binary::Div | Binary::Pow if y == 1.0 => Some(a()),
        Binary::Max if y == f64::NEG_INFINITY => Some(a()),
        Binary::Min if y == f64::INFINITY => Some(a()),
        // x * -1 = x / -1 = -x
        Binary::Mul | Binary::Div if y == -1.0 => Some(Scalar::unary(Unary::Neg, a())),
        // x / 2ⁿ = x * 2⁻ⁿ, exactly
        Binary::Div if has_exact_inverse(y) => {
            Some(Scalar::binary(Binary::Mul, a(), Scalar::Number(1.0 / y)))
        }
        Binary::Pow => power(a(), y),
        // x and 0 = 0; x or 1 = 1, even if x is NaN
        Binary::And if y == 0.0 => Some(Scalar::Number(0.0)),
        Binary::Or if y != 0.0 => Some(Scalar::Number(1.0)),
        // x and 1 = x or 0 = (x != 0)
        Binary::And | Binary::Or => Some(Scalar::binary(Binary::NotEqual, a(), Scalar::Number(0.0))),
        _ => None,
    }
}

fn constant_left(function: Binary, x: f64, b: &Scalar) -> Option<Scalar> {
    match function {
        // -0 - y = -y
        Binary::Sub if x == 0.0 && x.is_sign_negative() => Some(Scalar::unary(Unary::Neg, b.clone())),
        // 1 ** y = 1, even if y is NaN
        Binary::Pow if x == 1.0 => Some(Scalar::Number(1.0)),
        // If the order does not matter, the constant may as well be on the right.
        Binary::Add | Binary::Mul | Binary::Max | Binary::Min | Binary::And | Binary::Or => {
            constant_right(function, b, x)
        }
        _ => None,
    }
}

/// Powers that are cheaper without a logarithm. A base that would be computed twice must be small:
/// the pass for common subexpressions merges the copies, but it may not run.
fn power(x: Scalar, y: f64) -> Option<Scalar> {
    let small = Cost::of(&x).total() <= 8;
    let times = |a: Scalar, b: Scalar| Scalar::binary(Binary::Mul, a, b);
    if y == 0.0 {
        // Even if x is NaN.
        Some(Scalar::Number(1.0))
    } else if y == 0.5 {
        Some(Scalar::unary(Unary::Sqrt, x))
    } else if y == -0.5 {
        Some(Scalar::unary(Unary::Recip, Scalar::unary(Unary::Sqrt, x)))
    } else if y == -1.0 {
        Some(Scalar::unary(Unary::Recip, x))
    } else if y == 2.0 && small {
        Some(times(x.clone(), x))
    } else if y == 3.0 && small {
        Some(times(times(x.clone(), x.clone()), x))
    } else {
        None
    }
}

/// Returns true if dividing by a number is the same as multiplying by its inverse: both must be
/// powers of two, far from overflow.
fn has_exact_inverse(y: f64) -> bool {
    let exponent = y.abs().log2();
    exponent.is_finite() && exponent.abs() <= 64.0 && f64::powi(2.0, exponent as i32) == y.abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Local;

    /// The values of the locals `x` and `y` at which both sides of each rule are compared.
    const VALUES: [f64; 10] =
        [0.0, -0.0, 1.0, -1.5, 2.0, 1e300, 5e-324, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

    fn x() -> Scalar {
        Scalar::Local(Local(0))
    }

    fn y() -> Scalar {
        Scalar::Local(Local(1))
    }

    fn value(scalar: &Scalar, locals: [f64; 2]) -> f64 {
        match scalar {
            Scalar::Number(value) => *value,
            Scalar::Local(local) => locals[local.0 as usize],
            Scalar::Unary(function, a) => function.of(value(a, locals)),
            Scalar::Binary(function, a, b) => function.of(value(a, locals), value(b, locals)),
            Scalar::Select(a, b, c) => value(if value(a, locals) == 0.0 { c } else { b }, locals),
            other => panic!("{other:?} is not used here"),
        }
    }

    /// Simplifies, and compares the values before and after. Returns true if anything changed.
    fn changes(before: Scalar) -> bool {
        let mut after = before.clone();
        let mut changes = 0;
        scalar(&mut after, Dtype::F64, &mut changes);
        for a in VALUES {
            for b in VALUES {
                let (old, new) = (value(&before, [a, b]), value(&after, [a, b]));
                let close = old != 0.0 && (old - new).abs() <= 1e-15 * old.abs();
                let root = a <= 0.0 && matches!(before, Scalar::Binary(Binary::Pow, ..));
                let same = old.to_bits() == new.to_bits() || close || (old.is_nan() && new.is_nan()) || root;
                assert!(same, "{before:?} at {a}, {b} is {old}, but {after:?} is {new}");
            }
        }
        changes > 0
    }

    #[test]
    fn every_function_with_every_constant_keeps_its_value() {
        let constants =
            [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -0.5, 0.1, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        for function in Binary::ALL.iter().copied() {
            changes(Scalar::binary(function, x(), y()));
            changes(Scalar::binary(function, x(), x()));
            for unary in Unary::ALL.iter().copied() {
                changes(Scalar::unary(unary, Scalar::binary(function, x(), y())));
                changes(Scalar::binary(function, Scalar::unary(unary, x()), y()));
                changes(Scalar::binary(function, y(), Scalar::unary(unary, x())));
            }
            for constant in constants.map(Scalar::Number) {
                changes(Scalar::binary(function, x(), constant.clone()));
                changes(Scalar::binary(function, constant.clone(), x()));
                for second in constants.map(Scalar::Number) {
                    changes(Scalar::binary(function, constant.clone(), second));
                }
            }
        }
        for outer in Unary::ALL.iter().copied() {
            for inner in Unary::ALL.iter().copied() {
                changes(Scalar::unary(outer, Scalar::unary(inner, x())));
                let not = Scalar::unary(Unary::Not, Scalar::unary(inner, x()));
                changes(Scalar::Select(Box::new(not), Box::new(Scalar::unary(outer, x())), Box::new(y())));
            }
        }
    }

    #[test]
    fn what_must_stay_stays_and_what_should_go_goes() {
        let with = |function, constant| Scalar::binary(function, x(), Scalar::Number(constant));
        assert!(!changes(with(Binary::Mul, 0.0)));
        assert!(!changes(Scalar::binary(Binary::Sub, x(), x())));
        assert!(!changes(with(Binary::Div, 3.0)));
        assert!(!changes(with(Binary::Max, 0.0)));
        assert!(!changes(with(Binary::Add, 0.0)));
        assert!(!changes(Scalar::binary(Binary::Sub, Scalar::Number(0.0), x())));
        for (function, constant) in [
            (Binary::Add, -0.0),
            (Binary::Sub, 0.0),
            (Binary::Mul, 1.0),
            (Binary::Div, 4.0),
            (Binary::Pow, 2.0),
            (Binary::Pow, 0.5),
            (Binary::Max, f64::NEG_INFINITY),
        ] {
            assert!(changes(with(function, constant)), "{function:?} {constant}");
        }
    }

    #[test]
    fn powers_of_powers_stay_small() {
        let mut tower = x();
        for _ in 0..40 {
            tower = Scalar::binary(Binary::Pow, tower, Scalar::Number(2.0));
        }
        scalar(&mut tower, Dtype::F64, &mut 0);
        assert!(Cost::of(&tower).total() < 2000);
    }
}
