//! Helpers shared by the tests of the syntax: parsing, the laws that hold for every text, random
//! programs, trees as text.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod layouts;
pub mod programs;
pub mod tree;

use broadloom_diagnostics::{Diagnostic, SourceId, Sources, Span};
use broadloom_lang::syntax::ast::{File, Names};
use broadloom_lang::syntax::{Parsed, format, measured, parse, reformat, same};
use broadloom_testing::setting;
use proptest::prelude::*;

/// A configuration with this number of cases, or with `BROADLOOM_SEEDS` of them.
pub fn config(cases: u32) -> ProptestConfig {
    let cases = setting("BROADLOOM_SEEDS", cases.into()) as u32;
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Bytes that make decisions: see [`programs`].
pub fn bytes(length: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..length)
}

/// Parses a text with names of its own.
pub fn read(text: &str) -> (Parsed, Names) {
    let mut names = Names::default();
    (parse(SourceId::default(), text, &mut names), names)
}

/// Formats a text without mistakes.
pub fn formatted(text: &str) -> String {
    let (parsed, names) = read(text);
    assert!(parsed.diagnostics.is_empty(), "{text}\n{}", shown(&parsed));
    format(text, &parsed.file, &names)
}

/// The mistakes, one message on each line.
pub fn shown(parsed: &Parsed) -> String {
    let messages =
        parsed.diagnostics.iter().map(|diagnostic| format!("{}: {}", diagnostic.code, diagnostic.message));
    messages.collect::<Vec<_>>().join("\n")
}

/// The lines and codes of the mistakes.
pub fn mistakes(text: &str) -> Vec<(u32, &'static str)> {
    let sources = Sources::one("t.loom", text);
    let line = |diagnostic: &Diagnostic| {
        diagnostic.primary().map_or(0, |label| sources.get(SourceId::default()).line_of(label.span.start))
    };
    read(text).0.diagnostics.iter().map(|diagnostic| (line(diagnostic), diagnostic.code)).collect()
}

/// Checks the laws that hold for every text. Returns true if it is a program.
pub fn check_laws(text: &str) -> bool {
    let (parsed, names) = read(text);
    check_spans(text, &parsed);
    assert!(parsed.work <= 16 * text.len() + 100, "{} steps for {} bytes:\n{text}", parsed.work, text.len());
    let is_program = parsed.diagnostics.is_empty();
    // Files with mistakes are refused, but the part that was parsed can be formatted all the same.
    assert_eq!(reformat(SourceId::default(), text).is_ok(), is_program, "{text}");
    let (once, work) = measured(text, &parsed.file, &names);
    assert!(work <= 16 * text.len() + 100, "{work} steps for {} bytes:\n{text}", text.len());
    if is_program {
        check_layout(text, &parsed.file, names, &once);
    }
    is_program
}

fn check_layout(text: &str, file: &File, mut names: Names, once: &str) {
    let again = parse(SourceId::default(), once, &mut names);
    assert!(again.diagnostics.is_empty(), "{text}\nbecomes\n{once}\n{}", shown(&again));
    assert!(same(text, file, once, &again.file), "{text}\nis not\n{once}");
    let twice = format(once, &again.file, &names);
    assert_eq!(once, twice, "\n{text}\nbecomes\n{once}\nand then\n{twice}");
    assert_eq!(comments(text, file), comments(once, &again.file), "the comments of\n{text}\nin\n{once}");
    assert!(once.is_empty() || once.ends_with('\n') && !once.ends_with("\n\n"), "{once:?}");
    assert!(!once.starts_with('\n') && !once.contains("\n\n\n") && !once.contains(" \n"), "{once:?}");
}

/// The words of all comments. Comments may come together
/// on a line, but nothing else happens to them.
fn comments(text: &str, file: &File) -> Vec<String> {
    let words = file.comments.iter().flat_map(|span| span.slice(text).split_whitespace());
    words.map(str::to_owned).collect()
}

fn check_spans(text: &str, parsed: &Parsed) {
    let check = |span: Span| {
        let inside = text.get(span.start as usize..span.end as usize);
        assert!(inside.is_some(), "{span:?} is not a place in\n{text}");
    };
    for diagnostic in &parsed.diagnostics {
        assert!(!diagnostic.code.is_empty() && diagnostic.primary().is_some());
        diagnostic.labels.iter().for_each(|label| check(label.span));
    }
    for statement in &parsed.file.statements {
        check(statement.span);
    }
    parsed.file.comments.iter().copied().for_each(check);
}
