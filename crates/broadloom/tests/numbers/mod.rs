//! Helpers of the tests that run programs: the ways to run them, random numbers, and sizes.

#![allow(dead_code, reason = "each test takes what it needs")]

use broadloom::{Array, Axis, Backend, Settings, Shape};
use broadloom_testing::Dice;

/// The ways to run a program. The first is the judge: the derived loop nests, evaluated slowly and
/// simply.
pub fn treatments() -> [(&'static str, Settings); 3] {
    let settings =
        |backend, optimise| Settings { backend, optimise, threads: Some(1), ..Settings::default() };
    [
        ("reference", settings(Backend::Reference, false)),
        ("reference, optimised", settings(Backend::Reference, true)),
        ("native", settings(Backend::Native, true)),
    ]
}

/// The sizes of a shape in memory order: batch, output, input.
pub fn memory(shape: &Shape) -> Vec<u64> {
    [shape.batch(), shape.output(), shape.input()].into_iter().flatten().map(Axis::size).collect()
}

/// A shape as it would be declared.
pub fn declared(shape: &Shape) -> String {
    let axis = |axis: &Axis| match axis {
        Axis::Unit => String::from("1:unit"),
        sized => sized.to_string(),
    };
    let [batch, input, output] = [shape.batch(), shape.input(), shape.output()]
        .map(|row| row.iter().map(axis).collect::<Vec<_>>().join(", "));
    format!("{batch} | {input} -> {output}")
}

/// An array of 64-bit floats.
pub fn array(sizes: &[u64], values: &[f64]) -> Array {
    Array::from_slice(sizes, values).expect("as many values as the sizes say")
}

/// Returns true if two numbers agree, relative to their size but not to less than 1.
pub fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

/// Numbers with no two of the same size, none near 0: 0.3 to 1.3, of either sign.
pub fn apart(dice: &mut Dice, count: usize) -> Vec<f64> {
    // Not evenly spaced, so that their sums and differences are apart as well.
    let mut spaced = |at: usize| 0.3 + (at as f64 + dice.below(1000) as f64 / 2000.0) / count as f64;
    let mut numbers: Vec<f64> = (0..count).map(&mut spaced).collect();
    dice.shuffle(&mut numbers);
    numbers.iter().map(|number| if dice.below(2) == 0 { *number } else { -number }).collect()
}
