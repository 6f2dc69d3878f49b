//! The types of numbers: given at leaves, inferred everywhere else.
//!
//! - A result has the widest float among its operands. Integers alone have the narrowest type that holds
//!   the numbers of all operands (`u8` and `i8` make `i16`); `bool` is the least of them.
//! - Literals (numbers, lists, sizes, ranges) and tensors computed from them alone have no type of their
//!   own. They take the type of the tensors they are combined with, and so do leaves without a given
//!   type. If they are combined with none, they have the graph's default.
//! - Conditions are 0 or 1, and choose: what is compared does not decide the type of a choice, and a
//!   condition that is combined with numbers takes their type.
//! - Integers stay integers, also with literals that are whole. With floats, with fractions
//!   (`i * 0.5`), in divisions and in functions such as `exp`, the result is a float: that of the
//!   other operand, or the default. The formula of an operation decides, not its name.
//! - States that parameters are updated by, such as numbers of steps, are not shorter than 32 bits, though the parameters may be:
//!   what is added up there would not grow beyond a few hundred.
//! - What a scan carries has the widest type among its first value and what a turn makes of it; a literal as the first value
//!   leaves that to the turn. If a turn adds to it, or multiplies it, it is a sum or product over an axis, and typed as such.
//! - Sums and products over axes of `bool`, `u8`, `i8` and `i16` are `i64`, and so is arithmetic on `bool` alone,
//!   because the results would seldom fit; so is what a size or a range does to such numbers. Copies,
//!   choices, the greatest and the least keep the type.
//! - A cast has its type, whatever its operand is, and does not decide the type of that; but lists that the default
//!   would round first are 64-bit floats, as they are written, and counted numbers 64-bit integers.
//! - Whole literals whose bits are asked for are integers, of 64 bits if they are combined with no others.
//! - A mean has the type of its operand, or the default for integers. Its sum is kept in wider numbers
//!   than short floats and integers, because it may be too large for them where the mean is not.

use broadloom_array::{Array, Dtype};

use crate::facts::{Carried, Lookup, Special};
use crate::operation::Operation;
use crate::operation::id::OperationId;
use crate::operation::table::Pointwise;
use crate::spec_options::{Accumulate, Combine};
use crate::step::{Leaf, Op, Step, StepId, Tensor};
use crate::{Graph, names};

/// The type of each tensor.
pub fn precisions(graph: &Graph) -> Vec<Dtype> {
    if is_of_one_type(graph) {
        return vec![graph.facts.default_precision; graph.tensors.len()];
    }
    let mut given: Vec<Option<Dtype>> =
        graph.tensors().map(|tensor| graph.facts.precisions.get(&tensor).copied()).collect();
    loop {
        let types = inferred(graph, given.clone());
        let mut wider = false;
        for carried @ Carried { tensor, next, .. } in carried(graph) {
            // A whole literal as the first value has no type of its own, so that the turn alone decides.
            let own = types.known[tensor.index()]
                .or_else(|| (!types.whole[tensor.index()]).then(|| types.of(*tensor)));
            let joined = match own {
                Some(own) => Some(join(own, types.of(*next))),
                None => types.known[next.index()],
            };
            let joined = joined.map(|joined| types.of_carried(carried, joined));
            if joined != own {
                given[tensor.index()] = joined;
                wider = true;
            }
        }
        if !wider {
            return graph.tensors().map(|tensor| types.of(tensor)).collect();
        }
    }
}

/// Returns true if nothing in a graph gives any tensor another type than the default: no declaration, cast, integer or operation on bits. The type
/// of gradients and of wide sums then has to be the default, too.
fn is_of_one_type(graph: &Graph) -> bool {
    let facts = &graph.facts;
    let default = facts.default_precision;
    let is_plain = facts.precisions.is_empty() && facts.special.is_empty() && facts.scans.all.is_empty();
    if !is_plain || !default.is_float() || accumulated(default) != default {
        return false;
    }
    let gives_type = |operation: &Operation| operation.cast_to().is_some() || operation.is_bitwise();
    if graph.laws.values().any(|law| gives_type(law)) {
        return false;
    }
    // Few operations are used, and each of them often.
    let mut known: Vec<OperationId> = Vec::new();
    graph.steps.iter().all(|step| {
        let Step::Op { op: Op::Pointwise(id), .. } = step else { return true };
        let is_known = known.contains(id);
        if !is_known {
            known.push(*id);
        }
        is_known || !id.operation().is_some_and(gives_type)
    })
}

