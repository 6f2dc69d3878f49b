//! The places where operands really broadcast: axes that they lack, or have as units, and that the
//! result has.
//!
//! In `x + bias` with `x: 32 | 64` and `bias: 64` the bias broadcasts along the batch. Nothing broadcasts by
//! accident, but not everything that broadcasts is meant to: a front end can show the places.

use broadloom_spec::Kind;

use crate::error::Error;
use crate::shape::Shapes;
use crate::step::{Leaf, Op, RowRef, Step, StepId, Tensor, contraction, place, sources};
use crate::{Graph, final_shapes, names};

/// A row of an operand that is read as having more axes, or larger ones, than it has.
///
/// ```
/// use broadloom::{Graph, Kind};
/// let mut g = Graph::new();
/// let (x, bias) = (g.data("x", "32 | 28, 64")?, g.data("bias", "64")?);
/// let y = g.add(x, bias)?;
/// let found = g.broadcasts()?;
/// assert!(found.iter().all(|each| (each.operand, each.result, each.slot) == (bias, y, 1)));
/// assert_eq!((found[0].kind, &found[0].axes[..]), (Kind::Batch, &[(0, 32)][..]));
/// assert_eq!((found[1].kind, &found[1].axes[..]), (Kind::Output, &[(0, 28)][..]));
/// # Ok::<(), broadloom::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broadcast {
    /// The operation's step.
    pub step: StepId,
    /// The operand's place among the operands of the step.
    pub slot: usize,
    /// The operand.
    pub operand: Tensor,
    /// The tensor it broadcasts into: the result; where a product contracts, its left side.
    pub result: Tensor,
    /// The kind of that tensor's row.
    pub kind: Kind,
    /// The axes, by their place in that row, with their sizes.
    pub axes: Vec<(usize, u64)>,
    /// True if the operand has units there; false if it has no such axes.
    pub unit: bool,
}

/// Every place where an operand of a pointwise operation, a product, a transpose or an
/// assignment broadcasts, in the order of the program. Numbers, and tensors computed from
/// numbers alone, are left out.
pub(crate) fn broadcasts(graph: &mut Graph) -> Result<Vec<Broadcast>, Error> {
    let shapes = final_shapes::final_shapes(graph)?;
    Ok(broadcasts_where(graph, &shapes, |_, _, _| true))
}

/// Those of pointwise operations with two operands of which neither has the shape of the result: only these can broadcast into each other.
pub(crate) fn mutual_broadcasts(graph: &mut Graph) -> Result<Vec<Broadcast>, Error> {
    let shapes = final_shapes::final_shapes(graph)?;
    let is_mutual = |op: Op, operands: &[Tensor], result: Tensor| {
        matches!((op, operands), (Op::Pointwise(_), [a, b])
            if !shapes.are_alike(*a, result) && !shapes.are_alike(*b, result))
    };
    Ok(broadcasts_where(graph, &shapes, is_mutual))
}

/// The places of the operations that are wanted.
fn broadcasts_where(
    graph: &Graph,
    shapes: &Shapes,
    is_wanted: impl Fn(Op, &[Tensor], Tensor) -> bool,
) -> Vec<Broadcast> {
    let mut found = Vec::new();
    let mut numbers = vec![false; graph.tensors.len()];
    for (step, said) in graph.step_ids().zip(&graph.steps) {
        let (op, result) = match said {
            Step::Op { op, result, .. } => (*op, Tensor(*result)),
            Step::Leaf { leaf, tensor } => {
                numbers[*tensor as usize] = matches!(leaf, Leaf::Number(_) | Leaf::Size(_));
                continue;
            }
            _ => continue,
        };
        let operands = names::step_operands(graph, step);
        // A target that existed before stays as it was.
        if graph.tensors[result.index()].step == step {
            numbers[result.index()] = operands.iter().all(|operand| numbers[operand.index()]);
        }
        if !is_wanted(op, operands, result) {
            continue;
        }
        if matches!(op, Op::Pointwise(_)) && operands.iter().all(|operand| shapes.are_alike(*operand, result))
        {
            continue;
        }
        for ((slot, from), into, kind) in broadcasting_rows(op, operands, result) {
            let operand = operands[slot];
            if numbers[operand.index()] {
                continue;
            }
            let own = graph.rows(operand)[place(from)];
            for (unit, axes) in surplus(graph, shapes, (operand, from, own), (into, kind)) {
                found.push(Broadcast { step, slot, operand, result: into, kind, axes, unit });
            }
        }
    }
    found
}

/// The rows of operands that may broadcast: slot and kind of each, the tensor into which, and its kind.
fn broadcasting_rows(
    op: Op,
    operands: &[Tensor],
    result: Tensor,
) -> impl Iterator<Item = ((usize, Kind), Tensor, Kind)> + use<> {
    let contracted = contraction(op).map(|[(into, kind), row]| (row, operands[into], kind));
    let arity = operands.len();
    let rows = move |kind: Kind| sources(op, arity, kind).map(move |row| (row, result, kind));
    contracted.into_iter().chain(Kind::ALL.into_iter().flat_map(rows))
}

/// The axes of a row that an operand's row lacks, and those for which it has units.
fn surplus(
    graph: &Graph,
    shapes: &Shapes,
    (operand, from, own): (Tensor, Kind, RowRef),
    (into, kind): (Tensor, Kind),
) -> impl Iterator<Item = (bool, Vec<(usize, u64)>)> {
    let (has, wanted) = (shapes.places(operand, from), shapes.places(into, kind));
    let missing = wanted.len().saturating_sub(has.len());
    let (mut lacking, mut units) = (Vec::new(), Vec::new());
    // Most operands have all axes, and nothing is made for them.
    let marker = if has == wanted { 0 } else { (graph.marker(own) as usize).min(has.len()) };
    for (at, axis) in wanted.iter().enumerate().filter(|_| has != wanted) {
        if (marker..marker + missing).contains(&at) {
            lacking.push((at, shapes.number(*axis)));
        } else {
            let facing = has.get(if at < marker { at } else { at - missing });
            if facing.is_some_and(|place| shapes.is_unit(*place)) && !shapes.is_unit(*axis) {
                units.push((at, shapes.number(*axis)));
            }
        }
    }
    [(false, lacking), (true, units)].into_iter().filter(|(_, axes)| !axes.is_empty())
}
