//! Functions that bodies call for operations that are too long to write out each time.

/// A function of the module, written into it if anything calls it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Helper {
    /// A random number from a key and a position.
    Uniform,
    /// The nearest integer of 32 bits towards 0.
    ToI32,
    /// The nearest integer of 64 bits towards 0.
    ToI64,
}

impl Helper {
    /// Its name, with its sign.
    pub fn name(self) -> &'static str {
        match self {
            Helper::Uniform => "@uniform",
            Helper::ToI32 => "@to_i32",
            Helper::ToI64 => "@to_i64",
        }
    }

    /// Its text.
    pub fn text(self) -> &'static str {
        match self {
            Helper::Uniform => include_str!("helper/uniform.mlir"),
            Helper::ToI32 => include_str!("helper/to_i32.mlir"),
            Helper::ToI64 => include_str!("helper/to_i64.mlir"),
        }
    }
}
