//! A program as a function with gradients, for libraries that differentiate.
//!
//! Gradients of outputs come from outside. So the graph gains, for each output, data of its shape, and one number: the sum of all
//! outputs times these. The gradients of that number are those that are asked for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use broadloom::{
    Axis, Block, Error, GivenValues, Graph, Kind, LeafKind, Node, Routine, Settings, Shape, SymbolicSize,
    Tensor, computed_from, reached_data, trainable,
};
use broadloom_diagnostics::{Diagnostic, Sources, Span};
use broadloom_ide::Analysis;
use broadloom_lang::{NamedTensor, Program as Text, Ready, nearest};
use broadloom_spec::{ShapeBuilder, WrittenShape};
use pyo3::prelude::*;

use crate::arrays::{Received, handed_out, received};
use crate::errors::{advised, detached, plain, raised};
use crate::program::Program;
use crate::running::{backend_of, taken};

/// A program as a function with gradients.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Differentiated {
    sources: Sources,
    /// The tensors that have gradients: the names of parameters, and then of data.
    reached: Vec<String>,
    /// The names of tensors that the program itself keeps up, such as running statistics.
    buffers: Vec<String>,
    /// The names of those that the forward pass assigns to.
    updated: Vec<String>,
    /// True if the outputs depend on random numbers.
    draws: bool,
    state: Mutex<State>,
}

struct State {
    ready: Ready,
    forward: Arc<Routine>,
    backward: Arc<Routine>,
    /// The outputs, and then what the forward pass assigns to.
    given: Vec<Tensor>,
    gradients: Vec<Tensor>,
}

/// The tensors that a program keeps up by itself while some outputs are computed.
struct Kept {
    /// The tensors that last and that no gradient changes.
    buffers: Vec<Tensor>,
    /// Those that are assigned to when the outputs are computed.
    updated: Vec<Tensor>,
}

/// The name of the data that holds the gradient of an output.
fn of_gradient(output: &str) -> String {
    format!("the gradient of {output}")
}

/// A shape to declare the gradient of an output with. Sizes such as `n - 1` cannot be declared: they are left open, and follow from the product with
/// the output.
fn declared_like(shape: &Shape) -> WrittenShape {
    let is_name = |size: &SymbolicSize| size.names().any(|name| name == size.to_string());
    let (mut declared, mut open) = (ShapeBuilder::new(), 0);
    for kind in Kind::ALL {
        let row = shape.row(kind);
        for axis in row {
            let basis = match axis {
                Axis::Unit => {
                    declared.any();
                    &None
                }
                Axis::Sized(size, basis) => {
                    declared.size(*size);
                    basis
                }
                Axis::Symbolic(size, basis) if is_name(size) => {
                    declared.name(&size.to_string());
                    basis
                }
                Axis::Symbolic(..) => {
                    open += 1;
                    declared.name(&format!("of_gradient_{open}"));
                    &None
                }
            };
            if let Some(basis) = basis {
                declared.basis(basis);
            }
        }
        match kind {
            Kind::Batch if !row.is_empty() => drop(declared.bar()),
            Kind::Input if !row.is_empty() => drop(declared.arrow()),
            _ => {}
        }
    }
    declared.finish()
}

/// Extends a program by the gradients of some outputs.
fn extended(
    program: &mut Text,
    outputs: &[(String, Tensor)],
) -> Result<(Routine, Vec<(String, Tensor)>), Error> {
    let graph = &mut program.graph;
    let shapes = graph.final_shapes()?;
    let mut total: Option<Tensor> = None;
    for (name, output) in outputs {
        let given = graph.data(&of_gradient(name), &declared_like(&shapes.get(*output)))?;
        let span = Span::empty(program.main, 0);
        program.made.push(NamedTensor { name: of_gradient(name), tensor: given, span, level: 1 });
        let weighted = graph.mul(*output, given)?;
        let sum = graph.einsum("... | ... -> ... => ", &[weighted])?;
        total = Some(match total {
            Some(total) => graph.add(total, sum)?,
            None => sum,
        });
    }
    let mut routine = Routine::new("backward");
    let Some(total) = total else { return Ok((routine, Vec::new())) };
    routine.backward(graph, total)?;
    let mut gradients = Vec::new();
    let is_own =
        |data: &Tensor| outputs.iter().all(|(name, _)| graph.name_of(*data) != Some(&of_gradient(name)));
    let data: Vec<Tensor> = reached_data(graph, total).into_iter().filter(is_own).collect();
    for leaf in trainable(graph, total).into_iter().chain(data) {
        let gradient = graph.gradient(leaf)?;
        routine.keep(gradient);
        gradients.push((graph.label_of(leaf), gradient));
    }
    Ok((routine, gradients))
}

