//! Declared sizes of tensors that meet: numbers, names with ranges, and any size, as [`typed`](broadloom::typed) infers them.

use broadloom::typed::{Broadcasting, Context, Dim, DimSpec, ShapeError, TensorShape};
use pyo3::prelude::*;

/// A size as Python has it: its name, the least and the greatest. A number has no name, and both are that number.
type Declared = (Option<String>, Option<u64>, Option<u64>);

/// Two sizes that meet: those of two operands, and true if a one takes the size of the other.
type Pair = (Declared, Declared, bool);

/// Sizes, or the place of the first pair that does not fit, and why.
type Met = (Vec<Declared>, Option<(usize, String)>);

/// The sizes that pairs of sizes have in common, all of them together: a name that is specialised by one pair is so in all others.
#[pyfunction]
pub fn meet_sizes(pairs: Vec<Pair>) -> Met {
    let mut context = Context::new();
    let mut met = Vec::with_capacity(pairs.len());
    for (at, (left, right, broadcasts)) in pairs.into_iter().enumerate() {
        let (left, right) = (read(left), read(right));
        let made = match broadcasts {
            true => {
                let shapes = [&left, &right].map(|dim| TensorShape::new([dim.clone()]));
                let made = context.broadcast(&shapes, Broadcasting::NumPy);
                made.map(|shape| shape.dims().first().cloned().unwrap_or(Dim::Dynamic))
            }
            false => context.unify_dims(&left, &right),
        };
        match made {
            Ok(dim) => met.push(dim),
            Err(error) => return (Vec::new(), Some((at, misfit(&error, &left, &right)))),
        }
    }
    (met.iter().map(|dim| written(context.resolve(dim))).collect(), None)
}

/// Returns true if a shape can be read as another one, for some sizes at least.
#[pyfunction]
pub fn can_reshape(sizes: Vec<Declared>, to: Vec<Declared>) -> bool {
    Context::new().reshape(&shape(sizes), &shape(to)).is_ok()
}

/// The least and the greatest number of bytes of a shape with elements of so many; there may be no greatest.
#[pyfunction]
pub fn memory_range(sizes: Vec<Declared>, element: u64) -> (u64, Option<u64>) {
    shape(sizes).memory_range(element)
}

fn shape(sizes: Vec<Declared>) -> TensorShape {
    TensorShape::new(sizes.into_iter().map(read))
}

fn read((name, min, max): Declared) -> Dim {
    DimSpec { name, sample: 1, min, max }.into()
}

fn written(dim: Dim) -> Declared {
    match dim {
        Dim::Literal(size) => (None, Some(size), Some(size)),
        Dim::Named(name, None) => (Some(name), None, None),
        Dim::Named(name, Some((least, most))) => {
            (Some(name), Some(least), Some(most).filter(|most| *most != u64::MAX))
        }
        Dim::Var(_) | Dim::Dynamic | Dim::Broadcast | Dim::Expression(_) => (None, None, None),
    }
}

/// The reason why two sizes have nothing in common.
fn misfit(error: &ShapeError, left: &Dim, right: &Dim) -> String {
    match error {
        ShapeError::BroadcastIncompatible { cause, .. } => misfit(cause, left, right),
        ShapeError::DimensionOutOfRange { name, actual, min, max } => {
            format!("is {actual}, and `{name}` lies in {}", range(*min, *max))
        }
        ShapeError::RangeEmpty { name, left, right } => format!(
            "is `{name}`, which lies in {} on the left and in {} on the right: no size is in both",
            range(left.0, left.1),
            range(right.0, right.1)
        ),
        ShapeError::Incompatible { .. } => format!(
            "is {} on the left and {} on the right: two names are two sizes",
            quoted(left),
            quoted(right)
        ),
        _ => format!("is {} on the left and {} on the right", quoted(left), quoted(right)),
    }
}

fn range(least: u64, most: u64) -> String {
    if most == u64::MAX { format!("{least}..") } else { format!("{least}..{most}") }
}

/// A size in a message: its name, or its number.
fn quoted(dim: &Dim) -> String {
    match dim {
        Dim::Named(name, _) => format!("`{name}`"),
        other => other.to_string(),
    }
}
