//! Diagnostics of Broadloom's text formats: sources, spans, messages as data, and their rendering.
//!
//! ```
//! use broadloom_diagnostics::{Diagnostic, Sources, Span, Style, render};
//!
//! let mut sources = Sources::new();
//! let file = sources.add("model.loom", "let a: 3\nlet b = a + x\n");
//! let x = Span::new(file, 21, 22);
//! let diagnostic = Diagnostic::error("L0101", "nothing is called `x` here", x, "not defined")
//!     .with_help("define it first: `let x: …`");
//! assert_eq!(
//!     render(&sources, &diagnostic, Style::default()),
//!     "\
//! error[L0101]: nothing is called `x` here
//!  --> model.loom:2:13
//!   |
//! 2 | let b = a + x
//!   |             ^ not defined
//!   |
//!   = help: define it first: `let x: …`
//! "
//! );
//! ```
//!
//! - [`Sources`] holds the texts; a [`Span`] is a place in one of them.
//! - A [`Diagnostic`] is plain data: the code that finds a mistake makes one.
//! - [`render()`] and [`render_all`] show diagnostics to a person, [`Shown`] to a program;
//!   with the feature `serde` it can be serialised.
//! - [`tell`] follows a story along source lines; a [`Table`] has columns that line up.
//! - [`decode()`] turns the bytes of a file into text.

mod code;
mod counts;
pub mod decode;
pub mod diagnostic;
mod escape;
mod excerpt;
mod fact;
mod help;
mod ink;
pub mod render;
mod severity;
pub mod shown;
pub mod source;
mod story;
mod style;
mod table;

pub use code::{Arithmetic, Code, Setting, Wording};
pub use counts::{axes, axes_or_none};
pub use decode::{DecodeError, decode};
pub use diagnostic::{Diagnostic, Edit, Fix, Label, Link, Role};
pub use escape::escaped;
pub use fact::Fact;
pub use help::{Advice, Help};
pub use ink::Paint;
pub use render::{excerpt, render, render_all, summary};
pub use severity::Severity;
pub use shown::{Shown, ShownLabel, ShownLink, ShownPlace};
pub use source::{BYTE_ORDER_MARK, Source, SourceId, Sources, Span};
pub use story::{StoryLine, tell};
pub use style::{Chain, Style};
pub use table::{Column, Cut, Table};

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
