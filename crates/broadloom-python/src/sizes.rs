//! Sizes of shapes as data: numbers, and expressions over named sizes. The package makes sizes of another library of them.

use broadloom::{Axis, Extent, Kind, Shape, SymbolicSize};
use broadloom_core::Form;
use pyo3::prelude::*;

/// Products of names, each with its factor, and what their sum is divided by.
type Sum = (Vec<(i64, Vec<String>)>, i64);

/// The number of elements of an axis.
#[derive(IntoPyObject)]
pub enum SizeData {
    /// A number.
    Number(u64),
    /// An expression over names.
    Sum(Sum),
}

/// The sizes of a shape in the order of memory: batch, output, input.
pub fn sizes(shape: &Shape) -> Vec<SizeData> {
    let axes = [Kind::Batch, Kind::Output, Kind::Input].into_iter().flat_map(|kind| shape.row(kind));
    axes.map(size).collect()
}

fn size(axis: &Axis) -> SizeData {
    match axis.extent() {
        Extent::Literal(size) => SizeData::Number(size),
        Extent::Symbolic(size) => sum(&size).map_or(SizeData::Number(size.some()), SizeData::Sum),
    }
}

/// The products of an expression; `None` if a factor is beyond all reason.
fn sum(size: &SymbolicSize) -> Option<Sum> {
    let form: &Form = size.form();
    let names = |product: &[broadloom_core::Symbol]| {
        product.iter().map(|symbol| size.name(*symbol).map(str::to_string)).collect::<Option<Vec<_>>>()
    };
    let terms = form.terms().map(|(product, factor)| Some((i64::try_from(factor).ok()?, names(product)?)));
    Some((terms.collect::<Option<_>>()?, i64::try_from(form.denominator()).ok()?))
}
