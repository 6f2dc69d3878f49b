//! From a contradiction in the solver to a message about the program.
//!
//! Every constraint knows its step, operand and row ([`Origin`]), so a core reads as a list of
//! operations. A message names the operation that is impossible, both ends of the conflict with the
//! tensors they come from, the operations between, and a way out.
//!
//! | file | writes |
//! |---|---|
//! | `ends` | the two ends of a conflict of sizes: which tensor wrote which size where |
//! | `chain` | the operations between the ends, from one to the other |
//! | `advice` | what to do about a conflict of sizes or of numbers of axes |
//! | `meetings` | two known sizes that one step brings together, where the solver found the conflict further away |
//! | `labels` | the order of the labels of a spec that would fit its operands |
//! | `ranks` | numbers of axes that do not agree |
//! | `repairs` | the change that would make two operands fit |
//! | `arithmetic` | windows, concatenations, and indices that do not come out |
//! | `relations` | captured sizes that do not come out as they were set or related |
//! | `buffers` | data that does not fit its declaration |
//! | `counts` | numbers of elements that do not come out |
//! | `holes` | parameters that lack a size |
//! | `guesses` | labels and shapes that only a guess would decide |
//! | `why` | no mistakes: the reason why an axis has its size |
//! | `symbols` | named sizes that meet, leave their range, or do not come out |

mod advice;
mod arithmetic;
mod buffers;
pub(crate) mod chain;
mod counts;
pub(crate) mod ends;
mod guesses;
mod holes;
mod labels;
mod meetings;
mod ranks;
mod relations;
mod repairs;
mod symbols;
pub(crate) mod walk;

pub(crate) use guesses::explain_guess;
pub(crate) use holes::{explain_holes, explain_short};
pub use relations::Multiples;

use broadloom_core::order::Dim;
use broadloom_core::{Clash, ConstraintId, Core, DimShape, DimVar, Form, Limit};
use broadloom_diagnostics::{Code, Fact, Wording};
use broadloom_spec::Kind;

use crate::declaration::{BufferFacts, Declaration};
use crate::error::{self, Error, ErrorKind, Remedy};
use crate::shape::{Axis, PartialAxis};
use crate::spec_axis::{Rule, SizedAxis};
use crate::step::{Aspect, Captured, Op, Origin, Step, StepId, Tensor};
use crate::{Graph, captured, names, partial_shape, rust_code, spec_axis};

/// The contradiction that is to be explained.
#[derive(Clone, Copy)]
struct Case<'a> {
    core: &'a Core,
    /// The latest step of the core: the one that is refused.
    refused: StepId,
}

/// Explains why some constraints have no solution together.
pub(crate) fn explain(graph: &Graph, core: &Core) -> Error {
    let refused = core.constraints.iter().map(|id| origin(graph, *id).step).max().unwrap_or(StepId(0));
    explain_case(graph, Case { core, refused }).about_step(refused)
}

fn explain_case(graph: &Graph, case: Case<'_>) -> Error {
    // The message is about the name that is out of its range, not about the array that does not
    // fit.
    let named = matches!(case.core.clash, Clash::Range { .. });
    if let Some(error) = buffers::explain_buffer(graph, case).filter(|_| !named) {
        return error;
    }
    match &case.core.clash {
        Clash::Dims { .. } => explain_dims(graph, case),
        // These are about named sizes, whatever else is counted.
        clash @ (Clash::Symbols { .. } | Clash::Range { .. }) => {
            explain_other(graph, case, clash).with_chain(chain::chain(graph, case, [None; 2]))
        }
        clash => {
            let error =
                counts::explain_counts(graph, case).unwrap_or_else(|| explain_other(graph, case, clash));
            error.with_chain(chain::chain(graph, case, [None; 2]))
        }
    }
}

/// An error about a step, with its sentence.
fn error_at(graph: &Graph, kind: ErrorKind, step: StepId, what: &str) -> Error {
    Error::of_step(kind, step, &names::subject(graph, step), what)
}

