//! Numbers of axes that do not agree.

use broadloom_core::RowVar;
use broadloom_diagnostics::{Advice, Code, Fact, Help, Wording};
use broadloom_spec::{Kind, Mode};

use super::advice::contracts;
use super::ends::or_the_result;
use super::{Case, advice, axes, chain, ends, labels, walk};
use crate::error::{Error, ErrorKind, Remedy};
use crate::spec_options::SliceIndex;
use crate::step::{Aspect, Op, Origin, Step, StepId, Tensor};
use crate::{Graph, names, partial_shape, rust_code, spec_axis};

/// Explains a row that would need more axes than it can have.
pub(super) fn explain_rank(graph: &Graph, case: Case<'_>, row: RowVar, lo: u32, hi: u32) -> Error {
    let own = case.core.constraints.iter().rev().filter(|id| super::origin(graph, **id).step == case.refused);
    let error = own.into_iter().find_map(|id| explain_bounds(graph, super::origin(graph, *id), lo, hi));
    let error = error.unwrap_or_else(|| {
        if let Some(error) = explain_assigned(graph, case.refused, row, lo, hi) {
            return error;
        }
        let message = match ends::tensor_with(graph, row, case.refused) {
            Some((tensor, kind, found)) => {
                let flanks = u32::from(found.lead + found.trail);
                let (least, most) = (axes(lo + flanks), axes(hi + flanks));
                format!(
                    "the {} of {} needs {least} but can have only {most}",
                    kind.name(),
                    or_the_result(tensor.as_deref())
                )
            }
            None => format!("`...` stands for at least {} and at most {}", axes(lo), axes(hi)),
        };
        super::error_at(graph, ErrorKind::Mismatch, case.refused, &message)
    });
    with_declarations(graph, case, error)
}

/// Explains axes of something that is assigned to a state, which lacks them.
fn explain_assigned(graph: &Graph, step: StepId, row: RowVar, lo: u32, hi: u32) -> Option<Error> {
    let target = names::step_results(graph, step).next().filter(|target| graph.leaf(*target).is_some())?;
    let (_, kind, found) = ends::tensor_with(graph, row, step)?;
    let flanks = u32::from(found.lead + found.trail);
    let (name, shape) = (names::message_name(graph, target), partial_shape::shape(graph, target));
    let message = format!(
        "`{name}` is `{shape}`, and what is assigned to it has {} in the {}: there is room for {}",
        axes(lo + flanks),
        kind.name(),
        axes(hi + flanks)
    );
    let error = super::error_at(graph, ErrorKind::Mismatch, step, &message);
    Some(
        error.with_help(
            Wording::new("give `")
                .name(&name)
                .words("` these axes, or sum or average over them before they are assigned"),
        ),
    )
}

/// Explains a refused constraint between a row that is written out and one that is known by
/// bounds.
fn explain_bounds(graph: &Graph, origin: Origin, lo: u32, hi: u32) -> Option<Error> {
    let Origin { step, slot, part } = origin;
    let other = |written: u32| match written {
        written if written <= hi => Some(format!("at least {}", axes(lo))),
        written if written >= lo => Some(format!("at most {}", axes(hi))),
        _ => None,
    };
    if let Some(Step::Op { op: Op::Slice(_), .. }) = graph.steps.get(step.index()) {
        let tensor = spec_axis::slot_tensor(graph, step, usize::from(slot))?;
        let has_none = hi + written_axes(graph, tensor, Kind::Batch) == 0;
        return has_none.then(|| explain_unsliceable(graph, step, tensor));
    }
    match part {
        Aspect::Contract => {
            let [a, b] = [spec_axis::slot_tensor(graph, step, 0)?, spec_axis::slot_tensor(graph, step, 1)?];
            let rows = [graph.rows(a)[Kind::Input as usize], graph.rows(b)[Kind::Output as usize]];
            let [inputs, outputs] = rows.map(|row| u32::from(row.lead + row.trail));
            match rows.map(|row| row.hole.is_none()) {
                [true, false] => {
                    Some(explain_product_rank(graph, step, a, b, [axes(inputs), other(inputs)?]))
                }
                [false, true] => {
                    Some(explain_product_rank(graph, step, a, b, [other(outputs)?, axes(outputs)]))
                }
                _ => None,
            }
        }
        Aspect::Row(kind) => {
            let (known, _) = spec_axis::spec_of_step(graph, step)?;
            let row = known.spec.operands.get(usize::from(slot))?.row(kind);
            let says = row.map_or(0, |row| row.axes().count() as u32);
            let closed = row.is_none_or(|row| row.hole().is_none());
            let tensor = spec_axis::slot_tensor(graph, step, usize::from(slot)).filter(|_| closed)?;
            Some(explain_spec_rank(graph, step, usize::from(slot), tensor, kind, says, &other(says)?))
        }
        _ => None,
    }
}

