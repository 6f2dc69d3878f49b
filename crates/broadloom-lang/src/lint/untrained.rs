//! Parameters that are made and never change, in a program that trains.

use broadloom::{LeafKind, Node, OperationId, Pointwise, Tensor};
use broadloom_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashSet;

use crate::codes;
use crate::program::Program;

/// Parameters that nothing assigns to although something is minimised: no gradient reaches them. Those
/// of one place, such as a layer, are reported together. A parameter whose gradient is read or stopped,
/// or that `minimise loss of layer` leaves out, is meant so, and a name that begins with `_` may be
/// untrained.
pub(super) fn untrained(program: &Program) -> Vec<Diagnostic> {
    let Some((loss, minimised)) = program.plan.minimised.first() else { return Vec::new() };
    let graph = &program.graph;
    let mut used: FxHashSet<Tensor> =
        program.plan.routines.iter().flat_map(|routine| routine.assigned(graph)).collect();
    used.extend(graph.tensors().filter_map(|tensor| match graph.node(tensor) {
        Some(Node::Leaf { kind: LeafKind::Gradient(of) }) => Some(of),
        _ => None,
    }));
    used.extend(stopped(program));
    used.extend(program.plan.minimised.iter().flat_map(|(loss, _)| broadloom::trainable(graph, *loss)));
    let mut places: Vec<(Span, Vec<String>)> = Vec::new();
    for param in graph.params().into_iter().filter(|param| !used.contains(param)) {
        let Some(made) = program.made.iter().find(|made| made.tensor == param) else { continue };
        if super::last(&made.name).starts_with('_') {
            continue;
        }
        let name = format!("`{}`", made.name);
        match places.iter_mut().find(|(span, _)| *span == made.span) {
            Some((_, names)) => names.push(name),
            None => places.push((made.span, vec![name])),
        }
    }
    let loss = graph.message_name(*loss);
    let diagnostic = |(span, names): (Span, Vec<String>)| {
        let (is, it) = if names.len() == 1 { ("is", "it") } else { ("are", "them") };
        let message = format!("{} {is} not trained", super::listed(&names));
        let label = format!("no gradient reaches {it} from what is minimised");
        let what = match program.plan.minimised.len() {
            1 => format!("`{loss}` is minimised here"),
            _ => "the first loss is minimised here".to_string(),
        };
        let again = made_again(program, span, &used);
        let help = match again {
            Some(function) => format!(
                "`{function}(…)` makes new parameters wherever it stands: write `let net = {function}(…)` once, before it is used, and apply `net` in both places"
            ),
            None => {
                "use it in what is minimised; numbers that stay as they are belong to `data` or a `state`"
                    .to_string()
            }
        };
        Diagnostic::warning(codes::UNTRAINED, message, span, label)
            .with_label(*minimised, what)
            .with_help(help)
    };
    places.into_iter().map(diagnostic).collect()
}

/// The function of the library that is applied at a place and has made parameters there, if it has made trained ones
/// at another place.
fn made_again(program: &Program, place: Span, trained: &FxHashSet<Tensor>) -> Option<String> {
    let function = |name: &str| {
        let first = name.split('.').next().unwrap_or(name);
        first.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_string()
    };
    let here = program.made.iter().find(|made| made.span == place && made.name.contains('.'))?;
    let known = |made: &&crate::program::NamedTensor| {
        made.span != place && trained.contains(&made.tensor) && function(&made.name) == function(&here.name)
    };
    let of_library =
        |name: &String| program.applications.iter().any(|each| each.library && each.function == *name);
    program.made.iter().find(known).map(|_| function(&here.name)).filter(of_library)
}

/// Everything that a gradient is stopped before.
fn stopped(program: &Program) -> Vec<Tensor> {
    let graph = &program.graph;
    let stops = graph.tensors().filter_map(|tensor| match graph.node(tensor) {
        Some(Node::Operation { id: OperationId::Pointwise(Pointwise::StopGradient), operands, .. }) => {
            Some(operands)
        }
        _ => None,
    });
    let before: Vec<Tensor> = stops.flatten().copied().collect();
    graph.computed_from(&before)
}