/// The types of the tensors that have one or meet one, where some types are given.
fn inferred(graph: &Graph, known: Vec<Option<Dtype>>) -> Types<'_> {
    let operations: Vec<_> = graph.step_ids().map(|step| operation_of(graph, step)).collect();
    let mut types = Types { graph, known, whole: Vec::new(), operations };
    types.whole = graph.tensors().map(|tensor| types.is_whole_literal(tensor)).collect();
    for carried in carried(graph) {
        let mut firsts = names::step_operands(graph, carried.first).iter();
        types.whole[carried.tensor.index()] = firsts.all(|first| types.whole[first.index()]);
    }
    for (step, special) in &graph.facts.special {
        match special {
            Special::Lookup(_) => {
                if let [_, ids] = names::step_operands(graph, *step) {
                    types.known[ids.index()].get_or_insert(Dtype::I64);
                }
            }
            Special::Sort(_) => {
                for places in names::step_results(graph, *step) {
                    types.known[places.index()] = Some(Dtype::I64);
                }
            }
            Special::Matrix(_) => {}
        }
    }
    let default = graph.facts.default_precision;
    let steps = graph.step_ids();
    steps.clone().for_each(|step| {
        if !types.is_truth(step) {
            types.infer(step, None);
        }
    });
    // A tensor without a type takes the type of its result, and so do its operands. That may decide
    // others, which a second pass finds. Gradients of tensors that are still without a type then
    // have the default.
    steps.clone().rev().for_each(|step| types.take_from_result(step));
    steps.for_each(|step| types.infer(step, Some(accumulated(default))));
    types
}

/// The tensors that the scans of a graph carry.
fn carried(graph: &Graph) -> impl Iterator<Item = &Carried> {
    graph.facts.scans.all.iter().flat_map(|scan| &scan.carried)
}

/// The known types of a graph.
struct Types<'g> {
    graph: &'g Graph,
    known: Vec<Option<Dtype>>,
    /// Marks literals and conditions whose numbers are whole: as long as they have no type, they may be integers.
    whole: Vec<bool>,
    /// The operation of each step that has a formula.
    operations: Vec<Option<&'g Operation>>,
}

