//! The order of the labels of a spec that would fit its operands.
//!
//! In `einsum("b | s d; b | d t => b | s t", q, k)` with `k : 4 | 9, 16` and `q : 4 | 6, 16`, only `b | t d` fits `k`.

use broadloom_diagnostics::{Advice, Code, Help, Wording};
use broadloom_loops::MatrixFunction;
use broadloom_spec::{Axis, AxisId, AxisKind, Kind, Shape, Span};

use super::Case;
use crate::notation::KnownSpec;
use crate::operation::id::OperationId;
use crate::spec_axis::{AxisPlace, Spot, row_spots, spec_axes};
use crate::step::{Op, StepId};
use crate::{Graph, names, partial_shape, rust_code, spec_axis};

/// Rows with more labels are not put into other orders.
const MOST_LABELS: usize = 4;

/// A label of an operand, with its size where that is known.
type Placed = (AxisId, Option<u64>);

/// Advice about a label that would have two sizes.
pub(super) fn spec_advice(graph: &Graph, case: Case<'_>, [a, b]: [&str; 2]) -> Help {
    if let Some(Op::Einsum {
        id: OperationId::Scatter | OperationId::Elements | OperationId::Gather, ..
    }) = super::op(graph, case.refused)
    {
        return format!("each element has a position: make both {a} or both {b}").into();
    }
    if let Some(function) = matrices_of(graph, case.refused) {
        let of_two = |is: &str| {
            let call = Code::Call(function.written(), ["a", "b"].map(Code::tensor).to_vec());
            let rule = format!(
                ", `a` is {is}, and `b` has the same output axis, and the same batch axes or none: make both {a} or both {b}"
            );
            rust_code::help_of(Advice::Rule, Wording::new("in ").code(call).words(rule))
        };
        return match function {
            MatrixFunction::Solve => of_two("square, `n -> n`"),
            MatrixFunction::Lstsq => of_two("a matrix, `n -> m`"),
            _ => Help::rule(format!(
                "`{}` takes square matrices, `n -> n`: make both {a} or both {b}",
                function.written()
            )),
        };
    }
    if let Some(advice) = other_order(graph, case.refused) {
        return advice.into();
    }
    let mut steps = case.core.constraints.iter().map(|id| super::origin(graph, *id).step);
    match steps.all(|step| step == case.refused) {
        true => Help::rule(format!(
            "a label is one size wherever it stands: make both {a} or both {b}, or use two labels for two sizes"
        )),
        false => Help::rule(format!("an axis has one size wherever it is used: make both {a} or both {b}")),
    }
}

/// The message about two axes of matrices that cannot agree: the labels of these functions are not the program's.
pub(super) fn of_one_size(graph: &Graph, step: StepId, [a, b]: [&str; 2]) -> Option<String> {
    let name = matrices_of(graph, step)?.written();
    Some(format!("`{name}` needs axes of one size, and {a} and {b} do not agree"))
}

/// The function of matrices that a step computes, or would compute.
pub(super) fn matrices_of(graph: &Graph, step: StepId) -> Option<MatrixFunction> {
    match super::op(graph, step)? {
        Op::Einsum { id: OperationId::Matrix(function), .. } => Some(function),
        _ => None,
    }
}

/// The one operand whose labels fit in another order, and that order.
fn other_order(graph: &Graph, step: StepId) -> Option<Wording> {
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    let operands = &known.spec.operands;
    let mut found = None;
    for (slot, shape) in operands.iter().enumerate() {
        for kind in Kind::ALL {
            let Some(row) = placed(graph, step, slot, kind) else { continue };
            let others = elsewhere_sized(graph, step, slot, kind);
            let mut fitting = orders(&row).into_iter().filter(|order| fits(order, &others));
            let Some(order) = fitting.next() else { continue };
            if fitting.next().is_some() || found.is_some() {
                return None;
            }
            found = Some((slot, shape, kind, order));
        }
    }
    let (slot, shape, kind, order) = found?;
    let tensor = spec_axis::slot_tensor(graph, step, slot)?;
    let written = reordered(&known, shape, kind, &order)?;
    let mut all: Vec<String> =
        operands.iter().map(|each| known.written(each, each.span).trim().to_string()).collect();
    all[slot] = written.clone();
    let results: Vec<String> =
        known.spec.results.iter().map(|each| known.written(each, each.span).trim().to_string()).collect();
    let shape = partial_shape::shape(graph, tensor);
    Some(Wording::new("`").name(names::message_name(graph, tensor)).words(format!(
        "` is `{shape}`: write `{written}` for it, `{} => {}`",
        all.join("; "),
        results.join("; ")
    )))
}

