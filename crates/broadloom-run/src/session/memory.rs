//! The memory that routines need: the plan for each tensor, and the actual allocation of the
//! backend.
//!
//! Tensors that last from run to run (data, parameters, states, kept results) have a block each.
//! Tensors that are needed only within a run are temporary: optimisation removes many of them, and
//! the rest share one arena per routine, in which two tensors may overlap if they are not needed at
//! the same time.

use std::sync::Arc;

use broadloom_graph::lowering::{Face, Leaf};
use broadloom_graph::{Error, Tensor};
use broadloom_loops::{Buffer, Program, Storage};
use broadloom_native::{ArenaPlan, bytes_of};
use rustc_hash::FxHashSet;

use super::Session;
use crate::lower::{Content, Layout, Lowered, written_node};
use crate::memory_role::MemoryRole;
use crate::routine::Routine;

/// The memory that some routines need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Every tensor that is stored. Lasting tensors are listed once, in the order in which the
    /// routines mention them, followed by the temporaries of each routine.
    pub stored: Vec<Stored>,
    /// The total for the temporaries of each routine.
    pub temporaries: Vec<Temporaries>,
}

/// A tensor in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its name: `w`, `w.grad`.
    pub name: String,
    /// The tensor itself, or the tensor of which it is the gradient.
    pub tensor: Tensor,
    /// Its purpose.
    pub role: MemoryRole,
    /// Its size in bytes, margins included.
    pub bytes: u64,
    /// The number of bytes that are allocated for it, if it lasts.
    pub allocated: u64,
    /// The index of the routine within whose runs it is needed, or None if it lasts.
    pub routine: Option<usize>,
}

/// The temporaries of a routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temporaries {
    /// The name of the routine.
    pub routine: String,
    /// The bytes of all intermediate tensors, if each were stored.
    pub unoptimised: u64,
    /// The bytes of the tensors that are stored, without sharing.
    pub separate: u64,
    /// The bytes that they take if they share memory: two may overlap if they are not needed at the
    /// same time.
    pub shared: u64,
}

/// The lifetimes of the temporaries of a routine, whatever their sizes are.
pub(super) struct Lifetimes {
    /// For each buffer the first and the last nest that mention it.
    used: Vec<Option<(usize, usize)>>,
    /// The layout of the backend, or None if it cannot compile the routine.
    arena: Option<ArenaPlan>,
}

/// The memory that the backend has allocated for some routines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    /// The bytes of everything that lasts.
    pub blocks: u64,
    /// The bytes of the arenas, which hold temporaries.
    pub arenas: u64,
    /// The bytes in which threads rearrange the operands of contractions.
    pub scratch: u64,
    /// The number of threads.
    pub threads: usize,
}

impl Memory {
    /// The bytes of everything that lasts.
    pub fn lasting(&self) -> u64 {
        self.stored.iter().filter(|each| each.routine.is_none()).map(|each| each.bytes).sum()
    }

    /// The bytes of all tensors of a role, each by itself.
    pub fn of(&self, role: MemoryRole) -> u64 {
        self.stored.iter().filter(|each| each.role == role).map(|each| each.bytes).sum()
    }

    /// The bytes that are allocated when all routines have run: the lasting tensors, and an arena
    /// for each routine.
    pub fn peak(&self) -> u64 {
        let lasting = self.stored.iter().filter(|each| each.routine.is_none()).map(|each| each.allocated);
        lasting.chain(self.temporaries.iter().map(|each| each.shared)).fold(0, u64::saturating_add)
    }
}

impl Allocated {
    /// The sum of all three.
    pub fn total(&self) -> u64 {
        self.blocks + self.arenas + self.scratch
    }
}

impl Session {
    /// The memory that routines need if they run one after another in this session. Nothing is
    /// allocated or compiled.
    ///
    /// ```
    /// use broadloom::{Graph, MemoryRole, Routine, Session};
    /// let mut g = Graph::new();
    /// let (w, x) = (g.param_shaped("w", "... -> 10")?, g.data("x", "64 | 784")?);
    /// let y = g.compose(w, x)?;
    /// let y = g.square(y)?;
    /// let loss = g.einsum("... | ... => 0", &[y])?;
    /// let mut train = Routine::new("train");
    /// train.backward(&mut g, loss)?;
    /// let gradient = g.gradient(w)?;
    /// train.assign(&mut g, "w =- 0.1 * gradient", &[("w", w), ("gradient", gradient)])?;
    ///
    /// let memory = Session::new(g)?.memory(&[train])?;
    /// assert_eq!(memory.of(MemoryRole::Parameter), 4 * 784 * 10);
    /// assert_eq!(memory.of(MemoryRole::Data), 4 * 64 * 784);
    /// assert!(memory.temporaries[0].shared <= memory.temporaries[0].separate);
    /// # Ok::<(), broadloom::Error>(())
    /// ```
    pub fn memory(&mut self, routines: &[Routine]) -> Result<Memory, Error> {
        self.refresh()?;
        let plans = self.plans(routines)?;
        self.planned_at(&self.layout, routines, &plans)
    }

    /// The plans of routines, which hold at all sizes: they use the program for all sizes, if sizes
    /// have names and there is such a program.
    pub(super) fn plans(&mut self, routines: &[Routine]) -> Result<Vec<Arc<Lifetimes>>, Error> {
        for routine in routines {
            if self.plans.iter().all(|(known, _)| known != routine) {
                let plan = Arc::new(self.plan(routine)?);
                self.plans.push((routine.clone(), plan));
            }
        }
        let known = |routine: &Routine| self.plans.iter().find(|(known, _)| known == routine);
        Ok(routines.iter().filter_map(|routine| Some(Arc::clone(&known(routine)?.1))).collect())
    }

