//! The numbers of arrays as bytes, little end first.

use broadloom_array::{Array, Dtype, Element, Values};

/// The bytes of an array.
pub(super) fn bytes(array: &Array) -> Vec<u8> {
    match array.values() {
        Values::Bool(values) => values.iter().map(|value| u8::from(*value)).collect(),
        Values::U8(values) => values.clone(),
        Values::I8(values) => values.iter().map(|value| value.cast_unsigned()).collect(),
        Values::I16(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::I32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::I64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::Bf16(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::F16(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::F32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::F64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    }
}

/// The numbers of a type that some bytes are.
pub(super) fn numbers(dtype: Dtype, bytes: &[u8]) -> Values {
    use broadloom_array::{bf16, f16};
    match dtype {
        Dtype::Bool => each(bytes, |[byte]| byte != 0).into(),
        Dtype::U8 => each(bytes, u8::from_le_bytes).into(),
        Dtype::I8 => each(bytes, i8::from_le_bytes).into(),
        Dtype::I16 => each(bytes, i16::from_le_bytes).into(),
        Dtype::I32 => each(bytes, i32::from_le_bytes).into(),
        Dtype::I64 => each(bytes, i64::from_le_bytes).into(),
        Dtype::Bf16 => each(bytes, bf16::from_le_bytes).into(),
        Dtype::F16 => each(bytes, f16::from_le_bytes).into(),
        Dtype::F32 => each(bytes, f32::from_le_bytes).into(),
        Dtype::F64 => each(bytes, f64::from_le_bytes).into(),
    }
}

pub(super) fn each<const N: usize, T: Element>(bytes: &[u8], of: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|chunk| of(*chunk)).collect()
}
