//! Completions: the names and keywords that can be written at a place.

use broadloom::Tensor;
use broadloom_diagnostics::Span;
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::token::{KEYWORDS, Keyword, TokenKind};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::analysis::Analysis;
use crate::definition::library;
use crate::names::{Binding, BindingKind, Bindings};

/// A name or keyword that can be written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Completion {
    /// The text to insert.
    pub label: String,
    /// Its kind, in a word: `value`, `function`, `dim`, `keyword`, …
    pub kind: &'static str,
    /// The shape as far as it is known, or the line that introduces a function; may be empty.
    pub detail: String,
}

/// The completions at an offset of the program's text that begin with the letters before it: names
/// that are known there, the innermost first, then functions of the library and of the language,
/// then keywords. There are none in comments and strings, nor after a dot.
///
/// ```
/// use broadloom_ide::{Analysis, Text, completion};
///
/// let text = "data logits : 32 | 10\nlet y = lo";
/// let found = completion(&Analysis::new(&Text::new("a.loom", text)), text.len() as u32);
/// let labels: Vec<&str> = found.iter().map(|each| each.label.as_str()).collect();
/// assert_eq!(labels, ["logits", "log_softmax", "log", "log1p", "load"]);
/// assert_eq!(found[0].detail, "32 | 10");
/// ```
pub fn completion(analysis: &Analysis, offset: u32) -> Vec<Completion> {
    let Some(written) = Written::new(analysis, offset) else { return Vec::new() };
    let mut all = Vec::new();
    names(analysis, offset, &mut all);
    all.extend(library(analysis).iter().map(|function| functions(analysis, function)));
    all.extend(broadloom_lang::builtins().map(|name| Completion {
        label: name.to_string(),
        kind: "function",
        detail: String::new(),
    }));
    let is_possible = |keyword: Keyword| match keyword {
        Keyword::For => true,
        keyword => keyword.begins_statement() == written.begins_line,
    };
    let keywords = KEYWORDS.iter().filter(|(_, keyword)| is_possible(*keyword));
    all.extend(keywords.map(|(text, _)| Completion {
        label: (*text).to_string(),
        kind: "keyword",
        detail: String::new(),
    }));
    let mut seen = FxHashSet::default();
    all.retain(|each| each.label.starts_with(&written.prefix) && seen.insert(each.label.clone()));
    all
}

/// The text before an offset.
struct Written {
    /// The letters of the word.
    prefix: String,
    /// True if nothing else is on the line.
    begins_line: bool,
}

impl Written {
    /// Returns None if no name can be written there.
    fn new(analysis: &Analysis, offset: u32) -> Option<Written> {
        let main = analysis.program.main;
        let text = analysis.sources().get(main).text();
        let before = text.get(..offset as usize)?;
        let rest = before.trim_end_matches(|letter: char| letter.is_alphanumeric() || letter == '_');
        let prefix = before[rest.len()..].to_string();
        let lexed = lex(main, text);
        let inside = |span: &Span| span.start < offset && offset <= span.end;
        let in_text = lexed.tokens.iter().any(|token| {
            token.kind == TokenKind::Text && token.span.start < offset && offset < token.span.end
        });
        let is_number = prefix.starts_with(|letter: char| letter.is_ascii_digit());
        if lexed.comments.iter().any(inside) || in_text || is_number || rest.ends_with('.') {
            return None;
        }
        let line = rest.rsplit(['\n', '\r']).next().unwrap_or(rest);
        Some(Written { prefix, begins_line: line.trim().is_empty() })
    }
}

/// The names that are known at an offset, with their shapes as far as they are known.
fn names(analysis: &Analysis, offset: u32, all: &mut Vec<Completion>) {
    let program = &analysis.program;
    let text = program.sources.get(program.main).text();
    let mut made: FxHashMap<Span, Tensor> = FxHashMap::default();
    for each in &program.made {
        made.entry(each.span).or_insert(each.tensor);
    }
    for binding in Bindings::new(program.main, text).at(offset) {
        let shape = made.get(&binding.span).map(|tensor| program.graph.shape(*tensor).to_string());
        let detail = match (binding.kind, shape) {
            (_, Some(shape)) => shape,
            (BindingKind::Function | BindingKind::Dim, None) => binding.head.slice(text).to_string(),
            _ => String::new(),
        };
        all.push(Completion { label: binding.name.clone(), kind: binding.kind.word(), detail });
    }
}

/// A function of the library.
fn functions(analysis: &Analysis, function: &Binding) -> Completion {
    let detail = analysis.sources().slice(function.head).to_string();
    Completion { label: function.name.clone(), kind: function.kind.word(), detail }
}
