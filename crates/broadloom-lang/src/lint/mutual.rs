//! Tensors that broadcast into each other, so that every element is paired with every other.

use broadloom::{Axis, Broadcast, LeafKind, Node, OperationId, Pointwise, Shape, Shapes, StepId, Tensor};
use broadloom_diagnostics::Wording;
use rustc_hash::FxHashSet;

use crate::program::{Origin, Program};

/// Losses of the library that pair up their arguments: an outer product is never meant there.
const PAIRING: &[&str] = &["mse", "mae", "huber", "binary_cross_entropy", "accuracy"];

/// The facts about a program's tensors that decide whether a broadcast is suspicious.
pub(super) struct Mutual {
    /// For each tensor, true if it is computed from positions, random numbers and constants only.
    generated: Vec<bool>,
    /// Tensors that are summed up to one number as a whole.
    summed: FxHashSet<Tensor>,
}

impl Mutual {
    pub fn new(program: &Program, shapes: &Shapes) -> Mutual {
        let mut generated = vec![false; program.graph.len()];
        for tensor in program.graph.tensors() {
            generated[tensor.index()] = match program.graph.node(tensor) {
                Some(Node::Leaf { kind }) => matches!(
                    kind,
                    LeafKind::Range
                        | LeafKind::Uniform
                        | LeafKind::Constant(_)
                        | LeafKind::Number(_)
                        | LeafKind::Size
                ),
                // A tensor that is assigned to may read itself: then it is not generated.
                Some(Node::Operation { operands, .. }) => {
                    operands.iter().all(|operand| generated[operand.index()])
                }
                None => false,
            };
        }
        let summed = program.graph.tensors().filter_map(|tensor| match program.graph.node(tensor)? {
            Node::Operation {
                id: OperationId::Einsum | OperationId::Sum | OperationId::Mean,
                operands: [operand],
                ..
            } => (shapes.elements(tensor) == 1).then_some(*operand),
            _ => None,
        });
        Mutual { generated, summed: summed.collect() }
    }

    /// Two operands of a pointwise operation that broadcast into each other. If
    /// the sizes are equal, pairing them up may have been meant; if they differ,
    /// it cannot have been, except in a loss that pairs up its arguments, and
    /// in a product that is summed up as a whole.
    /// `found` lists the broadcasts of the operands of one operation.
    ///
    /// Tensors that are meant to broadcast are left out: positions, masks and random numbers;
    /// tensors that differ by a unit, or whose axes a spec has rearranged.
    pub fn pair<'f>(
        &self,
        program: &Program,
        shapes: &Shapes,
        (node, origin): (Option<&Node<'_>>, &Origin),
        found: &'f [Broadcast],
    ) -> Option<(&'f Broadcast, &'f Broadcast)> {
        let Some(Node::Operation { id, operands: [a, b], .. }) = node else { return None };
        let (a, b) = (*a, *b);
        // Usually one operand has all axes of the other one.
        let broadcasts = |slot: usize| {
            found.iter().any(|each| each.slot == slot && each.axes.iter().any(|(_, size)| *size > 1))
        };
        if !broadcasts(0) || !broadcasts(1) {
            return None;
        }
        let sized = |tensor: Tensor| shapes.elements(tensor) > 1 && !self.generated[tensor.index()];
        if id.is_composition() || !sized(a) || !sized(b) {
            return None;
        }
        let pairing = pairs_up(program, origin);
        let written = |tensor: Tensor| arranged(program, shapes, tensor);
        if !pairing && (written(a) || written(b)) {
            return None;
        }
        let lacks = |slot: usize| {
            let rows = found.iter().filter(move |each| each.slot == slot);
            let axes = rows.flat_map(|each| {
                let row = shapes.get(each.result).row(each.kind).to_vec();
                each.axes.iter().map(move |(place, _)| row[*place].clone()).collect::<Vec<_>>()
            });
            let mut axes: Vec<Axis> = axes.filter(|axis| axis.size() > 1).collect();
            axes.sort_by_key(|axis| axis.extent().to_string());
            axes
        };
        let (lacks_a, lacks_b) = (lacks(0), lacks(1));
        let (fewer, more) =
            if lacks_a.len() < lacks_b.len() { (&lacks_a, &lacks_b) } else { (&lacks_b, &lacks_a) };
        let among = fewer.iter().all(|axis| more.contains(axis));
        // The sum of all products is the product of two sums, which is not written so.
        let result = found.first().map(|each| each.result);
        let apart =
            *id == Pointwise::Mul.into() && result.is_some_and(|result| self.summed.contains(&result));
        if lacks_a.is_empty() || lacks_b.is_empty() || !(pairing || among || apart) {
            return None;
        }
        let first = |slot: usize| {
            found.iter().find(|each| each.slot == slot && each.axes.iter().any(|(_, size)| *size > 1))
        };
        first(0).zip(first(1))
    }
}

