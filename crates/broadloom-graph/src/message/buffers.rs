//! Buffers that do not fit their declarations.

use broadloom_diagnostics::{Advice, Code, Help, Wording};
use broadloom_spec::{Kind, ShapeDecl};

use super::Case;
use super::counts::{list, rows_text};
use crate::declaration::{BufferFacts, Declaration};
use crate::error::{Error, ErrorKind};
use crate::step::{Step, Tensor};
use crate::{Graph, names, rust_code};

/// The rule for the axes of data.
const SAME_AXES: &str = "the declared axes, in the order batch, output, input, must be those of the data";

/// Explains a leaf whose declaration does not fit its own data.
pub(super) fn explain_buffer(graph: &Graph, case: Case<'_>) -> Option<Error> {
    let Some(Step::Leaf { tensor, .. }) = graph.steps.get(case.refused.index()) else { return None };
    let Declaration { shape, decl, given, .. } = graph.declarations.get(tensor)?;
    let name = names::message_name(graph, Tensor(*tensor));
    Some(match given {
        BufferFacts::Nothing => return None,
        BufferFacts::Axes(axes) => {
            let has = match axes.is_empty() {
                true => "is a single number".to_string(),
                false => format!("has the axes {}", list(axes)),
            };
            let message = format!("`{name}` is declared `{shape}`, but its data {has}");
            Error::new(ErrorKind::Arithmetic, message).with_help(buffer_advice(
                &name,
                shape,
                decl.as_deref(),
                axes,
            ))
        }
        BufferFacts::Rows(rows, row) => {
            let has = rows_text(rows, row);
            let message = format!("`{name}` is declared `{shape}`, but its data has the axes {has}");
            Error::new(ErrorKind::Arithmetic, message).with_help(SAME_AXES)
        }
        BufferFacts::Count(count) => {
            let message = format!("{count} elements do not divide into `{shape}`");
            Error::of_step(ErrorKind::Arithmetic, case.refused, &format!("`{name}`"), &message)
                .with_help("the product of all axes is the number of elements")
        }
    })
}

/// Says how to declare data with these axes.
fn buffer_advice(name: &str, shape: &str, declared: Option<&ShapeDecl>, axes: &[u64]) -> Help {
    let Some(declared) = declared else { return SAME_AXES.into() };
    if let Some((rows, columns)) = turned(declared, axes) {
        let help = Wording::new(format!("if each of the {rows} rows is an example, declare `"))
            .name(name)
            .words(format!(
                "` as `{rows} | {columns}`; otherwise the values are turned around: write {columns} rows of {rows}, or declare it `{rows}, {columns}` and turn it: "
            ))
        .code(Code::einsum("i b => b | i", [Code::tensor(name)]));
        return rust_code::help_of(Advice::Declare(vec![name.to_string()]), help);
    }
    match fitting(shape, declared, axes).or_else(|| regrouped(declared, axes)) {
        Some(fitting) => {
            let help = Wording::new(format!("{SAME_AXES}: declare `"))
                .name(name)
                .words(format!("` as `{fitting}`, or give other values"));
            Help::declare(name, help)
        }
        None => SAME_AXES.into(),
    }
}

/// The sizes of a table that has the declared examples as columns.
fn turned(declared: &ShapeDecl, axes: &[u64]) -> Option<(u64, u64)> {
    let size = |kind: Kind| match &declared.shape.row(kind)?.axes().collect::<Vec<_>>()[..] {
        [axis] => Some(axis.size?.size.get()),
        _ => None,
    };
    let (&[rows, columns], false) = (axes, declared.shape.rows().any(|(_, row)| row.hole().is_some())) else {
        return None;
    };
    let is_it = declared.shape.input.is_none()
        && (size(Kind::Batch), size(Kind::Output)) == (Some(columns), Some(rows));
    is_it.then_some((rows, columns))
}

/// The declaration with the sizes of the data in place of its own, if it has as many axes.
fn fitting(shape: &str, declared: &ShapeDecl, axes: &[u64]) -> Option<String> {
    let written: usize = declared.shape.rows().map(|(_, row)| row.axes().count()).sum();
    let holes = declared.shape.rows().filter(|(_, row)| row.hole().is_some()).count();
    let more = axes.len().checked_sub(written)?;
    if holes > 1 || holes == 0 && more > 0 {
        return None;
    }
    let mut edits = Vec::new();
    let mut sizes = axes.iter();
    for row in
        [Kind::Batch, Kind::Output, Kind::Input].into_iter().filter_map(|kind| declared.shape.row(kind))
    {
        let before = row.lead().len();
        for (at, axis) in row.axes().enumerate() {
            if at == before && row.hole().is_some() {
                sizes.by_ref().take(more).for_each(drop);
            }
            edits.push((axis, sizes.next()?));
        }
        if row.hole().is_some() && row.axes().count() == before {
            sizes.by_ref().take(more).for_each(drop);
        }
    }
    edits.retain(|(axis, size)| axis.size.is_some_and(|own| own.size.get() != **size));
    edits.sort_by_key(|(axis, _)| std::cmp::Reverse(axis.span.start));
    let mut text = shape.to_string();
    for (axis, size) in edits {
        let own = axis.span.start as usize..axis.span.end as usize;
        text.get(own.clone())?;
        text.replace_range(own, &size.to_string());
    }
    (text != shape).then_some(text)
}

/// The axes of the data behind as many batch axes as are declared.
fn regrouped(declared: &ShapeDecl, axes: &[u64]) -> Option<String> {
    let open = declared.shape.rows().any(|(_, row)| row.hole().is_some());
    if open || declared.shape.input.is_some() || axes.is_empty() {
        return None;
    }
    let batch = declared.shape.batch.as_ref().map_or(0, |row| row.axes().count());
    let (batch, output) = axes.split_at_checked(batch)?;
    Some(match batch.is_empty() {
        true => list(output),
        false => format!("{} | {}", list(batch), list(output)).trim_end().to_string(),
    })
}
