//! Gradients for readers: the assignments by which gradients go back through an operation, as loop
//! nests.
//!
//! The text is that of the lowered program before optimisation: each assignment of the operation's
//! gradient, with the index maps of its forward pass, addressed by slot.
//!
//! ```text
//! for i in 0..64
//!   for k in 0..784
//!     for b in 0..32
//!       w.grad[i, k] += h.grad[b, i] * x[b, k]
//! ```

use broadloom_graph::lowering::{Face, Inferred};
use broadloom_graph::{Error, Graph, StepId, Tensor};
use rustc_hash::{FxHashMap, FxHashSet};

use super::backward::wants_gradient;
use super::own_tensors::{own_like, own_name};
use super::{Content, Layout, LowerOptions, Lowering};
use crate::routine::{Action, Routine};
use crate::sizes::Sizes;

/// The gradients of the operations that make some tensors: for each tensor, the nests of its
/// operation's gradient, one text for each assignment. Only operands that are parameters, or are
/// computed from parameters, have any. The initial 0 of the gradients is not shown.
///
/// ```
/// let mut g = broadloom::Graph::new();
/// let (w, x) = (g.param_shaped("w", "... -> 2")?, g.data("x", "8 | 3")?);
/// let y = g.compose(w, x)?;
/// g.name(y, "y");
/// let shown = broadloom::show_backward(&mut g, &[y])?;
/// // The data has no gradient: none was asked for.
/// assert_eq!(shown[0], ["\
/// for j in 0..2
///   for k in 0..3
///     for i in 0..8
///       w.grad[j, k] += y.grad[i, j] * x[i, k]
/// "]);
/// # Ok::<(), broadloom::Error>(())
/// ```
pub fn show_backward(graph: &mut Graph, tensors: &[Tensor]) -> Result<Vec<Vec<String>>, Error> {
    for tensor in tensors {
        graph.known(*tensor)?;
    }
    let (layout, names) = shown_layout(graph)?;
    let steps: Vec<StepId> = graph.step_ids().filter(|step| is_made_by(graph, *step)).collect();
    let wanted = wants_gradient(graph, &steps);
    tensors.iter().map(|tensor| backward_texts(graph, &layout, &wanted, &names, *tensor)).collect()
}

/// The assignments of routines, in order: the step of each, and its nests.
///
/// ```
/// use broadloom::{Graph, Routine};
/// let mut g = Graph::new();
/// let (w, x) = (g.param_shaped("w", "3")?, g.data("x", "3")?);
/// let mut routine = Routine::new("move");
/// routine.assign(&mut g, "w =- 0.1 * x", &[("w", w), ("x", x)])?;
/// let shown = broadloom::show_assignments(&mut g, &[routine])?;
/// assert_eq!(shown[0].1, "for i in 0..3\n  w[i] -= 0.1 * x[i]\n");
/// # Ok::<(), broadloom::Error>(())
/// ```
pub fn show_assignments(graph: &mut Graph, routines: &[Routine]) -> Result<Vec<(StepId, String)>, Error> {
    let (layout, names) = shown_layout(graph)?;
    let actions = routines.iter().flat_map(|routine| &routine.actions);
    let steps = actions.filter_map(|action| match action {
        Action::Assign(step) => Some(*step),
        _ => None,
    });
    let empty = Routine::new("assignments");
    let shown = |step: StepId| {
        let mut lowering = Lowering::new(graph, &layout, &empty, LowerOptions::default());
        lowering.forward(step)?;
        Ok((step, nest_texts(graph, lowering, &names).concat()))
    };
    steps.map(shown).collect()
}

/// A layout at sizes that are all different, so that each number identifies a size; and the names
/// of the sizes.
fn shown_layout(graph: &mut Graph) -> Result<(Layout, FxHashMap<u64, String>), Error> {
    let inferred = Inferred::new(graph)?;
    let sizes = Sizes::new(graph, &inferred)?;
    let large = sizes.large();
    Ok(match sizes.is_possible(&large) {
        true => (Layout::at(graph, &inferred, &large)?, inferred.shapes.named_at(&large)),
        false => (Layout::at(graph, &inferred, &sizes.now)?, FxHashMap::default()),
    })
}

/// Returns true if a step makes its results, rather than assigning to existing tensors.
fn is_made_by(graph: &Graph, step: StepId) -> bool {
    let made = |result: Tensor| graph.made_by(result) == step;
    graph.op(step).is_some() && graph.step_results(step).all(made)
}

fn backward_texts(
    graph: &Graph,
    layout: &Layout,
    wanted: &[bool],
    names: &FxHashMap<u64, String>,
    tensor: Tensor,
) -> Result<Vec<String>, Error> {
    let step = graph.made_by(tensor);
    if graph.leaf(tensor).is_some() || !wanted[tensor.index()] || !is_made_by(graph, step) {
        return Ok(Vec::new());
    }
    let routine = Routine::new("backward");
    let mut lowering = Lowering::new(graph, layout, &routine, LowerOptions::default());
    // As if all gradients had begun: their initialisation is not part of the operation.
    let mut begun: FxHashSet<Tensor> = graph.step_operands(step).iter().copied().collect();
    begun.extend(graph.step_results(step));
    lowering.backward_step(step, wanted, &mut begun)?;
    Ok(nest_texts(graph, lowering, names))
}

/// The nests of a lowering as text, with the names of the program.
fn nest_texts(graph: &Graph, lowering: Lowering<'_>, names: &FxHashMap<u64, String>) -> Vec<String> {
    let Lowering { mut program, nodes, .. } = lowering;
    for (buffer, node) in program.buffers.iter_mut().zip(&nodes) {
        if let Some(name) = written_node(graph, *node) {
            buffer.name = name;
        }
    }
    (0..program.nests.len())
        .map(|at| program.nest_text_with(at, &|extent| names.get(&extent.get()).cloned()))
        .collect()
}

/// A value or a gradient in a formula.
pub(crate) fn written_node(graph: &Graph, node: Content) -> Option<String> {
    match node {
        Content::Value(tensor) => Some(written_name(graph, tensor)),
        Content::Gradient(tensor) => Some(format!("{}.grad", written_name(graph, tensor))),
        Content::Own(step, slot, backward) => {
            let like = written_name(graph, own_like(graph, step, slot, backward));
            Some(format!("{like}.{}", own_name(graph, step, slot, backward)))
        }
        Content::Work(step, _) => Some(format!("{}.work", written_name(graph, graph.first_result(step)))),
        Content::NotFinite(tensor) => Some(format!("{}.not_finite", written_name(graph, tensor))),
        Content::Notes(tensor, noted) => Some(format!("{}.{}", written_name(graph, tensor), noted.name())),
        Content::OfTurns(tensor, part, _) => {
            written_node(graph, part.in_a_turn(tensor)).map(|name| format!("{name}.turns"))
        }
        Content::Before(..) | Content::Wide(_) => None,
    }
}

/// A tensor in a formula: its name, or the expression it is computed from in parentheses.
fn written_name(graph: &Graph, tensor: Tensor) -> String {
    match graph.name_of(tensor) {
        Some(name) => name.to_string(),
        None => format!("({})", graph.label_of(tensor)),
    }
}