/// The labels of a row of an operand, with their sizes; nothing if the row has anything else.
fn placed(graph: &Graph, step: StepId, slot: usize, kind: Kind) -> Option<Vec<Placed>> {
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    let row = known.spec.operands.get(slot)?.row(kind)?;
    let tensor = spec_axis::slot_tensor(graph, step, slot)?;
    let placed = row_spots(row).map(|(axis, spot): (_, Spot)| match axis.kind {
        AxisKind::Label(label) => Some((label, spec_axis::size_at(graph, AxisPlace { tensor, kind, spot }))),
        _ => None,
    });
    let placed: Vec<Placed> = placed.collect::<Option<_>>()?;
    (row.hole().is_none() && (2..=MOST_LABELS).contains(&placed.len())).then_some(placed)
}

/// The sizes of labels at all other places of the operands.
fn elsewhere_sized(graph: &Graph, step: StepId, slot: usize, kind: Kind) -> Vec<(AxisId, u64)> {
    let Some((known, _)) = spec_axis::spec_of_step(graph, step) else { return Vec::new() };
    let count = names::step_operands(graph, step).len();
    let mut sizes: Vec<(AxisId, u64)> = Vec::new();
    for (axis, other, row, spot) in spec_axes(&known.spec) {
        let (AxisKind::Label(label), true) = (&axis.kind, other < count) else { continue };
        let Some(tensor) =
            spec_axis::slot_tensor(graph, step, other).filter(|_| (other, row) != (slot, kind))
        else {
            continue;
        };
        let Some(size) = spec_axis::size_at(graph, AxisPlace { tensor, kind: row, spot }) else { continue };
        sizes.push((*label, size));
    }
    sizes
}

/// Returns true if labels in some order have the sizes that they have elsewhere, and these agree.
fn fits(order: &[Placed], others: &[(AxisId, u64)]) -> bool {
    let own = order.iter().filter_map(|(label, size)| Some((*label, (*size)?)));
    let all: Vec<(AxisId, u64)> = own.chain(others.iter().copied()).collect();
    order.iter().all(|(_, size)| size.is_some())
        && all.iter().all(|(label, size)| all.iter().all(|(other, own)| other != label || own == size))
}

/// All orders of the labels of a row, whose sizes stay where they are.
fn orders(row: &[Placed]) -> Vec<Vec<Placed>> {
    let labels: Vec<AxisId> = row.iter().map(|(label, _)| *label).collect();
    let mut all: Vec<Vec<AxisId>> = vec![Vec::new()];
    for _ in 0..labels.len() {
        let longer = all.into_iter().flat_map(|order| {
            let rest = labels.iter().filter(|label| !order.contains(label)).copied().collect::<Vec<_>>();
            rest.into_iter().map(move |label| [&order[..], &[label]].concat())
        });
        all = longer.collect();
    }
    let sizes = row.iter().map(|(_, size)| *size);
    all.into_iter().map(|order| order.into_iter().zip(sizes.clone()).collect()).collect()
}

/// An operand of a spec with the labels of one row in another order.
fn reordered(known: &KnownSpec, shape: &Shape<Axis>, kind: Kind, order: &[Placed]) -> Option<String> {
    let row = shape.row(kind)?;
    // A spec that was built has no text to change.
    let mut written =
        Some(shape.span).filter(|span| *span != Span::default())?.slice(&known.text).to_string();
    let start = shape.span.start;
    let axes: Vec<_> = row.axes().collect();
    // From behind, so that places before stay where they are.
    for (axis, (label, _)) in axes.into_iter().zip(order).rev() {
        let own = (axis.span.start - start) as usize..(axis.span.end - start) as usize;
        written.get(own.clone())?;
        written.replace_range(own, known.spec.names.axes.text(*label));
    }
    Some(written.trim().to_string())
}
