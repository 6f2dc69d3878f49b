//! Runs the literate cases in `tests/suite/*.md`.
//!
//! A heading of level two is a test. A fenced block `rows` holds a system, `rows all orders` one
//! whose constraints are also given in other orders; the blocks that follow it have the expected
//! answers of `broadloom solve`:
//!
//! | block | compared with |
//! |---|---|
//! | `json` | `--json`, the keys written only; the key `exit` is the exit status |
//! | `out`, `err` | standard output and standard error, exactly |
//!
//! Options may follow the name of a block: `out --explain r`. With `UPDATE_EXPECT=1` in the
//! environment, blocks `out` and `err` are rewritten in place. Each system is also printed and read
//! again, and given in reverse; status and solution must not change.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use broadloom_rows::solve::{SolveOptions, run};
use broadloom_rows::{StatementKind, parse};
use broadloom_testing::Dice;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

/// The greatest number of orders tried of one system: all those of five lines.
const MOST_ORDERS: usize = 120;

/// A fenced block: its info string, its text, and the line of its first fence.
#[derive(Clone)]
struct Block {
    info: String,
    text: String,
    line: usize,
}

/// A heading and its blocks.
struct Case {
    file: PathBuf,
    title: String,
    blocks: Vec<Block>,
}

/// Blocks to rewrite: file, line of the fence, lines of the old text, new text.
type Updates = Arc<Mutex<Vec<(PathBuf, usize, usize, String)>>>;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let update = std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1");
    let updates = update.then(Updates::default);
    let mut trials = Vec::new();
    for file in suite_files() {
        let text = std::fs::read_to_string(&file).expect("a suite file is readable");
        for case in read(&file, &text) {
            let group = file.file_stem().unwrap_or_default().to_string_lossy();
            let name = format!("{group}::{}", case.title);
            let updates = updates.clone();
            trials.push(Trial::test(name, move || check(&case, updates.as_ref())));
        }
    }
    let conclusion = libtest_mimic::run(&args, trials);
    if let Some(updates) = updates {
        rewrite(&mut updates.lock().expect("no test panics while it holds the lock"));
    }
    conclusion.exit_code()
}

fn suite_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite");
    let entries = std::fs::read_dir(folder).expect("the suite is a folder");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    files
}

/// Splits a file into headings and their blocks.
fn read(file: &Path, text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            cases.push(Case { file: file.to_owned(), title: title.to_owned(), blocks: Vec::new() });
        } else if let Some(info) = line.strip_prefix("```") {
            let inside = lines.by_ref().map(|(line, _)| line).take_while(|line| *line != "```");
            let text: String = inside.flat_map(|line| [line, "\n"]).collect();
            let case = cases.last_mut().unwrap_or_else(|| panic!("{}:{number}: no heading", file.display()));
            case.blocks.push(Block { info: info.to_owned(), text, line: number });
        }
    }
    cases
}

/// The place of a failure, as it is shown.
fn place(case: &Case, block: &Block) -> String {
    let name = case.file.file_name().unwrap_or_default().to_string_lossy();
    format!("tests/suite/{name}:{}", block.line)
}

fn check(case: &Case, updates: Option<&Updates>) -> Result<(), Failed> {
    let mut program: Option<&Block> = None;
    let mut failures = String::new();
    let mut checked = 0;
    for block in &case.blocks {
        let (kind, rest) = block.info.split_once(' ').unwrap_or((&block.info, ""));
        let outcome = match (kind, program) {
            ("rows", _) => {
                program = Some(block);
                treatments(&block.text, rest == "all orders")
            }
            (_, None) => Err("no `rows` block before this one".into()),
            ("json", Some(program)) => compare_json(&program.text, rest, &block.text),
            ("out" | "err", Some(program)) => {
                let output = run("example.rows", &program.text, &options(rest, false)?);
                let found = if kind == "out" { output.stdout } else { output.stderr };
                let outcome = same(&block.text, &found);
                match (outcome, updates) {
                    (Err(_), Some(updates)) => {
                        let old = block.text.lines().count();
                        let update = (case.file.clone(), block.line, old, found);
                        updates.lock().map_err(|error| error.to_string())?.push(update);
                        Ok(())
                    }
                    (outcome, _) => outcome,
                }
            }
            _ => Err(format!("unknown block `{kind}`")),
        };
        checked += usize::from(kind != "rows");
        if let Err(message) = outcome {
            let _ = writeln!(failures, "{}: {message}", place(case, block));
        }
    }
    if checked == 0 {
        let _ = writeln!(failures, "{}: `{}` expects nothing", case.file.display(), case.title);
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.into()) }
}

