//! The answer as one JSON object.

use std::collections::BTreeMap;

use broadloom_diagnostics::{Diagnostic, Sources};
use serde::Serialize;

use super::answer::Answered;
use super::problem::Problem;
use super::{Status, people, text};

#[derive(Serialize)]
struct Answer<'a> {
    status: &'static str,
    solution: BTreeMap<&'a str, &'a str>,
    how: BTreeMap<&'a str, &'static str>,
    bindings: BTreeMap<String, String>,
    residual: Vec<String>,
    principal: bool,
    branches: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    core: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimal: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    explanations: Vec<Explanation<'a>>,
}

#[derive(Serialize)]
struct Explanation<'a> {
    variable: &'a str,
    steps: Vec<Step<'a>>,
}

#[derive(Serialize)]
struct Step<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    what: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    so: &'a [String],
}

/// Writes the answer.
pub fn answer(problem: &Problem, answered: &Answered) -> String {
    let name = |id| problem.system.names.text(id);
    let explanations = answered.explanations.iter().map(|explanation| Explanation {
        variable: name(explanation.name),
        steps: explanation
            .steps
            .iter()
            .map(|step| Step { line: step.line, what: &step.what, so: &step.so })
            .collect(),
    });
    print(&Answer {
        status: answered.status.name(),
        solution: answered.solution.iter().map(|(id, value, _)| (name(*id), value.as_str())).collect(),
        how: answered.solution.iter().map(|(id, _, how)| (name(*id), people::how(*how))).collect(),
        bindings: answered.report.bindings.iter().map(|binding| text::binding(problem, binding)).collect(),
        residual: text::bounds(problem, &answered.report.residual),
        principal: answered.report.principal,
        branches: answered.branches,
        core: answered.diagnostic.as_ref().map(|_| answered.core.as_slice()),
        minimal: (answered.status == Status::Unsatisfiable).then_some(answered.minimal),
        message: answered.diagnostic.as_ref().map(|diagnostic| diagnostic.message.as_str()),
        explanations: explanations.collect(),
    })
}

#[derive(Serialize)]
struct Malformed<'a> {
    status: &'static str,
    message: &'a str,
    diagnostics: Vec<Mistake<'a>>,
}

#[derive(Serialize)]
struct Mistake<'a> {
    line: u32,
    column: u32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
}

/// Writes the mistakes of a malformed text.
pub fn malformed(sources: &Sources, diagnostics: &[Diagnostic]) -> String {
    let mistakes = diagnostics.iter().map(|diagnostic| {
        let (line, column) = diagnostic.primary().map_or((1, 1), |label| sources.position(label.span));
        let help = diagnostic.help.first().map(String::as_str);
        Mistake { line, column, message: &diagnostic.message, help }
    });
    let message = diagnostics.first().map_or("malformed", |diagnostic| diagnostic.message.as_str());
    print(&Malformed { status: "malformed", message, diagnostics: mistakes.collect() })
}

fn print(value: &impl Serialize) -> String {
    // Strings, numbers and maps with string keys: serialisation cannot fail.
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

/// Writes a mistake that has no place in the text.
pub fn mistake(message: &str) -> String {
    print(&Malformed { status: "malformed", message, diagnostics: Vec::new() })
}
