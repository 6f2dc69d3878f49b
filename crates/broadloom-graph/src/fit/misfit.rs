//! The things that can be wrong with an array, as data and in words.

use std::fmt;

use broadloom_array::Dtype;
use broadloom_diagnostics::axes;

use crate::RuntimeCheck;
use crate::project::MEMORY;
use crate::shape::{Axis, Shape};
use crate::size::{SymbolicSize, list, range_text};
use crate::step::Tensor;

/// Something about arrays that does not fit a program. It displays as one sentence; [`help`](Misfit::help) says what to do.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Misfit {
    /// The number of axes, or sizes that the program has as numbers.
    Sizes {
        /// The tensor whose values it would be.
        tensor: Tensor,
        /// Its name, or the expression that makes it.
        label: String,
        /// Its shape.
        shape: Shape,
        /// The sizes of the array.
        sizes: Vec<u64>,
        /// The axes in question with the sizes they should have.
        wrong: Vec<(usize, u64)>,
    },
    /// An axis that depends on named sizes, and has a size that it cannot have.
    Expression {
        /// The tensor whose values it would be.
        tensor: Tensor,
        /// Its name, or the expression that makes it.
        label: String,
        /// Its shape.
        shape: Shape,
        /// The sizes of the array.
        sizes: Vec<u64>,
        /// The axis.
        axis: usize,
        /// Its size in the program.
        wanted: SymbolicSize,
        /// The numbers of the named sizes in it, if they are known without this axis.
        numbers: Vec<(String, u64)>,
    },
    /// Fractions where the program has integers.
    Dtype {
        /// The tensor whose values it would be.
        tensor: Tensor,
        /// Its name, or the expression that makes it.
        label: String,
        /// The type of its numbers.
        wanted: Dtype,
        /// The type of the array's numbers.
        given: Dtype,
    },
    /// A named size that gets several numbers.
    Disagreement {
        /// The name.
        name: String,
        /// The axes that give numbers, each number once.
        said: Vec<Said>,
    },
    /// A named size that gets a number out of its range.
    Range {
        /// The name.
        name: String,
        /// The axis that gives the number.
        said: Said,
        /// The range, as far as the program narrows it.
        range: (u64, Option<u64>),
        /// The range as it was declared.
        declared: (u64, Option<u64>),
    },
    /// Something the program relies on, which does not hold for the numbers that named sizes get.
    Check {
        /// The condition.
        check: RuntimeCheck,
        /// The numbers of the named sizes in it.
        numbers: Vec<(String, u64)>,
        /// The data whose arrays say these numbers.
        tensors: Vec<Tensor>,
    },
}

/// The number that an axis of an array gives to a named size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    /// The data whose array it is.
    pub tensor: Tensor,
    /// Its name, or the expression that makes it.
    pub label: String,
    /// The place of the axis, in memory order.
    pub axis: usize,
    /// The number that the named size has, if this axis is right.
    pub number: u64,
}

impl Misfit {
    /// The tensors it is about, in the order in which it names them.
    pub fn tensors(&self) -> Vec<Tensor> {
        match self {
            Misfit::Sizes { tensor, .. }
            | Misfit::Expression { tensor, .. }
            | Misfit::Dtype { tensor, .. }
            | Misfit::Range { said: Said { tensor, .. }, .. } => vec![*tensor],
            Misfit::Disagreement { said, .. } => said.iter().map(|said| said.tensor).collect(),
            Misfit::Check { tensors, .. } => tensors.clone(),
        }
    }

    /// Suggests a way to make it fit.
    pub fn help(&self) -> String {
        match self {
            Misfit::Sizes { shape, sizes, wrong, .. } => other_layout(shape, sizes)
                .or_else(|| unclaimed(shape, wrong))
                .unwrap_or("sizes are in memory order: batch axes, output axes, input axes".into()),
            Misfit::Expression { wanted, numbers, .. } => match numbers.is_empty() {
                true => near(wanted, self.given()),
                false => "a name is one size everywhere".into(),
            },
            Misfit::Dtype { wanted, .. } => format!("convert the array to {wanted} first"),
            Misfit::Disagreement { name, .. } => {
                format!("`{name}` is one size everywhere: give arrays that belong together")
            }
            Misfit::Range { name, range, declared, .. } if range != declared => format!(
                "`{name}` is declared in {}; the program has room for {} of it only",
                range_text(*declared),
                range_text(*range)
            ),
            Misfit::Range { .. } => "give it fewer or more, or declare a wider range".into(),
            Misfit::Check { .. } => "give arrays with sizes for which this holds".into(),
        }
    }

