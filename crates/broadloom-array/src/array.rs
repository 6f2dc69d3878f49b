//! Arrays: numbers with sizes, outside any program.
//!
//! An [`Array`] holds numbers of one [`Dtype`] in row-major order: the last axis is the fastest.
//! Arrays are the inputs and outputs of programs, and the contents of files. Numbers are converted
//! between types as they are in a program: a float becomes the integer towards 0, a number that does
//! not fit becomes the nearest one that does, and every number but 0 is true.
//!
//! ```
//! use broadloom_array::{Array, Dtype};
//!
//! let a = Array::from_slice(&[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.5])?;
//! assert_eq!(a.get(&[1, 0]), Some(4.0));
//! assert_eq!(a.convert(Dtype::I32).to_string(), "[[1 2 3]\n [4 5 6]]");
//! # Ok::<(), broadloom_array::ArrayError>(())
//! ```

use std::fmt;

use half::{bf16, f16};

use crate::Dtype;
use crate::error::ArrayError;

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
    fn convert(&self, dtype: Dtype) -> Values {
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
    fn collect<T: Element>(&self) -> Vec<T> {
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

/// Numbers in row-major order with their sizes.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    /// The product of the sizes is the number of values.
    sizes: Vec<u64>,
    values: Values,
}

impl Array {
    /// An array of numbers in row-major order. Their number must be the product of the sizes.
    ///
    /// ```
    /// use broadloom_array::Array;
    ///
    /// assert_eq!(Array::new(&[], vec![2.5f64])?.item(), Some(2.5));
    /// let error = Array::new(&[2, 2], vec![1i32, 2, 3]).expect_err("one is missing");
    /// assert_eq!(error.to_string(), "an array of 2 × 2 has 4 numbers, but 3 are given");
    /// # Ok::<(), broadloom_array::ArrayError>(())
    /// ```
    pub fn new(sizes: &[u64], values: impl Into<Values>) -> Result<Array, ArrayError> {
        let values = values.into();
        if count(sizes) != Some(values.len()) {
            let shown = show_sizes(sizes);
            let needed = match count(sizes) {
                Some(1) => "1 number".to_owned(),
                Some(needed) => format!("{needed} numbers"),
                None => "more numbers than can be counted".to_owned(),
            };
            let is = if values.len() == 1 { "is" } else { "are" };
            let given = values.len();
            return Err(ArrayError::new(format!("{shown} has {needed}, but {given} {is} given")));
        }
        Ok(Array { sizes: sizes.to_vec(), values })
    }

    /// An array of numbers that are copied.
    pub fn from_slice<T: Element>(sizes: &[u64], numbers: &[T]) -> Result<Array, ArrayError> {
        Array::new(sizes, numbers.to_vec())
    }

    /// A single number, without axes.
    pub fn scalar<T: Element>(number: T) -> Array {
        Array { sizes: Vec::new(), values: T::values(vec![number]) }
    }

    /// An array of zeros. Fails if there is no memory for it.
    pub fn zeros(dtype: Dtype, sizes: &[u64]) -> Result<Array, ArrayError> {
        Array::full(dtype, sizes, 0.0)
    }

    /// An array that holds one number everywhere, rounded to the type. Fails if there is no memory
    /// for it.
    ///
    /// ```
    /// use broadloom_array::{Array, Dtype};
    ///
    /// assert_eq!(Array::full(Dtype::F16, &[3], 0.5)?.to_string(), "[0.5 0.5 0.5]");
    /// assert!(Array::zeros(Dtype::F32, &[1 << 40, 1 << 40]).is_err());
    /// # Ok::<(), broadloom_array::ArrayError>(())
    /// ```
    pub fn full(dtype: Dtype, sizes: &[u64], value: f64) -> Result<Array, ArrayError> {
        fn fill<T: Element>(sizes: &[u64], value: f64) -> Option<Values> {
            let count = count(sizes)?;
            // Checked first, because a refused allocation would end the process.
            Vec::<T>::new().try_reserve_exact(count).ok()?;
            Some(T::values(vec![T::from_f64(value); count]))
        }
        let values = match dtype {
            Dtype::Bool => fill::<bool>(sizes, value),
            Dtype::U8 => fill::<u8>(sizes, value),
            Dtype::I8 => fill::<i8>(sizes, value),
            Dtype::I16 => fill::<i16>(sizes, value),
            Dtype::I32 => fill::<i32>(sizes, value),
            Dtype::I64 => fill::<i64>(sizes, value),
            Dtype::Bf16 => fill::<bf16>(sizes, value),
            Dtype::F16 => fill::<f16>(sizes, value),
            Dtype::F32 => fill::<f32>(sizes, value),
            Dtype::F64 => fill::<f64>(sizes, value),
        };
        let no_room = || ArrayError::new(format!("{} of {dtype} has no room in memory", show_sizes(sizes)));
        Ok(Array { sizes: sizes.to_vec(), values: values.ok_or_else(no_room)? })
    }

    /// The size of each axis, the slowest first.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// The type of the numbers.
    pub fn dtype(&self) -> Dtype {
        self.values.dtype()
    }

    /// The numbers.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The numbers, without the sizes.
    pub fn into_values(self) -> Values {
        self.values
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The numbers, if they are of the type asked for.
    ///
    /// ```
    /// let a = broadloom_array::Array::from_slice(&[2], &[1i64, 2])?;
    /// assert_eq!(a.as_slice::<i64>(), Some(&[1, 2][..]));
    /// assert_eq!(a.as_slice::<f32>(), None);
    /// # Ok::<(), broadloom_array::ArrayError>(())
    /// ```
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        T::numbers(&self.values)
    }

    /// Returns true if no number has a fraction; infinities and NaN have no whole value.
    pub fn is_whole(&self) -> bool {
        self.to_f64s().iter().all(|number| number.fract() == 0.0)
    }

    /// The first number that another type does not hold, as it is written: an integer beyond its range, or a number that would
    /// become infinite. Fractions and digits are not looked at: they are rounded.
    ///
    /// ```
    /// use broadloom_array::{Array, Dtype};
    ///
    /// let a = Array::from_slice(&[3], &[7i64, 300, -1])?;
    /// assert_eq!((a.outside(Dtype::U8), a.outside(Dtype::I16)), (Some("300".into()), None));
    /// assert_eq!(Array::scalar(70000.0).outside(Dtype::F16), Some("70000".into()));
    /// # Ok::<(), broadloom_array::ArrayError>(())
    /// ```
    pub fn outside(&self, dtype: Dtype) -> Option<String> {
        match (self.dtype().range(), dtype.range()) {
            (Some((from, to)), Some((least, greatest))) if least <= from && to <= greatest => None,
            (Some(_), Some((least, greatest))) => {
                let mut wide = self.values.collect::<i64>().into_iter();
                wide.find(|number| !(least..=greatest).contains(number)).map(|number| number.to_string())
            }
            (None, Some((least, greatest))) => {
                // The greatest 64-bit integer is no float: the next number is the first beyond.
                let beyond = |number: &f64| *number < least as f64 || *number >= greatest as f64 + 1.0;
                self.to_f64s().into_iter().find(beyond).map(|number| number.to_string())
            }
            (_, None) if dtype.bytes() >= self.dtype().bytes() && self.dtype().is_float() => None,
            (_, None) => {
                let mut rounded = self.convert(dtype).to_f64s().into_iter().zip(self.to_f64s());
                let lost = rounded.find(|(rounded, number)| rounded.is_infinite() && number.is_finite());
                lost.map(|(_, number)| number.to_string())
            }
        }
    }

    /// The numbers as 64-bit floats: exact, except for large 64-bit integers.
    pub fn to_f64s(&self) -> Vec<f64> {
        self.values.collect()
    }

    /// The numbers as 32-bit floats, rounded to the nearest.
    pub fn to_f32s(&self) -> Vec<f32> {
        self.values.collect()
    }

    /// The number at an index, which has one part for each axis.
    pub fn get(&self, index: &[u64]) -> Option<f64> {
        let inside = index.iter().zip(&self.sizes).all(|(at, size)| at < size);
        if index.len() != self.sizes.len() || !inside {
            return None;
        }
        let place = index.iter().zip(&self.sizes).fold(0, |place, (at, size)| place * size + at);
        self.at(usize::try_from(place).ok()?)
    }

    /// The number of an array that has just one.
    pub fn item(&self) -> Option<f64> {
        if self.len() == 1 { self.at(0) } else { None }
    }

    /// The same numbers as another type: the nearest ones, of integers those towards 0.
    pub fn convert(&self, dtype: Dtype) -> Array {
        Array { sizes: self.sizes.clone(), values: self.values.convert(dtype) }
    }

    /// The same numbers in the same order with other sizes, whose product must be the number of
    /// values.
    pub fn reshape(self, sizes: &[u64]) -> Result<Array, ArrayError> {
        Array::new(sizes, self.values)
    }

    fn at(&self, place: usize) -> Option<f64> {
        each_values!(&self.values, numbers => numbers.get(place).map(|number| number.to_f64()))
    }
}

/// The product of the sizes, unless it overflows.
fn count(sizes: &[u64]) -> Option<usize> {
    if sizes.contains(&0) {
        return Some(0);
    }
    let product = sizes.iter().try_fold(1u64, |product, size| product.checked_mul(*size))?;
    usize::try_from(product).ok()
}

/// An array, described by its sizes.
fn show_sizes(sizes: &[u64]) -> String {
    match sizes {
        [] => "an array without axes".to_owned(),
        sizes => {
            let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
            format!("an array of {}", sizes.join(" × "))
        }
    }
}

/// Arrays of more numbers than this are printed with `...` in the middle of long axes.
const SHOWN_WHOLE: usize = 1000;
/// The number of indices that are then shown at each end of an axis.
const SHOWN_ENDS: u64 = 3;

/// Rows in brackets, as NumPy prints them; `{:.2}` sets the digits behind the point. Large arrays are
/// shown in part.
impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("[]");
        }
        let rank = self.sizes.len();
        let all = self.len() <= SHOWN_WHOLE;
        let shown: Vec<Vec<Option<u64>>> = self.sizes.iter().map(|size| shown(*size, all)).collect();

        // The text before each number, and the number, or `None` for those left out.
        let mut pieces = Vec::new();
        let mut before = String::new();
        let mut point = vec![0; rank];
        let mut depth = 0;
        loop {
            let gap = (0..rank).find(|axis| shown[*axis][point[*axis]].is_none());
            let deepest = gap.map_or(rank, |axis| axis + 1);
            before.extend(std::iter::repeat_n('[', deepest - depth));
            depth = deepest;
            let place = (0..rank)
                .try_fold(0, |place, axis| Some(place * self.sizes[axis] + shown[axis][point[axis]]?))
                .and_then(|place| usize::try_from(place).ok());
            pieces.push((std::mem::take(&mut before), place.map(|place| self.text(place, f.precision()))));
            while depth > 0 {
                point[depth - 1] += 1;
                if point[depth - 1] < shown[depth - 1].len() {
                    break;
                }
                point[depth - 1] = 0;
                before.push(']');
                depth -= 1;
            }
            if depth == 0 {
                break;
            }
            if depth == rank {
                before.push(' ');
            } else {
                before.extend(std::iter::repeat_n('\n', rank - depth));
                before.extend(std::iter::repeat_n(' ', depth));
            }
        }

        let width = pieces.iter().flat_map(|(_, text)| text).map(String::len).max().unwrap_or(0);
        for (before, text) in &pieces {
            match text {
                Some(text) => write!(f, "{before}{text:>width$}")?,
                None => write!(f, "{before}...")?,
            }
        }
        f.write_str(&before)
    }
}

