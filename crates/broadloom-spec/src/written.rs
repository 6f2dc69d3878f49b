//! Specs and shapes together with their texts.
//!
//! The tree is handed on by whoever reads the text, so that it is parsed once. The text is kept for messages: they quote it as its author
//! wrote it, and the places of the tree are places in it.

use crate::decl::ShapeDecl;
use crate::error::Error;
use crate::parser::{parse_over, parse_shape, parse_spec};
use crate::tree::Spec;
use std::sync::Arc;

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

/// A shape declaration with its text, or with what is wrong about it: whoever uses the shape reports that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenShape {
    text: Box<str>,
    decl: Result<Arc<ShapeDecl>, Box<Error>>,
    is_computed: bool,
}

impl WrittenShape {
    pub(crate) fn new(
        text: impl Into<Box<str>>,
        decl: Result<ShapeDecl, Error>,
        is_computed: bool,
    ) -> WrittenShape {
        WrittenShape { text: text.into(), decl: decl.map(Arc::new).map_err(Box::new), is_computed }
    }

    /// Reads a shape: see [`parse_shape`].
    ///
    /// ```
    /// use broadloom_spec::WrittenShape;
    /// assert_eq!(WrittenShape::read("28 28").decl().map(|decl| decl.to_string()), Ok("28, 28".to_string()));
    /// assert!(WrittenShape::read("28 |  | 28").decl().is_err());
    /// ```
    pub fn read(text: &str) -> WrittenShape {
        WrittenShape::new(text, parse_shape(text), false)
    }

    /// The text, with expressions for computed sizes.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The tree with places in the text, or the first mistake. It has names for computed sizes.
    pub fn decl(&self) -> Result<&Arc<ShapeDecl>, &Error> {
        self.decl.as_ref().map_err(|error| &**error)
    }

    /// Returns true if the text has an expression where the tree has a name.
    pub fn is_computed(&self) -> bool {
        self.is_computed
    }
}