    /// The size of the axis in question.
    fn given(&self) -> u64 {
        match self {
            Misfit::Expression { sizes, axis, .. } => sizes.get(*axis).copied().unwrap_or_default(),
            _ => 0,
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Sizes { label, shape, sizes, wrong, .. } => {
                write!(f, "the array for `{label}` has sizes {}, its shape is `{shape}`: ", list(sizes))?;
                let rank = MEMORY.into_iter().map(|kind| shape.row(kind).len()).sum::<usize>();
                if rank != sizes.len() {
                    return write!(f, "{} in place of {rank}", axes(sizes.len()));
                }
                let wrong = wrong.iter().map(|(axis, size)| {
                    let given = sizes.get(*axis).copied().unwrap_or_default();
                    format!("{} is {given} and should be {size}", axis_of(label, shape, *axis))
                });
                f.write_str(&wrong.collect::<Vec<_>>().join(", "))
            }
            Misfit::Expression { label, shape, sizes, axis, wanted, numbers, .. } => {
                write!(f, "the array for `{label}` has sizes {}, its shape is `{shape}`: ", list(sizes))?;
                let pairs: Vec<(&str, u64)> =
                    numbers.iter().map(|(name, number)| (name.as_str(), *number)).collect();
                let (known, given) = (equations(numbers), self.given());
                let axis = axis_of(label, shape, *axis);
                match wanted.at(&pairs) {
                    Some(size) => write!(f, "with {known}, {axis} is {given} and should be {size}"),
                    None if numbers.is_empty() => {
                        write!(f, "{axis} is `{wanted}`, which is never {given}")
                    }
                    None => write!(f, "with {known}, {axis} cannot be {given}"),
                }
            }
            Misfit::Dtype { label, wanted, given, .. } => {
                write!(f, "`{label}` holds integers ({wanted}), the array for it has {given}")
            }
            Misfit::Disagreement { name, said } => {
                let says = said.iter().enumerate().map(|(at, each)| {
                    let what = if at == 0 { format!("`{name}`") } else { "it".into() };
                    format!("{} makes {what} {}", each.owner(), each.number)
                });
                f.write_str(&says.collect::<Vec<_>>().join(", "))
            }
            Misfit::Range { name, said, range, .. } => {
                let (owner, number) = (said.owner(), said.number);
                write!(f, "{owner} makes `{name}` {number}, its range is {}", range_text(*range))
            }
            Misfit::Check { check, numbers, .. } => {
                write!(f, "there is no program for {}: it relies on this: {check}", equations(numbers))
            }
        }
    }
}

impl Said {
    /// The axis that gives the number.
    fn owner(&self) -> String {
        format!("axis {} of `{}`", self.axis, self.label)
    }
}

/// `batch` = 3, `seq` = 7
fn equations(numbers: &[(String, u64)]) -> String {
    let equations = numbers.iter().map(|(name, number)| format!("`{name}` = {number}"));
    equations.collect::<Vec<_>>().join(", ")
}

/// An axis by its place in the array, and by the name that explanations have for it: axis 1 (`x.output.0`).
fn axis_of(label: &str, shape: &Shape, axis: usize) -> String {
    let mut before = 0;
    for kind in MEMORY {
        let count = shape.row(kind).len();
        if axis < before + count {
            return format!("axis {axis} (`{label}.{}.{}`)", kind.name(), axis - before);
        }
        before += count;
    }
    format!("axis {axis}")
}

