//! `broadloom fmt`: formats programs.

use std::path::{Path, PathBuf};

use broadloom::files::write_text;
use broadloom_diagnostics::{Sources, render_all};
use broadloom_ide::format;
use serde::Serialize;

use crate::console::Console;
use crate::json;
use crate::output::{Output, Status};
use crate::program::{Unusable, read, shown_path, style};

/// The arguments of `fmt`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The programs to format in place, or `-` to format standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// List the files that would change, without writing them
    #[arg(long)]
    check: bool,
    /// Print one JSON object for all files
    #[arg(long)]
    json: bool,
}

pub(crate) const HELP: &str = "\
A file with syntax errors is left unchanged.

Exit status: 0 success, 1 a file has syntax errors, or would change (`--check`), 2 a file cannot be
read or written.

Examples:
  broadloom fmt *.loom
  broadloom fmt --check *.loom      # in CI
  broadloom fmt - < a.loom          # from an editor";

/// Formats files.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let mut output = Output::new(Status::Fine);
    let mut formatted = Vec::new();
    let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
    for file in &args.files {
        let is_stdin = file.as_os_str() == "-";
        let mut state = match read(file, console) {
            Ok(text) => match format(&mut sources, &text.name, &text.text) {
                Ok(new) if is_stdin && !args.check => State { text: Some(new), ..State::changed(false) },
                Ok(new) => finish(args, file, &text.text, &new),
                Err(mistakes) => {
                    diagnostics.extend(mistakes);
                    State { status: Status::Wrong, ..State::changed(false) }
                }
            },
            Err(why) => State::refused(why),
        };
        if args.json {
            diagnostics.extend(state.refused.as_ref().map(Unusable::diagnostic));
        }
        output.status = output.status.max(state.status);
        let name = if is_stdin { "<stdin>".to_string() } else { shown_path(file) };
        if !args.json {
            output.stderr.extend(state.refused.as_ref().map(Unusable::shown));
            output.stdout.push_str(&state.text.take().unwrap_or_default());
            if args.check && state.changed {
                output.stdout.push_str(&format!("{name}\n"));
            }
        }
        formatted.push(Formatted { file: name, changed: state.changed, text: state.text });
    }
    if args.json {
        output.stdout = json::object("fmt", &sources, &diagnostics, Data { files: formatted });
    } else {
        output.stderr.push_str(&render_all(&sources, &diagnostics, 0, style(console.stderr(), false)));
    }
    output
}

/// The result for one file.
struct State {
    status: Status,
    changed: bool,
    /// The reason why the file was refused.
    refused: Option<Unusable>,
    /// The new text, if it is to be printed.
    text: Option<String>,
}

impl State {
    fn changed(changed: bool) -> State {
        State { status: Status::Fine, changed, refused: None, text: None }
    }

    fn refused(why: Unusable) -> State {
        State { status: Status::Unusable, refused: Some(why), ..State::changed(false) }
    }
}

/// Compares the texts, or writes the new one.
fn finish(args: &Args, file: &Path, old: &str, new: &str) -> State {
    if old == new {
        return State::changed(false);
    }
    if args.check {
        return State { status: Status::Wrong, ..State::changed(true) };
    }
    match write_text(file, new) {
        Ok(()) => State::changed(true),
        Err(error) => {
            State::refused(Unusable::Because(format!("cannot write {}: {error}", shown_path(file))))
        }
    }
}

#[derive(Serialize)]
struct Data {
    files: Vec<Formatted>,
}

#[derive(Serialize)]
struct Formatted {
    file: String,
    changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}
