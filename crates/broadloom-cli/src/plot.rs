//! Plots of losses in a terminal; [`svg`] draws the same curves as pictures.
//!
//! ```text
//! loss
//!  1.29 ⡇
//!       ⢣
//! 0.726 ⠈⠒⠤⠤⠤⠤⠤⠤⠤
//!       1      500
//! ```
//!
//! A braille character has two columns and four rows of dots. Each column of dots spans the least
//! to the greatest loss of the repetitions that fall into it.

pub(crate) mod svg;

use broadloom_lang::show::number;

use broadloom_diagnostics::Paint;

use crate::console::Look;
use broadloom_ide::words::grouped;

/// Lines of a plot.
const ROWS: usize = 10;
/// The largest number of columns: wider plots are no clearer.
const COLUMNS: usize = 72;
/// The largest number of points of a curve, before every second one is dropped.
const POINTS: usize = 8192;
/// The scale is logarithmic if the largest loss is this many times the least.
const LOGARITHMIC: f64 = 50.0;

/// A loss over the repetitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curve {
    pub name: String,
    /// The number of a repetition from 1, and the loss after it.
    pub points: Vec<(u64, f64)>,
    pub last: (u64, f64),
    /// The repetition with the least loss.
    pub least: Option<(u64, f64)>,
    /// One of this many repetitions is kept.
    every: u64,
    seen: u64,
}

impl Curve {
    pub fn new(name: &str) -> Curve {
        Curve { name: name.into(), every: 1, ..Curve::default() }
    }

    /// Goes on after so many repetitions whose losses are not known.
    pub fn after(mut self, repetitions: u64) -> Curve {
        self.seen = repetitions;
        self
    }

    /// The kept points and the last one.
    fn all(&self) -> Vec<(u64, f64)> {
        let end = Some(self.last).filter(|last| self.points.last().is_some_and(|kept| kept != last));
        self.points.iter().copied().chain(end).collect()
    }

    /// Adds the loss after the next repetition.
    pub fn push(&mut self, loss: f64) {
        self.seen += 1;
        self.last = (self.seen, loss);
        if self.least.is_none_or(|(_, least)| loss < least) && !loss.is_nan() {
            self.least = Some(self.last);
        }
        if self.points.is_empty() || (self.seen - 1).is_multiple_of(self.every) {
            self.points.push(self.last);
        }
        if self.points.len() >= POINTS {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.every *= 2;
        }
    }

    /// The plot and a line below it; every line ends with a newline.
    pub fn draw(&self, look: Look) -> String {
        let finite: Vec<(u64, f64)> = self.all().into_iter().filter(|(_, loss)| loss.is_finite()).collect();
        let mut out = String::new();
        if finite.len() >= 2 {
            self.picture(&finite, look, &mut out);
        }
        let first = self.points.first().map_or(f64::NAN, |(_, loss)| *loss);
        out.push_str(&format!("{} {} → {}", self.name, number(first), number(self.last.1)));
        if let Some((at, least)) = self.least.filter(|least| *least != self.last) {
            out.push_str(&format!(", least {} in repetition {}", number(least), grouped(at)));
        }
        out.push('\n');
        if let Some((at, _)) = self.points.iter().find(|(_, loss)| !loss.is_finite()) {
            out.push_str(&format!("{} is not finite in repetition {}\n", self.name, grouped(*at)));
        }
        out
    }

    fn picture(&self, points: &[(u64, f64)], look: Look, out: &mut String) {
        let low = points.iter().map(|(_, loss)| *loss).fold(f64::INFINITY, f64::min);
        let high = points.iter().map(|(_, loss)| *loss).fold(f64::NEG_INFINITY, f64::max);
        let logarithmic = low > 0.0 && high / low >= LOGARITHMIC;
        let scaled = |loss: f64| if logarithmic { loss.ln() } else { loss };
        let (top, bottom) = (label(high), label(low));
        let margin = top.len().max(bottom.len());
        let columns = look.columns.unwrap_or(80).saturating_sub(margin + 2).clamp(10, COLUMNS);
        let rows = dots(points, columns, scaled(low), scaled(high), scaled);
        let title = if logarithmic { format!("{}, logarithmic", self.name) } else { self.name.clone() };
        out.push_str(&format!("{:margin$} {}\n", "", look.paint(Paint::Strong, &title)));
        for (at, row) in rows.iter().enumerate() {
            let label = match at {
                0 => top.as_str(),
                _ if at + 1 == rows.len() => bottom.as_str(),
                _ => "",
            };
            let line = look.paint(Paint::Answer, row.trim_end_matches('\u{2800}'));
            out.push_str(&format!("{} {line}\n", look.paint(Paint::Faint, &format!("{label:>margin$}"))));
        }
        let (first, last) = (grouped(points[0].0), grouped(points[points.len() - 1].0));
        let axis = format!("{first}{last:>0$}", columns.saturating_sub(first.len()));
        out.push_str(&format!("{:margin$} {}\n", "", look.paint(Paint::Faint, &axis)));
    }
}

