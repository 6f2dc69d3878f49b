//! Pictures as SVG: no scripts, no embedded fonts, readable on light and on dark pages.

use std::fmt::Write;

use super::arrange::{Arranged, BESIDE, LINE, arrange, output_at};
use super::picture::{BoxKind, Drawn, Picture};

/// The margin around the drawing.
const MARGIN: f64 = 24.0;

const STYLE: &str = "\
.page{fill:#ffffff}\
.box,.leaf{stroke-width:1.3}\
.operation{fill:#ffffff;stroke:#64748b}\
.applied{fill:#eef2f7;stroke:#475569}\
.data{fill:#dbeafe;stroke:#2563eb}\
.parameter{fill:#fef3c7;stroke:#d97706}\
.state{fill:#dcfce7;stroke:#16a34a}\
.made,.more{fill:#ffffff;stroke:#94a3b8;stroke-dasharray:4 3}\
.frame{fill:#64748b;fill-opacity:.06;stroke:#94a3b8;stroke-dasharray:5 4}\
.edge{fill:none;stroke:#64748b;stroke-width:1.2}\
.head{fill:#64748b}\
text{font-family:ui-monospace,monospace;font-size:12px;fill:#334155}\
.name{font-weight:bold;fill:#0f172a}\
.shape{font-size:11px;fill:#0f766e}\
.title{font-size:11px;fill:#475569}\
@media (prefers-color-scheme:dark){\
.page{fill:#0f172a}\
.operation{fill:#1e293b;stroke:#94a3b8}\
.applied{fill:#334155;stroke:#cbd5e1}\
.data{fill:#1e3a8a;stroke:#60a5fa}\
.parameter{fill:#713f12;stroke:#fbbf24}\
.state{fill:#14532d;stroke:#4ade80}\
.made,.more{fill:#0f172a;stroke:#64748b}\
.edge{stroke:#94a3b8}\
.head{fill:#94a3b8}\
text{fill:#cbd5e1}\
.name{fill:#f8fafc}\
.shape{fill:#5eead4}\
.title{fill:#94a3b8}}";

impl Picture {
    /// The picture as a file.
    pub fn svg(&self, title: &str) -> String {
        let arranged = arrange(self);
        let (width, height) = (arranged.width + 2.0 * MARGIN, arranged.height + 2.0 * MARGIN + LINE);
        let mut out = String::new();
        let size = format!("width=\"{}\" height=\"{}\"", number(width), number(height));
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" {size} viewBox=\"0 0 {} {}\" role=\"img\">",
            number(width),
            number(height)
        );
        let _ = writeln!(out, "<title>{}</title>", xml_escaped(title));
        let _ = writeln!(out, "<style>{STYLE}</style>");
        let _ = writeln!(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>");
        let _ = writeln!(out, "<g transform=\"translate({MARGIN} {MARGIN})\">");
        self.frames(&arranged, &mut out);
        edges(&arranged, &mut out);
        for (drawn, place) in self.boxes.iter().zip(&arranged.boxes) {
            one_box(drawn, *place, &mut out);
        }
        out.push_str("</g>\n</svg>\n");
        out
    }

    fn frames(&self, arranged: &Arranged, out: &mut String) {
        for (frame, (x, y, width, height)) in self.frames.iter().zip(&arranged.frames) {
            let (left, top) = (number(*x), number(*y));
            let (width, height) = (number(*width), number(*height));
            let _ = writeln!(
                out,
                "<rect class=\"frame\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"10\"/>"
            );
            let (x, y) = (number(x + 10.0), number(y + 14.0));
            let _ = writeln!(
                out,
                "<text class=\"title\" x=\"{x}\" y=\"{y}\">{}</text>",
                xml_escaped(&frame.title)
            );
        }
    }
}

fn edges(arranged: &Arranged, out: &mut String) {
    for (points, ends) in &arranged.pieces {
        let [first, rest @ ..] = points.as_slice() else { continue };
        let mut path = format!("M{} {}", number(first.0), number(first.1));
        let mut from = *first;
        for to in rest {
            // Straight where it can be, otherwise a curve that begins and ends vertically.
            if (from.0 - to.0).abs() < 0.5 {
                let _ = write!(path, "L{} {}", number(to.0), number(to.1));
            } else {
                let middle = f64::midpoint(from.1, to.1);
                let (x0, x1, middle) = (number(from.0), number(to.0), number(middle));
                let _ = write!(path, "C{x0} {middle} {x1} {middle} {x1} {}", number(to.1));
            }
            from = *to;
        }
        let _ = writeln!(out, "<path class=\"edge\" d=\"{path}\"/>");
        if *ends {
            let (x, y) = from;
            let (left, right, top) = (number(x - 3.5), number(x + 3.5), number(y - 7.0));
            let _ = writeln!(
                out,
                "<path class=\"head\" d=\"M{} {}L{left} {top}L{right} {top}Z\"/>",
                number(x),
                number(y)
            );
        }
    }
}

fn one_box(drawn: &Drawn, (x, y, width, height): (f64, f64, f64, f64), out: &mut String) {
    let (class, round) = match drawn.kind {
        BoxKind::Operation => ("box operation", 7.0),
        BoxKind::Applied => ("box applied", 7.0),
        BoxKind::Data => ("leaf data", 0.0),
        BoxKind::Parameter => ("leaf parameter", height / 2.0),
        BoxKind::State => ("leaf state", height / 2.0),
        BoxKind::Made => ("leaf made", height / 2.0),
        BoxKind::More => ("leaf more", 0.0),
    };
    let _ = writeln!(out, "<g><title>{}</title>", xml_escaped(&drawn.title));
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>",
        number(x),
        number(y),
        number(width),
        number(height),
        number(round)
    );
    let middle = x + width / 2.0;
    let lines = drawn.name.iter().map(|name| ("name", name)).chain(drawn.lines.iter().map(|line| ("", line)));
    let count = lines.clone().count() as f64;
    let mut baseline = y + (height - count * LINE) / 2.0 + LINE * 0.72;
    for (class, text) in lines {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let (x, y) = (number(middle), number(baseline));
        let _ = writeln!(
            out,
            "<text{class} x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
            xml_escaped(text)
        );
        baseline += LINE;
    }
    for (at, shape) in drawn.outputs.iter().enumerate() {
        let (x, y) = (number(middle + output_at(drawn, at) + BESIDE), number(y + height + 14.0));
        let _ = writeln!(out, "<text class=\"shape\" x=\"{x}\" y=\"{y}\">{}</text>", xml_escaped(shape));
    }
    out.push_str("</g>\n");
}

/// A length with at most one decimal.
fn number(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // No `-0`.
    if rounded == 0.0 { "0".into() } else { format!("{rounded}") }
}

/// A text as the content or an attribute of an element of XML.
pub fn xml_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