impl Array {
    /// One number as it is printed.
    fn text(&self, place: usize, precision: Option<usize>) -> String {
        let float = |number: f32| match precision {
            Some(digits) => format!("{number:.digits$}"),
            None => format!("{number:?}"),
        };
        match &self.values {
            Values::Bool(numbers) => u8::from(numbers[place]).to_string(),
            Values::U8(numbers) => numbers[place].to_string(),
            Values::I8(numbers) => numbers[place].to_string(),
            Values::I16(numbers) => numbers[place].to_string(),
            Values::I32(numbers) => numbers[place].to_string(),
            Values::I64(numbers) => numbers[place].to_string(),
            Values::Bf16(numbers) => float(numbers[place].to_f32()),
            Values::F16(numbers) => float(numbers[place].to_f32()),
            Values::F32(numbers) => float(numbers[place]),
            Values::F64(numbers) => match precision {
                Some(digits) => format!("{:.digits$}", numbers[place]),
                None => format!("{:?}", numbers[place]),
            },
        }
    }
}

/// The indices of an axis that are printed; `None` stands for those left out.
fn shown(size: u64, all: bool) -> Vec<Option<u64>> {
    if all || size <= 2 * SHOWN_ENDS {
        return (0..size).map(Some).collect();
    }
    let (first, last) = (0..SHOWN_ENDS, size - SHOWN_ENDS..size);
    first.map(Some).chain([None]).chain(last.map(Some)).collect()
}

