//! Questions about `.loom` programs, answered as plain data. A front end (the command, an editor, a notebook, a web page)
//! translates answers and does nothing else.
//!
//! [`Analysis`] reads a [`Text`], and never fails; each question is a function of it, in a module of its own:
//!
//! | question | function |
//! |---|---|
//! | What is the shape of everything, and is anything wrong? | [`check()`] |
//! | What is known after this line of an unfinished program? | [`shapes()`] |
//! | Why has this axis this size? | [`explain()`] |
//! | Which sizes have names? | [`dims()`] |
//!
//! Answers own what they say and derive `Serialize`; their keys are those of `docs/schema.json`, which the command prints.
//! Whatever a person needs beyond that (spans to underline, words) is in fields that are not serialised.

mod analysis;
mod check;
mod dims;
mod explain;
mod place;
mod shape;
mod shapes;
pub mod words;

pub use analysis::{Analysis, Listing, Text};
pub use check::{Checked, CheckedTensor, Parameters, check};
pub use dims::{NamedSize, Range, dims, range_text};
pub use explain::{Explained, Explanation, Step, explain};
pub use place::{Line, Place};
pub use shape::{AxisText, Rows, how, kind};
pub use shapes::{PartialTensor, SoFar, shapes};

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
