//! The C compiler of the machine, and a cache of what it made.
//!
//! Results are kept in a folder, under names that come from all they depend on: the source, the compiler and its
//! version, the options, and the processor, because code is made for exactly this one. `<key>.c` is the source, to be
//! read; `<key>-<sum>.so` the code, with the sum of its bytes in its name; `<key>.sum` says which one to take and is
//! written last. Every file is written under another name first and then renamed, so that processes can race; code
//! whose bytes do not have the sum, or whose source is another one, is made again.
//!
//! The kernel of contractions takes much longer to compile than a program. It is compiled once for a machine, to
//! `<key>-<sum>.o`, by the same rules, and linked to every program that needs it.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::Program;
use crate::native::compiled::Compiled;
use crate::native::family::Family;
use crate::native::file::{Sizing, file};
use crate::native::pool::Pool;
use crate::native::runtime::Kernels;
use crate::native::types::Real;
use crate::native::{Error, compiled, runtime};

/// Options of the compiler. Everything is computed as it is written, but for the flags of exceptions, which nobody looks
/// at. Loops whose sums may be computed in another order say so themselves.
const OPTIONS: [&str; 11] = [
    "-O3",
    "-march=native",
    "-std=gnu11",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp-simd",
    "-ffp-contract=off",
];

/// What to compile with for speed, where no library is made.
pub(crate) fn advice() -> String {
    let library = ["-fPIC", "-shared", "-fvisibility=hidden"];
    OPTIONS.into_iter().filter(|option| !library.contains(option)).collect::<Vec<_>>().join(" ")
}

/// A C compiler.
///
/// ```no_run
/// use broadloom_loops::{Program, native::Compiler};
///
/// let compiler = Compiler::find()?;
/// let mut compiled = compiler.compile(&Program::default())?;
/// compiled.run(&mut [], &[], &[]).expect("nothing is checked");
/// # Ok::<(), broadloom_loops::native::Error>(())
/// ```
#[derive(Clone)]
pub struct Compiler {
    path: PathBuf,
    version: String,
    cache: PathBuf,
    pool: Arc<Pool>,
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiler")
            .field("path", &self.path)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

impl Compiler {
    /// The compiler of the machine: the one named by the environment variable `BROADLOOM_CC`, or by `CC`, or the
    /// first of `cc`, `gcc` and `clang` that exists.
    pub fn find() -> Result<Compiler, Error> {
        let named =
            ["BROADLOOM_CC", "CC"].into_iter().filter_map(std::env::var_os).filter(|name| !name.is_empty());
        let usual = ["cc", "gcc", "clang"].into_iter().map(OsString::from);
        Compiler::first_of(named.chain(usual))
    }

    /// The compiler at a path, or of a name that is looked for where programs are.
    pub fn at(path: impl Into<OsString>) -> Result<Compiler, Error> {
        Compiler::first_of(std::iter::once(path.into()))
    }

    fn first_of(candidates: impl Iterator<Item = OsString>) -> Result<Compiler, Error> {
        let mut tried = Vec::new();
        for candidate in candidates {
            let output = Command::new(&candidate).arg("--version").output();
            match output {
                Ok(output) if output.status.success() => {
                    let version = String::from_utf8_lossy(&output.stdout).into_owned();
                    // It runs in another folder: a path must not depend on the present one.
                    let path = PathBuf::from(candidate);
                    let relative = path.components().count() > 1 && path.is_relative();
                    let path = if relative { std::path::absolute(&path).unwrap_or(path) } else { path };
                    return Ok(Compiler { path, version, cache: cache_folder(), pool: usual_pool() });
                }
                _ => tried.push(format!("`{}`", candidate.to_string_lossy())),
            }
        }
        Err(Error::NoCompiler { tried })
    }

    /// With another folder for what was compiled.
    #[must_use]
    pub fn with_cache(mut self, folder: impl Into<PathBuf>) -> Compiler {
        self.cache = folder.into();
        self
    }

    /// With so many threads for what it compiles. As many as there are processors, unless it is set.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Compiler {
        if threads != self.pool.threads() {
            self.pool = Arc::new(Pool::new(threads));
        }
        self
    }

    /// What is run to compile a file that is complete.
    pub fn command(&self, source: &Path, output: &Path) -> Command {
        self.command_for(&Target::Library { objects: Vec::new() }, source, output)
    }

