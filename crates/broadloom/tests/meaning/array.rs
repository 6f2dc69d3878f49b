//! Small arrays, shapes in the form that the tests use, and random numbers.

use std::fmt;

use broadloom::{Axis, Shape};
use broadloom_spec::Kind;
use broadloom_testing::Dice;

/// The indices of batch, output and input among the rows of a [`Form`], in memory order.
pub const MEMORY: [usize; 3] = [0, 2, 1];

/// One axis: the unit, or a size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    Unit,
    Count(u64),
}

impl Size {
    pub fn count(self) -> u64 {
        match self {
            Size::Unit => 1,
            Size::Count(count) => count,
        }
    }
}

/// A shape: batch, input and output.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Form(pub [Vec<Size>; 3]);

impl Form {
    pub fn of(shape: &Shape) -> Form {
        let size = |axis: &Axis| match axis {
            Axis::Unit => Size::Unit,
            Axis::Sized(count, _) => Size::Count(*count),
            // Symbolic sizes are computed at the samples.
            Axis::Symbolic(..) => Size::Count(axis.size()),
        };
        Form(Kind::ALL.map(|kind| shape.row(kind).iter().map(size).collect()))
    }

    /// The number of elements on each axis, in memory order.
    pub fn memory(&self) -> Vec<u64> {
        MEMORY.into_iter().flat_map(|row| self.0[row].iter().map(|size| size.count())).collect()
    }

    /// Returns true if both have the same number of elements on the same axes: the unit counts as
    /// one.
    pub fn same_sizes(&self, other: &Form) -> bool {
        let counts = |form: &Form| form.0.clone().map(|row| row.iter().map(|size| size.count()).collect());
        let (left, right): ([Vec<u64>; 3], [Vec<u64>; 3]) = (counts(self), counts(other));
        left == right
    }
}

/// A form as a declaration.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |size: &Size| match size {
            Size::Unit => String::from("1:unit"),
            Size::Count(count) => count.to_string(),
        };
        let [batch, input, output] =
            self.0.each_ref().map(|row| row.iter().map(text).collect::<Vec<_>>().join(", "));
        write!(f, "{batch} | {input} -> {output}")
    }
}

/// Numbers on a grid, the last axis fastest.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    pub sizes: Vec<u64>,
    pub values: Vec<f64>,
}

impl Array {
    pub fn zeros(sizes: Vec<u64>) -> Array {
        let count: u64 = sizes.iter().product();
        Array { sizes, values: vec![0.0; count as usize] }
    }

    /// The numbers 0, 1, 2, …
    pub fn range(sizes: Vec<u64>) -> Array {
        let mut array = Array::zeros(sizes);
        array.values.iter_mut().enumerate().for_each(|(at, value)| *value = at as f64);
        array
    }

    /// Whole numbers, so that sums are exact and do not depend on their order.
    pub fn random(sizes: Vec<u64>, random: &mut Dice) -> Array {
        let mut array = Array::zeros(sizes);
        array.values.iter_mut().for_each(|value| *value = 1.0 + random.below(997) as f64);
        array
    }
}

/// Visits all points of a box, the last coordinate fastest.
pub fn each_point(
    extents: &[u64],
    mut visit: impl FnMut(&[u64]) -> Result<(), String>,
) -> Result<u64, String> {
    if extents.contains(&0) {
        return Ok(0);
    }
    let mut point = vec![0; extents.len()];
    let mut count = 0;
    loop {
        visit(&point)?;
        count += 1;
        let Some(last) = (0..point.len()).rev().find(|at| point[*at] + 1 < extents[*at]) else {
            return Ok(count);
        };
        point[last] += 1;
        point[last + 1..].fill(0);
    }
}

/// A number for each cell of an array.
pub fn table(sizes: &[u64], value: impl Fn(&[u64]) -> u64) -> Vec<f64> {
    let mut values = Vec::new();
    each_point(sizes, |at| {
        values.push(value(at) as f64);
        Ok(())
    })
    .expect("nothing can fail");
    values
}
