//! The origin of a tensor: a leaf of some kind, or the result of an operation.

use crate::operation::id::OperationId;
use crate::step::{Leaf, Op, Step, StepId, Tensor};
use crate::{Graph, names};

/// The leaf or the operation that made a tensor.
///
/// ```
/// use broadloom::{Graph, LeafKind, Node, OperationId};
/// let mut g = Graph::new();
/// let (w, x) = (g.param("w"), g.data("x", "32 | 784")?);
/// let y = g.compose(w, x)?;
/// assert_eq!(g.node(w), Some(Node::Leaf { kind: LeafKind::Param }));
/// let Some(Node::Operation { id, operands, .. }) = g.node(y) else { unreachable!() };
/// assert_eq!((id, operands), (OperationId::Compose, &[w, x][..]));
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Node<'a> {
    /// A leaf, which is not computed.
    Leaf {
        /// The kind of leaf.
        kind: LeafKind,
    },
    /// An operation.
    Operation {
        /// Its identity, which has its name for people.
        id: OperationId,
        /// The tensors that it reads.
        operands: &'a [Tensor],
        /// Its step.
        step: StepId,
    },
}

/// The kind of a leaf.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LeafKind {
    /// Data, from outside of the program.
    Data,
    /// A parameter, to be trained.
    Param,
    /// One value everywhere, in the shape that the context asks for.
    Constant(f64),
    /// A number: no axes.
    Number(f64),
    /// A captured size as a number.
    Size,
    /// The gradient of a tensor.
    Gradient(Tensor),
    /// A tensor that lasts from run to run and is not trained.
    State,
    /// A value carried from the previous turn of a scan.
    Carried,
    /// Positions 0, 1, 2, … in memory order.
    Range,
    /// Random numbers.
    Uniform,
}

/// The leaf or the operation that made a tensor; `None` for a tensor of another graph.
pub(crate) fn node(graph: &Graph, tensor: Tensor) -> Option<Node<'_>> {
    let step = graph.tensors.get(tensor.index())?.step;
    Some(match graph.steps.get(step.index())? {
        Step::Op { op, .. } => {
            Node::Operation { id: op.id(), operands: names::step_operands(graph, step), step }
        }
        Step::Leaf { leaf, .. } => Node::Leaf { kind: (*leaf).into() },
        _ => return None,
    })
}

/// The operation that made a tensor, as a program would write it, with the names of its operands; an assignment as
/// it was written. `None` for a leaf.
pub(crate) fn operation_text(graph: &Graph, tensor: Tensor) -> Option<String> {
    names::step_text(graph, graph.tensors.get(tensor.index())?.step)
}

/// The spec of the operation that made a tensor; `None` if it was made by an assignment or
/// without a spec.
pub(crate) fn spec_of(graph: &Graph, tensor: Tensor) -> Option<&str> {
    let step = graph.tensors.get(tensor.index())?.step;
    match graph.steps.get(step.index())? {
        Step::Op { op: Op::Einsum { spec, .. }, .. } if !graph.facts.texts.contains_key(&step) => {
            Some(&graph.spec_ref(*spec).text)
        }
        _ => None,
    }
}

/// The shape that a tensor was declared with, as it was written; `None` if none was.
pub(crate) fn declaration_of(graph: &Graph, tensor: Tensor) -> Option<&str> {
    graph.declarations.get(&tensor.0).map(|declaration| &*declaration.shape)
}

/// The tensors that some tensors are computed from, themselves included, in the order they were made.
pub(crate) fn computed_from(graph: &Graph, tensors: &[Tensor]) -> Vec<Tensor> {
    let needed = needed_by(graph, tensors);
    graph.tensors().filter(|tensor| needed[tensor.index()]).collect()
}

/// Marks the tensors that some tensors are computed from, themselves included.
pub(crate) fn needed_by(graph: &Graph, tensors: &[Tensor]) -> Vec<bool> {
    let mut needed = vec![false; graph.tensors.len()];
    let mut waiting = tensors.to_vec();
    while let Some(tensor) = waiting.pop() {
        if !std::mem::replace(&mut needed[tensor.index()], true) {
            waiting.extend_from_slice(names::operands_of(graph, tensor));
        }
    }
    needed
}

/// The number of times that operations and assignments read a tensor. To ask for many tensors,
/// use [`use_counts`](Graph::use_counts).
pub(crate) fn uses(graph: &Graph, tensor: Tensor) -> usize {
    graph.operands.iter().filter(|operand| **operand == tensor).count()
}

/// The number of times that each tensor is read, by [index](Tensor::index).
pub(crate) fn use_counts(graph: &Graph) -> Vec<usize> {
    let mut counts = vec![0; graph.tensors.len()];
    for operand in &graph.operands {
        counts[operand.index()] += 1;
    }
    counts
}

impl Op {
    /// Its identity.
    fn id(self) -> OperationId {
        match self {
            Op::Pointwise(id) | Op::Einsum { id, .. } => id,
            Op::Compose => OperationId::Compose,
            Op::ComposeAccumulate => OperationId::ComposeAccumulate,
            Op::Transpose => OperationId::Transpose,
            Op::Slice(_) => OperationId::Slice,
            Op::Collect => OperationId::Collect,
            Op::Convert { .. } => OperationId::Convert,
        }
    }
}

impl From<Leaf> for LeafKind {
    fn from(leaf: Leaf) -> LeafKind {
        match leaf {
            Leaf::Data => LeafKind::Data,
            Leaf::Param => LeafKind::Param,
            Leaf::Constant(value) => LeafKind::Constant(value),
            Leaf::Number(value) => LeafKind::Number(value),
            Leaf::Size(_) => LeafKind::Size,
            Leaf::Gradient(of) => LeafKind::Gradient(of),
            Leaf::State => LeafKind::State,
            Leaf::Carried => LeafKind::Carried,
            Leaf::Range => LeafKind::Range,
            Leaf::Uniform | Leaf::Normal => LeafKind::Uniform,
        }
    }
}
