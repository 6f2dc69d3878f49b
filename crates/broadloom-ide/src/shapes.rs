//! Partial shapes after a line, even if the rest of the program has errors or is missing.

use broadloom::{PartialAxis, PartialRow};
use broadloom_diagnostics::{Diagnostic, Span};
use broadloom_lang::{NamedTensor, Program};
use serde::Serialize;

use crate::analysis::{Analysis, Listing};
use crate::dims::{NamedSize, dims};
use crate::place::Line;
use crate::shape::Rows;

/// The shapes that are known after a line.
#[derive(Clone, Debug, Serialize)]
pub struct SoFar {
    /// The name of the text.
    pub file: String,
    /// The last line that was read, or None for the last of the program.
    pub at: Option<u32>,
    /// The sizes that have names.
    pub dims: Vec<NamedSize>,
    /// The tensors that have names, in order.
    pub tensors: Vec<PartialTensor>,
    /// Errors and warnings up to the line.
    #[serde(skip)]
    pub diagnostics: Vec<Diagnostic>,
}

/// A tensor with its shape as far as it is known.
#[derive(Clone, Debug, Serialize)]
pub struct PartialTensor {
    /// Its name, with the path of the functions it was made in.
    pub name: String,
    /// Its shape: `?` is an axis of unknown size, `...` any number of axes.
    pub shape: String,
    /// The shape as data, axis by axis.
    pub rows: Rows,
    /// True if everything is known.
    pub complete: bool,
    /// The line on which it is named.
    #[serde(flatten)]
    pub place: Line,
    /// The same place, as a span.
    #[serde(skip)]
    pub span: Span,
}

/// The shapes at the end of the part that [was read](Analysis::up_to).
///
/// ```
/// use broadloom_ide::{Analysis, Listing, Text, shapes};
///
/// let text = Text::new("layer.loom", "data x : 32 | 784\nlet y = {w} @ x\nlet z = y + {b : 64}\n");
/// let so_far = shapes(&Analysis::up_to(&text, Some(2)), Listing::Own);
/// let shapes: Vec<_> = so_far.tensors.iter().map(|each| (each.name.as_str(), each.shape.as_str())).collect();
/// assert_eq!(shapes, [("x", "32 | 784"), ("w", "..., 784 -> ..."), ("y", "32 | ...")]);
/// ```
pub fn shapes(analysis: &Analysis, listing: Listing) -> SoFar {
    let at = analysis.until.filter(|line| *line != u32::MAX);
    SoFar {
        file: analysis.name.clone(),
        at,
        dims: dims(analysis),
        tensors: analysis.listed(listing).map(|made| partial(&analysis.program, made)).collect(),
        diagnostics: before(&analysis.program, at.unwrap_or(u32::MAX)),
    }
}

/// The diagnostics of the lines up to the last one that was read.
fn before(program: &Program, last: u32) -> Vec<Diagnostic> {
    let counts = |diagnostic: &&Diagnostic| match diagnostic.primary() {
        Some(label) if label.span.source == program.main => program.sources.position(label.span).0 <= last,
        _ => true,
    };
    program.diagnostics.iter().filter(counts).cloned().collect()
}

fn partial(program: &Program, made: &NamedTensor) -> PartialTensor {
    let shape = program.graph.shape(made.tensor);
    let open = |row: &PartialRow| {
        row.open || row.lead.iter().chain(&row.trail).any(|axis| *axis == PartialAxis::Unknown)
    };
    PartialTensor {
        name: made.name.clone(),
        shape: shape.to_string(),
        rows: Rows::from(&shape),
        complete: !shape.rows.iter().any(open),
        place: Line::new(&program.sources, made.span),
        span: made.span,
    }
}
