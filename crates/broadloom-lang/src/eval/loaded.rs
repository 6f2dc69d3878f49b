//! Arrays of files that are kept while a program is edited: a file is read again only if it has changed.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use broadloom::Array;
use rustc_hash::FxHashMap;

/// An array is forgotten if so many checks have not asked for it.
const CHECKS: u32 = 10;

/// The state of a file that tells whether it has changed: its length and the time of the last change. None if there is no file.
pub(crate) type Stamp = Option<(u64, Option<SystemTime>)>;

/// The state of a file now.
pub(crate) fn stamp(file: &Path) -> Stamp {
    let known = std::fs::metadata(file).ok()?;
    Some((known.len(), known.modified().ok()))
}

/// The array with a name, or the only one if no name is given, and the names of all arrays.
pub(super) type FoundArray = (Option<Rc<Array>>, Vec<String>);

/// Arrays by their files and names.
#[derive(Default)]
pub(crate) struct Loaded {
    arrays: FxHashMap<(PathBuf, Option<String>), Kept>,
}

struct Kept {
    stamp: Stamp,
    found: FoundArray,
    /// The number of checks since it was asked for.
    age: u32,
}

impl Loaded {
    /// Begins the next check. Arrays of files that the program still depends on are kept.
    pub fn next(&mut self, in_use: &[(PathBuf, Stamp)]) {
        self.arrays.retain(|(file, _), kept| {
            kept.age = if in_use.iter().any(|(used, _)| used == file) { 0 } else { kept.age + 1 };
            kept.age < CHECKS
        });
    }

    /// The array of a file that has not changed since it was read.
    pub(super) fn find(&mut self, file: &Path, key: Option<&str>, stamp: &Stamp) -> Option<FoundArray> {
        let kept = self.arrays.get_mut(&(file.to_path_buf(), key.map(String::from)))?;
        // Without a time, a change may leave no trace.
        let is_same = kept.stamp == *stamp && stamp.is_some_and(|(_, changed)| changed.is_some());
        is_same.then(|| kept.found.clone())
    }

    /// Keeps what was read from a file.
    pub(super) fn keep(&mut self, file: &Path, key: Option<&str>, stamp: Stamp, found: FoundArray) {
        self.arrays.insert((file.to_path_buf(), key.map(String::from)), Kept { stamp, found, age: 0 });
    }
}
