//! Texts that are easily misread: numbers in specs, names in the shape of a range.

use std::rc::Rc;

use broadloom::SizeSum;
use broadloom_diagnostics::{Diagnostic, Span};
use broadloom_spec::{AxisKind, ComponentKind, WrittenSpec, parse_shape};

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

/// The shape of a range, which has one axis: see [`shape_text`].
pub(crate) fn range_shape(
    eval: &mut Eval<'_>,
    text: &str,
    span: Span,
) -> Evaluated<(String, Vec<(String, SizeSum)>)> {
    // A shape that cannot be parsed is reported where the graph reads it.
    let Ok(decl) = parse_shape(text) else { return Ok((text.to_string(), Vec::new())) };
    let axes = decl.shape.axes().count();
    let open = decl.shape.rows().any(|(_, row)| row.hole().is_some());
    if axes > 1 || open {
        let message = match open {
            true => "a range counts along one axis, and this shape may have any number of them".to_string(),
            false => format!("a range counts along one axis, and this shape has {axes}"),
        };
        let help =
            "add up a range for each axis: `4 * range(\"3 |\") + range(\"4\")` counts the cells of `3 | 4`";
        return eval.wrong(codes::USE, message, span, help);
    }
    shape_text(eval, text, span)
}

/// A shape that is written as a text. As in every declared shape, a name of a number or of a
/// named size is that size; sizes that the graph has no name for are returned beside the text.
pub(crate) fn shape_text(
    eval: &mut Eval<'_>,
    text: &str,
    span: Span,
) -> Evaluated<(String, Vec<(String, SizeSum)>)> {
    let (mut filled, mut sizes) = (text.to_string(), Vec::new());
    let Ok(decl) = parse_shape(text) else { return Ok((filled, sizes)) };
    let mut axes: Vec<_> = decl.shape.axes().filter(|axis| axis.size.is_none()).copied().collect();
    // From the back, so that replacements do not move the earlier places.
    axes.sort_by_key(|axis| std::cmp::Reverse(axis.span.start));
    for axis in axes {
        let Some(name) = axis.name else { continue };
        let name = eval.names.intern(decl.names.axes.text(name));
        let label = match eval.find(name) {
            Some(value @ (Value::Number(_) | Value::Mistake)) => {
                dim::size_of(eval, &value, span)?.to_string()
            }
            Some(Value::Text(_)) => {
                let name = eval.names.text(name).to_string();
                let message = format!("`{name}` is a text here, and a size is a number");
                let help = format!("give `{name}` a number, such as 5, or the name of a `dim`");
                return eval.wrong(codes::KIND, message, span, help);
            }
            Some(Value::Size(size)) => match (dim::dim_name(eval, &size), size.sum()) {
                (Some(dim), _) => dim,
                (None, Some(sum)) => {
                    let label = dim::free_label(eval, name);
                    sizes.push((label.clone(), sum.clone()));
                    label
                }
                (None, None) => dim::size_of(eval, &Value::Size(size), span)?.to_string(),
            },
            _ => dim::free_label(eval, name),
        };
        filled.replace_range(axis.span.start as usize..axis.span.end as usize, &label);
    }
    Ok((filled, sizes))
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
