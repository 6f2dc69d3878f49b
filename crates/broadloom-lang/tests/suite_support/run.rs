//! Compiles and runs one program of a suite, and collects its answer as text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use broadloom::{Backend, Settings};
use broadloom_diagnostics::{Diagnostic, Sources, Style, render};
use broadloom_lang::{Options, Program, RunOptions, compile};

/// A folder for the files of a program, which is removed when it is dropped.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A new folder with these files.
    pub fn new(files: &[(String, String)]) -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = base.join(format!("suite-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the files of a program");
        for (name, text) in files {
            let file = path.join(name);
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder).expect("a folder inside of it");
            }
            std::fs::write(file, text).expect("a file beside a program");
        }
        Folder { path }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// The options for reading a program of a suite: `batch=8` after `loom` sets a `dim`.
pub fn options(flags: &str, folder: &Path) -> Options {
    let sizes = flags.split_whitespace().filter_map(|word| {
        let (name, size) = word.split_once('=')?;
        Some((name.to_owned(), size.parse().ok()?))
    });
    Options { folder: folder.to_owned(), sizes: sizes.collect(), ..Options::default() }
}

/// Reads a program.
pub fn compiled(text: &str, options: &Options) -> Program {
    compile("example.loom", text, options)
}

/// The ways to run a program.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Runner {
    /// The reference evaluator, on loops as they are derived.
    Plain,
    /// The reference evaluator, on optimised loops.
    Reference,
    /// Machine code, if there is a C compiler.
    Native,
}

/// The complete answer of a program: its messages, its shapes by name, and its output.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Messages of reading and of running: code and rendered text.
    pub messages: Vec<(&'static str, String)>,
    /// The same without places: code and sentence.
    pub sentences: Vec<(&'static str, String)>,
    /// Shapes by name, after closing.
    pub shapes: BTreeMap<String, String>,
    /// The output.
    pub output: String,
}

/// Reads a program, and runs it if nothing is wrong and there is something to run.
pub fn answer(text: &str, options: &Options, runner: Runner) -> Answer {
    let mut program = compiled(text, options);
    // Sizes that were set appear in the shapes.
    program.settle();
    let sources = program.sources.clone();
    let mut diagnostics = program.diagnostics.clone();
    let mut shapes = BTreeMap::new();
    for made in program.made.clone() {
        if let Ok(shape) = program.graph.final_shape(made.tensor) {
            shapes.insert(made.name, shape.to_string());
        }
    }
    let mut output: Vec<String> = Vec::new();
    if program.is_ok() && !program.plan.actions.is_empty() {
        let backend = match runner {
            Runner::Native => Backend::Auto,
            Runner::Plain | Runner::Reference => Backend::Reference,
        };
        let settings =
            Settings { backend, optimise: runner != Runner::Plain, threads: Some(1), ..Settings::default() };
        let ran = program.run(&RunOptions { settings, ..RunOptions::default() }, &mut output);
        diagnostics.extend(ran.err().map(|diagnostic| *diagnostic));
    }
    let folder = format!("{}/", options.folder.display());
    let shown = |diagnostic: &Diagnostic| rendered(&sources, diagnostic).replace(&folder, "");
    Answer {
        messages: diagnostics.iter().map(|diagnostic| (diagnostic.code, shown(diagnostic))).collect(),
        sentences: diagnostics
            .iter()
            .map(|diagnostic| (diagnostic.code, diagnostic.message.replace(&folder, "")))
            .collect(),
        shapes,
        output: output.iter().map(|line| format!("{line}\n")).collect(),
    }
}

/// A message as it is shown, without colour.
pub fn rendered(sources: &Sources, diagnostic: &Diagnostic) -> String {
    render(sources, diagnostic, Style::default())
}

/// All messages, with blank lines between them.
pub fn joined(messages: &[(&'static str, String)]) -> String {
    messages.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n")
}
