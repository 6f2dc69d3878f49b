//! `broadloom solve`: a system of constraints, without a program around it. What it does is in [`crate::solve`].

use std::path::PathBuf;

use broadloom_diagnostics::{Diagnostic, Severity, SourceId, Sources, Span};
use serde_json::{Map, Value};

use crate::console::Console;
use crate::output::{Output, Status};
use crate::program::{read, unusable};
use crate::solve::{self, Options};
use crate::{json, rows};

/// The arguments of `solve`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The `.rows` file, or `-` for standard input
    file: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Print the chain of lines and policies that fixed a variable; may be repeated
    #[arg(long, value_name = "VAR")]
    explain: Vec<String>,
    /// Failed branches after which the search gives up
    #[arg(long, value_name = "N", default_value_t = broadloom_core::Budget::default().branches)]
    branches: u64,
}

pub(crate) const HELP: &str = "\
The format, one statement a line:
  leaf a, ..r..            tags: leaf closes to its bound, param must be determined;
  param w                  untagged variables are interior and close to the unit
  a = 3                    two dimensions are the same
  3 <= a                   the result refines the operand: equal, or the operand is `_`
  [..r.., 4] ~ [3, 5, 4]   two rows have the same axes
  [..r..] <= [3, <>, 4]    the result row refines the operand, which broadcasts at `<>`

  Dimensions are `3`, `3:rgb` (with a basis), `_` (the unit, which broadcasts) or a name.
  Rows hold at most one `..name..` (any number of axes) or `<>` (the marker).

Exit status: 0 solved, 1 unsatisfiable or underdetermined, 2 malformed input, 3 gave up.

Example:
  printf '[..r..] ~ [3, 5]\\n[3, <>, 9, 5] <= [..r..]\\n' | broadloom solve - --explain r";

/// Solves a system.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    let text = match read(&args.file, console) {
        Ok(text) => text,
        Err(message) => return unreadable(&message, args.json),
    };
    let options = Options {
        json: args.json,
        explain: args.explain.clone(),
        branches: args.branches,
        color: console.stderr().color,
    };
    let solved = solve::run(&text.name, &text.text, &options);
    let status = match solved.status {
        solve::Status::Solved => Status::Fine,
        solve::Status::Unsatisfiable | solve::Status::Underdetermined => Status::Wrong,
        solve::Status::Malformed => Status::Unusable,
        solve::Status::GaveUp => Status::GaveUp,
    };
    if !args.json {
        return Output { stdout: solved.stdout, stderr: solved.stderr, status };
    }
    let mut answer: Map<String, Value> = serde_json::from_str(&solved.stdout).unwrap_or_default();
    let sources = Sources::one(&text.name, &text.text);
    let diagnostics = diagnostics(&sources, &answer);
    answer.remove("diagnostics");
    Output { stdout: json::object("solve", &sources, &diagnostics, answer), stderr: String::new(), status }
}

/// What cannot be read is as little a system as what cannot be understood.
fn unreadable(message: &str, json: bool) -> Output {
    let mut output = unusable("solve", message, json);
    if json {
        let mut answer: Map<String, Value> = serde_json::from_str(&output.stdout).unwrap_or_default();
        answer.insert("status".into(), solve::Status::Malformed.name().into());
        output.stdout = json::line(&answer);
    }
    output
}

/// What is wrong, as every command says it.
fn diagnostics(sources: &Sources, answer: &Map<String, Value>) -> Vec<Diagnostic> {
    let (id, Some(message)) = (SourceId::default(), answer.get("message").and_then(Value::as_str)) else {
        return Vec::new();
    };
    if answer.contains_key("diagnostics") {
        let parsed = rows::parse(sources.get(id).text()).diagnostics;
        return if parsed.is_empty() { vec![Diagnostic::new(Severity::Error, "", message)] } else { parsed };
    }
    let lines = answer.get("core").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64);
    let spans: Vec<Span> = lines
        .map(|line| sources.get(id).line_bytes(line as u32))
        .map(|(start, end)| Span::new(id, start, end))
        .collect();
    let mut diagnostic = Diagnostic::new(Severity::Error, "", message);
    for (at, span) in spans.iter().enumerate() {
        // The last line is where the others are contradicted.
        diagnostic = match at + 1 == spans.len() {
            true => diagnostic.with_primary(*span, ""),
            false => diagnostic.with_label(*span, ""),
        };
    }
    vec![diagnostic]
}
