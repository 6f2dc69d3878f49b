//! A program with its numbers. Calls from several threads take turns, and none of them holds the interpreter lock meanwhile.
//!
//! A run calls Python. A function of the user that is told of each repetition has no turn around it: it can compute, read parameters and save them. What
//! is called amidst the work (lines that are printed, the handler of a signal) cannot, and is told so.

use std::collections::HashMap;
use std::sync::Arc;

use broadloom::{Backend, Block, Copied, Error, GivenValues, LeafKind, Node, Routine, Settings, Tensor};
use broadloom_diagnostics::{Diagnostic, Sources};
use broadloom_ide::{Analysis, arrays};
use broadloom_lang::{Available, Devices, Progress, Ready, RunControl, nearest};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Received, handed_out, received, received_as_it_is};
use crate::errors::{advised, detached, plain, raised};
use crate::observer::Watcher;
use crate::program::Program;
use crate::turns::Turns;

/// A program with its numbers.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct Running {
    sources: Sources,
    params: Vec<(String, Tensor)>,
    /// The states by name, which can be read.
    states: Vec<(String, Tensor)>,
    /// The names of data.
    data: Vec<String>,
    state: Turns<State>,
    /// One run at a time, from its beginning to its end.
    runs: Turns<()>,
}

struct State {
    ready: Ready,
    /// The devices that XLA runs it on, if there are several.
    devices: Option<Devices>,
    /// The number of calls that gave it arrays.
    calls: u64,
    /// The tensors that can be computed, by the names of the data that is given.
    known: HashMap<Vec<String>, Arc<Available>>,
    /// The routines that compute some tensors only.
    some: HashMap<Vec<Tensor>, Arc<Routine>>,
}

/// The middle of a run, in which Python is told of a repetition.
struct Pause {
    /// The place where the run goes on.
    place: Progress,
    /// The number of calls and of runs that there were.
    calls: u64,
    runs: u64,
    /// The reason why each array was copied, if it was.
    copied: Vec<Option<Copied>>,
}

/// An array that was given, by name, and why it was copied.
type Held = (String, Option<String>);

