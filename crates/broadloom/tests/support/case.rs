//! The files of `tests/shapes` and `tests/wrong`: a program, a line `---`, and the expectation.
//!
//! Expected shapes:
//!
//! ```text
//! w : 784 -> 64            the final shape of w
//! w ? ..., 784 -> ...      what is known of w before closing
//! d of mean : 12           the final size of a captured label or row
//! d of mean ? unknown      that size before closing
//! ```

use std::path::{Path, PathBuf};

use super::run::Run;
use super::tree::{Captured, Program};

/// A file with a program and an expectation.
#[derive(Clone)]
pub struct Case {
    pub file: PathBuf,
    /// The text before the line `---`.
    pub program: String,
    /// The text after it.
    pub expected: String,
}

/// One line of an expectation.
pub struct Expected {
    pub subject: Subject,
    /// True for a shape before closing.
    pub partial: bool,
    pub value: String,
}

pub enum Subject {
    Tensor(String),
    Captured(Captured),
}

impl Case {
    pub fn name(&self) -> String {
        self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The program of the file.
    pub fn read(&self) -> Result<Program, String> {
        super::read(&self.program).map_err(|message| format!("{}: {message}", self.file.display()))
    }

    /// The shapes that the file expects.
    pub fn shapes(&self) -> Result<Vec<Expected>, String> {
        let lines = self.expected.lines().map(super::lexer::without_comment);
        lines.filter(|line| !line.trim().is_empty()).map(expected).collect()
    }
}

/// All cases of a folder of `tests`, by name.
pub fn cases(folder: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the folder of cases is there");
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    files.into_iter().map(case).collect()
}

fn case(file: PathBuf) -> Case {
    let text = std::fs::read_to_string(&file).expect("a case is readable");
    let (program, expected) = text.split_once("\n---\n").unwrap_or((&text, ""));
    Case { program: program.trim_end().to_owned() + "\n", expected: expected.to_owned(), file }
}

fn expected(line: &str) -> Result<Expected, String> {
    let (subject, partial, value) = match (line.split_once(" : "), line.split_once(" ? ")) {
        (Some((subject, value)), None) => (subject, false, value),
        (None, Some((subject, value))) => (subject, true, value),
        _ => return Err(format!("expected `name : shape` or `name ? shape`: {line}")),
    };
    let subject = match subject.trim().split_once(" of ") {
        Some((label, tensor)) => Subject::Captured(Captured { label: label.into(), tensor: tensor.into() }),
        None => Subject::Tensor(subject.trim().into()),
    };
    Ok(Expected { subject, partial, value: value.trim().to_owned() })
}

impl Expected {
    /// The value in the program that an expectation is about.
    pub fn found(&self, run: &mut Run) -> Result<String, String> {
        match &self.subject {
            Subject::Tensor(name) => {
                let tensor = *run.tensors.get(name).ok_or_else(|| format!("there is no `{name}`"))?;
                if self.partial {
                    return Ok(run.graph.shape(tensor).to_string());
                }
                run.graph
                    .final_shape(tensor)
                    .map(|shape| shape.to_string())
                    .map_err(|error| error.to_string())
            }
            Subject::Captured(captured) => {
                let captured = run.captured(captured).map_err(|stop| stop.to_string())?;
                if self.partial {
                    return Ok(run.graph.size(captured).map_or("unknown".into(), |size| size.to_string()));
                }
                run.graph.final_size(captured).map(|size| size.to_string()).map_err(|error| error.to_string())
            }
        }
    }

    /// The subject as it is written.
    pub fn subject(&self) -> String {
        match &self.subject {
            Subject::Tensor(name) => name.clone(),
            Subject::Captured(captured) => format!("{} of {}", captured.label, captured.tensor),
        }
    }
}
