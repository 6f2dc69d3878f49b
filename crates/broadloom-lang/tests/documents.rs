//! Runs the programs in the guides to the language: `docs/tutorial.md` and `docs/notation.md`.
//!
//! All blocks under one heading are one program that grows.
//!
//! | block | meaning |
//! |---|---|
//! | `loom` | lines that are added to the program |
//! | `text` | the output of the lines since the last such block |
//! | `shapes` | the shapes of some tensors, one per line: the name, blanks, the shape |
//! | `loom mistake` | lines with a mistake, not added; the `text` after them is the message |
//!
//! A table with the columns `here` and `shape` or `value` has an expression in each row, which is
//! evaluated after the program of its heading. In printed output, words are compared exactly and
//! numbers to three digits. `UPDATE_EXPECT=1` writes the actual results.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fmt::Write;
use std::path::PathBuf;

use broadloom_diagnostics::{Style, render, render_all};
use broadloom_lang::{Options, Program, RunOptions, compile};

#[test]
fn tutorial() {
    check("tutorial.md");
}

#[test]
fn notation() {
    check("notation.md");
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(text: &str) -> Program {
    compile("program.loom", text, &Options { folder: root().join("examples"), ..Options::default() })
}

fn messages(program: &Program) -> String {
    render_all(&program.sources, &program.diagnostics, 0, Style::default())
}

/// All lines that a program prints.
fn run(text: &str, place: &str) -> Vec<String> {
    let program = read(text);
    assert!(program.is_ok(), "{place}\n{}", messages(&program));
    let sources = program.sources.clone();
    let mut printed = Vec::<String>::new();
    if let Err(diagnostic) = program.run(&RunOptions::default(), &mut printed) {
        panic!("{place}\n{}", render(&sources, &diagnostic, Style::default()));
    }
    printed.iter().flat_map(|text| text.lines()).map(str::to_string).collect()
}

/// The state of checking one document.
struct Document {
    /// The document with the actual results in place of the expected ones.
    found: String,
    /// The program of this heading.
    program: String,
    /// The number of its printed lines that have been shown.
    shown: usize,
    /// True if it has changed since it ran.
    changed: bool,
    /// The message of the last mistake.
    mistake: Option<String>,
    /// The columns of the current table.
    columns: Vec<String>,
    place: String,
}

fn check(name: &str) {
    let path = root().join("docs").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut document = Document {
        found: String::new(),
        program: String::new(),
        shown: 0,
        changed: false,
        mistake: None,
        columns: Vec::new(),
        place: String::new(),
    };
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        document.place = format!("{name}, line {}", number + 1);
        match line.strip_prefix("```") {
            Some(kind) => {
                let block: Vec<&str> =
                    lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
                document.block(kind, &block);
            }
            None => document.line(line),
        }
    }
    document.end();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &document.found).unwrap();
        return;
    }
    for (number, (wanted, found)) in text.lines().zip(document.found.lines()).enumerate() {
        assert!(alike(wanted, found), "{name}, line {}: found\n{found}\nin place of\n{wanted}", number + 1);
    }
    assert_eq!(
        text.lines().count(),
        document.found.lines().count(),
        "{name} shows more, or less, than is printed"
    );
}

impl Document {
    fn line(&mut self, line: &str) {
        if line.starts_with('#') {
            self.end();
            (self.program, self.shown) = (String::new(), 0);
        }
        let line = if line.starts_with('|') { self.row(line) } else { line.to_string() };
        if !line.starts_with('|') {
            self.columns.clear();
        }
        self.found.push_str(&line);
        self.found.push('\n');
    }

    /// Ends a program: checks that all of it has run, and that all its output has been shown.
    fn end(&mut self) {
        if self.changed {
            let printed = run(&self.program, &self.place);
            let rest = &printed[self.shown..];
            assert!(rest.is_empty(), "before {}: not shown: {}", self.place, rest.join("\n"));
            self.changed = false;
        }
    }

    fn block(&mut self, kind: &str, block: &[&str]) {
        let mut found: Vec<String> = block.iter().map(|line| line.to_string()).collect();
        match kind {
            "loom" => {
                block.iter().for_each(|line| writeln!(self.program, "{line}").unwrap());
                self.changed = true;
            }
            "loom mistake" => {
                let program = read(&format!("{}{}", self.program, block.join("\n")));
                assert!(!program.is_ok(), "{}: nothing is wrong", self.place);
                self.mistake = Some(messages(&program).trim_end().to_string());
            }
            "text" => match self.mistake.take() {
                Some(message) => found = message.lines().map(str::to_string).collect(),
                None if self.changed => {
                    let printed = run(&self.program, &self.place);
                    found = printed[self.shown..].to_vec();
                    (self.shown, self.changed) = (printed.len(), false);
                }
                None => {}
            },
            "shapes" => {
                let mut program = read(&self.program);
                assert!(program.is_ok(), "{}\n{}", self.place, messages(&program));
                let names: Vec<&str> =
                    block.iter().map(|line| line.split_whitespace().next().unwrap_or("")).collect();
                let width = names.iter().map(|name| name.len()).max().unwrap_or(0) + 2;
                found = names
                    .iter()
                    .map(|name| format!("{name:width$}{}", shape(&mut program, name, &self.place)))
                    .collect();
            }
            _ => {}
        }
        self.found.push_str(&format!("```{kind}\n"));
        found.iter().for_each(|line| writeln!(self.found, "{}", line.trim_end()).unwrap());
        self.found.push_str("```\n");
    }

    /// Checks a row of a table: evaluates the expression in the column `here`.
    fn row(&mut self, line: &str) -> String {
        let cells: Vec<String> = line
            .trim_matches('|')
            .replace("\\|", "\u{1}")
            .split('|')
            .map(|cell| cell.trim().replace('\u{1}', "|"))
            .collect();
        if self.columns.is_empty() {
            self.columns = cells;
            return line.to_string();
        }
        let column = |name: &str| self.columns.iter().position(|column| column == name);
        let Some(here) = column("here").map(|at| cells[at].trim_matches('`').to_string()) else {
            return line.to_string();
        };
        if cells[0].starts_with("--") || here.is_empty() {
            return line.to_string();
        }
        let mut made = cells.clone();
        if let Some(at) = column("shape") {
            let mut program = read(&format!("{}let result = {here}\n", self.program));
            assert!(program.is_ok(), "{}\n{}", self.place, messages(&program));
            made[at] = format!("`{}`", shape(&mut program, "result", &self.place));
        }
        if let Some(at) = column("value") {
            let printed = run(&format!("{}print {here}\n", self.program), &self.place);
            let all: Vec<&str> =
                printed[self.shown..].iter().flat_map(|line| line.split_whitespace()).collect();
            made[at] = format!("`{}`", all.join(" "));
        }
        let row: Vec<String> = made.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |", row.join(" | "))
    }
}

fn shape(program: &mut Program, name: &str, place: &str) -> String {
    let tensor = program.find(name).unwrap_or_else(|| panic!("{place}: nothing is called {name}"));
    program.graph.final_shape(tensor).unwrap().to_string()
}

/// Returns true if two lines are the same: words exactly, numbers to three digits, any blanks.
fn alike(a: &str, b: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        line.replace('[', " [ ").replace(']', " ] ").split_whitespace().map(str::to_string).collect()
    };
    let (a, b) = (words(a), words(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => (a - b).abs() <= 2e-3 * a.abs().max(0.1),
            _ => a == b,
        })
}
