//! Gradients: the steps in reverse, each with the projections of its forward pass.

use std::sync::Arc;

use broadloom_graph::lowering::{Face, Leaf, Scan, Slot, Special};
use broadloom_graph::{Error, ErrorKind, Graph, MessageLine, Remedy, StepId, Tensor};
use broadloom_loops::{Nest, Size, Statement};
use rustc_hash::FxHashSet;

use super::assign::AssignContext;
use super::law::{differentiable, gradient_pieces, ties};
use super::scan_steps::{scans, steps_of};
use super::{Content, Lowering};

impl Lowering<'_> {
    /// The part of a sum or a product that is more than one number, where all else is one.
    fn wide_part(&self, mut tensor: Tensor) -> Tensor {
        let elements = |tensor: &Tensor| self.layout.axes(*tensor).into_iter().product::<Size>();
        loop {
            let &[a, b] = self.graph.step_operands(self.graph.made_by(tensor)) else { return tensor };
            tensor = match [a, b].map(|operand| elements(&operand) == 1) {
                [true, false] => b,
                [false, true] => a,
                _ => return tensor,
            };
        }
    }

    /// Lowers the gradients of a single number.
    pub(super) fn backward(&mut self, loss: Tensor) -> Result<(), Error> {
        let elements: Size = self.layout.axes(loss).into_iter().product();
        if elements != 1 {
            let name = self.graph.message_name(loss);
            let shape = self.layout.shapes.get(loss);
            let message = format!("gradients are of one number, but `{name}` has shape `{shape}`");
            let wide = self.wide_part(loss);
            let [part, axes] = [self.graph.message_name(wide), self.layout.shapes.get(wide).to_string()];
            let shown = MessageLine::at(self.graph.made_by(wide), format!("`{part}` is `{axes}`"));
            return Err(Error::new(ErrorKind::Use, message)
                .about_step(self.graph.made_by(loss))
                .with_end(shown)
                .with_remedy(Remedy::Reduce, "sum it up first, for example by the spec `... | ... => 0`"));
        }
        let steps = steps_to(self.graph, loss);
        let wanted = wants_gradient(self.graph, &steps);
        if !wanted[loss.index()] {
            let name = self.graph.message_name(loss);
            let message = format!("`{name}` depends on no parameter, so it has no gradients");
            return Err(Error::new(ErrorKind::Use, message)
                .about_step(self.graph.made_by(loss))
                .with_remedy(Remedy::Parameter, "ask for the gradient of other tensors with `gradient`"));
        }
        self.fill(Content::Gradient(loss), 1.0, "the gradient of the loss by itself is 1");
        // Gradients start from 0 in every pass.
        let mut begun = FxHashSet::from_iter([loss]);
        let mut done: Vec<Arc<Scan>> = Vec::new();
        for step in steps.into_iter().rev() {
            if let Some(scan) = self.graph.scan_within(step, None).map(Arc::clone) {
                if self.scan_backward_once(&scan, &mut done, &wanted, &mut begun)? {
                    self.belong_to(step);
                }
                continue;
            }
            if self.graph.step_results(step).any(|result| wanted[result.index()]) {
                self.backward_step(step, &wanted, &mut begun)?;
                self.belong_to(step);
            }
        }
        self.changed.extend(begun.iter().filter_map(|tensor| self.graph.gradients().get(tensor).copied()));
        self.fill_untouched();
        self.belong_to(self.graph.made_by(loss));
        Ok(())
    }

    pub(super) fn backward_step(
        &mut self,
        step: StepId,
        wanted: &[bool],
        begun: &mut FxHashSet<Tensor>,
    ) -> Result<(), Error> {
        if let Some(function) = self.graph.special(step).and_then(Special::matrix) {
            return self.matrices_backward(step, function, wanted, begun);
        }
        let nest = self.layout.nest(step)?;
        for result in 0..nest.results {
            if !begun.contains(&nest.tensors[result]) {
                continue;
            }
            let place = AssignContext::new(step, Arc::clone(&nest), result, true);
            let mut first = true;
            let phases = place.phases();
            let shared = !nest.writes_plainly(result);
            if shared {
                self.count_ties(&place, &phases)?;
            }
            for (phase, parts) in phases {
                for piece in gradient_pieces(self.graph, step, &parts, shared)? {
                    let tensor = place.tensor(&piece.target);
                    if matches!(piece.target, Slot::Gradient(_)) {
                        if !wanted[tensor.index()] {
                            continue;
                        }
                        if begun.insert(tensor) {
                            let name = self.graph.message_name(tensor);
                            self.fill(
                                Content::Gradient(tensor),
                                0.0,
                                &format!("the gradient of {name} begins at 0"),
                            );
                        }
                    }
                    self.assign(&place, &phase, &piece, first)?;
                }
                first = false;
            }
        }
        Ok(())
    }

    /// Counts ties. The candidates of a cell may come from several parts of a concatenation: all
    /// are counted before any gets its share.
    fn count_ties(&mut self, place: &AssignContext, phases: &[(Vec<u32>, Vec<u32>)]) -> Result<(), Error> {
        for (number, (phase, parts)) in phases.iter().enumerate() {
            for piece in ties(self.graph, place.step, parts)? {
                self.assign(place, phase, &piece, number == 0)?;
            }
        }
        Ok(())
    }

    pub(super) fn fill(&mut self, node: Content, value: f64, comment: &str) {
        let buffer = self.buffer(node);
        let body = vec![Statement::Fill { buffer, value }];
        self.program.nests.push(Nest { comment: comment.into(), body });
        self.written.insert(node);
    }

    /// Sets gradients that were requested but not reached to 0.
    fn fill_untouched(&mut self) {
        let mut asked: Vec<Tensor> = self.graph.gradients().keys().copied().collect();
        asked.sort_unstable();
        for tensor in asked {
            let node = Content::Gradient(tensor);
            if !self.written.contains(&node) && !self.needs.contains(&node) {
                self.fill(node, 0.0, "a gradient that nothing contributes to");
            }
        }
    }
}

