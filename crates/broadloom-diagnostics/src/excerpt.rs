//! The part of a rendered diagnostic that shows source lines: one section for each source, with
//! underlines, labels, and braces at the side of labels that span several lines.
//!
//! ```text
//!  --> model.loom:3:9
//!   |
//! 3 |   let y = match x {
//!   |  _________^
//! 4 | |     a => b,
//! 5 | | }
//!   | |_^ these branches differ
//! ```
//!
//! The text of a line begins right of the margin, which has one column for every brace
//! that is open at the same time, and is empty if there are none.

use std::iter::repeat_n;

use crate::diagnostic::{Diagnostic, Label};
use crate::ink::{Canvas, Cell, Ink, TAB_WIDTH, printable, put, put_text, width};
use crate::source::{Source, Sources};
use crate::style::Style;

/// The greatest number of braces side by side; further labels are underlined on their first line
/// only.
const MOST_BRACES: usize = 4;

/// Labels that span more lines than this are shown without their middle.
const MOST_LINES: u32 = 6;

/// Writes positions and excerpts for all labels; returns the width of line numbers.
pub(crate) fn write(sources: &Sources, diagnostic: &Diagnostic, style: Style, out: &mut Canvas) -> usize {
    let Some(primary) = diagnostic.primary() else { return 1 };
    // The source of the primary label comes first, then the others as they are mentioned.
    let mut ids = vec![primary.span.source];
    for label in &diagnostic.labels {
        if !ids.contains(&label.span.source) {
            ids.push(label.span.source);
        }
    }
    let sections: Vec<Section> = ids
        .iter()
        .map(|&id| {
            let labels = diagnostic.labels.iter().filter(|label| label.span.source == id);
            Section::new(sources.get(id), labels.collect(), style)
        })
        .collect();
    let last_line = sections.iter().flat_map(|section| &section.marks).map(|mark| mark.line).max();
    let gutter = last_line.unwrap_or(1).to_string().len();
    for (index, section) in sections.iter().enumerate() {
        let (line, column) = match index {
            0 => sources.position(primary.span),
            _ => section.position(),
        };
        if index > 0 {
            out.write(&format!("{:gutter$} |", ""), Ink::Frame);
            out.end_line();
        }
        if index > 0 || style.place {
            let arrow = if index == 0 { "-->" } else { ":::" };
            out.write(&format!("{:gutter$}{arrow} ", ""), Ink::Frame);
            let name = section.source.name();
            let colon = if name.is_empty() { "" } else { ":" };
            out.write(&format!("{name}{colon}{line}:{column}"), Ink::Plain);
            out.end_line();
        }
        section.write(gutter, out);
    }
    gutter
}

/// The labels in one source.
struct Section<'a> {
    source: &'a Source,
    /// Sorted by place.
    marks: Vec<Mark<'a>>,
    /// The lines to show, sorted; at least those with marks.
    lines: Vec<u32>,
    /// The number of braces side by side.
    braces: usize,
    /// The number of characters of a line that are shown.
    width: usize,
}

/// A label on its line, or one end of a label that spans several.
struct Mark<'a> {
    line: u32,
    /// Bytes of the text, inside the line and on character boundaries.
    start: usize,
    end: usize,
    text: &'a str,
    ink: Ink,
    shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// An underline.
    Whole,
    /// The first character of the label that the brace in this column of the margin spans.
    Open(usize),
    /// The last one.
    Close(usize),
}

