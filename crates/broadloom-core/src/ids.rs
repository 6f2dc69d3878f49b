//! Typed numbers of the things that stores keep. The number of a row constraint is not the number of an arithmetic
//! constraint, and the compiler knows it.

use std::fmt;

/// `u32::MAX`: no node, no edge, no row variable.
pub(crate) const NIL: u32 = u32::MAX;

/// Declares types of numbers. They print as a letter and the number.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $letter:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(pub u32);

        impl $name {
            /// The number of the thing at a place of its store.
            #[inline]
            pub fn new(place: usize) -> $name {
                $name(place as u32)
            }

            /// The place in its store.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    )*};
}

ids! {
    /// A row constraint.
    RowConId "row";
    /// An arithmetic constraint.
    ArithId "arith";
    /// A row that is made of its operands.
    SupportId "support";
    /// A clause about one axis of such a row.
    ClauseId "clause";
    /// A policy step.
    StepId "step";
}

impl RowConId {
    /// No row constraint.
    pub const NIL: RowConId = RowConId(NIL);
}

impl StepId {
    /// No policy step.
    pub const NIL: StepId = StepId(NIL);
}
