//! Engines that the surroundings of a program offer, such as web pages.

use std::fmt;

use broadloom_graph::Error;
use broadloom_loops::reference::Stop;
use broadloom_loops::wasm::{self, NestCode};
use broadloom_loops::{Block, BufferId, Program, Storage};

use super::engine::{CompiledCode, Engine, Ran, Work};
use super::store::Store;

/// An engine that runs WebAssembly on the memory of this process.
pub trait HostEngine: Sync {
    /// Returns true if it multiplies and adds at once: if it loads modules with `f32x4.relaxed_madd`.
    fn fuses(&self) -> bool;

    /// Loads a [module](wasm::module), and returns a number for it; None if it cannot be loaded.
    fn load(&self, module: &[u8]) -> Option<u32>;

    /// Runs the function of a nest of a loaded module on the blocks of all buffers. Returns false if it stopped early.
    fn run(&self, loaded: u32, nest: u32, blocks: &mut [&mut Block], symbols: &[i64]) -> bool;

    /// Forgets a module.
    fn unload(&self, loaded: u32);
}

/// An engine of the host: nests that it cannot run are evaluated.
#[derive(Clone, Copy)]
pub struct Host(pub &'static dyn HostEngine);

impl PartialEq for Host {
    fn eq(&self, other: &Host) -> bool {
        std::ptr::addr_eq(self.0, other.0)
    }
}

impl Eq for Host {}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Host")
    }
}

/// The reference evaluator, or an engine of the host.
pub(super) struct Evaluator {
    pub host: Option<Host>,
}

impl Engine for Evaluator {
    fn compile(&self, work: &Work<'_>, _: &mut Vec<String>) -> Result<Box<dyn CompiledCode>, Error> {
        Ok(Box::new(Evaluated::new(work.own_program(), self.host)))
    }
}

/// A program that is evaluated, with what the host has loaded of it.
pub(super) struct Evaluated {
    pub program: Program,
    pub code: Option<Loaded>,
    /// The blocks of buffers that last for one run; the host has their memory from the first run on.
    local: Vec<Block>,
}

impl Evaluated {
    pub fn new(mut program: Program, host: Option<Host>) -> Evaluated {
        let code = host.and_then(|host| {
            let wasm::Module { bytes, nests } = wasm::module(&mut program, host.0.fuses());
            Some(Loaded { loaded: host.0.load(&bytes)?, host, nests })
        });
        Evaluated { program, code, local: Vec::new() }
    }

    /// The memory of local buffers, which a host needs.
    fn furnish(&mut self) -> Result<(), Error> {
        if self.code.is_some() && self.local.is_empty() {
            self.local = wasm::local_blocks(&self.program)?;
        }
        Ok(())
    }
}

impl CompiledCode for Evaluated {
    fn run(&mut self, store: &mut Store, places: &[usize], symbols: &[i64]) -> Ran {
        self.furnish()?;
        let Some(code) = &mut self.code else { return Ok(store.evaluate(&self.program, places, symbols)) };
        Ok(hosted(&self.program, code, (store.blocks(), places), &mut self.local, symbols))
    }
}

/// Runs a program by the code of a host, on the blocks of a store and those that last for this run.
fn hosted(
    program: &Program,
    code: &mut Loaded,
    (kept, places): (&mut [Block], &[usize]),
    local: &mut [Block],
    symbols: &[i64],
) -> Result<(), Stop> {
    let mut kept: Vec<Option<&mut Block>> = kept.iter_mut().map(Some).collect();
    let (mut places, mut local) = (places.iter(), local.iter_mut());
    let mut blocks = Vec::with_capacity(program.buffers.len());
    for (at, buffer) in program.buffers.iter().enumerate() {
        let block = match buffer.storage {
            Storage::Kept => places.next().and_then(|place| kept.get_mut(*place)?.take()),
            Storage::Local => local.next(),
        };
        let block = block.filter(|block| block.fits(buffer));
        blocks.push(block.ok_or(Stop::Memory { buffer: BufferId(at as u32) })?);
    }
    wasm::run(program, code, &mut blocks, symbols)
}

/// A module in the host.
pub(super) struct Loaded {
    host: Host,
    loaded: u32,
    nests: Vec<bool>,
}

impl NestCode for Loaded {
    fn has(&self, nest: usize) -> bool {
        self.nests.get(nest).copied().unwrap_or(false)
    }

    fn run(&mut self, nest: usize, blocks: &mut [&mut Block], symbols: &[i64]) -> bool {
        self.host.0.run(self.loaded, nest as u32, blocks, symbols)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.host.0.unload(self.loaded);
    }
}
