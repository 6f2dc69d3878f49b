//! From and to `ndarray`, with the feature of that name.

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
            return Err(ArrayError::new(format!("numbers of {wanted} are asked for, but these are {found}")));
        };
        // Sizes beyond memory belong to arrays without numbers, which `ndarray` refuses itself.
        let sizes: Vec<usize> =
            array.sizes().iter().map(|size| usize::try_from(*size).unwrap_or(usize::MAX)).collect();
        ArrayD::from_shape_vec(IxDyn(&sizes), numbers.to_vec())
            .map_err(|error| ArrayError::new(error.to_string()))
    }
}
