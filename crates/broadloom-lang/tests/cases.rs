//! Runs the programs of `tests/suite/*.md`, `docs/errors.md` and `docs/language.md`: the specification of the language.
//!
//! A heading with a program below it is a test. The program is a block `loom`; the blocks after it
//! say what is expected of it:
//!
//! | block | compared with |
//! |---|---|
//! | `shapes` | final shapes, one `name : shape` per line; other names are not compared |
//! | `error` | messages of reading and running the program, exactly |
//! | `says` | pieces that the messages must contain, one on each line. Never rewritten |
//! | `messages` | those of reading the program alone, with the summary below them |
//! | `warnings` | the warnings of `check`, if nothing is wrong |
//! | `nest NAME` | the loop nest that computes a tensor |
//! | `output` | the printed output, by the reference evaluator, exactly |
//! | `format` | the formatted program |
//! | `signatures` | the signatures of its functions; of the library, or of one that is named after the word |
//! | `file NAME` | the contents of a file that the program writes |
//!
//! A program without `error` or `messages` must have no mistakes, one that prints must have an
//! `output`, and one without `warnings` must have none. After `loom`, `name=4` sets a `dim`, and
//! `in order` says that the order of the statements matters. Each program runs under the treatments
//! of `suite_support/treatments.rs`. With `UPDATE_EXPECT=1` in the environment, blocks are
//! rewritten in place.

mod suite_support;

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use broadloom_lang::signature::Signature;
use broadloom_lang::{Asked, codes};
use libtest_mimic::{Arguments, Failed, Trial};
use suite_support::markdown::{Block, Case, Example, Update, read, rewrite, suite_files};
use suite_support::orders::orders;
use suite_support::run::{Answer, Folder, Runner, answer, compiled, joined, options, rendered};
use suite_support::treatments::treat;

type Updates = Arc<Mutex<Vec<Update>>>;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let update = std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1");
    let updates = update.then(Updates::default);
    let mut trials = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for file in suite_files() {
        let group = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_guide = file.parent().is_some_and(|folder| folder.ends_with("docs")) && group == "functions";
        let group = if is_guide { "functions_guide".to_string() } else { group };
        for case in read(&file) {
            let name = format!("{group}::{}", case.title);
            assert!(names.insert(name.clone()), "{}: there are two headings `{name}`", case.place(case.line));
            let (updates, group) = (updates.clone(), group.clone());
            trials.push(Trial::test(name, move || check(&case, &group, updates.as_ref())));
        }
    }
    trials.push(Trial::test("errors::every code has a section", every_code_has_a_section));
    trials.push(Trial::test("errors::the code of the example is free", the_code_of_the_example_is_free));
    trials.push(Trial::test("language::the library is listed", the_library_is_listed));
    trials
        .push(Trial::test("treatments::other orders respect definitions", other_orders_respect_definitions));
    let conclusion = libtest_mimic::run(&args, trials);
    if let Some(updates) = updates {
        rewrite(&mut updates.lock().expect("no test panics while it holds the lock"));
    }
    conclusion.exit_code()
}

fn check(case: &Case, group: &str, updates: Option<&Updates>) -> Result<(), Failed> {
    let mut failures = String::new();
    for example in &case.examples {
        for (line, message) in failures_of(case, example, updates) {
            let _ = writeln!(failures, "{}: {message}", case.place(line));
        }
        if group == "errors" {
            let wanted = case.title.split(':').next().unwrap_or_default();
            let found = codes_of(example);
            if found.iter().any(|code| *code != wanted) || found.is_empty() {
                let place = case.place(example.program.line);
                let _ = writeln!(failures, "{place}: the program shows {found:?}, not {wanted} alone");
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.into()) }
}

fn codes_of(example: &Example) -> Vec<&'static str> {
    let folder = Folder::new(&example.files);
    let options = options(&example.program.rest, folder.path());
    let answer = answer(&example.program.text, &options, Runner::Reference);
    answer.messages.iter().map(|(code, _)| *code).collect()
}

