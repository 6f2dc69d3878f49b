//! The memory that a program needs, and the largest sizes that fit.

use broadloom::{
    Adam, Allocated, Backend, Error, Graph, Memory, MemoryRange, MemoryRole, OpenSize, Routine, Session,
    Settings, Sgd, Stored, Temporaries,
};
use broadloom_diagnostics::Diagnostic;
use broadloom_lang::Program;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::refusal::Refusal;
use crate::words::bytes;

/// The most memory that is allocated just to measure it.
const MOST: u64 = 4 << 30;
/// A result of the search from which on a size counts as unlimited by memory.
const WITHOUT_END: u64 = 1 << 40;
/// The most sizes that are tried to find the next one at which the program is valid.
const MULTIPLES: usize = 1024;

/// A question about memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryOf {
    /// A tensor of one number that is to be minimised; without it, the program is measured as it
    /// is.
    pub train: Option<String>,
    /// The optimiser that updates parameters in that case.
    pub optimiser: Optimiser,
    /// True to compile the program and include the allocation of the backend.
    pub ask_backend: bool,
    /// The available bytes.
    pub limit: Option<u64>,
}

/// The rule that updates parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Optimiser {
    /// Gradient descent, which has no state.
    Sgd,
    /// Momentum, which has one state for each parameter.
    Momentum,
    /// Adam, which has two.
    #[default]
    Adam,
}

/// The memory of a program.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The name of the text.
    pub file: String,
    /// None if the program has errors.
    pub memory: Option<MemoryUse>,
    /// Errors of the program, or of sizes that were set.
    #[serde(skip)]
    pub diagnostics: Vec<Diagnostic>,
}

/// The planned and the allocated memory. Numbers are bytes.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryUse {
    /// The memory by purpose of the tensors.
    pub groups: Vec<MemoryGroup>,
    /// The memory that is needed only while routines run.
    pub routines: Vec<RoutineMemory>,
    /// The open sizes.
    pub sizes: Vec<SizeMemory>,
    /// The memory that lasts from run to run.
    pub lasting: u64,
    /// The memory that is needed at the same time.
    pub peak: u64,
    /// The peak at the least sizes, if it is known.
    pub least: Option<u64>,
    /// The peak at the greatest sizes, if those are limited.
    pub most: Option<u64>,
    /// The allocation of the backend, if it was asked for.
    pub allocated: Option<AllocatedMemory>,
    /// The available bytes, if they were given.
    pub limit: Option<u64>,
    /// True if it fits, whatever the sizes are.
    pub fits: Option<bool>,
    /// The tensors that are stored, the largest first.
    pub tensors: Vec<StoredTensor>,
    /// The memory that has to fit at the current sizes.
    #[serde(skip)]
    pub needed: u64,
    /// The reason why the backend was not asked.
    #[serde(skip)]
    pub not_asked: Option<String>,
    /// Notices of the backend.
    #[serde(skip)]
    pub notices: Vec<String>,
}

/// Tensors with the same purpose.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MemoryGroup {
    /// Their purpose.
    pub name: &'static str,
    /// Their bytes together.
    pub bytes: u64,
    /// Their bytes at the least sizes.
    pub least: Option<u64>,
    /// Their bytes at the greatest sizes.
    pub most: Option<u64>,
    /// The number of tensors.
    pub tensors: usize,
}

/// The memory that a routine needs only while it runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RoutineMemory {
    /// Its name.
    pub name: String,
    /// Its need at the current sizes.
    #[serde(flatten)]
    pub here: TemporaryMemory,
    /// Its need at the least sizes.
    #[serde(skip)]
    pub least: Option<TemporaryMemory>,
    /// Its need at the greatest sizes.
    #[serde(skip)]
    pub most: Option<TemporaryMemory>,
}

/// The memory of intermediate tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct TemporaryMemory {
    /// The bytes if each were stored.
    pub unoptimised: u64,
    /// The bytes of the tensors that are stored, without sharing.
    pub separate: u64,
    /// The bytes of the tensors that are stored, sharing memory.
    pub shared: u64,
}

/// A size that has a range.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SizeMemory {
    /// Its name.
    pub name: String,
    /// The least size.
    pub least: u64,
    /// The current size.
    pub here: u64,
    /// The greatest size, if there is one.
    pub most: Option<u64>,
    /// With a limit: the largest size that fits, with the others unchanged. None if none fits, or
    /// if there is no largest.
    pub largest: Option<u64>,
    /// With a limit: true if all sizes in range fit, with the others unchanged.
    pub every: Option<bool>,
}

