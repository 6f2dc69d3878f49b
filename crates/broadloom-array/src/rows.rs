//! Rows of an array: the parts along its first axis.

use crate::array::Array;
use crate::elements::{Element, Values};
use crate::error::ArrayError;

impl Array {
    /// The rows at these positions along the first axis, in this order.
    ///
    /// ```
    /// use broadloom_array::Array;
    ///
    /// let table = Array::from_slice(&[3, 2], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let rows = table.rows(&[2, 0])?;
    /// assert_eq!((rows.sizes(), rows.to_f64s()), (&[2, 2][..], vec![5.0, 6.0, 1.0, 2.0]));
    /// assert!(table.rows(&[3]).is_err());
    /// # Ok::<(), broadloom_array::ArrayError>(())
    /// ```
    pub fn rows(&self, rows: &[u64]) -> Result<Array, ArrayError> {
        let Some((count, row)) = self.sizes().split_first() else {
            return Err(ArrayError { message: "a single number has no rows".into() });
        };
        if let Some(outside) = rows.iter().find(|at| *at >= count) {
            return Err(ArrayError { message: format!("there is no row {outside} among {count}") });
        }
        let width: u64 = row.iter().product();
        let sizes: Vec<u64> = std::iter::once(rows.len() as u64).chain(row.iter().copied()).collect();
        let width = width as usize;
        let values = match self.values() {
            Values::Bool(numbers) => picked(numbers, width, rows),
            Values::U8(numbers) => picked(numbers, width, rows),
            Values::I8(numbers) => picked(numbers, width, rows),
            Values::I16(numbers) => picked(numbers, width, rows),
            Values::I32(numbers) => picked(numbers, width, rows),
            Values::I64(numbers) => picked(numbers, width, rows),
            Values::Bf16(numbers) => picked(numbers, width, rows),
            Values::F16(numbers) => picked(numbers, width, rows),
            Values::F32(numbers) => picked(numbers, width, rows),
            Values::F64(numbers) => picked(numbers, width, rows),
        };
        Array::new(&sizes, values)
    }
}

fn picked<T: Element>(numbers: &[T], width: usize, rows: &[u64]) -> Values {
    let row = |at: &u64| &numbers[*at as usize * width..(*at as usize + 1) * width];
    T::values(rows.iter().flat_map(row).copied().collect())
}
