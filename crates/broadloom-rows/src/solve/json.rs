//! The answer as a JSON object.

use std::collections::BTreeMap;

use broadloom_diagnostics::{Diagnostic, Sources};
use serde::Serialize;
use serde_json::{Map, Value};

use super::answer::Answered;
use super::problem::Problem;
use super::{Status, notation, text};

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
    steps: Vec<ShownStep<'a>>,
}

#[derive(Serialize)]
struct ShownStep<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    what: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    so: &'a [String],
}

/// The keys and values of an answer.
pub fn answer(problem: &Problem, answered: &Answered) -> Map<String, Value> {
    let name = |id| problem.system.names.text(id);
    let explanations = answered.explanations.iter().map(|explanation| Explanation {
        variable: name(explanation.name),
        steps: explanation
            .steps
            .iter()
            .map(|step| ShownStep { line: step.line, what: &step.what, so: &step.so })
            .collect(),
    });
    object(&Answer {
        status: answered.status.name(),
        solution: answered.solution.iter().map(|(id, value, _)| (name(*id), value.as_str())).collect(),
        how: answered.solution.iter().map(|(id, _, how)| (name(*id), text::how(*how))).collect(),
        bindings: answered
            .report
            .bindings
            .iter()
            .map(|binding| notation::binding(problem, binding))
            .collect(),
        residual: notation::bounds(problem, &answered.report.residual),
        principal: answered.report.principal,
        branches: answered.branches,
        core: answered.diagnostic.as_ref().map(|_| answered.core.as_slice()),
        minimal: (answered.status == Status::Unsatisfiable).then_some(answered.minimal),
        message: answered.diagnostic.as_ref().map(|diagnostic| diagnostic.message.as_str()),
        explanations: explanations.collect(),
    })
}

/// The answer about a text that is no system.
pub fn malformed(message: &str) -> Map<String, Value> {
    let pairs = [("status", Status::Malformed.name()), ("message", message)];
    pairs.map(|(key, value)| (key.to_owned(), value.into())).into_iter().collect()
}

/// The mistakes of a text, each with its place.
pub fn mistakes(sources: &Sources, diagnostics: &[Diagnostic]) -> Value {
    let mistake = |diagnostic: &Diagnostic| {
        let (line, column) = sources.position(diagnostic.primary()?.span);
        let mut mistake = Map::new();
        mistake.insert("line".into(), line.into());
        mistake.insert("column".into(), column.into());
        mistake.insert("message".into(), diagnostic.message.as_str().into());
        mistake.extend(diagnostic.help.first().map(|help| ("help".to_owned(), help.text.as_str().into())));
        Some(Value::Object(mistake))
    };
    diagnostics.iter().filter_map(mistake).collect()
}

/// The keys of an answer.
fn object(answer: &Answer) -> Map<String, Value> {
    match serde_json::to_value(answer) {
        Ok(Value::Object(object)) => object,
        // Strings, numbers and maps with string keys: serialisation cannot fail.
        _ => Map::new(),
    }
}
