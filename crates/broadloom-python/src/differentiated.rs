//! A program as a function with gradients, for libraries that differentiate.
//!
//! Gradients of outputs come from outside. So the graph gains, for each output, data of its shape, and one number: the sum of all
//! outputs times these. The gradients of that number are those that are asked for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use broadloom::{Block, Error, Given, Routine, Settings, Tensor, reached_data, trainable};
use broadloom_diagnostics::{Diagnostic, Sources, Span};
use broadloom_ide::Analysis;
use broadloom_lang::{Made, Program as Text, Ready, nearest};
use pyo3::prelude::*;

use crate::arrays::{Received, handed_out, received};
use crate::errors::{advised, detached, plain, raised};
use crate::program::Program;
use crate::running::{backend_of, in_python};

/// A program as a function with gradients.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Differentiated {
    sources: Sources,
    /// What has gradients: the names of parameters, and then of data.
    reached: Vec<String>,
    state: Mutex<State>,
}

struct State {
    ready: Ready,
    forward: Arc<Routine>,
    backward: Arc<Routine>,
    outputs: Vec<Tensor>,
    gradients: Vec<Tensor>,
}

/// The name of the data that holds the gradient of an output.
fn of_gradient(output: &str) -> String {
    format!("the gradient of {output}")
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
        let shape = shapes.get(*output).to_string();
        let given = graph.data(&of_gradient(name), shape.as_str())?;
        let span = Span::empty(program.main, 0);
        program.made.push(Made { name: of_gradient(name), tensor: given, span, level: 1 });
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

impl Differentiated {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compute<'py>(
        &self,
        py: Python<'py>,
        arrays: &[(String, Bound<'py, PyAny>)],
        choose: impl FnOnce(&State) -> (Arc<Routine>, Vec<Tensor>) + Send,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let given: PyResult<Vec<(String, Received)>> =
            arrays.iter().map(|(name, array)| Ok((name.clone(), received(array)?))).collect();
        let given = given?;
        let computed = detached(py, || {
            let mut state = self.state();
            let inputs: Vec<(&str, Given<'_>)> =
                given.iter().map(|(name, array)| (name.as_str(), Given::Lent(array.lent()))).collect();
            let (routine, wanted) = choose(&state);
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
        inputs: &[(&str, Given<'_>)],
        routine: &Routine,
        wanted: &[Tensor],
    ) -> Result<Vec<Block>, Box<Diagnostic>> {
        self.ready.give(inputs)?;
        self.ready.compute(routine)?;
        let take = |tensor: &Tensor| self.ready.session.take(*tensor);
        let taken: Result<Vec<Block>, Error> = wanted.iter().map(take).collect();
        taken.map_err(|error| self.ready.told(&error))
    }
}

#[pymethods]
impl Differentiated {
    #[new]
    fn new(
        py: Python<'_>,
        program: &Program,
        outputs: Vec<String>,
        backend: &str,
        seed: u64,
        threads: Option<usize>,
    ) -> PyResult<Differentiated> {
        let settings = Settings { backend: backend_of(py, backend)?, seed, threads, ..Settings::default() };
        let mut read = detached(py, || Analysis::open(program.text()).program)?;
        let found: PyResult<Vec<(String, Tensor)>> = outputs
            .into_iter()
            .map(|name| match read.find(&name) {
                Some(tensor) => Ok((name, tensor)),
                None => Err(unknown(py, &read, &name)),
            })
            .collect();
        let found = found?;
        let sources = read.sources.clone();
        let made = detached(py, || {
            let extended = extended(&mut read, &found);
            extended.map(|(routine, gradients)| (routine, gradients, read.ready(&settings)))
        })?;
        let (backward, gradients, ready) = made.map_err(|error| plain(py, error.message()))?;
        let mut ready = ready.map_err(|wrong| raised(py, &sources, &[*wrong]))?;
        ready.advice = in_python;
        let mut forward = Routine::new("forward");
        found.iter().for_each(|(_, tensor)| _ = forward.forward(*tensor));
        let (reached, gradients) = gradients.into_iter().unzip();
        let outputs = found.into_iter().map(|(_, tensor)| tensor).collect();
        let state =
            State { ready, forward: Arc::new(forward), backward: Arc::new(backward), outputs, gradients };
        Ok(Differentiated { sources, reached, state: Mutex::new(state) })
    }

    /// The backward pass as a module of StableHLO: it takes what [`backward`](Differentiated::backward) takes.
    fn stablehlo(&self, py: Python<'_>) -> PyResult<String> {
        let made = detached(py, || {
            let mut state = self.state();
            let backward = Arc::clone(&state.backward);
            let made = state.ready.session.stablehlo(&backward);
            made.map_err(|error| state.ready.told(&error))
        })?;
        made.map_err(|wrong| raised(py, &self.sources, &[*wrong]))
    }

    /// The names of parameters and data that have gradients.
    fn reached(&self) -> Vec<String> {
        self.reached.clone()
    }

    /// The outputs, from arrays for parameters and data.
    fn forward<'py>(
        &self,
        py: Python<'py>,
        arrays: Vec<(String, Bound<'py, PyAny>)>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.compute(py, &arrays, |state| (Arc::clone(&state.forward), state.outputs.clone()))
    }

    /// The gradients of whatever [is reached](Differentiated::reached), from arrays for parameters, data, and the gradients of
    /// outputs, which are called `the gradient of y`.
    fn backward<'py>(
        &self,
        py: Python<'py>,
        arrays: Vec<(String, Bound<'py, PyAny>)>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.compute(py, &arrays, |state| (Arc::clone(&state.backward), state.gradients.clone()))
    }
}

/// The exception for an output that the program does not have.
fn unknown(py: Python<'_>, program: &Text, name: &str) -> PyErr {
    let message = format!("the program computes no `{name}`");
    match nearest(name, program.made.iter().map(|made| made.name.as_str())) {
        Some(near) => advised(py, &message, &format!("is `{near}` meant?")),
        None => plain(py, &message),
    }
}
