//! Every fix that a diagnostic offers, carried out: the mistake it is about must be gone. The programs are those of the
//! suites of the language, which have a case for nearly every message.

use std::fmt::Write;
use std::path::Path;

use broadloom_diagnostics::Diagnostic;
use broadloom_ide::{Analysis, Listing, Text, applied, check};

/// The programs of the suites, each with the file it is from.
fn programs() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../broadloom-lang/tests/suite");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the suites") {
        let path = entry.expect("a readable entry").path();
        let text = std::fs::read_to_string(&path).expect("a readable suite");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        for block in text.split("\n```loom").skip(1) {
            let program = block.split_once('\n').map_or("", |(_, rest)| rest);
            let program = program.split("\n```").next().unwrap_or_default();
            found.push((name.clone(), format!("{program}\n")));
        }
    }
    found.sort();
    assert!(found.len() > 300, "there are programs");
    found
}

fn diagnostics(text: &str) -> Vec<Diagnostic> {
    check(&mut Analysis::new(&Text::new("a.loom", text)), Listing::Own).diagnostics
}

/// The number of diagnostics with the code and the message of another.
fn count(of: &Diagnostic, among: &[Diagnostic]) -> usize {
    among.iter().filter(|each| each.code == of.code && each.message == of.message).count()
}

#[test]
fn every_fix_removes_its_mistake() {
    let (mut tried, mut complete, mut useless) = (0, 0, String::new());
    for (file, text) in programs() {
        let before = diagnostics(&text);
        for diagnostic in &before {
            for fix in &diagnostic.fixes {
                let new = applied(&text, &fix.edits);
                let after = diagnostics(&new);
                tried += 1;
                complete += usize::from(after.len() < before.len());
                if count(diagnostic, &after) >= count(diagnostic, &before) {
                    writeln!(useless, "{file}: {}: {}\n{text}---\n{new}", diagnostic.message, fix.title)
                        .expect("a string");
                }
            }
        }
    }
    assert_eq!(useless, "", "{tried} fixes tried");
    // A complete fix leaves fewer mistakes than there were; the others uncover the next one.
    assert!(complete * 100 >= tried * 95, "only {complete} of {tried} fixes are complete");
}

/// Helps that say exactly what to write should be fixes. Some change several lines, and are not yet: their share may not grow.
#[test]
fn helps_that_are_fixes() {
    let (mut with, mut without) = (0, 0);
    for (_, text) in programs() {
        for diagnostic in diagnostics(&text) {
            let says = diagnostic.help.iter().any(|help| help.starts_with("write `") && !help.contains('…'));
            match diagnostic.fixes.is_empty() {
                false => with += 1,
                true => without += usize::from(says),
            }
        }
    }
    assert!(
        with * 100 >= (with + without) * 63,
        "{with} diagnostics have fixes, {without} say what to write without one"
    );
}
