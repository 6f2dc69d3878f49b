//! Compiled programs.

use std::ffi::c_void;
use std::path::Path;
use std::sync::Arc;

use broadloom_loops::memory::{Block, Line, lines};
use broadloom_loops::reference::Stop;
use broadloom_loops::{Buffer, BufferId, Program, Storage};

use crate::Error;
use crate::emit::File;
use crate::family::Family;
use crate::pool::Pool;

/// A program that was compiled and loaded. It computes what
/// [`evaluate`](broadloom_loops::reference::evaluate) computes, up to rounding.
pub struct Compiled {
    code: code::Code,
    pool: Arc<Pool>,
    arena: Vec<Line>,
    /// The kept buffers, in order.
    kept: Vec<(BufferId, Buffer)>,
    symbols: usize,
    checks: Vec<(BufferId, u64, BufferId)>,
    source: String,
    /// The data needed to size the program, if its sizes are arguments, and whether it has been
    /// sized.
    family: Option<(Family, bool)>,
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiled").field("kept", &self.kept).finish_non_exhaustive()
    }
}

impl Compiled {
    /// Runs the program. `places[i]` is the block of the `i`-th kept buffer of the program, in the order of
    /// `Program::buffers`; each has a block of its own.
    ///
    /// A block that is missing, used twice, or not made for its buffer stops the run before it
    /// begins, with [`Stop::Address`] of the buffer; so does a symbol that is an index beyond an
    /// axis. If a check stops the run, some of the later work may have been done already.
    pub fn run(&mut self, blocks: &mut [Block], places: &[usize], symbols: &[i64]) -> Result<(), Stop> {
        let first = self.kept.first().map_or(BufferId(0), |(id, _)| *id);
        let unsized_yet = matches!(self.family, Some((_, false)));
        if unsized_yet || places.len() != self.kept.len() || symbols.len() < self.symbols {
            return Err(Stop::Address { buffer: first });
        }
        let mut used = vec![false; blocks.len()];
        let mut kept: Vec<*mut c_void> = Vec::with_capacity(places.len());
        for (place, (id, buffer)) in places.iter().zip(&self.kept) {
            match blocks.get_mut(*place) {
                Some(block) if block.fits(buffer) && !used[*place] => kept.push(block.address()),
                _ => return Err(Stop::Address { buffer: *id }),
            }
            used[*place] = true;
        }
        let mut report = [0i64; 3];
        let parallel = self.pool.parallel();
        let outcome = self.code.run(&mut kept, &mut self.arena, symbols, &parallel, &mut report);
        let stop = |(buffer, below, of): &(BufferId, u64, BufferId)| Stop::Index {
            buffer: *buffer,
            cell: report[1] as u64,
            value: report[2],
            below: *below,
            of: *of,
        };
        match outcome {
            0 => Ok(()),
            1 => Err(self.checks.get(report[0] as usize).map_or(Stop::Address { buffer: first }, stop)),
            _ => Err(Stop::Address { buffer: BufferId(report[0] as u32) }),
        }
    }

    /// Sets the sizes of a program whose sizes are arguments, in their order. Buffers have these
    /// sizes from now on: see [`Compiled::kept`].
    pub fn resize(&mut self, sizes: &[u64]) -> Result<(), Error> {
        let Some((family, sized)) = &mut self.family else {
            return Err(Error::Sizes { message: "it was compiled for certain sizes".into() });
        };
        let member = family.member(sizes)?;
        let numbers: Vec<i64> = member.symbols.iter().map(|size| *size as i64).collect();
        let failed = || Error::Load { message: "there is not enough memory for these sizes".into() };
        // It cannot run until everything has been resized.
        *sized = false;
        if !self.code.resize(&numbers, &member.offsets) {
            return Err(failed());
        }
        let bytes = self.code.arena(self.pool.threads() as i64);
        self.arena = usize::try_from(bytes).ok().and_then(lines).ok_or_else(failed)?;
        self.kept = kept(&member.buffers);
        self.checks = member.checks;
        *sized = true;
        Ok(())
    }

    /// The buffers that outlive a run, at the current sizes.
    pub fn kept(&self) -> impl Iterator<Item = &Buffer> {
        self.kept.iter().map(|(_, buffer)| buffer)
    }

    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The number of bytes that it needs within a run.
    pub fn arena_bytes(&self) -> usize {
        size_of_val(self.arena.as_slice())
    }

    /// The part of these bytes that holds arrays; the rest is work space of threads.
    pub fn shared_bytes(&self) -> usize {
        usize::try_from(self.code.arena(0)).unwrap_or(0)
    }

    /// The number of threads it uses.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }
}

