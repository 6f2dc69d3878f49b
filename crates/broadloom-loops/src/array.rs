//! Arrays: numbers with sizes, outside any program.

use half::{bf16, f16};

/// The type of the numbers of an array or a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Dtype {
    /// 32-bit integers.
    I32,
    /// 64-bit integers.
    I64,
    /// 16-bit floats with the exponents of `F32`.
    Bf16,
    /// 16-bit floats of IEEE 754.
    F16,
    /// 32-bit floats.
    #[default]
    F32,
    /// 64-bit floats.
    F64,
}

/// Numbers of one type.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// 32-bit integers.
    I32(Vec<i32>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// 16-bit floats with the exponents of 32-bit floats.
    Bf16(Vec<bf16>),
    /// 16-bit floats.
    F16(Vec<f16>),
    /// 32-bit floats.
    F32(Vec<f32>),
    /// 64-bit floats.
    F64(Vec<f64>),
}

/// Numbers in row-major order with their sizes.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    sizes: Vec<u64>,
    values: Values,
}

/// Why numbers do not make an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayError {
    /// What is wrong, in one sentence.
    pub message: String,
}
