//! The axes of tensors in functions of matrices, and the buffers on which those run.

use broadloom_graph::lowering::{Face, Special};
use broadloom_graph::{Graph, StepId, Tensor};
use broadloom_loops::{Buffer, Dtype, MatrixFunction, Role, Size, Storage};

use super::Layout;

/// The sizes of a tensor of a function: those of its matrices, of rows and of columns.
pub(crate) struct Axes {
    pub batch: Vec<Size>,
    pub rows: Vec<Size>,
    pub columns: Vec<Size>,
    /// True if the batch axes are columns.
    pub spread: bool,
}

impl Layout {
    /// The axes of a tensor in a step with a function of matrices.
    pub fn matrix_axes(&self, graph: &Graph, step: StepId, tensor: Tensor) -> Axes {
        let alone = graph.step_operands(step).first().is_none_or(|first| self.ranks(*first)[0] == 0);
        let [batch, _, output] = self.ranks(tensor);
        let mut axes = self.axes(tensor);
        let columns = axes.split_off(batch + output);
        let rows = axes.split_off(batch);
        Axes { batch: axes, rows, columns, spread: alone }
    }

    /// The tensor that a part of a function belongs to.
    pub fn part_of(&self, graph: &Graph, step: StepId, role: Role) -> Option<Tensor> {
        match role {
            Role::Operand(at) | Role::OperandGradient(at) => graph.step_operands(step).get(at).copied(),
            Role::Result(at) | Role::ResultGradient(at) => graph.step_results(step).nth(at),
        }
    }

    /// The sizes of a function: those of its tensors, of which one that broadcasts has fewer.
    pub fn matrix_sizes(&self, graph: &Graph, step: StepId, function: MatrixFunction) -> Vec<Size> {
        let mut sizes = vec![Size::ONE; function.arity()];
        for (role, part) in function.writes().iter().chain(function.reads()) {
            let Some(tensor) = self.part_of(graph, step, *role) else { continue };
            let axes = self.matrix_axes(graph, step, tensor);
            let spread = if axes.spread { &axes.batch[..] } else { &[] };
            let lengths =
                [axes.rows.iter().copied().product(), spread.iter().chain(&axes.columns).copied().product()];
            for (place, length) in function.part(*part).iter().zip(lengths) {
                if sizes[*place] == 1 {
                    sizes[*place] = length;
                }
            }
        }
        sizes
    }
}

/// The function that a step runs, forward or backward.
pub(crate) fn function_of(graph: &Graph, step: StepId, backward: bool) -> Option<MatrixFunction> {
    let function = graph.special(step).and_then(Special::matrix)?;
    if backward { function.back() } else { Some(function) }
}

/// The buffer that a function of matrices runs on.
pub(super) fn work_buffer(layout: &Layout, graph: &Graph, step: StepId, backward: bool) -> Buffer {
    let batch = graph.step_operands(step).first().map(|first| layout.matrix_axes(graph, step, *first).batch);
    let mut sizes = batch.unwrap_or_default();
    if let Some(function) = function_of(graph, step, backward) {
        sizes.push(function.room(&layout.matrix_sizes(graph, step, function)));
    }
    let name = format!("{}.work", graph.short_name(graph.first_result(step)));
    Buffer { name, dtype: Dtype::F64, sizes, margins: Vec::new(), fill: 0.0, storage: Storage::Local }
}