    /// What is run to compile a file to what is made of it.
    fn command_for(&self, target: &Target, source: &Path, output: &Path) -> Command {
        let mut command = Command::new(&self.path);
        match target {
            Target::Library { objects } => {
                command.args(OPTIONS).arg("-o").arg(output).arg(source).args(objects).arg("-lm")
            }
            Target::Object => command
                .args(OPTIONS.iter().filter(|option| **option != "-shared"))
                .arg("-c")
                .arg("-o")
                .arg(output)
                .arg(source),
        };
        command
    }

    /// Compiles a program, or finds it compiled.
    pub fn compile(&self, program: &Program) -> Result<Compiled, Error> {
        let file = file(program, "broadloom", None, Kernels::Outside, Sizing::Numbers)?;
        self.library(&file.source, &file.kernels, |path| {
            compiled::load(path, program, file.clone(), Arc::clone(&self.pool))
        })
    }

    /// Compiles programs that differ only in sizes, once for all of them: `make` gives the program for some sizes, which
    /// are multiples of these numbers. What is compiled has to be told its [sizes](Compiled::resize) before it runs.
    ///
    /// There is not always such code, because sizes may decide what is done: then the error is [`Error::Sizes`], and
    /// each program has to be [compiled](Compiler::compile) by itself.
    pub fn compile_family(
        &self,
        multiples: &[u64],
        make: impl FnMut(&[u64]) -> Result<Program, Error>,
    ) -> Result<Compiled, Error> {
        let family = Family::new(multiples, make)?;
        self.library(&family.source, &family.kernels, |path| {
            self.own_copy(path, |path| compiled::load_family(path, &family, Arc::clone(&self.pool)))
        })
    }

    /// Finds or makes a library, and loads it.
    fn library(
        &self,
        source: &String,
        kernels: &[Real],
        load: impl Fn(&Path) -> Result<Compiled, Error>,
    ) -> Result<Compiled, Error> {
        let kernels: Vec<String> = kernels.iter().map(|real| runtime::kernel(*real)).collect();
        let key = self.key(std::iter::once(source).chain(&kernels));
        if let Some(found) = self.cached(&key, source, "so") {
            // What cannot be loaded is as good as not there.
            if let Ok(compiled) = load(&found) {
                return Ok(compiled);
            }
        }
        let objects = kernels.iter().map(|kernel| self.object(kernel)).collect::<Result<_, _>>()?;
        load(&self.make(&key, source, &Target::Library { objects })?)
    }

    /// Loads a copy of a library: code that knows its sizes is not shared by those who have different ones.
    fn own_copy<T>(&self, path: &Path, load: impl FnOnce(&Path) -> Result<T, Error>) -> Result<T, Error> {
        let code = std::fs::read(path).map_err(|error| Error::file(path, &error))?;
        // A cache that can only be read is a good cache.
        let written = write_new(&self.cache, &code).or_else(|_| write_new(&std::env::temp_dir(), &code));
        let copy = written.map_err(|error| Error::file(&self.cache, &error))?;
        let loaded = load(&copy);
        // What is loaded stays, whatever becomes of the file.
        let _ = std::fs::remove_file(&copy);
        loaded
    }

    /// Compiles a kernel, or finds it compiled.
    fn object(&self, source: &String) -> Result<PathBuf, Error> {
        let key = self.key(std::iter::once(source));
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        match self.cached(&key, source, "o") {
            Some(found) => Ok(absolute(found)),
            None => self.make(&key, source, &Target::Object).map(absolute),
        }
    }

