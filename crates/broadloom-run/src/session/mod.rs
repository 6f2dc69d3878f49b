//! Sessions: the numbers of a graph, and running routines on them.

mod bytes;
mod engine;
mod engines;
mod files;
mod finite;
mod give;
mod host;
mod memory;
mod mesh;
mod mlir;
mod native;
mod prepare;
mod prepared;
mod ranges;
mod refusals;
mod rehearse;
mod sizes;
mod store;
mod undo;
mod xla;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use broadloom_array::{Array, Dtype};
use broadloom_graph::lowering::{Face, Inferred, Leaf};
use broadloom_graph::{Error, ErrorKind, Graph, Remedy, StepId, Tensor};
use broadloom_loops::Program;
use broadloom_xla::{Precision, Processes};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::lower::{Content, Layout, Lowered, Symbol, is_run_time_slice};
use crate::mesh::Divided;
use crate::routine::Routine;
use crate::sizes::Sizes;
use engine::{CompiledCode, DecidedBySizes, Engine};
use engines::engine_for;
use prepare::check_names;
use prepared::PreparedRoutines;
use store::Store;

pub use give::{Copied, GivenValues};
pub use host::{Host, HostEngine};
pub use memory::{Allocated, Memory, Stored, Temporaries};
pub(crate) use prepare::lasting;
pub use ranges::{MemoryRange, OpenSize};
pub use rehearse::{KnownNests, Rehearsal};

/// The engine that runs programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Backend {
    /// Machine code if there is a C compiler, otherwise the reference evaluator, which
    /// [`Session::notices`] reports.
    #[default]
    Auto,
    /// Machine code, or an error.
    Native,
    /// The reference evaluator: slow and simple.
    Reference,
    /// XLA, through Python with JAX, or an error.
    Xla,
    /// WebAssembly in an engine of the host, such as a web page; what it cannot do is left to the reference evaluator.
    Host(Host),
}

/// False where programs cannot start others, as in a page: there is no C compiler, and no Python. What only these need is then
/// left out of the machine code.
const HAS_PROCESSES: bool = !cfg!(target_family = "wasm");

/// Settings of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The engine that runs programs.
    pub backend: Backend,
    /// The seed of initial values and random numbers.
    pub seed: u64,
    /// The number of threads; by default the number of processors.
    pub threads: Option<usize>,
    /// True if programs are optimised.
    pub optimise: bool,
    /// True if programs with [named sizes](Graph::dim) are compiled separately for each size. The
    /// code is faster, but every size costs a compilation; otherwise there is one for all sizes.
    pub specialise: bool,
    /// True if a run fails when any tensor has an element that is NaN. Costs time: every tensor is
    /// kept and inspected.
    pub guard: bool,
    /// The precision of products on XLA, and in [modules](Session::stablehlo) for it. Other backends compute all of them in the
    /// type of their sums, and run nothing if it is not the usual one.
    pub precision: Precision,
    /// The processes that share the devices of a [mesh](Session::set_division) if the backend is XLA; by default there is one.
    pub processes: Option<Processes>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            backend: Backend::Auto,
            seed: 0,
            threads: None,
            optimise: true,
            specialise: false,
            guard: false,
            precision: Precision::default(),
            processes: None,
        }
    }
}

/// A graph with numbers: data, parameters and states, and the routines compiled for them.
///
/// ```
/// use broadloom::{Array, Graph, Routine, Session};
/// let mut g = Graph::new();
/// let (a, b) = (g.data("a", "2 -> 2")?, g.data("b", "2")?);
/// let product = g.compose(a, b)?;
///
/// let mut session = Session::new(g)?;
/// session.set(a, &Array::from_slice(&[2, 2], &[1.0f32, 2.0, 3.0, 4.0])?)?;
/// session.set(b, &Array::from_slice(&[2], &[10.0f32, 1.0])?)?;
/// let mut routine = Routine::new("product");
/// routine.forward(product);
/// session.run(&routine)?;
/// assert_eq!(session.get(product)?.to_f64s(), [12.0, 34.0]);
/// # Ok::<(), broadloom::Error>(())
/// ```
pub struct Session {
    graph: Graph,
    settings: Settings,
    inferred: Inferred,
    /// The numbers of named sizes.
    sizes: Sizes,
    /// The layout at these sizes.
    layout: Arc<Layout>,
    /// The layouts at the last few sizes.
    layouts: Vec<(Vec<u64>, Arc<Layout>)>,
    /// True if the graph may have changed since the layout was made.
    stale: bool,
    store: Store,
    prepared: PreparedRoutines,
    /// The lifetimes of temporaries, by routine.
    plans: Vec<(Routine, Arc<memory::Lifetimes>)>,
    engine: Arc<dyn Engine>,
    /// The division of tensors over devices, if there are several.
    divided: Option<Arc<Divided>>,
    notices: Vec<String>,
    positions: FxHashMap<Tensor, u64>,
    runs: u64,
    /// Texts that are saved beside the values, by their keys.
    texts: BTreeMap<String, String>,
}

