//! Texts that are easily misread: numbers in specs, names in the shape of a range.

use std::rc::Rc;

use broadloom::SizeSum;
use broadloom_diagnostics::{Diagnostic, Span};
use broadloom_spec::{
    AxisKind, ComponentKind, DeclAxis, Kind, RowVariable, ShapeBuilder, ShapeDecl, WrittenShape, WrittenSpec,
};

use super::{Eval, Evaluated, dim};
use crate::codes;
use crate::program::Written;
use crate::value::Value;

/// The number of recent specs among which a duplicate is looked for.
const NEAR: usize = 64;

/// Remembers a spec that the program writes itself, unless it says something else than it seems to.
pub(super) fn look_at_spec(eval: &mut Eval<'_>, read: &Rc<WrittenSpec>, span: Span) -> Evaluated<()> {
    if eval.place(span) != span {
        return Ok(());
    }
    eval.note_spec(read, span);
    let literal = !read.spec().keeps && eval.sources.slice(span).trim_matches('"') == read.text();
    // A function that is applied again has the same specs again.
    let is_known =
        |known: &Written| (known.span, known.literal) == (span, literal) && known.spec == *read.spec();
    if eval.specs.iter().rev().take(NEAR).any(is_known) {
        return Ok(());
    }
    let written = Written { spec: read.spec().clone(), span, literal };
    if let Some((size, place)) = part_as_position(&written) {
        let message = format!("`{size}` is a part of size {size} before `=>`, and position {size} after it");
        let help = format!(
            "give the part a name, and state its size: `split(\"a^b => a; b\", x)`, then `set` `b` of a result to {size}"
        );
        let label = "a number by itself is a position";
        return eval.fail(Diagnostic::error(codes::NOTATION, message, place, label).with_help(help));
    }
    eval.specs.push(written);
    Ok(())
}

/// The shape of a range, which has one axis: see [`shape_in_text`].
pub(crate) fn range_shape(eval: &mut Eval<'_>, text: &str, span: Span) -> Evaluated<SizedShape> {
    let written = WrittenShape::read(text);
    if let Ok(decl) = written.decl() {
        let axes = decl.shape.axes().count();
        let open = decl.shape.rows().any(|(_, row)| row.hole().is_some());
        if axes > 1 || open {
            let message = match open {
                true => {
                    "a range counts along one axis, and this shape may have any number of them".to_string()
                }
                false => format!("a range counts along one axis, and this shape has {axes}"),
            };
            let help = "add up a range for each axis: `4 * range(\"3 |\") + range(\"4\")` counts the cells of `3 | 4`";
            return eval.wrong(codes::USE, message, span, help);
        }
    }
    sized_shape(eval, written, span)
}

/// A shape that is written as a text. As in every declared shape, a name of a number or of a
/// named size is that size; sizes that the graph has no name for are returned beside the shape.
pub(crate) fn shape_in_text(eval: &mut Eval<'_>, text: &str, span: Span) -> Evaluated<SizedShape> {
    sized_shape(eval, WrittenShape::read(text), span)
}

/// A shape, and the sizes that some of its names are equal to.
pub(crate) type SizedShape = (Rc<WrittenShape>, Vec<(String, SizeSum)>);

fn sized_shape(eval: &mut Eval<'_>, written: WrittenShape, span: Span) -> Evaluated<SizedShape> {
    // A shape that cannot be read is reported where the graph takes it.
    let Ok(decl) = written.decl().cloned() else { return Ok((Rc::new(written), Vec::new())) };
    let (mut shape, mut sizes) = (ShapeBuilder::new(), Vec::new());
    for (kind, row) in decl.shape.rows() {
        for axis in row.lead() {
            sized_axis(eval, &decl, axis, (&mut shape, &mut sizes), span)?;
        }
        match row.hole().map(|hole| hole.variable) {
            Some(RowVariable::Ellipsis) => drop(shape.rest()),
            Some(RowVariable::Named(name)) => drop(shape.row(decl.names.rows.text(name))),
            None => {}
        }
        for axis in &row.trail {
            sized_axis(eval, &decl, axis, (&mut shape, &mut sizes), span)?;
        }
        match kind {
            Kind::Batch => drop(shape.bar()),
            Kind::Input => drop(shape.arrow()),
            Kind::Output => {}
        }
    }
    Ok((Rc::new(shape.finish()), sizes))
}

/// Adds an axis of a shape that is written as a text, with the size that its name stands for.
fn sized_axis(
    eval: &mut Eval<'_>,
    decl: &ShapeDecl,
    axis: &DeclAxis,
    (shape, sizes): (&mut ShapeBuilder, &mut Vec<(String, SizeSum)>),
    span: Span,
) -> Evaluated<()> {
    let own = axis.name.map(|name| decl.names.axes.text(name));
    let name = match (own, axis.size) {
        (Some(own), None) => eval.names.intern(own),
        (own, size) => {
            match (own, size.map(|size| size.size.get())) {
                (Some(name), Some(size)) => shape.named_size(name, size),
                (None, Some(size)) => shape.size(size),
                (_, None) => shape.any(),
            };
            if let Some(basis) = size.and_then(|size| size.basis) {
                shape.basis(decl.names.bases.text(basis));
            }
            return Ok(());
        }
    };
    match eval.find(name) {
        Some(value @ (Value::Number(_) | Value::Mistake)) => {
            shape.size(dim::size_of(eval, &value, span)?);
        }
        Some(Value::Text(_)) => {
            let name = eval.names.text(name).to_string();
            let message = format!("`{name}` is a text here, and a size is a number");
            let help = format!("give `{name}` a number, such as 5, or the name of a `dim`");
            return eval.wrong(codes::KIND, message, span, help);
        }
        Some(Value::Size(size)) => match (dim::dim_name(eval, &size), size.sum()) {
            (Some(dim), _) => drop(shape.name(&dim)),
            (None, Some(sum)) => {
                let label = dim::free_label(eval, name);
                shape.name(&label);
                sizes.push((label, sum.clone()));
            }
            (None, None) => drop(shape.size(dim::size_of(eval, &Value::Size(size), span)?)),
        },
        _ => drop(shape.name(&dim::free_label(eval, name))),
    }
    Ok(())
}

/// A number that is the size of a part of an operand, and stands alone in a result: `a^1 => a; 1`.
fn part_as_position(written: &Written) -> Option<(u64, Span)> {
    let parts =
        written.spec.operands.iter().flat_map(|shape| shape.axes()).flat_map(|axis| match &axis.kind {
            AxisKind::Concat(parts) => parts.as_slice(),
            _ => &[],
        });
    let sizes: Vec<u64> = parts
        .filter_map(|part| match part.kind {
            ComponentKind::Size(size) => Some(size.get()),
            _ => None,
        })
        .collect();
    let mut results = written.spec.results.iter().flat_map(|shape| shape.axes());
    results.find_map(|axis| match axis.kind {
        AxisKind::Fixed(at) if sizes.contains(&at) => Some((at, written.place(axis.span))),
        _ => None,
    })
}
