//! The `.rows` text format: systems of dimension and row constraints, as
//! `broadloom solve` reads them.
//!
//! ```text
//! # comment
//! leaf a, ..r..            # tags; untagged variables are interior
//! param w
//! a = 3                    # dimension equality
//! 3 <= a                   # dimension inequality: result <= operand
//! [..r.., 4] ~ [3, 5, 4]   # row equality
//! [..r..] <= [3, <>, 4]    # row inequality: result <= operand
//! ```
//!
//! # Grammar
//!
//! One statement a line; blank lines and comments (`#` to the line end) anywhere.
//!
//! ```text
//! statement  = tag | dim "=" dim | dim "<=" dim | row "~" row | row "<=" row
//! tag        = ("leaf" | "param") variable { "," variable } [","]
//! variable   = name | ".." name ".."
//! row        = "[" [ item { "," item } [","] ] "]"          at most one hole
//! item       = dim | hole
//! hole       = ".." name ".." | "<>"                        none: marker at the left edge
//! dim        = size [":" name] | "_" | name
//! size       = digit { digit }                              1 to 2^64 - 1
//! name       = letter { letter | digit | "_" | "'" }
//! ```
//!
//! `⊑`, `≈` and `◇` stand for `<=`, `~` and `<>`. `leaf` and `param` are
//! keywords only where a variable follows them at the start of a statement.
//! A name is either a dimension or a row throughout a file.
//!
//! # Reading a file
//!
//! [`decode`](fn@broadloom_diagnostics::decode) turns bytes into text, [`parse`] turns text
//! into a [`System`] and a list of [`Diagnostic`]s, and
//! [`render_all`](broadloom_diagnostics::render_all) shows those to a person. Parsing never
//! fails: a line with a mistake is reported and left out of the tree. Spans are in
//! [`SOURCE`], so the text must be the first of the sources given for rendering.
//!
//! ```
//! use broadloom_rows::parse;
//!
//! let parsed = parse("leaf ..r..\n[..r..,4]≈[3,5,4]");
//! assert!(parsed.is_ok());
//! assert_eq!(parsed.system.to_string(), "leaf ..r..\n[..r.., 4] ~ [3, 5, 4]\n");
//! ```

pub mod ast;
pub mod editing;
mod lexer;
mod mistake;
pub mod names;
pub mod parser;
pub mod print;
pub mod solve;
#[cfg(test)]
mod tests;

pub use ast::{Constraint, Dim, DimKind, Hole, HoleKind, Row, Statement, StatementKind, System};
pub use names::{Bases, BasisId, Name, NameId, NameKind, Tag, Variables};
pub use parser::{MAX_DIAGNOSTICS, Parsed, parse};
pub use print::Show;

use broadloom_diagnostics::{Diagnostic, SourceId, Span};

/// The source of all spans of a parsed text: the first, and usually the only one.
pub const SOURCE: SourceId = SourceId(0);

/// An error about a `.rows` text; they have no codes.
pub(crate) fn error(message: impl Into<String>, span: Span, label: impl Into<String>) -> Diagnostic {
    Diagnostic::error("", message, span, label)
}
