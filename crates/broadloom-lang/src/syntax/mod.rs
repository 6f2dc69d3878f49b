//! From text to a syntax tree, and back.

pub mod ast;
pub mod lexer;
mod parser;
pub mod token;

pub use parser::{Parsed, parse};
