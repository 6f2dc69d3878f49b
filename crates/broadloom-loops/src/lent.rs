//! Memory that belongs to somebody else and is read where it is.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use half::{bf16, f16};

use crate::plain::{Flag, Plain};
use crate::{Array, ArrayError, Dtype, Values};

/// Numbers in row-major order, without margins, in memory of somebody else. They are only read.
#[derive(Clone)]
pub struct Lent {
    address: *const c_void,
    dtype: Dtype,
    sizes: Vec<u64>,
    count: usize,
    /// Keeps the memory there.
    _owner: Arc<dyn Send + Sync>,
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").field("dtype", &self.dtype).field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl Lent {
    /// The type of the numbers.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The size of each axis, the slowest first.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// A copy of the numbers.
    pub fn read(&self) -> Result<Array, ArrayError> {
        match self.dtype {
            Dtype::Bool => self.copy::<Flag>(),
            Dtype::U8 => self.copy::<u8>(),
            Dtype::I8 => self.copy::<i8>(),
            Dtype::I16 => self.copy::<i16>(),
            Dtype::I32 => self.copy::<i32>(),
            Dtype::I64 => self.copy::<i64>(),
            Dtype::Bf16 => self.copy::<bf16>(),
            Dtype::F16 => self.copy::<f16>(),
            Dtype::F32 => self.copy::<f32>(),
            Dtype::F64 => self.copy::<f64>(),
        }
    }

    fn copy<T: Plain>(&self) -> Result<Array, ArrayError> {
        let numbers: Vec<T::Number> = self.cells::<T>().iter().map(|cell| cell.number()).collect();
        Array::new(&self.sizes, numbers)
    }

    /// The address at which the numbers begin.
    pub fn address(&self) -> *const c_void {
        self.address
    }
}

#[allow(unsafe_code, reason = "whoever lends memory promises that it is there")]
mod promise {
    use broadloom_array::Element as _;

    use super::{Arc, Array, Dtype, Lent, Plain, Values, c_void};

    // SAFETY: the numbers are only read, the owner may go to and be seen from other threads, and the promise of `Lent::new`
    // does not depend on a thread.
    unsafe impl Send for Lent {}
    // SAFETY: as above.
    unsafe impl Sync for Lent {}

    impl Lent {
        /// Memory at an address, or nothing if the numbers could not be read there: if the address is not a multiple of
        /// the size of a number, or there are too many.
        ///
        /// # Safety
        /// As long as the owner is there, so are the numbers: as many as the product of the sizes, one after another. Nobody
        /// writes to them while a program reads them.
        pub unsafe fn new(
            address: *const c_void,
            dtype: Dtype,
            sizes: &[u64],
            owner: Arc<dyn Send + Sync>,
        ) -> Option<Lent> {
            let count = sizes.iter().try_fold(1u64, |count, size| count.checked_mul(*size))?;
            let count = usize::try_from(count).ok()?;
            let fits = count.checked_mul(dtype.bytes())? <= isize::MAX as usize;
            let placed = !address.is_null() && address.addr().is_multiple_of(dtype.bytes());
            (fits && placed).then(|| Lent { address, dtype, sizes: sizes.to_vec(), count, _owner: owner })
        }

        /// The numbers of an array that is shared. Nobody can change them.
        pub fn of(array: &Arc<Array>) -> Lent {
            let address: *const c_void = match array.values() {
                Values::Bool(numbers) => numbers.as_ptr().cast(),
                Values::U8(numbers) => numbers.as_ptr().cast(),
                Values::I8(numbers) => numbers.as_ptr().cast(),
                Values::I16(numbers) => numbers.as_ptr().cast(),
                Values::I32(numbers) => numbers.as_ptr().cast(),
                Values::I64(numbers) => numbers.as_ptr().cast(),
                Values::Bf16(numbers) => numbers.as_ptr().cast(),
                Values::F16(numbers) => numbers.as_ptr().cast(),
                Values::F32(numbers) => numbers.as_ptr().cast(),
                Values::F64(numbers) => numbers.as_ptr().cast(),
            };
            let owner = Arc::clone(array);
            // SAFETY: an array has as many numbers as its sizes say, and what is shared does not change.
            unsafe { Lent::new(address, array.dtype(), array.sizes(), owner) }
                .expect("numbers of an array are where numbers can be")
        }

        /// The numbers as the type that they have.
        pub(crate) fn cells<T: Plain>(&self) -> &[T] {
            assert_eq!(T::Number::DTYPE, self.dtype, "cells are seen as what they are");
            // SAFETY: by the promise of `new` the numbers are there, and nobody writes to them; the address suits the type,
            // for which all bit patterns are valid.
            unsafe { std::slice::from_raw_parts(self.address.cast(), self.count) }
        }
    }
}
