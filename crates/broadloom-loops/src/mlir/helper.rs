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
    /// The nearest integer to a sum.
    Add,
    /// The nearest integer to a difference.
    Subtract,
    /// The nearest integer to a product.
    Multiply,
    /// The remainder of integers, with the sign of the divisor.
    Modulo,
    /// The quotient of integers, rounded down.
    Divide,
    /// The quotient of floats, rounded down.
    FloorDivide,
    /// An integer times 2 for each place.
    ShiftLeft,
    /// The nearest integer to a power. It calls the product.
    Power,
}

impl Helper {
    /// Its name, with its sign.
    pub fn name(self) -> &'static str {
        match self {
            Helper::Uniform => "@uniform",
            Helper::ToI32 => "@to_i32",
            Helper::ToI64 => "@to_i64",
            Helper::Add => "@add_i64",
            Helper::Subtract => "@subtract_i64",
            Helper::Multiply => "@multiply_i64",
            Helper::Modulo => "@modulo_i64",
            Helper::Divide => "@divide_i64",
            Helper::FloorDivide => "@floor_divide",
            Helper::ShiftLeft => "@shift_left_i64",
            Helper::Power => "@power_i64",
        }
    }

    /// Its text.
    pub fn text(self) -> &'static str {
        match self {
            Helper::Uniform => include_str!("helper/uniform.mlir"),
            Helper::ToI32 => include_str!("helper/to_i32.mlir"),
            Helper::ToI64 => include_str!("helper/to_i64.mlir"),
            Helper::Add => include_str!("helper/add_i64.mlir"),
            Helper::Subtract => include_str!("helper/subtract_i64.mlir"),
            Helper::Multiply => include_str!("helper/multiply_i64.mlir"),
            Helper::Modulo => include_str!("helper/modulo_i64.mlir"),
            Helper::Divide => include_str!("helper/divide_i64.mlir"),
            Helper::FloorDivide => include_str!("helper/floor_divide.mlir"),
            Helper::ShiftLeft => include_str!("helper/shift_left_i64.mlir"),
            Helper::Power => include_str!("helper/power_i64.mlir"),
        }
    }
}