impl Types<'_> {
    /// The type of a tensor: the default if nothing says it.
    fn of(&self, tensor: Tensor) -> Dtype {
        let default = self.graph.facts.default_precision;
        match self.known[tensor.index()] {
            Some(known) => known,
            None if self.graph.facts.wide.contains(&tensor) => accumulated(default),
            None => default,
        }
    }

    /// The type of what a scan carries, of which its first value and a turn make a type: a larger one if it is a sum or a product
    /// from a whole literal on.
    fn of_carried(&self, Carried { tensor, next, .. }: &Carried, joined: Dtype) -> Dtype {
        let outgrows = is_narrow(joined) && self.whole[tensor.index()] && self.accumulates(*tensor, *next);
        if outgrows { Dtype::I64 } else { joined }
    }

    /// Returns true if a value is a tensor to which something was added, or which was multiplied, perhaps only where a condition
    /// holds.
    fn accumulates(&self, tensor: Tensor, value: Tensor) -> bool {
        let step = self.graph.tensors[value.index()].step;
        let Some(Step::Op { op: Op::Pointwise(id), .. }) = self.graph.steps.get(step.index()) else {
            return false;
        };
        let operands = names::step_operands(self.graph, step);
        match *id {
            OperationId::Pointwise(Pointwise::Add | Pointwise::Sub | Pointwise::Mul) => {
                operands.contains(&tensor)
            }
            OperationId::Pointwise(Pointwise::Select) => {
                operands[1..].iter().any(|chosen| self.accumulates(tensor, *chosen))
            }
            _ => false,
        }
    }

    /// Infers the type of one step.
    fn infer(&mut self, step: StepId, of_open: Option<Dtype>) {
        let graph = self.graph;
        if let Some(Step::Leaf { leaf: Leaf::Gradient(of), tensor }) = graph.steps.get(step.index()) {
            self.known[*tensor as usize] = self.known[of.index()].map(accumulated).or(of_open);
            return;
        }
        let Some(Step::Op { result, results, .. }) = graph.steps.get(step.index()) else { return };
        if let Some(dtype) = self.operations[step.index()].and_then(Operation::cast_to) {
            self.known[*result as usize] = Some(dtype);
            return;
        }
        let mut operands = names::step_operands(graph, typed_by(graph, step, Tensor(*result)));
        let operation = self.operations[step.index()];
        if matches!(graph.facts.special.get(&step), Some(Special::Lookup(_))) {
            operands = &operands[..1];
        } else if operation.is_some_and(Operation::is_choice) || chooses(graph, step) {
            operands = &operands[1..];
        }
        let all_integers = self.are_integers(operands);
        let stays_whole = !operation.is_some_and(Operation::has_fractions)
            && !matches!(graph.facts.special.get(&step), Some(Special::Matrix(_)));
        let counts = |dtype: &Dtype| dtype.is_float() || (all_integers && stays_whole);
        let types = operands.iter().filter_map(|tensor| self.known[tensor.index()]);
        let joined = types.filter(counts).reduce(join);
        for tensor in (*result..*result + u32::from(*results)).map(Tensor) {
            let inferred = match joined {
                Some(joined) if graph.facts.wide.contains(&tensor) => Some(summed(joined)),
                Some(joined) if is_narrow(joined) && self.outgrows(step, operands, joined) => {
                    Some(Dtype::I64)
                }
                joined => joined,
            };
            self.known[tensor.index()] = self.known[tensor.index()].or(inferred);
        }
    }

    /// Returns true if a step compares numbers or combines conditions.
    fn is_truth(&self, step: StepId) -> bool {
        self.operations[step.index()].is_some_and(Operation::is_truth)
    }

    /// Returns true if a tensor is a literal with whole numbers, or a condition.
    fn is_whole_literal(&self, tensor: Tensor) -> bool {
        let graph = self.graph;
        match graph.leaf(tensor) {
            Some(Leaf::Number(value) | Leaf::Constant(value)) => value.fract() == 0.0,
            Some(Leaf::Size(_) | Leaf::Range) => true,
            Some(Leaf::Data) if !graph.facts.precisions.contains_key(&tensor) => {
                graph.values_of(tensor).is_some_and(Array::is_whole)
            }
            Some(_) => false,
            None => self.is_truth(graph.tensors[tensor.index()].step),
        }
    }

    /// Gives a literal that is cast to a type another type than the default if only that holds it as it is written.
    fn take_as_written(&mut self, tensor: Tensor, dtype: Dtype) {
        let facts = &self.graph.facts;
        let is_lost = |written: &Array| {
            written.convert(facts.default_precision).convert(dtype) != written.convert(dtype)
        };
        let written = match self.graph.leaf(tensor) {
            Some(Leaf::Size(_) | Leaf::Range) => Some(Dtype::I64),
            _ if facts.arrays.get(&tensor).is_some_and(|written| is_lost(written)) => Some(Dtype::F64),
            _ => None,
        };
        self.known[tensor.index()] = self.known[tensor.index()].or(written);
    }

    /// Whole literals in an operation on bits are integers: those of the other operands, or of 64 bits.
    fn take_integers(&mut self, operands: &[Tensor], result: Tensor) {
        let open = |tensor: &&Tensor| self.known[tensor.index()].is_none();
        if operands.iter().filter(open).any(|tensor| !self.whole[tensor.index()]) {
            return;
        }
        let known = operands.iter().filter_map(|tensor| self.known[tensor.index()]);
        let wanted = known.reduce(join).filter(|dtype| !dtype.is_float()).unwrap_or(Dtype::I64);
        for tensor in operands.iter().chain([&result]) {
            self.known[tensor.index()].get_or_insert(wanted);
        }
    }

    /// Returns true if the results of a step on narrow integers seldom fit their type.
    fn outgrows(&self, step: StepId, operands: &[Tensor], joined: Dtype) -> bool {
        let graph = self.graph;
        let Some(Step::Op { op, .. }) = graph.steps.get(step.index()) else { return false };
        let counts = |tensor: &Tensor| matches!(graph.leaf(*tensor), Some(Leaf::Size(_) | Leaf::Range));
        match *op {
            _ if matches!(graph.facts.special.get(&step), Some(Special::Lookup(Lookup::Taken(_)))) => false,
            Op::Pointwise(_) => {
                let operation = self.operations[step.index()];
                let selects = operation.is_some_and(Operation::is_selection);
                !self.is_truth(step) && ((joined == Dtype::Bool && !selects) || operands.iter().any(counts))
            }
            Op::Compose | Op::ComposeAccumulate => true,
            Op::Einsum { spec, accumulate, .. } => {
                let sums = matches!(accumulate, Accumulate::Sum | Accumulate::Product);
                (sums
                    && (graph.specs.get(spec).spec.reduces()
                        || matches!(graph.facts.special.get(&step), Some(Special::Lookup(_)))))
                    || (joined == Dtype::Bool && operands.len() > 1)
            }
            Op::Transpose | Op::Slice(_) | Op::Collect | Op::Convert { .. } => false,
        }
    }

    /// Returns true if operands are integers, or literals and conditions that are whole, with at least one integer.
    fn are_integers(&self, operands: &[Tensor]) -> bool {
        let is_integer = |tensor: &Tensor| self.known[tensor.index()].is_some_and(|known| !known.is_float());
        operands.iter().any(is_integer)
            && operands.iter().all(|tensor| is_integer(tensor) || self.may_be_integer(*tensor))
    }

    fn may_be_integer(&self, tensor: Tensor) -> bool {
        let is_number = matches!(self.graph.leaf(tensor), Some(Leaf::Number(_) | Leaf::Constant(_)));
        self.whole[tensor.index()] && (is_number || self.known[tensor.index()].is_none())
    }

    /// Operands without a type take that of the result. Those of a comparison take that of what they are compared with, and a
    /// condition decides nothing.
    fn take_from_result(&mut self, step: StepId) {
        let graph = self.graph;
        let Some(Step::Op { op, result, .. }) = graph.steps.get(step.index()) else { return };
        let mut operands = names::step_operands(graph, typed_by(graph, step, Tensor(*result)));
        let mut wanted = self.known[*result as usize];
        if let Some(dtype) = self.operations[step.index()].and_then(Operation::cast_to) {
            return operands.iter().for_each(|operand| self.take_as_written(*operand, dtype));
        }
        if self.operations[step.index()].is_some_and(Operation::is_bitwise) {
            return self.take_integers(operands, Tensor(*result));
        }
        if self.is_truth(step) {
            wanted = operands.iter().filter_map(|tensor| self.known[tensor.index()]).reduce(join);
        } else if self.operations[step.index()].is_some_and(Operation::is_choice) || chooses(graph, step) {
            operands = &operands[1..];
        }
        let Some(wanted) = wanted else { return };
        if matches!(op, Op::Convert { factor, divisor } if factor != divisor)
            || graph.facts.wide.contains(&Tensor(*result))
        {
            return;
        }
        let is_update = matches!(graph.leaf(Tensor(*result)), Some(Leaf::Param));
        for tensor in operands {
            let is_state = matches!(graph.leaf(*tensor), Some(Leaf::State));
            let wanted = if is_update && is_state { accumulated(wanted) } else { wanted };
            if wanted.is_float() || self.whole[tensor.index()] && graph.facts.arrays.contains_key(tensor) {
                self.known[tensor.index()].get_or_insert(wanted);
            }
        }
    }
}