/// Adds the declarations of the leaves that a contradiction is about.
pub(super) fn with_declarations(graph: &Graph, case: Case<'_>, error: Error) -> Error {
    const MOST: usize = 4;
    let read = case.core.constraints.iter().flat_map(|id| {
        let made = names::step_results(graph, super::origin(graph, *id).step);
        super::rows_read(graph, *id).into_iter().map(|row| walk::walk_back(graph, row).0.0).chain(made)
    });
    let mut leaves: Vec<Tensor> = read.filter(|tensor| graph.declarations.contains_key(&tensor.0)).collect();
    leaves.sort_unstable();
    leaves.dedup();
    leaves.into_iter().take(MOST).fold(error, |error, leaf| error.with_end(super::declared_end(graph, leaf)))
}

/// Explains one constraint whose two rows are written with different numbers of axes.
pub(super) fn explain_overflow(graph: &Graph, case: Case<'_>, written: u32, available: u32) -> Error {
    let Some(id) = case.core.constraints.first() else {
        return Error::new(ErrorKind::Mismatch, "the numbers of axes do not agree");
    };
    let Origin { step, slot, part } = super::origin(graph, *id);
    let tensor = spec_axis::slot_tensor(graph, step, usize::from(slot));
    match (graph.steps.get(step.index()), part, tensor) {
        (Some(Step::Op { op: Op::Einsum { .. }, .. }), Aspect::Row(kind), Some(tensor)) => {
            let has = written_axes(graph, tensor, kind);
            let says = if has == written { available } else { written };
            let error = explain_spec_rank(graph, step, usize::from(slot), tensor, kind, says, &axes(has));
            error.with_end(super::row_end(graph, (tensor, kind)))
        }
        (Some(Step::Op { op: Op::Slice(_), .. }), _, Some(tensor)) => {
            explain_unsliceable(graph, step, tensor)
        }
        (Some(Step::Square(tensor)), ..) => {
            let [input, output] =
                [Kind::Input, Kind::Output].map(|kind| axes(written_axes(graph, *tensor, kind)));
            let message = format!("the input has {input}, the output has {output}");
            super::error_at(graph, ErrorKind::Mismatch, step, &message)
                .with_end(super::declared_end(graph, *tensor))
        }
        (Some(Step::Declared(tensor)), Aspect::Row(kind), _) => {
            let has = written_axes(graph, *tensor, kind);
            let says = if has == written { available } else { written };
            let kind = kind.name();
            let message = format!("this says {} for the {kind}, but it has {}", axes(says), axes(has));
            let shape = format!(
                "`{}` is `{}`",
                names::message_name(graph, *tensor),
                partial_shape::shape(graph, *tensor)
            );
            let error = super::error_at(graph, ErrorKind::Mismatch, step, &message);
            error.with_end(super::about_tensor(graph, *tensor, shape)).with_help(
                "write every axis, or `...` for any number of them; a row that is not written has none",
            )
        }
        (_, Aspect::Contract, _) => {
            let &[a, b, ..] = names::step_operands(graph, step) else {
                return Error::new(ErrorKind::Mismatch, names::subject(graph, step));
            };
            let numbers = [written_axes(graph, a, Kind::Input), written_axes(graph, b, Kind::Output)];
            let error = explain_product_rank(graph, step, a, b, numbers.map(axes));
            error
                .with_end(super::row_end(graph, (a, Kind::Input)))
                .with_end(super::row_end(graph, (b, Kind::Output)))
        }
        (Some(Step::Op { .. }), Aspect::Row(kind), Some(tensor))
            if let Some(target) = names::step_results(graph, step).next() =>
        {
            explain_no_room(graph, step, [tensor, target], kind, written.min(available))
        }
        _ => {
            let message = format!("{} on one side and {} on the other", axes(written), axes(available));
            super::error_at(graph, ErrorKind::Mismatch, step, &message)
        }
    }
}

