//! Divides the tensors of loop programs over a mesh of devices.
//!
//! A loop that indexes axes of several tensors, each by itself, makes these axes one: they have one size, and position `i` of one
//! belongs to position `i` of the other. An *axis group* is what such loops join, over all nests of all routines. If one axis of a
//! group is divided, all are. What devices have to send each other follows from the loops:
//!
//! ```text
//! y[b, o] += w[o, h] * x[b, h]    b divided: nothing. h divided: an all-reduce of y
//! z[b, i] = x[b, i + 1]           i divided: an all-gather of x, whose positions are not where they are used
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `access` | the stores of a program, with the loops around them and the cells that they read |
//! | `groups` | axis groups |
//! | `divide` | requests, and the division of every tensor that follows from them, or conflicts |
//! | `stored` | parameters and states that are divided further than operations ask for |
//! | `collectives` | what each operation needs |

mod access;
mod collectives;
mod divide;
mod groups;
mod stored;
#[cfg(test)]
mod tests;

use broadloom_loops::{BufferId, Program};

pub use collectives::{Collective, CollectiveKind, Read, collectives, reads};
pub use divide::{Claim, Conflict, Division, Request, divide};
pub use groups::Groups;
pub use stored::{Stored, divide_stored};

/// Devices in a grid whose axes have names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mesh {
    /// The names of its axes and the number of devices along each, which is at least 1.
    pub axes: Vec<(String, u64)>,
}

impl Mesh {
    /// The largest number of devices: more than any machine has.
    pub const MOST_DEVICES: u64 = 1 << 20;

    /// True of a text that can be the name of an axis.
    pub fn is_name(text: &str) -> bool {
        let is_plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
        !text.is_empty() && text.chars().all(is_plain)
    }

    /// True if there are at most so many devices as a mesh can have.
    pub fn is_small_enough(&self) -> bool {
        let devices = self.axes.iter().try_fold(1u64, |all, (_, size)| all.checked_mul(*size));
        devices.is_some_and(|devices| devices <= Mesh::MOST_DEVICES)
    }

    /// The number of devices.
    pub fn devices(&self) -> u64 {
        self.axes.iter().map(|(_, size)| size).product()
    }

    /// The number of devices along an axis.
    pub fn size(&self, axis: usize) -> u64 {
        self.axes[axis].1
    }

    /// The number of parts that a division makes of a tensor.
    pub fn parts(&self, division: &Division) -> u64 {
        division.iter().flatten().map(|axis| self.size(*axis)).product()
    }
}

/// An axis of a tensor, in memory order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Axis {
    /// The number of the tensor.
    pub tensor: usize,
    /// The place among the axes of the tensor.
    pub place: usize,
}

/// A routine as a program before optimisation: each nest is one assignment. Buffers of different routines that are the same
/// tensor have the same number.
#[derive(Clone, Copy, Debug)]
pub struct Routine<'p> {
    /// The program, in which all sizes are numbers.
    pub program: &'p Program,
    /// The number of the tensor that each buffer holds.
    pub tensors: &'p [usize],
    /// The buffers that are read after the routine has run.
    pub results: &'p [BufferId],
}

/// The README of the crate, so that its examples are run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