/// The memory that the backend has allocated.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AllocatedMemory {
    /// The bytes for tensors that last.
    pub blocks: u64,
    /// The bytes of the arenas, which hold temporaries.
    pub arenas: u64,
    /// The bytes in which threads rearrange the operands of contractions.
    pub scratch: u64,
    /// The number of threads.
    pub threads: usize,
    /// The sum of all three.
    pub total: u64,
}

/// A tensor that is stored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StoredTensor {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// Its purpose.
    pub group: &'static str,
    /// The routine within whose runs it is needed, or None if it lasts.
    pub routine: Option<String>,
}

/// Measures the memory of a program whose sizes [are open](Analysis::open). The error is a message
/// about the request.
///
/// ```
/// use broadloom_ide::{Analysis, MemoryOf, Text, memory};
///
/// let text = Text::new("map.loom", "dim n in 1.. = 8\ndata x : n | 100\nlet y = {w : ... -> 100} @ x\n");
/// let of = MemoryOf { limit: Some(1 << 20), ..MemoryOf::default() };
/// let used = memory(&mut Analysis::open(&text), &of)?.memory.unwrap();
/// assert_eq!((used.groups[0].name, used.groups[0].bytes), ("parameters", 40_000));
/// assert_eq!(used.fits, Some(false));
/// assert_eq!(used.sizes[0].largest, Some(1260));
/// # Ok::<(), String>(())
/// ```
pub fn memory(analysis: &mut Analysis, of: &MemoryOf) -> Result<Measured, Refusal> {
    let program = &mut analysis.program;
    let wrong = program.check_sizes();
    let diagnostics: Vec<Diagnostic> = program.diagnostics.iter().cloned().chain(wrong).collect();
    let memory = match diagnostics.iter().any(Diagnostic::is_error) {
        true => None,
        false => Some(measure(program, of)?.data(of.limit)),
    };
    Ok(Measured { file: analysis.name.clone(), memory, diagnostics })
}

/// The results of a measurement.
struct Measure {
    range: MemoryRange,
    allocated: Option<Allocated>,
    not_asked: Option<String>,
    notices: Vec<String>,
    sizes: Vec<SizeMemory>,
}

const ROLES: [(MemoryRole, &str); 5] = [
    (MemoryRole::Parameter, "parameters"),
    (MemoryRole::Gradient, "gradients"),
    (MemoryRole::State, "states"),
    (MemoryRole::Data, "data"),
    (MemoryRole::Activation, "activations"),
];

pub(crate) fn word(role: MemoryRole) -> &'static str {
    ROLES.iter().find(|(known, _)| *known == role).map_or("", |(_, word)| word)
}

/// Measures a copy of the graph, because training adds to it.
fn measure(program: &Program, of: &MemoryOf) -> Result<Measure, Refusal> {
    let mut graph = program.graph.clone();
    let routines = match &of.train {
        Some(loss) => vec![training(program, &mut graph, loss, of.optimiser)?],
        None => program.routines(),
    };
    let backend = if of.ask_backend { Backend::Auto } else { Backend::Reference };
    let settings = Settings { backend, ..Settings::default() };
    let measured = Session::with(graph, settings)
        .and_then(|mut session| Measure::new(program, &mut session, &routines, of));
    measured.map_err(Refusal::from)
}

impl Measure {
    fn new(
        program: &Program,
        session: &mut Session,
        routines: &[Routine],
        of: &MemoryOf,
    ) -> Result<Measure, Error> {
        let set: Vec<(&str, u64)> = program.sizes.iter().map(|(name, size)| (name.as_str(), *size)).collect();
        session.set_sizes(&set)?;
        let range = session.memory_range(routines)?;
        let mut measured =
            Measure { range, allocated: None, not_asked: None, notices: Vec::new(), sizes: Vec::new() };
        if measured.range.now.peak() > MOST {
            measured.not_asked = Some(format!("more than {} are planned", bytes(MOST)));
        } else if of.ask_backend && !routines.is_empty() {
            measured.allocated = session.allocated(routines)?;
            measured.notices = session.notices().to_vec();
        }
        measured.sizes = sizes(session, routines, of.limit.map(|limit| measured.beside_work(limit)))?;
        Ok(measured)
    }

    /// The memory that has to fit at the current sizes.
    fn needed(&self) -> u64 {
        let planned = self.range.now.peak();
        self.allocated.as_ref().map_or(planned, |allocated| allocated.total().max(planned))
    }

    /// The rest of a limit beside the work space of threads, which does not depend on sizes.
    fn beside_work(&self, limit: u64) -> u64 {
        limit.saturating_sub(self.allocated.as_ref().map_or(0, |allocated| allocated.scratch))
    }

    /// Returns true if it fits, whatever the sizes are.
    fn fits(&self, limit: u64) -> bool {
        let always = match &self.sizes[..] {
            [] => true,
            // Memory may not depend on a size that has no maximum.
            [size] if size.every == Some(true) => true,
            _ => self.range.always_fits(self.beside_work(limit)),
        };
        always && self.needed() <= limit
    }

