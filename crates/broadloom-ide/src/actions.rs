//! Changes that an editor offers at a place: advice that can be carried out, and shapes and sizes that can be stated.

use broadloom_diagnostics::{Diagnostic, Edit, Span};

use crate::analysis::{Analysis, Text};
use crate::hints::hints;
use crate::names::{Binding, BindingKind, Bindings};
use crate::references::applied;

/// A change that can be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// The effect in words.
    pub title: String,
    /// Its kind.
    pub kind: ActionKind,
    /// The changes of the program's text.
    pub edits: Vec<Edit>,
}

/// The kinds of actions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActionKind {
    /// It carries out the advice of a diagnostic, by its index in the list that was given.
    Fix(usize),
    /// It states something that is inferred.
    State,
}

/// The changes offered for a part of the program's text, from `start` to `end`. Fixes are those of the diagnostics.
///
/// ```
/// use broadloom_ide::{Analysis, Text, actions};
///
/// let text = "data x : 32 | 784\nlet y = x |> linear(10)\n";
/// let at = text.find('y').unwrap() as u32;
/// let found = actions(&mut Analysis::new(&Text::new("a.loom", text)), &[], at, at);
/// assert_eq!(found[0].title, "state the shape of `y`: 32 | 10");
/// assert_eq!(found[0].edits[0].text, " : 32 | 10");
/// ```
pub fn actions(analysis: &mut Analysis, diagnostics: &[Diagnostic], start: u32, end: u32) -> Vec<Action> {
    let mut found = fixes(analysis, diagnostics, start, end);
    found.extend(stated_shapes(analysis, start, end));
    found.extend(stated_sizes(analysis, start, end));
    found
}

/// Returns true if a span of the program touches a part of the text.
fn touches(analysis: &Analysis, span: Span, start: u32, end: u32) -> bool {
    span.source == analysis.program.main && span.start <= end && start <= span.end
}

fn fixes(analysis: &Analysis, diagnostics: &[Diagnostic], start: u32, end: u32) -> Vec<Action> {
    let mut found = Vec::new();
    for (at, diagnostic) in diagnostics.iter().enumerate() {
        let is_labelled = diagnostic.labels.iter().any(|label| touches(analysis, label.span, start, end));
        for fix in &diagnostic.fixes {
            let is_here =
                is_labelled || fix.edits.iter().any(|edit| touches(analysis, edit.span, start, end));
            let is_own = fix.edits.iter().all(|edit| edit.span.source == analysis.program.main);
            if is_here && is_own {
                let kind = ActionKind::Fix(at);
                found.push(Action { title: fix.title.clone(), kind, edits: fix.edits.clone() });
            }
        }
    }
    found
}

/// Shapes that hints show, if they can be written as they are.
fn stated_shapes(analysis: &mut Analysis, start: u32, end: u32) -> Vec<Action> {
    let hints = hints(analysis);
    let here = hints.into_iter().filter(|hint| touches(analysis, hint.span, start, end));
    let mut found = Vec::new();
    for hint in here {
        let shape = hint.text.trim_start_matches([':', ' ']);
        let edit = Edit { span: hint.span.after(), text: format!(" : {shape}") };
        if !shape.contains(['?', '_']) && !shape.contains("...") && is_harmless(analysis, &edit) {
            let name = analysis.sources().slice(hint.span);
            let title = format!("state the shape of `{name}`: {shape}");
            found.push(Action { title, kind: ActionKind::State, edits: vec![edit] });
        }
    }
    found
}

/// Sizes of a spec or a shape that are not in the program yet, as `set` lines.
fn stated_sizes(analysis: &Analysis, start: u32, end: u32) -> Vec<Action> {
    let program = &analysis.program;
    let text = program.sources.get(program.main).text();
    let is_here = |binding: &&Binding| {
        binding.kind == BindingKind::Value && touches(analysis, binding.span, start, end)
    };
    let mut found = Vec::new();
    for binding in Bindings::new(program.main, text).all.iter().filter(is_here) {
        let Some(made) = program.made.iter().rev().find(|made| made.span == binding.span) else { continue };
        for label in program.graph.captured_names(made.tensor) {
            let Ok(captured) = program.graph.captured(made.tensor, label) else { continue };
            let size = program.graph.size(captured);
            let line = format!("set {}.{label} = {}", binding.name, size.unwrap_or(EXAMPLE));
            let edit = below(text, binding.whole, &line);
            if is_harmless(analysis, &edit) {
                found.push(Action {
                    title: format!("insert `{line}`"),
                    kind: ActionKind::State,
                    edits: vec![edit],
                });
            }
        }
    }
    found
}

/// A size to begin with, where nothing decides one.
const EXAMPLE: u64 = 64;

/// A line below a statement, indented like it.
fn below(text: &str, statement: Span, line: &str) -> Edit {
    let before = text.get(..statement.start as usize).unwrap_or_default();
    let indent = before.len() - before.trim_end_matches([' ', '\t']).len();
    let indent = &before[before.len() - indent..];
    let rest = text.get(statement.end as usize..).unwrap_or_default();
    let end = statement.end + rest.find(['\n', '\r']).unwrap_or(rest.len()) as u32;
    Edit { span: Span { start: end, end, ..statement }, text: format!("\n{indent}{line}") }
}

/// Returns true if a change leaves the program with no more errors than it has.
fn is_harmless(analysis: &Analysis, edit: &Edit) -> bool {
    let text = applied(&analysis.text.text, std::slice::from_ref(edit));
    let after = Analysis::new(&Text { text, ..analysis.text.clone() });
    let errors = |analysis: &Analysis| {
        analysis.diagnostics().iter().filter(|diagnostic| diagnostic.is_error()).count()
    };
    errors(&after) <= errors(analysis)
}
