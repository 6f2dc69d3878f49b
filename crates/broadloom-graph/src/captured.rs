//! Captured sizes: the spec or the declaration that each belongs to, and what the program knows of it so far.

use broadloom_core::{DimTerm, Form};
use broadloom_spec::SpecNames;

use crate::declaration::{Declaration, Named};
use crate::error::{Error, ErrorKind};
use crate::notation::KnownSpec;
use crate::shape::{Axis, PartialAxis};
use crate::step::{Captured, Op, RowRef, SizeOwner, Step, Tensor, place};
use crate::{Graph, partial_shape};

/// A captured size, resolved.
pub(crate) enum Size {
    Dim(DimTerm),
    Row(RowRef),
}

/// The spec that a tensor was made with, or the shape of its declaration.
pub(crate) struct CapturedFrom<'a> {
    pub text: &'a str,
    pub names: &'a SpecNames,
    /// Marks the rows that have a plain `...`; not used for specs.
    pub plain: [bool; 3],
    pub is_spec: bool,
    /// The first of its labels among the graph's, and of its rows.
    pub labels: u32,
    pub rows: u32,
}

/// The size of a dimension, if the program so far decides it.
pub(crate) fn term_size(graph: &Graph, dim: DimTerm) -> Option<u64> {
    match (dim.var(), graph.solver.ground(dim)) {
        (Some(var), _) => {
            let (lo, hi) = graph.solver.observe_size(var);
            (hi == Some(lo)).then_some(lo)
        }
        (None, ground) => crate::shape::elements(ground?),
    }
}

pub(crate) fn resolve(graph: &Graph, captured: Captured) -> Result<Size, Error> {
    let other = || Error::new(ErrorKind::Use, "a size captured in another graph is used here");
    let index = captured.index as usize;
    let tensor = match captured.owner {
        SizeOwner::Named => return Ok(Size::Dim(graph.symbols.get(index).ok_or_else(other)?.var.into())),
        SizeOwner::Stated => return Ok(Size::Dim(graph.stated.get(index).ok_or_else(other)?.1)),
        SizeOwner::Tensor(tensor) => tensor,
    };
    let CapturedFrom { names, labels, rows, .. } = source(graph, tensor).ok_or_else(other)?;
    let (known, start) =
        if captured.is_row { (3 + names.rows.len(), rows) } else { (names.axes.len(), labels) };
    if index >= known {
        return Err(other());
    }
    let at = start as usize + index;
    Ok(if captured.is_row { Size::Row(graph.spec_rows[at]) } else { Size::Dim(graph.labels[at]) })
}

/// The spec that made a tensor, or the names of the shape it was declared with.
pub(crate) fn source(graph: &Graph, tensor: Tensor) -> Option<CapturedFrom<'_>> {
    if let Some((spec, labels, rows)) = einsum_of(graph, tensor) {
        let KnownSpec { text, spec, .. } = graph.spec_ref(spec);
        return Some(CapturedFrom {
            text,
            names: &spec.names,
            plain: [true; 3],
            is_spec: true,
            labels,
            rows,
        });
    }
    let Declaration { shape, named, .. } = graph.declarations.get(&tensor.0)?;
    let Named { decl, plain, labels, rows } = named.as_deref()?;
    let names = &decl.names;
    Some(CapturedFrom { text: shape, names, plain: *plain, is_spec: false, labels: *labels, rows: *rows })
}

/// The dimension or the row that was captured, if it is of this graph.
pub(crate) fn captured_place(graph: &Graph, captured: Captured) -> Option<Result<DimTerm, RowRef>> {
    Some(match resolve(graph, captured).ok()? {
        Size::Dim(dim) => Ok(dim),
        Size::Row(row) => Err(row),
    })
}

/// The spec that made a tensor: its index, its first label and its first row.
pub(crate) fn einsum_of(graph: &Graph, tensor: Tensor) -> Option<(u32, u32, u32)> {
    let data = graph.tensors.get(tensor.index())?;
    match graph.steps.get(data.step.index())? {
        Step::Op { op: Op::Einsum { spec, labels, rows, .. }, .. } => Some((*spec, *labels, *rows)),
        _ => None,
    }
}

/// A captured size as it is written: `h` of `scores`.
pub(crate) fn captured_name(graph: &Graph, captured: Captured) -> String {
    let index = captured.index as usize;
    let tensor = match captured.owner {
        SizeOwner::Named => return graph.symbols.get(index).map_or("?".into(), |data| data.name.to_string()),
        SizeOwner::Stated => return graph.stated.get(index).map_or("?".into(), |(name, _)| name.to_string()),
        SizeOwner::Tensor(tensor) => tensor,
    };
    let Some(CapturedFrom { names, .. }) = source(graph, tensor) else { return "?".into() };
    match (captured.is_row, index) {
        (false, _) => names.axes.iter().nth(index).map_or("?".into(), |(_, name)| name.text.to_string()),
        (true, 0..3) => format!(
            "... of the {} row",
            broadloom_spec::Kind::ALL[place(broadloom_spec::Kind::ALL[index])].name()
        ),
        (true, _) => {
            names.rows.iter().nth(index - 3).map_or("?".into(), |(_, name)| format!("..{}..", name.text))
        }
    }
}

pub(crate) fn may_be_empty(graph: &Graph, captured: Captured) -> bool {
    let spec =
        captured.tensor().and_then(|tensor| einsum_of(graph, tensor)).map(|(spec, ..)| graph.spec(spec));
    !captured.is_row && spec.is_some_and(|spec| spec.discardable.get(captured.index as usize) == Some(&true))
}

/// The number of elements of a row as an expression, if all its axes are known.
pub(crate) fn row_form(graph: &Graph, row: RowRef) -> Option<Form> {
    let row = partial_shape::partial_row(graph, row);
    let mut axes = row.lead.iter().chain(&row.trail);
    let one = Form::constant(1);
    let product = axes.try_fold(one, |product, axis| match axis {
        PartialAxis::Known(Axis::Symbolic(size, _)) => product.times(size.form()),
        PartialAxis::Known(axis) => product.scaled(axis.size().into(), 1),
        PartialAxis::Sized(size) => product.scaled((*size).into(), 1),
        PartialAxis::Unknown => None,
    });
    product.filter(|form| !row.open && form.as_constant().is_none())
}
