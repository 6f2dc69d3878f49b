//! Routines on XLA: as modules of StableHLO, and run by JAX.

use std::sync::Arc;

use broadloom_graph::{Error, ErrorKind, StepId};
use broadloom_loops::reference::Stop;
use broadloom_loops::{Buffer, BufferId, Storage};
use broadloom_xla::{Argument, Compiled, Driver, Input, Module, Precision};

use super::bytes::{bytes, each};
use super::engine::{CompiledCode, Engine, Ran, Work};
use super::store::{Remote, Store};
use super::{Backend, Session, Settings};
use crate::lower::stablehlo;
use crate::routine::Routine;

impl Session {
    /// A routine as a module of StableHLO: tensors that it reads first are arguments of `@main`, tensors that it keeps are
    /// results. The sizes are the current ones.
    ///
    /// ```
    /// use broadloom::{Graph, Routine, Session};
    /// let mut g = Graph::new();
    /// let (w, x) = (g.param_shaped("w", "... -> 2")?, g.data("x", "8 | 3")?);
    /// let y = g.compose(w, x)?;
    /// g.name(y, "y");
    /// let mut forward = Routine::new("forward");
    /// forward.forward(y);
    /// let text = Session::new(g)?.stablehlo(&forward)?;
    /// assert!(text.contains("%w: tensor<2x3xf32>"));
    /// assert!(text.contains("stablehlo.dot_general"));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn stablehlo(&mut self, routine: &Routine) -> Result<String, Error> {
        self.stablehlo_with_places(routine, &|_| None)
    }

    /// Like [`stablehlo`](Session::stablehlo), with the place of each [step](broadloom_graph::Graph::steps) in comments above
    /// what it becomes.
    pub fn stablehlo_with_places(
        &mut self,
        routine: &Routine,
        place: &dyn Fn(StepId) -> Option<String>,
    ) -> Result<String, Error> {
        self.refresh()?;
        if let Some(name) = self.sizes.undecided() {
            return Err(self.no_number(name));
        }
        let lowered = self.lowered_for(&self.layout, routine, true)?;
        let divided = self.divided.as_deref();
        let sharded = divided.map(|divided| divided.sharded(&lowered));
        let how = (self.settings.precision, sharded.as_ref());
        Ok(stablehlo(&self.graph, &self.layout, (routine.name(), &lowered), how, place)?.text)
    }

    /// Sets how exactly products are computed in modules that are written or run from now on.
    ///
    /// ```
    /// use broadloom::{Graph, Precision, Routine, Session};
    /// let mut g = Graph::new();
    /// let (w, x) = (g.param_shaped("w", "... -> 2")?, g.data("x", "8 | 3")?);
    /// let mut forward = Routine::new("forward");
    /// forward.forward(g.compose(w, x)?);
    /// let mut session = Session::new(g)?;
    /// assert!(session.stablehlo(&forward)?.contains("precision = [HIGHEST, HIGHEST]"));
    /// session.set_precision(Precision::Default);
    /// assert!(session.stablehlo(&forward)?.contains("precision = [DEFAULT, DEFAULT]"));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn set_precision(&mut self, precision: Precision) {
        self.settings.precision = precision;
        if self.settings.backend == Backend::Xla {
            self.prepared.clear();
        }
    }
}

impl Session {
    /// A routine in the language of XLA, after it was divided over devices and compiled, with a collective for each operation that
    /// needs one. It is an error if the backend is another one.
    pub fn compiled_by_xla(&mut self, routine: &Routine) -> Result<String, Error> {
        self.refresh()?;
        let at = self.prepare(routine)?;
        match self.prepared[at].code.compiled_by_xla() {
            Some(text) => text.map_err(Error::run),
            None => Err(Error::new(ErrorKind::Use, "the backend of the session is not XLA")),
        }
    }
}

/// JAX, which compiles and runs modules.
pub(super) struct Xla {
    /// None until it is known how many devices several processes share.
    driver: Option<Arc<Driver>>,
}

impl Xla {
    pub fn new(settings: &Settings) -> Result<Xla, Error> {
        if settings.processes.is_some() { Ok(Xla { driver: None }) } else { Xla::over(1, settings) }
    }

    /// With this many devices.
    pub fn over(devices: u64, settings: &Settings) -> Result<Xla, Error> {
        let driver = match &settings.processes {
            Some(processes) => Driver::several(devices, processes),
            None => Driver::shared(devices),
        };
        Ok(Xla { driver: Some(driver.map_err(Error::run)?) })
    }
}

