//! Solves `.rows` systems: [`solve`] returns the solution and its reasons as data, [`run`] as text
//! with a status.
//!
//! ```
//! use broadloom_rows::solve::{SolveOptions, Status, run};
//! let options = SolveOptions { json: true, ..SolveOptions::default() };
//! let output = run("example.rows", "leaf a\n3 <= a\n", &options);
//! assert_eq!(output.status, Status::Solved);
//! assert!(output.stdout.contains(r#""solution":{"a":"3"}"#));
//! ```

mod answer;
mod explain;
mod json;
mod notation;
mod problem;
mod text;

use broadloom_diagnostics::{Diagnostic, Severity, Sources, Style, render, render_all};
use serde_json::Map;

use crate::{NameId, System};
use answer::Answered;
use problem::Problem;

/// The options of a call.
#[derive(Clone, Debug)]
pub struct SolveOptions {
    /// One JSON object instead of a table.
    pub json: bool,
    /// Variables to explain, as a person writes them.
    pub explain: Vec<String>,
    /// Failed branches after which the search gives up.
    pub branches: u64,
    /// Colour in diagnostics.
    pub color: bool,
}

impl Default for SolveOptions {
    fn default() -> SolveOptions {
        let branches = broadloom_core::Budget::default().branches;
        SolveOptions { json: false, explain: Vec::new(), branches, color: false }
    }
}

/// The status at the end.
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

/// The answer to a system, as data.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The status at the end.
    pub status: Status,
    /// The mistakes in the text, or the reason why there is no solution.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of further diagnostics that are not listed.
    pub suppressed: usize,
    /// The answer: keys and values, as `docs/schema.json` describes them.
    pub answer: Map<String, serde_json::Value>,
    /// The answer as a table.
    pub table: String,
}

/// The output of the command.
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
pub fn solve(name: &str, text: &str, options: &SolveOptions) -> Solved {
    let parsed = crate::parse(text);
    let malformed = |diagnostics: Vec<Diagnostic>, suppressed| {
        let message = diagnostics.first().map_or("malformed", |diagnostic| diagnostic.message.as_str());
        let answer = json::malformed(message);
        Solved { status: Status::Malformed, answer, diagnostics, suppressed, table: String::new() }
    };
    if !parsed.is_ok() {
        return malformed(parsed.diagnostics, parsed.suppressed);
    }
    let mut problem = Problem::new(&parsed.system, options.branches);
    for wanted in &options.explain {
        if problem.find(wanted).is_none() {
            let message = format!("no variable `{}` in {name}", wanted.trim_matches('.'));
            return malformed(vec![Diagnostic::new(Severity::Error, "", message)], 0);
        }
    }
    let answered = Answered::new(&mut problem, options);
    Solved {
        status: answered.status,
        answer: json::answer(&problem, &answered),
        table: text::answer(&problem, &answered),
        diagnostics: answered.diagnostic.into_iter().collect(),
        suppressed: 0,
    }
}

/// The value of a variable in a solution.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub name: NameId,
    pub text: String,
    /// The way in which it was fixed, as JSON has it.
    pub fixed_by: &'static str,
}

/// The values of a system that was read; none if it has no solution.
pub(crate) fn values(system: &System) -> Vec<Value> {
    let options = SolveOptions::default();
    let mut problem = Problem::new(system, options.branches);
    let solution = Answered::new(&mut problem, &options).solution;
    let value = |(name, text, how)| Value { name, text, fixed_by: text::how(how) };
    solution.into_iter().map(value).collect()
}

/// Solves the system in `text`, and prints the answer: a table and messages, or one JSON object.
pub fn run(name: &str, text: &str, options: &SolveOptions) -> Output {
    let mut solved = solve(name, text, options);
    let (status, sources) = (solved.status, Sources::one(name, text));
    if options.json {
        if status == Status::Malformed {
            let mistakes = json::mistakes(&sources, &solved.diagnostics);
            solved.answer.insert("diagnostics".into(), mistakes);
        }
        // Strings, numbers and maps with string keys: serialisation cannot fail.
        let line = serde_json::to_string(&solved.answer).unwrap_or_default();
        return Output { stdout: line + "\n", stderr: String::new(), status };
    }
    let style = Style { color: options.color, between: false, ..Style::default() };
    let stderr = match (status, &solved.diagnostics[..]) {
        // The request is wrong, not the text.
        (Status::Malformed, [asked]) if asked.primary().is_none() => format!("error: {}\n", asked.message),
        (Status::Malformed, _) => render_all(&sources, &solved.diagnostics, solved.suppressed, style),
        _ => solved.diagnostics.iter().map(|diagnostic| render(&sources, diagnostic, style)).collect(),
    };
    Output { stdout: solved.table, stderr, status }
}
