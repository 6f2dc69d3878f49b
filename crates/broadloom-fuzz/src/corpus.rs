//! The kept corpus: small files with readable names, a folder for each kind.

use std::io;
use std::path::{Path, PathBuf};

use crate::Kind;

/// The folder of the repository that holds the corpora and the finds.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Reads the inputs of a kind with their names, in the order of the names. Files without an
/// extension belong to libFuzzer, and are left out.
pub fn read(kind: Kind) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder().join("corpus").join(kind.name()))? {
        files.push(entry?.path());
    }
    files.retain(|file| file.is_file() && file.extension().is_some());
    files.sort();
    let name = |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    files.iter().map(|file| Ok((name(file), std::fs::read(file)?))).collect()
}
