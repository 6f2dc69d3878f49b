//! Machine code: programs as C, compiled for all sizes where that is possible, else for each size by itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use broadloom_array::shown_path;
use broadloom_core::Symbol;
use broadloom_graph::Error;
use broadloom_loops::Program;
use broadloom_native::{self as native, Compiled, Compiler};

use super::engine::{CodeMemory, CompiledCode, DecidedBySizes, Engine, Ran, Work};
use super::store::Store;
use super::{Backend, Settings};
use crate::routine::Routine;
use crate::sizes::Sizes;

/// A C compiler, with the code for all sizes that it has made.
pub(super) struct Native {
    compiler: Compiler,
    families: Mutex<Vec<(Routine, Arc<Mutex<Family>>)>>,
}

/// Machine code for all sizes.
struct Family {
    compiled: Compiled,
    /// The named sizes that are its arguments.
    symbols: Vec<Symbol>,
    /// The numbers that were last passed to it.
    sizes: Vec<u64>,
}

/// Machine code for one size of each name.
struct Own(Compiled);

/// Machine code for all sizes, which all sizes share.
struct Shared(Arc<Mutex<Family>>);

impl Native {
    /// The compiler, or none if programs have to run without.
    pub fn find(settings: &Settings, notices: &mut Vec<String>) -> Result<Option<Native>, Error> {
        let compiler = compiler_for(settings.backend, notices)?;
        Ok(compiler.map(|compiler| Native {
            compiler: match settings.threads {
                Some(threads) => compiler.with_threads(threads),
                None => compiler,
            },
            families: Mutex::default(),
        }))
    }

    fn own(&self, program: &Program) -> Result<Box<dyn CompiledCode>, Error> {
        Ok(Box::new(Own(self.compiler.compile(program).map_err(failed)?)))
    }

    /// Code for all sizes, or the reason why there is none.
    fn open(&self, work: &Work<'_>, symbols: Vec<Symbol>) -> Result<Result<Family, DecidedBySizes>, Error> {
        let program = match work.open_program(&symbols) {
            Ok(program) => program,
            Err(reason) => return Ok(Err(reason)),
        };
        Ok(match self.compiler.compile(&program) {
            Ok(compiled) => Ok(Family { compiled, symbols, sizes: Vec::new() }),
            Err(native::Error::Sizes { message }) => Err(DecidedBySizes(message)),
            // A program that is valid at its own sizes, but not for all, has something that sizes decide.
            Err(native::Error::Program { message }) => {
                Err(DecidedBySizes(format!("something in it is decided by a size: {message}")))
            }
            Err(error) => return Err(failed(error)),
        })
    }
}

impl Engine for Native {
    fn compile(&self, work: &Work<'_>, notices: &mut Vec<String>) -> Result<Box<dyn CompiledCode>, Error> {
        let symbols = work.open_sizes();
        if symbols.is_empty() {
            return self.own(&work.own_program());
        }
        let mut families = held(&self.families);
        if let Some((_, family)) = families.iter().find(|(routine, _)| routine == work.routine) {
            return Ok(Box::new(Shared(Arc::clone(family))));
        }
        match self.open(work, symbols)? {
            Ok(family) => {
                let family = Arc::new(Mutex::new(family));
                families.push((work.routine.clone(), Arc::clone(&family)));
                Ok(Box::new(Shared(family)))
            }
            Err(DecidedBySizes(message)) => {
                let name = work.routine.name();
                let notice = format!("`{name}` is compiled for each size by itself: {message}");
                let own = self.own(&work.own_program());
                if !notices.contains(&notice) {
                    notices.push(notice);
                }
                own
            }
        }
    }

    fn forget(&self) {
        held(&self.families).clear();
    }
}

impl CompiledCode for Own {
    fn run(&mut self, store: &mut Store, places: &[usize], symbols: &[i64]) -> Ran {
        Ok(self.0.run(store.blocks(), places, symbols))
    }

    fn memory(&self) -> Option<CodeMemory> {
        Some(memory(&self.0))
    }
}

impl CompiledCode for Shared {
    fn run(&mut self, store: &mut Store, places: &[usize], symbols: &[i64]) -> Ran {
        Ok(held(&self.0).compiled.run(store.blocks(), places, symbols))
    }

    fn resize(&mut self, sizes: &Sizes) -> Result<(), Error> {
        let mut family = held(&self.0);
        let numbers = sizes.of(&family.symbols);
        if family.sizes != numbers {
            family.sizes.clear();
            family.compiled.resize(&numbers).map_err(failed)?;
            family.sizes = numbers;
        }
        Ok(())
    }

    fn memory(&self) -> Option<CodeMemory> {
        Some(memory(&held(&self.0).compiled))
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(error: native::Error) -> Error {
    Error::run(error.to_string())
}

fn memory(compiled: &Compiled) -> CodeMemory {
    let (all, shared) = (compiled.arena_bytes() as u64, compiled.shared_bytes() as u64);
    CodeMemory { arena: shared.min(all), scratch: all.saturating_sub(shared), threads: compiled.threads() }
}

/// The notice about a cache that cannot be used.
fn unusable_cache(folder: &std::path::Path, reason: &str) -> String {
    format!(
        "the cache {} is not used: {reason}; programs are compiled anew each time. Name another folder in BROADLOOM_CACHE, or see \
         what `broadloom cache` says",
        shown_path(folder)
    )
}

/// The compiler, if there is one. Says in a notice what is not as it should be.
fn compiler_for(backend: Backend, notices: &mut Vec<String>) -> Result<Option<Compiler>, Error> {
    let slowly = "programs run slowly, by the reference evaluator";
    match Compiler::find() {
        Ok(compiler) if backend == Backend::Auto && compiler.cache().is_nowhere() => {
            let (cache, common) = (shown_path(compiler.cache().folder()), shown_path(&std::env::temp_dir()));
            notices.push(format!(
                "there is no place to compile in: nothing can be written to the cache {cache}, nor to the temporary folder \
                 {common}; {slowly}. Name a folder in BROADLOOM_CACHE or TMPDIR"
            ));
            Ok(None)
        }
        Ok(compiler) => {
            if let Some(reason) = compiler.cache().unusable() {
                notices.push(unusable_cache(compiler.cache().folder(), reason));
            }
            notices.extend(compiler.cache().wrong_limit());
            Ok(Some(compiler))
        }
        // A compiler that the user names must not be replaced by another.
        Err(error @ native::Error::NamedCompiler { .. }) => Err(failed(error)),
        Err(error) if backend == Backend::Native => Err(failed(error)),
        Err(error) => {
            notices.push(format!("{error}; {slowly}"));
            Ok(None)
        }
    }
}
