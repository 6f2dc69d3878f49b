//! The numbers of a graph that was built in Python.

use std::sync::{Mutex, MutexGuard, PoisonError};

use broadloom::{
    Array, Block, Copied, Error, GivenValues, LeafKind, Node, Precision, Routine, Session as Numbers,
    Settings, Tensor,
};
use pyo3::prelude::*;

use crate::arrays::{handed_out, received};
use crate::errors::{detached, plain};
use crate::graph::Graph;
use crate::running::backend_of;

/// The numbers of a graph. Calls from several threads take turns.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Session {
    graph: Py<Graph>,
    state: Mutex<State>,
}

struct State {
    numbers: Numbers,
    /// The number of steps that the graph had when it was last read.
    steps: usize,
    noticed: usize,
    /// The values that data was set to, from then on.
    set: Vec<(Tensor, Array)>,
}

impl State {
    /// Follows a graph that has grown. What is there keeps its numbers.
    fn follow(&mut self, graph: &Graph) {
        let inner = graph.inner();
        if inner.tensors.steps() != self.steps {
            self.steps = inner.tensors.steps();
            *self.numbers.graph_mut() = inner.tensors.clone();
        }
    }

    fn run(
        &mut self,
        graph: &Graph,
        routine: usize,
        given: &[(Tensor, GivenValues<'_>)],
    ) -> Result<(Vec<Block>, Vec<Option<Copied>>), Error> {
        let (routine, gives) = self.routine(graph, routine)?;
        let copied = self.numbers.give(given)?;
        self.numbers.run(&routine)?;
        let taken: Result<Vec<Block>, Error> =
            gives.iter().map(|tensor| self.numbers.take(*tensor)).collect();
        Ok((taken?, copied))
    }

    /// Ends a run: the arrays that it was given hold no longer, and what was set before does again.
    fn end(&mut self, given: &[(Tensor, GivenValues<'_>)]) -> Result<(), Error> {
        self.numbers.give_back();
        let data: Vec<Tensor> =
            given.iter().map(|(tensor, _)| *tensor).filter(|each| self.is_data(*each)).collect();
        data.into_iter().for_each(|tensor| self.numbers.forget(tensor));
        let gone = self.set.iter().filter(|(tensor, _)| !self.numbers.has_values(*tensor));
        let gone: Vec<(Tensor, &Array)> = gone.map(|(tensor, values)| (*tensor, values)).collect();
        if gone.is_empty() { Ok(()) } else { self.numbers.set_all(&gone) }
    }

    /// Sets the values of a leaf, from now on.
    fn set(&mut self, tensor: Tensor, values: Array) -> Result<(), Error> {
        self.numbers.set(tensor, &values)?;
        self.set.retain(|(known, _)| *known != tensor && self.numbers.has_values(*known));
        if self.is_data(tensor) {
            self.set.push((tensor, values));
        }
        Ok(())
    }

    fn is_data(&self, tensor: Tensor) -> bool {
        matches!(self.numbers.graph().node(tensor), Some(Node::Leaf { kind: LeafKind::Data }))
    }

    /// A routine by its number, and the tensors that it gives.
    fn routine(&mut self, graph: &Graph, number: usize) -> Result<(Routine, Vec<Tensor>), Error> {
        self.follow(graph);
        let found = graph.inner().routines.get(number).cloned();
        found.ok_or_else(|| Error::run("this belongs to another graph".into()))
    }

    fn heard(&mut self) -> Vec<String> {
        let new = self.numbers.notices()[self.noticed..].to_vec();
        self.noticed += new.len();
        new
    }
}

/// The results of a run: arrays, the reasons why given arrays were copied, and notices.
type Ran<'py> = (Vec<Bound<'py, PyAny>>, Vec<Option<String>>, Vec<String>);

impl Session {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State, &Graph) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let graph = self.graph.get();
        detached(py, || work(&mut self.state(), graph))?.map_err(|error| {
            let places = graph.inner().places.clone();
            places.raised(py, &error, None)
        })
    }
}

#[pymethods]
impl Session {
    #[new]
    fn new(
        py: Python<'_>,
        graph: Py<Graph>,
        backend: &str,
        seed: u64,
        threads: Option<usize>,
    ) -> PyResult<Session> {
        let settings = Settings { backend: backend_of(py, backend)?, seed, threads, ..Settings::default() };
        let own = graph.get();
        let made = detached(py, || {
            let tensors = own.inner().tensors.clone();
            let steps = tensors.steps();
            Numbers::with(tensors, settings).map(|numbers| State {
                numbers,
                steps,
                noticed: 0,
                set: Vec::new(),
            })
        })?;
        let state = made.map_err(|error| {
            let places = own.inner().places.clone();
            places.raised(py, &error, None)
        })?;
        Ok(Session { graph, state: Mutex::new(state) })
    }

    /// Runs a routine on some arrays.
    fn run<'py>(
        &self,
        py: Python<'py>,
        routine: usize,
        arrays: Vec<(usize, Bound<'py, PyAny>)>,
    ) -> PyResult<Ran<'py>> {
        let mut given = Vec::new();
        for (tensor, array) in &arrays {
            let tensor = self.graph.get().inner().tensor(*tensor);
            let tensor = tensor.map_err(|error| plain(py, error.message()))?;
            given.push((tensor, GivenValues::Lent(received(array)?.lent())));
        }
        let (taken, copied, notices) = self.work(py, |state, graph| {
            let ran = state.run(graph, routine, &given);
            let ended = state.end(&given);
            let (taken, copied) = ran?;
            ended.map(|()| (taken, copied, state.heard()))
        })?;
        let results = taken.into_iter().map(|block| handed_out(py, block)).collect::<PyResult<Vec<_>>>()?;
        let why = copied.into_iter().map(|why| why.map(|why| why.to_string())).collect();
        Ok((results, why, notices))
    }

    /// A routine as a module of StableHLO, at the sizes of now.
    fn stablehlo(&self, py: Python<'_>, routine: usize, precision: &str) -> PyResult<String> {
        let precision = crate::stablehlo::precision(py, precision)?;
        self.work(py, |state, graph| {
            let (routine, _) = state.routine(graph, routine)?;
            state.numbers.set_precision(precision);
            let made = state.numbers.stablehlo(&routine);
            state.numbers.set_precision(Precision::default());
            made
        })
    }

    /// A copy of the values of a leaf.
    fn get<'py>(&self, py: Python<'py>, tensor: usize) -> PyResult<Bound<'py, PyAny>> {
        let block = self.work(py, |state, graph| {
            state.follow(graph);
            let tensor = graph.inner().tensor(tensor)?;
            state.numbers.take(tensor)
        })?;
        handed_out(py, block)
    }

    /// Sets the values of a leaf, from now on.
    fn set(&self, py: Python<'_>, tensor: usize, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let values = received(array)?.copied().map_err(|message| plain(py, &message))?;
        self.work(py, |state, graph| {
            state.follow(graph);
            let tensor = graph.inner().tensor(tensor)?;
            state.set(tensor, values)
        })
    }

    fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        self.work(py, |state, _| state.numbers.save(&path))
    }

    /// Reads parameters and states from a file, and returns notices.
    fn load(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<Vec<String>> {
        self.work(py, |state, graph| {
            state.follow(graph);
            state.numbers.load(&path)?;
            Ok(state.heard())
        })
    }
}