/// A routine that can be run.
struct Prepared {
    routine: Routine,
    /// The numbers of named sizes for which it was prepared.
    sizes: Vec<u64>,
    lowered: Lowered,
    /// The block of each kept buffer.
    places: Vec<usize>,
    /// The lasting contents that it writes before its last check.
    early: Vec<Content>,
    code: Box<dyn CompiledCode>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("graph", &self.graph)
            .field("runs", &self.runs)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// A session with the usual settings.
    pub fn new(graph: Graph) -> Result<Session, Error> {
        Session::with(graph, Settings::default())
    }

    /// A session.
    pub fn with(mut graph: Graph, settings: Settings) -> Result<Session, Error> {
        Session::over(&mut graph, settings, Layout::at)
    }

    /// A session with a graph that is taken over, unless there is an error, and with a layout that is made of it.
    fn over(
        graph: &mut Graph,
        settings: Settings,
        layout: fn(&Graph, &Inferred, &[u64]) -> Result<Layout, Error>,
    ) -> Result<Session, Error> {
        let inferred = Inferred::new(graph)?;
        let sizes = Sizes::new(graph, &inferred)?;
        let layout = Arc::new(layout(graph, &inferred, &sizes.now)?);
        let mut notices = Vec::new();
        let engine = engine_for(&settings, &mut notices)?;
        check_names(graph)?;
        Ok(Session {
            graph: std::mem::take(graph),
            settings,
            layouts: vec![(sizes.now.clone(), Arc::clone(&layout))],
            inferred,
            sizes,
            layout,
            stale: false,
            store: Store::default(),
            prepared: PreparedRoutines::default(),
            plans: Vec::new(),
            engine: engine.into(),
            divided: None,
            notices,
            positions: FxHashMap::default(),
            runs: 0,
            texts: BTreeMap::new(),
        })
    }

    /// Notices for the user about the way programs run, as far as they are known by now: for
    /// example that there is no compiler, or that a routine is compiled separately for each size.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The graph, to be extended. Tensors whose shape stays the same keep their numbers.
    pub fn graph_mut(&mut self) -> &mut Graph {
        self.stale = true;
        &mut self.graph
    }

    /// The seed of initial values and random numbers: that of the settings, or of the file that was loaded.
    pub fn seed(&self) -> u64 {
        self.settings.seed
    }

