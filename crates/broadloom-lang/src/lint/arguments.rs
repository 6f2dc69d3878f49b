//! Arguments that fit, and are probably meant otherwise: probabilities where logits are taken, a condition in the wrong place.

use broadloom::{Node, Operation, OperationId, Pointwise, Shapes, Tensor};
use broadloom_diagnostics::{Diagnostic, Span, Wording};

use crate::codes;
use crate::program::{Application, Origin, Program};

/// Finds such arguments.
pub(super) fn arguments(program: &Program, shapes: &Shapes) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for tensor in program.graph.tensors() {
        let Some(Node::Operation { id, operands, step, .. }) = program.graph.node(tensor) else { continue };
        let Some(origin) = program.origins.get(step) else { continue };
        found.extend(match (id, operands) {
            (OperationId::Pointwise(Pointwise::Select), [condition, yes, _])
                if origin.span == origin.inner =>
            {
                misplaced(program, *condition, *yes).then(|| condition_first(origin.span))
            }
            (OperationId::Einsum, [image, _]) if is_within(program, origin, &["conv2d"]) => {
                let sizes: Vec<u64> = shapes.get(*image).output().iter().map(|axis| axis.size()).collect();
                channels_first(&sizes).then(|| transposed_image(program, shapes, *image, origin.span))
            }
            (OperationId::Einsum, [query, x]) if is_within(program, origin, &["attention"]) => {
                is_called(program, *query, "query")
                    .then(|| positions(program, shapes, *x, origin.span))
                    .flatten()
            }
            (OperationId::Compose, [read, x]) if is_called(program, *read, "read") => {
                let layer = ["lstm", "gru"].into_iter().find(|layer| is_within(program, origin, &[*layer]));
                layer.and_then(|layer| steps(layer, shapes, *x, origin.span))
            }
            (OperationId::Pointwise(Pointwise::Select), [mask, ..])
                if is_within(program, origin, &["attention"]) =>
            {
                key_mask(program, shapes, *mask, origin.span)
            }
            (OperationId::Pointwise(Pointwise::Sub), [logits, _])
                if is_within(program, origin, &["log_softmax", "cross_entropy"]) =>
            {
                let softmax = maker(program, *logits).filter(|each| each.function == "softmax");
                softmax.map(|_| probabilities("cross_entropy", "softmax", origin.span))
            }
            (OperationId::Pointwise(Pointwise::Mul), [logits, _])
                if is_within(program, origin, &["binary_cross_entropy"]) =>
            {
                let sigmoid = operation(program, *logits) == Some(Pointwise::Sigmoid.into());
                sigmoid.then(|| probabilities("binary_cross_entropy", "sigmoid", origin.span))
            }
            _ => None,
        });
    }
    // The gates of a recurrent layer read the same.
    found.dedup();
    found
}

/// The operation that made a tensor.
fn operation(program: &Program, tensor: Tensor) -> Option<OperationId> {
    match program.graph.node(tensor)? {
        Node::Operation { id, .. } => Some(id),
        Node::Leaf { .. } => None,
    }
}

/// Returns true if a parameter has this name in the function that makes it.
fn is_called(program: &Program, param: Tensor, name: &str) -> bool {
    program.graph.name_of(param).and_then(|path| path.rsplit('.').next()) == Some(name)
}

/// Returns true if the second argument of a choice is a condition, and the first is none.
fn misplaced(program: &Program, first: Tensor, second: Tensor) -> bool {
    let is_condition = |tensor: Tensor| {
        let operation = operation(program, tensor).and_then(OperationId::operation);
        operation.is_some_and(Operation::is_truth)
    };
    !is_condition(first) && is_condition(second)
}

/// Returns true for an image whose first axis looks like colours, and the others like its sides.
pub(crate) fn channels_first(sizes: &[u64]) -> bool {
    matches!(sizes, [1 | 3 | 4, height, width] if *height > 4 && height == width)
}

fn transposed_image(program: &Program, shapes: &Shapes, image: Tensor, span: Span) -> Diagnostic {
    let (name, shape) = (program.graph.message_name(image), shapes.get(image));
    let message =
        format!("`conv2d` takes images `h, w, channels`, and the channels of `{name}` seem to come first");
    let label = format!("`{name}` is `{shape}`");
    Diagnostic::warning(codes::MEANT, message, span, label).with_help(channels_last(&name))
}