fn explain_other(graph: &Graph, case: Case<'_>, clash: &Clash) -> Error {
    match clash {
        Clash::Rank { row, lo, hi } => ranks::explain_rank(graph, case, *row, *lo, *hi),
        Clash::Overflow { written, available, .. } => {
            ranks::explain_overflow(graph, case, *written, *available)
        }
        Clash::RankCycle => error_at(
            graph,
            ErrorKind::Mismatch,
            case.refused,
            "some row would have to have more axes than itself",
        )
        .with_help(
            "an operation uses its own result with further axes; give one of the rows a fixed number of axes",
        ),
        Clash::Arithmetic { constraint, sizes } => {
            arithmetic::explain_arithmetic(graph, case, *constraint, sizes)
        }
        Clash::Size { what, bounds } => arithmetic::explain_size(graph, case, *what, *bounds),
        Clash::Symbols { ends } => symbols::explain_symbols(graph, case, *ends),
        Clash::Range { symbol, size, bounds } => symbols::explain_range(graph, case, *symbol, *size, *bounds),
        Clash::Expressions { constraint, sizes } => {
            symbols::explain_expressions(graph, case, *constraint, sizes)
        }
        Clash::Dims { .. } | Clash::Exhausted => {
            meetings::explain_meeting(graph, case).unwrap_or_else(|| {
                let message = "no number of axes and no sizes fit these operations together";
                ranks::with_declarations(
                    graph,
                    case,
                    error_at(graph, ErrorKind::Mismatch, case.refused, message),
                )
            })
        }
    }
}

/// Explains a dimension that would have to be two things.
fn explain_dims(graph: &Graph, case: Case<'_>) -> Error {
    let Clash::Dims { what, mut ends, mut sources } = case.core.clash else {
        return explain_other(graph, case, &case.core.clash);
    };
    // The older end comes first.
    let age = |source: Option<ConstraintId>| source.map(|id| origin(graph, id).step);
    if age(sources[0]) > age(sources[1]) {
        ends.reverse();
        sources.reverse();
    }
    // An axis without a claim is what the solver tried last; the sizes that meet are the reason.
    if let Some(error) = meetings::explain_meeting(graph, case).filter(|_| ends.contains(&Dim::Unit)) {
        return error.with_chain(chain::chain(graph, case, sources));
    }
    let mut error = headline(graph, case, what, ends);
    for end in ends::ends(graph, case, what, ends, sources) {
        error = error.with_end(end);
    }
    let error = error.with_chain(chain::chain(graph, case, sources));
    let is_spec = matches!(op(graph, case.refused), Some(Op::Einsum { id, .. }) if !id.is_joined());
    let error = advice::facts(graph, case, ends).into_iter().fold(error, Error::with_fact);
    match advice::advice(graph, case, ends) {
        Some(help) if is_spec => error.with_remedy(Remedy::Spec, help),
        Some(help) => error.with_help(help),
        None => error,
    }
}

/// The contradiction, in one sentence.
fn headline(graph: &Graph, case: Case<'_>, what: Option<DimShape>, ends: [Dim; 2]) -> Error {
    let [a, b] = ends.map(|end| shown(graph, end));
    if let (Some(Step::Set(captured, _)), Some(DimShape::Var(var))) =
        (graph.steps.get(case.refused.index()), what)
        && captured_var(graph, *captured) == Some(var)
    {
        let message = format!("{} cannot be both {a} and {b}", names::captured_text(graph, *captured));
        let of = captured.tensor().map(|tensor| names::label_of(graph, tensor));
        return Error::new(ErrorKind::Mismatch, message).with_fact(Fact::NamedAxis { of });
    }
    let error = |message: String| error_at(graph, ErrorKind::Mismatch, case.refused, &message);
    match what.and_then(|what| ends::what_text(graph, case, what)) {
        Some(_) if let Some(message) = labels::of_one_size(graph, case.refused, [&a, &b]) => error(message),
        Some((what, of)) => {
            error(format!("{what} cannot be both {a} and {b}")).with_fact(Fact::NamedAxis { of })
        }
        None => error(format!("{a} and {b} do not agree")),
    }
}

/// The variable of a captured label.
fn captured_var(graph: &Graph, captured: Captured) -> Option<DimVar> {
    captured::captured_place(graph, captured)?.ok()?.var()
}

