//! Numbers outside any program: arrays and their element types, random numbers, and files of arrays.
//!
//! - [`Array`]: numbers of one [`Dtype`] with sizes, in row-major order.
//! - [`random`]: numbers as a function of a key and a position, the same on every machine.
//! - `files`: NumPy's `.npy` and `.npz`, safetensors and CSV, with the feature of that name, which is on by default.
//! - [`replace`]: files that are complete or not there.

mod arranged;
mod array;
mod dtype;
mod elements;
mod error;
#[cfg(feature = "files")]
pub mod files;
pub mod random;
pub mod replace;
mod rows;
mod shown;
mod threefry;

pub use array::{Array, ArrayNumber};
pub use dtype::Dtype;
pub use elements::{Element, Values};
pub use error::ArrayError;
pub use half::{bf16, f16};
pub use shown::shown_path;

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
