//! Losses of the library that are given targets of the wrong kind.

use broadloom::{Axis, Initial, LeafKind, Node, Operation, Shapes, Tensor};
use broadloom_diagnostics::{Diagnostic, Span};

use crate::codes;
use crate::program::{Application, Program};

/// Finds class numbers that have a class axis, or fractions. Both compare unequal to every class,
/// so the loss is still a number, but a useless one.
pub(super) fn targets(program: &Program, shapes: &Shapes) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for tensor in program.graph.tensors() {
        let Some(Node::Operation { name: "==", operands: &[a, b], step, .. }) = program.graph.node(tensor)
        else {
            continue;
        };
        let Some(origin) = program.origins.get(step) else { continue };
        let application =
            |at: Option<u32>| program.applications.get(at? as usize).filter(|each| each.library);
        let Some(inner) = application(origin.application) else { continue };
        // `cross_entropy` makes one-hot rows of its targets.
        let outer = application(inner.outer).filter(|outer| outer.function == "cross_entropy");
        let function = match (inner.function.as_str(), outer) {
            ("one_hot", Some(outer)) => outer,
            ("one_hot" | "accuracy", _) => inner,
            _ => continue,
        };
        let longer =
            claimed(shapes, b) > if function.function == "accuracy" { claimed(shapes, a) } else { 0 };
        found.extend(if longer {
            Some(class_axis(program, shapes, function, b, origin.span))
        } else {
            has_fractions(program, b).map(|why| fractions(program, function, b, why, origin.span))
        });
    }
    found
}

/// The number of output axes that claim a size.
fn claimed(shapes: &Shapes, tensor: Tensor) -> usize {
    shapes.get(tensor).output().iter().filter(|axis| **axis != Axis::Unit).count()
}

fn class_axis(
    program: &Program,
    shapes: &Shapes,
    function: &Application,
    targets: Tensor,
    span: Span,
) -> Diagnostic {
    let (name, shape) = (program.graph.label_of(targets), shapes.get(targets));
    let function = &function.function;
    let message = format!("`{function}` takes class numbers `... |`, and `{name}` is `{shape}`");
    let help = match function.as_str() {
        "cross_entropy" => {
            "for one-hot targets and distributions there is `cross_entropy_one_hot`; a list of class numbers is declared `n |`"
        }
        "accuracy" => {
            "`argmax` makes class numbers of one-hot targets; a list of class numbers is declared `n |`"
        }
        _ => "a list of class numbers is declared `n |`",
    };
    let label = "every output axis is compared with the classes";
    Diagnostic::warning(codes::TARGETS, message, span, label).with_help(help)
}

fn fractions(
    program: &Program,
    function: &Application,
    targets: Tensor,
    why: &str,
    span: Span,
) -> Diagnostic {
    let name = program.graph.label_of(targets);
    let message = format!("`{}` takes class numbers, and `{name}` {why}", function.function);
    let label = "a number with a fraction is no class";
    Diagnostic::warning(codes::TARGETS, message, span, label)
        .with_help("class numbers are whole, from 0; for numbers that are measured there are `mse` and `mae`")
}

/// The reason why a tensor has numbers that are not whole, if that is known.
fn has_fractions(program: &Program, tensor: Tensor) -> Option<&'static str> {
    match program.graph.node(tensor)? {
        Node::Leaf { kind: LeafKind::Data } => {
            let drawn = program.plan.drawn.iter().find(|drawn| drawn.tensor == tensor);
            let random = |initial: &Initial| !matches!(initial, Initial::Constant(_) | Initial::Values(_));
            if drawn.is_some_and(|drawn| random(&drawn.initial)) {
                return Some("is drawn from a distribution");
            }
            let values = program.graph.values_of(tensor)?;
            values.to_f64s().iter().any(|value| value.fract() != 0.0).then_some("has numbers with fractions")
        }
        // A quotient is often whole: `ids / 2` of even numbers.
        Node::Operation { name, .. } if name != "/" => {
            let has_fractions = Operation::named(name).is_some_and(Operation::has_fractions);
            has_fractions.then_some("is computed with fractions")
        }
        Node::Operation { .. } => None,
        Node::Leaf { .. } => None,
    }
}
