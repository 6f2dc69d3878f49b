//! Code that the commands on programs share: their
//! arguments, reading a file, and reporting mistakes.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use broadloom_diagnostics::{
    Chain, DecodeError, Diagnostic, Severity, Sources, Style, decode, escaped, render_all,
};
use broadloom_ide::{Refusal, Text};
use broadloom_lang::codes;
use clap::Args;
use serde::Serialize;

use crate::console::{Console, Look};
use crate::json::{self, Nothing};
use crate::output::{Output, Status};

/// The arguments of every command on a program.
#[derive(Args, Clone, Debug)]
pub struct ProgramArgs {
    /// The program, or `-` for standard input
    pub file: PathBuf,
    /// Set the size of a `dim` of the program; may be repeated
    #[arg(long, value_name = "NAME=SIZE", value_parser = size)]
    pub set: Vec<(String, u64)>,
    /// Show step by step how the two ends of a conflict are connected
    #[arg(long)]
    pub chain: bool,
    /// Print a JSON object in the format of docs/schema.json
    #[arg(long)]
    pub json: bool,
}

/// `batch=64`
fn size(text: &str) -> Result<(String, u64), String> {
    let help = "write a name, `=`, and a size, such as `batch=64`";
    let (name, size) = text.split_once('=').ok_or(help)?;
    let size: u64 = size.trim().parse().map_err(|_| format!("`{}` is not a size: {help}", size.trim()))?;
    match (name.trim(), size) {
        ("", _) => Err(help.into()),
        (_, 0) => Err("a size is at least 1".into()),
        (name, size) => Ok((name.into(), size)),
    }
}

/// Parses a number of which there is at least one.
pub(crate) fn at_least_one<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number: &u64| *number > 0);
    number
        .and_then(|number| N::try_from(number).ok())
        .ok_or_else(|| "write a whole number from 1 on".to_string())
}

/// Reads a file, or standard input if it is called `-`; or says why that cannot be done.
pub(crate) fn read(file: &Path, console: &mut Console<'_>) -> Result<Text, Unusable> {
    let is_stdin = file.as_os_str() == "-";
    let name = if is_stdin { console.stdin_name.to_string() } else { shown_path(file) };
    let bytes = if is_stdin {
        let mut bytes = Vec::new();
        console.stdin.read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    let bytes = bytes.map_err(|error| format!("cannot read {name}: {}", reason(&error)))?;
    let text = decode(bytes).map_err(|error| Unusable::NotText { name: name.clone(), error })?;
    let folder = if is_stdin { None } else { file.parent() };
    let folder = folder.map(Path::to_path_buf).unwrap_or_default();
    Ok(Text { folder, ..Text::new(name, text) })
}

/// A path as messages show it: on one line, and without control characters for the terminal.
pub(crate) fn shown_path(path: &Path) -> String {
    escaped(&path.to_string_lossy()).into_owned()
}

/// A message if a file that is to be written is one that is read.
pub(crate) fn overwrites<'p>(output: &Path, inputs: impl IntoIterator<Item = &'p Path>) -> Option<String> {
    let whole = std::fs::canonicalize(output).ok()?;
    let is_same = |input: &&Path| std::fs::canonicalize(input).is_ok_and(|input| input == whole);
    let input = inputs.into_iter().find(is_same)?;
    Some(format!("{} is read here, and would be overwritten: write to another file", shown_path(input)))
}

/// The reason why a file could not be read or written, in plain words.
pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::IsADirectory => "it is a folder".into(),
        _ => error.to_string(),
    }
}

/// Why a command cannot do its work.
#[derive(Clone, Debug)]
pub(crate) enum Unusable {
    /// In a sentence; further lines may say more.
    Because(String),
    /// A question has no answer.
    Refused(Refusal),
    /// A file that is not text.
    NotText { name: String, error: DecodeError },
}

impl From<String> for Unusable {
    fn from(message: String) -> Unusable {
        Unusable::Because(message)
    }
}

impl From<Refusal> for Unusable {
    fn from(refusal: Refusal) -> Unusable {
        Unusable::Refused(refusal)
    }
}

impl Unusable {
    /// For people. Names in it are shown with escapes already; what other libraries say may not be.
    pub(crate) fn shown(&self) -> String {
        let shown = match self {
            Unusable::Because(message) => format!("error: {message}\n"),
            Unusable::Refused(refusal) => format!("error: {refusal}\n"),
            Unusable::NotText { name, error } => error.render(name),
        };
        shown.split('\n').map(escaped).collect::<Vec<_>>().join("\n")
    }

    /// For programs: the sentence alone.
    pub(crate) fn diagnostic(&self) -> Diagnostic {
        let message = match self {
            Unusable::Because(message) => message.clone(),
            Unusable::Refused(refusal) => refusal.message().to_string(),
            Unusable::NotText { error, .. } => error.to_string(),
        };
        let sentence = escaped(message.lines().next().unwrap_or_default()).into_owned();
        Diagnostic::new(Severity::Error, "", sentence)
    }
}

/// A command cannot do its work, and says why; with `--json` in an object.
pub(crate) fn unusable(command: &str, why: impl Into<Unusable>, json: bool) -> Output {
    unusable_with(command, why, json, Nothing {})
}

/// The same, with what this command says in its object besides.
pub(crate) fn unusable_with(
    command: &str,
    why: impl Into<Unusable>,
    json: bool,
    data: impl Serialize,
) -> Output {
    let why = why.into();
    let mut output = Output { stderr: why.shown(), ..Output::new(Status::Unusable) };
    if json {
        output.stdout = json::object(command, &Sources::new(), &[why.diagnostic()], data);
    }
    output
}

impl ProgramArgs {
    /// Reads the text of the program, or returns the output that says why that failed.
    pub(crate) fn read(&self, command: &str, console: &mut Console<'_>) -> Result<Text, Output> {
        let text = read(&self.file, console).map_err(|why| unusable(command, why, self.json))?;
        Ok(Text { sizes: self.set.clone(), ..text })
    }

    /// Renders the diagnostics of a program for people.
    pub(crate) fn render(&self, sources: &Sources, diagnostics: &[Diagnostic], look: Look) -> String {
        render_all(sources, diagnostics, 0, style(look, self.chain))
    }
}

/// The style of diagnostics.
pub(crate) fn style(look: Look, chain: bool) -> Style {
    let width = look.columns.map_or(100, |columns| columns.saturating_sub(8).max(40));
    let chain = if chain { Chain::Shown } else { Chain::ShownBy("--chain") };
    Style { color: look.color, width, chain, ..Style::default() }
}

/// The status of a command that only inspects a program.
pub(crate) fn status(diagnostics: &[Diagnostic]) -> Status {
    let mut errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).peekable();
    if errors.peek().is_none() {
        return Status::Fine;
    }
    if errors.all(|error| error.code == codes::GAVE_UP) { Status::GaveUp } else { Status::Wrong }
}
