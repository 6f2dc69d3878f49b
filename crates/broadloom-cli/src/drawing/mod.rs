//! Pictures of tensor graphs.
//!
//! ```text
//! program → picture (what is drawn: boxes, groups, edges) → layered (where) → svg (text)
//! ```
//!
//! [`picture`] decides what a reader sees: an application of a library function is one box, a function of the program is
//! a frame around what it makes. Frames are laid out from the inside: in the frame around it, each is a box with its
//! inputs on the upper and its outputs on the lower edge.

mod arrange;
mod layered;
mod picture;
mod svg;

pub(crate) use picture::{Choice, Picture, TooLarge};
