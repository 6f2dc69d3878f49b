//! Elements of arrays: numbers of each type, and conversions between them.

use std::fmt;

use half::{bf16, f16};

use crate::Dtype;

/// Numbers of one type.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Truths.
    Bool(Vec<bool>),
    /// 8-bit integers without a sign.
    U8(Vec<u8>),
    /// 8-bit integers.
    I8(Vec<i8>),
    /// 16-bit integers.
    I16(Vec<i16>),
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

/// Evaluates one expression for the numbers of any type.
macro_rules! each_values {
    ($values:expr, $numbers:ident => $result:expr) => {
        match $values {
            Values::Bool($numbers) => $result,
            Values::U8($numbers) => $result,
            Values::I8($numbers) => $result,
            Values::I16($numbers) => $result,
            Values::I32($numbers) => $result,
            Values::I64($numbers) => $result,
            Values::Bf16($numbers) => $result,
            Values::F16($numbers) => $result,
            Values::F32($numbers) => $result,
            Values::F64($numbers) => $result,
        }
    };
}

pub(crate) use each_values;

impl Values {
    /// The type of the numbers.
    pub fn dtype(&self) -> Dtype {
        match self {
            Values::Bool(_) => Dtype::Bool,
            Values::U8(_) => Dtype::U8,
            Values::I8(_) => Dtype::I8,
            Values::I16(_) => Dtype::I16,
            Values::I32(_) => Dtype::I32,
            Values::I64(_) => Dtype::I64,
            Values::Bf16(_) => Dtype::Bf16,
            Values::F16(_) => Dtype::F16,
            Values::F32(_) => Dtype::F32,
            Values::F64(_) => Dtype::F64,
        }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        each_values!(self, numbers => numbers.len())
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same numbers as another type.
    pub(crate) fn convert(&self, dtype: Dtype) -> Values {
        match dtype {
            Dtype::Bool => Values::Bool(self.collect()),
            Dtype::U8 => Values::U8(self.collect()),
            Dtype::I8 => Values::I8(self.collect()),
            Dtype::I16 => Values::I16(self.collect()),
            Dtype::I32 => Values::I32(self.collect()),
            Dtype::I64 => Values::I64(self.collect()),
            Dtype::Bf16 => Values::Bf16(self.collect()),
            Dtype::F16 => Values::F16(self.collect()),
            Dtype::F32 => Values::F32(self.collect()),
            Dtype::F64 => Values::F64(self.collect()),
        }
    }

    /// Integers go through the widest integer and floats through the widest float, so that a number is
    /// rounded once.
    pub(crate) fn collect<T: Element>(&self) -> Vec<T> {
        fn from<S: Element, T: Element>(numbers: &[S], f: impl Fn(S) -> T) -> Vec<T> {
            numbers.iter().map(|number| f(*number)).collect()
        }
        match self {
            Values::Bool(numbers) => from(numbers, |number| T::from_i64(number.into())),
            Values::U8(numbers) => from(numbers, |number| T::from_i64(number.into())),
            Values::I8(numbers) => from(numbers, |number| T::from_i64(number.into())),
            Values::I16(numbers) => from(numbers, |number| T::from_i64(number.into())),
            Values::I32(numbers) => from(numbers, |number| T::from_i64(number.into())),
            Values::I64(numbers) => from(numbers, T::from_i64),
            Values::Bf16(numbers) => from(numbers, |number| T::from_f64(number.to_f64())),
            Values::F16(numbers) => from(numbers, |number| T::from_f64(number.to_f64())),
            Values::F32(numbers) => from(numbers, |number| T::from_f64(number.into())),
            Values::F64(numbers) => from(numbers, |number| T::from_f64(number)),
        }
    }
}

impl<T: Element> From<Vec<T>> for Values {
    fn from(numbers: Vec<T>) -> Values {
        T::values(numbers)
    }
}

/// A Rust type of numbers that arrays hold.
pub trait Element: Copy + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The type of such numbers.
    const DTYPE: Dtype;

    /// The nearest number of this type; of integers, the one towards 0. NaN becomes the integer 0. Every number but 0 is
    /// true, NaN included.
    fn from_f64(value: f64) -> Self;

    /// The nearest number of this type.
    fn from_i64(value: i64) -> Self;

    /// The number as a 64-bit float: exact, except for large 64-bit integers.
    fn to_f64(self) -> f64;

    /// Numbers of this type as numbers of any type.
    fn values(numbers: Vec<Self>) -> Values;

    /// Numbers of any type, if they are of this type.
    fn numbers(values: &Values) -> Option<&[Self]>;
}

macro_rules! element {
    ($rust:ident, $variant:ident, $from_f64:expr, $from_i64:expr, $to_f64:expr) => {
        impl Element for $rust {
            const DTYPE: Dtype = Dtype::$variant;

            fn from_f64(value: f64) -> Self {
                $from_f64(value)
            }

            fn from_i64(value: i64) -> Self {
                $from_i64(value)
            }

            fn to_f64(self) -> f64 {
                $to_f64(self)
            }

            fn values(numbers: Vec<Self>) -> Values {
                Values::$variant(numbers)
            }

            fn numbers(values: &Values) -> Option<&[Self]> {
                match values {
                    Values::$variant(numbers) => Some(numbers),
                    _ => None,
                }
            }
        }
    };
}

element!(bool, Bool, |x| x != 0.0, |x| x != 0, f64::from);
element!(u8, U8, |x| x as u8, |x: i64| x.clamp(0, u8::MAX.into()) as u8, f64::from);
element!(i8, I8, |x| x as i8, |x: i64| x.clamp(i8::MIN.into(), i8::MAX.into()) as i8, f64::from);
element!(i16, I16, |x| x as i16, |x: i64| x.clamp(i16::MIN.into(), i16::MAX.into()) as i16, f64::from);
element!(i32, I32, |x| x as i32, |x: i64| x.clamp(i32::MIN.into(), i32::MAX.into()) as i32, f64::from);
element!(i64, I64, |x| x as i64, |x| x, |x| x as f64);
element!(bf16, Bf16, |x| bf16::from_f32(to_odd(x)), |x| <bf16 as Element>::from_f64(x as f64), bf16::to_f64);
element!(f16, F16, |x| f16::from_f32(to_odd(x)), |x| <f16 as Element>::from_f64(x as f64), f16::to_f64);
element!(f32, F32, |x| x as f32, |x| x as f32, f64::from);
element!(f64, F64, |x| x, |x| x as f64, |x| x);

/// A 32-bit float that rounds to 16 bits as the 64-bit float does: if bits are lost, the last one
/// that stays is set, so that a number above a tie stays above. (`half` drops these bits when it
/// rounds.)
fn to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest) == value || !nearest.is_finite() {
        return nearest;
    }
    let beyond = f64::from(nearest).abs() > value.abs();
    f32::from_bits((nearest.to_bits() - u32::from(beyond)) | 1)
}
