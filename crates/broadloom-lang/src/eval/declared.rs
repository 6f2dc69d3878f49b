//! Shapes as they are declared, with the sizes that their names stand for.

use broadloom::{ComputedShape, SizeSum};

use super::{Eval, Evaluated, dim, unknown};
use crate::syntax::ast::{Axis, AxisKind, Shape};
use crate::value::Value;

/// A declared shape as a text, with the sizes that some of its names stand for.
#[derive(Default)]
pub(super) struct Declared {
    pub(super) text: String,
    /// The same as it is written, for messages: with expressions in place of the names for them.
    pub(super) written: String,
    /// Names in the text, and the sizes they are equal to.
    pub(super) sizes: Vec<(String, SizeSum)>,
    /// The same sizes as values.
    pub(super) values: Vec<Value>,
    /// True if its names are shared with other shapes, so that those for expressions have to be different ones.
    is_shared: bool,
}

impl Declared {
    /// The names that stand for sizes, with the sizes.
    pub(super) fn labels(&self) -> Vec<(&str, &SizeSum)> {
        self.sizes.iter().map(|(label, size)| (label.as_str(), size)).collect()
    }

    /// The shape as the graph takes it, with its [labels](Declared::labels).
    pub(super) fn computed<'a>(&'a self, sizes: &'a [(&'a str, &'a SizeSum)]) -> ComputedShape<'a> {
        ComputedShape { shape: &self.text, written: &self.written, sizes }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.written.push_str(text);
    }
}

/// A declared shape as a text: names of numbers are
/// replaced by the numbers, named sizes stay names.
pub(super) fn written_shape(eval: &mut Eval<'_>, shape: &Shape) -> Evaluated<Declared> {
    filled(eval, shape, Declared::default())
}

/// The same for one of the shapes of a signature.
pub(super) fn stated_shape(eval: &mut Eval<'_>, shape: &Shape) -> Evaluated<Declared> {
    filled(eval, shape, Declared { is_shared: true, ..Declared::default() })
}

fn filled(eval: &mut Eval<'_>, shape: &Shape, mut declared: Declared) -> Evaluated<Declared> {
    if let Some(batch) = &shape.batch {
        row(eval, batch, &mut declared)?;
        declared.push(" | ");
    }
    if let Some(input) = &shape.input {
        row(eval, input, &mut declared)?;
        declared.push(" -> ");
    }
    row(eval, &shape.output, &mut declared)?;
    for text in [&mut declared.text, &mut declared.written] {
        if text.trim().len() != text.len() {
            *text = text.trim().to_string();
        }
    }
    Ok(declared)
}

fn row(eval: &mut Eval<'_>, row: &[Axis], declared: &mut Declared) -> Evaluated<()> {
    for (at, axis) in row.iter().enumerate() {
        if at > 0 {
            declared.push(", ");
        }
        one_axis(eval, axis, declared)?;
        if let Some(basis) = axis.basis {
            let basis = format!(":{}", eval.text(basis.name));
            declared.push(&basis);
        }
    }
    Ok(())
}

fn one_axis(eval: &mut Eval<'_>, axis: &Axis, declared: &mut Declared) -> Evaluated<()> {
    let value = match &axis.kind {
        AxisKind::Size(size) => {
            declared.push(&size.to_string());
            return Ok(());
        }
        AxisKind::Any => {
            declared.push("_");
            return Ok(());
        }
        AxisKind::Rest => {
            declared.push("...");
            return Ok(());
        }
        AxisKind::Row(name) => match eval.find(*name) {
            Some(
                value
                @ (Value::Number(_) | Value::Size(_) | Value::List(_) | Value::Text(_) | Value::Mistake),
            ) => value,
            // Any other name stands for axes to be inferred.
            _ => {
                let row = format!("..{}..", eval.text(*name));
                declared.push(&row);
                return Ok(());
            }
        },
        AxisKind::Name(name) => match eval.find(*name) {
            Some(value @ (Value::Number(_) | Value::Size(_) | Value::Mistake)) => value,
            // Any other name is a size to be inferred.
            _ => {
                let label = dim::free_label(eval, *name);
                declared.push(&label);
                return Ok(());
            }
        },
        // In a signature sizes stay what they are computed from, whether or not this application decides them.
        AxisKind::Expr(size) if declared.is_shared => eval.arithmetic_of_sizes(*size)?,
        AxisKind::Expr(size) => eval.expr(*size)?,
    };
    if unknown::is_open(&value) {
        declared.push("_");
        return Ok(());
    }
    let Value::List(sizes) = value else { return sized_axis(eval, axis, &value, declared) };
    for (at, size) in sizes.iter().enumerate() {
        if at > 0 {
            declared.push(", ");
        }
        sized_axis(eval, axis, size, declared)?;
    }
    Ok(())
}

/// Adds an axis with a size: a number, a named size, or a label for an expression.
fn sized_axis(eval: &mut Eval<'_>, axis: &Axis, value: &Value, declared: &mut Declared) -> Evaluated<()> {
    let Value::Size(size) = value else {
        let size = dim::size_of(eval, value, axis.span)?;
        declared.push(&size.to_string());
        return Ok(());
    };
    if let Some(name) = dim::dim_name(eval, size) {
        declared.push(&name);
        return Ok(());
    }
    let Some(sum) = size.sum() else {
        // The graph cannot express this size.
        let size = dim::size_of(eval, value, axis.span)?;
        declared.push(&size.to_string());
        return Ok(());
    };
    let label = match &axis.kind {
        AxisKind::Name(name) => dim::free_label(eval, *name),
        _ if declared.is_shared => format!("size{}_{}", axis.span.start, declared.sizes.len() + 1),
        _ => format!("size{}", declared.sizes.len() + 1),
    };
    declared.text.push_str(&label);
    match &axis.kind {
        AxisKind::Expr(_) => {
            let written = eval.sources.slice(axis.span).split(':').next().unwrap_or_default();
            declared.written.push_str(written.trim());
        }
        _ => declared.written.push_str(&label),
    }
    if !declared.sizes.iter().any(|(known, _)| *known == label) {
        declared.sizes.push((label, sum.clone()));
        declared.values.push(value.clone());
    }
    Ok(())
}
