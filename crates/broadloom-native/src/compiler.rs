//! The C compiler of the machine, and a cache of its results.
//!
//! Results are [kept](crate::Cache) under names that are made from everything they depend on: the
//! source, the compiler and its version, the options, and the processor, because code is compiled
//! for exactly this one.
//!
//! The kernel of contractions takes much longer to compile than a program. It is compiled once for
//! each machine, by the same rules, and linked to every program that needs it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use broadloom_loops::Program;

use crate::cache::{Cache, digest};
use crate::compiled::Compiled;
use crate::emit::file;
use crate::options::OPTIONS;
use crate::pool::Pool;
use crate::runtime::Kernels;
use crate::scratch::Scratch;
use crate::types::Real;
use crate::words::words;
use crate::{Error, compiled, runtime};

/// A C compiler.
///
/// ```no_run
/// use broadloom_loops::Program;
/// use broadloom_native::Compiler;
///
/// let compiler = Compiler::find()?;
/// let mut compiled = compiler.compile(&Program::default())?;
/// compiled.run(&mut [], &[], &[]).expect("nothing is checked");
/// # Ok::<(), broadloom_native::Error>(())
/// ```
#[derive(Clone)]
pub struct Compiler {
    /// The executable.
    path: PathBuf,
    /// Arguments that it always gets, such as `-m64`.
    always: Vec<OsString>,
    version: String,
    cache: Arc<Cache>,
    pool: Arc<Pool>,
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiler")
            .field("path", &self.path)
            .field("cache", &self.cache.folder())
            .finish_non_exhaustive()
    }
}

impl Compiler {
    /// The compiler of the machine: the one named by the environment variable `BROADLOOM_CC`, or by
    /// `CC`, or the first of `cc`, `gcc` and `clang` that exists. A variable may include arguments:
    /// `ccache gcc`, `gcc -m64`. A named compiler that cannot be run is an error: no other is used
    /// instead.
    pub fn find() -> Result<Compiler, Error> {
        for variable in ["BROADLOOM_CC", "CC"] {
            let Some(value) = std::env::var_os(variable).filter(|value| !value.is_empty()) else { continue };
            return Compiler::of(words(&value)).map_err(|why| Error::NamedCompiler {
                variable: variable.into(),
                value: value.to_string_lossy().into_owned(),
                why,
            });
        }
        Compiler::first_of(["cc", "gcc", "clang"].into_iter().map(OsString::from))
    }

    /// The compiler at a path, or with a name that is searched for among the installed programs.
    pub fn at(path: impl Into<OsString>) -> Result<Compiler, Error> {
        Compiler::first_of(std::iter::once(path.into()))
    }

    fn first_of(candidates: impl Iterator<Item = OsString>) -> Result<Compiler, Error> {
        let mut tried = Vec::new();
        for candidate in candidates {
            match Compiler::of(vec![candidate.clone()]) {
                Ok(compiler) => return Ok(compiler),
                Err(_) => tried.push(format!("`{}`", candidate.to_string_lossy())),
            }
        }
        Err(Error::NoCompiler { tried })
    }

