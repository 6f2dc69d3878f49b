//! The types of numbers that arrays and buffers hold.

use std::fmt;
use std::str::FromStr;

use crate::ArrayError;

/// The type of the numbers of an array or a buffer.
///
/// ```
/// use broadloom_array::Dtype;
///
/// let dtype: Dtype = "bf16".parse()?;
/// assert_eq!((dtype.bytes(), dtype.is_float(), dtype.to_string()), (2, true, "bf16".to_owned()));
/// assert_eq!(Dtype::U8.range(), Some((0, 255)));
/// assert!("f8".parse::<Dtype>().is_err());
/// # Ok::<(), broadloom_array::ArrayError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Dtype {
    /// Truths, which are the numbers 0 and 1: one byte each.
    Bool,
    /// 8-bit integers without a sign: 0 to 255.
    U8,
    /// 8-bit integers.
    I8,
    /// 16-bit integers.
    I16,
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

impl Dtype {
    /// Every type, integers first, and narrow ones before wide ones.
    pub const ALL: [Dtype; 10] = [
        Dtype::Bool,
        Dtype::U8,
        Dtype::I8,
        Dtype::I16,
        Dtype::I32,
        Dtype::I64,
        Dtype::Bf16,
        Dtype::F16,
        Dtype::F32,
        Dtype::F64,
    ];

    /// Its name: `bool`, `u8`, `i8`, `i16`, `i32`, `i64`, `bf16`, `f16`, `f32` or `f64`.
    pub fn name(self) -> &'static str {
        match self {
            Dtype::Bool => "bool",
            Dtype::U8 => "u8",
            Dtype::I8 => "i8",
            Dtype::I16 => "i16",
            Dtype::I32 => "i32",
            Dtype::I64 => "i64",
            Dtype::Bf16 => "bf16",
            Dtype::F16 => "f16",
            Dtype::F32 => "f32",
            Dtype::F64 => "f64",
        }
    }

    /// The number of bytes that one number takes.
    pub fn bytes(self) -> usize {
        match self {
            Dtype::Bool | Dtype::U8 | Dtype::I8 => 1,
            Dtype::I16 | Dtype::Bf16 | Dtype::F16 => 2,
            Dtype::I32 | Dtype::F32 => 4,
            Dtype::I64 | Dtype::F64 => 8,
        }
    }

    /// Returns true if it has fractions.
    pub fn is_float(self) -> bool {
        matches!(self, Dtype::Bf16 | Dtype::F16 | Dtype::F32 | Dtype::F64)
    }

    /// The least and the greatest number of a type of integers; of truths, 0 and 1.
    pub fn range(self) -> Option<(i64, i64)> {
        match self {
            Dtype::Bool => Some((0, 1)),
            Dtype::U8 => Some((0, u8::MAX.into())),
            Dtype::I8 => Some((i8::MIN.into(), i8::MAX.into())),
            Dtype::I16 => Some((i16::MIN.into(), i16::MAX.into())),
            Dtype::I32 => Some((i32::MIN.into(), i32::MAX.into())),
            Dtype::I64 => Some((i64::MIN, i64::MAX)),
            Dtype::Bf16 | Dtype::F16 | Dtype::F32 | Dtype::F64 => None,
        }
    }

    /// The number of a type of integers that is nearest to an integer; every integer but 0 is true.
    pub fn nearest(self, whole: i64) -> i64 {
        match (self, self.range()) {
            (Dtype::Bool, _) => i64::from(whole != 0),
            (_, Some((least, greatest))) => whole.clamp(least, greatest),
            (_, None) => whole,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dtype {
    type Err = ArrayError;

    fn from_str(text: &str) -> Result<Dtype, ArrayError> {
        Dtype::ALL.into_iter().find(|dtype| dtype.name() == text).ok_or_else(|| {
            let names = Dtype::ALL.map(Dtype::name).join(", ");
            let message = format!("`{text}` is not a type of numbers: it should be one of {names}");
            ArrayError { message }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Array;

    #[test]
    fn names_are_read_back() {
        for dtype in Dtype::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
            assert_eq!(Array::zeros(dtype, &[2]).unwrap().dtype(), dtype);
        }
        assert_eq!(
            "F32".parse::<Dtype>().unwrap_err().message,
            "`F32` is not a type of numbers: it should be one of bool, u8, i8, i16, i32, i64, bf16, f16, f32, f64"
        );
    }
}
