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

#[cfg(feature = "ndarray")]
mod interop;
mod printed;

use std::fmt;

use half::{bf16, f16};

use crate::Dtype;
use crate::elements::{Element, Values, each_values};
use crate::error::ArrayError;

/// Numbers in row-major order with their sizes.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    /// The product of the sizes is the number of values.
    sizes: Vec<u64>,
    values: Values,
}

/// One number of an array: exact, as no float is for all 64-bit integers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ArrayNumber {
    /// A number of a type of integers.
    Whole(i64),
    /// A number of a type of floats.
    Float(f64),
}

impl ArrayNumber {
    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        match self {
            ArrayNumber::Whole(number) => number as f64,
            ArrayNumber::Float(number) => number,
        }
    }
}

impl fmt::Display for ArrayNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArrayNumber::Whole(number) => number.fmt(f),
            ArrayNumber::Float(number) => number.fmt(f),
        }
    }
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

    /// The first number that another type does not hold: an integer beyond its range, or a number that would
    /// become infinite. Fractions and digits are not looked at: they are rounded.
    ///
    /// ```
    /// use broadloom_array::{Array, ArrayNumber, Dtype};
    ///
    /// let a = Array::from_slice(&[3], &[7i64, 300, -1])?;
    /// assert_eq!((a.outside(Dtype::U8), a.outside(Dtype::I16)), (Some(ArrayNumber::Whole(300)), None));
    /// assert_eq!(Array::scalar(70000.0).outside(Dtype::F16), Some(ArrayNumber::Float(70000.0)));
    /// # Ok::<(), broadloom_array::ArrayError>(())
    /// ```
    pub fn outside(&self, dtype: Dtype) -> Option<ArrayNumber> {
        match (self.dtype().range(), dtype.range()) {
            (Some((from, to)), Some((least, greatest))) if least <= from && to <= greatest => None,
            (Some(_), Some((least, greatest))) => {
                let mut wide = self.values.collect::<i64>().into_iter();
                wide.find(|number| !(least..=greatest).contains(number)).map(ArrayNumber::Whole)
            }
            (None, Some((least, greatest))) => {
                // The greatest 64-bit integer is no float: the next number is the first beyond.
                let beyond = |number: &f64| *number < least as f64 || *number >= greatest as f64 + 1.0;
                self.to_f64s().into_iter().find(beyond).map(ArrayNumber::Float)
            }
            (_, None) if dtype.bytes() >= self.dtype().bytes() && self.dtype().is_float() => None,
            (_, None) => {
                let mut rounded = self.convert(dtype).to_f64s().into_iter().zip(self.to_f64s());
                let lost = rounded.find(|(rounded, number)| rounded.is_infinite() && number.is_finite());
                lost.map(|(_, number)| ArrayNumber::Float(number))
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
