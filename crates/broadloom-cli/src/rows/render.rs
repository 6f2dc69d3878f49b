//! Showing diagnostics to a person: position, excerpt, underlines, advice.
//!
//! ```text
//! error: a row has at most one hole
//!  --> x.rows:1:12
//!   |
//! 1 | [..r.., 3, ..s..] ~ [4]
//!   |  -----     ^^^^^ a second hole
//!   |  |
//!   |  the first hole
//!   |
//!   = help: keep one row variable or marker; …
//! ```
//!
//! Columns count characters; in the excerpt a tab is four blanks wide, wide
//! characters are two columns and unprintable ones show as `�`. A line longer
//! than the width is cut around what is underlined; labels too far apart for one
//! cut get an excerpt each. Any spans can be rendered: those outside the text or
//! inside a character are moved to the nearest place that exists.

use super::diagnostic::Diagnostic;
use super::source::{Source, Span};
use std::iter::repeat_n;

/// How diagnostics look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to colour with ANSI escape sequences.
    pub color: bool,
    /// How many characters of a line an excerpt shows at most.
    pub width: usize,
}

/// Without colour, 100 characters of a line.
impl Default for Style {
    fn default() -> Style {
        Style { color: false, width: 100 }
    }
}

/// Renders diagnostics with blank lines between them and a last line that
/// counts them; `suppressed` more were found but not kept. Empty if there are none.
pub fn render_all(source: &Source, diagnostics: &[Diagnostic], suppressed: usize, style: Style) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&render(source, diagnostic, style));
        out.push('\n');
    }
    let total = diagnostics.len() + suppressed;
    let summary = match (total, suppressed) {
        (0, _) => return out,
        (1, _) => "1 error".to_owned(),
        (_, 0) => format!("{total} errors"),
        _ => format!("{total} errors, {suppressed} of them not shown"),
    };
    out.push_str(&summary);
    out.push('\n');
    out
}

/// Renders one diagnostic; every line ends with a newline.
pub fn render(source: &Source, diagnostic: &Diagnostic, style: Style) -> String {
    let marks: Vec<Mark> = diagnostic
        .labels()
        .enumerate()
        .map(|(index, label)| Mark::new(source, label.span, &label.text, index == 0))
        .collect();
    let last_line = marks.iter().map(|mark| mark.line).max().unwrap_or(1);
    let gutter = last_line.to_string().len();
    let (line, column) = source.position(diagnostic.primary.span.start);
    let mut out = Canvas { out: String::new(), color: style.color };

    out.write("error", Ink::Primary);
    out.write(&format!(": {}", diagnostic.message), Ink::Strong);
    out.end_line();
    out.write(&format!("{:gutter$}--> ", ""), Ink::Frame);
    let name: String = source.name().chars().map(|c| if c.is_control() { '�' } else { c }).collect();
    out.write(&format!("{name}:{line}:{column}"), Ink::Plain);
    out.end_line();
    excerpts(source, marks, gutter, style, &mut out);
    if !diagnostic.notes.is_empty() || diagnostic.help.is_some() {
        out.write(&format!("{:gutter$} |", ""), Ink::Frame);
        out.end_line();
    }
    let advice = diagnostic.notes.iter().map(|note| ("note", note));
    for (word, text) in advice.chain(diagnostic.help.iter().map(|help| ("help", help))) {
        out.write(&format!("{:gutter$} = ", ""), Ink::Frame);
        out.write(word, Ink::Strong);
        out.write(&format!(": {text}"), Ink::Plain);
        out.end_line();
    }
    out.out
}

/// A label on its line.
struct Mark<'a> {
    line: u32,
    /// Bytes of the text, inside the line and on character boundaries.
    start: usize,
    end: usize,
    text: &'a str,
    ink: Ink,
}