/// Explains an operand with more axes than the tensor that an operation is assigned to.
fn explain_no_room(
    graph: &Graph,
    step: StepId,
    [operand, target]: [Tensor; 2],
    kind: Kind,
    room: u32,
) -> Error {
    let [name, assigned] = [operand, target].map(|tensor| names::message_name(graph, tensor));
    let (has, room) = (axes(written_axes(graph, operand, kind)), axes(room));
    let message = format!(
        "the {} of `{name}` has {has}, but `{assigned}`, which it is assigned to, has {room}",
        kind.name()
    );
    super::error_at(graph, ErrorKind::Mismatch, step, &message)
        .with_end(super::row_end(graph, (operand, kind)))
        .with_end(super::row_end(graph, (target, kind)))
        .with_help(reduced_first(graph, (operand, target), kind))
}

/// Advice for something with axes that what it is assigned to lacks.
fn reduced_first(graph: &Graph, (operand, target): (Tensor, Tensor), kind: Kind) -> Help {
    let [name, assigned] = [operand, target].map(|tensor| names::message_name(graph, tensor));
    let shape = partial_shape::shape(graph, operand);
    let is_plain = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    let [own, wanted] = [operand, target].map(|tensor| super::known_row(graph, tensor, Kind::Output));
    let is_same = wanted.is_none() || own == wanted;
    let is_number = Kind::ALL.iter().all(|kind| written_axes(graph, target, *kind) == 0);
    let of = || Box::new(Code::tensor(&name));
    let mean = |spec: &str, over| Code::Mean { spec: spec.to_string(), of: of(), over: vec![over] };
    let in_place = |lack: &str, mean: Code, purpose: &str| {
        Wording::new("`")
            .name(&assigned)
            .words(format!("` {lack}: write "))
            .code(mean)
            .words(", or `sum`, in place of `")
            .name(&name)
            .words(format!("`; {purpose}, declare `"))
            .name(&assigned)
            .words(format!("` as `{shape}`"))
    };
    let help = match (kind, written_axes(graph, target, kind), written_axes(graph, operand, Kind::Input)) {
        _ if is_number && is_plain => in_place("is one number", Code::MeanOfAll(of()), "to keep them all"),
        (Kind::Batch, 0, 0) if is_plain && is_same => {
            in_place("has no batch", mean(WITHOUT_BATCH, "b"), "for one of each example")
        }
        (Kind::Output, 0, 0) if is_plain => {
            in_place("has no output axes", mean("... | ..i.. => ... |", "i"), "to keep them all")
        }
        _ => {
            let of = Box::new(Code::tensor("x"));
            let mean = Code::Mean { spec: WITHOUT_BATCH.to_string(), of, over: vec!["b"] };
            Wording::new("declare `")
                .name(&assigned)
                .words("` with these axes, or take a sum or a mean over them first: ")
                .code(mean)
                .words(" leaves out the batch")
        }
    };
    rust_code::help_of(Advice::Declare(vec![assigned]), help)
}

/// A spec that leaves out the batch.
const WITHOUT_BATCH: &str = "..b.. | ... => ...";

/// The number of axes of a row that are written out.
fn written_axes(graph: &Graph, tensor: Tensor, kind: Kind) -> u32 {
    let row = graph.rows(tensor)[kind as usize];
    u32::from(row.lead + row.trail)
}

