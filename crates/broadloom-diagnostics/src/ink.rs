//! Output with or without colour, and the widths of characters on a terminal.

use crate::severity::Severity;

/// The role of a piece of output, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Strong,
    Frame,
    /// The subject of the diagnostic; its colour shows the severity.
    Primary,
    Secondary,
}

/// The role of a piece of output that does not belong to a diagnostic, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Anything.
    Plain,
    /// Heads and names.
    Strong,
    /// An explanation.
    Faint,
    /// The answer to the question.
    Answer,
    /// The frame around excerpts.
    Frame,
}

impl Paint {
    /// The text in its colour, if there are colours.
    pub fn on(self, text: &str, color: bool) -> String {
        let code = match self {
            Paint::Plain => "",
            Paint::Strong => "1",
            Paint::Faint => "2",
            Paint::Answer => "1;32",
            Paint::Frame => "1;34",
        };
        if !color || code.is_empty() || text.is_empty() {
            return text.to_string();
        }
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// A character of the output; in a row of cells, its column is its index.
pub(crate) type Cell = (char, Ink);

/// Output with or without colour.
pub(crate) struct Canvas {
    pub out: String,
    pub color: bool,
    pub severity: Severity,
}

impl Canvas {
    /// Appends `text`, of which unprintable characters show as `�`.
    pub fn write(&mut self, text: &str, ink: Ink) {
        let code = match (ink, self.severity) {
            (Ink::Plain, _) => "",
            (Ink::Strong, _) => "\u{1b}[1m",
            (Ink::Frame | Ink::Secondary, _) => "\u{1b}[1;34m",
            (Ink::Primary, Severity::Error) => "\u{1b}[1;31m",
            (Ink::Primary, Severity::Warning) => "\u{1b}[1;33m",
            (Ink::Primary, Severity::Note) => "\u{1b}[1;32m",
        };
        let colored = self.color && !code.is_empty();
        if colored {
            self.out.push_str(code);
        }
        self.out.extend(text.chars().map(printable));
        if colored {
            self.out.push_str("\u{1b}[0m");
        }
    }

    /// Appends cells up to the last that is not blank.
    pub fn write_cells(&mut self, cells: &[Cell]) {
        let length = cells.iter().rposition(|&(c, _)| c != ' ').map_or(0, |last| last + 1);
        for run in cells[..length].chunk_by(|(_, ink), (_, next)| ink == next) {
            self.write(&run.iter().map(|&(c, _)| c).collect::<String>(), run[0].1);
        }
    }

    pub fn end_line(&mut self) {
        self.out.push('\n');
    }
}

/// Writes one character into a row of cells.
pub(crate) fn put(row: &mut Vec<Cell>, column: usize, c: char, ink: Ink) {
    if row.len() <= column {
        row.resize(column + 1, (' ', Ink::Plain));
    }
    row[column] = (c, ink);
}

/// Writes a text into a row of cells.
pub(crate) fn put_text(row: &mut Vec<Cell>, column: usize, text: &str, ink: Ink) {
    text.chars().enumerate().for_each(|(index, c)| put(row, column + index, c, ink));
}

pub(crate) const TAB_WIDTH: usize = 4;

/// The number of terminal columns that a character takes in an excerpt.
pub(crate) fn width(c: char) -> usize {
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

/// The character itself, or `�` in place of one that would move the cursor, reverse the text or be
/// invisible.
pub(crate) fn printable(c: char) -> char {
    if is_unprintable(c) { '�' } else { c }
}

pub(crate) fn is_unprintable(c: char) -> bool {
    let invisible = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    c.is_control() || invisible || matches!(c, '\u{2028}'..='\u{202e}')
}
