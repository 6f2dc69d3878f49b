//! The error of arrays and their files.

use std::fmt;

/// The error for numbers that do not make an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayError {
    /// The message, one sentence.
    pub message: String,
}

impl ArrayError {
    pub(crate) fn new(message: impl Into<String>) -> ArrayError {
        ArrayError { message: message.into() }
    }
}

impl fmt::Display for ArrayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.message)
    }
}

impl std::error::Error for ArrayError {}