impl<'a> Section<'a> {
    fn new(source: &'a Source, mut labels: Vec<&'a Label>, style: Style) -> Section<'a> {
        labels.sort_by_key(|label| (label.span.start, u32::MAX - label.span.end));
        let width = style.width.max(20);
        let mut section = Section { source, marks: Vec::new(), lines: Vec::new(), braces: 0, width };
        // The last line of the last brace in each column of the margin.
        let mut last_lines: Vec<u32> = Vec::new();
        for label in labels {
            let (first, last) = section.lines_of(label);
            let free = last_lines.iter().position(|&last_line| last_line < first);
            let column = free.unwrap_or(last_lines.len());
            if first == last || column >= MOST_BRACES {
                section.mark(label, first, Shape::Whole);
                continue;
            }
            match last_lines.get_mut(column) {
                Some(last_line) => *last_line = last,
                None => last_lines.push(last),
            }
            section.mark(label, first, Shape::Open(column));
            section.mark(label, last, Shape::Close(column));
            match last - first < MOST_LINES {
                true => section.lines.extend(first..=last),
                false => section.lines.extend([first + 1, first + 2, last - 1]),
            }
        }
        section.braces = last_lines.len();
        section.marks.sort_by_key(|mark| (mark.start, mark.end));
        section.lines.extend(section.marks.iter().map(|mark| mark.line));
        section.lines.sort_unstable();
        section.lines.dedup();
        if style.between {
            // A single line between two others takes no more room than the dots instead of it.
            let between = section.lines.windows(2).filter(|pair| pair[0] + 2 == pair[1]);
            let between: Vec<u32> = between.map(|pair| pair[0] + 1).collect();
            section.lines.extend(between);
            section.lines.sort_unstable();
        }
        section
    }

    /// The lines of a label's first and last character.
    fn lines_of(&self, label: &Label) -> (u32, u32) {
        let text = self.source.text();
        let start = text.floor_char_boundary(label.span.start as usize);
        let end = text.ceil_char_boundary(label.span.end as usize);
        let first = self.source.line_of(start as u32);
        (first, self.source.line_of(end.saturating_sub(1).max(start) as u32))
    }

    /// Moves a label, or one end of it, onto the characters of a line.
    fn mark(&mut self, label: &'a Label, line: u32, shape: Shape) {
        let text = self.source.text();
        let (first, last) = self.source.line_bytes(line);
        let (first, last) = (first as usize, last as usize);
        let start = text.floor_char_boundary(label.span.start as usize).clamp(first, last);
        let end = text.ceil_char_boundary(label.span.end as usize).clamp(start, last);
        let (start, end) = match shape {
            Shape::Whole => (start, end),
            Shape::Open(_) => (start, text.ceil_char_boundary(start + 1).min(last)),
            Shape::Close(_) => (text.floor_char_boundary(end.saturating_sub(1)).max(first), end),
        };
        let words = if matches!(shape, Shape::Open(_)) { "" } else { label.text.as_str() };
        let ink = if label.primary { Ink::Primary } else { Ink::Secondary };
        self.marks.push(Mark { line, start, end, text: words, ink, shape });
    }

    /// The position of the section's first primary mark, or else of its first mark.
    fn position(&self) -> (u32, u32) {
        let primary = self.marks.iter().find(|mark| mark.ink == Ink::Primary);
        let start = primary.or(self.marks.first()).map_or(0, |mark| mark.start);
        self.source.position(start as u32)
    }

    /// Writes the lines in order, and the frame around them.
    fn write(&self, gutter: usize, out: &mut Canvas) {
        let mut frame = Frame { gutter, open: vec![None; self.braces] };
        frame.row(out, None, &[]);
        let mut rest = &self.marks[..];
        let mut previous = None;
        for &line in &self.lines {
            if previous.is_some_and(|previous| previous + 1 < line) {
                frame.gap(out);
            }
            previous = Some(line);
            let count = rest.iter().take_while(|mark| mark.line == line).count();
            let (mut here, later) = rest.split_at(count);
            rest = later;
            if here.is_empty() {
                let window = Window::around(self.source, line, None, self.width);
                frame.row(out, Some(line), &window.excerpt(self.source));
            }
            // Marks too far apart for one excerpt get one each.
            while let Some(first) = here.first() {
                let window = Window::around(self.source, line, Some(first.start), self.width);
                let count = here.iter().take_while(|mark| mark.start <= window.end).count();
                self.write_line(&mut frame, &window, line, &here[..count], out);
                here = &here[count..];
            }
        }
    }

    /// Writes one excerpt with the rows below it.
    fn write_line(&self, frame: &mut Frame, window: &Window, line: u32, marks: &[Mark], out: &mut Canvas) {
        let mut first_row = frame.margin();
        let (line_start, _) = self.source.line_bytes(line);
        let starts_line = |mark: &Mark| {
            let before = self.source.text().get(line_start as usize..mark.start).unwrap_or("");
            !window.cut_before && before.chars().all(char::is_whitespace)
        };
        let mut braces: Vec<(usize, &Mark)> = Vec::new();
        for mark in marks {
            match mark.shape {
                Shape::Open(column) if starts_line(mark) => {
                    put(&mut first_row, column, '/', mark.ink);
                    frame.open[column] = Some(mark.ink);
                }
                Shape::Open(column) | Shape::Close(column) => braces.push((column, mark)),
                Shape::Whole => {}
            }
        }
        first_row.extend(window.excerpt(self.source));
        frame.line(out, Some(line), &first_row);
        let whole: Vec<&Mark> = marks.iter().filter(|mark| mark.shape == Shape::Whole).collect();
        for row in underlines(self.source, window, &whole) {
            frame.row(out, None, &row);
        }
        for (column, mark) in braces {
            let opens = matches!(mark.shape, Shape::Open(_));
            let end = frame.width() + window.column(self.source, mark.start);
            let mut row = vec![(' ', Ink::Plain); column + 1];
            (column + 1..end).for_each(|column| put(&mut row, column, '_', mark.ink));
            frame.pipes(&mut row);
            put(&mut row, end, point(mark.ink), mark.ink);
            put_text(&mut row, end + 2, mark.text, mark.ink);
            frame.line(out, None, &row);
            frame.open[column] = opens.then_some(mark.ink);
        }
    }
}

