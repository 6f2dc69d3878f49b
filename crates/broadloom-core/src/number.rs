//! Arithmetic on whole numbers.

/// The greatest common divisor.
pub(crate) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The least common multiple of two positive numbers.
pub(crate) fn lcm(a: u64, b: u64) -> u64 {
    a / gcd(a.into(), b.into()) as u64 * b
}
