//! Specs that were read from the text of a program.

use broadloom::Notation;
use broadloom_spec::Spec;

/// A spec that has been read.
pub(crate) enum ReadSpec {
    /// As it is written, and read.
    Written(String, Spec),
    /// The shape of an operand, and the spec that accumulates over its names.
    Over(String, Spec),
}

impl ReadSpec {
    pub(crate) fn spec(&self) -> &Spec {
        let (ReadSpec::Written(_, spec) | ReadSpec::Over(_, spec)) = self;
        spec
    }
}

impl<'s> From<&'s ReadSpec> for Notation<'s> {
    fn from(read: &'s ReadSpec) -> Notation<'s> {
        match read {
            ReadSpec::Written(text, _) => Notation::Text(text),
            ReadSpec::Over(shape, _) => Notation::Over(shape),
        }
    }
}
