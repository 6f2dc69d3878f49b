//! Sizes that have names, as commands show them.

use broadloom_lang::{Dim, Program};
use serde::Serialize;

use crate::console::Look;
use crate::program::Line;
use crate::table::{Column, Table};

/// The least and, if there is one, the greatest size.
pub(crate) type Range = (u64, Option<u64>);

/// `1..64`, `8..`
pub(crate) fn range_text((low, high): Range) -> String {
    format!("{low}..{}", high.map_or(String::new(), |high| high.to_string()))
}

/// What the program leaves of the range of a dim, where that is less than declared.
pub(crate) fn left(program: &Program, dim: &Dim) -> Option<Range> {
    let left = program.graph.dim_range(&dim.name).filter(|_| dim.symbolic);
    left.filter(|left| dim.range.is_some_and(|range| range != *left))
}

/// A table of the sizes that have names, and an empty line; nothing if there are none.
pub(crate) fn table(program: &Program, look: Look) -> String {
    let dims = &program.dims;
    if dims.is_empty() {
        return String::new();
    }
    let ranged = dims.iter().any(|dim| dim.range.is_some());
    let head = |head: &'static str| if ranged { head } else { "" };
    let mut table = Table::new([
        Column::name("dim"),
        Column::number("size"),
        Column::new(head("range")),
        Column::faint(head("decided")),
    ]);
    for dim in dims {
        let range = match (dim.range, left(program, dim)) {
            (Some(range), Some(left)) => {
                format!("{}, of which the program leaves {}", range_text(range), range_text(left))
            }
            (range, _) => range.map_or(String::new(), range_text),
        };
        table.row([dim.name.clone(), dim.size.to_string(), range, decided(program, dim)]);
    }
    table.show(look) + "\n"
}

/// When the size of a dim is decided, in words.
fn decided(program: &Program, dim: &Dim) -> String {
    let set = program.sizes.iter().any(|(name, _)| *name == dim.name);
    match dim.needed {
        _ if dim.range.is_none() => String::new(),
        Some(span) => {
            let Line { file, line } = Line::new(&program.sources, span);
            let file = if span.source == program.main { String::new() } else { format!("{file} ") };
            format!("now: {file}line {line} needs the number")
        }
        None if dim.symbolic => "when it runs; usually this".into(),
        None if set => "set".into(),
        None => "by the program".into(),
    }
}

#[derive(Serialize)]
pub(crate) struct DimData<'a> {
    name: &'a str,
    size: u64,
    /// The least and the greatest size, or nothing in place of the latter.
    range: Option<Range>,
    /// What the program leaves of it, where that is less.
    left: Option<Range>,
    symbolic: bool,
    /// The line that needs the number.
    needed: Option<u32>,
    #[serde(flatten)]
    place: Line<'a>,
}

impl<'a> DimData<'a> {
    pub fn all(program: &'a Program) -> Vec<DimData<'a>> {
        let data = |dim: &'a Dim| DimData {
            name: &dim.name,
            size: dim.size,
            range: dim.range,
            left: left(program, dim),
            symbolic: dim.symbolic,
            needed: dim.needed.map(|span| Line::new(&program.sources, span).line),
            place: Line::new(&program.sources, dim.span),
        };
        program.dims.iter().map(data).collect()
    }
}
