//! Numbers of elements that do not agree.

use broadloom_core::{Clash, ConstraintId};
use broadloom_diagnostics::Wording;
use broadloom_spec::{AxisKind, Kind};

use super::{Case, chain, ranks};
use crate::declaration::{BufferFacts, Declaration};
use crate::error::{Error, ErrorKind};
use crate::shape::PartialAxis;
use crate::step::{Aspect, Op, Origin, Step, StepId, Tensor};
use crate::symbols::read;
use crate::{Graph, names, partial_shape, shape, spec_axis};

/// A tensor whose number of elements is known, though its shape is not.
struct Counted {
    tensor: Tensor,
    elements: u64,
    /// The calculation of the number, if it was not given.
    how: String,
}

/// The known facts about the buffer of a leaf, in words.
pub(super) fn given(declaration: &Declaration) -> String {
    match &declaration.given {
        BufferFacts::Nothing => String::new(),
        BufferFacts::Axes(axes) => format!(", with the axes {}", list(axes)),
        BufferFacts::Rows(rows, row) => format!(", with the axes {}", rows_text(rows, row)),
        BufferFacts::Count(count) => format!(", with {count} elements"),
    }
}

/// The axes of data in batches.
pub(super) fn rows_text(rows: &str, row: &[u64]) -> String {
    std::iter::once(rows.to_string()).chain(row.iter().map(u64::to_string)).collect::<Vec<_>>().join(", ")
}

/// Advice for a reshaped tensor: its shape before, if that is known.
fn reshape_advice(graph: &Graph, tensor: Tensor, wanted: Tensor, elements: u64) -> Wording {
    let rule = Wording::new("`reshape` keeps the number of elements");
    let Some(from) = reshaped(graph, tensor) else { return rule };
    if let Some(advice) = one_other_size(graph, wanted, from, elements) {
        return rule.words(": ").and(advice);
    }
    let [batch, output] = [Kind::Batch, Kind::Output].map(|kind| super::known_axes(graph, from, kind));
    match (batch, output) {
        (Some(batch), Some(output))
            if output.len() > 1
                && !batch.is_empty()
                && let Some(elements) = super::product(&output) =>
        {
            let (name, batch) = (names::message_name(graph, from), shape::list(&batch));
            let (output, elements) = (shape::list(&output), read::expression_of(graph, &elements));
            rule.words(", and `")
                .name(name)
                .words(format!("` is `{batch} | {output}`: write `{batch} | {elements}` for one output axis"))
        }
        _ => rule,
    }
}

/// The tensor that another is a reshape of.
fn reshaped(graph: &Graph, tensor: Tensor) -> Option<Tensor> {
    let step = graph.tensors[tensor.index()].step;
    spec_axis::slot_tensor(graph, step, 0).filter(|_| super::op(graph, step).is_some())
}

/// The shape that is wanted, with the one size changed that does not fit; or what differs, if the batch is the same.
fn one_other_size(graph: &Graph, wanted: Tensor, from: Tensor, elements: u64) -> Option<Wording> {
    let [batch, output] = declared_sizes(graph, wanted)?;
    let list = |sizes: &[u64]| sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let sizes = |kind: Kind| -> Option<Vec<u64>> {
        super::known_axes(graph, from, kind)?.iter().map(PartialAxis::size).collect()
    };
    let same = !batch.is_empty() && sizes(Kind::Batch).as_ref() == Some(&batch);
    let mut all = [&batch[..], &output[..]].concat();
    let others = |at: usize| [&all[..at], &all[at + 1..]].concat().iter().product::<u64>();
    let fits = |at: &usize| others(*at) > 0 && elements.is_multiple_of(others(*at));
    // A batch that is right stays.
    let first = if same { batch.len() } else { 0 };
    let fitting: Vec<(usize, u64)> =
        (first..all.len()).filter(fits).map(|at| (at, elements / others(at))).collect();
    // Of several, the last axis: it is the one that layers make.
    let last = fitting.last().filter(|(at, _)| fitting.len() == 1 || *at + 1 == all.len());
    if let Some(&(at, size)) = last {
        all[at] = size;
        let (batch, output) = all.split_at(batch.len());
        let bar = if batch.is_empty() { "" } else { " | " };
        let (name, shape) = (names::message_name(graph, from), partial_shape::shape(graph, from));
        let text = format!("` is `{shape}`; write `{}{bar}{}`", list(batch), list(output));
        return Some(Wording::new("`").name(name).words(text));
    }
    let (wide, own) = (output.iter().product::<u64>(), sizes(Kind::Output)?.iter().product::<u64>());
    let name = names::message_name(graph, from);
    same.then(|| {
        Wording::new(format!("the batch is the same; `{}` takes {wide} for each, and `", list(&output)))
            .name(name)
            .words(format!("` has {own}"))
    })
}

