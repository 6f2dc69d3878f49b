//! Completions inside specs: the labels that the operands have, and those that the program uses.

use broadloom_diagnostics::Span;
use broadloom_lang::syntax::lexer::lex;
use broadloom_lang::syntax::token::{Keyword, Token, TokenKind};

use super::Completion;
use crate::analysis::Analysis;
use crate::names::Bindings;
use crate::spec_words::{has_letters, words};

/// Returns true if a text is a spec: the first argument of a call, or what follows `by`.
pub(super) fn is_spec(text: &str, tokens: &[Token], span: Span) -> bool {
    let at = tokens.partition_point(|token| token.span.start < span.start);
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    match before(1).map(|token| token.kind) {
        Some(TokenKind::Keyword(Keyword::By)) => true,
        Some(TokenKind::Open) => {
            before(2).is_some_and(|name| name.kind == TokenKind::Name && name.span.slice(text) != "load")
        }
        _ => false,
    }
}

/// The labels that can be written in a spec, the likeliest first.
pub(super) fn specs(analysis: &Analysis, spec: Span, offset: u32) -> Vec<Completion> {
    let text = analysis.sources().get(analysis.program.main).text();
    let mut all = operands(analysis, text, spec);
    let before = text.get(spec.start as usize..offset as usize).unwrap_or_default();
    let letters = has_letters(spec.slice(text));
    // The word under the cursor is being written.
    let before = match letters {
        true => before,
        false => before.trim_end_matches(|letter: char| letter.is_alphanumeric() || letter == '_'),
    };
    let own = words(before, letters);
    let rest = words(text.get(offset as usize..spec.end as usize).unwrap_or_default(), letters);
    all.extend(own.into_iter().chain(rest).map(|label| Completion::new(label, "label", "in this spec")));
    let others = analysis.program.specs.iter().filter(|other| other.span != spec);
    let labels = others.flat_map(|other| other.spec.names.axes.iter().map(|(_, name)| name.text.to_string()));
    all.extend(labels.map(|label| Completion::new(label, "label", "in another spec")));
    all
}

/// The labels with which the operands were made.
fn operands(analysis: &Analysis, text: &str, spec: Span) -> Vec<Completion> {
    let program = &analysis.program;
    let bindings = Bindings::new(program.main, text);
    let tokens = lex(program.main, text).tokens;
    let after = tokens.iter().skip_while(|token| token.span.start <= spec.start);
    let mut found = Vec::new();
    for token in after.take_while(|token| !matches!(token.kind, TokenKind::Close | TokenKind::Newline)) {
        let name = token.span.slice(text);
        let binding = bindings.find(name, token.span.start).filter(|_| token.kind == TokenKind::Name);
        let made =
            binding.and_then(|binding| program.made.iter().rev().find(|made| made.span == binding.span));
        let Some(made) = made else { continue };
        for label in program.graph.captured_names(made.tensor) {
            let captured = program.graph.captured(made.tensor, label).ok();
            let size = captured.and_then(|captured| program.graph.size(captured));
            let detail = size.map_or(format!("of `{name}`"), |size| format!("{size} in `{name}`"));
            found.push(Completion::new(label, "label", detail));
        }
    }
    found
}