/// The failed expectations: lines of the file, and messages.
fn failures_of(case: &Case, example: &Example, updates: Option<&Updates>) -> Vec<(usize, String)> {
    let folder = Folder::new(&example.files);
    let options = options(&example.program.rest, folder.path());
    let program = &example.program;
    let found = answer(&program.text, &options, Runner::Reference);
    let mut failures = Vec::new();
    for block in &example.expected {
        let wanted = match expectation(block, &found, program, &options) {
            Ok(text) => text,
            Err(message) => {
                failures.push((block.line, message));
                continue;
            }
        };
        if wanted == block.text {
            continue;
        }
        if let Some(updates) = updates {
            let old = block.text.lines().count();
            let update = (case.file.clone(), block.line, old, wanted);
            updates.lock().expect("no test panics while it holds the lock").push(update);
            continue;
        }
        let (old, new) = (block.text.lines(), wanted.lines());
        let first = old.zip(new).take_while(|(old, new)| old == new).count();
        let message = format!("expected\n{}found\n{wanted}(UPDATE_EXPECT=1 rewrites the block)", block.text);
        failures.push((block.line + 1 + first, message));
    }
    let has = |kinds: &[&str]| example.expected.iter().any(|block| kinds.contains(&block.kind.as_str()));
    if !has(&["error", "messages"]) && !found.messages.is_empty() {
        failures.push((program.line, format!("nothing should be wrong\n{}", joined(&found.messages))));
    }
    if !has(&["output"]) && !found.output.is_empty() {
        failures.push((program.line, format!("what it prints is expected nowhere:\n{}", found.output)));
    }
    let warned = warned(&program.text, &options);
    if !has(&["warnings"]) && !warned.is_empty() {
        failures.push((program.line, format!("there should be no warnings\n{warned}")));
    }
    if failures.is_empty()
        && let Err(message) = treat(&program.text, &options, &found, program.rest.contains("in order"))
    {
        failures.push((program.line, message));
    }
    failures
}

/// The text that a block should have.
fn expectation(
    block: &Block,
    found: &Answer,
    program: &Block,
    options: &broadloom_lang::Options,
) -> Result<String, String> {
    match block.kind.as_str() {
        "shapes" => Ok(shapes(block, found)),
        "error" => Ok(joined(&found.messages)),
        "says" => {
            let messages = joined(&found.messages);
            match block.text.lines().find(|piece| !messages.contains(piece)) {
                Some(piece) => Err(format!("nothing says `{piece}`:\n{messages}")),
                None => Ok(block.text.clone()),
            }
        }
        "messages" => {
            let program = compiled(&program.text, options);
            let style = broadloom_diagnostics::Style::default();
            Ok(broadloom_diagnostics::render_all(&program.sources, &program.diagnostics, 0, style))
        }
        "warnings" => Ok(warned(&program.text, options)),
        "output" => Ok(found.output.clone()),
        "nest" => {
            let mut program = compiled(&program.text, options);
            let tensor =
                program.find(&block.rest).ok_or_else(|| format!("there is no tensor `{}`", block.rest))?;
            program.graph.show_nest(tensor).map_err(|error| error.to_string())
        }
        "format" => broadloom_lang::syntax::reformat(Default::default(), &program.text)
            .map_err(|_| "a program with mistakes is not formatted".to_owned()),
        "signatures" => {
            let asked = match &*block.rest {
                "" => Asked::Own,
                "library" => Asked::Library,
                one => Asked::One(one.to_string()),
            };
            let found = broadloom_lang::signatures("example.loom", &program.text, options, &asked);
            let all: Vec<String> = found.list.iter().map(Signature::with_uses).collect();
            Ok(all.join("\n"))
        }
        "file" => {
            let text = std::fs::read_to_string(options.folder.join(&block.rest));
            text.map_err(|error| format!("`{}`: {error}", block.rest))
        }
        other => Err(format!("blocks `{other}` cannot be compared yet")),
    }
}

/// The warnings of `check`.
fn warned(text: &str, options: &broadloom_lang::Options) -> String {
    let mut program = compiled(text, options);
    let found = broadloom_lang::warnings(&mut program);
    let shown: Vec<String> = found.iter().map(|each| rendered(&program.sources, each)).collect();
    shown.join("\n")
}

/// The lines of a block with the actual shapes of its names.
fn shapes(block: &Block, found: &Answer) -> String {
    let width = block.text.lines().filter_map(|line| line.find(" :")).max().unwrap_or(0);
    let line = |line: &str| {
        let name = line.split(" :").next().unwrap_or_default().trim();
        let unknown =
            || format!("nothing; there are {}", found.shapes.keys().cloned().collect::<Vec<_>>().join(", "));
        let shape = found.shapes.get(name).cloned().unwrap_or_else(unknown);
        format!("{name:width$} : {shape}\n")
    };
    block.text.lines().map(line).collect()
}