    /// The compiler with this command line, or the reason why it cannot be run.
    fn of(words: Vec<OsString>) -> Result<Compiler, String> {
        let mut words = words.into_iter();
        let path = PathBuf::from(words.next().ok_or("it is blank")?);
        let always: Vec<OsString> = words.collect();
        // The compiler runs in another folder, so its path must not be relative to the current one.
        let relative = path.components().count() > 1 && path.is_relative();
        let path = if relative { std::path::absolute(&path).unwrap_or(path) } else { path };
        let output = Command::new(&path).args(&always).arg("--version").output();
        let output = output.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such program".to_string(),
            _ => error.to_string(),
        })?;
        if !output.status.success() {
            return Err(format!("with `--version` it ends with {}", output.status));
        }
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Compiler { path, always, version, cache: Arc::new(Cache::usual()), pool: usual_pool() })
    }

    /// Uses another folder for compiled code.
    #[must_use]
    pub fn with_cache(mut self, folder: impl Into<PathBuf>) -> Compiler {
        self.cache = Arc::new(Cache::at(folder));
        self
    }

    /// The cache of compiled code.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Sets the number of threads of compiled programs. By default it is the number of processors.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Compiler {
        if threads != self.pool.threads() {
            self.pool = Arc::new(Pool::new(threads));
        }
        self
    }

    /// The command that compiles a complete file.
    pub fn command(&self, source: &Path, output: &Path) -> Command {
        self.command_for(&Target::Library { objects: Vec::new() }, source, output)
    }

    /// The command that compiles a file to a target.
    fn command_for(&self, target: &Target, source: &Path, output: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.always);
        match target {
            Target::Library { objects } => {
                let objects = (0..objects.len()).map(object_name);
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

    /// Compiles a program, or finds it in the cache. A program whose sizes are
    /// [arguments](Program::arguments) is compiled once for all of them, and its [sizes have to be
    /// set](Compiled::resize) before it runs. That is not always possible, because the steps
    /// themselves may depend on sizes: then it has to be compiled [at](Program::at) each of them.
    pub fn compile(&self, program: &Program) -> Result<Compiled, Error> {
        let file = file(program, "broadloom", None, Kernels::Outside)?;
        self.library(&file.source, &file.kernels, |path| {
            compiled::load(path, program, &file, Arc::clone(&self.pool))
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
        if let Some(found) = self.cache.find(&key, source, "so") {
            // Code that cannot be loaded is compiled again.
            if let Ok(compiled) = self.load(&found, &load) {
                return Ok(compiled);
            }
        }
        let objects = kernels.iter().map(|kernel| self.object(kernel)).collect::<Result<_, _>>()?;
        self.load(&self.make(&key, source, &Target::Library { objects })?, &load)
    }

    /// Loads code from a private file: it cannot be exchanged, and code with sizes of its own is
    /// not shared by programs at different sizes.
    fn load(&self, code: &[u8], load: impl Fn(&Path) -> Result<Compiled, Error>) -> Result<Compiled, Error> {
        let scratch = self.scratch()?;
        let path = scratch.path().join("program.so");
        std::fs::write(&path, code).map_err(|error| Error::file(&path, &error))?;
        // Loaded code stays, even if the file is removed.
        load(&path)
    }

    fn scratch(&self) -> Result<Scratch, Error> {
        self.cache.scratch().map_err(|error| Error::file(&std::env::temp_dir(), &error))
    }

    /// Compiles a kernel, or finds it in the cache.
    fn object(&self, source: &String) -> Result<Vec<u8>, Error> {
        let key = self.key(std::iter::once(source));
        match self.cache.find(&key, source, "o") {
            Some(found) => Ok(found),
            None => self.make(&key, source, &Target::Object),
        }
    }

    /// A name made from everything that compiled code depends on.
    fn key<'a>(&self, sources: impl Iterator<Item = &'a String>) -> String {
        let options = OPTIONS.join(" ");
        let parts = [self.version.as_str(), &options, processor(), env!("CARGO_PKG_VERSION")];
        let command =
            std::iter::once(self.path.as_os_str()).chain(self.always.iter().map(OsString::as_os_str));
        let command = command.map(|word| word.as_encoded_bytes());
        let parts = parts.iter().map(|part| part.as_bytes());
        digest(sources.map(|source| source.as_bytes()).chain(parts).chain(command))
    }

    /// Compiles a file and keeps the result in the cache.
    fn make(&self, key: &str, source: &str, target: &Target) -> Result<Vec<u8>, Error> {
        // Each time in a new folder: the names inside are always the same, and therefore so is the
        // code.
        let scratch = self.scratch()?;
        let code = self.build(scratch.path(), source, target)?;
        self.cache.keep(key, source, target.ending(), &code);
        Ok(code)
    }

    /// Writes the source, runs the compiler and reads its output.
    fn build(&self, folder: &Path, source: &str, target: &Target) -> Result<Vec<u8>, Error> {
        let output = format!("program.{}", target.ending());
        let path = folder.join("program.c");
        std::fs::write(&path, source).map_err(|error| Error::file(&path, &error))?;
        for (name, object) in target.objects() {
            let path = folder.join(name);
            std::fs::write(&path, object).map_err(|error| Error::file(&path, &error))?;
        }
        let mut command = self.command_for(target, Path::new("program.c"), Path::new(&output));
        let ran = command.current_dir(folder).output().map_err(|error| Error::file(&self.path, &error))?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            let said = said.lines().take(20).collect::<Vec<_>>().join("\n");
            return Err(Error::Compiler { command: shown(&command), said });
        }
        std::fs::read(folder.join(output)).map_err(|_| Error::Compiler {
            command: shown(&command),
            said: "it says that all is well, and has made nothing: is it a C compiler?".to_string(),
        })
    }
}

/// The kind of output.
enum Target {
    /// A library that can be loaded, with the objects that are linked to it.
    Library { objects: Vec<Vec<u8>> },
    /// An object that can be linked to a library.
    Object,
}

impl Target {
    fn ending(&self) -> &'static str {
        match self {
            Target::Library { .. } => "so",
            Target::Object => "o",
        }
    }

    /// The objects that are linked to it, with their file names.
    fn objects(&self) -> impl Iterator<Item = (String, &[u8])> {
        let objects: &[Vec<u8>] = match self {
            Target::Library { objects } => objects,
            Target::Object => &[],
        };
        objects.iter().enumerate().map(|(at, object)| (object_name(at), object.as_slice()))
    }
}

fn object_name(at: usize) -> String {
    format!("kernel{at}.o")
}

/// A command as it would be typed.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The pool that is shared by all compilers without a thread count of their own.
fn usual_pool() -> Arc<Pool> {
    static POOL: OnceLock<Arc<Pool>> = OnceLock::new();
    let threads = || std::thread::available_parallelism().map_or(1, usize::from);
    Arc::clone(POOL.get_or_init(|| Arc::new(Pool::new(threads()))))
}

/// The model of the processor and its features, as far as the system reports them.
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
