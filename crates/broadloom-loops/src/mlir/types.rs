//! Element types, tensor types, and numbers as MLIR reads them.

use half::{bf16, f16};

use crate::Dtype;
use crate::rounding::round;

/// The type of an element. Integers have no sign of their own in MLIR: operations say how they read them.
pub fn element(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Bool => "i1",
        Dtype::U8 | Dtype::I8 => "i8",
        Dtype::I16 => "i16",
        Dtype::I32 => "i32",
        Dtype::I64 => "i64",
        Dtype::Bf16 => "bf16",
        Dtype::F16 => "f16",
        Dtype::F32 => "f32",
        Dtype::F64 => "f64",
    }
}

/// The type of a tensor: `tensor<4x2xf32>`.
pub(super) fn tensor(sizes: &[u64], dtype: Dtype) -> String {
    let sizes: String = sizes.iter().map(|size| format!("{size}x")).collect();
    format!("tensor<{sizes}{}>", element(dtype))
}

/// A number as a constant of a type, rounded as a buffer of that type would round it, so that MLIR
/// reads back exactly this number.
pub fn number(dtype: Dtype, value: f64) -> String {
    let value = round(dtype, value);
    if dtype == Dtype::Bool {
        return (value != 0.0).to_string();
    }
    if !dtype.is_float() {
        return (value as i64).to_string();
    }
    let decimal = decimal(dtype, value);
    // MLIR reads a 64-bit float first, and rounds it to the type then.
    match decimal.parse::<f64>() {
        Ok(read) if value.is_finite() && same(round(dtype, read), value) => decimal,
        _ => bits(dtype, value),
    }
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits()
}

/// The shortest text for a number of a type, with a decimal point, which MLIR requires.
fn decimal(dtype: Dtype, value: f64) -> String {
    let text = match dtype {
        Dtype::F64 => format!("{value:?}"),
        _ => format!("{:?}", value as f32),
    };
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    }
}

/// The bits of a number of a type.
fn bits(dtype: Dtype, value: f64) -> String {
    match dtype {
        Dtype::Bf16 => format!("0x{:04X}", bf16::from_f64(value).to_bits()),
        Dtype::F16 => format!("0x{:04X}", f16::from_f64(value).to_bits()),
        Dtype::F32 => format!("0x{:08X}", (value as f32).to_bits()),
        _ => format!("0x{:016X}", value.to_bits()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        let cases = [
            (Dtype::F32, 0.1, "0.1"),
            (Dtype::F32, 1.0, "1.0"),
            (Dtype::F32, -0.0, "-0.0"),
            (Dtype::F32, 1e-9, "1.0e-9"),
            (Dtype::F64, 1.5e300, "1.5e300"),
            (Dtype::F32, f64::NEG_INFINITY, "0xFF800000"),
            (Dtype::F64, f64::INFINITY, "0x7FF0000000000000"),
            (Dtype::Bf16, f64::NEG_INFINITY, "0xFF80"),
            (Dtype::F16, 0.5, "0.5"),
            (Dtype::I64, -3.0, "-3"),
            (Dtype::I32, 1e12, "2147483647"),
            (Dtype::U8, 300.0, "255"),
            (Dtype::I8, -300.0, "-128"),
            (Dtype::Bool, 0.5, "true"),
            (Dtype::Bool, 0.0, "false"),
        ];
        for (dtype, value, expected) in cases {
            assert_eq!(number(dtype, value), expected, "{value} as {dtype:?}");
        }
    }
}
