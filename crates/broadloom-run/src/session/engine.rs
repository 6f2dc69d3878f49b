//! Engines: each compiles routines in its own way, and runs its own code.
//!
//! | engine | file | code |
//! |---|---|---|
//! | the reference evaluator | `host` | the program itself, or WebAssembly in an engine of the host |
//! | machine code | `native` | C, compiled for all sizes or for those of the session |
//! | XLA | `xla` | a module of StableHLO, compiled by JAX |

use broadloom_core::Symbol;
use broadloom_graph::lowering::Face;
use broadloom_graph::{Error, Graph};
use broadloom_loops::Program;
use broadloom_loops::reference::Stop;
use broadloom_xla::Precision;

use super::Session;
use super::store::Store;
use crate::lower::{Layout, Lowered};
use crate::mesh::Divided;
use crate::routine::Routine;
use crate::sizes::Sizes;

/// An engine of a session.
pub(super) trait Engine: Send + Sync {
    /// Compiles a routine. Says in a notice what is not as it should be.
    fn compile(&self, work: &Work<'_>, notices: &mut Vec<String>) -> Result<Box<dyn CompiledCode>, Error>;

    /// Forgets what it keeps of a graph that has changed.
    fn forget(&self) {}
}

/// The end of a run. The inner error is a check of the program that failed.
pub(super) type Ran = Result<Result<(), Stop>, Error>;

/// The code of a routine.
pub(super) trait CompiledCode: Send + Sync {
    /// Runs it on the blocks of the kept buffers.
    fn run(&mut self, store: &mut Store, places: &[usize], symbols: &[i64]) -> Ran;

    /// Tells code for all sizes those of the next run.
    fn resize(&mut self, _sizes: &Sizes) -> Result<(), Error> {
        Ok(())
    }

    /// The memory that it has allocated; `None` if it does not say.
    fn memory(&self) -> Option<CodeMemory> {
        None
    }

    /// True if a run that is stopped has changed nothing, because results are new values.
    fn keeps_old_values(&self) -> bool {
        false
    }

    /// The program as XLA has compiled it, if that is the engine.
    fn compiled_by_xla(&self) -> Option<Result<String, String>> {
        None
    }
}

/// The memory of the code of one routine.
pub(super) struct CodeMemory {
    /// The bytes of its temporaries.
    pub arena: u64,
    /// The bytes in which threads rearrange operands.
    pub scratch: u64,
    /// The number of threads.
    pub threads: usize,
}

/// A routine that is to be compiled.
pub(super) struct Work<'a> {
    session: &'a Session,
    pub routine: &'a Routine,
    pub lowered: &'a Lowered,
}

/// The reason why a routine has no code for all sizes.
pub(super) struct DecidedBySizes(pub String);

impl<'a> Work<'a> {
    pub fn new(session: &'a Session, routine: &'a Routine, lowered: &'a Lowered) -> Work<'a> {
        Work { session, routine, lowered }
    }

    pub fn graph(&self) -> &Graph {
        &self.session.graph
    }

    pub fn layout(&self) -> &Layout {
        &self.session.layout
    }

    /// The division over devices, if there is one.
    pub fn divided(&self) -> Option<&Divided> {
        self.session.divided.as_deref()
    }

    /// The precision of products.
    pub fn precision(&self) -> Precision {
        self.session.settings.precision
    }

    /// The program, optimised for the sizes of the session.
    pub fn own_program(&self) -> Program {
        self.session.optimised(&self.lowered.program)
    }

    /// The named sizes that become arguments of code for all sizes; none if it is to be compiled for these sizes alone.
    pub fn open_sizes(&self) -> Vec<Symbol> {
        let symbols = self.session.symbols_in(self.lowered);
        let alone = self.session.settings.specialise || !self.session.sizes.are_usual(&symbols);
        if alone { Vec::new() } else { symbols }
    }

    /// The named sizes that the routine depends on, as they are now: `n = 8, batch = 4`. Empty if there are none.
    pub fn sizes_text(&self) -> String {
        let (session, names) = (self.session, self.session.graph.symbols());
        let size = |symbol: &Symbol| {
            let at = symbol.0 as usize;
            Some(format!("{} = {}", names.get(at)?.name, session.sizes.now.get(at)?))
        };
        session.symbols_in(self.lowered).iter().filter_map(size).collect::<Vec<_>>().join(", ")
    }

    /// The program in which some named sizes are arguments.
    pub fn open_program(&self, symbols: &[Symbol]) -> Result<Program, DecidedBySizes> {
        self.session.open_program(self.routine, symbols)
    }
}