    fn data(self, limit: Option<u64>) -> MemoryUse {
        let (needed, fits) = (self.needed(), limit.map(|limit| self.fits(limit)));
        let MemoryRange { least, now: memory, most } = &self.range;
        let group = |(role, name): (MemoryRole, &'static str)| MemoryGroup {
            name,
            bytes: memory.of(role),
            least: least.as_ref().map(|least| least.of(role)),
            most: most.as_ref().map(|most| most.of(role)),
            tensors: memory.stored.iter().filter(|stored| stored.role == role).count(),
        };
        let routine = |(at, each): (usize, &Temporaries)| RoutineMemory {
            name: each.routine.clone(),
            here: each.into(),
            least: least.as_ref().and_then(|least| least.temporaries.get(at)).map(Into::into),
            most: most.as_ref().and_then(|most| most.temporaries.get(at)).map(Into::into),
        };
        let tensor = |stored: &Stored| StoredTensor {
            name: stored.name.clone(),
            bytes: stored.bytes,
            group: word(stored.role),
            routine: stored.routine.and_then(|at| Some(memory.temporaries.get(at)?.routine.clone())),
        };
        let mut tensors: Vec<StoredTensor> = memory.stored.iter().map(tensor).collect();
        tensors.sort_by_key(|tensor| std::cmp::Reverse(tensor.bytes));
        MemoryUse {
            groups: ROLES.into_iter().map(group).collect(),
            routines: memory.temporaries.iter().enumerate().map(routine).collect(),
            lasting: memory.lasting(),
            peak: memory.peak(),
            least: least.as_ref().map(Memory::peak),
            most: most.as_ref().map(Memory::peak),
            allocated: self.allocated.as_ref().map(Into::into),
            limit,
            fits,
            tensors,
            needed,
            sizes: self.sizes,
            not_asked: self.not_asked,
            notices: self.notices,
        }
    }
}

impl From<&Temporaries> for TemporaryMemory {
    fn from(each: &Temporaries) -> TemporaryMemory {
        TemporaryMemory { unoptimised: each.unoptimised, separate: each.separate, shared: each.shared }
    }
}

impl From<&Allocated> for AllocatedMemory {
    fn from(allocated: &Allocated) -> AllocatedMemory {
        let Allocated { blocks, arenas, scratch, threads } = *allocated;
        AllocatedMemory { blocks, arenas, scratch, threads, total: allocated.total() }
    }
}

/// The open sizes, with the largest of each that fits.
fn sizes(session: &mut Session, routines: &[Routine], limit: Option<u64>) -> Result<Vec<SizeMemory>, Error> {
    let mut sizes = Vec::new();
    for OpenSize { name, now: here, range: (least, most) } in session.open_sizes()? {
        let (mut largest, mut every) = (None, None);
        // Unknown if a size decreases when another grows, and there are too many sizes to try.
        let found = limit.and_then(|limit| session.largest_that_fits(&name, routines, limit).ok());
        if let Some(found) = found {
            largest = found;
            let all = match (largest, most) {
                // The search has an end, even if the range has none.
                (Some(largest), None) => largest >= WITHOUT_END,
                // Larger sizes may be in range but invalid for the program, which may rely on a
                // multiple of 8.
                (Some(largest), Some(most)) => (largest + 1..=most)
                    .take(MULTIPLES)
                    .all(|size| session.memory_at(&[(name.as_str(), size)], routines).is_err()),
                (None, _) => false,
            };
            every = Some(all);
            largest = largest.filter(|_| !all || most.is_some());
        }
        sizes.push(SizeMemory { name, least, here, most, largest, every });
    }
    Ok(sizes)
}

/// A routine that trains a program: the gradients of a loss, and the updates of an optimiser.
fn training(
    program: &Program,
    graph: &mut Graph,
    loss: &str,
    optimiser: Optimiser,
) -> Result<Routine, Refusal> {
    let found = program.made.iter().rev().find(|made| made.name == loss);
    let Some(made) = found else { return Err(format!("the program has no tensor called `{loss}`").into()) };
    let (mut train, params) = (Routine::new("train"), graph.params());
    let mut make = || {
        train.backward(graph, made.tensor)?;
        let rate = graph.number(0.001);
        match optimiser {
            Optimiser::Adam => Adam::default().update(graph, &mut train, &params, rate),
            Optimiser::Momentum => {
                Sgd { momentum: 0.9, ..Sgd::default() }.update(graph, &mut train, &params, rate)
            }
            Optimiser::Sgd => Sgd::default().update(graph, &mut train, &params, rate),
        }
    };
    make()?;
    Ok(train)
}
