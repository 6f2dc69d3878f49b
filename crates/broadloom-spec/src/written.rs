//! Specs together with the texts that they were read from.
//!
//! Whoever reads one hands on the tree, so that it is parsed once. The text is kept for messages: they quote it as its author wrote it, and the
//! places of the tree are places in it.

use crate::error::Error;
use crate::parser::{parse_over, parse_spec};
use crate::tree::Spec;

/// A spec that was read, with its text.
///
/// ```
/// use broadloom_spec::WrittenSpec;
/// let product = WrittenSpec::read("ij;jk  => ik").unwrap();
/// assert_eq!(product.spec().operands.len(), 2);
/// assert_eq!(product.spec().operands[1].span.slice(product.text()), "jk");
/// let sum = WrittenSpec::read_over("... | v").unwrap();
/// assert_eq!((sum.text(), sum.spec().to_string()), ("... | v", "...|v => ...|0".to_string()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSpec {
    text: Box<str>,
    spec: Spec,
}

impl WrittenSpec {
    /// Reads a spec: see [`parse_spec`].
    pub fn read(text: &str) -> Result<WrittenSpec, Error> {
        Ok(WrittenSpec { text: text.into(), spec: parse_spec(text)? })
    }

    /// Reads the shape of one operand, whose names are accumulated over: see [`parse_over`].
    pub fn read_over(text: &str) -> Result<WrittenSpec, Error> {
        Ok(WrittenSpec { text: text.into(), spec: parse_over(text)? })
    }

    /// The text as it was written: a spec, or the shape of one operand if its names are accumulated over.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its tree, with places in the text.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }
}