/// The part of a line left of the text: its number, and the margin with its open braces.
pub(crate) struct Frame {
    pub gutter: usize,
    pub open: Vec<Option<Ink>>,
}

impl Frame {
    /// The width of the margin.
    fn width(&self) -> usize {
        if self.open.is_empty() { 0 } else { self.open.len() + 1 }
    }

    fn margin(&self) -> Vec<Cell> {
        let mut row = vec![(' ', Ink::Plain); self.width()];
        self.pipes(&mut row);
        row
    }

    fn pipes(&self, row: &mut Vec<Cell>) {
        for (column, ink) in self.open.iter().enumerate() {
            if let Some(ink) = ink {
                put(row, column, '|', *ink);
            }
        }
    }

    /// Writes cells right of the margin.
    pub fn row(&self, out: &mut Canvas, number: Option<u32>, cells: &[Cell]) {
        let mut row = self.margin();
        row.extend(cells);
        self.line(out, number, &row);
    }

    /// Writes cells that begin with the margin.
    fn line(&self, out: &mut Canvas, number: Option<u32>, cells: &[Cell]) {
        let number = number.map(|line| line.to_string()).unwrap_or_default();
        out.write(&format!("{number:>0$} |", self.gutter), Ink::Frame);
        if cells.iter().any(|&(c, _)| c != ' ') {
            out.write(" ", Ink::Plain);
            out.write_cells(cells);
        }
        out.end_line();
    }

    /// Writes the dots that stand for lines left out.
    fn gap(&self, out: &mut Canvas) {
        out.write(ELLIPSIS, Ink::Frame);
        let margin = self.margin();
        if margin.iter().any(|&(c, _)| c != ' ') {
            out.write(&" ".repeat((self.gutter + 3).saturating_sub(ELLIPSIS.len())), Ink::Plain);
            out.write_cells(&margin);
        }
        out.end_line();
    }
}

/// The part of a line that is shown, in bytes of the text.
pub(crate) struct Window {
    pub start: usize,
    pub end: usize,
    cut_before: bool,
    cut_after: bool,
    /// The mark for omitted text.
    dots: &'static str,
}

const ELLIPSIS: &str = "...";

