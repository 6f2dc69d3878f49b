//! Cells of buffers as they are in memory.

use crate::{Element, bf16, f16};

/// A cell as it is in memory, for which all bit patterns are valid. [`Element`] is not enough: others can implement
/// it, and a byte that is neither 0 nor 1 is no `bool`.
pub(crate) trait Plain: Copy {
    /// The number that arrays hold for it.
    type Number: Element;

    fn number(self) -> Self::Number;

    fn of(number: Self::Number) -> Self;
}

macro_rules! plain {
    ($($number:ident)*) => {$(
        impl Plain for $number {
            type Number = $number;

            fn number(self) -> $number {
                self
            }

            fn of(number: $number) -> $number {
                number
            }
        }
    )*};
}

plain! { u8 i8 i16 i32 i64 bf16 f16 f32 f64 }

/// The byte of a truth: true unless it is 0.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Flag(u8);

impl Plain for Flag {
    type Number = bool;

    fn number(self) -> bool {
        self.0 != 0
    }

    fn of(number: bool) -> Flag {
        Flag(number.into())
    }
}
