//! The programs in the folders that are open in the editor.

use std::path::{Path, PathBuf};

/// The most files of the open folders that are searched.
pub(crate) const MOST_FILES: usize = 2_000;

/// The `.loom` files below some folders, in order. Folders that begin with a dot, and those of builds, are left out.
pub(crate) fn programs(roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = roots.to_vec();
    let is_left_out = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with('.') || name == "target" || name == "node_modules"
    };
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let mut entries: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        entries.sort();
        for path in entries.into_iter().filter(|path| !is_left_out(path)) {
            if found.len() >= MOST_FILES {
                return found;
            }
            // Links to folders are not followed: they may lead back.
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "loom") {
                found.push(std::fs::canonicalize(&path).unwrap_or(path));
            }
        }
    }
    found.sort();
    found
}
