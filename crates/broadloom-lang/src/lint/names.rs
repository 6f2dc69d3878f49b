//! Names in the shapes of data that stand for no size.
//!
//! `data x : n | 784` takes the size of `n` from a `dim`, from the values of `x`, or from what `x` is used with. Where
//! none of them says it, the axis has one element, and a name that is misspelled or comes from elsewhere (`None`) is not
//! noticed.

use broadloom::{Axis, AxisName, LeafKind, Node, RowPlace, Shapes};
use broadloom_diagnostics::{Diagnostic, Span};

use crate::codes;
use crate::program::{NamedTensor, Program};
use crate::suggest::nearest;

/// Finds names that no `dim` before them declares, and whose axis has no size, or belongs to a later `dim`.
pub(super) fn names(program: &Program, shapes: &Shapes) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for axis in program.axis_names.iter().filter(|axis| !axis.is_size) {
        let Some(Node::Leaf { kind: LeafKind::Data | LeafKind::State }) = program.graph.node(axis.tensor)
        else {
            continue;
        };
        let Some(made) = program.made.iter().find(|made| made.tensor == axis.tensor && made.level == 0)
        else {
            continue;
        };
        let later = program.dims.iter().find(|dim| dim.name == axis.name);
        if let Some(dim) = later {
            let message = format!("`{}` is declared after it is used", axis.name);
            let label = format!("here it is a size of its own, for `{}` alone", made.name);
            let diagnostic = Diagnostic::warning(codes::NO_SIZE, message, place(program, made, axis), label);
            let help = format!("write `dim {} …` before this line", axis.name);
            found.push(diagnostic.with_label(dim.span, "declared here").with_help(help));
        } else if is_open(shapes, axis) {
            found.push(no_size(program, made, axis));
        }
    }
    found
}

fn no_size(program: &Program, made: &NamedTensor, axis: &AxisName) -> Diagnostic {
    let name = &axis.name;
    let message = format!("`{name}` stands for no size");
    let label = format!("`{}` has one element here: nothing asks for more", made.name);
    let diagnostic = Diagnostic::warning(codes::NO_SIZE, message, place(program, made, axis), label);
    let new = if name == "None" { "n" } else { name };
    if name == "x" || name == "by" {
        return diagnostic
            .with_help("axes are separated by commas: write `4, 2`, or `4 | 2` if the first counts a batch");
    }
    let help = match nearest(name, program.dims.iter().map(|dim| dim.name.as_str())) {
        Some(dim) => format!("did you mean `{dim}`?"),
        None => format!(
            "write the size, or declare it before this line: `dim {new} = 32`, or `dim {new} in 1..` for one that is \
             known when the program runs; `_` is a size that may stay open"
        ),
    };
    diagnostic.with_help(help)
}

/// Returns true if an axis has no size of its own.
fn is_open(shapes: &Shapes, axis: &AxisName) -> bool {
    let shape = shapes.get(axis.tensor);
    let row = shape.row(axis.kind);
    let at = match axis.place {
        RowPlace::FromStart(at) => Some(at),
        RowPlace::FromEnd(at) => row.len().checked_sub(at + 1),
    };
    at.and_then(|at| row.get(at)) == Some(&Axis::Unit)
}

/// The place of the name in the shape that follows the name of the tensor.
fn place(program: &Program, made: &NamedTensor, axis: &AxisName) -> Span {
    let text = program.sources.get(made.span.source).text();
    let from = made.span.end as usize;
    let line = text[from..].lines().next().unwrap_or_default();
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let whole = |at: &usize| {
        let (before, after) = (&line[..*at], &line[at + axis.name.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    };
    match line.match_indices(axis.name.as_str()).map(|(at, _)| at).find(whole) {
        Some(at) => {
            let start = (from + at) as u32;
            Span { source: made.span.source, start, end: start + axis.name.len() as u32 }
        }
        None => made.span,
    }
}