impl<'a> Mark<'a> {
    /// Moves the span onto characters of one line: the line it starts on.
    fn new(source: &Source, span: Span, text: &'a str, primary: bool) -> Mark<'a> {
        let start = source.text().floor_char_boundary(span.start as usize);
        let line = source.line_of(start as u32);
        let bounds = source.line_span(line);
        let (first, last) = (bounds.start as usize, bounds.end as usize);
        let start = start.clamp(first, last);
        let end = source.text().ceil_char_boundary(span.end as usize).clamp(start, last);
        Mark { line, start, end, text, ink: if primary { Ink::Primary } else { Ink::Secondary } }
    }
}

/// The lines with marks, in order, and the frame around them.
fn excerpts(source: &Source, mut marks: Vec<Mark>, gutter: usize, style: Style, out: &mut Canvas) {
    marks.sort_by_key(|mark| (mark.start, mark.end));
    let frame = |out: &mut Canvas, line: Option<u32>, cells: &[(char, Ink)]| {
        let number = line.map(|line| line.to_string()).unwrap_or_default();
        out.write(&format!("{number:>gutter$} |"), Ink::Frame);
        let length = cells.iter().rposition(|&(c, _)| c != ' ').map_or(0, |last| last + 1);
        if length > 0 {
            out.write(" ", Ink::Plain);
        }
        for run in cells[..length].chunk_by(|(_, ink), (_, next)| ink == next) {
            out.write(&run.iter().map(|&(c, _)| c).collect::<String>(), run[0].1);
        }
        out.end_line();
    };
    frame(out, None, &[]);
    let mut previous_line = None;
    let mut rest = &marks[..];
    while let Some(first) = rest.first() {
        let window = Window::around(source, first, style.width.max(20));
        let count =
            rest.iter().take_while(|mark| mark.line == first.line && mark.start <= window.end).count();
        if previous_line.is_some_and(|previous| previous + 1 < first.line) {
            out.write("...", Ink::Frame);
            out.end_line();
        }
        previous_line = Some(first.line);
        frame(out, Some(first.line), &window.excerpt(source));
        for row in underlines(source, &window, &rest[..count]) {
            frame(out, None, &row);
        }
        rest = &rest[count..];
    }
}

/// The part of a line that is shown, in bytes of the text.
struct Window {
    start: usize,
    end: usize,
    cut_before: bool,
    cut_after: bool,
}

const ELLIPSIS: &str = "...";

impl Window {
    /// The whole line if it fits, otherwise `width` characters around the mark's start.
    fn around(source: &Source, mark: &Mark, width: usize) -> Window {
        let line = source.line_span(mark.line);
        let (first, last) = (line.start as usize, line.end as usize);
        let text = source.text();
        let mut after = text[mark.start..last].char_indices().map(|(offset, _)| mark.start + offset);
        let before = text[first..mark.start].char_indices().rev().map(|(offset, _)| first + offset);
        let n_after = after.clone().take(width + 1).count();
        let n_before = before.clone().take(width + 1).count();
        if n_before + n_after <= width {
            return Window { start: first, end: last, cut_before: false, cut_after: false };
        }
        let keep_before = n_before.min((width / 3).max(width.saturating_sub(n_after)));
        let start = before.take(keep_before).last().unwrap_or(mark.start);
        let end = after.nth(width - keep_before).unwrap_or(last);
        Window { start, end, cut_before: start > first, cut_after: end < last }
    }

    fn excerpt(&self, source: &Source) -> Vec<(char, Ink)> {
        let mut cells = Vec::new();
        let dots = |cut: bool| ELLIPSIS.chars().filter(move |_| cut).map(|c| (c, Ink::Frame));
        cells.extend(dots(self.cut_before));
        for c in source.text()[self.start..self.end].chars() {
            match c {
                '\t' => cells.extend(repeat_n((' ', Ink::Plain), TAB_WIDTH)),
                _ if is_unprintable(c) => cells.push(('�', Ink::Plain)),
                _ => cells.push((c, Ink::Plain)),
            }
        }
        cells.extend(dots(self.cut_after));
        cells
    }

