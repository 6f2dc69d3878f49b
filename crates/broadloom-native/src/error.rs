//! The reasons why a program could not be compiled.

use std::fmt;

/// The reason why a program could not be compiled. Callers can always fall back to
/// [`evaluate`](broadloom_loops::reference::evaluate).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The program is malformed: a defect in its construction.
    Program {
        /// A description of the defect.
        message: String,
    },
    /// There is no C compiler.
    NoCompiler {
        /// The names that were tried.
        tried: Vec<String>,
    },
    /// The compiler that was named cannot be run.
    NamedCompiler {
        /// The environment variable that names it.
        variable: String,
        /// The value of the variable.
        value: String,
        /// The reason why it cannot be run.
        why: String,
    },
    /// The compiler failed.
    Compiler {
        /// The command that was run.
        command: String,
        /// The first lines of its error output.
        said: String,
    },
    /// A file could not be written or read.
    File {
        /// The path of the file.
        path: String,
        /// The reason, as the system gives it.
        message: String,
    },
    /// Code for all sizes is not possible: the program has to be compiled for each.
    Sizes {
        /// The reason.
        message: String,
    },
    /// Compiled code could not be loaded.
    Load {
        /// The reason.
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
