//! Values of data from files, given with `run --data` or `verify --inputs`: `FILE` for all arrays
//! in it, or `NAME=FILE` for one.

use std::path::{Path, PathBuf};

use broadloom::Array;
use broadloom::files::{FileErrorKind, read_array, read_wanted};
use broadloom_ide::arrays::{GivenArray, declared};
use broadloom_lang::Program;

use crate::program::shown_path;

/// `x=inputs.npy`
fn parse(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=').map(|(name, file)| (name.trim(), file.trim())) {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.into(), file.into())),
        _ => Err("write a name, `=`, and a file, such as `x=inputs.npy`".into()),
    }
}

/// The array for a name: all of a `.npy` or `.csv` file; in a file with several arrays the one of
/// that name, or the only one.
fn read(name: &str, file: &Path) -> Result<Array, String> {
    if file.to_str().is_some_and(|text| text.starts_with('[')) {
        return Err(format!(
            "values are given as a file, `{name}=inputs.npy`; numbers are written in the program: `data {name} : … = [1, 2, 3]`"
        ));
    }
    let (found, names) = read_array(file, name).map_err(|error| match error.kind() {
        FileErrorKind::Missing => {
            format!("there is no file {}, for the values of `{name}`", shown_path(file))
        }
        _ => error.to_string(),
    })?;
    found.ok_or_else(|| format!("{} has no array `{name}`, only {}", shown_path(file), names.join(", ")))
}

/// A source of arrays: a file, or one array of a file under a name.
#[derive(Clone, Debug)]
pub(crate) struct ArraySource {
    pub name: Option<String>,
    pub file: PathBuf,
}

/// Parses `arrays.npz` or `x=inputs.npy`. The part before `=` is a name only if it could not be a
/// part of a path.
pub(crate) fn source(text: &str) -> Result<ArraySource, String> {
    let named = text.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '\\']));
    if named {
        return parse(text).map(|(name, file)| ArraySource { name: Some(name), file });
    }
    if text.trim().is_empty() {
        return Err("write a file, such as `arrays.npz`, or `x=inputs.npy`".into());
    }
    Ok(ArraySource { name: None, file: text.into() })
}

/// All arrays of all sources, in order, with the values of those that data of the program is called. An array
/// without a name in its file has the name of the file.
pub(crate) fn read_all(sources: &[ArraySource], program: &Program) -> Result<Vec<GivenArray>, String> {
    let wanted = |name: &str| declared(program).any(|made| made.name == name);
    let mut all = Vec::new();
    for ArraySource { name, file } in sources {
        let shown = shown_path(file);
        if let Some(name) = name {
            let array = read(name, file)?;
            all.push(GivenArray::new(name.clone(), array, shown));
            continue;
        }
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let offered = file.extension().is_some_and(|ending| ending == "csv");
        for (name, array) in read_wanted(file, wanted).map_err(|error| error.to_string())? {
            let column = offered && !name.is_empty();
            let name = if name.is_empty() { stem.clone() } else { name };
            all.push(GivenArray { name, array, file: shown.clone(), offered, column });
        }
    }
    Ok(all)
}