    /// The column of the excerpt where the byte at `offset` is shown.
    fn column(&self, source: &Source, offset: usize) -> usize {
        let shown = &source.text()[self.start..offset.clamp(self.start, self.end)];
        let dots = if self.cut_before { ELLIPSIS.len() } else { 0 };
        dots + shown.chars().map(width).sum::<usize>()
    }
}

/// The rows below an excerpt: underlines with the label of the last mark, then the other
/// labels from right to left, each hanging from its mark.
fn underlines(source: &Source, window: &Window, marks: &[Mark]) -> Vec<Vec<(char, Ink)>> {
    let columns: Vec<(usize, usize)> = marks
        .iter()
        .map(|mark| {
            let start = window.column(source, mark.start);
            (start, window.column(source, mark.end).max(start + 1))
        })
        .collect();
    let mut rows = vec![Vec::new()];
    let by_importance = marks.iter().zip(&columns).filter(|(mark, _)| mark.ink == Ink::Secondary);
    let by_importance =
        by_importance.chain(marks.iter().zip(&columns).filter(|(mark, _)| mark.ink == Ink::Primary));
    for (mark, &(start, end)) in by_importance {
        let c = if mark.ink == Ink::Primary { '^' } else { '-' };
        (start..end).for_each(|column| put(&mut rows[0], column, c, mark.ink));
    }
    let mut hanging: Vec<(&Mark, usize)> =
        marks.iter().zip(columns.iter().map(|&(start, _)| start)).collect();
    if let (Some(last), Some(&(start, end))) = (marks.last(), columns.last()) {
        let overlapped = columns[..columns.len() - 1].iter().any(|&(_, other_end)| other_end > start);
        if !overlapped {
            put_text(&mut rows[0], end + 1, last.text, last.ink);
            hanging.pop();
        }
    }
    hanging.retain(|(mark, _)| !mark.text.is_empty());
    if !hanging.is_empty() {
        rows.push(Vec::new());
        for &(mark, column) in &hanging {
            put(&mut rows[1], column, '|', mark.ink);
        }
    }
    while let Some((mark, column)) = hanging.pop() {
        let mut row = Vec::new();
        for &(other, other_column) in &hanging {
            put(&mut row, other_column, '|', other.ink);
        }
        put_text(&mut row, column, mark.text, mark.ink);
        rows.push(row);
    }
    rows
}

fn put(row: &mut Vec<(char, Ink)>, column: usize, c: char, ink: Ink) {
    if row.len() <= column {
        row.resize(column + 1, (' ', Ink::Plain));
    }
    row[column] = (c, ink);
}

fn put_text(row: &mut Vec<(char, Ink)>, column: usize, text: &str, ink: Ink) {
    text.chars().enumerate().for_each(|(index, c)| put(row, column + index, c, ink));
}

const TAB_WIDTH: usize = 4;

/// How many columns of a terminal a character takes in an excerpt.
fn width(c: char) -> usize {
    match c {
        '\t' => TAB_WIDTH,
        _ if is_unprintable(c) => 1,
        '\u{300}'..='\u{36f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{303e}'
        | '\u{3041}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// Characters that would move the cursor, turn the text round or leave no mark.
fn is_unprintable(c: char) -> bool {
    let invisible = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    c.is_control() || invisible || matches!(c, '\u{2028}'..='\u{202e}')
}

/// What a piece of output is, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ink {
    Plain,
    Strong,
    Frame,
    Primary,
    Secondary,
}

/// Output with or without colour.
struct Canvas {
    out: String,
    color: bool,
}

impl Canvas {
    fn write(&mut self, text: &str, ink: Ink) {
        let code = match ink {
            Ink::Plain => "",
            Ink::Strong => "\u{1b}[1m",
            Ink::Frame | Ink::Secondary => "\u{1b}[1;34m",
            Ink::Primary => "\u{1b}[1;31m",
        };
        if self.color && !code.is_empty() {
            self.out.push_str(code);
            self.out.push_str(text);
            self.out.push_str("\u{1b}[0m");
        } else {
            self.out.push_str(text);
        }
    }

    fn end_line(&mut self) {
        self.out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{MAX_DIAGNOSTICS, parse};
    use expect_test::{Expect, expect};

    fn shown(text: &str, style: Style) -> String {
        let parsed = parse(text);
        let source = Source::new("x.rows", text);
        render_all(&source, &parsed.diagnostics, parsed.suppressed, style)
    }

    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&shown(text, Style::default()));
    }

    #[test]
    fn excerpts() {
        let long = "a, ".repeat(200);
        check(
            &format!("[<>, {long}<>] ~ [..r..]"),
            expect![[r#"
            error: a row has at most one hole
             --> x.rows:1:606
              |
            1 | [<>, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,...
              |  -- the first hole
            1 | ...a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, <>] ~ [..r..]
              |                                                                                           ^^ a second hole
              |
              = help: keep one row variable or marker, and write other axes as dimensions

            1 error
        "#]],
        );
        check(
            "[\t名,\t<>, ä <>] ~ []",
            expect![[r#"
            error: a comma is missing between `ä` and `<>`
             --> x.rows:1:12
              |
            1 | [    名,    <>, ä <>] ~ []
              |                   ^^ expected `,` before this
              |
              = help: write `ä, <>`

            1 error
        "#]],
        );
        let style = Style { color: true, ..Style::default() };
        let colored = shown("# one\r\na = 3\rb = 0\n", style);
        expect![[r#"
            ESC[1;31merrorESC[0mESC[1m: sizes start at 1ESC[0m
            ESC[1;34m --> ESC[0mx.rows:3:5
            ESC[1;34m  |ESC[0m
            ESC[1;34m3 |ESC[0m b = 0
            ESC[1;34m  |ESC[0m     ESC[1;31m^ESC[0m ESC[1;31mthis size is zeroESC[0m
            ESC[1;34m  |ESC[0m
            ESC[1;34m  = ESC[0mESC[1mhelpESC[0m: write `_` for the unit, or `1` for an axis one wide

            1 error
        "#]]
        .assert_eq(&colored.replace('\u{1b}', "ESC"));
    }

    #[test]
    fn diagnostics_are_capped() {
        let text = "a = = b\n".repeat(57);
        assert_eq!(parse(&text).diagnostics.len(), MAX_DIAGNOSTICS);
        assert!(shown(&text, Style::default()).ends_with("\n57 errors, 37 of them not shown\n"));
    }
}
