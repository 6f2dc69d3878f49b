//! Showing an error under the text it is about.
//!
//! ```text
//! error: a row has at most one hole
//!  --> 1:7
//!   |
//! 1 | ..r..a..s.. => a
//!   | ----- ^^^^^ the second hole
//!   | |
//!   | the first hole
//!   = help: …
//! ```
//!
//! Every character is one column wide; blanks show as one blank and invisible characters as `�`.
//! Any spans can be rendered: those outside the text or inside a character move to the nearest
//! place that exists.

use crate::error::{Error, shown};
use crate::span::{Line, Span, line_at};

impl Error {
    /// The error with the line it is on, carets under the place, and the help; every line ends with
    /// a newline. `text` is the text that was parsed.
    ///
    /// ```
    /// let text = "ij; jk -> ik";
    /// let error = broadloom_spec::parse_spec(text).unwrap_err();
    /// assert_eq!(error.render(text), "\
    /// error: the result follows `=>`, not `->`
    ///  --> 1:8
    ///   |
    /// 1 | ij; jk -> ik
    ///   |        ^^ expected `=>`, found `->`
    ///   = help: write `ij; jk => ik`; `->` stands between the input axes and the output axes of one tensor
    /// ");
    /// ```
    pub fn render(&self, text: &str) -> String {
        let primary = Mark::new(text, self.span, &self.label, '^');
        let mut marks = vec![primary];
        marks.extend(self.related.iter().map(|related| Mark::new(text, related.span, &related.label, '-')));
        let (line, column) = (marks[0].line.number, marks[0].start + 1);
        marks.sort_by_key(|mark| (mark.line.number, mark.start));
        let gutter = marks.iter().map(|mark| mark.line.number.to_string().len()).max().unwrap_or(1);

        let mut out =
            format!("error: {}\n{:gutter$}--> {line}:{column}\n{:gutter$} |\n", self.message, "", "");
        let mut previous = None;
        for marks in marks.chunk_by(|left, right| left.line == right.line) {
            let line = marks[0].line;
            if previous.is_some_and(|previous| previous + 1 < line.number) {
                out.push_str("...\n");
            }
            previous = Some(line.number);
            push_line(
                &mut out,
                &format!("{:>gutter$}", line.number),
                &text[line.start..line.end].chars().map(shown).collect::<String>(),
            );
            for row in underlines(marks) {
                push_line(&mut out, &" ".repeat(gutter), &row);
            }
        }
        if let Some(help) = &self.help {
            out.push_str(&format!("{:gutter$} = help: {help}\n", ""));
        }
        out
    }
}

/// A span on the line where it starts, in columns of that line counted from 0.
struct Mark<'a> {
    line: Line,
    start: usize,
    end: usize,
    label: &'a str,
    sign: char,
}

impl<'a> Mark<'a> {
    fn new(text: &str, span: Span, label: &'a str, sign: char) -> Mark<'a> {
        let start = text.floor_char_boundary(span.start as usize);
        let line = line_at(text, start);
        let start = start.clamp(line.start, line.end);
        let end = text.ceil_char_boundary(span.end as usize).clamp(start, line.end);
        let column = text[line.start..start].chars().count();
        Mark { line, start: column, end: column + text[start..end].chars().count().max(1), label, sign }
    }
}

/// The rows below a line: the underlines with the label of the last mark, then the label of the other.
fn underlines(marks: &[Mark]) -> Vec<String> {
    let mut signs: Vec<char> = Vec::new();
    // The carets go last, so that they stay whole where marks overlap.
    for sign in ['-', '^'] {
        for mark in marks.iter().filter(|mark| mark.sign == sign) {
            signs.resize(signs.len().max(mark.end), ' ');
            signs[mark.start..mark.end].fill(sign);
        }
    }
    let underline: String = signs.into_iter().collect();
    let last = marks.last().map_or("", |mark| mark.label);
    let mut rows = vec![format!("{underline} {last}")];
    for mark in marks.iter().rev().skip(1).filter(|mark| !mark.label.is_empty()) {
        let indent = " ".repeat(mark.start);
        rows.extend([format!("{indent}|"), format!("{indent}{}", mark.label)]);
    }
    rows
}

fn push_line(out: &mut String, gutter: &str, content: &str) {
    out.push_str(gutter);
    out.push_str(" |");
    let content = content.trim_end();
    if !content.is_empty() {
        out.push(' ');
        out.push_str(content);
    }
    out.push('\n');
}
