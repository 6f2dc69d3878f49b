//! Elements of an array in another arrangement: axes exchanged, split or joined, or a part of them.

use crate::array::Array;
use crate::elements::{Element, Values};
use crate::error::ArrayError;

impl Array {
    /// The elements at `start + i × stride + j × stride + …`, where `i`, `j`, … go along axes that are given by their sizes and
    /// strides, the slowest first.
    ///
    /// ```
    /// use broadloom_array::Array;
    ///
    /// let rows = Array::from_slice(&[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let columns = rows.arranged(0, &[(3, 1), (2, 3)])?;
    /// assert_eq!((columns.sizes(), columns.to_f64s()), (&[3, 2][..], vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    /// assert!(rows.arranged(1, &[(3, 1), (2, 3)]).is_err());
    /// # Ok::<(), broadloom_array::ArrayError>(())
    /// ```
    pub fn arranged(&self, start: u64, axes: &[(u64, u64)]) -> Result<Array, ArrayError> {
        let sizes: Vec<u64> = axes.iter().map(|(size, _)| *size).collect();
        if sizes.contains(&0) {
            return Array::zeros(self.dtype(), &sizes);
        }
        let last = axes.iter().try_fold(start, |last, (size, stride)| {
            last.checked_add(size.saturating_sub(1).checked_mul(*stride)?)
        });
        if last.is_none_or(|last| last >= self.len() as u64) {
            return Err(ArrayError {
                message: format!("an array of {} numbers has no such part", self.len()),
            });
        }
        let axes = joined(axes);
        let start = start as usize;
        let values = match self.values() {
            Values::Bool(numbers) => picked(numbers, start, &axes),
            Values::U8(numbers) => picked(numbers, start, &axes),
            Values::I8(numbers) => picked(numbers, start, &axes),
            Values::I16(numbers) => picked(numbers, start, &axes),
            Values::I32(numbers) => picked(numbers, start, &axes),
            Values::I64(numbers) => picked(numbers, start, &axes),
            Values::Bf16(numbers) => picked(numbers, start, &axes),
            Values::F16(numbers) => picked(numbers, start, &axes),
            Values::F32(numbers) => picked(numbers, start, &axes),
            Values::F64(numbers) => picked(numbers, start, &axes),
        };
        Array::new(&sizes, values)
    }
}

/// Axes with neighbours joined where one goes on from the other, so that elements are copied in long runs.
fn joined(axes: &[(u64, u64)]) -> Vec<(usize, usize)> {
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (size, stride) in axes.iter().filter(|(size, _)| *size != 1) {
        let (size, stride) = (*size as usize, *stride as usize);
        match joined.last_mut() {
            Some((count, last)) if *last == size * stride => (*count, *last) = (*count * size, stride),
            _ => joined.push((size, stride)),
        }
    }
    joined
}

fn picked<T: Element>(numbers: &[T], start: usize, axes: &[(usize, usize)]) -> Values {
    let (outer, (run, stride)) = match axes.split_last() {
        Some((last, outer)) => (outer, *last),
        None => (axes, (1, 1)),
    };
    let total = outer.iter().map(|(size, _)| size).product::<usize>();
    let mut out = Vec::with_capacity(total * run);
    let mut index = vec![0; outer.len()];
    let mut at = start;
    for _ in 0..total {
        match stride {
            1 => out.extend_from_slice(&numbers[at..at + run]),
            _ => out.extend((0..run).map(|each| numbers[at + each * stride])),
        }
        // The next place of the outer axes, the last of them first.
        for (place, (size, step)) in index.iter_mut().zip(outer).rev() {
            *place += 1;
            at += step;
            if *place < *size {
                break;
            }
            at -= step * size;
            *place = 0;
        }
    }
    T::values(out)
}
