//! Values of data from files, given with `--data NAME=FILE`.

use std::path::{Path, PathBuf};

use broadloom::Array;
use broadloom::files::read_arrays;

/// `x=inputs.npy`
pub(crate) fn parse(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=').map(|(name, file)| (name.trim(), file.trim())) {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.into(), file.into())),
        _ => Err("write a name, `=`, and a file, such as `x=inputs.npy`".into()),
    }
}

/// The array for a name: all of a `.npy` or `.csv` file; of a file with several arrays the one of that name, or the only one.
pub(crate) fn read(name: &str, file: &Path) -> Result<Array, String> {
    let arrays = read_arrays(file).map_err(|error| error.to_string())?;
    let names: Vec<String> = arrays.iter().map(|(name, _)| name.clone()).collect();
    let only = arrays.len() == 1;
    let found = arrays.into_iter().find(|(known, _)| only || known.is_empty() || known == name);
    found
        .map(|(_, array)| array)
        .ok_or_else(|| format!("{} has no array `{name}`, only {}", file.display(), names.join(", ")))
}