/// The sizes of the batch and of the outputs of a declared shape without inputs, if all of them are written.
fn declared_sizes(graph: &Graph, tensor: Tensor) -> Option<[Vec<u64>; 2]> {
    let shape = &graph.declarations.get(&tensor.0)?.decl.as_ref()?.shape;
    if shape.input.is_some() || shape.rows().any(|(_, row)| row.hole().is_some()) {
        return None;
    }
    let sizes = |kind: Kind| match shape.row(kind) {
        Some(row) => row.axes().map(|axis| Some(axis.size?.size.get())).collect(),
        None => Some(Vec::new()),
    };
    Some([sizes(Kind::Batch)?, sizes(Kind::Output)?])
}

/// Explains a number of elements that does not fit the uses of the tensor.
pub(super) fn explain_counts(graph: &Graph, case: Case<'_>) -> Option<Error> {
    let ids = &case.core.constraints;
    if let Some(error) = ids.iter().find_map(|id| explain_remainder(graph, *id)) {
        return Some(error);
    }
    let counted = match &case.core.clash {
        Clash::Arithmetic { constraint, .. } => counted(graph, *constraint)?,
        Clash::Exhausted => ids.iter().find_map(|id| counted(graph, *id))?,
        _ => return None,
    };
    let Counted { tensor, elements, how } = &counted;
    let has = format!("`{}` has {elements} elements{how}", names::message_name(graph, *tensor));
    let declared =
        ids.iter().find_map(|id| match graph.steps.get(super::origin(graph, *id).step.index())? {
            Step::Declared(other) => Some((*other, declared_elements(graph, *other)?)),
            _ => None,
        });
    if let Some((wanted, declared)) = declared.filter(|(_, declared)| declared != elements) {
        let message = format!("{has}, and the shape that it is to have takes {declared}");
        let mut error = ranks::with_declarations(graph, case, Error::new(ErrorKind::Arithmetic, message));
        let from = reshaped(graph, *tensor).filter(|from| graph.declarations.contains_key(&from.0));
        if let Some(from) = from {
            error = error.with_end(super::declared_end(graph, from));
        }
        return Some(error.with_help(reshape_advice(graph, *tensor, wanted, *elements)));
    }
    let asked = ids.iter().rev().find_map(|id| asked(graph, *id, *tensor));
    let message = match asked {
        Some(asked) => format!("{has}, but {asked}"),
        None => format!("{has}, which does not fit its use"),
    };
    let error = super::error_at(graph, ErrorKind::Arithmetic, case.refused, &message);
    let error = ranks::with_declarations(graph, case, error);
    Some(error.with_help("the product of all axes is the number of elements"))
}

/// The tensor whose elements a constraint counts.
fn counted(graph: &Graph, id: ConstraintId) -> Option<Counted> {
    let Origin { step, part: Aspect::Whole, .. } = super::origin(graph, id) else { return None };
    match graph.steps.get(step.index())? {
        Step::Leaf { tensor, .. } => match graph.declarations.get(tensor)?.given {
            BufferFacts::Count(elements) => {
                Some(Counted { tensor: Tensor(*tensor), elements, how: String::new() })
            }
            _ => None,
        },
        Step::Op { op: Op::Convert { factor, divisor }, result, .. } => {
            let size = elements_of(graph, spec_axis::slot_tensor(graph, step, 0)?)?;
            let times = size.checked_mul(*factor).filter(|times| times % divisor == 0)?;
            let by = if *divisor == 1 { String::new() } else { format!("/{divisor}") };
            let how = if factor == divisor { String::new() } else { format!(" ({factor}·{size}{by})") };
            Some(Counted { tensor: Tensor(*result), elements: times / divisor, how })
        }
        _ => None,
    }
}

