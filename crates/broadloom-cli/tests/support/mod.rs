//! Runs the command in this process, and keeps its streams.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod schema;

use std::path::{Path, PathBuf};

use broadloom_cli::{Console, Live, Stream, run};

/// The output of a command, including its live output.
#[derive(Debug, Default)]
pub struct Said {
    pub stdout: String,
    pub stderr: String,
    pub status: u8,
}

impl Live for Said {
    fn stdout(&mut self, text: &str) {
        self.stdout.push_str(text);
    }

    fn stderr(&mut self, text: &str) {
        self.stderr.push_str(text);
    }
}

/// The environment of a command.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub stdin: Vec<u8>,
    /// The columns of the terminal, if there is one.
    pub terminal: Option<usize>,
    pub no_color: bool,
}

/// Runs the command.
pub fn broadloom(arguments: &[&str], world: &World) -> Said {
    let mut stdin = world.stdin.as_slice();
    let mut said = Said::default();
    let mut console = Console::new(&mut stdin, &mut said);
    let stream = Stream { terminal: world.terminal.is_some(), columns: world.terminal };
    (console.stdout, console.stderr, console.no_color) = (stream, stream, world.no_color);
    let output = run(["broadloom"].iter().chain(arguments), &mut console);
    said.stdout.push_str(&output.stdout);
    said.stderr.push_str(&output.stderr);
    said.status = output.status.code();
    said
}

/// The folder of the programs that the commands are tested on.
pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// The `.loom` files of a folder, in order.
pub fn loom_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "loom"));
    files.sort();
    files
}

/// The folder of the examples.
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}
