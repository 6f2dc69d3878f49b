//! Every fix that a diagnostic offers, carried out: the mistake it is about must be gone. The programs are those of the
//! suites of the language, which have a case for nearly every message.

use std::collections::BTreeSet;
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

/// The words by which advice says what to write.
const SAYS: [&str; 9] = [
    "write `",
    "apply it: `",
    "declare `",
    "leave it out",
    "leave out `",
    "did you mean `",
    "let it be `",
    "set `",
    "add `",
];

/// The heading of advice for which nobody has given a reason yet.
const UNREAD: &str = "== why?";

/// The list of advice without a fix: headings are reasons, and below each there are the kinds of mistakes with their advice, without names and numbers.
const LIST: &str = "tests/without_fix.txt";

/// A text without what differs from program to program: code and numbers.
fn without_names(text: &str) -> String {
    let pieces = text.split('`').enumerate();
    let kept: Vec<&str> = pieces.map(|(at, piece)| if at % 2 == 0 { piece } else { "…" }).collect();
    let letters = kept.join("`");
    letters
        .split(|letter: char| letter.is_ascii_digit())
        .filter(|piece| !piece.is_empty())
        .collect::<Vec<_>>()
        .join("0")
}

/// Advice that says what to write has a fix, or a reason in a list why it has none. `UPDATE_EXPECT=1` removes what has got a fix from the list, and adds what is new under a heading that has to be
/// replaced by a reason.
#[test]
fn advice_that_says_what_to_write_has_a_fix_or_a_reason() {
    let (mut with, mut found) = (0, BTreeSet::new());
    for (_, text) in programs() {
        for diagnostic in diagnostics(&text) {
            if !diagnostic.fixes.is_empty() {
                with += 1;
                continue;
            }
            let said = diagnostic.help.iter().filter(|help| SAYS.iter().any(|says| help.contains(says)));
            for help in said {
                let (message, help) = (without_names(&diagnostic.message), without_names(help));
                found.insert(format!("{} {message} | {help}", diagnostic.code));
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let is_entry = |line: &&str| !line.is_empty() && !line.starts_with("==") && !line.starts_with('#');
    let listed: BTreeSet<String> = text.lines().filter(is_entry).map(String::from).collect();
    let new: Vec<&String> = found.difference(&listed).collect();
    let gone: Vec<&String> = listed.difference(&found).collect();
    println!("{with} diagnostics have fixes; {} kinds of advice have none", found.len());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let kept = text.lines().filter(|line| !gone.iter().any(|gone| gone == line));
        let mut text: String = kept.map(|line| format!("{line}\n")).collect();
        if !new.is_empty() {
            writeln!(text, "\n{UNREAD}").expect("a string");
            new.iter().for_each(|new| writeln!(text, "{new}").expect("a string"));
        }
        return std::fs::write(path, text).expect("a writable list");
    }
    assert!(new.is_empty(), "advice without a fix that is not in {LIST}: {new:#?}");
    assert!(gone.is_empty(), "this advice has a fix, or is not given any more: {gone:#?}");
    assert!(!text.contains(UNREAD), "{LIST}: each heading is a reason");
}
