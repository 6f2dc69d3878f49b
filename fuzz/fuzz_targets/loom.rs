//! Bytes to text to tree to graph: the whole front end of `.loom` never panics, and its answers satisfy simple laws.
//!
//! Each byte stands for a piece of text, so that most inputs come close to being programs; a first byte of 255 says that the rest is a
//! text as it is. Programs that name files are only parsed and laid out.
#![no_main]

use broadloom_diagnostics::{SourceId, Span, Style, decode, render_all};
use broadloom_lang::syntax::{ast::Names, parse, reformat};
use broadloom_lang::{Options, compile};
use libfuzzer_sys::fuzz_target;

#[rustfmt::skip]
const PIECES: [&str; 120] = [
    "\n", "\n", "\n", "\n  ", "\n  ", "\n    ", " ", "(", ")", "(", ")", "[", "]", "{", "}", "\"", "#", ", ", ", ", ": ", ";", ".", "..", "...", " | ",
    " -> ", " |> ", "_", " = ", " = ", " =+ ", " =: ", " =:max ", " == ", " < ", " + ", " - ", " * ", " ** ", " @ ", " / ", " % ", "let ", "let ",
    "let ", "def f(x) =", "def g(n)(x) =", "data x : ", "data y : ", "state s : ", "set ", "for i in ", "repeat ", "repeat i in ", "backward ", "minimise ",
    " by ", "print ", " every ", "if ", " then ", " else ", " and ", " or ", "not ", "op h(a):", "dim n = ", "dim m in ", " as f64", "{w}", "{v : ... -> 4}",
    "{b : n}", "x", "x", "y", "y", "z", "s", "n", "i", "f", "f(x)", "g(4)", "h(x)", "w.grad", "x.T", "y.h", "x[0]", "x[i]", "x[1..2]", "0", "1", "2", "3", "2.5",
    "-1", "0..3", "1:unit", "3:rgb", "..r..", "\"i j => j\"", "\"... | i => ... | h\"", "\"... | a^b => ... | a\"", "\"o<+k; k => o\"", "\"{n}*i => i\"",
    "einsum(", "sum(", "mean(", "split(", "relu(", "max(", "where(", "linear(4)", "attention(2)", "sgd(0.1)", "constant(1)", "range(\"t ->\")", "inference(",
    "training", "\u{e9}",
];

fuzz_target!(|bytes: &[u8]| {
    let text = match bytes.split_first() {
        Some((255, rest)) => match decode(rest.to_vec()) {
            Ok(text) => text,
            Err(_) => return,
        },
        _ => bytes.iter().map(|byte| PIECES[*byte as usize % PIECES.len()]).collect(),
    };
    let mut names = Names::default();
    let parsed = parse(SourceId::default(), &text, &mut names);
    match reformat(SourceId::default(), &text) {
        Ok(formatted) => assert_eq!(reformat(SourceId::default(), &formatted).as_deref(), Ok(&*formatted)),
        Err(diagnostics) => assert_eq!(diagnostics, parsed.diagnostics),
    }
    if ["import", "load", "save"].iter().any(|word| text.contains(word)) {
        return;
    }
    let mut program = compile("fuzz.loom", &text, &Options::default());
    for diagnostic in &program.diagnostics {
        for label in &diagnostic.labels {
            let Span { source, start, end } = label.span;
            let text = program.sources.get(source).text();
            assert!(start <= end && text.get(start as usize..end as usize).is_some(), "{diagnostic:?}");
        }
    }
    let messages = render_all(&program.sources, &program.diagnostics, 0, Style::default());
    assert_eq!(messages.is_empty(), program.diagnostics.is_empty());
    if program.is_ok() {
        assert!(program.graph.final_shapes().is_ok(), "a program without mistakes has shapes");
    }
    for line in [1, 2, 5] {
        let part = compile("fuzz.loom", &text, &Options { until: Some(line), ..Options::default() });
        let _ = part.made.iter().map(|made| part.graph.shape(made.tensor).to_string()).collect::<Vec<_>>();
    }
});
