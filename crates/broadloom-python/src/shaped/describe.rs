//! A misfit as data for Python, which words it: Python knows the function, its file and its lines.

use super::Checker;
use super::array;
use super::matching::{MatchedSizes, Misfit, Origin};
use super::pattern::{Pattern, PatternItem};
use super::want::{Failure, Reason, Slot};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

impl Checker {
    /// The exception for a failure.
    pub(super) fn raise(
        &self,
        py: Python<'_>,
        failure: &Failure,
        found: &MatchedSizes,
        args: &Bound<'_, PyTuple>,
        kwargs: &Bound<'_, PyDict>,
    ) -> PyErr {
        let details = match self.details(py, failure, found) {
            Ok(details) => details,
            Err(error) => return error,
        };
        match self.report.bind(py).call1((details, args, kwargs)) {
            Ok(exception) => PyErr::from_value(exception),
            Err(error) => error,
        }
    }

    fn details<'py>(
        &self,
        py: Python<'py>,
        failure: &Failure,
        found: &MatchedSizes,
    ) -> PyResult<Bound<'py, PyDict>> {
        let details = PyDict::new(py);
        let slot = &self.slots[failure.slot];
        details.set_item("argument", &slot.argument)?;
        details.set_item("path", &failure.path)?;
        details.set_item("text", &slot.text)?;
        details.set_item("order", order(slot))?;
        let others: Vec<&str> = failure.others.iter().map(|slot| self.slots[*slot].text.as_str()).collect();
        details.set_item("others", others)?;
        details.set_item("value", &failure.value)?;
        details.set_item("elements", slot.elements.name())?;
        details.set_item("array_type", slot.array_type.as_ref().map(array::ArrayType::wanted))?;
        if let Some(array) = array::Array::read(failure.value.bind(py), false) {
            details.set_item("shape", PyTuple::new(py, array.shape.as_slice())?)?;
        }
        match &failure.reason {
            Reason::Type => details.set_item("kind", "type")?,
            Reason::Elements => details.set_item("kind", "elements")?,
            Reason::Length(length) => {
                details.set_item("kind", "length")?;
                details.set_item("found", length)?;
            }
            Reason::Shape(misfit) => self.shape_details(&details, misfit, &slot.pattern, found)?,
        }
        Ok(details)
    }

    fn shape_details(
        &self,
        details: &Bound<'_, PyDict>,
        misfit: &Misfit,
        pattern: &Pattern,
        found: &MatchedSizes,
    ) -> PyResult<()> {
        match misfit {
            Misfit::Rank { wanted, at_least } => {
                details.set_item("kind", "rank")?;
                details.set_item("wanted", wanted)?;
                details.set_item("at_least", at_least)
            }
            Misfit::Size { axis, item, wanted } => {
                details.set_item("kind", "size")?;
                details.set_item("axis", axis)?;
                details.set_item("item", &pattern.shown[*item])?;
                details.set_item("wanted", wanted)
            }
            Misfit::Label { axis, label, wanted, origin } => {
                details.set_item("kind", "label")?;
                details.set_item("axis", axis)?;
                details.set_item("item", &self.names.labels[*label])?;
                details.set_item("wanted", wanted)?;
                self.other(details, *origin)
            }
            Misfit::Expr { axis, item, wanted } => {
                details.set_item("kind", "expr")?;
                details.set_item("axis", axis)?;
                details.set_item("item", &pattern.shown[*item])?;
                details.set_item("wanted", wanted)?;
                self.known(details, &pattern.items[*item], found)
            }
            Misfit::Row { axis, length, row, wanted, origin } => {
                details.set_item("kind", "row")?;
                details.set_item("axis", axis)?;
                details.set_item("length", length)?;
                details.set_item("item", format!("..{}..", self.names.rows[*row]))?;
                details.set_item("wanted", PyTuple::new(details.py(), wanted)?)?;
                self.other(details, *origin)
            }
            Misfit::Range { axis, label, lo, hi } => {
                details.set_item("kind", "range")?;
                details.set_item("axis", axis)?;
                details.set_item("item", &self.names.labels[*label])?;
                details.set_item("found", found.size(*label))?;
                details.set_item("lo", lo)?;
                details.set_item("hi", Some(*hi).filter(|hi| *hi != i64::MAX))
            }
        }
    }

    /// The sizes that arithmetic is about, each with the argument in which it was found; the first of those is the other end.
    fn known(&self, details: &Bound<'_, PyDict>, item: &PatternItem, found: &MatchedSizes) -> PyResult<()> {
        let labels = if let PatternItem::Expr(expr) = item { expr.names() } else { Vec::new() };
        let origins = labels.into_iter().filter_map(|label| Some((label, found.size(label)?)));
        let origins: Vec<(usize, i64, Origin)> =
            origins.map(|(label, size)| (label, size, found.origin(label))).collect();
        let known = origins.iter().map(|(label, size, (slot, _))| {
            (self.names.labels[*label].as_str(), *size, self.slots[*slot as usize].argument.as_str())
        });
        details.set_item("known", known.collect::<Vec<_>>())?;
        match origins.first() {
            Some((_, _, origin)) => self.other(details, *origin),
            None => Ok(()),
        }
    }

    /// The other end: the array in which the size was found.
    fn other(&self, details: &Bound<'_, PyDict>, (slot, axis): Origin) -> PyResult<()> {
        let slot = &self.slots[slot as usize];
        details.set_item("other", &slot.argument)?;
        details.set_item("other_text", &slot.text)?;
        details.set_item("other_order", order(slot))?;
        details.set_item("other_axis", axis)
    }
}

/// The axes of an array in the order of memory, where that is not as they are written.
fn order(slot: &Slot) -> Option<String> {
    slot.pattern.turned.then(|| format!("({})", slot.pattern.shown.join(", ")))
}
