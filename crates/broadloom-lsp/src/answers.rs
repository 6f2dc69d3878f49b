//! The answers of `broadloom-ide` in the words of the protocol: one module for each group of requests.

pub(crate) mod actions;
pub(crate) mod calls;
pub(crate) mod completion;
pub(crate) mod diagnostics;
pub(crate) mod format;
pub(crate) mod hints;
pub(crate) mod hover;
pub(crate) mod lens;
pub(crate) mod names;
mod rows;
pub(crate) mod symbols;
pub(crate) mod tokens;
