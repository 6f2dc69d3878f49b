//! Compositions that contract nothing: `x @ {w}`, written in the order of other libraries.
//!
//! `@` contracts the inputs of its left operand with the outputs of its right one. Data has outputs only, so on the left it
//! contracts nothing, and a parameter on the right may be a single number.

use broadloom::{Graph, LeafKind, Node, OperationId, PartialRow, Shapes, StepId, Tensor};
use broadloom_diagnostics::{Diagnostic, Wording};
use rustc_hash::FxHashSet;

use crate::codes;
use crate::program::Program;

/// Compositions of the program itself with a parameter that they make a single number.
pub(super) fn compositions(program: &Program, shapes: &Shapes, products: &[Tensor]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for tensor in products.iter().copied() {
        let Some((a, w, step)) = idle(&program.graph, tensor) else { continue };
        let is_number = shapes.get(w).elements() == 1;
        let Some(origin) =
            program.origins.get(step).filter(|origin| is_number && origin.span == origin.inner)
        else {
            continue;
        };
        let [a, w] = [a, w].map(|tensor| program.graph.message_name(tensor));
        let message = format!("`{a} @ {w}` contracts nothing, and `{w}` is a single number");
        let label = format!("`{a}` has no input axes");
        let diagnostic = Diagnostic::warning(codes::IDLE, message, origin.span, label);
        found.push(diagnostic.with_help(advice(&w, &a)));
    }
    found
}

/// The tensors that `@` makes.
pub(super) fn products(graph: &Graph) -> Vec<Tensor> {
    let is_product = |tensor: &Tensor| matches!(graph.node(*tensor), Some(Node::Operation { id, .. }) if id.is_composition());
    graph.tensors().filter(is_product).collect()
}

/// Products `a @ b.T` that contract nothing, of tensors that others would take for matrices.
pub(super) fn outer_products(program: &Program, shapes: &Shapes, products: &[Tensor]) -> Vec<Diagnostic> {
    let graph = &program.graph;
    let mut found = Vec::new();
    for tensor in products.iter().copied() {
        let origin = graph.step_of(tensor).and_then(|step| program.origins.get(step));
        let (Some((a, b)), Some(origin)) = (outer_product(graph, tensor), origin) else { continue };
        if origin.span != origin.inner {
            continue;
        }
        let [left, right] = [a, b].map(|tensor| short(&graph.message_name(tensor)).to_string());
        let (shape, made) = (shapes.get(a), shapes.get(tensor));
        let message =
            format!("`{left} @ {right}.T` contracts nothing: `{left}` is `{shape}`, and has no input axes");
        let (each, spec) = match shape.batch().is_empty() {
            true => ("", "s, d; t, d => s, t"),
            false => (" for each example", ALL_PAIRS),
        };
        let label = format!("an outer product{each}, `{made}`");
        let is_attention = program.applications.iter().any(|each| each.library && each.function == "softmax");
        let help = match is_attention && !shape.batch().is_empty() {
            true => format!(
                "in attention, those that are read are an input axis of the scores: write `einsum(\"{ALL_PAIRS} ->\", {left}, {right})`, `softmax(\"... | t -> ...\")` of it, and `einsum(\"... s | t ->; ... t | d => ... s | d\", weights, values)`"
            ),
            false => format!(
                "for products of all pairs, as of a Gram matrix, write `einsum(\"{spec}\", {left}, {right})`"
            ),
        };
        found.push(Diagnostic::warning(codes::IDLE, message, origin.span, label).with_help(help));
    }
    found
}

/// The spec of products of all pairs of vectors.
pub(crate) const ALL_PAIRS: &str = "... s | d; ... t | d => ... s | t";

/// A name without those of the functions around it.
pub(crate) fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Transposes of tensors without inputs, as matrices are transposed elsewhere. As an operand of `@`, a row vector may be meant.
pub(super) fn transposes(program: &Program, shapes: &Shapes) -> Vec<Diagnostic> {
    let graph = &program.graph;
    let transposed = |tensor: &Tensor| {
        matches!(graph.node(*tensor), Some(Node::Operation { id: OperationId::Transpose, .. }))
    };
    let candidates: Vec<Tensor> = graph.tensors().filter(transposed).collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let composed: FxHashSet<Tensor> = graph
        .tensors()
        .filter_map(|tensor| match graph.node(tensor) {
            Some(Node::Operation { id, operands, .. })
                if id.is_composition() || id == OperationId::Einsum =>
            {
                Some(operands)
            }
            _ => None,
        })
        .flatten()
        .copied()
        .collect();
    let mut found = Vec::new();
    for tensor in candidates.into_iter().filter(|tensor| !composed.contains(tensor)) {
        let Some(Node::Operation { id: OperationId::Transpose, operands: &[x], step, .. }) =
            graph.node(tensor)
        else {
            continue;
        };
        let Some(origin) = program.origins.get(step).filter(|origin| origin.span == origin.inner) else {
            continue;
        };
        let shape = shapes.get(x);
        let spec = match (shape.batch().len(), shape.output().len(), shape.input().len()) {
            (1, 1, 0) => "a | b => b | a",
            (0, 2, 0) => "a, b => b, a",
            (_, 2, 0) => "... | a, b => ... | b, a",
            _ => continue,
        };
        let name = graph.message_name(x);
        let message = format!("`{name}.T` exchanges inputs and outputs, and `{name}` has no inputs");
        let diagnostic =
            Diagnostic::warning(codes::IDLE, message, origin.span, format!("`{name}` is `{shape}`"));
        let help = Wording::new(format!("to exchange two axes, write `einsum(\"{spec}\", "));
        found.push(diagnostic.with_help(help.name(&name).words(")`")));
    }
    found
}

/// Advice on what to write instead.
pub(crate) fn advice(w: &str, a: &str) -> String {
    let (w, a) = (short(w), short(a));
    format!("a map is written before what it is applied to: write `{{{w}}} @ {a}`; for a product, write `*`")
}

/// The operands and the step of a composition whose left operand has no inputs, and whose right one is a parameter.
pub(crate) fn idle(graph: &Graph, tensor: Tensor) -> Option<(Tensor, Tensor, StepId)> {
    let Some(Node::Operation { id, operands: [a, w, ..], step, .. }) = graph.node(tensor) else {
        return None;
    };
    let is_param = matches!(graph.node(*w), Some(Node::Leaf { kind: LeafKind::Param }));
    if !id.is_composition() || !is_param {
        return None;
    }
    let [_, input, output] = graph.shape(*a).rows;
    let none = |row: &PartialRow| !row.open && row.lead.is_empty() && row.trail.is_empty();
    (none(&input) && !none(&output)).then_some((*a, *w, step))
}

/// The operands of `a @ b.T` where neither has inputs, and both have a batch or several outputs: as products of queries and
/// keys, and of matrices, are written elsewhere.
pub(crate) fn outer_product(graph: &Graph, tensor: Tensor) -> Option<(Tensor, Tensor)> {
    let Some(Node::Operation { id, operands: &[a, transposed], .. }) = graph.node(tensor) else {
        return None;
    };
    let Some(Node::Operation { id: OperationId::Transpose, operands: &[b], .. }) = graph.node(transposed)
    else {
        return None;
    };
    let none = |row: &PartialRow| !row.open && row.lead.is_empty() && row.trail.is_empty();
    let is_plain = |tensor: Tensor| {
        let [batch, input, output] = graph.shape(tensor).rows;
        none(&input) && !none(&output) && (!none(&batch) || output.lead.len() == 2)
    };
    (id.is_composition() && is_plain(a) && is_plain(b)).then_some((a, b))
}
