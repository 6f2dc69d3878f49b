//! Changes that an editor offers at a place: advice that can be carried out, shapes and sizes that can be stated, functions that can be
//! extracted.

use broadloom::{Node, Tensor};
use broadloom_diagnostics::{Diagnostic, Edit, Span};
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::token::{Keyword, TokenKind};

use crate::analysis::{Analysis, Text};
use crate::extract::{Extraction, extraction};
use crate::hints::hints_of_names;
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
    /// The reason why it cannot be made here: there are no changes then.
    pub disabled: Option<String>,
}

/// The most changes other than fixes that are offered at once: a longer list is not read.
const MOST: usize = 20;

/// The kinds of actions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActionKind {
    /// It carries out the advice of a diagnostic, by its index in the list that was given.
    Fix(usize),
    /// It states something that is inferred.
    State,
    /// It makes a function of what is selected. The program computes the same.
    Extract,
}

/// The kinds of actions that are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The advice of diagnostics.
    pub fixes: bool,
    /// Changes of a program that may well be right.
    pub others: bool,
    /// A function in place of what is selected.
    pub extract: bool,
}

impl Wanted {
    /// Everything.
    pub const ALL: Wanted = Wanted { fixes: true, others: true, extract: true };
}

/// The changes offered for a part of the program's text, from `start` to `end`. Fixes are those of the diagnostics. The
/// others have not been tried: [`refused`] says whether one would be a mistake, which costs a check of the program.
///
/// ```
/// use broadloom_ide::{Analysis, Text, Wanted, actions};
///
/// let text = "data x : 32 | 784\nlet y = x |> linear(10)\n";
/// let at = text.find('y').unwrap() as u32;
/// let found = actions(&mut Analysis::new(&Text::new("a.loom", text)), &[], at, at, Wanted::ALL);
/// assert_eq!(found[0].title, "state the shape of `y`: 32 | 10");
/// assert_eq!(found[0].edits[0].text, " : 32 | 10");
/// ```
pub fn actions(
    analysis: &mut Analysis,
    diagnostics: &[Diagnostic],
    start: u32,
    end: u32,
    wanted: Wanted,
) -> Vec<Action> {
    let mut found = Vec::new();
    if wanted.fixes {
        found.extend(fixes(analysis, diagnostics, start, end));
    }
    if wanted.others {
        let mut others = stated_shapes(analysis, start, end);
        others.extend(stated_sizes(analysis, start, end));
        others.truncate(MOST);
        found.extend(others);
    }
    if wanted.extract && start < end {
        found.extend(extraction(analysis, start, end).map(|Extraction { title, edits }| {
            let (edits, disabled) = match edits {
                Ok(edits) => (edits, None),
                Err(reason) => (Vec::new(), Some(reason)),
            };
            Action { title, kind: ActionKind::Extract, edits, disabled }
        }));
    }
    found
}

/// The mistake that a change would be: the first message about the changed program that there are not now. None if the
/// program has no more errors than before. For a function that is extracted, the program has to compute the same, too.
///
/// ```
/// use broadloom_ide::{ActionKind, Analysis, Text, refused};
/// use broadloom_diagnostics::{Edit, Span};
///
/// let analysis = Analysis::new(&Text::new("a.loom", "data x : 3\nlet y = x\n"));
/// let at = |text: &str| Edit { span: Span::new(analysis.program.main, 16, 16), text: text.to_string() };
/// assert_eq!(refused(&analysis, ActionKind::State, &[at(" : 3")]), None);
/// assert!(refused(&analysis, ActionKind::State, &[at(" : 4")]).is_some());
/// ```
pub fn refused(analysis: &Analysis, kind: ActionKind, edits: &[Edit]) -> Option<String> {
    let text = applied(&analysis.text.text, edits);
    let mut after = Analysis::new(&Text { text, ..analysis.text.clone() });
    let errors = |analysis: &Analysis| {
        let all = analysis.diagnostics().iter().filter(|diagnostic| diagnostic.is_error());
        all.map(|diagnostic| diagnostic.message.clone()).collect::<Vec<String>>()
    };
    let (before, now) = (errors(analysis), errors(&after));
    if now.len() > before.len() {
        let new = now.iter().find(|message| !before.contains(message)).or(now.last());
        return new.cloned();
    }
    let is_other = kind == ActionKind::Extract && !computes_same(analysis, &mut after);
    is_other.then(|| "the program would compute something else".to_string())
}

/// Returns true if two programs have the same graph: the same operations on the same tensors, with the same shapes.
fn computes_same(a: &Analysis, b: &mut Analysis) -> bool {
    let (mut one, other) = (a.program.graph.clone(), &mut b.program.graph);
    let same_node = |tensor: Tensor| match (one.node(tensor), other.node(tensor)) {
        (
            Some(Node::Operation { id, operands, .. }),
            Some(Node::Operation { id: other, operands: others, .. }),
        ) => id == other && operands == others,
        (Some(Node::Leaf { kind }), Some(Node::Leaf { kind: other })) => kind == other,
        _ => false,
    };
    if one.len() != other.len() || !one.tensors().all(same_node) {
        return false;
    }
    let known = one.tensors().all(|tensor| one.shape(tensor).to_string() == other.shape(tensor).to_string());
    match (one.final_shapes(), other.final_shapes()) {
        (Ok(one), Ok(other)) => a
            .program
            .graph
            .tensors()
            .all(|tensor| one.get(tensor).to_string() == other.get(tensor).to_string()),
        _ => known,
    }
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
                found.push(Action {
                    title: fix.title.clone(),
                    kind,
                    edits: fix.edits.clone(),
                    disabled: None,
                });
            }
        }
    }
    found
}

/// Shapes that hints show, if they can be written as they are.
fn stated_shapes(analysis: &mut Analysis, start: u32, end: u32) -> Vec<Action> {
    let mut found = Vec::new();
    for hint in hints_of_names(analysis, |span| span.start <= end && start <= span.end) {
        let Some(shape) = hint.shape else { continue };
        let edit = Edit { span: hint.span.after(), text: format!(" : {shape}") };
        let name = analysis.sources().slice(hint.span);
        let title = format!("state the shape of `{name}`: {shape}");
        found.push(Action { title, kind: ActionKind::State, edits: vec![edit], disabled: None });
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
    let tokens = lex(program.main, text).tokens;
    let is_set = |name: &str, label: &str| {
        let words = |at: usize| tokens.get(at).map(|token| token.span.slice(text));
        let is_here = |at: usize| {
            words(at + 1) == Some(name) && words(at + 2) == Some(".") && words(at + 3) == Some(label)
        };
        (0..tokens.len()).any(|at| tokens[at].kind == TokenKind::Keyword(Keyword::Set) && is_here(at))
    };
    let mut found = Vec::new();
    for binding in Bindings::of(program.main, text, &program.file, &program.names).all.iter().filter(is_here)
    {
        let Some(made) = program.made.iter().rev().find(|made| made.span == binding.span) else { continue };
        for label in program.graph.captured_names(made.tensor) {
            let Ok(captured) = program.graph.captured(made.tensor, label) else { continue };
            let size = program.graph.size(captured);
            let line = format!("set {}.{label} = {}", binding.name, size.unwrap_or(EXAMPLE));
            // What is set already may not be set again.
            if is_set(&binding.name, label) {
                continue;
            }
            let edit = below(text, binding.whole, &line);
            let title = format!("insert `{line}`");
            found.push(Action { title, kind: ActionKind::State, edits: vec![edit], disabled: None });
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
