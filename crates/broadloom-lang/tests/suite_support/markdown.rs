//! Markdown files as cases: a heading, its programs, and the expectations of each.
//!
//! Any heading with a program below it is a case. A fenced block `loom` is a program; a line with
//! only a file name in backquotes and a colon names the block below it, which is then a file beside
//! the next program. Blocks of the kinds in [`EXPECTATIONS`] are the expectations of the program
//! before them. All other blocks are prose.

use std::path::{Path, PathBuf};

/// The kinds of blocks that are expectations of a program.
pub const EXPECTATIONS: &[&str] =
    &["shapes", "error", "messages", "warnings", "nest", "output", "format", "file", "says", "signatures"];

/// A fenced block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The first word after its fence.
    pub kind: String,
    /// The text after that word.
    pub rest: String,
    /// Its lines, each with a line end.
    pub text: String,
    /// The line of its first fence, from 1.
    pub line: usize,
}

/// A program and its expectations.
#[derive(Clone, Debug)]
pub struct Example {
    /// The program.
    pub program: Block,
    /// Files beside it: name and text.
    pub files: Vec<(String, String)>,
    /// The expectations.
    pub expected: Vec<Block>,
}

/// A heading with its programs.
#[derive(Clone, Debug)]
pub struct Case {
    /// The file.
    pub file: PathBuf,
    /// The heading.
    pub title: String,
    /// Its line, from 1.
    pub line: usize,
    /// The programs below it.
    pub examples: Vec<Example>,
}

impl Case {
    /// The place of a line of the file, for messages.
    pub fn place(&self, line: usize) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = std::fs::canonicalize(&root).unwrap_or(root);
        let file = std::fs::canonicalize(&self.file).unwrap_or_else(|_| self.file.clone());
        let file = file.strip_prefix(&root).unwrap_or(&file);
        format!("{}:{line}", file.display())
    }
}

/// All cases of a file.
pub fn read(file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut cases: Vec<Case> = Vec::new();
    let (mut files, mut name): (Vec<(String, String)>, Option<String>) = (Vec::new(), None);
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        if let Some(title) = heading(line) {
            let title = title.replace('`', "");
            cases.push(Case { file: file.to_owned(), title, line: number, examples: Vec::new() });
            files.clear();
            name = None;
        } else if let Some(info) = line.strip_prefix("```") {
            let (kind, rest) = info.split_once(' ').unwrap_or((info, ""));
            let inside = lines.by_ref().map(|(line, _)| line).take_while(|line| *line != "```");
            let text: String = inside.flat_map(|line| [line, "\n"]).collect();
            let block = Block { kind: kind.to_owned(), rest: rest.trim().to_owned(), text, line: number };
            let place = || format!("{}:{number}", file.display());
            if let Some(name) = name.take() {
                files.push((name, block.text));
                continue;
            }
            let Some(case) = cases.last_mut() else { continue };
            if block.kind == "loom" {
                let files = std::mem::take(&mut files);
                case.examples.push(Example { program: block, files, expected: Vec::new() });
            } else if EXPECTATIONS.contains(&block.kind.as_str()) {
                let example = case.examples.last_mut();
                let example = example.unwrap_or_else(|| panic!("{}: there is no program above", place()));
                example.expected.push(block);
            }
        } else if !line.trim().is_empty() {
            name = line.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:")).map(str::to_owned);
        }
    }
    cases.retain(|case| !case.examples.is_empty());
    cases
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    (rest.len() < line.len()).then(|| rest.strip_prefix(' ')).flatten()
}

/// The files of the suite, in order: by feature, and the documents whose programs are tests, too.
pub fn suite_files() -> Vec<PathBuf> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(crate_folder.join("tests/suite")).expect("the suite is a folder");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    files.push(crate_folder.join("../../docs/errors.md"));
    files.push(crate_folder.join("../../docs/language.md"));
    files.push(crate_folder.join("../../docs/functions.md"));
    files
}

/// New text for a block: the file, the line of its
/// fence, its old number of lines, and its new lines.
pub type Update = (PathBuf, usize, usize, String);

/// Writes new texts of blocks, the last of a file first.
pub fn rewrite(updates: &mut Vec<Update>) {
    updates.sort();
    updates.dedup();
    for (file, fence, old, new) in updates.iter().rev() {
        let text = std::fs::read_to_string(file).expect("a suite file is readable");
        let mut lines: Vec<&str> = text.lines().collect();
        lines.splice(*fence..*fence + *old, new.lines());
        std::fs::write(file, lines.join("\n") + "\n").expect("a suite file is writable");
    }
}
