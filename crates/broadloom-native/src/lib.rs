//! The native backend: programs become C, and C becomes machine code.
//!
//! [`emit`] returns the text, one function per nest with the names the user wrote; [`Compiler`]
//! compiles and loads it; [`Compiled::run`] runs it on [`Block`](broadloom_loops::Block)s.
//! [`write_out`] writes a program as a file of C and a header, for use without Broadloom.

mod arena;
mod arena_plan;
mod cache;
mod columns;
mod compiled;
mod compiler;
mod contract;
mod emit;
mod error;
mod family;
mod flat;
mod flatten;
mod names;
mod options;
mod order;
mod plan;
mod plans;
mod pool;
mod print;
mod rows;
mod runtime;
mod scratch;
mod split_reduction;
mod spread;
mod types;
mod words;

use std::path::Path;

use broadloom_array::replace::replace_text;
use broadloom_array::shown_path;
use broadloom_loops::Program;

use crate::runtime::Kernels;

pub use arena::bytes_of;
pub use arena_plan::ArenaPlan;
pub use cache::{Cache, CacheUsage};
pub use compiled::Compiled;
pub use compiler::Compiler;
pub use error::Error;

/// A program as C.
pub fn emit(program: &Program) -> Result<String, Error> {
    Ok(emit::file(program, "broadloom", None, Kernels::Inside)?.source)
}

/// Writes a program as `name.c` and `name.h`, which compile alone. The entry is `name_run`; the
/// header documents its arguments. `name` must be an identifier of C.
pub fn write_out(program: &Program, folder: &Path, name: &str) -> Result<(), Error> {
    let (header, source) = texts(program, name)?;
    for (name, text) in [(format!("{name}.h"), header), (format!("{name}.c"), source)] {
        let path = folder.join(name);
        replace_text(&path, &text)
            .map_err(|error| Error::File { path: shown_path(&path), message: error.to_string() })?;
    }
    Ok(())
}

/// The texts of the files that [`write_out`] writes: the header, and the source.
pub fn texts(program: &Program, name: &str) -> Result<(String, String), Error> {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !name.starts_with(letter) || !name.chars().all(|c| letter(c) || c.is_ascii_digit()) {
        return Err(Error::program(format!("`{name}` cannot be the name of a function in C")));
    }
    let header = format!("{name}.h");
    let file = emit::file(program, name, Some(&header), Kernels::Inside)?;
    Ok((file.header, file.source))
}

/// The README of the crate, so that its example is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