    /// What compiled code depends on, as a name.
    fn key<'a>(&self, sources: impl Iterator<Item = &'a String>) -> String {
        let (path, options) = (self.path.to_string_lossy(), OPTIONS.join(" "));
        let parts = [&path, self.version.as_str(), &options, processor(), env!("CARGO_PKG_VERSION")];
        digest(sources.map(|source| source.as_bytes()).chain(parts.iter().map(|part| part.as_bytes())))
    }

    /// Code in the cache, if it is what was put there.
    fn cached(&self, key: &str, source: &str, ending: &str) -> Option<PathBuf> {
        let sum = std::fs::read_to_string(self.cache.join(format!("{key}.sum"))).ok()?;
        if !sum.bytes().all(|c| c.is_ascii_hexdigit()) {
            return None;
        }
        let known = std::fs::read(self.cache.join(format!("{key}.c"))).ok()?;
        let path = self.cache.join(format!("{key}-{sum}.{ending}"));
        let code = std::fs::read(&path).ok()?;
        (known == source.as_bytes() && digest([code.as_slice()].into_iter()) == sum).then_some(path)
    }

    fn make(&self, key: &str, source: &str, target: &Target) -> Result<PathBuf, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // A folder of its own for each time: names inside it are always the same, and so is the code.
        let unique = format!("{key}.{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = self.cache.join(unique);
        std::fs::create_dir_all(&folder).map_err(|error| Error::file(&folder, &error))?;
        let ending = target.ending();
        let result = self.build(&folder, source, target).and_then(|code| {
            let sum = digest([code.as_slice()].into_iter());
            let place = self.cache.join(format!("{key}-{sum}.{ending}"));
            rename(&folder.join(format!("program.{ending}")), &place)?;
            rename(&folder.join("program.c"), &self.cache.join(format!("{key}.c")))?;
            let note = folder.join("program.sum");
            std::fs::write(&note, &sum).map_err(|error| Error::file(&note, &error))?;
            rename(&note, &self.cache.join(format!("{key}.sum")))?;
            Ok(place)
        });
        // What is left there is of no use; if it cannot be removed, it does no harm.
        let _ = std::fs::remove_dir_all(&folder);
        result
    }

    /// Writes the source, runs the compiler and reads what it made.
    fn build(&self, folder: &Path, source: &str, target: &Target) -> Result<Vec<u8>, Error> {
        let output = format!("program.{}", target.ending());
        let path = folder.join("program.c");
        std::fs::write(&path, source).map_err(|error| Error::file(&path, &error))?;
        let mut command = self.command_for(target, Path::new("program.c"), Path::new(&output));
        let ran = command.current_dir(folder).output().map_err(|error| Error::file(&self.path, &error))?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            let said = said.lines().take(20).collect::<Vec<_>>().join("\n");
            return Err(Error::Compiler { command: shown(&command), said });
        }
        let output = folder.join(output);
        std::fs::read(&output).map_err(|error| Error::file(&output, &error))
    }
}

/// Writes a library to a file that nobody else has.
fn write_new(folder: &Path, code: &[u8]) -> std::io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let time = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos());
    let path = folder.join(format!("broadloom-{}-{number}-{time:x}.so", std::process::id()));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
    file.write_all(code)?;
    Ok(path)
}

/// What is made of a file.
enum Target {
    /// A library that can be loaded, with what is linked to it.
    Library { objects: Vec<PathBuf> },
    /// What can be linked to a library.
    Object,
}

impl Target {
    fn ending(&self) -> &'static str {
        match self {
            Target::Library { .. } => "so",
            Target::Object => "o",
        }
    }
}

/// A command as it would be typed.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    std::fs::rename(from, to).map_err(|error| Error::file(to, &error))
}

/// Where compiled code is kept, unless it is said otherwise.
fn cache_folder() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("BROADLOOM_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("broadloom")))
        .or_else(|| Some(set("HOME")?.join(".cache").join("broadloom")))
        .unwrap_or_else(|| std::env::temp_dir().join("broadloom"))
}

/// One pool for all that do not ask for a number of threads.
fn usual_pool() -> Arc<Pool> {
    static POOL: OnceLock<Arc<Pool>> = OnceLock::new();
    let threads = || std::thread::available_parallelism().map_or(1, usize::from);
    Arc::clone(POOL.get_or_init(|| Arc::new(Pool::new(threads()))))
}

/// The model of the processor and what it can do, as far as the system says.
fn processor() -> &'static str {
    static PROCESSOR: OnceLock<String> = OnceLock::new();
    PROCESSOR.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let known = ["vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU part"];
        let first = text.split("\n\n").next().unwrap_or_default();
        let lines = first.lines().filter(|line| known.iter().any(|word| line.starts_with(word)));
        format!("{} {}", std::env::consts::ARCH, lines.collect::<Vec<_>>().join("\n"))
    })
}

/// 128 bits that depend on all bytes. Not a secret: whoever can write to the cache can run code anyway.
fn digest<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let (mut low, mut high) = (DefaultHasher::new(), DefaultHasher::new());
    high.write_u8(1);
    for part in parts {
        for hasher in [&mut low, &mut high] {
            hasher.write_usize(part.len());
            hasher.write(part);
        }
    }
    format!("{:016x}{:016x}", low.finish(), high.finish())
}