/// The sizes next to one that an expression cannot have.
fn near(wanted: &SymbolicSize, size: u64) -> String {
    let can = |size: &u64| wanted.solved(*size, |_| None).is_some();
    let below = (size.saturating_sub(REACH).max(1)..size).rev().find(can);
    let above = (size.saturating_add(1)..=size.saturating_add(REACH)).find(can);
    let sizes: Vec<String> = [below, above].into_iter().flatten().map(|size| size.to_string()).collect();
    match sizes.is_empty() {
        true => format!("it has to be a value of `{wanted}`"),
        false => format!("{} would fit", sizes.join(" or ")),
    }
}

/// The distance within which a fitting size is looked for.
const REACH: u64 = 64;

/// A layout in which the same numbers would fit: with axes in another order, or in other sizes.
fn other_layout(shape: &Shape, sizes: &[u64]) -> Option<String> {
    if let Some(order) = other_order(shape, sizes) {
        let order: Vec<u64> = order.into_iter().map(|at| at as u64).collect();
        return Some(format!("with its axes in the order {} it would fit", list(&order)));
    }
    let reshaped = reshaped(&in_memory(shape), sizes)?;
    Some(format!("it would fit with the sizes {}, if that is what its numbers mean", list(&reshaped)))
}

/// Advice for axes that have one element only because nothing says how many they have.
fn unclaimed(shape: &Shape, wrong: &[(usize, u64)]) -> Option<String> {
    let axes = in_memory(shape);
    let all = !wrong.is_empty() && wrong.iter().all(|(axis, _)| matches!(axes.get(*axis), Some(Axis::Unit)));
    all.then(|| {
        "no size is declared for this axis, so that it has one element: declare its size, or a name for any size"
            .into()
    })
}

/// An order of its axes in which an array would fit.
pub(super) fn other_order(shape: &Shape, sizes: &[u64]) -> Option<Vec<usize>> {
    let wanted = in_memory(shape);
    let fits = |order: &Vec<usize>| order.iter().zip(&wanted).all(|(at, axis)| takes(axis, sizes[*at]));
    orders(sizes.len()).filter(|order| order.len() == wanted.len()).find(fits)
}

/// The axes of a shape in memory order.
fn in_memory(shape: &Shape) -> Vec<&Axis> {
    MEMORY.into_iter().flat_map(|kind| shape.row(kind)).collect()
}

/// Orders of axes that are common mistakes: the reverse, and one axis moved.
fn orders(rank: usize) -> impl Iterator<Item = Vec<usize>> {
    let moved = (0..rank).flat_map(move |from| (0..rank).map(move |to| (from, to)));
    let moved = moved.filter(|(from, to)| from != to).map(move |(from, to)| {
        let mut order: Vec<usize> = (0..rank).collect();
        let axis = order.remove(from);
        order.insert(to, axis);
        order
    });
    std::iter::once((0..rank).rev().collect()).chain(moved)
}

/// Returns true if an axis could have a size.
fn takes(axis: &Axis, size: u64) -> bool {
    let (least, most) = axis.range();
    let possible =
        |wanted: &SymbolicSize| wanted.names().count() > 1 || wanted.solved(size, |_| None).is_some();
    least <= size
        && most.is_none_or(|most| size <= most)
        && match axis {
            Axis::Symbolic(wanted, _) => possible(wanted),
            _ => true,
        }
}

/// The sizes that a shape would have with as many elements, if that leaves no choice.
fn reshaped(wanted: &[&Axis], sizes: &[u64]) -> Option<Vec<u64>> {
    let elements = sizes.iter().try_fold(1, |product: u64, size| product.checked_mul(*size))?;
    let is_open = |axis: &&&Axis| matches!(axis, Axis::Symbolic(..));
    let fixed = wanted.iter().filter(|axis| !is_open(axis));
    let fixed = fixed.map(|axis| axis.size()).try_fold(1, u64::checked_mul)?;
    let rest = elements.checked_div(fixed).filter(|rest| rest * fixed == elements && elements > 0)?;
    match wanted.iter().filter(is_open).count() {
        0 if rest == 1 => {}
        1 => {}
        _ => return None,
    }
    let size = |axis: &&Axis| if is_open(&axis) { rest } else { axis.size() };
    let sizes: Vec<u64> = wanted.iter().map(size).collect();
    sizes.iter().zip(wanted).all(|(size, axis)| takes(axis, *size)).then_some(sizes)
}