impl Window {
    /// The whole line if it fits, otherwise `width` characters around the byte at
    /// `anchor`, or from its start.
    fn around(source: &Source, line: u32, anchor: Option<usize>, width: usize) -> Window {
        let (first, last) = source.line_bytes(line);
        let (first, last) = (first as usize, last as usize);
        let anchor = anchor.unwrap_or(first);
        let text = source.text();
        let mut after = text[anchor..last].char_indices().map(|(offset, _)| anchor + offset);
        let before = text[first..anchor].char_indices().rev().map(|(offset, _)| first + offset);
        let n_after = after.clone().take(width + 1).count();
        let n_before = before.clone().take(width + 1).count();
        let dots = ELLIPSIS;
        if n_before + n_after <= width {
            return Window { start: first, end: last, cut_before: false, cut_after: false, dots };
        }
        let keep_before = n_before.min((width / 3).max(width.saturating_sub(n_after)));
        let start = before.take(keep_before).last().unwrap_or(anchor);
        let end = after.nth(width - keep_before).unwrap_or(last);
        Window { start, end, cut_before: start > first, cut_after: end < last, dots }
    }

    /// `width` characters of a line, dots included: from its start if so much of what is between two bytes can be
    /// seen there, otherwise from a little before it.
    pub fn within(source: &Source, line: u32, (start, end): (usize, usize), width: usize) -> Window {
        let (first, last) = source.line_bytes(line);
        let (first, last) = (first as usize, last as usize);
        let text = source.text();
        let count = |from: usize, to: usize| text[from..to].chars().count();
        let (before, marked) = (count(first, start), count(start, end).max(1));
        let skipped = match before + marked.min(width / 2) > width {
            true => before.saturating_sub(width / 3),
            false => 0,
        };
        let offset = |n: usize| text[first..last].char_indices().nth(n).map_or(last, |(at, _)| first + at);
        let (cut_before, cut_after) = (skipped > 0, count(first, last) > skipped + width);
        Window {
            start: offset(skipped + usize::from(cut_before)),
            end: offset(skipped + width - usize::from(cut_after)),
            cut_before,
            cut_after,
            dots: "…",
        }
    }

    pub fn excerpt(&self, source: &Source) -> Vec<Cell> {
        let mut cells = Vec::new();
        let ink = if self.dots == ELLIPSIS { Ink::Frame } else { Ink::Plain };
        let dots = |cut: bool| self.dots.chars().filter(move |_| cut).map(move |c| (c, ink));
        cells.extend(dots(self.cut_before));
        for c in source.text()[self.start..self.end].chars() {
            match c {
                '\t' => cells.extend(repeat_n((' ', Ink::Plain), TAB_WIDTH)),
                _ => cells.push((printable(c), Ink::Plain)),
            }
        }
        cells.extend(dots(self.cut_after));
        cells
    }

    /// The column of the excerpt where the byte at `offset` is shown.
    pub fn column(&self, source: &Source, offset: usize) -> usize {
        let shown = &source.text()[self.start..offset.clamp(self.start, self.end)];
        let dots = if self.cut_before { self.dots.chars().count() } else { 0 };
        dots + shown.chars().map(width).sum::<usize>()
    }

    /// Returns true if text before this byte is cut off, and the byte itself is not shown.
    pub fn is_cut_before(&self, offset: usize) -> bool {
        self.cut_after && offset > self.end
    }
}

/// The character that underlines are drawn with.
pub(crate) fn point(ink: Ink) -> char {
    if ink == Ink::Primary { '^' } else { '-' }
}

/// The rows below an excerpt: underlines with the label of the last mark, then the other
/// labels from right to left, each hanging from its mark.
fn underlines(source: &Source, window: &Window, marks: &[&Mark]) -> Vec<Vec<Cell>> {
    if marks.is_empty() {
        return Vec::new();
    }
    let columns: Vec<(usize, usize)> = marks
        .iter()
        .map(|mark| {
            let start = window.column(source, mark.start);
            (start, window.column(source, mark.end).max(start + 1))
        })
        .collect();
    let mut rows = vec![Vec::new()];
    // Where they overlap, the primary mark is on top.
    for ink in [Ink::Secondary, Ink::Primary] {
        for (_, &(start, end)) in marks.iter().zip(&columns).filter(|(mark, _)| mark.ink == ink) {
            (start..end).for_each(|column| put(&mut rows[0], column, point(ink), ink));
        }
    }
    let mut hanging: Vec<(&Mark, usize)> =
        marks.iter().copied().zip(columns.iter().map(|&(start, _)| start)).collect();
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