/// Adds to the forward pass the assignments of the program that go with it, such as those to running statistics: they read what the
/// outputs are computed from, and no gradients. Says what is kept up so, there or elsewhere in the program.
fn keep_up(program: &Text, outputs: &[Tensor], forward: &mut Routine) -> Kept {
    let graph = &program.graph;
    let kind = |tensor: Tensor| match graph.node(tensor) {
        Some(Node::Leaf { kind }) => Some(kind),
        _ => None,
    };
    let needed = computed_from(graph, outputs);
    let of_gradients = of_gradients(program);
    let learns = |from: &[bool]| meet(from, &of_gradients);
    let lasts = |target: &Tensor| matches!(kind(*target), Some(LeafKind::Param | LeafKind::State));
    // Data that the outputs do not need may have no values.
    let goes_along = |from: &[bool]| {
        let read = |each: &Tensor| from[each.index()] && matches!(kind(*each), None | Some(LeafKind::Data));
        let foreign = |each: Tensor| kind(each) == Some(LeafKind::Data) && !needed[each.index()];
        graph.tensors().filter(read).any(|each| needed[each.index()])
            && !graph.tensors().filter(read).any(foreign)
    };
    let (mut all, mut learned) = (Routine::new("all"), Routine::new("learned"));
    for routine in &program.plan.routines {
        let from = |operands: &[Tensor]| computed_from(graph, operands);
        all.assign_like(graph, routine, |targets, read| targets.iter().all(lasts) && !learns(&from(read)));
        learned.assign_like(graph, routine, |_, read| learns(&from(read)));
        forward.assign_like(graph, routine, |targets, read| {
            let from = from(read);
            targets.iter().all(lasts) && !learns(&from) && goes_along(&from)
        });
    }
    let (all, learned) = (all.assigned(graph), learned.assigned(graph));
    let reached: Vec<Tensor> = outputs.iter().flat_map(|output| trainable(graph, *output)).collect();
    let is_buffer = |tensor: &Tensor| match kind(*tensor) {
        Some(LeafKind::Param) => {
            all.contains(tensor) && !learned.contains(tensor) && !reached.contains(tensor)
        }
        Some(LeafKind::State) => needed[tensor.index()] || forward.assigns(graph, *tensor),
        _ => false,
    };
    let buffers: Vec<Tensor> = graph.tensors().filter(is_buffer).collect();
    let updated = buffers.iter().copied().filter(|tensor| forward.assigns(graph, *tensor)).collect();
    Kept { buffers, updated }
}

/// For each tensor, true if it is a gradient, or a state that is assigned from gradients, such as those of optimisers.
fn of_gradients(program: &Text) -> Vec<bool> {
    let graph = &program.graph;
    let is_gradient = |tensor| matches!(graph.node(tensor), Some(Node::Leaf { kind: LeafKind::Gradient(_) }));
    let is_state = |tensor| matches!(graph.node(tensor), Some(Node::Leaf { kind: LeafKind::State }));
    let mut found: Vec<bool> = graph.tensors().map(is_gradient).collect();
    loop {
        let mut learned = Routine::new("learned");
        for routine in &program.plan.routines {
            learned.assign_like(graph, routine, |_, read| meet(&computed_from(graph, read), &found));
        }
        let states = learned.assigned(graph).into_iter();
        let new: Vec<Tensor> = states.filter(|each| is_state(*each) && !found[each.index()]).collect();
        if new.is_empty() {
            return found;
        }
        new.into_iter().for_each(|state| found[state.index()] = true);
    }
}

/// Returns true if two sets of tensors have one in common.
fn meet(one: &[bool], other: &[bool]) -> bool {
    one.iter().zip(other).any(|(one, other)| *one && *other)
}

/// Returns true if some tensors depend on random numbers.
fn draws(graph: &Graph, outputs: &[Tensor]) -> bool {
    let needed = computed_from(graph, outputs);
    let is_drawn =
        |tensor: Tensor| matches!(graph.node(tensor), Some(Node::Leaf { kind: LeafKind::Uniform }));
    graph.tensors().any(|tensor| needed[tensor.index()] && is_drawn(tensor))
}

