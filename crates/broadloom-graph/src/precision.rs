//! The types of numbers: given at leaves, inferred everywhere else.
//!
//! - A result has the widest float among its operands.
//! - Literals (numbers, sizes, ranges) and tensors computed from them alone have no type of their
//!   own. They take the type of the tensors they are combined with, and so do leaves without a given
//!   type. If they are combined with none, they have the graph's default.
//! - Integers stay integers, also with literals that are whole. With floats, with fractions
//!   (`i * 0.5`), in divisions and in functions such as `exp`, the result is a float: that of the
//!   other operand, or the default. The formula of an operation decides, not its name.
//! - A mean has the type of its operand. Its sum is kept in wider numbers than short floats,
//!   because it may be too large for them where the mean is not.

use broadloom_array::Dtype;

use crate::Graph;
use crate::operation::Operation;
use crate::step::{Leaf, Op, Step, Tensor};

/// The type of each tensor.
pub fn precisions(graph: &Graph) -> Vec<Dtype> {
    let mut known: Vec<Option<Dtype>> =
        graph.tensors().map(|tensor| graph.facts.precisions.get(&tensor).copied()).collect();
    for step in &graph.facts.gathers {
        if let [_, ids] = graph.step_operands(*step) {
            known[ids.index()].get_or_insert(Dtype::I64);
        }
    }
    let default = graph.facts.default_precision;
    let steps = 0..graph.steps.len() as u32;
    steps.clone().for_each(|step| infer(graph, step, &mut known, None));
    // A tensor without a type takes the type of its result, and so do its operands. That may decide
    // others, which a second pass finds. Gradients of tensors that are still without a type then
    // have the default.
    steps.clone().rev().for_each(|step| take_from_result(graph, step, &mut known));
    steps.for_each(|step| infer(graph, step, &mut known, Some(accumulated(default))));
    let dtype = |(tensor, known): (Tensor, Option<Dtype>)| match known {
        Some(known) => known,
        None if graph.facts.wide.contains(&tensor) => accumulated(default),
        None => default,
    };
    graph.tensors().zip(known).map(dtype).collect()
}

/// Infers the type of one step.
fn infer(graph: &Graph, step: u32, known: &mut [Option<Dtype>], of_open: Option<Dtype>) {
    if let Some(Step::Leaf { leaf: Leaf::Gradient(of), tensor }) = graph.steps.get(step as usize) {
        known[*tensor as usize] = known[of.index()].map(accumulated).or(of_open);
        return;
    }
    let Some(Step::Op { op, result, results, .. }) = graph.steps.get(step as usize) else { return };
    let mut operands = graph.step_operands(graph.typed_by(step, Tensor(*result)));
    if graph.facts.gathers.contains(&step) {
        operands = &operands[..1];
    }
    let all_integers = are_integers(graph, operands, known);
    let operation = match op {
        _ if let Some(law) = graph.laws.get(&step) => Some(&**law),
        Op::Pointwise(name) => Operation::named(name),
        _ => None,
    };
    let stays_whole = !operation.is_some_and(Operation::has_fractions);
    let counts = |dtype: &Dtype| dtype.is_float() || (all_integers && stays_whole);
    let joined = operands.iter().filter_map(|tensor| known[tensor.index()]).filter(counts).reduce(join);
    for tensor in (*result..*result + u32::from(*results)).map(Tensor) {
        let wide = graph.facts.wide.contains(&tensor);
        known[tensor.index()] = known[tensor.index()].or(if wide { joined.map(accumulated) } else { joined });
    }
}

impl Graph {
    /// The step whose operands decide the type of a result: for a mean, the step of its sum.
    fn typed_by(&self, step: u32, result: Tensor) -> u32 {
        self.facts.means.get(&result).map_or(step, |sum| self.tensors[sum.index()].step)
    }
}

/// Returns true if operands are integers, or literals that are whole, with at least one integer.
fn are_integers(graph: &Graph, operands: &[Tensor], known: &[Option<Dtype>]) -> bool {
    let is_integer = |tensor: &Tensor| known[tensor.index()].is_some_and(|known| !known.is_float());
    let is_whole = |tensor: &Tensor| match graph.leaf(*tensor) {
        Some(Leaf::Number(value) | Leaf::Constant(value)) => value.fract() == 0.0,
        Some(Leaf::Size(_) | Leaf::Range) => known[tensor.index()].is_none(),
        _ => false,
    };
    operands.iter().any(is_integer) && operands.iter().all(|tensor| is_integer(tensor) || is_whole(tensor))
}

/// Operands without a type take that of the result.
fn take_from_result(graph: &Graph, step: u32, known: &mut [Option<Dtype>]) {
    let Some(Step::Op { op, result, .. }) = graph.steps.get(step as usize) else { return };
    let operands = graph.step_operands(graph.typed_by(step, Tensor(*result)));
    let wanted = known[*result as usize].filter(|dtype| dtype.is_float());
    if matches!(op, Op::Convert { factor, divisor } if factor != divisor) {
        return;
    }
    let sums = graph.facts.wide.contains(&Tensor(*result));
    for tensor in operands.iter().filter(|_| wanted.is_some() && !sums) {
        known[tensor.index()] = known[tensor.index()].or(wanted);
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
pub fn accumulated(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::F16 | Dtype::Bf16 => Dtype::F32,
        other => other,
    }
}