/// Advice for an image whose channels come first.
pub(crate) fn channels_last(name: &str) -> Wording {
    Wording::new("declare them last, or exchange the axes: `einsum(\"... | c, h, w => ... | h, w, c\", ")
        .name(name)
        .words(")`")
}

/// Warns of a sequence whose positions are among its outputs: `batch | positions, width`.
fn positions(program: &Program, shapes: &Shapes, x: Tensor, span: Span) -> Option<Diagnostic> {
    let (name, shape) = (program.graph.message_name(x), shapes.get(x));
    let ([count], [positions, width]) = (shape.batch(), shape.output()) else { return None };
    let message = format!(
        "`attention` takes `... s | d`: the {count} of `{name}` are its positions, and `{positions}, {width}` is the width"
    );
    let help = format!(
        "if {positions} counts the positions, they are a batch axis: `{count}, {positions} | {width}`"
    );
    Some(Diagnostic::warning(codes::MEANT, message, span, format!("`{name}` is `{shape}`")).with_help(help))
}

/// Warns of a recurrent layer that goes through the only batch axis of something with several output axes: one step of it has no batch axis.
fn steps(layer: &str, shapes: &Shapes, x: Tensor, span: Span) -> Option<Diagnostic> {
    let shape = shapes.get(x);
    let ([], [steps, width]) = (shape.batch(), shape.output()) else { return None };
    let message =
        format!("`{layer}` goes along the only batch axis here, and reads `{steps}, {width}` in each step");
    let help = format!(
        "if {steps} counts the steps, they are the last batch axis: declare it `…, {steps} | {width}`"
    );
    Some(
        Diagnostic::warning(codes::MEANT, message, span, "the last batch axis counts the steps")
            .with_help(help),
    )
}

/// Warns of a mask without an axis for what is looked at.
fn key_mask(program: &Program, shapes: &Shapes, mask: Tensor, span: Span) -> Option<Diagnostic> {
    let (name, shape) = (program.graph.message_name(mask), shapes.get(mask));
    if !shape.input().is_empty() || shape.batch().len() < 2 {
        return None;
    }
    let message = format!("`{name}` masks queries; attention masks keys");
    let label = format!("`{name}` is `{shape}`, and a mask is `... s | t ->`");
    let help = Wording::new("for padding, write `mask = einsum(\"..., t | => ..., 0 | t ->\", ")
        .name(&name)
        .words(")`");
    Some(Diagnostic::warning(codes::MEANT, message, span, label).with_help(help))
}

fn condition_first(span: Span) -> Diagnostic {
    let message = "the condition of `where` is its first argument";
    let help = "write `where(x > 0, x, 0)`: the condition, what holds if it is not 0, and what otherwise";
    Diagnostic::warning(codes::MEANT, message, span, "here the second is a condition").with_help(help)
}

fn probabilities(loss: &str, function: &str, span: Span) -> Diagnostic {
    let message = format!("`{loss}` takes logits, and these are probabilities already");
    let label = format!("`{function}` has been applied, and the loss applies it again");
    let help = format!("leave out `{function}` before the loss");
    Diagnostic::warning(codes::MEANT, message, span, label).with_help(help)
}

/// The function of the library whose body made a tensor.
fn maker(program: &Program, tensor: Tensor) -> Option<&Application> {
    let step = program.graph.step_of(tensor)?;
    let at = program.origins.get(step)?.application?;
    program.applications.get(at as usize).filter(|each| each.library)
}

/// Returns true if these functions of the library are applied inside each other, from the inside outwards, others between
/// them left out.
fn is_within(program: &Program, origin: &Origin, functions: &[&str]) -> bool {
    let application = |at: Option<u32>| program.applications.get(at? as usize).filter(|each| each.library);
    let mut own = application(origin.application);
    let mut wanted = functions.iter().peekable();
    while let (Some(applied), Some(function)) = (own, wanted.peek()) {
        if applied.function == **function {
            wanted.next();
        }
        own = application(applied.outer);
    }
    wanted.peek().is_none()
}
