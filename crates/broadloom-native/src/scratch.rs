//! Temporary folders: nobody else can read or write them, and nobody can guess their names.
//!
//! A folder holds a file that is locked as long as its process uses the folder. The system unlocks
//! it when the process ends, for whatever reason: that is how [`remove_stale`] recognises folders
//! that are left behind.

use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of the file that is locked.
const LOCK: &str = "lock";
/// The age from which on a folder can count as left behind: a younger one may not have its lock
/// yet.
const YOUNG: Duration = Duration::from_secs(60);

/// A private folder, which is removed when it is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

impl Scratch {
    /// A new folder inside of another one; its name begins with this prefix.
    pub fn new(within: &Path, beginning: &str) -> io::Result<Scratch> {
        let random = || RandomState::new().hash_one(std::process::id());
        let path =
            std::path::absolute(within)?.join(format!("{beginning}{:016x}{:016x}", random(), random()));
        // This fails if the name is already taken, because that entry is not ours.
        private().create(&path)?;
        let lock = File::create_new(path.join(LOCK)).and_then(|file| file.lock().map(|()| file));
        match lock {
            Ok(lock) => Ok(Scratch { path, _lock: lock }),
            Err(error) => {
                let _ = fs::remove_dir_all(&path);
                Err(error)
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if a file of 1 MiB can be written.
    pub fn has_room(&self) -> bool {
        let probe = self.path.join("probe");
        let fits = fs::write(&probe, vec![1; 1 << 20]).is_ok();
        let _ = fs::remove_file(probe);
        fits
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Files that cannot be removed do no harm.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Makes folders that only this user can enter.
pub(super) fn private() -> DirBuilder {
    #[allow(unused_mut, reason = "elsewhere there are no modes")]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Removes folders that ended processes have left behind. `is_ours` decides which names to look at.
pub(super) fn remove_stale(within: &Path, is_ours: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(within).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(&is_ours) && is_stale(&entry.path(), YOUNG) {
            // If it belongs to someone else, it stays.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns true if a folder is older than this, and no process uses it.
pub(super) fn is_stale(folder: &Path, age: Duration) -> bool {
    let Ok(found) = fs::symlink_metadata(folder) else { return false };
    let old = found.modified().is_ok_and(|time| time.elapsed().is_ok_and(|passed| passed >= age));
    let unlocked = match File::open(folder.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_ok(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    found.is_dir() && old && unlocked
}
