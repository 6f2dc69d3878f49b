//! Programs: the whole front end, and one command on each program.

use broadloom_cli::{Console, Silent, Status, run};
use broadloom_diagnostics::{Diagnostic, SourceId, Sources, Span, Style, decode, render_all};
use broadloom_lang::syntax::{ast::Names, parse, reformat};
use broadloom_lang::{Options, Program, compile};

use super::{about, fingerprint};

/// The commands on programs. They read the program from standard input and write no files.
const COMMANDS: &[&[&str]] = &[
    &["check", "-"],
    &["check", "-", "--json"],
    &["check", "-", "--chain", "--color", "always"],
    &["shapes", "-", "--at", "3", "--all"],
    &["explain", "-", "y"],
    &["explain", "-", "y.1", "--json"],
    &["loops", "-", "--all"],
    &["loops", "-", "--json"],
    &["loops", "-", "--optimised"],
    &["memory", "-", "--planned", "--all"],
    &["memory", "-", "--planned", "--fits", "1GiB", "--json"],
    &["memory", "-", "--planned", "--train", "loss"],
    &["graph", "-", "--all"],
    &["graph", "-", "--of", "y", "--depth", "18446744073709551615"],
    &["lint", "-", "--json"],
    &["lint", "-"],
    &["emit", "-", "--json"],
    &["emit", "-", "--mlir"],
    &["emit", "-", "--lean"],
    &["verify", "-"],
];

pub(crate) fn check(bytes: &[u8]) -> u64 {
    let Ok(text) = decode(bytes.to_vec()) else { return 0 };
    laid_out(&text);
    if reads_files(&text) {
        return fingerprint("files");
    }
    let mut program = read(&text, None);
    if program.is_ok() {
        assert!(program.graph.final_shapes().is_ok(), "a program without mistakes has shapes");
    }
    let command = COMMANDS[fingerprint(&text) as usize % COMMANDS.len()];
    let (status, printed) = obey(command, &text);
    let mut codes: Vec<&str> = program.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    codes.sort_unstable();
    codes.dedup();
    fingerprint((codes, about(program.graph.steps()), command, status as u8, about(printed)))
}

/// Returns true if a program names files. Such programs
/// are not evaluated, because a file could be anything.
pub(super) fn reads_files(text: &str) -> bool {
    ["import", "load", "save"].iter().any(|word| text.contains(word))
}

/// Asserts that formatting a text twice gives the same as formatting it once.
pub(super) fn laid_out(text: &str) {
    let parsed = parse(SourceId::default(), text, &mut Names::default());
    match reformat(SourceId::default(), text) {
        Ok(formatted) => assert_eq!(reformat(SourceId::default(), &formatted).as_deref(), Ok(&*formatted)),
        Err(diagnostics) => assert_eq!(diagnostics, parsed.diagnostics),
    }
}

/// Reads a program, or its lines up to one, and checks the laws that hold for all programs.
pub(super) fn read(text: &str, until: Option<u32>) -> Program {
    let program = compile("fuzz.loom", text, &Options { until, ..Options::default() });
    within(&program.sources, &program.diagnostics);
    let messages = render_all(&program.sources, &program.diagnostics, 0, Style::default());
    assert_eq!(messages.is_empty(), program.diagnostics.is_empty());
    for made in program.made.iter().take(50) {
        assert!(!program.graph.shape(made.tensor).to_string().is_empty());
    }
    program
}

/// Asserts that every place in a message is in its text, between two characters.
fn within(sources: &Sources, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        let links = diagnostic.chain.iter().filter_map(|link| link.span);
        for Span { source, start, end } in diagnostic.labels.iter().map(|label| label.span).chain(links) {
            let text = sources.get(source).text();
            assert!(start <= end && text.get(start as usize..end as usize).is_some(), "{diagnostic:?}");
        }
        assert!(!diagnostic.code.is_empty() && !diagnostic.message.is_empty(), "{diagnostic:?}");
    }
}

/// Carries out a command on a program. Returns its status and the length of its output.
fn obey(command: &[&str], text: &str) -> (Status, usize) {
    let (mut stdin, mut silent) = (text.as_bytes(), Silent);
    let mut console = Console::new(&mut stdin, &mut silent);
    let arguments = std::iter::once("broadloom").chain(command.iter().copied());
    let output = run(arguments, &mut console);
    let (stdout, stderr) = (&output.stdout, &output.stderr);
    if output.status != Status::Fine {
        assert!(!stdout.is_empty() || !stderr.is_empty(), "{command:?} fails and says nothing");
    }
    let coloured = command.contains(&"always");
    assert!(coloured || !stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'), "{command:?}: escapes");
    (output.status, stdout.len())
}
