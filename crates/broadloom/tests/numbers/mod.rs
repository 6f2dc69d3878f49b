//! Helpers of the tests that run programs: the ways to run them, random numbers, and sizes.

#![allow(dead_code, reason = "each test takes what it needs")]

use broadloom::{Array, Axis, Backend, Settings, Shape};

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

/// A small generator, so that failures can be repeated.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d);
        random.below(2);
        random
    }

    /// A number below a bound that is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    pub fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// A number from -1 to 1.
    pub fn signed(&mut self) -> f64 {
        self.below(2_000_001) as f64 / 1e6 - 1.0
    }

    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
    }

    /// Numbers with no two of the same size, none near 0: 0.3 to 1.3, of either sign.
    pub fn apart(&mut self, count: usize) -> Vec<f64> {
        // Not evenly spaced, so that their sums and differences are apart as well.
        let mut spaced = |at: usize| 0.3 + (at as f64 + self.below(1000) as f64 / 2000.0) / count as f64;
        let mut numbers: Vec<f64> = (0..count).map(&mut spaced).collect();
        self.shuffle(&mut numbers);
        numbers.iter().map(|number| if self.below(2) == 0 { *number } else { -number }).collect()
    }
}
