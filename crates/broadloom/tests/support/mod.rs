//! A tiny language for tensor programs, so that a test is a readable text.
//!
//! One statement per line; `#` begins a comment.
//!
//! ```text
//! x = data 32 | 784                  a leaf, as `Graph::data` reads it
//! x = data ... | 3, 1 axes 8 3 1     … with the axes of its buffer
//! x = data ... count 24              … with its number of elements
//! w = param                          a parameter; `param ... -> 64` states its shape
//! c = constant 1.0                   a constant of any shape
//! y = relu(w @ x + b) * 2            operators - + * / ** @, functions, numbers
//! y = einsum("i; i =>", x, w)        also sum, maximum, outer_sum, concat: named in messages
//! y = einsum("s*o+k; k => o", x, w, s=2, padding=valid)
//! p, q = split("a^b => a; b", x)
//! set h of scores = 4                a captured size
//! equal h of a, d of b
//! scale big of a = 2 * small of b
//! square w                           the input of w is its output
//! dim batch in 1..64 sample 32       a named size; `dim seq` has any size, `dynamic n` is unknown until run time
//! size batch = 8                     a number for it
//! ```
//!
//! A function is expanded where it is called; its names get the name on the left of the call:
//!
//! ```text
//! def layer(x, n):
//!   w = param
//!   b = param n
//!   return relu(w @ x + b)
//! h = layer(x, 64)                   makes h.w, h.b and h
//! y = h + layer(h, 64)               makes y.layer.w, y.layer.b and y
//! ```
//!
//! The result of each named line gets its name in the graph; tensors inside a line have none.

// Each test binary uses its own part of the language.
#![allow(dead_code)]

pub mod case;
mod expand;
mod functions;
mod lexer;
mod parser;
pub mod run;
pub mod tree;

use tree::Program;

/// Reads a program: a flat list of statements, every function expanded.
pub fn read(text: &str) -> Result<Program, String> {
    expand::expand(parser::parse(text)?)
}