impl Engine for Xla {
    fn compile(&self, work: &Work<'_>, notices: &mut Vec<String>) -> Result<Box<dyn CompiledCode>, Error> {
        let Some(driver) = &self.driver else {
            let message = "several processes share the devices of a mesh, and the session has none";
            return Err(
                Error::new(ErrorKind::Use, message).with_help("divide it first: `Session::set_division`")
            );
        };
        let (name, divided) = (work.routine.name(), work.divided());
        let sharded = divided.map(|divided| divided.sharded(work.lowered));
        let precision = work.precision();
        let how = (precision, sharded.as_ref());
        let module = stablehlo(work.graph(), work.layout(), (name, work.lowered), how, &|_| None)?;
        let devices = divided.map_or(1, |divided| divided.mesh.devices());
        let refused = |message: String| Error::run(format!("XLA does not take `{name}`: {message}"));
        let compiled = driver.compile(&module.text, devices).map_err(refused)?;
        let sizes = work.sizes_text();
        if !sizes.is_empty() {
            let products = match precision {
                Precision::Highest => String::new(),
                other => format!(", with products of the precision `{}`", other.name()),
            };
            notices.push(format!(
                "XLA compiled `{name}` at {sizes}{products}; other sizes are compiled when they come"
            ));
        }
        Ok(Box::new(Compilation { module, compiled, buffers: work.lowered.program.buffers.clone() }))
    }
}

/// A module that has been compiled.
struct Compilation {
    module: Module,
    compiled: Compiled,
    buffers: Vec<Buffer>,
}

impl Compilation {
    /// The block of each buffer, given those of the kept ones.
    fn places(&self, kept: &[usize]) -> Vec<Option<usize>> {
        let mut kept = kept.iter().copied();
        let place = |buffer: &Buffer| if buffer.storage == Storage::Kept { kept.next() } else { None };
        self.buffers.iter().map(place).collect()
    }

    /// The first check that failed.
    fn stop(&self, checks: &[u8]) -> Option<Stop> {
        let numbers: Vec<i32> = each(checks, i32::from_le_bytes);
        let (at, failed) = numbers.chunks_exact(2).enumerate().find(|(_, pair)| pair[0] >= 0)?;
        let check = self.module.checks.get(at)?;
        let cell = address(&self.buffers[check.buffer.index()], failed[0] as u64);
        let (buffer, below, of) = (check.buffer, check.below, check.of);
        Some(Stop::Index { buffer, cell, value: failed[1].into(), below, of })
    }
}

impl CompiledCode for Compilation {
    /// Runs the module on the blocks of its buffers. What it is given and what it makes stays on the devices, and comes back when it is
    /// read.
    fn run(&mut self, store: &mut Store, places: &[usize], symbols: &[i64]) -> Ran {
        let places = self.places(places);
        let lost = || Error::run("a module of XLA has a buffer without a place; this is a defect".into());
        let place = |id: &BufferId| places[id.index()].ok_or_else(lost);
        let mut held: Vec<Option<usize>> = Vec::new();
        for input in &self.module.inputs {
            held.push(match input {
                Input::Buffer(id) => Some(place(id)?),
                Input::Position(_) | Input::Key(_) => None,
            });
        }
        let bytes_of = |input: &Input, store: &mut Store| match (input, symbols) {
            (Input::Buffer(id), _) => {
                places[id.index()].map_or(Vec::new(), |at| bytes(&store.blocks()[at].read()))
            }
            (Input::Position(at), symbols) => (symbols[*at as usize] as i32).to_le_bytes().to_vec(),
            (Input::Key(at), symbols) => symbols[*at as usize].to_le_bytes().to_vec(),
        };
        let mut sent: Vec<Option<Vec<u8>>> = Vec::new();
        for (input, at) in self.module.inputs.iter().zip(&held) {
            let is_there = at.is_some_and(|at| store.remote(at).is_some());
            sent.push((!is_there).then(|| bytes_of(input, store)));
        }
        let arguments: Vec<Argument<'_>> = held
            .iter()
            .zip(sent)
            .map(|(at, sent)| match (sent, at.and_then(|at| store.remote(at))) {
                (None, Some(array)) => Argument::Held(array),
                (sent, _) => Argument::Bytes(sent.unwrap_or_default()),
            })
            .collect();
        let made = self.compiled.run(&arguments, self.module.outputs.len());
        let made = made.map_err(|message| Error::run(format!("XLA: {message}")))?;
        for (at, array) in held.iter().zip(made.given) {
            if let (Some(at), Some(array)) = (at, array) {
                store.set_remote(*at, Remote { array, is_newer: false });
            }
        }
        if let Some(stop) = made.rest.first().and_then(|checks| self.stop(checks)) {
            return Ok(Err(stop));
        }
        for (id, array) in self.module.outputs.iter().zip(made.kept) {
            store.set_remote(place(id)?, Remote { array, is_newer: true });
        }
        Ok(Ok(()))
    }

    fn keeps_old_values(&self) -> bool {
        true
    }

    fn compiled_by_xla(&self) -> Option<Result<String, String>> {
        Some(self.compiled.compiled_text())
    }
}

/// The place in a buffer, margins included, of the cell at a position among those that are no margins.
fn address(buffer: &Buffer, position: u64) -> u64 {
    let (shape, strides) = (buffer.shape(), buffer.strides());
    let (mut rest, mut at) = (position, 0);
    for axis in (0..shape.len()).rev() {
        let size = shape[axis].max(1);
        at += (rest % size + buffer.margin(axis).0) * strides[axis].get();
        rest /= size;
    }
    at
}
