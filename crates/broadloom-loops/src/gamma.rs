//! The logarithm of the gamma function and its derivatives, as far as libraries do not have them.
//!
//! `digamma` and `trigamma` are quotients of polynomials, fitted at Chebyshev nodes in 60 digits: from 2 on, of `y = 1 / (x - 1/2)²`, what
//! is left beside `log(x - 1/2)` and `1 / (x - 1/2)`; between 1 and 2, of `x - 3/2`, the quotient by the distance from the root. Smaller
//! arguments are moved there. Within 2 ulp, except where a negative argument is near a root. `native/runtime/math.c` has the same in C.

use std::f64::consts::PI;

/// The root of `digamma`: what 24 bits hold of it, and the rest.
const ROOT: [f64; 2] = [1.4616321325302124, 1.2438149938918909e-8];

/// `digamma(x) / (x - root)` for `x - 3/2` between -1/2 and 1/2.
const NEAR: [&[f64]; 2] = [
    &[
        0.9510558760318328,
        1.0786473286494878,
        0.41869245850949033,
        0.06552136794893776,
        0.0035369185229135415,
        1.9227634434238662e-5,
        -2.1371909144303333e-7,
    ],
    &[
        1.0,
        1.5795862133768737,
        0.8909108601153678,
        0.22226135682897646,
        0.023995076433558565,
        0.000857691360255349,
    ],
];

/// `(digamma(x) - log(x - 1/2)) / y` for x from 2 on.
const DIGAMMA: [&[f64]; 2] = [
    &[
        0.04166666666666134,
        0.6109387733645413,
        2.847483998143777,
        5.143578734631839,
        3.4860244530729014,
        0.6951330947298276,
        0.014210694804086457,
    ],
    &[
        1.0,
        14.8375305606488,
        70.84392191335158,
        134.57385495719362,
        101.96954928544254,
        26.953481646904308,
        1.672728730144368,
    ],
];

/// `(1 - (x - 1/2) · trigamma(x)) / y` for x from 2 on.
const TRIGAMMA: [&[f64]; 2] = [
    &[
        0.0833333333333298,
        1.835191186820074,
        13.751813907505975,
        43.998560433198996,
        61.65002487891478,
        34.457177016853244,
        5.72525436858474,
        0.06278933185376341,
    ],
    &[
        1.0,
        22.372294241796574,
        172.57528416907058,
        582.5886174678394,
        903.9116685756197,
        619.8296104645391,
        164.04698744264482,
        11.736841625364589,
    ],
];

/// The quotient of two polynomials, whose coefficients begin with that of 1.
fn quotient([above, below]: [&[f64]; 2], x: f64) -> f64 {
    let polynomial = |of: &[f64]| of.iter().rev().fold(0.0, |sum, next| sum * x + next);
    polynomial(above) / polynomial(below)
}

/// The derivative of the logarithm of the gamma function. Minus infinity at 0, and not a number at negative integers.
pub(crate) fn digamma(x: f64) -> f64 {
    if x >= 2.0 {
        let z = x - 0.5;
        let y = 1.0 / (z * z);
        z.ln() + y * quotient(DIGAMMA, y)
    } else if x >= 1.0 {
        (x - ROOT[0] - ROOT[1]) * quotient(NEAR, x - 1.5)
    } else if x > 0.0 {
        digamma(x + 1.0) - 1.0 / x
    } else if x == 0.0 {
        -1.0 / x
    } else if x.is_nan() {
        x
    } else {
        let part = x - x.round();
        if part == 0.0 { f64::NAN } else { digamma(1.0 - x) - PI / (PI * part).tan() }
    }
}

/// The derivative of [`digamma`]. Infinity at 0 and at negative integers.
pub(crate) fn trigamma(x: f64) -> f64 {
    if x >= 2.0 {
        let z = x - 0.5;
        let y = 1.0 / (z * z);
        (1.0 - y * quotient(TRIGAMMA, y)) / z
    } else if x > 0.0 {
        trigamma(x + 1.0) + 1.0 / (x * x)
    } else if x.is_nan() {
        x
    } else {
        let sine = (PI * (x - x.round())).sin() / PI;
        if sine == 0.0 { f64::INFINITY } else { 1.0 / (sine * sine) - trigamma(1.0 - x) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance of two numbers in units of the last place.
    fn ulps(found: f64, wanted: f64) -> f64 {
        if found == wanted {
            return 0.0;
        }
        (found - wanted).abs() / (wanted.abs().next_up() - wanted.abs())
    }

    #[test]
    fn beside_values_with_many_digits() {
        for line in include_str!("../tests/gamma.txt").lines() {
            let numbers: Vec<f64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
            let &[x, log_gamma, first, second] = &numbers[..] else { panic!("{line}") };
            // Where an argument is rounded as much as this, so is the value.
            let of_argument = |slope: f64, value: f64| (x * slope / value).abs();
            let near = |name: &str, found: f64, wanted: f64, slope: f64| {
                let most = 2.0f64.max(of_argument(slope, wanted));
                assert!(
                    ulps(found, wanted) <= most,
                    "{name}({x}) is {found}, not {wanted}: {} ulp",
                    ulps(found, wanted)
                );
            };
            near("lgamma", libm::lgamma(x), log_gamma, first);
            near("digamma", digamma(x), first, second);
            near("trigamma", trigamma(x), second, -2.0 * second / x);
        }
    }

    #[test]
    fn at_the_ends() {
        assert_eq!(digamma(0.0), f64::NEG_INFINITY);
        assert!(digamma(-3.0).is_nan() && digamma(f64::NAN).is_nan() && digamma(f64::NEG_INFINITY).is_nan());
        assert_eq!(digamma(f64::INFINITY), f64::INFINITY);
        assert_eq!(trigamma(0.0), f64::INFINITY);
        assert_eq!(trigamma(-2.0), f64::INFINITY);
        assert_eq!(trigamma(f64::INFINITY), 0.0);
        assert!(trigamma(f64::NAN).is_nan());
    }
}
