//! From text to a syntax tree, and back.

pub mod ast;
pub mod braces;
mod format;
pub mod lexer;
mod parser;
pub(crate) mod quote;
mod same;
pub mod token;
mod words;

pub use format::{WIDTH, format, measured, op_text, reformat};
pub(crate) use parser::parse_after;
pub use parser::{Parsed, parse};
pub use same::same;
