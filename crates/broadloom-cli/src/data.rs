//! Values of data from files, given with `run --data` or `verify --inputs`: `FILE` for all arrays in it, or `NAME=FILE` for one.

use std::path::{Path, PathBuf};

use broadloom::Array;
use broadloom::files::{read_array, read_arrays};
use broadloom_diagnostics::{Diagnostic, Severity};
use broadloom_ide::kind;
use broadloom_lang::{Made, Program, nearest};

use crate::program::shown_path;

/// `x=inputs.npy`
fn parse(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=').map(|(name, file)| (name.trim(), file.trim())) {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.into(), file.into())),
        _ => Err("write a name, `=`, and a file, such as `x=inputs.npy`".into()),
    }
}

/// The array for a name: all of a `.npy` or `.csv` file; of a file with several arrays the one of that name, or the only one.
fn read(name: &str, file: &Path) -> Result<Array, String> {
    let (found, names) = read_array(file, name).map_err(|error| error.to_string())?;
    found.ok_or_else(|| format!("{} has no array `{name}`, only {}", shown_path(file), names.join(", ")))
}

/// Where arrays come from: a file, or one array of a file under a name.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub name: Option<String>,
    file: PathBuf,
}

/// `arrays.npz`, `x=inputs.npy`; what is before `=` is a name only if it could not be a part of a path.
pub(crate) fn source(text: &str) -> Result<Source, String> {
    let named = text.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '\\']));
    if named {
        return parse(text).map(|(name, file)| Source { name: Some(name), file });
    }
    if text.trim().is_empty() {
        return Err("write a file, such as `arrays.npz`, or `x=inputs.npy`".into());
    }
    Ok(Source { name: None, file: text.into() })
}

/// An array that was given.
pub(crate) struct Given {
    pub name: String,
    pub array: Array,
    /// The file, as it was written.
    pub file: String,
    /// Whether it is one way among several to read a table.
    pub offered: bool,
    /// Whether it is a column of a table.
    pub column: bool,
}

/// All arrays of all sources, in order. What has no name in a file has that of the file.
pub(crate) fn read_all(sources: &[Source]) -> Result<Vec<Given>, String> {
    let mut all = Vec::new();
    for Source { name, file } in sources {
        let shown = shown_path(file);
        if let Some(name) = name {
            let array = read(name, file)?;
            all.push(Given { name: name.clone(), array, file: shown, offered: false, column: false });
            continue;
        }
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let offered = file.extension().is_some_and(|ending| ending == "csv");
        for (name, array) in read_arrays(file).map_err(|error| error.to_string())? {
            let column = offered && !name.is_empty();
            let name = if name.is_empty() { stem.clone() } else { name };
            all.push(Given { name, array, file: shown.clone(), offered, column });
        }
    }
    Ok(all)
}

/// The data of a program.
pub(crate) fn declared(program: &Program) -> impl Iterator<Item = &Made> {
    program.made.iter().filter(|made| kind(&program.graph, made.tensor) == "data")
}

/// The array for data of this name: of several, the last.
pub(crate) fn of<'g>(given: &'g [Given], name: &str) -> Option<&'g Given> {
    given.iter().rev().find(|given| given.name == name)
}

/// Arrays that are the values of some data, in order.
pub(crate) fn used<'a>(program: &'a Program, given: &'a [Given]) -> impl Iterator<Item = &'a Given> {
    given.iter().filter(|array| is_used(program, given, array))
}

/// Arrays that are nobody's values, in order.
pub(crate) fn unused<'a>(program: &'a Program, given: &'a [Given]) -> impl Iterator<Item = &'a Given> {
    given.iter().filter(|array| !is_used(program, given, array))
}

fn is_used(program: &Program, given: &[Given], array: &Given) -> bool {
    let is_last = of(given, &array.name).is_some_and(|last| std::ptr::eq(last, array));
    is_last && declared(program).any(|made| made.name == array.name)
}

/// What is to be said about arrays that the program does not ask for.
pub(crate) fn strangers(program: &Program, given: &[Given]) -> Vec<Diagnostic> {
    let mut notes = Vec::new();
    for Given { name, file, offered, column, .. } in unused(program, given) {
        // The columns of a table are offered, not given: enough if something of it is used.
        let is_offer = *offered && used(program, given).any(|used| used.file == *file);
        if is_offer || (*offered && *column) {
            continue;
        }
        if declared(program).any(|made| made.name == *name) {
            let message = format!("the array `{name}` of {file} is not used: another one comes later");
            notes.push(Diagnostic::new(Severity::Note, "", message));
            continue;
        }
        let message = format!("{file} has an array `{name}`, and the program has no `data {name}`");
        let note = Diagnostic::new(Severity::Note, "", message);
        let near = nearest(name, declared(program).map(|made| made.name.as_str()));
        notes.push(match (program.find(name).map(|tensor| kind(&program.graph, tensor)), near) {
            (Some(kind @ ("parameter" | "state")), _) => {
                note.with_help(format!("`{name}` is a {kind}: `run --load` begins with saved ones"))
            }
            (Some(_), _) => note.with_help(format!("`{name}` is computed")),
            (None, Some(near)) => note.with_help(format!("is `{near}` meant?")),
            (None, None) => note,
        });
    }
    notes
}
