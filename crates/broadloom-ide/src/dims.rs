//! Sizes that have names.

use broadloom_lang::{Dim, Program};
use serde::Serialize;

use crate::analysis::Analysis;
use crate::place::Line;

/// The least and, if there is one, the greatest size.
pub type Range = (u64, Option<u64>);

/// A size that has a name.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NamedSize {
    /// Its name.
    pub name: String,
    /// Its size, or the default if the size is decided when the program runs.
    pub size: u64,
    /// The declared range.
    pub range: Option<Range>,
    /// The part of the range that the program allows, if that is less.
    pub left: Option<Range>,
    /// True if shapes show it by its name.
    pub symbolic: bool,
    /// The line that requires the number.
    pub needed: Option<u32>,
    /// The line on which it is declared.
    #[serde(flatten)]
    pub place: Line,
    /// A description of when the size is decided; empty if it has no range.
    #[serde(skip)]
    pub decided: String,
}

/// The sizes that have names, in the order of the program.
///
/// ```
/// use broadloom_ide::{Analysis, Text, dims};
///
/// let text = "dim batch in 1..64 = 32\ndata x : batch | 3\n";
/// let all = dims(&Analysis::new(&Text::new("a.loom", text)));
/// assert_eq!((all[0].size, all[0].range), (32, Some((1, Some(64)))));
/// assert_eq!(all[0].decided, "when it runs; usually this");
/// ```
pub fn dims(analysis: &Analysis) -> Vec<NamedSize> {
    let program = &analysis.program;
    let data = |dim: &Dim| NamedSize {
        name: dim.name.clone(),
        size: dim.size,
        range: dim.range,
        left: left(program, dim),
        symbolic: dim.symbolic,
        needed: dim.needed.map(|span| Line::new(&program.sources, span).line),
        place: Line::new(&program.sources, dim.span),
        decided: decided(program, dim),
    };
    program.dims.iter().map(data).collect()
}

/// `1..64`, `8..`
pub fn range_text((low, high): Range) -> String {
    format!("{low}..{}", high.map_or(String::new(), |high| high.to_string()))
}

/// The part of the range of a dim that the program allows, if that is less than declared.
pub(crate) fn left(program: &Program, dim: &Dim) -> Option<Range> {
    let left = program.graph.dim_range(&dim.name).filter(|_| dim.symbolic);
    left.filter(|left| dim.range.is_some_and(|range| range != *left))
}

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
