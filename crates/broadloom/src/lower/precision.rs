//! How numbers are stored: what is given at leaves, inferred everywhere else.
//!
//! A result has the widest type among its operands. Integers and numbers without a type of their own widen
//! nothing. A leaf without a type takes that of the first operation that has one; what nothing decides has
//! the graph's default.

use broadloom_loops::Dtype;

use crate::Graph;
use crate::step::{Op, Step, Tensor};

/// The type of each tensor.
pub(crate) fn precisions(graph: &Graph) -> Vec<Dtype> {
    let mut known: Vec<Option<Dtype>> =
        graph.tensors().map(|tensor| graph.facts.precisions.get(&tensor).copied()).collect();
    for step in &graph.facts.gathers {
        if let [_, ids] = graph.step_operands(*step) {
            known[ids.index()].get_or_insert(Dtype::I64);
        }
    }
    let default = graph.facts.default_precision;
    // What a leaf learns from an operation may decide another one: a second pass finds it. Gradients of what is
    // still open have the default then.
    for of_open in [None, Some(accumulated(default))] {
        (0..graph.steps.len() as u32).for_each(|step| infer(graph, step, &mut known, of_open));
    }
    known.into_iter().map(|known| known.unwrap_or(default)).collect()
}

/// Functions whose values are not integers, whatever they are of.
const FRACTIONS: [&str; 9] = ["exp", "log", "sqrt", "recip", "sin", "cos", "tanh", "sigmoid", "erf"];

/// What one step says.
fn infer(graph: &Graph, step: u32, known: &mut [Option<Dtype>], of_open: Option<Dtype>) {
    if let Some(Step::Leaf { leaf: crate::step::Leaf::Gradient(of), tensor }) = graph.steps.get(step as usize)
    {
        known[*tensor as usize] = known[*of as usize].map(accumulated).or(of_open);
        return;
    }
    let Some(Step::Op { op, result, results, .. }) = graph.steps.get(step as usize) else { return };
    let mut operands = graph.step_operands(step);
    if graph.facts.gathers.contains(&step) {
        operands = &operands[..1];
    }
    let all_integers =
        operands.iter().all(|tensor| known[tensor.index()].is_some_and(|known| !known.is_float()));
    let stays_whole = !matches!(op, Op::Pointwise(name) if FRACTIONS.contains(name));
    let counts = |dtype: &Dtype| dtype.is_float() || (all_integers && stays_whole);
    let joined = operands.iter().filter_map(|tensor| known[tensor.index()]).filter(counts).reduce(join);
    for tensor in (*result..*result + u32::from(*results)).map(Tensor) {
        known[tensor.index()] = known[tensor.index()].or(joined);
    }
    let wanted = known[*result as usize].filter(|dtype| dtype.is_float());
    if matches!(op, Op::Convert { .. }) || all_integers {
        return;
    }
    for tensor in operands {
        let leaf = graph.leaf(*tensor).is_some();
        if leaf && known[tensor.index()].is_none() {
            known[tensor.index()] = wanted;
        }
    }
}

/// The narrower of two types that holds both.
fn join(a: Dtype, b: Dtype) -> Dtype {
    match (a, b) {
        (Dtype::F16, Dtype::Bf16) | (Dtype::Bf16, Dtype::F16) => Dtype::F32,
        (a, b) => a.max(b),
    }
}

/// The type in which sums for a tensor of some type are kept between assignments.
pub(crate) fn accumulated(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::F16 | Dtype::Bf16 => Dtype::F32,
        other => other,
    }
}