/// Returns true if a step compares numbers or combines conditions.
pub(crate) fn is_truth(graph: &Graph, step: StepId) -> bool {
    operation_of(graph, step).is_some_and(Operation::is_truth)
}

/// Returns true if the first operand of a spec chooses between the others.
fn chooses(graph: &Graph, step: StepId) -> bool {
    matches!(
        graph.steps.get(step.index()),
        Some(Step::Op { op: Op::Einsum { combine: Combine::Where, .. }, .. })
    )
}

/// The operation of a step, if it has a formula.
fn operation_of(graph: &Graph, step: StepId) -> Option<&Operation> {
    match graph.steps.get(step.index())? {
        Step::Op { .. } if let Some(law) = graph.laws.get(&step) => Some(law),
        Step::Op { op: Op::Pointwise(id), .. } => id.operation(),
        _ => None,
    }
}

/// The step whose operands decide the type of a result: for a mean, the step of its sum.
fn typed_by(graph: &Graph, step: StepId, result: Tensor) -> StepId {
    graph.facts.means.get(&result).map_or(step, |sum| graph.tensors[sum.index()].step)
}

/// The narrower of two types that holds both.
fn join(a: Dtype, b: Dtype) -> Dtype {
    match (a, b) {
        (Dtype::F16, Dtype::Bf16) | (Dtype::Bf16, Dtype::F16) => Dtype::F32,
        (Dtype::U8, Dtype::I8) | (Dtype::I8, Dtype::U8) => Dtype::I16,
        (a, b) => a.max(b),
    }
}

/// Returns true if a type has so few integers that sums seldom fit.
fn is_narrow(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::Bool | Dtype::U8 | Dtype::I8 | Dtype::I16)
}

/// The type of the sum of a mean: one that can hold what the mean can be computed from.
fn summed(dtype: Dtype) -> Dtype {
    if dtype.is_float() { accumulated(dtype) } else { Dtype::F64 }
}

/// The type in which sums for a tensor of some type are kept between assignments.
pub fn accumulated(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::F16 | Dtype::Bf16 => Dtype::F32,
        other => other,
    }
}
