//! The `.loom` language: tensor programs as text.
//!
//! ```text
//! data x : 32 | 784
//! def layer(hidden)(x) = relu({w} @ x + {b : hidden})
//! let y = x |> layer(64) |> layer(10)
//! ```
//!
//! [`compile`] reads a program: it parses the text, evaluates it onto a
//! [`Graph`](broadloom::Graph), and infers all shapes. It never fails: mistakes become a list of
//! diagnostics, and the rest of the program is there all the same. [`Program::run`] executes it.

mod arithmetic;
pub mod codes;
mod compile;
mod editing;
mod eval;
mod feed;
mod front;
mod language_function;
mod lint;
mod mesh;
mod mesh_request;
mod message_review;
mod notation;
mod observer;
mod on_mesh;
pub mod plan;
mod position;
mod program;
mod progress;
mod read;
mod ready;
mod rehearse;
mod remedies;
mod resume;
mod row_text;
mod run;
pub mod show;
pub mod signature;
mod size;
mod steps;
mod stream;
mod stream_uses;
mod suggest;
pub mod syntax;
mod value;
mod weights;
mod written_numbers;

pub use compile::{CertifiedFunction, Signatures, certified_function, compile, infer, signatures};
pub use editing::Editing;
pub use eval::{
    advice::code::{as_flag, in_loom},
    builtins, interface,
};
pub use front::{Words, naming_setting};
pub use lint::{lint, unused_names, warnings};
pub use mesh::Devices;
pub use mesh_request::{MeshRequest, Rule, WithoutDevices};
pub use notation::{leaves_out_unnamed, left_out, named_axis};
pub use observer::{Observer, Repeated};
pub use on_mesh::{MeshBlock, OnMesh};
pub use position::{Counter, Position};
pub use program::{
    Application, Asked, Definitions, Dim, NamedTensor, Options, Origin, Origins, Piped, Program, Written,
};
pub use progress::{Progress, Step};
pub use ready::{Available, Ready, diagnose};
pub use run::{Ended, RunControl, RunOptions};
pub use stream::Stream;
pub use suggest::nearest;

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