/// Explains that a limit of the solver was reached.
pub(crate) fn explain_limit(graph: &Graph, limit: Limit) -> Error {
    let (what, help) = match limit {
        Limit::Branches => ("too many choices were tried", "state the number of axes of a row, or a size"),
        Limit::Axes | Limit::RankMoves => {
            ("the rows have too many axes", "look for a row that grows with each use")
        }
        Limit::RankBound => ("a solution could need very many axes", "state the number of axes of a row"),
        Limit::Expressions => (
            "a size depends on named sizes in a way that no expression says",
            "set that size, or give the named sizes numbers",
        ),
        Limit::SizeBound => {
            ("a solution could need very large sizes", "set one of the sizes in the sums or windows")
        }
    };
    let error = Error::new(ErrorKind::GaveUp, format!("shapes could not be inferred: {what}"));
    let dropped = dropped_of_a_name(graph).filter(|_| limit == Limit::Expressions);
    let quotient = quotient_of_names(graph).filter(|_| limit == Limit::Expressions);
    if let (None, Some((step, axis))) = (&dropped, quotient) {
        let text = format!("a part of `{}` would be a quotient of named sizes", axis.text);
        let help = "give the named sizes numbers, or state a size that divides for all of them";
        return error.about_step(step).with_end(error::MessageLine::at(step, text)).with_help(help);
    }
    match dropped {
        Some((step, axis)) => {
            let text =
                format!("`{}` drops what is left over, and how much that is depends on the size", axis.text);
            let help = Wording::new("give the named size a number, ")
                .code(Code::Size("n", 8))
                .words(", or write a window that fits, without `~`");
            let error = error.about_step(step).with_end(error::MessageLine::at(step, text));
            error.with_help(rust_code::help(help))
        }
        None => error.with_help(help),
    }
}

/// A window that drops the remainder of an axis with a named size.
fn dropped_of_a_name(graph: &Graph) -> Option<(StepId, SizedAxis)> {
    graph.step_ids().find_map(|step| {
        let (known, _) = spec_axis::spec_of_step(graph, step)?;
        let count = crate::spec_axis::spec_axes(&known.spec).count() as u16;
        let axes = (0..count).filter_map(|at| spec_axis::sized_axis(graph, step, at));
        let drops = |axis: &SizedAxis| matches!(axis.rule, Rule::Window(form) if form.slack() > 0);
        axes.into_iter().find(|axis| drops(axis) && axis.whole.is_none()).map(|axis| (step, axis))
    })
}

/// A composed axis with named sizes in it, of which some part is not known.
fn quotient_of_names(graph: &Graph) -> Option<(StepId, SizedAxis)> {
    graph.step_ids().rev().find_map(|step| {
        let (known, _) = spec_axis::spec_of_step(graph, step)?;
        let count = crate::spec_axis::spec_axes(&known.spec).count() as u16;
        let mut axes = (0..count).filter_map(|at| spec_axis::sized_axis(graph, step, at));
        let is_open = |axis: &SizedAxis| {
            matches!(axis.rule, Rule::Product(_)) && axis.parts.iter().any(|(_, size)| size.is_none())
        };
        axes.find(is_open).map(|axis| (step, axis))
    })
}

/// A line about a tensor.
pub(crate) fn about_tensor(graph: &Graph, tensor: Tensor, text: String) -> error::MessageLine {
    error::MessageLine::at(graph.tensors[tensor.index()].step, text)
}

/// A leaf and its declaration, as an end of a conflict.
pub(crate) fn declared_end(graph: &Graph, tensor: Tensor) -> error::MessageLine {
    about_tensor(graph, tensor, declared_text(graph, tensor))
}

/// The tensor that a row comes from, and its declaration, as an end of a conflict.
fn row_end(graph: &Graph, row: (Tensor, Kind)) -> error::MessageLine {
    declared_end(graph, walk::walk_back(graph, row).0.0)
}

pub(crate) fn origin(graph: &Graph, id: ConstraintId) -> Origin {
    graph.origins.get(id.index()).copied().unwrap_or(Origin { step: StepId(0), slot: 0, part: Aspect::Whole })
}

