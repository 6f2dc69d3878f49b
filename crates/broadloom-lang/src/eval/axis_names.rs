//! Names of axes: those that declared shapes have for the axes of their tensors.
//!
//! A name in a declared shape may stand for a number: `{query : ... -> heads, size}` in a layer whose `heads` is 8. The graph sees the
//! number only, and the name is kept here, for those who divide the program over devices by names.

use broadloom::{AxisName, Kind, RowPlace, Tensor};

use super::Eval;
use crate::syntax::ast::{Axis, AxisKind, Name, Shape};
use crate::value::Value;

/// A name that a declared shape has for an axis.
pub(super) struct NamedAxis {
    kind: Kind,
    place: RowPlace,
    name: Name,
}

/// A part of a declared row.
enum RowItem {
    /// An axis, perhaps with a name.
    Axis(Option<Name>),
    /// Any number of axes.
    Hole,
}

/// Notes the names of axes of a tensor.
pub(super) fn note_axis_names(eval: &mut Eval<'_>, tensor: Tensor, axes: &[NamedAxis]) {
    for NamedAxis { kind, place, name } in axes {
        let name = eval.text(*name).to_string();
        // In a function, the name is an argument of the function.
        let is_size = eval.frame.layer.is_none() && eval.dims.iter().any(|dim| dim.name == name);
        eval.axis_names.push(AxisName { tensor, kind: *kind, place: *place, name, is_size });
    }
}

/// The names that a declared shape has for axes.
pub(super) fn axis_names_in(eval: &Eval<'_>, shape: &Shape) -> Vec<NamedAxis> {
    let mut named = Vec::new();
    let rows = [(Kind::Batch, &shape.batch), (Kind::Input, &shape.input)];
    let rows = rows.into_iter().filter_map(|(kind, row)| Some((kind, row.as_ref()?)));
    let has_names =
        |row: &[Axis]| row.iter().any(|axis| matches!(axis.kind, AxisKind::Name(_) | AxisKind::Row(_)));
    for (kind, row) in rows.chain([(Kind::Output, &shape.output)]).filter(|(_, row)| has_names(row)) {
        let pieces: Vec<RowItem> = row.iter().flat_map(|axis| pieces(eval, axis)).collect();
        let hole = pieces.iter().position(|piece| matches!(piece, RowItem::Hole));
        let last = pieces.iter().rposition(|piece| matches!(piece, RowItem::Hole));
        for (at, piece) in pieces.iter().enumerate() {
            let RowItem::Axis(Some(name)) = piece else { continue };
            let place = if hole.is_none_or(|hole| at < hole) {
                RowPlace::FromStart(at)
            } else if last.is_some_and(|last| at > last) {
                RowPlace::FromEnd(pieces.len() - 1 - at)
            } else {
                continue;
            };
            named.push(NamedAxis { kind, place, name: *name });
        }
    }
    named
}

/// The axes that a declared axis stands for.
fn pieces(eval: &Eval<'_>, axis: &Axis) -> Vec<RowItem> {
    match &axis.kind {
        AxisKind::Size(_) | AxisKind::Any | AxisKind::Expr(_) => vec![RowItem::Axis(None)],
        AxisKind::Name(name) => vec![RowItem::Axis(Some(*name))],
        AxisKind::Rest => vec![RowItem::Hole],
        AxisKind::Row(name) => match eval.frame.scope.find(*name) {
            Some(Value::Number(_) | Value::Size(_)) => vec![RowItem::Axis(Some(*name))],
            Some(Value::List(sizes)) => sizes.iter().map(|_| RowItem::Axis(Some(*name))).collect(),
            _ => vec![RowItem::Hole],
        },
    }
}
