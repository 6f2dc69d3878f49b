//! `broadloom solve`: a `.rows` system in, its solution and the reasons out.
//!
//! [`run`] does everything but touch the terminal: it takes text and returns text and a status.
//!
//! ```
//! use broadloom_cli::solve::{Options, Status, run};
//! let options = Options { json: true, ..Options::default() };
//! let output = run("example.rows", "leaf a\n3 <= a\n", &options);
//! assert_eq!(output.status, Status::Solved);
//! assert!(output.stdout.contains(r#""solution":{"a":"3"}"#));
//! ```

mod answer;
mod explain;
mod json;
mod people;
mod problem;
mod text;

use broadloom_diagnostics::{Sources, Style, render, render_all};

use crate::rows;
use answer::Answered;
use problem::Problem;

/// What the caller asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// One JSON object instead of a table.
    pub json: bool,
    /// Variables to explain, as a person writes them.
    pub explain: Vec<String>,
    /// Failed branches after which the search gives up.
    pub branches: u64,
    /// Colour in diagnostics.
    pub color: bool,
}

impl Default for Options {
    fn default() -> Options {
        let branches = broadloom_core::Budget::default().branches;
        Options { json: false, explain: Vec::new(), branches, color: false }
    }
}

/// How it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Every variable has a value.
    Solved,
    /// There is no solution.
    Unsatisfiable,
    /// A parameter has a hole.
    Underdetermined,
    /// The text is not a system, or a variable to explain is not in it.
    Malformed,
    /// The search used up its budget.
    GaveUp,
}

impl Status {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Status::Solved => "solved",
            Status::Unsatisfiable => "unsatisfiable",
            Status::Underdetermined => "underdetermined",
            Status::Malformed => "malformed",
            Status::GaveUp => "gave-up",
        }
    }

    /// The process's exit status.
    pub fn code(self) -> u8 {
        match self {
            Status::Solved => 0,
            Status::Unsatisfiable | Status::Underdetermined => 1,
            Status::Malformed => 2,
            Status::GaveUp => 3,
        }
    }
}

/// What to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// For pipes.
    pub stdout: String,
    /// For people.
    pub stderr: String,
    /// For scripts.
    pub status: Status,
}

/// Solves the system in `text`; `name` is shown in messages.
pub fn run(name: &str, text: &str, options: &Options) -> Output {
    let sources = Sources::one(name, text);
    let style = Style { color: options.color, between: false, ..Style::default() };
    let parsed = rows::parse(text);
    if !parsed.is_ok() {
        let stdout =
            if options.json { json::malformed(&sources, &parsed.diagnostics) } else { String::new() };
        let stderr = render_all(&sources, &parsed.diagnostics, parsed.suppressed, style);
        return Output { stdout, stderr, status: Status::Malformed };
    }
    let mut problem = Problem::new(&parsed.system, options.branches);
    for wanted in &options.explain {
        if problem.find(wanted).is_none() {
            let message = format!("no variable `{}` in {name}", wanted.trim_matches('.'));
            let stdout = if options.json { json::mistake(&message) } else { String::new() };
            return Output { stdout, stderr: format!("error: {message}\n"), status: Status::Malformed };
        }
    }
    let answered = Answered::new(&mut problem, options);
    let stdout =
        if options.json { json::answer(&problem, &answered) } else { people::answer(&problem, &answered) };
    let stderr = answered.diagnostic.as_ref().map(|diagnostic| render(&sources, diagnostic, style));
    let stderr = if options.json { String::new() } else { stderr.unwrap_or_default() };
    Output { stdout, stderr, status: answered.status }
}