/// The number of elements of a tensor, as far as it is known.
pub(super) fn elements_of(graph: &Graph, tensor: Tensor) -> Option<u64> {
    let rows = partial_shape::shape(graph, tensor).rows;
    rows.iter().try_fold(1u64, |all, row| all.checked_mul(row.elements()?))
}

/// The number of elements that the declared shape of a tensor has, if it is written out.
fn declared_elements(graph: &Graph, tensor: Tensor) -> Option<u64> {
    let shape = &graph.declarations.get(&tensor.0)?.decl.as_ref()?.shape;
    let open = shape.rows().any(|(_, row)| row.hole().is_some());
    let mut axes = shape.axes().map(|axis| Some(axis.size?.size.get()));
    let product = axes.try_fold(1u64, |all, size| all.checked_mul(size?));
    product.filter(|_| !open)
}

/// Explains a conversion whose number of elements is not whole.
fn explain_remainder(graph: &Graph, id: ConstraintId) -> Option<Error> {
    let Origin { step, part: Aspect::Whole, .. } = super::origin(graph, id) else { return None };
    let Some(Op::Convert { factor, divisor }) = super::op(graph, step) else { return None };
    let operand = spec_axis::slot_tensor(graph, step, 0)?;
    let size = elements_of(graph, operand)?;
    let times = size.checked_mul(factor).filter(|times| times % divisor != 0)?;
    let name = names::message_name(graph, operand);
    let message = format!("`{name}` has {size} elements, and {times} is not a multiple of {divisor}");
    let help =
        Wording::new(format!("{factor}·{size} elements are divided by {divisor}: change the size of `"))
            .name(&name)
            .words("` or the factors");
    Some(super::error_at(graph, ErrorKind::Arithmetic, step, &message).with_help(help))
}

/// Explains why the result of a conversion cannot have its sizes: the operand would not be
/// whole.
pub(super) fn not_converted(
    graph: &Graph,
    step: StepId,
    factor: u64,
    divisor: u64,
    sizes: &[Option<u64>],
) -> Option<String> {
    let [axes @ .., None] = sizes else { return None };
    let axes: Vec<u64> = axes.iter().copied().collect::<Option<_>>()?;
    let elements = axes.iter().try_fold(1u64, |all, size| all.checked_mul(*size))?;
    let whole = elements.checked_mul(divisor)?.is_multiple_of(factor);
    let product = axes.iter().map(u64::to_string).collect::<Vec<_>>().join("·");
    let made = names::called(graph, step);
    (!whole)
        .then(|| format!("{made} has {product} = {elements} elements, which is not a multiple of {factor}"))
}

/// The number of elements that a constraint requires of a tensor, in words.
fn asked(graph: &Graph, id: ConstraintId, tensor: Tensor) -> Option<String> {
    let Origin { step, slot, part } = super::origin(graph, id);
    let rows = super::rows_read(graph, id);
    let (own, kind) = rows.iter().position(|(read, _)| *read == tensor).map(|at| (at, rows[at].1))?;
    if let (Aspect::Contract, Some((other, kind))) = (part, rows.get(1 - own)) {
        let elements = partial_shape::partial_row(graph, graph.rows(*other)[*kind as usize]).elements()?;
        return Some(format!(
            "the {} of `{}` has {elements}",
            kind.name(),
            names::message_name(graph, *other)
        ));
    }
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    let row = known.spec.shapes().nth(usize::from(slot))?.row(kind)?;
    let size = |axis: &broadloom_spec::Axis| match axis.kind {
        AxisKind::Label(label) => spec_axis::label_size(graph, step, label),
        _ => None,
    };
    let sizes: Vec<u64> = row.axes().map(size).collect::<Option<_>>()?;
    let text = chain::spec_row_text(graph, step, usize::from(slot), kind)?;
    let factors: Vec<String> = sizes.iter().map(u64::to_string).collect();
    Some(match &factors[..] {
        [one] => format!("`{text}` is {one}"),
        _ => format!(
            "`{text}` is {} = {}",
            factors.join("·"),
            sizes.iter().fold(1, |all: u64, size| all.saturating_mul(*size))
        ),
    })
}

pub(super) fn list(axes: &[u64]) -> String {
    axes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}
