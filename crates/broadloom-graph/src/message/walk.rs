//! The tensor whose row an operation passed on, step by step back to the one that brought it.

use broadloom_spec::Kind;

use crate::error::MessageLine;
use crate::step::{Leaf, Op, Tensor, place};
use crate::{Graph, names};

/// A row of a tensor.
pub(crate) type TensorRow = (Tensor, Kind);

/// The steps by which a tensor got its row, back to where it was made.
pub(crate) fn walk_back(graph: &Graph, mut row: TensorRow) -> (TensorRow, Vec<MessageLine>) {
    let mut passed = Vec::new();
    while let Some((source, part)) = passed_from(graph, row) {
        passed.push(part);
        row = source;
    }
    (row, passed)
}

/// The row that a tensor shares because an operation, or a gradient, passes it on unchanged.
pub(crate) fn passed_from(graph: &Graph, (tensor, kind): TensorRow) -> Option<(TensorRow, MessageLine)> {
    let row = graph.rows(tensor)[place(kind)];
    let same = |(other, kind): &TensorRow| {
        let other = graph.rows(*other)[place(*kind)];
        (other.start, other.lead, other.trail, other.hole) == (row.start, row.lead, row.trail, row.hole)
    };
    let step = graph.tensors[tensor.index()].step;
    if let Some(Leaf::Gradient(of)) = graph.leaf(tensor) {
        let (own, of) = (names::message_name(graph, tensor), of);
        let text = format!("`{own}` has the shape of `{}`", names::message_name(graph, of));
        return Some(((of, kind), MessageLine::at(step, text)));
    }
    // Without axes nothing shows which row was meant, except that a slice passes on all but the
    // batch.
    if row.is_empty() && !matches!(super::op(graph, step), Some(Op::Slice(_))) {
        return None;
    }
    let rows =
        names::step_operands(graph, step).iter().flat_map(|operand| Kind::ALL.map(|kind| (*operand, kind)));
    let source = rows
        .into_iter()
        .find(|row| same(row) && (row.1 == kind || !graph.rows(row.0)[place(row.1)].is_empty()))?;
    let said = format!(
        "the {} of `{}` becomes its {}",
        source.1.name(),
        names::message_name(graph, source.0),
        kind.name()
    );
    Some((source, MessageLine::stating(step, &names::called(graph, step), said)))
}