/// The options in an info string.
fn options(flags: &str, json: bool) -> Result<SolveOptions, String> {
    let mut options = SolveOptions { json, ..SolveOptions::default() };
    let mut words = flags.split_whitespace();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("`{word}` needs a value"))?;
        match word {
            "--explain" => options.explain.push(value.to_owned()),
            "--branches" => options.branches = value.parse().map_err(|error| format!("{error}"))?,
            _ => return Err(format!("unknown option `{word}`")),
        }
    }
    Ok(options)
}

/// The answer as JSON, with the exit status.
fn answer(text: &str, flags: &str) -> Result<Value, String> {
    let output = run("example.rows", text, &options(flags, true)?);
    let mut answer: Value =
        serde_json::from_str(&output.stdout).map_err(|error| format!("{error}: {}", output.stdout))?;
    answer["exit"] = output.status.code().into();
    Ok(answer)
}

fn compare_json(text: &str, flags: &str, expected: &str) -> Result<(), String> {
    let expected: Value = serde_json::from_str(expected).map_err(|error| error.to_string())?;
    let found = answer(text, flags)?;
    let keys = expected.as_object().ok_or("expected an object")?;
    let wrong = keys.iter().filter(|(key, value)| found[key.as_str()] != **value);
    let wrong: Vec<String> =
        wrong.map(|(key, value)| format!("`{key}` is {}, expected {value}", found[key.as_str()])).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n  ")) }
}

fn same(expected: &str, found: &str) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("expected\n{expected}found\n{found}(UPDATE_EXPECT=1 rewrites the block)"))
}

/// Printing and reading again, or another order of the lines, changes neither status nor solution.
fn treatments(text: &str, all_orders: bool) -> Result<(), String> {
    let parsed = parse(text);
    if !parsed.is_ok() {
        return Ok(());
    }
    let summary = |text: &str| {
        let answer = answer(text, "")?;
        Ok::<_, String>((answer["status"].clone(), answer["solution"].clone()))
    };
    let expected = summary(text)?;
    let attempt = |what: &str, text: &str| {
        let found = summary(text)?;
        if found == expected {
            return Ok(());
        }
        let ((status, solution), (was, had)) = (found, &expected);
        Err(format!("{what} gives {status} {solution} instead of {was} {had}:\n{text}"))
    };
    attempt("printed and read again", &parsed.system.to_string())?;
    let (mut tags, mut lines) = (String::new(), Vec::new());
    for statement in &parsed.system.statements {
        let line = parsed.system.show(statement).to_string();
        match statement.kind {
            StatementKind::Tag { .. } => tags.extend([line.as_str(), "\n"]),
            StatementKind::Constraint(_) => lines.push(line),
        }
    }
    let given = |order: &[usize]| {
        let constraints: Vec<&str> = order.iter().map(|at| lines[*at].as_str()).collect();
        format!("{tags}{}\n", constraints.join("\n"))
    };
    let backwards: Vec<usize> = (0..lines.len()).rev().collect();
    attempt("reversed", &given(&backwards))?;
    if all_orders {
        for order in orders(lines.len()) {
            attempt("another order", &given(&order))?;
        }
    }
    Ok(())
}

/// Every order of up to five lines; of more, `MOST_ORDERS` shuffles.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    if count <= 5 {
        for line in 0..count {
            let longer = |order: &Vec<usize>, at: usize| [&order[..at], &[line], &order[at..]].concat();
            orders =
                orders.iter().flat_map(|order| (0..=order.len()).map(move |at| longer(order, at))).collect();
        }
        return orders;
    }
    let mut dice = Dice::new(count as u64);
    let shuffled = |_| {
        let mut order: Vec<usize> = (0..count).collect();
        dice.shuffle(&mut order);
        order
    };
    (0..MOST_ORDERS).map(shuffled).collect()
}

/// Writes new texts of blocks, the last of a file first.
fn rewrite(updates: &mut [(PathBuf, usize, usize, String)]) {
    updates.sort();
    for (file, fence, old, new) in updates.iter().rev() {
        let text = std::fs::read_to_string(file).expect("a suite file is readable");
        let mut lines: Vec<&str> = text.lines().collect();
        lines.splice(*fence..*fence + *old, new.lines());
        std::fs::write(file, lines.join("\n") + "\n").expect("a suite file is writable");
    }
}
