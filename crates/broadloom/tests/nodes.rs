//! Queries about a tensor: the operation that made it, its readers, and its broadcasts.

use broadloom::{Broadcast, Error, Graph, Kind, LeafKind, Node, Operation, Routine, SliceIndex, Tensor};

fn kind(graph: &Graph, tensor: Tensor) -> Option<LeafKind> {
    match graph.node(tensor) {
        Some(Node::Leaf { kind }) => Some(kind),
        _ => None,
    }
}

/// The text, the name and the operands of the operation that made a tensor.
fn made(graph: &Graph, tensor: Tensor) -> (String, String, Vec<Tensor>) {
    match graph.node(tensor) {
        Some(Node::Operation { id, operands, step }) => {
            assert_eq!(graph.step_of(tensor), Some(step));
            (graph.operation_text(tensor).expect("an operation"), id.to_string(), operands.to_vec())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn leaves() -> Result<(), Error> {
    let mut g = Graph::new();
    let (x, w) = (g.data("x", "3, n")?, g.param("w"));
    assert_eq!((kind(&g, x), kind(&g, w)), (Some(LeafKind::Data), Some(LeafKind::Param)));
    let (constant, number) = (g.constant(1.5), g.number(2.5));
    assert_eq!(kind(&g, constant), Some(LeafKind::Constant(1.5)));
    assert_eq!(kind(&g, number), Some(LeafKind::Number(2.5)));
    let n = g.captured(x, "n")?;
    let size = g.size_number(n)?;
    assert_eq!(kind(&g, size), Some(LeafKind::Size));
    let gradient = g.gradient(w)?;
    assert_eq!(kind(&g, gradient), Some(LeafKind::Gradient(w)));
    let (state, range, noise) = (g.state("state"), g.range("range", "4")?, g.uniform("noise"));
    let kinds = [state, range, noise].map(|tensor| kind(&g, tensor));
    assert_eq!(kinds, [LeafKind::State, LeafKind::Range, LeafKind::Uniform].map(Some));
    assert_eq!((g.declaration_of(x), g.declaration_of(range)), (Some("3, n"), Some("4")));
    assert_eq!((g.declaration_of(w), g.declaration_of(gradient)), (None, None));
    Ok(())
}

#[test]
fn operations() -> Result<(), Error> {
    let mut g = Graph::new();
    let (w, x, b) = (g.param("w"), g.data("x", "8, 4 | 3")?, g.data("b", "5")?);
    let y = g.compose_accumulate(w, x, b)?;
    assert_eq!(made(&g, y), ("w @ x + b".into(), "@ +".into(), vec![w, x, b]));
    g.name(y, "y");
    let relu = g.relu(y)?;
    assert_eq!(made(&g, relu), ("relu(y)".into(), "relu".into(), vec![y]));
    let sum = g.einsum("... | i => i", &[y])?;
    assert_eq!(made(&g, sum), ("einsum(\"... | i => i\", y)".into(), "einsum".into(), vec![y]));
    let transposed = g.transpose(w)?;
    assert_eq!(made(&g, transposed).1, "transpose");
    let slice = g.slice(x, SliceIndex::At(2))?;
    assert_eq!(made(&g, slice), ("slice(x, 2)".into(), "slice".into(), vec![x]));
    let soft = Operation::new("soft", 1).forward("v = v1 / (1 + abs(v1))")?;
    let own = g.apply(&soft, &[y])?;
    assert_eq!(made(&g, own), ("soft(y)".into(), "soft".into(), vec![y]));
    // An assignment is shown as it was written; an existing target is still a leaf.
    let (mut routine, state) = (Routine::new("r"), g.state("state"));
    let new = routine.assign(&mut g, "{double} = 2 * y", &[("y", y)])?;
    assert_eq!(made(&g, new[0]), ("{double} = 2 * y".into(), "assign".into(), vec![y]));
    routine.assign(&mut g, "state =+ y", &[("y", y), ("state", state)])?;
    assert_eq!(kind(&g, state), Some(LeafKind::State));
    assert_eq!((g.uses(y), g.uses(x), g.uses(sum)), (5, 2, 0));
    let counts = g.use_counts();
    assert!(g.tensors().all(|tensor| counts[tensor.index()] == g.uses(tensor)));
    Ok(())
}

#[test]
fn tensors_of_another_graph() {
    let (g, mut other) = (Graph::new(), Graph::new());
    let number = other.number(1.0);
    assert_eq!((g.node(number), g.declaration_of(number), g.step_of(number)), (None, None, None));
    assert_eq!(g.uses(number), 0);
}

fn place(found: &Broadcast) -> (usize, Kind, Vec<(usize, u64)>, bool) {
    (found.slot, found.kind, found.axes.clone(), found.unit)
}

#[test]
fn broadcasts() -> Result<(), Error> {
    let mut g = Graph::new();
    let x = g.data("x", "32 | 28, 28, 3")?;
    let (mask, half) = (g.data("mask", "28, 28, 1:unit")?, g.number(0.5));
    let scaled = g.mul(x, half)?;
    let masked = g.mul(scaled, mask)?;
    let found = g.broadcasts()?;
    let at: Vec<_> = found.iter().map(place).collect();
    assert_eq!(at, [(1, Kind::Batch, vec![(0, 32)], false), (1, Kind::Output, vec![(2, 3)], true)]);
    assert!(found.iter().all(|each| (each.operand, each.result) == (mask, masked)));
    assert!(found.iter().all(|each| Some(each.step) == g.step_of(masked)));
    Ok(())
}

#[test]
fn broadcasts_in_the_middle_and_in_products() -> Result<(), Error> {
    let mut g = Graph::new();
    // A row broadcasts where the spec that made it has its `...`.
    let (edges, full) = (g.data("edges", "3, 4")?, g.data("full", "3, 5, 4")?);
    let edges = g.einsum("..., a, b => a, ..., b", &[edges])?;
    g.add(edges, full)?;
    let found = g.broadcasts()?;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(place(&found[0]), (0, Kind::Output, vec![(1, 5)], false));
    // A product contracts a vector with a longer row.
    let (w, v) = (g.data("w", "2, 4 -> 6")?, g.data("v", "4")?);
    let product = g.compose(w, v)?;
    let found = g.broadcasts()?;
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(place(&found[1]), (1, Kind::Input, vec![(0, 2)], false));
    assert_eq!((found[1].operand, found[1].result), (v, w));
    assert_eq!(Some(found[1].step), g.step_of(product));
    Ok(())
}

#[test]
fn broadcasts_of_assignments_and_numbers() -> Result<(), Error> {
    let mut g = Graph::new();
    let (s, x) = (g.state_shaped("s", "8 | 3")?, g.data("x", "3")?);
    let (two, three) = (g.number(2.0), g.number(3.0));
    let six = g.mul(two, three)?;
    let mut routine = Routine::new("r");
    routine.assign(&mut g, "s =+ six * x", &[("s", s), ("x", x), ("six", six)])?;
    let found = g.broadcasts()?;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].operand, found[0].result, found[0].kind), (x, s, Kind::Batch));
    // A computed number does broadcast.
    let total = g.einsum("i =>", &[x])?;
    let share = g.div(x, total)?;
    let found = g.broadcasts()?;
    assert_eq!((found[1].operand, found[1].result), (total, share));
    Ok(())
}
