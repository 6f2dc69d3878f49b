//! Why there is no compiled program.

use std::fmt;

/// Why a program could not be compiled. Callers can always fall back to [`evaluate`](broadloom_loops::reference::evaluate).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The program is not in order: a defect of whoever made it.
    Program {
        /// What is wrong.
        message: String,
    },
    /// There is no C compiler.
    NoCompiler {
        /// What was looked for.
        tried: Vec<String>,
    },
    /// The compiler that is asked for cannot be run.
    NamedCompiler {
        /// The environment variable that names it.
        variable: String,
        /// What it says.
        value: String,
        /// Why that cannot be run.
        why: String,
    },
    /// The compiler failed.
    Compiler {
        /// What was run.
        command: String,
        /// The first lines of what it said.
        said: String,
    },
    /// A file could not be written or read.
    File {
        /// Which.
        path: String,
        /// Why.
        message: String,
    },
    /// There is no one code for all sizes: the program has to be compiled for each.
    Sizes {
        /// Why.
        message: String,
    },
    /// Compiled code could not be loaded.
    Load {
        /// Why.
        message: String,
    },
}

impl Error {
    pub(crate) fn program(message: impl Into<String>) -> Error {
        Error::Program { message: message.into() }
    }

    pub(crate) fn file(path: &std::path::Path, error: &std::io::Error) -> Error {
        Error::File { path: broadloom_array::shown_path(path), message: error.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Program { message } => write!(f, "the program is not in order: {message}"),
            Error::NoCompiler { tried } => write!(
                f,
                "there is no C compiler: tried {}. Install one (`apt install gcc`, `dnf install gcc`, \
                 `xcode-select --install`) or name one in the environment variable BROADLOOM_CC",
                tried.join(", ")
            ),
            Error::NamedCompiler { variable, value, why } => write!(
                f,
                "the C compiler `{}` of the environment variable {variable} cannot be run: {why}. Name one that can, with its \
                 arguments, or unset {variable}",
                value.escape_debug()
            ),
            Error::Compiler { command, said } => write!(f, "the C compiler failed: {command}\n{said}"),
            Error::File { path, message } => write!(f, "{path}: {message}"),
            Error::Sizes { message } => write!(f, "the program cannot be compiled for all sizes: {message}"),
            Error::Load { message } => write!(f, "compiled code could not be loaded: {message}"),
        }
    }
}

impl std::error::Error for Error {}
