//! Completions: the names, fields, labels and keywords that can be written at a place.

mod fields;
mod specs;

use broadloom::Tensor;
use broadloom_diagnostics::Span;
use broadloom_lang::syntax::lexer::{Lexed, lex};
use broadloom_lang::syntax::token::{KEYWORDS, Keyword, Token, TokenKind};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::analysis::Analysis;
use crate::builtin::builtin;
use crate::call::call_help;
use crate::definition::library;
use crate::names::{Binding, BindingKind, Bindings, comment_above};
use crate::paths::path;
use crate::spec_words::has_letters;

/// The types of numbers.
const TYPES: [&str; 10] = ["f32", "f64", "i32", "i64", "bf16", "f16", "bool", "u8", "i8", "i16"];

/// A name or keyword that can be written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Completion {
    /// The text to insert.
    pub label: String,
    /// Its kind, in a word: `value`, `function`, `dim`, `field`, `label`, `keyword`, …
    pub kind: &'static str,
    /// The shape or size as far as it is known, or the line that introduces a function; may be empty.
    pub detail: String,
    /// Its description: the comment above a function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation: Option<String>,
    /// The number of bytes before the cursor that it replaces: a word that was begun.
    #[serde(skip)]
    pub replaces: u32,
}

impl Completion {
    fn new(label: impl Into<String>, kind: &'static str, detail: impl Into<String>) -> Completion {
        Completion { label: label.into(), kind, detail: detail.into(), documentation: None, replaces: 0 }
    }
}

/// The completions at an offset of the program's text that begin with the letters before it.
///
/// - Where a value can stand: arguments of the call by name, names that are known there, the innermost first, then
///   functions of the library and of the language, then keywords.
/// - After a dot: sizes, parameters, gradients, names of a module.
/// - In a spec: labels of the operands, of the spec and of other specs; in its braces, numbers.
///
/// There are none in comments and in other texts.
///
/// ```
/// use broadloom_ide::{Analysis, Text, completion};
///
/// let text = "data logits : 32 | 10\nlet y = lo";
/// let found = completion(&Analysis::new(&Text::new("a.loom", text)), text.len() as u32);
/// let labels: Vec<&str> = found.iter().map(|each| each.label.as_str()).collect();
/// assert_eq!(labels, ["logits", "log_softmax", "log_sum_exp", "log", "log1p", "logdet", "load"]);
/// assert_eq!(found[0].detail, "32 | 10");
/// ```
pub fn completion(analysis: &Analysis, offset: u32) -> Vec<Completion> {
    let Some(written) = Written::new(analysis, offset) else { return Vec::new() };
    let mut all = match written.place {
        Where::Statement => everything(analysis, offset, true),
        Where::Value => {
            let mut all = arguments(analysis, offset);
            all.extend(everything(analysis, offset, false));
            all
        }
        Where::Type => TYPES.iter().map(|name| Completion::new(*name, "type", "")).collect(),
        Where::Field { owner } => fields::fields(analysis, owner),
        Where::Part { path } => fields::parameters(analysis, &path),
        Where::Spec { text } => specs::specs(analysis, text, offset),
        Where::Filled => numbers(analysis, offset),
    };
    let mut seen = FxHashSet::default();
    all.retain(|each| each.label.starts_with(&written.prefix) && seen.insert(each.label.clone()));
    all.iter_mut().for_each(|each| each.replaces = written.prefix.len() as u32);
    all
}

/// The text before an offset.
struct Written {
    /// The letters of the word.
    prefix: String,
    place: Where,
}

/// The kinds of places where something can be completed.
enum Where {
    /// At the beginning of a line.
    Statement,
    /// In an expression or a shape.
    Value,
    /// After `as`.
    Type,
    /// After a name and a dot.
    Field { owner: Span },
    /// After a path into a layer and a dot: `net.blocks[0].`.
    Part { path: String },
    /// In the text of a spec.
    Spec { text: Span },
    /// In braces in a text.
    Filled,
}

impl Written {
    /// Returns None if nothing can be completed there.
    fn new(analysis: &Analysis, offset: u32) -> Option<Written> {
        let main = analysis.program.main;
        let text = analysis.sources().get(main).text();
        let before = text.get(..offset as usize)?;
        let rest = before.trim_end_matches(|letter: char| letter.is_alphanumeric() || letter == '_');
        let prefix = before[rest.len()..].to_string();
        let lexed = lex(main, text);
        let is_comment = |span: &Span| span.start < offset && offset <= span.end;
        if lexed.comments.iter().any(is_comment) || prefix.starts_with(|letter: char| letter.is_ascii_digit())
        {
            return None;
        }
        let place = Written::place(text, &lexed, rest.len() as u32, offset)?;
        // In a spec without commas every letter is a label of its own.
        let is_complete = matches!(place, Where::Spec { text: span } if has_letters(span.slice(text)));
        Some(Written { prefix: if is_complete { String::new() } else { prefix }, place })
    }