    fn plan(&self, routine: &Routine) -> Result<Lifetimes, Error> {
        let lowered = self.lowered(&self.layout, routine)?;
        let symbols = self.symbols_in(&lowered);
        if !symbols.is_empty() && !self.settings.specialise {
            let open = self.open_program(routine, &symbols);
            if let Some((open, arena)) =
                open.ok().and_then(|open| ArenaPlan::new(&open).ok().map(|arena| (open, arena)))
            {
                return Ok(Lifetimes { used: needed(&open), arena: Some(arena) });
            }
        }
        let program = self.optimised(&lowered.program);
        Ok(Lifetimes { used: needed(&program), arena: ArenaPlan::new(&program).ok() })
    }

    /// The memory of planned routines at some sizes.
    pub(super) fn planned_at(
        &self,
        layout: &Layout,
        routines: &[Routine],
        plans: &[Arc<Lifetimes>],
    ) -> Result<Memory, Error> {
        let mut memory = Memory::default();
        let mut seen = FxHashSet::default();
        let mut within = Vec::new();
        for (number, (routine, plan)) in routines.iter().zip(plans).enumerate() {
            let Lifetimes { used, arena } = &**plan;
            let Lowered { program, nodes, .. } = self.lowered(layout, routine)?;
            for ((node, buffer), used) in nodes.iter().zip(&program.buffers).zip(used) {
                let lasts = buffer.storage == Storage::Kept;
                if (lasts && seen.insert(*node)) || (!lasts && used.is_some()) {
                    let routine = (!lasts).then_some(number);
                    let list = if lasts { &mut memory.stored } else { &mut within };
                    let (tensor, role) = self.role(*node);
                    list.push(Stored {
                        name: written_node(&self.graph, *node).unwrap_or_else(|| buffer.name.clone()),
                        tensor,
                        role,
                        bytes: bytes(buffer),
                        allocated: bytes_of(buffer),
                        routine,
                    });
                }
            }
            memory.temporaries.push(Temporaries {
                routine: routine.name().to_string(),
                unoptimised: separate(&program, &needed(&program)),
                separate: separate(&program, used),
                shared: arena.as_ref().map_or(separate(&program, used), |arena| arena.bytes(&program)),
            });
        }
        memory.stored.append(&mut within);
        Ok(memory)
    }

    /// The memory that the backend allocates for routines, which are compiled for this. None if the
    /// reference evaluator runs them, which keeps every number as a 64-bit float.
    pub fn allocated(&mut self, routines: &[Routine]) -> Result<Option<Allocated>, Error> {
        self.refresh()?;
        let mut places = FxHashSet::default();
        let mut allocated = Allocated::default();
        for routine in routines {
            let at = self.prepare(routine)?;
            self.prepared[at].code.resize(&self.sizes)?;
            let Some(code) = self.prepared[at].code.memory() else { return Ok(None) };
            allocated.arenas += code.arena;
            allocated.scratch += code.scratch;
            allocated.threads = allocated.threads.max(code.threads);
            places.extend(self.prepared[at].places.iter().copied());
        }
        let blocks = self.store.blocks();
        allocated.blocks =
            places.iter().filter_map(|place| blocks.get(*place)).map(|block| block.allocated() as u64).sum();
        Ok(Some(allocated))
    }

    /// The tensor of a node and its purpose.
    pub(super) fn role(&self, node: Content) -> (Tensor, MemoryRole) {
        let tensor = node.like(&self.graph);
        let role = match (node, self.graph.leaf(tensor)) {
            (Content::Value(_), Some(Leaf::Param)) => MemoryRole::Parameter,
            (Content::Value(_), Some(Leaf::State)) => MemoryRole::State,
            (Content::Value(_), Some(Leaf::Data)) => MemoryRole::Data,
            (Content::Gradient(_), Some(Leaf::Param)) => MemoryRole::Gradient,
            _ => MemoryRole::Activation,
        };
        (tensor, role)
    }
}

fn bytes(buffer: &Buffer) -> u64 {
    (buffer.cells() * buffer.dtype.bytes() as u64).get()
}

/// For each buffer the first and the last nest that mention it.
pub(super) fn needed(program: &Program) -> Vec<Option<(usize, usize)>> {
    let mut needed: Vec<Option<(usize, usize)>> = vec![None; program.buffers.len()];
    for (number, nest) in program.nests.iter().enumerate() {
        let mut see = |buffer: usize| {
            let (first, _) = needed[buffer].unwrap_or((number, number));
            needed[buffer] = Some((first, number));
        };
        for statement in &nest.body {
            statement.each(&mut |inner| {
                inner.written().into_iter().for_each(|buffer| see(buffer.index()));
                inner.each_read(&mut |cell| see(cell.buffer.index()));
            });
        }
    }
    needed
}

/// The temporaries that are mentioned at all.
fn local<'p>(
    program: &'p Program,
    needed: &'p [Option<(usize, usize)>],
) -> impl Iterator<Item = (u64, (usize, usize))> + 'p {
    let all = program.buffers.iter().zip(needed);
    all.filter(|(buffer, _)| buffer.storage == Storage::Local)
        .filter_map(|(buffer, needed)| Some((bytes(buffer), (*needed)?)))
}

fn separate(program: &Program, needed: &[Option<(usize, usize)>]) -> u64 {
    local(program, needed).fold(0, |sum, (bytes, _)| sum.saturating_add(bytes))
}
