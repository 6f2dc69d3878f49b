//! Values of data from files, given with `--data NAME=FILE`.

use std::path::{Path, PathBuf};

use broadloom::Array;
use broadloom::files::{CsvHeader, read_csv, read_npy, read_npz, read_safetensors};

/// `x=inputs.npy`
pub(crate) fn parse(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=').map(|(name, file)| (name.trim(), file.trim())) {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.into(), file.into())),
        _ => Err("write a name, `=`, and a file, such as `x=inputs.npy`".into()),
    }
}

/// The array for a name: all of a `.npy` or `.csv` file; of a file with several arrays the one of that name, or the only one.
pub(crate) fn read(name: &str, file: &Path) -> Result<Array, String> {
    let failed = |error: broadloom::files::FileError| error.to_string();
    let arrays: Vec<(String, Array)> = match file.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => return read_npy(file).map_err(failed),
        Some("csv") => return read_csv(file, CsvHeader::Detect).map(|table| table.values).map_err(failed),
        Some("npz") => read_npz(file).map_err(failed)?,
        Some("safetensors") => read_safetensors(file).map_err(failed)?.arrays.into_iter().collect(),
        _ => {
            let kinds = "there are `.npy`, `.npz`, `.csv` and `.safetensors`";
            return Err(format!("{} is of no kind that can be read: {kinds}", file.display()));
        }
    };
    let names: Vec<String> = arrays.iter().map(|(name, _)| name.clone()).collect();
    let only = arrays.len() == 1;
    let found = arrays.into_iter().find(|(known, _)| only || known == name);
    found
        .map(|(_, array)| array)
        .ok_or_else(|| format!("{} has no array `{name}`, only {}", file.display(), names.join(", ")))
}
