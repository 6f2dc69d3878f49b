//! Learning curves as a picture: a panel for each loss, below each other, readable on light and on dark pages.
//!
//! Each column of pixels shows the losses of the repetitions that fall into it: an area from the least to the greatest, and a line
//! through their means. The scale is logarithmic where the plot in a terminal is.

use std::fmt::Write;

use broadloom_ide::graph::xml_escaped;
use broadloom_ide::words::grouped;

use super::{Curve, LOGARITHMIC, label};

const WIDTH: f64 = 720.0;
/// The height of a panel, its title and its labels included.
const PANEL: f64 = 260.0;
/// The space for labels at the left, and on the other sides.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 44.0;
/// Columns in which losses are put together.
const COLUMNS: usize = 310;

const STYLE: &str = "\
.page{fill:#ffffff}\
.grid{stroke:#94a3b8;stroke-opacity:.35}\
.spread{fill:#2563eb;fill-opacity:.22}\
.line{fill:none;stroke:#2563eb;stroke-width:1.6;stroke-linejoin:round}\
.broken{stroke:#dc2626;stroke-width:1.2;stroke-dasharray:4 3}\
text{font-family:ui-monospace,monospace;font-size:12px;fill:#475569}\
.name{font-weight:bold;font-size:14px;fill:#0f172a}\
.wrong{fill:#dc2626}\
@media (prefers-color-scheme:dark){\
.page{fill:#0f172a}\
.spread{fill:#60a5fa}\
.line{stroke:#60a5fa}\
text{fill:#cbd5e1}\
.name{fill:#f8fafc}\
.wrong{fill:#f87171}}";

/// The picture of some curves.
pub(crate) fn svg(curves: &[Curve], title: &str) -> String {
    let height = PANEL * curves.len().max(1) as f64;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">"
    );
    let _ = writeln!(out, "<title>{}</title>", xml_escaped(title));
    let _ = writeln!(out, "<style>{STYLE}</style>");
    let _ = writeln!(out, "<rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>");
    for (at, curve) in curves.iter().enumerate() {
        let _ = writeln!(out, "<g transform=\"translate(0 {})\">", PANEL * at as f64);
        panel(curve, &mut out);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// From a range of numbers to pixels.
struct Scale {
    from: f64,
    to: f64,
    start: f64,
    end: f64,
    logarithmic: bool,
}

impl Scale {
    fn scaled(&self, value: f64) -> f64 {
        if self.logarithmic { value.log10() } else { value }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (self.scaled(value) - self.from) / (self.to - self.from);
        let place = self.start + share * (self.end - self.start);
        (place * 10.0).round() / 10.0
    }
}

fn panel(curve: &Curve, out: &mut String) {
    let points = curve.all();
    let finite: Vec<(u64, f64)> = points.iter().copied().filter(|(_, loss)| loss.is_finite()).collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    let low = finite.iter().map(|(_, loss)| *loss).fold(f64::INFINITY, f64::min);
    let high = finite.iter().map(|(_, loss)| *loss).fold(f64::NEG_INFINITY, f64::max);
    let logarithmic = low > 0.0 && high / low >= LOGARITHMIC;
    let scale = if logarithmic { ", logarithmic" } else { "" };
    let _ = writeln!(
        out,
        "<text class=\"name\" x=\"{LEFT}\" y=\"24\">{}</text>",
        xml_escaped(&format!("{}{scale}", curve.name))
    );
    let across = Scale {
        from: first.0 as f64,
        to: (last.0 as f64).max(first.0 as f64 + 1.0),
        start: LEFT,
        end: WIDTH - RIGHT,
        logarithmic: false,
    };
    if !finite.is_empty() {
        let up = upwards(low, high, logarithmic);
        grid(&up, &across, out);
        draw(&finite, &up, &across, out);
    }
    let value = if last.1.is_finite() { label(last.1) } else { "not finite".into() };
    let summary = format!("{value} in repetition {}", grouped(last.0));
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"24\" text-anchor=\"end\">{}</text>",
        WIDTH - RIGHT,
        xml_escaped(&summary)
    );
    if let Some((at, _)) = points.iter().find(|(_, loss)| !loss.is_finite()) {
        let x = across.at(*at as f64);
        let bottom = PANEL - BOTTOM;
        let _ = writeln!(out, "<line class=\"broken\" x1=\"{x}\" y1=\"{TOP}\" x2=\"{x}\" y2=\"{bottom}\"/>");
        let text = format!("not finite in repetition {}", grouped(*at));
        let (anchor, x) = if x > WIDTH / 2.0 { ("end", x - 6.0) } else { ("start", x + 6.0) };
        let _ =
            writeln!(out, "<text class=\"wrong\" x=\"{x}\" y=\"56\" text-anchor=\"{anchor}\">{text}</text>");
    }
}

