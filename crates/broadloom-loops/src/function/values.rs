//! The values of functions, of floats and of integers, where Rust has no function for them.

pub(super) fn truth(holds: bool) -> f64 {
    f64::from(holds)
}

pub(super) fn not(x: f64) -> f64 {
    truth(x == 0.0)
}

pub(super) fn and(a: f64, b: f64) -> f64 {
    truth(a != 0.0 && b != 0.0)
}

pub(super) fn or(a: f64, b: f64) -> f64 {
    truth(a != 0.0 || b != 0.0)
}

/// 1 with the sign of a number, and the number itself if it is 0 or NaN.
pub(super) fn sign(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { x.signum() }
}

/// Not a number below 1, infinities included.
pub(super) fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// NaN stays NaN, and of two zeros the result is the second, whatever their signs.
pub(super) fn max(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

pub(super) fn min(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// The remainder with the sign of the divisor: exact, however large the quotient is.
pub(super) fn modulo(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
}

/// The quotient rounded down, from the remainder, so that a quotient that is nearly whole is not rounded up first. The quotient by 0 is infinite.
pub(super) fn floor_div(a: f64, b: f64) -> f64 {
    let rest = a % b;
    let above = rest != 0.0 && (rest < 0.0) != (b < 0.0);
    let quotient = ((a - rest) / b - truth(above)).round_ties_even();
    if b == 0.0 { a / b } else { quotient }
}

/// The quotient of integers rounded down: the nearest integer there is, if it is too large or infinite.
pub(super) fn whole_quotient(a: i64, b: i64) -> i64 {
    match b {
        0 if a == 0 => 0,
        0 if a < 0 => i64::MIN,
        0 => i64::MAX,
        -1 => a.saturating_neg(),
        _ => a / b - i64::from(a % b != 0 && (a < 0) != (b < 0)),
    }
}

/// A function of the integers towards 0.
pub(super) fn in_bits(a: f64, b: f64, of: fn(i64, i64) -> i64) -> f64 {
    of(a as i64, b as i64) as f64
}

/// `a` times 2 for each place: the nearest integer there is, if it is too large.
pub(super) fn shift_left(a: i64, places: i64) -> i64 {
    match places {
        ..0 => a >> places.saturating_neg().min(63),
        _ if a == 0 => 0,
        0..63 if (a << places) >> places == a => a << places,
        _ if a < 0 => i64::MIN,
        _ => i64::MAX,
    }
}

pub(super) fn shift_right(a: i64, places: i64) -> i64 {
    shift_left(a, places.saturating_neg())
}

/// A number as an integer, if it is one.
pub fn whole_number(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() < 9_223_372_036_854_775_808.0).then_some(value as i64)
}

/// A power of integers: the nearest there is, if it is too large.
pub(super) fn whole_power(a: i64, b: i64) -> i64 {
    // Beyond 64, only the sign depends on the exponent: 2 ** 64 is too large already.
    let power = |b: i64| a.saturating_pow(if b > 64 { 64 + (b & 1) as u32 } else { b as u32 });
    match a {
        _ if b >= 0 => power(b),
        0 => i64::MAX,
        1 | -1 => power(b & 1),
        _ => 0,
    }
}