/// A dimension as it is declared.
pub(crate) fn shown(graph: &Graph, dim: Dim) -> String {
    if dim == Dim::Unit { "1:unit".into() } else { partial_shape::axis_of(graph, dim).to_string() }
}

/// The operation of a step.
fn op(graph: &Graph, step: StepId) -> Option<Op> {
    if let Some(Step::Op { op, .. }) = graph.steps.get(step.index()) { Some(*op) } else { None }
}

/// The rows of tensors that a constraint reads: one row of an operand, or both rows that it
/// contracts or equates.
pub(crate) fn rows_read(graph: &Graph, id: ConstraintId) -> Vec<(Tensor, Kind)> {
    let Origin { step, slot, part } = origin(graph, id);
    let operands = names::step_operands(graph, step);
    match (graph.steps.get(step.index()), part) {
        (_, Aspect::Contract) => operands.iter().copied().zip([Kind::Input, Kind::Output]).collect(),
        (Some(Step::Square(tensor)), _) => vec![(*tensor, Kind::Input), (*tensor, Kind::Output)],
        (Some(Step::Declared(tensor)), Aspect::Row(kind)) => vec![(*tensor, kind)],
        (Some(Step::Op { op: Op::Transpose, .. }), Aspect::Row(kind)) => {
            operands.iter().map(|tensor| (*tensor, transposed(kind))).collect()
        }
        (Some(Step::Op { op, .. }), Aspect::Made(kind)) => {
            let sources = crate::step::sources(*op, operands.len(), kind);
            sources.filter_map(|(slot, from)| Some((*operands.get(slot)?, from))).collect()
        }
        (_, Aspect::Row(kind)) => {
            let operand = operands.get(usize::from(slot)).copied();
            // An assignment to an existing tensor has existing rows on both sides.
            let target =
                names::step_results(graph, step).find(|tensor| graph.tensors[tensor.index()].step != step);
            operand.into_iter().chain(target).map(|tensor| (tensor, kind)).collect()
        }
        _ => Vec::new(),
    }
}

/// The axes of a row, if all of them are known.
fn known_axes(graph: &Graph, tensor: Tensor, kind: Kind) -> Option<Vec<PartialAxis>> {
    let row = partial_shape::partial_row(graph, graph.rows(tensor)[kind as usize]);
    let is_known = row.lead.iter().all(|axis| *axis != PartialAxis::Unknown);
    (!row.open && is_known).then_some(row.lead)
}

/// The axes of a row as they are written, if all of them are known.
fn known_row(graph: &Graph, tensor: Tensor, kind: Kind) -> Option<Vec<String>> {
    Some(known_axes(graph, tensor, kind)?.iter().map(PartialAxis::to_string).collect())
}

/// The number of elements of some axes, which may be an expression over named sizes; none if one of them claims no size.
fn product(axes: &[PartialAxis]) -> Option<Form> {
    axes.iter().try_fold(Form::constant(1), |product, axis| {
        let size = match axis {
            PartialAxis::Known(Axis::Symbolic(size, _)) => size.form().clone(),
            axis => Form::constant(i128::from(axis.size()?)),
        };
        product.times(&size)
    })
}

/// A leaf and its declaration.
fn declared_text(graph: &Graph, tensor: Tensor) -> String {
    let name = names::message_name(graph, tensor);
    match graph.declarations.get(&tensor.0) {
        // A list of numbers has no declaration that anybody wrote.
        Some(Declaration { shape, given: BufferFacts::Axes(axes), .. }) if **shape == *"..." => {
            format!("`{name}` has the axes {}", counts::list(axes))
        }
        Some(declared) => format!("`{name}` is declared `{}`{}", declared.shape, counts::given(declared)),
        None => format!("`{name}` is `{}`", partial_shape::shape(graph, tensor)),
    }
}

/// The kind that a row has after a transpose. It is its own inverse.
fn transposed(kind: Kind) -> Kind {
    match kind {
        Kind::Batch => Kind::Batch,
        Kind::Input => Kind::Output,
        Kind::Output => Kind::Input,
    }
}

/// A number of axes in words.
pub(crate) fn axes(number: u32) -> String {
    broadloom_diagnostics::axes_or_none(number as usize)
}