/// The scale of losses: a little more than their range.
fn upwards(low: f64, high: f64, logarithmic: bool) -> Scale {
    let scaled = |value: f64| if logarithmic { value.log10() } else { value };
    let (low, high) = (scaled(low), scaled(high));
    let room = match high > low {
        true => 0.04 * (high - low),
        // All losses are the same: they are a line in the middle.
        false => low.abs().max(1.0) * 0.5,
    };
    Scale { from: low - room, to: high + room, start: PANEL - BOTTOM, end: TOP, logarithmic }
}

/// Lines at round numbers, with their labels.
fn grid(up: &Scale, across: &Scale, out: &mut String) {
    for value in if up.logarithmic { decades(up.from, up.to) } else { ticks(up.from, up.to, 5) } {
        let y = up.at(value);
        let right = WIDTH - RIGHT;
        let _ = writeln!(out, "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y}\" x2=\"{right}\" y2=\"{y}\"/>");
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + 4.0,
            plain(value)
        );
    }
    let bottom = PANEL - BOTTOM;
    // Repetitions are whole.
    let whole = ticks(across.from, across.to, 6).into_iter().filter(|value| value.fract() == 0.0);
    for value in whole {
        let x = across.at(value);
        let _ = writeln!(out, "<line class=\"grid\" x1=\"{x}\" y1=\"{TOP}\" x2=\"{x}\" y2=\"{bottom}\"/>");
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            grouped(value as u64)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">repetition</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        bottom + 36.0
    );
}

/// The area between the least and the greatest loss of each column, and the line through the means.
fn draw(points: &[(u64, f64)], up: &Scale, across: &Scale, out: &mut String) {
    let columns = put_together(points, across);
    let mut line = String::new();
    for column in &columns {
        let _ = write!(line, "{},{} ", across.at(column.place), up.at(column.middle));
    }
    if columns.iter().any(|column| column.least < column.greatest) {
        let mut area = String::new();
        for column in &columns {
            let _ = write!(area, "{},{} ", across.at(column.place), up.at(column.greatest));
        }
        for column in columns.iter().rev() {
            let _ = write!(area, "{},{} ", across.at(column.place), up.at(column.least));
        }
        let _ = writeln!(out, "<polygon class=\"spread\" points=\"{}\"/>", area.trim_end());
    }
    match &columns[..] {
        [only] => {
            let (x, y) = (across.at(only.place), up.at(only.middle));
            let _ = writeln!(out, "<circle class=\"line\" cx=\"{x}\" cy=\"{y}\" r=\"2\"/>");
        }
        _ => {
            let _ = writeln!(out, "<polyline class=\"line\" points=\"{}\"/>", line.trim_end());
        }
    }
}

/// The losses of the repetitions that fall into a column.
struct Column {
    /// The middle of its repetitions.
    place: f64,
    least: f64,
    greatest: f64,
    /// Their mean, on the scale of the panel.
    middle: f64,
}

