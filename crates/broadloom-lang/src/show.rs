//! Numbers and arrays for people.

use broadloom::Array;

/// Arrays with more elements are shown in part.
const MOST: usize = 200;
/// The number of first and of last elements of an axis that are shown then.
const EDGE: usize = 3;

/// A number with six digits, and no more zeros than it needs.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return if value.is_nan() {
            "nan"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        }
        .into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-5..9).contains(&magnitude) {
        let text = format!("{value:.5e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", trimmed(digits));
    }
    trimmed(&format!("{value:.*}", (5 - magnitude).max(0) as usize)).to_string()
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// A text without characters that a terminal would obey; lines and tabs stay.
pub fn text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() && !matches!(c, '\n' | '\t') {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    shown
}

/// An array in nested brackets, one line per row; large ones in part. Integers have all their digits.
pub fn array(array: &Array) -> String {
    let values = array.to_f64s();
    let is_whole = !array.dtype().is_float();
    let text = |at: usize| match array.as_slice::<i64>() {
        Some(whole) => whole[at].to_string(),
        None if is_whole => format!("{:.0}", values[at]),
        None => number(values[at]),
    };
    let sizes: Vec<usize> = array.sizes().iter().map(|size| *size as usize).collect();
    if values.len() <= 1 {
        return values.first().map_or("[]".into(), |_| text(0));
    }
    let all = values.len() <= MOST;
    let mut cells = Vec::new();
    collect(&sizes, 0, all, &mut |at| cells.push(text(at)), 0);
    let width = cells.iter().map(String::len).max().unwrap_or(0);
    let mut cells = cells.into_iter();
    let mut out = String::new();
    write(&sizes, all, 0, width, &mut cells, &mut out);
    out
}

/// The positions of one axis that are shown; `None` where some are left out.
fn positions(size: usize, all: bool) -> Vec<Option<usize>> {
    if all || size <= 2 * EDGE + 1 {
        return (0..size).map(Some).collect();
    }
    (0..EDGE).map(Some).chain([None]).chain((size - EDGE..size).map(Some)).collect()
}

fn collect(sizes: &[usize], depth: usize, all: bool, take: &mut impl FnMut(usize), at: usize) {
    for position in positions(sizes[depth], all).into_iter().flatten() {
        let at = at * sizes[depth] + position;
        if depth + 1 == sizes.len() { take(at) } else { collect(sizes, depth + 1, all, take, at) }
    }
}

fn write(
    sizes: &[usize],
    all: bool,
    depth: usize,
    width: usize,
    cells: &mut impl Iterator<Item = String>,
    out: &mut String,
) {
    out.push('[');
    let inner = depth + 1 < sizes.len();
    for (at, position) in positions(sizes[depth], all).into_iter().enumerate() {
        if at > 0 && inner {
            out.push('\n');
            (0..=depth).for_each(|_| out.push(' '));
        } else if at > 0 {
            out.push(' ');
        }
        match (position, inner) {
            (None, _) => out.push('…'),
            (Some(_), true) => write(sizes, all, depth + 1, width, cells, out),
            (Some(_), false) => {
                let cell = cells.next().unwrap_or_default();
                (cell.len()..width).for_each(|_| out.push(' '));
                out.push_str(&cell);
            }
        }
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.333333"),
            (123456.789, "123457"),
            (-2.5e-7, "-2.5e-7"),
            (1e12, "1e12"),
            (f64::NAN, "nan"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn arrays() -> Result<(), broadloom::ArrayError> {
        let small = Array::from_slice(&[2, 3], &[1.0f32, 2.0, 3.0, -4.5, 5.0, 6.0])?;
        assert_eq!(array(&small), "[[   1    2    3]\n [-4.5    5    6]]");
        let numbers: Vec<f32> = (0..1000).map(|at| at as f32).collect();
        assert_eq!(array(&Array::from_slice(&[1000], &numbers)?), "[  0   1   2 … 997 998 999]");
        assert_eq!(array(&Array::from_slice(&[], &[2.5f32])?), "2.5");
        Ok(())
    }
}
