//! The table is consistent: its order, domains, kinds of values and neutral elements.

use super::values::truth;
use super::*;

#[test]
fn rows_stand_in_the_order_of_the_enumerations() {
    for (row, function) in UNARY.iter().zip(Unary::ALL) {
        assert_eq!((row.function, function.name()), (*function, row.name));
    }
    for (row, function) in BINARY.iter().zip(Binary::ALL) {
        assert_eq!((row.function, function.name()), (*function, row.name));
    }
}

const NUMBERS: [f64; 13] = [-20.0, -2.5, -1.0, -0.5, -1e-3, -0.0, 0.0, 1e-3, 0.5, 1.0, 2.0, 3.5, 20.0];

/// Inside its domain a function has a finite value; outside it may have none.
#[test]
fn domains() {
    for function in Unary::ALL {
        for x in NUMBERS {
            let (inside, value) = (function.domain().contains(x), function.of(x));
            assert_eq!(inside, value.is_finite(), "{}({x}) is {value}", function.name());
        }
    }
    for function in Binary::ALL {
        for (a, b) in NUMBERS.iter().flat_map(|a| NUMBERS.map(|b| (*a, b))) {
            let inside = function.domain()[0].contains(a) && function.domain()[1].contains(b);
            let value = function.of(a, b);
            assert!(!inside || value.is_finite(), "{a} {} {b} is {value}", function.name());
        }
    }
}

/// Values are of the kinds that the table states.
#[test]
fn kinds_of_values() {
    let whole = |x: f64| !x.is_finite() || x.fract() == 0.0;
    let check = |name: &str, yields: Yields, operands: &[f64], value: f64| {
        let right = match yields {
            Yields::Truth => value == 0.0 || value == 1.0,
            Yields::Operand => operands.contains(&value),
            Yields::Exact => {
                whole(value) || operands.contains(&value.abs()) || operands.contains(&-value.abs())
            }
            // A power of a whole number by a negative one is a fraction that integers cannot hold.
            Yields::Rounded => whole(value) || name == "**" || !operands.iter().copied().all(whole),
            Yields::Fractions => true,
        };
        assert!(right, "{name} of {operands:?} is {value}");
    };
    for function in Unary::ALL {
        NUMBERS.iter().for_each(|x| check(function.name(), function.yields(), &[*x], function.of(*x)));
    }
    for function in Binary::ALL {
        for (a, b) in NUMBERS.iter().flat_map(|a| NUMBERS.map(|b| (*a, b))) {
            check(function.name(), function.yields(), &[a, b], function.of(a, b));
        }
    }
}

/// Of integers that floats hold, the values are the same.
#[test]
fn values_of_integers() {
    let numbers = [-7i64, -3, -1, 0, 1, 2, 5, 1 << 20, -(1 << 21)];
    let rounded = |x: f64| if x.is_nan() { 0 } else { x as i64 };
    for x in numbers {
        for function in Unary::ALL {
            if let Some(value) = function.of_whole(x) {
                assert_eq!(value, rounded(function.of(x as f64)), "{} of {x}", function.name());
            }
        }
        for (function, y) in Binary::ALL.iter().flat_map(|function| numbers.map(|y| (function, y))) {
            if let Some(value) = function.of_whole(x, y) {
                let wanted = rounded(function.of(x as f64, y as f64));
                assert_eq!(value, wanted, "{x} {} {y}", function.name());
            }
        }
    }
    assert_eq!(Binary::Mod.of_whole(i64::MIN, -1), Some(0));
    assert_eq!(Binary::Pow.of_whole(3, 39), Some(4_052_555_153_018_976_267));
    assert_eq!(Binary::Pow.of_whole(-2, 63), Some(i64::MIN));
    assert_eq!(Binary::Pow.of_whole(-2, i64::MAX), Some(i64::MIN));
    assert_eq!(Binary::Pow.of_whole(-1, i64::MAX), Some(-1));
    assert_eq!(Binary::Pow.of_whole(i64::MIN, 2), Some(i64::MAX));
    assert_eq!(Binary::Mul.of_whole(i64::MIN, -1), Some(i64::MAX));
    assert_eq!(Unary::Neg.of_whole(i64::MIN), Some(i64::MAX));
}

/// Combined with the neutral element, a number stays what it is.
#[test]
fn neutral_elements() {
    for function in Binary::ALL {
        let Some(neutral) = function.neutral() else { continue };
        for x in NUMBERS {
            let wanted = if function.yields() == Yields::Truth { truth(x != 0.0) } else { x };
            assert_eq!(function.of(x, neutral), wanted, "{x} {} {neutral}", function.name());
        }
    }
}