/// `docs/errors.md` has a section for each code, under its title, and no other.
fn every_code_has_a_section() -> Result<(), Failed> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    let text = std::fs::read_to_string(&file)?;
    let found: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let found: Vec<&str> =
        found.into_iter().filter(|title| is_code(title.split(':').next().unwrap_or(""))).collect();
    let errors = codes::ALL.iter().filter(|(code, _)| code.starts_with('E'));
    let wanted: Vec<String> = errors.map(|(code, title)| format!("{code}: {title}")).collect();
    if found != wanted {
        return Err(format!("docs/errors.md has the sections\n{found:#?}\nnot\n{wanted:#?}").into());
    }
    for (code, title) in codes::ALL.iter().filter(|(code, _)| code.starts_with('W')) {
        if !text.contains(&format!("**{code}**, {title}")) {
            return Err(format!("docs/errors.md does not list **{code}**, {title}").into());
        }
    }
    Ok(())
}

/// The lint of `CONTRIBUTING.md` has the first code that is free, and a name that no other code has.
fn the_code_of_the_example_is_free() -> Result<(), Failed> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    let text = std::fs::read_to_string(&file)?;
    let example = text.lines().find_map(|line| line.trim().strip_prefix("ITSELF = \"W")?.split('"').next());
    let last = codes::ALL.iter().filter_map(|(code, _)| code.strip_prefix('W')).max();
    let number = |code: Option<&str>| code.and_then(|code| code.parse::<u32>().ok());
    if number(example).is_none() || number(example) != number(last).map(|last| last + 1) {
        return Err(format!(
            "the lint of CONTRIBUTING.md has the code {example:?}, and {last:?} is the last that is taken"
        )
        .into());
    }
    Ok(())
}

/// The orders that are tried differ from the original, and respect definitions.
fn other_orders_respect_definitions() -> Result<(), Failed> {
    let text = "let a = 1\ndef f(x) = x + b\nlet b = 2\nstate s : |\nprint f(a)\ns = 1\nlet b = 3\nprint b\n";
    let found = orders(text, 40);
    let before = |order: &str, first: &str, second: &str| order.find(first) < order.find(second);
    for order in &found {
        let pairs = [
            ("let a", "print f"),
            ("def f", "print f"),
            ("let b = 2", "print f"),
            ("print f", "let b = 3"),
            ("state s", "s = 1"),
            ("print f", "s = 1"),
            ("s = 1", "print b"),
            ("let b = 3", "print b"),
        ];
        if let Some((first, second)) = pairs.iter().find(|(first, second)| !before(order, first, second)) {
            return Err(format!("`{first}` should stand before `{second}`:\n{order}").into());
        }
    }
    if found.len() < 5 { Err(format!("only {} orders", found.len()).into()) } else { Ok(()) }
}

/// `docs/language.md` names every function of the library, and each has a comment of its own: messages and editors show it
/// by itself, so that it does not lean on the one before.
fn the_library_is_listed() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(folder.join("../../docs/language.md"))?;
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let words: std::collections::BTreeSet<&str> = text.split(|letter| !is_letter(letter)).collect();
    for entry in std::fs::read_dir(folder.join("std"))? {
        let library = std::fs::read_to_string(entry?.path())?;
        let mut comment = Vec::new();
        for line in library.lines() {
            if let Some(name) = line.strip_prefix("def ").and_then(|line| line.split('(').next()) {
                if !words.contains(name) {
                    return Err(format!("docs/language.md does not name `{name}`").into());
                }
                let first: &str = comment.first().copied().unwrap_or_default();
                if first.is_empty()
                    || ["# The same", "# Its ", "# It "].iter().any(|lean| first.starts_with(lean))
                {
                    return Err(format!("`{name}` needs a comment of its own: `{first}`").into());
                }
            }
            match line.starts_with('#') {
                true => comment.push(line),
                false => comment.clear(),
            }
        }
    }
    Ok(())
}

fn is_code(word: &str) -> bool {
    word.len() == 5 && word.starts_with(['E', 'W']) && word[1..].chars().all(|letter| letter.is_ascii_digit())
}
