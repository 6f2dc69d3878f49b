//! Tables with aligned columns, as wide as the terminal allows.
//!
//! ```text
//! tensor   shape      elements  how it is known
//! layer.w  784 -> 64    50,176  takes the size of what it is used with
//! ```

use crate::ink::Paint;

/// Cells up to this width align unless something else is said; a wider one pushes the rest of its line to the right.
const WIDEST: usize = 60;
/// The least width to which cells are cut.
const NARROWEST: usize = 8;
/// Blanks between columns.
const GAP: usize = 2;

/// A table for people.
///
/// ```
/// use broadloom_diagnostics::{Column, Table};
/// let mut table = Table::new([Column::name("tensor"), Column::number("elements")]);
/// table.row(["layer.w".into(), "50,176".into()]);
/// table.row(["x".into(), "3".into()]);
/// assert_eq!(table.show(None, false), "\
/// tensor   elements
/// layer.w    50,176
/// x               3
/// ");
/// ```
#[derive(Clone, Debug)]
pub struct Table<const N: usize> {
    columns: [Column; N],
    rows: Vec<[String; N]>,
    widest: usize,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The heading above it.
    pub head: &'static str,
    /// True if its cells are aligned on the right.
    pub right: bool,
    /// The part that is left out of cells that are too wide.
    pub cut: Cut,
    /// The look of its cells.
    pub paint: Paint,
}

/// The part that is left out of a cell that is too wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// Nothing: all of it counts.
    Nothing,
    /// The end of a path is its most informative part.
    Start,
    /// Of words, their beginning does.
    End,
}

impl Column {
    /// A column of words.
    pub const fn new(head: &'static str) -> Column {
        Column { head, right: false, cut: Cut::End, paint: Paint::Plain }
    }

    /// A column of names.
    pub const fn name(head: &'static str) -> Column {
        Column { cut: Cut::Start, paint: Paint::Strong, ..Column::new(head) }
    }

    /// A column of numbers.
    pub const fn number(head: &'static str) -> Column {
        Column { right: true, cut: Cut::Nothing, ..Column::new(head) }
    }

    /// A column of explanations.
    pub const fn faint(head: &'static str) -> Column {
        Column { paint: Paint::Faint, ..Column::new(head) }
    }
}

impl<const N: usize> Table<N> {
    /// No rows yet.
    pub fn new(columns: [Column; N]) -> Table<N> {
        Table { columns, rows: Vec::new(), widest: WIDEST }
    }

    /// Cells up to this width align.
    #[must_use]
    pub fn with_widest(self, widest: usize) -> Table<N> {
        Table { widest, ..self }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// Returns true if it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table, with its head unless no column has one; every line ends with a newline, and is cut to fit into so
    /// many columns of a terminal.
    pub fn show(&self, limit: Option<usize>, color: bool) -> String {
        let widths = self.widths(limit);
        let limit = limit.is_some();
        let mut out = String::new();
        if self.columns.iter().any(|column| !column.head.is_empty()) {
            let heads = self.columns.map(|column| Column { paint: Paint::Faint, ..column });
            line(&heads, &self.columns.map(|column| column.head), &widths, limit, color, &mut out);
        }
        for row in &self.rows {
            line(&self.columns, &row.each_ref().map(String::as_str), &widths, limit, color, &mut out);
        }
        out
    }

    fn widths(&self, limit: Option<usize>) -> [usize; N] {
        let mut widths = self.columns.map(|column| column.head.chars().count());
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                let needed = cell.chars().count();
                if limit.is_some() || needed <= self.widest {
                    *width = needed.max(*width);
                }
            }
        }
        if let Some(limit) = limit {
            self.fit(&mut widths, limit);
        }
        widths
    }

    /// Narrows the widest column until the table fits, or no column can be narrowed.
    fn fit(&self, widths: &mut [usize; N], limit: usize) {
        let gaps = GAP * N.saturating_sub(1);
        let mut surplus = (widths.iter().sum::<usize>() + gaps).saturating_sub(limit);
        while surplus > 0 {
            let can = (0..N).filter(|at| self.columns[*at].cut != Cut::Nothing && widths[*at] > NARROWEST);
            let Some(widest) = can.max_by_key(|at| widths[*at]) else { return };
            widths[widest] -= 1;
            surplus -= 1;
        }
    }
}

fn line<const N: usize>(
    columns: &[Column; N],
    cells: &[&str; N],
    widths: &[usize; N],
    limit: bool,
    color: bool,
    out: &mut String,
) {
    let mut blanks = 0;
    for (at, column) in columns.iter().enumerate() {
        let cell = if limit { cut(cells[at], widths[at], column.cut) } else { cells[at].to_string() };
        let missing = widths[at].saturating_sub(cell.chars().count());
        let (before, after) = if column.right { (missing, 0) } else { (0, missing) };
        if !cell.is_empty() {
            out.extend(std::iter::repeat_n(' ', blanks + before));
            out.push_str(&column.paint.on(&cell, color));
            blanks = 0;
        } else {
            blanks += before;
        }
        blanks += after + GAP;
    }
    out.push('\n');
}

/// Cuts a text to at most `width` characters.
fn cut(text: &str, width: usize, cut: Cut) -> String {
    let count = text.chars().count();
    if count <= width || cut == Cut::Nothing {
        return text.to_string();
    }
    let kept = width.saturating_sub(1);
    match cut {
        Cut::Start => std::iter::once('…').chain(text.chars().skip(count - kept)).collect(),
        _ => text.chars().take(kept).chain(std::iter::once('…')).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table<3> {
        let mut table =
            Table::new([Column::name("tensor"), Column::number("elements"), Column::faint("how")]);
        table.row([
            "blocks.3.attention.w".into(),
            "50,176".into(),
            "takes the size of what it is used with".into(),
        ]);
        table.row(["x".into(), String::new(), "declared".into()]);
        table
    }

    #[test]
    fn columns_line_up() {
        let expected = "\
tensor                elements  how
blocks.3.attention.w    50,176  takes the size of what it is used with
x                               declared
";
        assert_eq!(example().show(None, false), expected);
    }

    #[test]
    fn tables_fit_the_terminal() {
        let expected = "\
tensor               elements  how
…ocks.3.attention.w    50,176  takes the size of …
x                              declared
";
        assert_eq!(example().show(Some(50), false), expected);
    }
}