/// Returns true if operands of an operation that begins at a place of the program broadcast into each other: whatever
/// shapes they have, they fit then.
pub(crate) fn multiplies(program: &mut Program, start: u32) -> bool {
    let (Ok(all), Ok(shapes)) = (program.graph.broadcasts(), program.graph.final_shapes()) else {
        return false;
    };
    let mutual = Mutual::new(program, &shapes);
    let here = |step: StepId| {
        program
            .origins
            .get(step)
            .is_some_and(|origin| origin.span.source == program.main && origin.span.start == start)
    };
    let is_repeated = |each: &&Broadcast| {
        let own = each.axes.iter().any(|(_, size)| *size > 1);
        own && shapes.elements(each.operand) > 1 && !mutual.generated[each.operand.index()] && here(each.step)
    };
    let sides: Vec<(StepId, usize)> =
        all.iter().filter(is_repeated).map(|each| (each.step, each.slot)).collect();
    sides.iter().any(|(step, slot)| sides.iter().any(|(other, side)| other == step && side != slot))
}

/// Advice for two tensors of which one has all its axes among the last ones of the other, counted through `|`: as `20, 32` and
/// `8, 20 | 32`.
pub(super) fn other_bar(program: &Program, shapes: &Shapes, (a, b): (Tensor, Tensor)) -> Option<Wording> {
    let axes = |tensor: Tensor| {
        let shape = shapes.get(tensor);
        shape.batch().iter().chain(shape.output()).map(ToString::to_string).collect::<Vec<_>>()
    };
    [(a, b), (b, a)].into_iter().find_map(|(one, other)| {
        let (own, all, bar) = (axes(one), axes(other), shapes.get(other).batch().len());
        if !shapes.get(one).batch().is_empty() {
            return None;
        }
        let is_leaf = matches!(program.graph.node(one), Some(Node::Leaf { .. }));
        let before = all.strip_suffix(&own[..]).filter(|_| is_leaf)?.len();
        let (batch, output) = own.split_at(bar.checked_sub(before)?);
        let shape = format!("{} | {}", batch.join(", "), output.join(", "));
        let [name, other] = [one, other].map(|tensor| program.graph.message_name(tensor));
        Some(
            Wording::new("to pair them up, declare `")
                .name(name)
                .words(format!("` as `{}`, with its batch before `|`, like `", shape.trim_end()))
                .name(other)
                .words("`"),
        )
    })
}

/// Returns true if an operation is inside a loss that pairs up its arguments.
fn pairs_up(program: &Program, origin: &Origin) -> bool {
    let application = origin.application.and_then(|at| program.applications.get(at as usize));
    application.is_some_and(|each| each.library && PAIRING.contains(&each.function.as_str()))
}

/// Returns true if a shape is another one with some axes of size 1 left out.
fn shortened(from: &Shape, to: &Shape) -> bool {
    let rows = |shape: &Shape| [shape.batch().to_vec(), shape.output().to_vec(), shape.input().to_vec()];
    let is_shorter = |(from, to): (Vec<Axis>, Vec<Axis>)| {
        let mut rest = to.iter().peekable();
        for axis in &from {
            if rest.peek().is_some_and(|next| next.size() == axis.size()) {
                rest.next();
            } else if axis.size() != 1 {
                return false;
            }
        }
        rest.next().is_none()
    };
    from != to && rows(from).into_iter().zip(rows(to)).all(is_shorter)
}

/// Returns true if a spec or a transpose that computes nothing arranged the axes of a tensor,
/// directly or below a few pointwise operations.
fn arranged(program: &Program, shapes: &Shapes, tensor: Tensor) -> bool {
    use OperationId::{Compose, Einsum, Greatest, Least, Mean, Product, Sum};
    let elements = |tensor: Tensor| shapes.elements(tensor);
    let mut waiting = vec![(tensor, 0)];
    while let Some((tensor, depth)) = waiting.pop() {
        let Some(Node::Operation { id, operands, .. }) = program.graph.node(tensor) else { continue };
        match (id, operands) {
            (OperationId::Transpose, _) => return true,
            // Leaving out a unit arranges nothing.
            (OperationId::Einsum, [operand]) if shortened(&shapes.get(*operand), &shapes.get(tensor)) => {
                waiting.push((*operand, depth + 1));
            }
            (OperationId::Einsum, [operand]) if elements(*operand) == elements(tensor) => return true,
            (Einsum | Sum | Mean | Greatest | Least | Product | Compose, _) => {}
            // An arrangement further away than this is not visible where the tensor is used.
            _ if depth < 3 => waiting.extend(operands.iter().map(|operand| (*operand, depth + 1))),
            _ => {}
        }
    }
    false
}