/// Loads the code that was compiled from the text of a program.
pub(crate) fn load(path: &Path, program: &Program, file: &File, pool: Arc<Pool>) -> Result<Compiled, Error> {
    let code = code::Code::load(path)?;
    let (symbols, source) = (program.symbols.len(), file.source.clone());
    if let Some(family) = Family::of(program, file) {
        let (arena, kept, checks) = (Vec::new(), Vec::new(), Vec::new());
        return Ok(Compiled {
            code,
            pool,
            arena,
            kept,
            symbols,
            checks,
            source,
            family: Some((family, false)),
        });
    }
    let bytes = code.arena(pool.threads() as i64);
    let failed =
        || Error::Load { message: format!("it needs {bytes} bytes within a run, which there are not") };
    let arena = usize::try_from(bytes).ok().and_then(lines).ok_or_else(failed)?;
    let kept = kept(&program.buffers);
    let checks = file.checks.iter().map(|(buffer, below, of)| (*buffer, below.get(), *of)).collect();
    Ok(Compiled { code, pool, arena, kept, symbols, checks, source, family: None })
}

/// The buffers that outlive a run.
fn kept(buffers: &[Buffer]) -> Vec<(BufferId, Buffer)> {
    let kept = buffers.iter().enumerate().filter(|(_, buffer)| buffer.storage == Storage::Kept);
    kept.map(|(number, buffer)| (BufferId(number as u32), buffer.clone())).collect()
}

#[cfg(not(target_family = "wasm"))]
#[allow(unsafe_code, reason = "compiled code is loaded and called")]
mod code {
    use std::ffi::c_void;
    use std::path::Path;

    use libloading::Library;

    use crate::Error;
    use crate::pool::Parallel;
    use broadloom_loops::memory::Line;

    type Run =
        unsafe extern "C" fn(*mut *mut c_void, *mut Line, *const i64, *const Parallel, *mut i64) -> i64;
    type Arena = unsafe extern "C" fn(i64) -> i64;
    type Resize = unsafe extern "C" fn(*const i64, *const i64) -> i64;

    /// Loaded code.
    pub(super) struct Code {
        run: Run,
        arena: Arena,
        resize: Option<Resize>,
        /// Keeps the code loaded that the functions point into.
        _library: Library,
    }

    impl Code {
        pub(super) fn load(path: &Path) -> Result<Code, Error> {
            let failed = |error: libloading::Error| Error::Load { message: error.to_string() };
            // SAFETY: the library was made by our compiler from our text and checked against its
            // sum. Its initialisation fills tables of its own and nothing else.
            let library = unsafe { Library::new(path) }.map_err(failed)?;
            // SAFETY: our text defines both functions with these types.
            let (run, arena) = unsafe {
                let run = *library.get::<Run>(b"broadloom_run").map_err(failed)?;
                (run, *library.get::<Arena>(b"broadloom_arena").map_err(failed)?)
            };
            // SAFETY: if our text defines the function, it has this type.
            let resize = unsafe { library.get::<Resize>(b"broadloom_resize").ok().map(|resize| *resize) };
            Ok(Code { run, arena, resize, _library: library })
        }

        /// Sets the sizes and the offsets of arrays in the arena. Returns true if that succeeded.
        pub(super) fn resize(&self, sizes: &[i64], offsets: &[i64]) -> bool {
            // SAFETY: both have the length that the text was written for: the family made them for
            // as many sizes and needs. Nothing runs meanwhile, because the caller has exclusive
            // access to the program, and the program to its code.
            self.resize.is_some_and(|resize| unsafe { resize(sizes.as_ptr(), offsets.as_ptr()) } == 0)
        }

        /// The number of bytes that the arena needs.
        pub(super) fn arena(&self, threads: i64) -> i64 {
            // SAFETY: the function only computes.
            unsafe { (self.arena)(threads) }
        }

        /// Runs the program: the kept blocks are those it was made for, and the arena has the size it asks for.
        pub(super) fn run(
            &self,
            kept: &mut [*mut c_void],
            arena: &mut [Line],
            symbols: &[i64],
            parallel: &Parallel,
            report: &mut [i64; 3],
        ) -> i64 {
            // SAFETY: the caller has checked blocks and symbols; `flat` has checked all addresses of the program
            // before it was made into text.
            unsafe {
                (self.run)(
                    kept.as_mut_ptr(),
                    arena.as_mut_ptr(),
                    symbols.as_ptr(),
                    parallel,
                    report.as_mut_ptr(),
                )
            }
        }
    }
}

/// WebAssembly writes C and plans memory as other targets do, but cannot load code: there is never
/// any.
#[cfg(target_family = "wasm")]
mod code {
    use std::ffi::c_void;
    use std::path::Path;

    use crate::Error;
    use crate::pool::Parallel;
    use broadloom_loops::memory::Line;

    pub(super) enum Code {}

    impl Code {
        pub(super) fn load(_path: &Path) -> Result<Code, Error> {
            Err(Error::Load { message: "WebAssembly loads no machine code".into() })
        }

        pub(super) fn resize(&self, _sizes: &[i64], _offsets: &[i64]) -> bool {
            match *self {}
        }

        pub(super) fn arena(&self, _threads: i64) -> i64 {
            match *self {}
        }

        pub(super) fn run(
            &self,
            _kept: &mut [*mut c_void],
            _arena: &mut [Line],
            _symbols: &[i64],
            _parallel: &Parallel,
            _report: &mut [i64; 3],
        ) -> i64 {
            match *self {}
        }
    }
}