    /// The kind of place; `start` is where the word begins.
    fn place(text: &str, lexed: &Lexed, start: u32, offset: u32) -> Option<Where> {
        let is_text = |token: &&Token| {
            let is_open = token.span.slice(text).len() < 2 || !token.span.slice(text).ends_with('"');
            let end = if is_open { token.span.end + 1 } else { token.span.end };
            token.kind == TokenKind::Text && token.span.start < offset && offset < end
        };
        if let Some(token) = lexed.tokens.iter().find(is_text) {
            let inside = text.get(token.span.start as usize..start as usize).unwrap_or_default();
            return match inside.ends_with('{') {
                true => Some(Where::Filled),
                false => specs::is_spec(text, &lexed.tokens, token.span)
                    .then_some(Where::Spec { text: token.span }),
            };
        }
        // Marks of the layout are empty, and stand where the last word ends.
        let words = lexed.tokens.iter().filter(|token| !token.span.is_empty());
        let known: Vec<&Token> = words.take_while(|token| token.span.end <= start).collect();
        let line = text.get(..start as usize)?.rsplit(['\n', '\r']).next().unwrap_or_default();
        match known[..] {
            [ref before @ .., dot] if dot.kind == TokenKind::Dot && dot.span.end == start => {
                match path(text, before)?[..] {
                    [_] => before.last().map(|owner| Where::Field { owner: owner.span }),
                    ref parts => Some(Where::Part { path: parts.join(".") }),
                }
            }
            [.., word] if word.kind == TokenKind::Keyword(Keyword::As) => Some(Where::Type),
            _ if line.ends_with('.') => None,
            _ if line.trim().is_empty() => Some(Where::Statement),
            _ => Some(Where::Value),
        }
    }
}

/// All names and words that can begin a line, or stand in an expression.
fn everything(analysis: &Analysis, offset: u32, begins_line: bool) -> Vec<Completion> {
    let mut all = names(analysis, offset);
    all.extend(library(analysis).iter().map(|function| functions(analysis, function)));
    all.extend(broadloom_lang::builtins().map(|name| {
        let known = builtin(name);
        let detail = known.map_or("", |known| known.call);
        let documentation = known.map(|known| known.about.to_string());
        Completion { documentation, ..Completion::new(name, "function", detail) }
    }));
    let is_possible = |keyword: Keyword| match keyword {
        Keyword::For => true,
        keyword => keyword.begins_statement() == begins_line,
    };
    let keywords = KEYWORDS.iter().filter(|(_, keyword)| is_possible(*keyword));
    all.extend(keywords.map(|(text, _)| Completion::new(*text, "keyword", "")));
    all
}

/// The names that are known at an offset, with their shapes as far as they are known.
fn names(analysis: &Analysis, offset: u32) -> Vec<Completion> {
    names_of(analysis, offset, |_, _| true)
}

/// The names of some kinds, where the second argument is true for tensors.
fn names_of(
    analysis: &Analysis,
    offset: u32,
    is_wanted: impl Fn(BindingKind, bool) -> bool,
) -> Vec<Completion> {
    let program = &analysis.program;
    let text = program.sources.get(program.main).text();
    let mut made: FxHashMap<Span, Tensor> = FxHashMap::default();
    for each in &program.made {
        made.entry(each.span).or_insert(each.tensor);
    }
    let completion = |binding: &Binding| {
        let shape = made.get(&binding.span).map(|tensor| program.graph.shape(*tensor).to_string());
        let detail = match (binding.kind, shape) {
            (_, Some(shape)) => shape,
            (BindingKind::Function | BindingKind::Dim, None) => binding.head.slice(text).to_string(),
            _ => String::new(),
        };
        let is_function = binding.kind == BindingKind::Function;
        let documentation = if is_function { comment_above(text, binding.head.start) } else { None };
        Completion { documentation, ..Completion::new(binding.name.as_str(), binding.kind.word(), detail) }
    };
    let bindings = Bindings::of(program.main, text, &program.file, &program.names);
    let known = bindings.at(offset).into_iter();
    known.filter(|each| is_wanted(each.kind, made.contains_key(&each.span))).map(completion).collect()
}

/// The names that can be numbers: they are filled in where they stand in braces.
fn numbers(analysis: &Analysis, offset: u32) -> Vec<Completion> {
    names_of(analysis, offset, |kind, is_tensor| {
        let may_be = matches!(
            kind,
            BindingKind::Value | BindingKind::Dim | BindingKind::Argument | BindingKind::Variable
        );
        may_be && !is_tensor
    })
}

/// The arguments of the call around an offset that can be given by name.
fn arguments(analysis: &Analysis, offset: u32) -> Vec<Completion> {
    let Some(help) = call_help(analysis, offset) else { return Vec::new() };
    let named = |(start, end): &(u32, u32)| {
        let text = help.label.get(*start as usize..*end as usize)?;
        let (name, default) = text.split_once(" = ")?;
        let name = name.split(" :").next().unwrap_or(name);
        Some(Completion::new(format!("{name} = "), "argument", format!("{default} if it is not given")))
    };
    help.arguments.iter().filter_map(named).collect()
}

/// A function of the library.
fn functions(analysis: &Analysis, function: &Binding) -> Completion {
    let detail = analysis.sources().slice(function.head).to_string();
    let text = analysis.sources().get(function.span.source).text();
    let documentation = comment_above(text, function.head.start);
    Completion { documentation, ..Completion::new(function.name.as_str(), function.kind.word(), detail) }
}