/// A number with three digits.
fn label(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    if !(-4..6).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    format!("{value:.*}", (2 - magnitude).clamp(0, 6) as usize)
}

/// The lines of the picture.
fn dots(
    points: &[(u64, f64)],
    columns: usize,
    low: f64,
    high: f64,
    scaled: impl Fn(f64) -> f64,
) -> Vec<String> {
    let (width, height) = (columns * 2, ROWS * 4);
    let row = |value: f64| {
        let share = if high > low { (high - value) / (high - low) } else { 0.5 };
        ((share * (height - 1) as f64).round() as usize).min(height - 1)
    };
    let (first, last) = (points[0].0 as f64, points[points.len() - 1].0 as f64);
    let column = |at: u64| {
        let share = if last > first { (at as f64 - first) / (last - first) } else { 0.0 };
        ((share * (width - 1) as f64).round() as usize).min(width - 1)
    };
    // The rows that each column of dots covers: those of
    // its points, and the line from the last point before.
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; width];
    let mut cover = |column: usize, row: usize| {
        let (top, bottom) = spans[column].unwrap_or((row, row));
        spans[column] = Some((top.min(row), bottom.max(row)));
    };
    let mut before: Option<(usize, usize)> = None;
    for (at, loss) in points {
        let (x, y) = (column(*at), row(scaled(*loss)));
        if let Some((from_x, from_y)) = before {
            let way = |between: usize| {
                let share = (between - from_x) as f64 / (x - from_x).max(1) as f64;
                (from_y as f64 + share * (y as f64 - from_y as f64)).round() as usize
            };
            for between in from_x + 1..x {
                cover(between, way(between - 1));
                cover(between, way(between));
            }
            if x > from_x {
                cover(x, way(x - 1));
            }
        }
        cover(x, y);
        before = Some((x, y));
    }
    // The dots of a braille character, by row and column.
    const BITS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
    let mut cells = vec![vec![0u32; columns]; ROWS];
    for (x, span) in spans.iter().enumerate() {
        let Some((top, bottom)) = span else { continue };
        for y in *top..=*bottom {
            cells[y / 4][x / 2] |= BITS[y % 4][x % 2];
        }
    }
    let braille = |bits: u32| char::from_u32(0x2800 + bits).unwrap_or(' ');
    cells.iter().map(|row| row.iter().map(|bits| braille(*bits)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_curves_keep_their_ends() {
        let mut curve = Curve::new("loss");
        (0..100_000).for_each(|at| curve.push(100_000.0 - at as f64));
        assert!(curve.points.len() < POINTS);
        assert_eq!(curve.points[0], (1, 100_000.0));
        assert_eq!((curve.last, curve.least), ((100_000, 1.0), Some((100_000, 1.0))));
    }

    #[test]
    fn numbers_at_the_axis() {
        assert_eq!(
            [0.0, 0.0412, 1.29, 12.9, 1290.0, 1.3e-7].map(label),
            ["0.00", "0.0412", "1.29", "12.9", "1290", "1.30e-7"]
        );
    }

    #[test]
    fn odd_curves() {
        let drawn = |losses: &[f64]| {
            let mut curve = Curve::new("loss");
            losses.iter().for_each(|loss| curve.push(*loss));
            curve.draw(Look::default())
        };
        assert_eq!(drawn(&[1.0]), "loss 1 → 1\n");
        assert!(drawn(&[1.0, 1.0, 1.0]).contains("loss 1 → 1, least 1 in repetition 1"));
        assert!(drawn(&[1.0, f64::NAN, f64::NAN]).ends_with("loss is not finite in repetition 2\n"));
        assert!(drawn(&[-1.0, f64::INFINITY, 3.0]).lines().count() > 10);
    }
}
