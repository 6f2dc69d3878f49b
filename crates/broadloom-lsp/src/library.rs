//! The library as files, so that an editor can open definitions in it. They are written to a folder for caches when they
//! are first asked for; the folder is named after its contents, so that versions do not meet.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use broadloom_diagnostics::{SourceId, Sources};

/// The files of the library that have been written.
#[derive(Default)]
pub(crate) struct Library {
    folder: Option<PathBuf>,
}

impl Library {
    /// Returns true for a file of the library.
    pub fn contains(&self, file: &Path) -> bool {
        self.folder.as_deref().is_some_and(|folder| file.starts_with(folder))
    }

    /// The file of a source of the library: those before the program. None if it cannot be written.
    pub fn file(&mut self, sources: &Sources, main: SourceId, source: SourceId) -> Option<PathBuf> {
        if self.folder.is_none() {
            let folder = caches()?.join(format!("library-{:016x}", version(sources, main)));
            written(&folder, sources, main).ok()?;
            self.folder = Some(folder);
        }
        Some(self.folder.as_deref()?.join(file_name(sources.get(source).name())))
    }
}

/// The folder for caches.
fn caches() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("BROADLOOM_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("broadloom")))
        .or_else(|| Some(set("LOCALAPPDATA")?.join("broadloom")))
        .or_else(|| Some(set("HOME")?.join(".cache/broadloom")))
}

/// A number that changes whenever the library does.
fn version(sources: &Sources, main: SourceId) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (_, source) in sources.iter().take(main.0 as usize) {
        (source.name(), source.text()).hash(&mut hasher);
    }
    hasher.finish()
}

/// `<std/layers.loom>` is the file `std/layers.loom`.
fn file_name(source: &str) -> &str {
    source.trim_matches(['<', '>'])
}

/// Writes the files that are not there yet, for reading only.
fn written(folder: &Path, sources: &Sources, main: SourceId) -> io::Result<()> {
    for (_, source) in sources.iter().take(main.0 as usize) {
        let file = folder.join(file_name(source.name()));
        if fs::read_to_string(&file).is_ok_and(|text| text == source.text()) {
            continue;
        }
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        // Another server may be writing the same file.
        let part = file.with_extension(format!("{}.part", std::process::id()));
        fs::write(&part, source.text())?;
        let mut permissions = fs::metadata(&part)?.permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&part, permissions)?;
        fs::rename(&part, &file)?;
    }
    Ok(())
}