/// The result of a call: the tensors that were computed; the reasons why arrays were copied, if any was;
/// tensors that were left out, with the data that they lack; and notices.
type Answer<'py> =
    (Bound<'py, PyDict>, Option<Vec<Option<String>>>, Vec<(String, Option<String>)>, Vec<String>);

/// The result of a run: losses by name, the arrays that were held with the reasons why they were copied, and
/// notices.
type Ran = (Vec<(String, Vec<f64>)>, Vec<Held>, Vec<String>);

/// The result of a call, before it is shown to Python.
struct Computed {
    tensors: Vec<(String, Block)>,
    copied: Vec<Option<Copied>>,
    available: Arc<Available>,
    notices: Vec<String>,
}

impl State {
    /// Computes what there is to compute from some arrays; they are given back before it returns.
    fn compute(&mut self, given: &[(String, Received)], only: Option<&[String]>) -> Result<Computed, Wrong> {
        let inputs: Vec<(&str, GivenValues<'_>)> =
            given.iter().map(|(name, array)| (name.as_str(), GivenValues::Lent(array.lent()))).collect();
        self.calls += 1;
        let outcome = self.with(&inputs, given, only);
        self.ready.session.give_back();
        outcome
    }

    fn with(
        &mut self,
        inputs: &[(&str, GivenValues<'_>)],
        given: &[(String, Received)],
        only: Option<&[String]>,
    ) -> Result<Computed, Wrong> {
        let copied = self.give(inputs)?;
        let names: Vec<String> = given.iter().map(|(name, _)| name.clone()).collect();
        let ready = &self.ready;
        let available = self.known.entry(names).or_insert_with(|| Arc::new(ready.available()));
        let available = Arc::clone(available);
        let tensors = chosen(&available, only)?;
        match only {
            None => self.ready.compute(&available.routine)?,
            Some(_) => {
                let routine = self.routine(&tensors);
                self.ready.compute(&routine)?;
            }
        }
        let (names, wanted): (Vec<String>, Vec<Tensor>) = tensors.into_iter().unzip();
        let tensors = names.into_iter().zip(taken(&mut self.ready, &wanted)?).collect();
        let mut heard = Heard::default();
        self.ready.pass_on(&mut heard);
        Ok(Computed { tensors, copied, available, notices: heard.0 })
    }

    /// Takes arrays, which may change the sizes at which it is divided over devices.
    fn give(&mut self, inputs: &[(&str, GivenValues<'_>)]) -> Result<Vec<Option<Copied>>, Box<Diagnostic>> {
        let copied = self.ready.give(inputs)?;
        if let Some(devices) = &mut self.devices {
            self.ready.divide(devices)?;
        }
        Ok(copied)
    }

    /// Carries out a program up to its end or to a pause, from its beginning or from the last pause. A call in the pause may have given other arrays, and
    /// drawn random numbers: then the arrays of the run are given again, and the run draws what it would have drawn.
    fn piece(
        &mut self,
        inputs: &[(&str, GivenValues<'_>)],
        way: &RunControl,
        pause: &mut Option<Pause>,
        watcher: &mut Watcher,
    ) -> Result<(), Box<Diagnostic>> {
        let is_as_before = pause.as_ref().is_some_and(|pause| pause.calls == self.calls);
        let copied = if is_as_before { Vec::new() } else { self.give(inputs)? };
        let (ended, copied) = match pause.take() {
            None => (self.ready.go(way, watcher), copied),
            Some(Pause { place, runs, copied, .. }) => {
                if !is_as_before {
                    self.ready.session.set_runs(runs);
                }
                (self.ready.go_on(&RunControl { from: place, ..way.clone() }, watcher), copied)
            }
        };
        self.ready.pass_on(watcher);
        let (calls, runs) = (self.calls, self.ready.session.runs());
        *pause = Some(Pause { place: ended.place, calls, runs, copied });
        ended.outcome
    }

    /// The routine that computes some tensors only.
    fn routine(&mut self, tensors: &[(String, Tensor)]) -> Arc<Routine> {
        let ids: Vec<Tensor> = tensors.iter().map(|(_, tensor)| *tensor).collect();
        let made = self.some.entry(ids).or_insert_with_key(|ids| {
            let mut routine = Routine::new("forward");
            let graph = self.ready.session.graph();
            let computed = |tensor: &&Tensor| matches!(graph.node(**tensor), Some(Node::Operation { .. }));
            ids.iter().filter(computed).for_each(|tensor| _ = routine.forward(*tensor));
            Arc::new(routine)
        });
        Arc::clone(made)
    }
}

/// Takes tensors out of a session. One that is wanted several times is there several times, each with memory of its own.
pub fn taken(ready: &mut Ready, wanted: &[Tensor]) -> Result<Vec<Block>, Box<Diagnostic>> {
    let mut taken: Vec<Block> = Vec::with_capacity(wanted.len());
    for (at, tensor) in wanted.iter().enumerate() {
        let block = match wanted[..at].iter().position(|known| known == tensor) {
            Some(before) => Block::of(&taken[before].read()).map_err(Error::from),
            None => ready.session.take(*tensor),
        };
        taken.push(block.map_err(|error| ready.diagnose(&error))?);
    }
    Ok(taken)
}

/// The tensors that a call is asked for.
fn chosen(available: &Available, only: Option<&[String]>) -> Result<Vec<(String, Tensor)>, Wrong> {
    let Some(only) = only else { return Ok(available.tensors.clone()) };
    let find = |name: &String| {
        let found = available.tensors.iter().find(|(known, _)| known == name);
        found.cloned().ok_or_else(|| missing(available, name))
    };
    only.iter().map(find).collect()
}

/// Why there is no tensor of a name.
fn missing(available: &Available, name: &str) -> Wrong {
    let left_out = available.left_out.iter().find(|(known, _)| known == name);
    let near = || nearest(name, available.tensors.iter().map(|(known, _)| known.as_str()));
    match left_out {
        Some((_, Some(data))) => Wrong::Advised(
            format!("`{name}` cannot be computed: `{data}` has no values"),
            format!("give them: `{data}=array`"),
        ),
        Some((_, None)) => Wrong::Advised(
            format!("`{name}` depends on gradients, so that it is computed only when the program runs"),
            "`run()` carries out the program, and `parameters` has what it learned".into(),
        ),
        None => match near() {
            Some(near) => {
                Wrong::Advised(format!("the program computes no `{name}`"), format!("did you mean `{near}`?"))
            }
            None => {
                let names = available.tensors.iter().map(|(known, _)| format!("`{known}`"));
                let names = names.collect::<Vec<_>>().join(", ");
                let there = if names.is_empty() { "nothing from these arrays".into() } else { names };
                Wrong::Advised(
                    format!("the program computes no `{name}`"),
                    format!("what it computes is {there}"),
                )
            }
        },
    }
}

/// A mistake.
enum Wrong {
    Diagnosed(Box<Diagnostic>),
    Advised(String, String),
}

impl Wrong {
    /// This thread is amidst a piece of work with the program, which has called Python.
    fn amidst() -> Wrong {
        let message = "the program is at work in this thread, and what it calls meanwhile cannot use it";
        let help = "use it when the run has ended, or between its repetitions: `p.run(progress=function)` calls a function there";
        Wrong::Advised(message.into(), help.into())
    }

    /// This thread is inside of a run.
    fn inside() -> Wrong {
        let message = "the program runs in this thread already: `run()` is called inside of its own `progress` function";
        let help = "inside of it `p(x=array)` computes, and `p.parameters` can be read, set and saved; run the program again when this run has ended";
        Wrong::Advised(message.into(), help.into())
    }
}

impl From<Box<Diagnostic>> for Wrong {
    fn from(wrong: Box<Diagnostic>) -> Wrong {
        Wrong::Diagnosed(wrong)
    }
}

/// Collects notices.
#[derive(Default)]
struct Heard(Vec<String>);

impl broadloom_lang::Observer for Heard {
    fn printed(&mut self, _: &str) {}

    fn notice(&mut self, text: &str) {
        self.0.push(text.to_string());
    }
}

/// The backend of a name.
pub fn backend_of(py: Python<'_>, name: &str) -> PyResult<Backend> {
    match name {
        "auto" => Ok(Backend::Auto),
        "native" => Ok(Backend::Native),
        "reference" => Ok(Backend::Reference),
        "xla" => Ok(Backend::Xla),
        other => {
            Err(plain(py, &format!("there is no backend `{other}`: it is auto, native, reference or xla")))
        }
    }
}

impl Running {
    fn raised(&self, py: Python<'_>, wrong: Wrong) -> PyErr {
        match wrong {
            Wrong::Diagnosed(wrong) => raised(py, &self.sources, &[*wrong]),
            Wrong::Advised(message, help) => advised(py, &message, &help),
        }
    }

    /// Works on the session, and translates what goes wrong.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> Result<T, Wrong> + Send,
    ) -> PyResult<T> {
        detached(py, || self.turn(work))?.map_err(|wrong| self.raised(py, wrong))
    }

    /// Works on the session when it is this thread's turn.
    fn turn<T>(&self, work: impl FnOnce(&mut State) -> Result<T, Wrong>) -> Result<T, Wrong> {
        let mut state = self.state.next().ok_or_else(Wrong::amidst)?;
        work(&mut state)
    }

    /// Carries out the program, in one piece or with pauses in which Python is told of a repetition. Returns why each array was copied, if it was.
    fn go(
        &self,
        given: &[(String, Received)],
        way: RunControl,
        watcher: &mut Watcher,
    ) -> Result<Vec<Option<Copied>>, Wrong> {
        let _run = self.runs.next().ok_or_else(Wrong::inside)?;
        let inputs: Vec<(&str, GivenValues<'_>)> =
            given.iter().map(|(name, array)| (name.as_str(), GivenValues::Lent(array.lent()))).collect();
        let mut pause = None;
        loop {
            self.turn(|state| {
                let ended = state.piece(&inputs, &way, &mut pause, watcher);
                if ended.is_err() || !watcher.pauses() {
                    state.ready.session.give_back();
                }
                Ok(ended?)
            })?;
            if !watcher.pauses() {
                return Ok(pause.map(|pause| pause.copied).unwrap_or_default());
            }
            watcher.tell();
            if watcher.failed.is_some() {
                self.turn(|state| {
                    state.ready.session.give_back();
                    Ok(())
                })?;
                return Ok(Vec::new());
            }
        }
    }

    /// The parameter of a name.
    fn param(&self, py: Python<'_>, name: &str) -> PyResult<Tensor> {
        let found = self.params.iter().find(|(known, _)| known == name);
        found.map(|(_, tensor)| *tensor).ok_or_else(|| {
            let message = format!("the program has no parameter `{name}`");
            match nearest(name, self.params.iter().map(|(known, _)| known.as_str())) {
                Some(near) => advised(py, &message, &format!("did you mean `{near}`?")),
                None => plain(py, &message),
            }
        })
    }
}

fn diagnosed(state: &State, error: &Error) -> Wrong {
    Wrong::Diagnosed(state.ready.diagnose(error))
}

fn all_received(arrays: &[(String, Bound<'_, PyAny>)]) -> PyResult<Vec<(String, Received)>> {
    arrays.iter().map(|(name, array)| Ok((name.clone(), received(array)?))).collect()
}

fn held(names: Vec<(String, Received)>, copied: Vec<Option<Copied>>) -> Vec<Held> {
    names.into_iter().map(|(name, _)| name).zip(whys(copied)).collect()
}

/// Why each array was copied, in words.
fn whys(copied: Vec<Option<Copied>>) -> impl Iterator<Item = Option<String>> {
    copied.into_iter().map(|why| why.map(|why| why.to_string()))
}

#[pymethods]
impl Running {
    /// Makes a session for a program.
    #[new]
    #[pyo3(signature = (program, backend, seed, threads))]
    fn new(
        py: Python<'_>,
        program: &Program,
        backend: &str,
        seed: u64,
        threads: Option<usize>,
    ) -> PyResult<Running> {
        let settings = Settings { backend: backend_of(py, backend)?, seed, threads, ..Settings::default() };
        let on = program.devices().filter(|_| settings.backend == Backend::Xla);
        let (sources, (params, states), data, (devices, ready)) = detached(py, || {
            let program = Analysis::open(program.text()).program;
            let graph = &program.graph;
            let params = graph.params().into_iter().map(|tensor| (graph.label_of(tensor), tensor)).collect();
            let is_state =
                |tensor: &Tensor| matches!(graph.node(*tensor), Some(Node::Leaf { kind: LeafKind::State }));
            let states = graph.tensors().filter(is_state).map(|tensor| (graph.label_of(tensor), tensor));
            let states = states.collect();
            let data = arrays::declared(&program).map(|made| made.name.clone()).collect();
            let devices = on.map(|on| program.session_devices(on));
            (program.sources.clone(), (params, states), data, (devices, program.ready(&settings)))
        })?;
        let ready = ready.map_err(|wrong| raised(py, &sources, &[*wrong]))?;
        let state = State { ready, devices, calls: 0, known: HashMap::new(), some: HashMap::new() };
        Ok(Running { sources, params, states, data, state: Turns::new(state), runs: Turns::new(()) })
    }

    /// Computes all named tensors that can be computed from some arrays, or some of them. Returns `None` where an array is not in form, or
    /// is not one of this program's: the package brings it into form, or says what is wrong, and neither costs a call that is right.
    fn call<'py>(
        &self,
        arrays: &Bound<'py, PyDict>,
        only: Option<Vec<String>>,
    ) -> PyResult<Option<Answer<'py>>> {
        let py = arrays.py();
        // The values are held here: nobody can take them out of the dictionary while they are read.
        let (mut given, mut values) = (Vec::with_capacity(arrays.len()), Vec::with_capacity(arrays.len()));
        for (name, value) in arrays.iter() {
            let name: String = name.extract()?;
            match received_as_it_is(&value) {
                Some(received) if self.data.contains(&name) => given.push((name, received)),
                _ => return Ok(None),
            }
            values.push(value);
        }
        let Computed { tensors, copied, available, notices } =
            self.work(py, |state| state.compute(&given, only.as_deref()))?;
        let results = PyDict::new(py);
        for (name, block) in tensors {
            results.set_item(name, handed_out(py, block)?)?;
        }
        let copied = copied.iter().any(Option::is_some).then(|| whys(copied).collect());
        Ok(Some((results, copied, available.left_out.clone(), notices)))
    }

    /// Carries out the program. With pauses, `progress` may use it.
    #[allow(clippy::too_many_arguments)] // as many as people can say
    fn run(
        &self,
        py: Python<'_>,
        arrays: Vec<(String, Bound<'_, PyAny>)>,
        steps: Option<u64>,
        keep_going: bool,
        print: Py<PyAny>,
        progress: Option<Py<PyAny>>,
        compiling: Option<Py<PyAny>>,
        pauses: bool,
    ) -> PyResult<Ran> {
        let given = all_received(&arrays)?;
        let mut watcher = Watcher::new(print, progress, compiling, pauses);
        let watched = &mut watcher;
        let way = RunControl { keep_going, steps, ..RunControl::default() };
        let copied = detached(py, || self.go(&given, way, watched))?.map_err(|wrong| self.raised(py, wrong));
        if let Some(failed) = watcher.failed {
            return Err(failed);
        }
        Ok((watcher.losses, held(given, copied?), watcher.notices))
    }

    /// The names of the parameters.
    fn parameters(&self) -> Vec<String> {
        self.params.iter().map(|(name, _)| name.clone()).collect()
    }

    /// A copy of a parameter, or of a state.
    fn parameter<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let state = self.states.iter().find(|(known, _)| known == name);
        let tensor = state.map_or_else(|| self.param(py, name), |(_, tensor)| Ok(*tensor))?;
        let block = self.work(py, |state| {
            let taken = state.ready.session.take(tensor);
            taken.map_err(|error| diagnosed(state, &error))
        })?;
        handed_out(py, block)
    }

    /// Sets a parameter.
    fn set_parameter(&self, py: Python<'_>, name: &str, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let tensor = self.param(py, name)?;
        let values = received(array)?.copied().map_err(|message| plain(py, &message))?;
        self.work(py, |state| {
            let set = state.ready.session.set(tensor, &values);
            set.map_err(|error| diagnosed(state, &error))
        })
    }

    /// Writes parameters and states to a safetensors file.
    fn save(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        self.work(py, |state| {
            let saved = state.ready.session.save(&path);
            saved.map_err(|error| diagnosed(state, &error))
        })
    }

    /// Reads parameters and states from a safetensors file that has all of them.
    fn load(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<Vec<String>> {
        self.work(py, |state| {
            state.ready.session.load(&path).map_err(|error| diagnosed(state, &error))?;
            let mut heard = Heard::default();
            state.ready.pass_on(&mut heard);
            Ok(heard.0)
        })
    }
}