impl Differentiated {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compute<'py>(
        &self,
        py: Python<'py>,
        arrays: &[(String, Bound<'py, PyAny>)],
        draw: u64,
        choose: impl FnOnce(&State) -> (Arc<Routine>, Vec<Tensor>) + Send,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let given: PyResult<Vec<(String, Received)>> =
            arrays.iter().map(|(name, array)| Ok((name.clone(), received(array)?))).collect();
        let given = given?;
        let computed = detached(py, || {
            let mut state = self.state();
            let inputs: Vec<(&str, GivenValues<'_>)> =
                given.iter().map(|(name, array)| (name.as_str(), GivenValues::Lent(array.lent()))).collect();
            let (routine, wanted) = choose(&state);
            state.ready.session.set_runs(draw);
            let computed = state.with(&inputs, &routine, &wanted);
            state.ready.session.give_back();
            computed
        })?;
        let blocks = computed.map_err(|wrong| raised(py, &self.sources, &[*wrong]))?;
        blocks.into_iter().map(|block| handed_out(py, block)).collect()
    }
}

impl State {
    fn with(
        &mut self,
        inputs: &[(&str, GivenValues<'_>)],
        routine: &Routine,
        wanted: &[Tensor],
    ) -> Result<Vec<Block>, Box<Diagnostic>> {
        self.ready.give(inputs)?;
        self.ready.compute(routine)?;
        taken(&mut self.ready, wanted)
    }
}

#[pymethods]
impl Differentiated {
    #[new]
    fn new(
        py: Python<'_>,
        program: &Program,
        outputs: Vec<String>,
        inference: bool,
        backend: &str,
        seed: u64,
        threads: Option<usize>,
    ) -> PyResult<Differentiated> {
        let settings = Settings { backend: backend_of(py, backend)?, seed, threads, ..Settings::default() };
        let text = broadloom_ide::Text { inference, ..program.text().clone() };
        let mut read = detached(py, || Analysis::open(&text).program)?;
        if !read.is_ok() {
            return Err(raised(py, &read.sources, &read.diagnostics));
        }
        let found: PyResult<Vec<(String, Tensor)>> = outputs
            .into_iter()
            .map(|name| match read.find(&name) {
                Some(tensor) => Ok((name, tensor)),
                None => Err(unknown(py, &read, &name)),
            })
            .collect();
        let found = found?;
        let sources = read.sources.clone();
        let mut forward = Routine::new("forward");
        found.iter().for_each(|(_, tensor)| _ = forward.forward(*tensor));
        let outputs: Vec<Tensor> = found.iter().map(|(_, tensor)| *tensor).collect();
        let kept = keep_up(&read, &outputs, &mut forward);
        let names = |of: &[Tensor]| of.iter().map(|tensor| read.graph.label_of(*tensor)).collect();
        let (buffers, updated) = (names(&kept.buffers), names(&kept.updated));
        let draws = draws(&read.graph, &outputs);
        let made = detached(py, || {
            let extended = extended(&mut read, &found);
            extended.map(|(routine, gradients)| (routine, gradients, read.ready(&settings)))
        })?;
        let (backward, gradients, ready) = made.map_err(|error| plain(py, error.message()))?;
        let ready = ready.map_err(|wrong| raised(py, &sources, &[*wrong]))?;
        let (reached, gradients) = gradients.into_iter().unzip();
        let given = outputs.into_iter().chain(kept.updated).collect();
        let state =
            State { ready, forward: Arc::new(forward), backward: Arc::new(backward), given, gradients };
        Ok(Differentiated { sources, reached, buffers, updated, draws, state: Mutex::new(state) })
    }

    /// The backward pass as a module of StableHLO: it takes what [`backward`](Differentiated::backward) takes.
    fn stablehlo(&self, py: Python<'_>, precision: &str) -> PyResult<String> {
        let precision = crate::stablehlo::precision(py, precision)?;
        let made = detached(py, || {
            let mut state = self.state();
            let backward = Arc::clone(&state.backward);
            state.ready.session.set_precision(precision);
            let made = state.ready.session.stablehlo(&backward);
            made.map_err(|error| state.ready.diagnose(&error))
        })?;
        made.map_err(|wrong| raised(py, &self.sources, &[*wrong]))
    }

    /// The names of parameters and data that have gradients.
    fn reached(&self) -> Vec<String> {
        self.reached.clone()
    }

    /// The names of parameters and states that the program keeps up by itself, such as running statistics.
    fn buffers(&self) -> Vec<String> {
        self.buffers.clone()
    }

    /// The names of those whose new values [`forward`](Differentiated::forward) gives after the outputs.
    fn updated(&self) -> Vec<String> {
        self.updated.clone()
    }

    /// True if the outputs depend on random numbers.
    fn draws(&self) -> bool {
        self.draws
    }

    /// The outputs, from arrays for parameters and data, and then what is updated. The number decides what is drawn: the backward
    /// pass has to be given the same.
    fn forward<'py>(
        &self,
        py: Python<'py>,
        arrays: Vec<(String, Bound<'py, PyAny>)>,
        draw: u64,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.compute(py, &arrays, draw, |state| (Arc::clone(&state.forward), state.given.clone()))
    }

    /// The gradients of whatever [is reached](Differentiated::reached), from arrays for parameters, data, and the gradients of
    /// outputs, which are called `the gradient of y`.
    fn backward<'py>(
        &self,
        py: Python<'py>,
        arrays: Vec<(String, Bound<'py, PyAny>)>,
        draw: u64,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.compute(py, &arrays, draw, |state| (Arc::clone(&state.backward), state.gradients.clone()))
    }
}

/// The exception for an output that the program does not have.
fn unknown(py: Python<'_>, program: &Text, name: &str) -> PyErr {
    let message = format!("the program computes no `{name}`");
    match nearest(name, program.made.iter().map(|made| made.name.as_str())) {
        Some(near) => advised(py, &message, &format!("did you mean `{near}`?")),
        None => plain(py, &message),
    }
}