fn put_together(points: &[(u64, f64)], across: &Scale) -> Vec<Column> {
    let column = |at: u64| {
        let share = (at as f64 - across.from) / (across.to - across.from);
        (share * (COLUMNS - 1) as f64).round() as usize
    };
    let mut columns = Vec::new();
    for group in points.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let losses = group.iter().map(|(_, loss)| *loss);
        columns.push(Column {
            place: group.iter().map(|(at, _)| *at as f64).sum::<f64>() / group.len() as f64,
            least: losses.clone().fold(f64::INFINITY, f64::min),
            greatest: losses.clone().fold(f64::NEG_INFINITY, f64::max),
            middle: losses.sum::<f64>() / group.len() as f64,
        });
    }
    columns
}

/// About so many round numbers in a range.
fn ticks(from: f64, to: f64, about: usize) -> Vec<f64> {
    let rough = (to - from) / about as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    let first = (from / step).ceil() as i64;
    let last = (to / step).floor() as i64;
    (first..=last.min(first + 20)).map(|at| at as f64 * step).collect()
}

/// Powers of ten in a range of logarithms; also twice and five times them, if there are few.
fn decades(from: f64, to: f64) -> Vec<f64> {
    let (first, last) = (from.floor() as i32, to.ceil() as i32);
    let factors: &[f64] = if to - from < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = ((to - from) / 8.0).ceil().max(1.0) as i32;
    let powers = (first..=last).filter(|power| power % every == 0);
    let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
    all.filter(|value| (from..=to).contains(&value.log10())).collect()
}

/// A round number without digits that say nothing.
fn plain(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e6).contains(&value.abs()) {
        return format!("{value:e}");
    }
    let rounded = (value * 1e9).round() / 1e9;
    format!("{rounded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers() {
        assert_eq!(ticks(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(1.0, 500.0, 6), [100.0, 200.0, 300.0, 400.0, 500.0]);
        assert_eq!(decades(-2.5, 1.2), [0.01, 0.1, 1.0, 10.0]);
        assert_eq!(decades(-0.5, 0.5), [0.5, 1.0, 2.0]);
        assert_eq!(
            [0.6000000000000001, -2.0, 1e-7, 0.0, 250_000.0].map(plain),
            ["0.6", "-2", "1e-7", "0", "250000"]
        );
    }

    /// The line goes through the losses: pixels are turned back into numbers.
    #[test]
    fn the_line_is_the_losses() {
        let mut curve = Curve::new("loss");
        let losses: Vec<f64> = (0..20).map(|at| 3.0 / (1.0 + f64::from(at))).collect();
        losses.iter().for_each(|loss| curve.push(*loss));
        let picture = svg(&[curve], "run");
        let line = picture.split("class=\"line\" points=\"").nth(1).and_then(|rest| rest.split('"').next());
        let points =
            line.unwrap_or_default().split(' ').map(|point| point.split_once(',').unwrap_or_default());
        let up = upwards(3.0 / 20.0, 3.0, false);
        let back = |y: &str| {
            let share = (y.parse::<f64>().unwrap_or(f64::NAN) - up.start) / (up.end - up.start);
            up.from + share * (up.to - up.from)
        };
        let drawn: Vec<f64> = points.map(|(_, y)| back(y)).collect();
        assert_eq!(drawn.len(), losses.len());
        for (drawn, loss) in drawn.iter().zip(&losses) {
            assert!((drawn - loss).abs() < 0.01, "{drawn} for {loss}");
        }
    }

    #[test]
    fn odd_curves() {
        let drawn = |losses: &[f64]| {
            let mut curve = Curve::new("a < b & \"c\"");
            losses.iter().for_each(|loss| curve.push(*loss));
            svg(&[curve], "run <x>")
        };
        for losses in
            [&[][..], &[1.0], &[2.0; 9], &[f64::NAN], &[1.0, f64::INFINITY, 2.0], &[-1.0, 0.0, 1e-300]]
        {
            let picture = drawn(losses);
            assert!(!picture.contains("NaN") && !picture.contains("inf\""), "{losses:?}: {picture}");
            assert!(picture.contains("run &lt;x&gt;"));
        }
        assert!(drawn(&[1.0, f64::INFINITY]).contains("not finite in repetition 2"));
    }
}
