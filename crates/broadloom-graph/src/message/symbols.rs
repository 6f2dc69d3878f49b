//! Named sizes that are equated, leave their range, or do not satisfy an equation (the errors of
//! *Tensor Dimension Inference*, "Unification Algorithm").

use broadloom_core::{ConstraintId, Form, Symbol};
use broadloom_diagnostics::{Fact, Help};
use broadloom_spec::Kind;

use super::{Case, chain, ranks, walk};
use crate::error::{self, Error, ErrorKind};
use crate::size::range_text;
use crate::step::{Leaf, Step, StepId, Tensor};
use crate::symbols::read;
use crate::{Graph, names};

fn symbol_name(graph: &Graph, symbol: Symbol) -> String {
    read::symbol_data(graph, symbol).map_or("?".into(), |data| data.name.to_string())
}

/// Explains two names for one axis.
pub(super) fn explain_symbols(graph: &Graph, case: Case<'_>, ends: [Symbol; 2]) -> Error {
    let [a, b] = ends.map(|symbol| symbol_name(graph, symbol));
    let message = format!("`{a}` and `{b}` are different sizes, and this axis would be both");
    let mut error = super::error_at(graph, ErrorKind::Mismatch, case.refused, &message);
    let mut shown = None;
    for (name, other) in [(&a, &b), (&b, &a)] {
        // A declaration with both names would not tell them apart.
        let alone = declared_with(graph, case, name, |leaf, has| shown != Some(leaf) && !has(other));
        let leaf = alone.or_else(|| declared_with(graph, case, name, |leaf, _| shown != Some(leaf)));
        if let Some(leaf) = leaf {
            shown = Some(leaf);
            error = error.with_end(super::declared_end(graph, leaf));
        }
    }
    error.with_fact(Fact::SizeNames([a, b])).with_help(Help::rule(
        "a named size is itself or a number, never another name: declare both axes with one name, or keep them apart",
    ))
}

/// Explains a name that would be a number outside its range.
pub(super) fn explain_range(
    graph: &Graph,
    case: Case<'_>,
    symbol: Symbol,
    size: Option<u64>,
    (lo, hi): (u64, u64),
) -> Error {
    let name = symbol_name(graph, symbol);
    let declared = read::symbol_data(graph, symbol).map_or((1, None), |data| data.range);
    let about = |what: String| super::error_at(graph, ErrorKind::Range, case.refused, &what);
    let mut error = match size {
        // What is said of the size itself needs no subject.
        Some(size) if matches!(graph.steps.get(case.refused.index()), Some(Step::Size(..))) => {
            let left = range_text((lo, Some(hi).filter(|hi| *hi != u64::MAX)));
            let message = format!("`{name}` cannot be {size} here: the program leaves {left}");
            Error::new(ErrorKind::Range, message)
        }
        Some(size) => about(format!("`{name}` cannot be {size}, its range is {}", range_text(declared))),
        None => {
            about(format!("no size of `{name}` is left, it would have to be at least {lo} and at most {hi}"))
        }
    };
    for step in steps_of(graph, case) {
        if let Some(Step::Dim(..)) = graph.steps.get(step.index()) {
            error = error
                .with_end(error::MessageLine::at(step, format!("declared {}", names::subject(graph, step))));
        }
    }
    let words = [Some(name), size.map(|size| size.to_string())];
    for leaf in words.iter().flatten().filter_map(|word| declared_with(graph, case, word, |_, _| true)) {
        error = error.with_end(super::declared_end(graph, leaf));
    }
    error.with_help(match size {
        Some(_) => {
            "a named size that meets a number is that number: change the number, or declare a wider range"
        }
        None => "a named size has the sizes that all its ranges have in common: widen one of them",
    })
}

/// Explains expressions that do not satisfy an equation, whatever the sizes.
pub(super) fn explain_expressions(
    graph: &Graph,
    case: Case<'_>,
    constraint: ConstraintId,
    sizes: &[Option<Form>],
) -> Error {
    let known: Vec<String> =
        sizes.iter().flatten().map(|form| format!("`{}`", read::expression_of(graph, form))).collect();
    let message = "no sizes of the named sizes satisfy this";
    let error = super::error_at(graph, ErrorKind::Arithmetic, case.refused, message)
        .with_end(chain::claim_text(graph, constraint));
    let error = if known.is_empty() {
        error
    } else {
        error.with_end(format!("the sizes in it: {}", known.join(", ")))
    };
    ranks::with_declarations(graph, case, error)
        .with_help("both sides have to be the same expression, or be equal for some sizes within the ranges")
}

/// A leaf of the case whose declaration has a word in it, and that suits otherwise: the advice says which other words the
/// declaration has.
fn declared_with(
    graph: &Graph,
    case: Case<'_>,
    word: &str,
    suits: impl Fn(Tensor, &dyn Fn(&str) -> bool) -> bool,
) -> Option<Tensor> {
    let used = steps_of(graph, case).into_iter().flat_map(|step| tensors_of(graph, step));
    // The row of a result may be that of a leaf further back.
    let rows = used.flat_map(|tensor| Kind::ALL.map(|kind| walk::walk_back(graph, (tensor, kind)).0));
    let leaves = rows.map(|(tensor, _)| tensor).filter(|tensor| {
        matches!(graph.leaf(*tensor), Some(Leaf::Data | Leaf::Param | Leaf::State | Leaf::Range))
    });
    let has = |tensor: &Tensor, word: &str| {
        let declared = graph.declarations.get(&tensor.0);
        let is_word = |each: &str| each.split(':').next() == Some(word);
        declared.is_some_and(|declared| declared.shape.split(|c: char| " ,|->=".contains(c)).any(is_word))
    };
    leaves.into_iter().find(|leaf| has(leaf, word) && suits(*leaf, &|word| has(leaf, word)))
}

/// The steps of a case, in order.
fn steps_of(graph: &Graph, case: Case<'_>) -> Vec<StepId> {
    let mut steps: Vec<StepId> =
        case.core.constraints.iter().map(|id| super::origin(graph, *id).step).collect();
    steps.dedup();
    steps
}

/// The results and the operands of a step.
fn tensors_of(graph: &Graph, step: StepId) -> Vec<Tensor> {
    names::step_results(graph, step).chain(names::step_operands(graph, step).iter().copied()).collect()
}