/// The steps by which a tensor is computed, in order.
fn steps_to(graph: &Graph, tensor: Tensor) -> Vec<StepId> {
    let mut seen = vec![false; graph.len()];
    let mut steps = Vec::new();
    let mut stack = vec![tensor];
    while let Some(tensor) = stack.pop() {
        if std::mem::replace(&mut seen[tensor.index()], true) || graph.leaf(tensor).is_some() {
            continue;
        }
        match graph.scan_within(graph.made_by(tensor), None) {
            Some(scan) => steps.extend(steps_of(scan)),
            None => steps.push(graph.made_by(tensor)),
        }
        stack.extend_from_slice(graph.read_by(tensor));
    }
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// For each tensor, true if it has a gradient: parameters, requested tensors, and tensors computed
/// from them by differentiable operations.
pub(super) fn wants_gradient(graph: &Graph, steps: &[StepId]) -> Vec<bool> {
    let mut wanted: Vec<bool> = graph
        .tensors()
        .map(|tensor| {
            graph.leaf(tensor) == Some(Leaf::Param) || graph.gradients().get(&tensor).copied().is_some()
        })
        .collect();
    let scans = scans(graph, steps);
    loop {
        for step in steps {
            let operands = graph.step_operands(*step);
            let through = differentiable(graph, *step);
            if through.iter().any(|place| wanted[operands[*place as usize - 1].index()]) {
                graph.step_results(*step).for_each(|result| wanted[result.index()] = true);
            }
        }
        // What is carried has a gradient if its next value has one; then more of the turn may have.
        let mut more = false;
        for carried in scans.iter().flat_map(|scan| &scan.carried) {
            let follows = wanted[carried.next.index()] && !wanted[carried.tensor.index()];
            wanted[carried.tensor.index()] |= follows;
            more |= follows;
        }
        if !more {
            return wanted;
        }
    }
}

/// The parameters that a gradient of a tensor reaches, in the order they were made. Parameters
/// behind `stop_gradient`, comparisons and the like are not among them.
///
/// ```
/// let mut g = broadloom::Graph::new();
/// let (w, v) = (g.param_shaped("w", "3")?, g.param_shaped("v", "3")?);
/// let fixed = g.stop_gradient(v)?;
/// let y = g.mul(w, fixed)?;
/// assert_eq!(broadloom::trainable(&g, y), [w]);
/// # Ok::<(), broadloom::Error>(())
/// ```
pub fn trainable(graph: &Graph, tensor: Tensor) -> Vec<Tensor> {
    let reached = reached(graph, tensor);
    graph.params().into_iter().filter(|param| reached[param.index()]).collect()
}

/// The data that gradients of a tensor reach: those that hold floats, and that it depends on through operations with gradients.
///
/// ```
/// let mut g = broadloom::Graph::new();
/// let (x, z) = (g.data("x", "3")?, g.data("z", "3")?);
/// let y = g.square(x)?;
/// let y = g.add(y, z)?;
/// let loss = g.floor(x)?;
/// assert_eq!(broadloom::reached_data(&g, y), [x, z]);
/// assert_eq!(broadloom::reached_data(&g, loss), []);
/// # Ok::<(), broadloom::Error>(())
/// ```
pub fn reached_data(graph: &Graph, tensor: Tensor) -> Vec<Tensor> {
    let (reached, dtypes) = (reached(graph, tensor), graph.dtypes());
    let is_data = |data: &Tensor| graph.leaf(*data) == Some(Leaf::Data) && dtypes[data.index()].is_float();
    graph.tensors().filter(|data| reached[data.index()] && is_data(data)).collect()
}

/// The tensors whose gradients a tensor depends on through operations with gradients. A gradient is a number like those of data: nothing goes back
/// through it to what it was computed from.
///
/// ```
/// let mut g = broadloom::Graph::new();
/// let w = g.param("w");
/// let gradient = g.gradient(w)?;
/// let penalty = g.square(gradient)?;
/// assert_eq!(broadloom::reached_gradients(&g, penalty), [w]);
/// let fixed = g.stop_gradient(gradient)?;
/// assert_eq!(broadloom::reached_gradients(&g, fixed), []);
/// # Ok::<(), broadloom::Error>(())
/// ```
pub fn reached_gradients(graph: &Graph, tensor: Tensor) -> Vec<Tensor> {
    let reached = reached(graph, tensor);
    let of = |leaf: Tensor| match graph.leaf(leaf) {
        Some(Leaf::Gradient(of)) if reached[leaf.index()] => Some(of),
        _ => None,
    };
    graph.tensors().filter_map(of).collect()
}

/// For each tensor of a graph, true if some tensors are computed from it, or it is one of them.
///
/// ```
/// let mut g = broadloom::Graph::new();
/// let (x, z) = (g.data("x", "3")?, g.data("z", "3")?);
/// let y = g.square(x)?;
/// let from = broadloom::computed_from(&g, &[y]);
/// assert!(from[x.index()] && from[y.index()] && !from[z.index()]);
/// # Ok::<(), broadloom::Error>(())
/// ```
pub fn computed_from(graph: &Graph, tensors: &[Tensor]) -> Vec<bool> {
    let (mut found, mut stack) = (vec![false; graph.len()], tensors.to_vec());
    while let Some(tensor) = stack.pop() {
        if std::mem::replace(&mut found[tensor.index()], true) || graph.leaf(tensor).is_some() {
            continue;
        }
        stack.extend_from_slice(graph.read_by(tensor));
        if let Some(scan) = graph.scan_within(graph.made_by(tensor), None) {
            steps_of(scan).into_iter().for_each(|step| stack.extend_from_slice(graph.step_operands(step)));
        }
    }
    found
}

/// The tensors that gradients of a tensor reach.
fn reached(graph: &Graph, tensor: Tensor) -> Vec<bool> {
    let mut reached = vec![false; graph.len()];
    reached[tensor.index()] = true;
    let steps = steps_to(graph, tensor);
    let scans = scans(graph, &steps);
    loop {
        for step in steps.iter().rev() {
            if !graph.step_results(*step).any(|result| reached[result.index()]) {
                continue;
            }
            let operands = graph.step_operands(*step);
            for place in differentiable(graph, *step) {
                reached[operands[place as usize - 1].index()] = true;
            }
        }
        // A gradient of what is carried is one of its next value, in the turn before.
        let mut more = false;
        for carried in scans.iter().flat_map(|scan| &scan.carried) {
            let follows = reached[carried.tensor.index()] && !reached[carried.next.index()];
            reached[carried.next.index()] |= follows;
            more |= follows;
        }
        if !more {
            return reached;
        }
    }
}