/// From and to `ndarray`, with the feature of that name.
#[cfg(feature = "ndarray")]
mod interop {
    use ndarray::{ArrayD, IxDyn};

    use super::{Array, ArrayError, Element};

    /// The numbers in row-major order, whatever the order in memory.
    ///
    /// ```
    /// use broadloom_array::Array;
    /// use ndarray::{ArrayD, array};
    ///
    /// let matrix = array![[1.0f32, 2.0], [3.0, 4.0]];
    /// let a = Array::from(matrix.t().to_owned().into_dyn());
    /// assert_eq!(a.to_f64s(), [1.0, 3.0, 2.0, 4.0]);
    /// let back = ArrayD::<f32>::try_from(a)?;
    /// assert_eq!(back, matrix.t().into_dyn());
    /// # Ok::<(), broadloom_array::ArrayError>(())
    /// ```
    impl<T: Element> From<ArrayD<T>> for Array {
        fn from(array: ArrayD<T>) -> Array {
            let sizes = array.shape().iter().map(|size| *size as u64).collect();
            Array { sizes, values: T::values(array.iter().copied().collect()) }
        }
    }

    /// Fails if the numbers are of another type: they are never converted implicitly.
    impl<T: Element> TryFrom<Array> for ArrayD<T> {
        type Error = ArrayError;

