//! Arrays as they are printed: rows in brackets, large ones in part.

use std::fmt;

use super::Array;
use crate::elements::Values;

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
