//! The spec notation of Broadloom: text to a typed syntax tree with spans, and back.
//!
//! A **spec** relates the axes of an operation's operands to those of its result; the operation
//! sums, or otherwise accumulates, over axes that the result does not mention. A **shape
//! declaration** gives the sizes of the axes of one tensor.
//!
//! ```
//! use broadloom_spec::{parse_shape, parse_spec};
//!
//! // A matrix product, a convolution, a split, and an image batch.
//! let product = parse_spec("ij; jk => ik").unwrap();
//! let convolution = parse_spec("... | 2*oh<+kh, ..ic..; kh, ..ic.. -> ..oc.. => ... | oh, ..oc..").unwrap();
//! let split = parse_spec("a^b => a; b").unwrap();
//! let image = parse_shape("32 | 28, 28, 3:rgb").unwrap();
//! assert_eq!(product.to_string(), "ij; jk => ik");
//! assert_eq!(convolution.names.rows.len(), 2);
//! assert_eq!(split.results.len(), 2);
//! assert_eq!(image.to_string(), "32 | 28, 28, 3:rgb");
//! ```
//!
//! # Specs
//!
//! ```text
//! spec   := shape { `;` shape } `=>` shape { `;` shape }
//! shape  := [ row `|` ] [ row `->` ] row                  batch | input -> output
//! row    := { axis [ `,` ] | hole [ `,` ] }               at most one hole
//! hole   := `...` | `..` name `..`
//! axis   := label | index | `_` | sum | concat | composed
//! sum    := term { `+` term }                             at most two labels and one number
//! term   := [ coefficient `*` ] label [ `=` | `<` | `~` ] | number
//! concat := part `^` part { `^` part }                    part := label | size | `_`
//! composed := `(` { ( label | size | hole ) [ `,` ] } `)`
//! ```
//!
//! | written | meaning |
//! |---|---|
//! | `i` | an axis; the same label is the same axis everywhere in the spec |
//! | `2` | the index 2 of an axis, counted from 0 |
//! | `_` | an axis of its own at each place |
//! | `...` | any axes: one variable for all batch rows, one for all input rows, one for all output rows |
//! | `..r..` | any axes, the same wherever `..r..` is, in rows of any kind |
//! | `2*o+1` | every second index of the axis, from 1 on |
//! | `2*o=+3*k`, `2*o<+3*k` | windows at stride 2 with dilation 3, on a padded axis, or inside the axis |
//! | `2*o~+3*k` | the same inside the axis, dropping a remainder at its end |
//! | `s*o+d*k` | stride and dilation given by name; the user of the spec also decides the padding |
//! | `a^b`, `3^a` | axes one after another; a number is a size here |
//! | `(h w)`, `(h 2)`, `(...)` | one axis that goes through all of them, the last fastest; a number is a size here |
//!
//! A row that is not written is empty. Axes before a hole count from the left and axes after it
//! from the right; without a hole all count from the right. The whole text decides if names are
//! letters or words: see [`Mode`]. Terms of a sum may come in any order; [`Affine::over`] is the
//! label with a marker, or else the first.
//!
//! # Declarations
//!
//! The same rows, with sizes for axes: see [`ShapeDecl`].
//!
//! # Errors
//!
//! The first mistake is reported as one [`Error`], with its place, the alternatives that could
//! stand there, and the text that was probably meant.

mod build;
mod build_shape;
mod decl;
mod error;
mod lexer;
mod mode;
mod names;
mod parser;
mod print;
mod span;
mod tree;
mod written;

pub use build::{Builder, ConcatPart};
pub use build_shape::ShapeBuilder;
pub use decl::{DeclAxis, ShapeDecl, Size};
pub use error::{Error, ErrorKind, Related};
pub use mode::Mode;
pub use names::{AxisId, BasisId, CoefficientId, Name, NameId, RowId, SpecNames, Table};
pub use parser::{MAX_LENGTH, count_results, parse_over, parse_shape, parse_spec, parse_thin_arrow};
pub use print::{Shown, SpecNode};
pub use span::Span;
pub use tree::{
    Affine, Axis, AxisKind, Coefficient, Component, ComponentKind, Hole, Kernel, Kind, Opening, Padding,
    Part, PartKind, Row, RowVariable, Shape, Spec, Term,
};
pub use written::{WrittenShape, WrittenSpec};

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