        fn try_from(array: Array) -> Result<ArrayD<T>, ArrayError> {
            let Some(numbers) = array.as_slice::<T>() else {
                let (wanted, found) = (T::DTYPE, array.dtype());
                return Err(ArrayError::new(format!(
                    "numbers of {wanted} are asked for, but these are {found}"
                )));
            };
            // Sizes beyond memory belong to arrays without numbers, which `ndarray` refuses itself.
            let sizes: Vec<usize> =
                array.sizes().iter().map(|size| usize::try_from(*size).unwrap_or(usize::MAX)).collect();
            ArrayD::from_shape_vec(IxDyn(&sizes), numbers.to_vec())
                .map_err(|error| ArrayError::new(error.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(sizes: &[u64]) -> Array {
        let count = sizes.iter().product::<u64>() as i64;
        Array::new(sizes, (0..count).collect::<Vec<i64>>()).unwrap()
    }

    #[test]
    fn sizes_and_numbers_agree() {
        assert_eq!(range(&[2, 3]).len(), 6);
        assert!(range(&[2, 0]).is_empty());
        let error = |sizes: &[u64]| Array::new(sizes, vec![0.0f32]).unwrap_err().message;
        assert_eq!(error(&[2]), "an array of 2 has 2 numbers, but 1 is given");
        assert_eq!(
            error(&[u64::MAX, 2]),
            format!("an array of {} × 2 has more numbers than can be counted, but 1 is given", u64::MAX)
        );
        assert_eq!(
            Array::new(&[], Vec::<f32>::new()).unwrap_err().message,
            "an array without axes has 1 number, but 0 are given"
        );
        // No numbers, though the other sizes multiply to too much.
        assert!(Array::zeros(Dtype::F64, &[u64::MAX, u64::MAX, 0]).unwrap().is_empty());
        assert_eq!(
            Array::zeros(Dtype::F64, &[u64::MAX]).unwrap_err().message,
            format!("an array of {} of f64 has no room in memory", u64::MAX)
        );
    }

    #[test]
    fn indices_count_the_last_axis_fastest() {
        let a = range(&[2, 3, 4]);
        assert_eq!(a.get(&[1, 2, 3]), Some(23.0));
        assert_eq!(a.get(&[1, 0, 1]), Some(13.0));
        for wrong in [&[2, 0, 0][..], &[0, 3, 0], &[0, 0], &[0, 0, 0, 0]] {
            assert_eq!(a.get(wrong), None);
        }
        assert_eq!(Array::scalar(2.5f32).get(&[]), Some(2.5));
        assert_eq!((range(&[1, 1]).item(), range(&[2]).item()), (Some(0.0), None));
        assert_eq!(a.clone().reshape(&[24]).unwrap().get(&[13]), Some(13.0));
        assert!(a.reshape(&[23]).is_err());
    }

    #[test]
    fn conversions_round_once_and_saturate() {
        let from = |numbers: &[f64], dtype| {
            Array::from_slice(&[numbers.len() as u64], numbers).unwrap().convert(dtype)
        };
        assert_eq!(
            from(&[-1.9, 1.9, 1e20, -1e20, f64::NAN], Dtype::I32).as_slice(),
            Some(&[-1, 1, i32::MAX, i32::MIN, 0][..])
        );
        let large = Array::from_slice(&[2], &[i64::MAX, -(1 << 40)]).unwrap();
        assert_eq!(large.convert(Dtype::I32).as_slice(), Some(&[i32::MAX, i32::MIN][..]));
        // Through 32 bits this would become a tie, and go to the even neighbour below.
        let above = 1.0 + f64::powi(2.0, -8) + f64::powi(2.0, -40);
        assert_eq!(from(&[above], Dtype::Bf16).to_f64s(), [1.0 + f64::powi(2.0, -7)]);
        assert_eq!(from(&[1e6], Dtype::F16).to_f64s(), [f64::INFINITY]);
        let odd = Array::scalar((1i64 << 53) + 1);
        assert_eq!(odd.convert(Dtype::I64), odd);
        for dtype in Dtype::ALL.into_iter().filter(|dtype| *dtype != Dtype::Bool) {
            assert_eq!(range(&[2, 3]).convert(dtype).to_f32s(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        }
        assert_eq!(range(&[2, 3]).convert(Dtype::Bool).to_f32s(), [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        let numbers = [-1e9, -129.0, -1.5, -0.0, 0.4, 127.9, 200.0, f64::INFINITY, f64::NAN];
        let as_floats = |dtype| from(&numbers, dtype).to_f64s();
        assert_eq!(as_floats(Dtype::Bool), [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(as_floats(Dtype::U8), [0.0, 0.0, 0.0, 0.0, 0.0, 127.0, 200.0, 255.0, 0.0]);
        assert_eq!(as_floats(Dtype::I8), [-128.0, -128.0, -1.0, 0.0, 0.0, 127.0, 127.0, 127.0, 0.0]);
        assert_eq!(as_floats(Dtype::I16), [-32768.0, -129.0, -1.0, 0.0, 0.0, 127.0, 200.0, 32767.0, 0.0]);
        // Integers are saturated as integers are.
        for (whole, dtype) in
            [-70_000i64, -1, 0, 1, 256, 70_000].iter().flat_map(|x| Dtype::ALL.map(|d| (x, d)))
        {
            if !dtype.is_float() {
                assert_eq!(Array::scalar(*whole).convert(dtype).item(), Some(dtype.nearest(*whole) as f64));
            }
        }
    }

    #[test]
    fn prints_rows_in_brackets() {
        assert_eq!(Array::scalar(7i32).to_string(), "7");
        assert_eq!(Array::from_slice(&[3], &[true, false, true]).unwrap().to_string(), "[1 0 1]");
        assert_eq!(Array::from_slice(&[2], &[-5i8, 7]).unwrap().to_string(), "[-5  7]");
        assert_eq!(range(&[0, 4]).to_string(), "[]");
        assert_eq!(range(&[2, 6]).to_string(), "[[ 0  1  2  3  4  5]\n [ 6  7  8  9 10 11]]");
        assert_eq!(range(&[2, 2, 1]).to_string(), "[[[0]\n  [1]]\n\n [[2]\n  [3]]]");
        let floats = Array::from_slice(&[3], &[0.1f32, -2.0, f32::NAN]).unwrap();
        assert_eq!(floats.to_string(), "[ 0.1 -2.0  NaN]");
        assert_eq!(format!("{floats:.2}"), "[ 0.10 -2.00   NaN]");
        assert_eq!(range(&[2000]).to_string(), "[   0    1    2 ... 1997 1998 1999]");
        let rows = range(&[1000, 2]).to_string();
        assert_eq!(
            rows,
            "[[   0    1]\n [   2    3]\n [   4    5]\n ...\n [1994 1995]\n [1996 1997]\n [1998 1999]]"
        );
        // Many axes do not make a deep recursion.
        assert_eq!(range(&vec![1; 100_000]).to_string().len(), 200_001);
    }
}
