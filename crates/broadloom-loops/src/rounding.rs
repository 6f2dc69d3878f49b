//! Numbers as buffers hold them.

use crate::{Dtype, Element, bf16, f16};

/// A number as a buffer of some type holds it.
pub fn round(dtype: Dtype, value: f64) -> f64 {
    match dtype {
        Dtype::Bool => f64::from(value != 0.0),
        Dtype::U8 => f64::from(value as u8),
        Dtype::I8 => f64::from(value as i8),
        Dtype::I16 => f64::from(value as i16),
        Dtype::I32 => f64::from(value as i32),
        Dtype::I64 => value as i64 as f64,
        Dtype::Bf16 => <bf16 as Element>::from_f64(value).to_f64(),
        Dtype::F16 => <f16 as Element>::from_f64(value).to_f64(),
        Dtype::F32 => f64::from(value as f32),
        Dtype::F64 => value,
    }
}
