//! Functions beside values with many digits, by every way to run a program, in both types of floats.

use broadloom::{Array, Dtype, Error, Graph, Pointwise, Routine, Session};

use crate::numbers::treatments;

/// The greatest distance from the true value, in units of the last place, as docs/language.md states it.
const MOST: f64 = 2.0;

const FUNCTIONS: [&str; 17] = [
    "exp", "log", "sigmoid", "log1p", "expm1", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "erf",
];

/// The arguments of a function, one list for each operand, and its values.
fn table(name: &str) -> (Vec<Vec<f64>>, Vec<f64>) {
    let lines = include_str!("../../../broadloom-loops/tests/functions.txt").lines();
    let rows = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let rows: Vec<Vec<f64>> =
        rows.map(|row| row.split(' ').map(|word| word.parse().expect("a number")).collect()).collect();
    let count = rows[0].len() - 1;
    let column = |at: usize| rows.iter().map(|row| row[at]).collect();
    ((0..count).map(column).collect(), column(count))
}

/// The distance from a value in units of its last place.
fn distance(found: f64, wanted: f64, dtype: Dtype) -> f64 {
    if dtype == Dtype::F32 {
        let wanted = wanted as f32;
        let unit = f64::from(wanted.abs().next_up()) - f64::from(wanted.abs());
        return if found == f64::from(wanted) { 0.0 } else { (found - f64::from(wanted)).abs() / unit };
    }
    if found == wanted { 0.0 } else { (found - wanted).abs() / (wanted.abs().next_up() - wanted.abs()) }
}

/// The distance that is greatest, and where.
fn worst(name: &str, arguments: &[Vec<f64>], found: &[f64], wanted: &[f64], dtype: Dtype) -> (f64, String) {
    let (mut most, mut place) = (0.0, String::new());
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let distance = distance(*found, *wanted, dtype);
        // What is not a number is as far as can be.
        if distance > most || distance.is_nan() {
            let at: Vec<String> = arguments.iter().map(|list| list[at].to_string()).collect();
            (most, place) = (distance, format!("{name}({}) is {found}, not {wanted}", at.join(", ")));
        }
    }
    (most, place)
}

#[test]
fn within_two_units_of_the_last_place() -> Result<(), Error> {
    let mut wrong = Vec::new();
    for (way, settings) in treatments() {
        for dtype in [Dtype::F64, Dtype::F32] {
            let (mut g, mut routine, mut made) = (Graph::new(), Routine::new("all"), Vec::new());
            for name in FUNCTIONS {
                let (arguments, wanted) = table(name);
                let mut operands = Vec::new();
                for (at, list) in arguments.iter().enumerate() {
                    let values = Array::from_slice(&[list.len() as u64], list)?.convert(dtype);
                    operands.push(g.array(&format!("{name}{at}"), "...", values)?);
                }
                let result = g.pointwise(name, &operands)?;
                routine.forward(result);
                made.push((name, arguments, wanted, result));
            }
            let mut session = Session::with(g, settings.clone())?;
            session.run(&routine)?;
            for (name, arguments, wanted, result) in made {
                let found = session.get(result)?.to_f64s();
                let (distance, place) = worst(name, &arguments, &found, &wanted, dtype);
                if distance.is_nan() || distance > MOST {
                    wrong.push(format!("{way}, {dtype}, {distance:.2} ulp: {place}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Numbers that folding computes are as near.
#[test]
fn known_numbers_are_as_near() {
    for name in FUNCTIONS {
        let (arguments, wanted) = table(name);
        let value = |at: usize| {
            let at: Vec<f64> = arguments.iter().map(|list| list[at]).collect();
            Pointwise::named(name).and_then(|function| function.value(&at)).expect("a function")
        };
        let found: Vec<f64> = (0..wanted.len()).map(value).collect();
        let (distance, place) = worst(name, &arguments, &found, &wanted, Dtype::F64);
        assert!(distance <= MOST, "{distance:.2} ulp: {place}");
    }
}