/// Explains a spec with another number of axes than its operand.
fn explain_spec_rank(
    graph: &Graph,
    step: StepId,
    slot: usize,
    tensor: Tensor,
    kind: Kind,
    says: u32,
    has: &str,
) -> Error {
    if let Some(function) = labels::matrices_of(graph, step).filter(|_| kind != Kind::Batch) {
        let (name, kind, of) = (function.name(), kind.name(), names::message_name(graph, tensor));
        let message =
            format!("`{name}` takes matrices with {} for the {kind}, but `{of}` has {has}", axes(says));
        return super::error_at(graph, ErrorKind::Mismatch, step, &message)
            .with_help("a matrix has one input axis, its columns, and one output axis, its rows: `3 -> 3`");
    }
    let spec = spec_axis::spec_of_step(graph, step);
    let shape = spec.as_ref().and_then(|(known, _)| {
        let shape = known.spec.shapes().nth(slot)?;
        Some(known.written(shape, shape.span))
    });
    let message = format!(
        "`{}` in the spec has {} for the {}, but `{}` has {has}",
        shape.unwrap_or_default(),
        axes(says),
        kind.name(),
        names::message_name(graph, tensor),
    );
    let error = super::error_at(graph, ErrorKind::Mismatch, step, &message).with_fact(Fact::SpecRank);
    if let Some(words) = words_run_together(graph, step, slot, kind) {
        return error.with_help(format!("every letter is an axis here; write `{words}`"));
    }
    let help = match kind {
        Kind::Batch => "write the batch axes before `|`, or `... |` to pass any along",
        Kind::Input => "write the input axes before `->`, or `... ->` to pass any along",
        Kind::Output => "write one label for each axis, or `...` for any number of them",
    };
    error.with_remedy(Remedy::Spec, Help::rule(help))
}

/// A row of words in a spec that is read letter by letter, with the commas it needs.
fn words_run_together(graph: &Graph, step: StepId, slot: usize, kind: Kind) -> Option<String> {
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    let row = chain::spec_row_text(graph, step, slot, kind)?;
    let words: Vec<&str> = row.split_whitespace().collect();
    let run_together = words.iter().any(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 2);
    (known.spec.mode == Mode::Single && run_together).then(|| {
        // A comma anywhere makes names words; a row of one word needs one behind it.
        if words.len() == 1 { format!("{row},") } else { words.join(", ") }
    })
}

fn explain_unsliceable(graph: &Graph, step: StepId, tensor: Tensor) -> Error {
    let (name, shape) = (names::message_name(graph, tensor), partial_shape::shape(graph, tensor));
    let message =
        format!("an index counts along the first batch axis, and `{name}` (`{shape}`) has no batch axes");
    let error = super::error_at(graph, ErrorKind::Mismatch, step, &message)
        .with_end(super::row_end(graph, (tensor, Kind::Batch)));
    let output = super::known_row(graph, tensor, Kind::Output).unwrap_or_default();
    let is_declared = graph.declarations.contains_key(&tensor.0);
    match (&output[..], written_axes(graph, tensor, Kind::Input), graph.steps.get(step.index())) {
        ([_, ..], 0, Some(Step::Op { op: Op::Slice(SliceIndex::At(at)), .. })) if !is_declared => {
            error.with_help(format!("an output axis is chosen by a spec: `... | {at}, ... => ... | ...`"))
        }
        ([first, rest @ ..], 0, _) => error.with_help(format!(
            "batch axes are written before `|`: `{}` has one",
            format!("{first} | {}", rest.join(", ")).trim_end()
        )),
        _ => error.with_help("batch axes are written before `|`"),
    }
}

/// Explains a product of tensors with another number of inputs than outputs.
fn explain_product_rank(graph: &Graph, step: StepId, a: Tensor, b: Tensor, numbers: [String; 2]) -> Error {
    let [inputs, outputs] = numbers;
    let message = format!(
        "the input of `{}` has {inputs}, but the output of `{}` has {outputs}",
        names::message_name(graph, a),
        names::message_name(graph, b),
    );
    let advice = advice::product_advice(graph, step);
    let rule = || rust_code::help_of(Advice::Rule, contracts().words("; `*` is pointwise"));
    let error = super::error_at(graph, ErrorKind::Mismatch, step, &message).with_fact(Fact::ProductRank);
    error.with_help(advice.unwrap_or_else(rule))
}
