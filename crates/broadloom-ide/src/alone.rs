//! Functions alone: a text in which a function has the signature that it has in the program, and that is read in less time.
//!
//! The library and a module do not depend on the program. A function of the program itself depends on the statements that its
//! names lead to; the others are replaced by spaces, so that places stay.

use broadloom_lang::NamedTensor;
use broadloom_lang::syntax::ast::StatementKind;
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::token::TokenKind;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Analysis, Text};
use crate::names::{Binding, Bindings};

/// The text in which a function can be asked for its signature by its name.
pub(crate) fn alone(analysis: &Analysis, function: &Binding) -> Text {
    let program = &analysis.program;
    let source = function.span.source;
    if source == program.main {
        return Text { text: needed(analysis, function), ..analysis.text.clone() };
    }
    let name = program.sources.get(source).name().to_string();
    match program.file(source) {
        Some(file) => Text {
            name,
            text: program.sources.get(source).text().to_string(),
            folder: file.parent().map(Into::into).unwrap_or_default(),
            sizes: Vec::new(),
            ..analysis.text.clone()
        },
        // The library is there in every program.
        None => Text { text: String::new(), sizes: Vec::new(), ..analysis.text.clone() },
    }
}

/// The text of the program with the statements that a function needs. Sizes of tensors may follow from any statement: the
/// whole text is needed if there are tensors among them.
fn needed(analysis: &Analysis, function: &Binding) -> String {
    let program = &analysis.program;
    let text = program.sources.get(program.main).text();
    let statements = &program.file.statements;
    let at = |offset: u32| statements.partition_point(|statement| statement.span.end <= offset);
    // The names that each statement mentions, and those that it binds or changes.
    let mut mentioned: Vec<FxHashSet<&str>> = vec![FxHashSet::default(); statements.len()];
    let mut bound: FxHashMap<String, Vec<usize>> = FxHashMap::default();
    let mut bind = |name: &str, at: usize| bound.entry(name.to_string()).or_default().push(at);
    for token in &lex(program.main, text).tokens {
        let index = at(token.span.start);
        let Some(names) = mentioned.get_mut(index) else { break };
        let words = token.span.slice(text);
        match token.kind {
            TokenKind::Name => {
                let changes =
                    matches!(statements[index].kind, StatementKind::Assign(_) | StatementKind::Set { .. });
                if names.is_empty() && changes {
                    bind(words, index);
                }
                names.insert(words);
            }
            // Names are filled in where they stand in braces.
            TokenKind::Text => {
                names.extend(words.split(|letter: char| !letter.is_alphanumeric() && letter != '_'))
            }
            _ => {}
        }
    }
    for binding in Bindings::of(program.main, text, &program.file, &program.names).all {
        if binding.known.1 == u32::MAX {
            bind(&binding.name, at(binding.span.start));
        }
    }
    let mut is_kept = vec![false; statements.len()];
    let (mut wanted, mut known) = (vec![function.name.as_str()], FxHashSet::default());
    while let Some(name) = wanted.pop() {
        for at in bound.get(name).into_iter().flatten().copied().filter(|at| *at < statements.len()) {
            if !std::mem::replace(&mut is_kept[at], true) {
                wanted.extend(mentioned[at].iter().filter(|name| known.insert(**name)));
            }
        }
    }
    let is_needed = |made: &NamedTensor| {
        made.span.source == program.main && is_kept.get(at(made.span.start)) == Some(&true)
    };
    if program.made.iter().any(|made| made.level == 0 && is_needed(made)) {
        return text.to_string();
    }
    let mut alone = String::with_capacity(text.len());
    for (statement, is_kept) in statements.iter().zip(is_kept) {
        let (start, end) = (statement.span.start as usize, statement.span.end as usize);
        blank(text.get(alone.len()..start).unwrap_or_default(), &mut alone);
        let own = text.get(alone.len()..end).unwrap_or_default();
        if is_kept { alone.push_str(own) } else { blank(own, &mut alone) }
    }
    alone
}

/// Adds spaces in place of a text. Its lines stay.
fn blank(text: &str, to: &mut String) {
    to.extend(text.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { char::from(byte) } else { ' ' }));
}