    /// The number of times that routines have run.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Says which number the next run has. Random numbers follow from the seed and this number, so that a run with the number of
    /// another one draws what that one drew.
    ///
    /// ```
    /// use broadloom::{Array, Dtype, Graph, Routine, Session};
    /// let mut g = Graph::new();
    /// let x = g.array("x", "4", Array::full(Dtype::F32, &[4], 1.0)?)?;
    /// let noise = g.uniform("noise");
    /// let y = g.mul(x, noise)?;
    /// let mut routine = Routine::new("noise");
    /// routine.forward(y);
    /// let mut session = Session::new(g)?;
    /// let mut drawn = |number| {
    ///     session.set_runs(number);
    ///     session.run(&routine)?;
    ///     session.get(y)
    /// };
    /// assert_ne!(drawn(0)?, drawn(1)?);
    /// assert_eq!(drawn(1)?, drawn(1)?);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn set_runs(&mut self, runs: u64) {
        self.runs = runs;
    }

    /// Sets the values of data, of a parameter or of a state. The sizes of the array are those of
    /// the tensor in memory order: batch, output, input. [Named sizes](Graph::dim) of data are set
    /// to those that the values imply.
    pub fn set(&mut self, tensor: Tensor, values: &Array) -> Result<(), Error> {
        self.set_all(&[(tensor, values)])
    }

    /// The type in which the numbers of a tensor are stored.
    pub fn dtype(&mut self, tensor: Tensor) -> Result<Dtype, Error> {
        self.refresh()?;
        self.graph.known(tensor)?;
        Ok(self.layout.dtypes[tensor.index()])
    }

    /// The values of a tensor: of a leaf, or of one that a routine has computed and [kept](Routine::keep).
    pub fn get(&mut self, tensor: Tensor) -> Result<Array, Error> {
        self.refresh()?;
        self.graph.known(tensor)?;
        let node = match self.graph.leaf(tensor) {
            Some(Leaf::Gradient(of)) => Content::Gradient(of),
            _ => Content::Value(tensor),
        };
        self.initialise(node)?;
        if let Some(values) = self.store.read(node)? {
            return Ok(values);
        }
        if let Some(number) = self.layout.number(&self.graph, tensor) {
            return Ok(Array::full(
                self.layout.dtypes[tensor.index()],
                &self.layout.sizes_of(tensor),
                number,
            )?);
        }
        let name = self.graph.label_of(tensor);
        Err(match self.graph.leaf(tensor) {
            Some(Leaf::Data) => Error::new(ErrorKind::Value, format!("`{name}` has no values yet"))
                .with_end(self.graph.declared_end(tensor))
                .with_remedy(Remedy::Values, "set them with `Session::set`"),
            Some(Leaf::Gradient(_)) => {
                Error::new(ErrorKind::Value, format!("the values of `{name}` are not there"))
                    .about_values_of(tensor, &name)
                    .with_remedy(Remedy::Backward, "`keep` it in the routine that goes `backward`")
            }
            _ => Error::new(ErrorKind::Value, format!("the values of `{name}` are not there"))
                .with_help("run a routine with `forward` or `keep` for it first"),
        })
    }

    /// The value of a tensor of one element.
    pub fn item(&mut self, tensor: Tensor) -> Result<f64, Error> {
        let values = self.get(tensor)?;
        values.item().ok_or_else(|| {
            let name = self.graph.label_of(tensor);
            Error::new(ErrorKind::Value, format!("`{name}` has {} elements, not one", values.len()))
        })
    }

    /// Sets the position that a slice made with [`SliceIndex::Run`](broadloom_graph::SliceIndex::Run) takes.
    pub fn set_position(&mut self, slice: Tensor, position: u64) -> Result<(), Error> {
        self.graph.known(slice)?;
        if !is_run_time_slice(&self.graph, slice) {
            let message =
                format!("`{}` is not a slice at a position given at run time", self.graph.label_of(slice));
            return Err(Error::new(ErrorKind::Use, message)
                .with_help("make one: `g.slice(x, SliceIndex::Run { range: None })`"));
        }
        self.positions.insert(slice, position);
        Ok(())
    }

    /// Returns true if a routine has been compiled for the present sizes.
    pub fn is_compiled(&self, routine: &Routine) -> bool {
        !self.stale && self.prepared.find(routine, &self.sizes.now).is_some()
    }

    /// Compiles a routine, if it has not been compiled for the present sizes. [`run`](Self::run) does so, too.
    pub fn compile(&mut self, routine: &Routine) -> Result<(), Error> {
        self.refresh()?;
        if let Some(name) = self.sizes.undecided() {
            return Err(self.no_number(name));
        }
        self.prepare(routine).map(|_| ())
    }

    /// Runs a routine, and compiles it before its first run.
    pub fn run(&mut self, routine: &Routine) -> Result<(), Error> {
        self.refresh()?;
        if let Some(name) = self.sizes.undecided() {
            return Err(self.no_number(name));
        }
        let at = self.prepare(routine)?;
        for node in self.prepared[at].lowered.needs.clone() {
            self.initialise(node)?;
            if !self.store.has_values(node) {
                return Err(self.no_values(node, routine));
            }
        }
        let symbols = self.symbols(at)?;
        self.prepared[at].code.resize(&self.sizes)?;
        let Prepared { places, lowered, .. } = &self.prepared[at];
        self.store.furnish(places, &lowered.gives)?;
        let before = self.before(at)?;
        let Prepared { places, code, lowered, .. } = &mut self.prepared[at];
        let stopped = code.run(&mut self.store, places, &symbols)?;
        let gives = lowered.gives.clone();
        if let Err(stop) = stopped {
            let error = match self.not_finite(at, &stop) {
                Some(tensor) => self.where_not_finite(tensor),
                None => self.stopped(at, &stop),
            };
            self.put_back(before)?;
            return Err(error);
        }
        gives.into_iter().for_each(|node| self.store.has_now(node));
        self.runs = self.runs.wrapping_add(1);
        if self.settings.guard { self.guard(at) } else { Ok(()) }
    }

    /// The loop nests of a routine as text: as derived, and as optimised.
    pub fn show(&mut self, routine: &Routine) -> Result<(String, String), Error> {
        self.refresh()?;
        let (lowered, program) = self.planned(routine)?;
        Ok((lowered.program.to_string(), program.to_string()))
    }

    /// The optimised program of a routine, for inspection or export.
    pub fn program(&mut self, routine: &Routine) -> Result<Program, Error> {
        self.refresh()?;
        Ok(self.planned(routine)?.1)
    }

    /// Like [`program`](Session::program), but with named sizes as [arguments](Program::arguments),
    /// in the order of their declaration: those that tensors of the routine depend on. It is an
    /// error if a part of the program is decided by a size.
    ///
    /// ```
    /// use broadloom::{Graph, Routine, Session};
    /// let mut g = Graph::new();
    /// g.dim("batch", 1..=64, 32)?;
    /// let x = g.data("x", "batch | 2")?;
    /// let y = g.exp(x)?;
    /// let mut routine = Routine::new("forward");
    /// routine.forward(y);
    ///
    /// let mut session = Session::new(g)?;
    /// let program = session.program_for_all_sizes(&routine)?;
    /// assert!(program.to_string().contains("for i in 0..size_0"));
    /// assert_eq!(program.at(&[32]), Some(session.program(&routine)?));
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn program_for_all_sizes(&mut self, routine: &Routine) -> Result<Program, Error> {
        self.refresh()?;
        let (lowered, program) = self.planned(routine)?;
        let symbols = self.symbols_in(&lowered);
        if symbols.is_empty() {
            return Ok(program);
        }
        self.open_program(routine, &symbols).map_err(|DecidedBySizes(message)| {
            Error::run(format!("the program cannot be compiled for all sizes: {message}"))
        })
    }

    /// Writes a routine out as C: `name.c` and `name.h`, which need nothing else.
    pub fn write_c(&mut self, routine: &Routine, folder: impl AsRef<Path>, name: &str) -> Result<(), Error> {
        let program = self.program(routine)?;
        broadloom_native::write_out(&program, folder.as_ref(), name)
            .map_err(|error| Error::run(error.to_string()))
    }

    /// A routine as C: the header, and the source, as [`Session::write_c`] writes them.
    pub fn c(&mut self, routine: &Routine, name: &str) -> Result<(String, String), Error> {
        let program = self.program(routine)?;
        broadloom_native::texts(&program, name).map_err(|error| Error::run(error.to_string()))
    }

    /// The numbers supplied to a run.
    fn symbols(&self, at: usize) -> Result<Vec<i64>, Error> {
        let value = |symbol: &Symbol| match *symbol {
            Symbol::Key => {
                Ok(broadloom_array::random::key_of(self.settings.seed, &format!("run {}", self.runs)) as i64)
            }
            Symbol::Position(step, below) => self.position(step, below),
            Symbol::Size(at) => Ok(self.layout.captured(at)? as i64),
            Symbol::Turn(_) | Symbol::Segment(_) | Symbol::Place(_) => Ok(0),
        };
        self.prepared[at].lowered.symbols.iter().map(value).collect()
    }

    fn position(&self, step: StepId, below: u64) -> Result<i64, Error> {
        let slice = self.graph.first_result(step);
        let name = self.graph.label_of(slice);
        match self.positions.get(&slice) {
            Some(position) if *position < below => Ok(*position as i64),
            Some(position) => {
                let message = format!("position {position} of `{name}` is beyond its {below} positions");
                Err(Error::new(ErrorKind::Value, message)
                    .with_help(format!("positions are 0 to {}", below - 1)))
            }
            None => Err(Error::new(ErrorKind::Value, format!("`{name}` has no position"))
                .with_help("set it with `Session::set_position`")),
        }
    }

    /// The first tensor with an element that is not a number, in the order in which they are written.
    fn guard(&mut self, at: usize) -> Result<(), Error> {
        let Lowered { program, nodes, .. } = &self.prepared[at].lowered;
        let mut order: Vec<Content> = Vec::new();
        for statement in program.nests.iter().flat_map(|nest| &nest.body) {
            statement.each(&mut |inner| order.extend(inner.written().map(|buffer| nodes[buffer.index()])));
        }
        // Data first, because the NaN may have come with it.
        let mut seen = FxHashSet::default();
        let all = self.prepared[at].lowered.needs.iter().copied().filter(|node| !order.contains(node));
        let order: Vec<Content> =
            all.chain(order.iter().copied()).filter(|node| seen.insert(*node)).collect();
        for node in order {
            let (Content::Value(tensor) | Content::Gradient(tensor)) = node else { continue };
            let watched = self.prepared[at].lowered.watched.contains(&node);
            let values = if watched { self.store.seen(node)? } else { self.store.read(node)? };
            let Some(values) = values else { continue };
            if let Some(place) = values.to_f64s().iter().position(|value| value.is_nan()) {
                let of = if matches!(node, Content::Gradient(_)) { "the gradient of " } else { "" };
                let name = self.graph.label_of(tensor);
                let message = format!("{of}`{name}` is not a number at element {place}");
                return Err(Error::new(ErrorKind::Value, message).with_help(
                    "it is the first in the order of computation; look at what it is computed from",
                ));
            }
        }
        Ok(())
    }
}
