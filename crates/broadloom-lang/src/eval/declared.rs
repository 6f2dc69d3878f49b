//! Shapes as they are declared, with the sizes that their names stand for.

use std::rc::Rc;

use broadloom::{ComputedShape, SizeSum};
use broadloom_spec::{ShapeBuilder, WrittenShape};

use super::{Eval, Evaluated, dim, unknown};
use crate::syntax::ast::{Axis, AxisKind, Shape};
use crate::value::Value;

/// A declared shape, with the sizes that some of its names stand for.
pub(super) struct Declared {
    /// The shape: with expressions in its text, for messages, and names for them in its tree.
    pub(super) shape: Rc<WrittenShape>,
    /// Names in the tree, and the sizes they are equal to.
    pub(super) sizes: Vec<(String, SizeSum)>,
    /// The same sizes as values.
    pub(super) values: Vec<Value>,
}

impl Declared {
    /// The names that stand for sizes, with the sizes.
    pub(super) fn labels(&self) -> Vec<(&str, &SizeSum)> {
        self.sizes.iter().map(|(label, size)| (label.as_str(), size)).collect()
    }

    /// The shape as the graph takes it, with its [labels](Declared::labels).
    pub(super) fn computed<'a>(&'a self, sizes: &'a [(&'a str, &'a SizeSum)]) -> ComputedShape<'a> {
        ComputedShape { shape: (&*self.shape).into(), sizes }
    }
}

/// A declared shape: names of numbers are replaced by the numbers, named sizes stay names.
pub(super) fn written_shape(eval: &mut Eval<'_>, shape: &Shape) -> Evaluated<Declared> {
    Filling::default().all(eval, shape)
}

/// The same for one of the shapes of a signature.
pub(super) fn stated_shape(eval: &mut Eval<'_>, shape: &Shape) -> Evaluated<Declared> {
    Filling { is_shared: true, ..Filling::default() }.all(eval, shape)
}

/// A shape that is being filled in.
#[derive(Default)]
struct Filling {
    shape: ShapeBuilder,
    sizes: Vec<(String, SizeSum)>,
    values: Vec<Value>,
    /// True if its names are shared with other shapes, so that those for expressions have to be different ones.
    is_shared: bool,
}

impl Filling {
    fn all(mut self, eval: &mut Eval<'_>, shape: &Shape) -> Evaluated<Declared> {
        if let Some(batch) = &shape.batch {
            self.row(eval, batch)?;
            self.shape.bar();
        }
        if let Some(input) = &shape.input {
            self.row(eval, input)?;
            self.shape.arrow();
        }
        self.row(eval, &shape.output)?;
        Ok(Declared { shape: Rc::new(self.shape.finish()), sizes: self.sizes, values: self.values })
    }

    fn row(&mut self, eval: &mut Eval<'_>, row: &[Axis]) -> Evaluated<()> {
        for axis in row {
            self.axis(eval, axis)?;
            if let Some(basis) = axis.basis {
                self.shape.basis(eval.text(basis.name));
            }
        }
        Ok(())
    }

    fn axis(&mut self, eval: &mut Eval<'_>, axis: &Axis) -> Evaluated<()> {
        let shape = &mut self.shape;
        let value = match &axis.kind {
            AxisKind::Size(size) => {
                shape.size(*size);
                return Ok(());
            }
            AxisKind::Any => {
                shape.any();
                return Ok(());
            }
            AxisKind::Rest => {
                shape.rest();
                return Ok(());
            }
            AxisKind::Row(name) => match eval.find(*name) {
                Some(
                    value @ (Value::Number(_)
                    | Value::Size(_)
                    | Value::List(_)
                    | Value::Text(_)
                    | Value::Mistake),
                ) => value,
                // Any other name stands for axes to be inferred.
                _ => {
                    shape.row(eval.text(*name));
                    return Ok(());
                }
            },
            AxisKind::Name(name) => match eval.find(*name) {
                Some(value @ (Value::Number(_) | Value::Size(_) | Value::Mistake)) => value,
                // Any other name is a size to be inferred.
                _ => {
                    shape.name(&dim::free_label(eval, *name));
                    return Ok(());
                }
            },
            // In a signature sizes stay what they are computed from, whether or not this application decides them.
            AxisKind::Expr(size) if self.is_shared => eval.arithmetic_of_sizes(*size)?,
            AxisKind::Expr(size) => eval.expr(*size)?,
        };
        if unknown::is_open(&value) {
            self.shape.any();
            return Ok(());
        }
        match value {
            Value::List(sizes) => sizes.iter().try_for_each(|size| self.sized_axis(eval, axis, size)),
            value => self.sized_axis(eval, axis, &value),
        }
    }

    /// Adds an axis with a size: a number, a named size, or a label for an expression.
    fn sized_axis(&mut self, eval: &mut Eval<'_>, axis: &Axis, value: &Value) -> Evaluated<()> {
        let Value::Size(size) = value else {
            self.shape.size(dim::size_of(eval, value, axis.span)?);
            return Ok(());
        };
        if let Some(name) = dim::dim_name(eval, size) {
            self.shape.name(&name);
            return Ok(());
        }
        let Some(sum) = size.sum() else {
            // The graph cannot express this size.
            self.shape.size(dim::size_of(eval, value, axis.span)?);
            return Ok(());
        };
        let label = match &axis.kind {
            AxisKind::Name(name) => dim::free_label(eval, *name),
            _ if self.is_shared => format!("size{}_{}", axis.span.start, self.sizes.len() + 1),
            _ => format!("size{}", self.sizes.len() + 1),
        };
        match &axis.kind {
            AxisKind::Expr(size) => {
                let written = format!("({})", eval.sources.slice(eval.span_of(*size)));
                self.shape.expression(&label, &written);
            }
            _ => {
                self.shape.name(&label);
            }
        }
        if !self.sizes.iter().any(|(known, _)| *known == label) {
            self.sizes.push((label, sum.clone()));
            self.values.push(value.clone());
        }
        Ok(())
    }
}
