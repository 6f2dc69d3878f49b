//! What a program says about itself, and how the answers of two programs are compared.
//!
//! The answer of a program is its verdict and its shapes:
//!
//! - The *verdict* is the set of its errors. An error is its code and its *ends*. The ends of a conflict are what its labels
//!   claim (`48`, `64`) and the statements that say so. A statement is known by its place in the first program, so that
//!   lines may move and expressions may get names: what a tensor without a name is called in a message depends on how
//!   the program is written, and so does the place where a conflict is found, so neither is compared. The ends of a size that nothing decides are the
//!   parameter and the row, which its message says; its labels speak of readers, and there may be more of them.
//! - The *shapes* are those of everything that has a name, after closing. Unnamed layers are counted in order (`linear`,
//!   `linear2`); of what is in them the shapes are compared as a list in any order.
//!
//! Warnings are no part of the verdict: they say what broadcasts and what is not used, and that is meant to change.

use std::collections::{BTreeMap, BTreeSet};

use broadloom_diagnostics::{Diagnostic, Sources, Style, render_all};
use broadloom_lang::{Options, codes, compile};

use super::program::{Kind, Program};

/// What is claimed, and by which statement of the first program.
pub type End = (String, usize);

/// What a program says.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Codes and ends of its errors.
    pub errors: BTreeSet<(&'static str, BTreeSet<End>)>,
    /// Shapes by name, if nothing is wrong.
    pub shapes: BTreeMap<String, String>,
    /// Shapes of what is in unnamed layers, by names without numbers, in order.
    pub counted: Vec<(String, String)>,
    /// Its messages as they are shown.
    pub shown: String,
}

/// In what two answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// One is accepted and the other is not.
    Verdict,
    /// Both are refused, with other codes.
    Codes,
    /// Both are refused, with the same codes and other ends.
    Ends,
    /// Both are accepted, with other shapes.
    Shapes,
}

/// Reads a program.
pub fn answer(program: &Program) -> Answer {
    let mut read = compile("program.loom", &program.text(), &Options::default());
    let errors = read.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    let errors = errors.map(|diagnostic| (diagnostic.code, ends(diagnostic, &read.sources, program))).collect();
    let shown = render_all(&read.sources, &read.diagnostics, 0, Style::default());
    let mut answer = Answer { errors, shown, ..Answer::default() };
    if !answer.errors.is_empty() {
        return answer;
    }
    let Ok(shapes) = read.graph.final_shapes() else { return answer };
    let written: BTreeSet<String> = program.statements.iter().flat_map(|statement| statement.defines()).collect();
    for made in &read.made {
        let shape = shapes.get(made.tensor).to_string();
        let first = made.name.split('.').next().unwrap_or_default();
        if written.contains(first) {
            answer.shapes.insert(made.name.clone(), shape);
        } else if first != "literal" {
            answer.counted.push((made.name.replace(|letter: char| letter.is_ascii_digit(), ""), shape));
        }
    }
    answer.counted.sort();
    answer
}

/// The ends of an error.
fn ends(diagnostic: &Diagnostic, sources: &Sources, program: &Program) -> BTreeSet<End> {
    let home = |span| {
        let line = sources.position(span).0 as usize;
        program.statements.get(line.saturating_sub(1)).map_or(usize::MAX, |statement| statement.home)
    };
    if diagnostic.code == codes::UNDETERMINED {
        return [(diagnostic.message.clone(), 0)].into();
    }
    let labels = diagnostic.labels.iter().filter(|label| !label.text.is_empty());
    labels.flat_map(|label| label.text.split("; ").map(move |text| (claim(text), home(label.span)))).collect()
}

/// What an end claims, without the name of the tensor that it comes from: `48 because of the output axis of x`, `h is 4 | 3`.
fn claim(text: &str) -> String {
    if let Some((_, shape)) = text.split_once("` is ").filter(|_| text.starts_with('`')) {
        return format!("is {shape}");
    }
    text.split(" because of ").next().unwrap_or(text).to_owned()
}

/// Compares the answer of a program with that of another form of it. `merged` says which statements of the first program have
/// become one: an end may be at any of them.
pub fn compare(first: &Answer, second: &Answer, merged: &[(usize, usize)]) -> Option<Difference> {
    if first.errors.is_empty() != second.errors.is_empty() {
        return Some(Difference::Verdict);
    }
    if !first.errors.is_empty() {
        return compare_errors(first, second, merged);
    }
    let same = |(name, shape): (&String, &String)| second.shapes.get(name).is_none_or(|other| other == shape);
    if !first.shapes.iter().all(same) || first.counted != second.counted {
        return Some(Difference::Shapes);
    }
    None
}

fn compare_errors(first: &Answer, second: &Answer, merged: &[(usize, usize)]) -> Option<Difference> {
    let codes = |answer: &Answer| answer.errors.iter().map(|(code, _)| *code).collect::<BTreeSet<_>>();
    if codes(first) != codes(second) {
        return Some(Difference::Codes);
    }
    let moved = |home: usize| merged.iter().fold(home, |home, (from, to)| if home == *from { *to } else { home });
    let ends = |answer: &Answer| -> BTreeSet<(&str, BTreeSet<End>)> {
        let all = answer.errors.iter();
        all.map(|(code, ends)| (*code, ends.iter().map(|(claim, home)| (claim.clone(), moved(*home))).collect()))
            .collect()
    };
    (ends(first) != ends(second)).then_some(Difference::Ends)
}

/// The answer as it is shown in a failure.
pub fn show(answer: &Answer, program: &Program) -> String {
    if !answer.errors.is_empty() {
        return answer.shown.clone();
    }
    let shapes = answer.shapes.iter().chain(answer.counted.iter().map(|(name, shape)| (name, shape)));
    let leaves = program.statements.iter().filter(|statement| matches!(statement.kind, Kind::Leaf { .. })).count();
    let lines: Vec<String> = shapes.map(|(name, shape)| format!("  {name} : {shape}\n")).collect();
    format!("accepted ({leaves} leaves)\n{}", lines.concat())
}
