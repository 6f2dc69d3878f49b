//! Files that are either complete or absent.
//!
//! Everything Broadloom writes to a file goes through [`replace`]: the contents are written to a
//! temporary file in the same folder, brought to the disk, and only then given the name. If
//! anything fails before that, the old file stays.

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The age from which a temporary file counts as left behind: a younger one may not have its lock
/// yet.
const YOUNG: Duration = Duration::from_secs(60);

/// The reason why a file was not written; an old file is still there.
#[derive(Debug)]
pub enum ReplaceError {
    /// Something else has that name: a folder, or a thing that holds no contents.
    Kind(&'static str),
    /// Nothing can be written to the folder.
    Folder(io::Error),
    /// The contents could not be written, brought to the disk, or put in place.
    Contents(io::Error),
}

impl fmt::Display for ReplaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplaceError::Kind(found) => write!(f, "it is {found}"),
            ReplaceError::Folder(error) => match error.kind() {
                io::ErrorKind::NotFound => write!(f, "there is no such folder"),
                io::ErrorKind::PermissionDenied => write!(f, "nothing may be written to its folder"),
                _ => write!(f, "nothing can be written to its folder: {error}"),
            },
            ReplaceError::Contents(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ReplaceError {}

/// Writes a file so that it is either complete or absent: an old file stays until then, and its
/// permissions stay for good.
pub fn replace(
    path: &Path,
    encode: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), ReplaceError> {
    let Prepared { target, before, temporary, file } = Prepared::new(path)?;
    // The file stays open until it has its name: the lock shows that a process works with it.
    let filled = fill(file, before.as_ref(), encode);
    filled.and_then(|_file| fs::rename(&temporary.0, &target)).map_err(ReplaceError::Contents)
}

/// Checks that a file could be replaced, as far as that is known in advance, so that a program does
/// not fail after hours of work.
pub fn check_replace(path: &Path) -> Result<(), ReplaceError> {
    Prepared::new(path).map(drop)
}

/// The target and the temporary file of a write.
struct Prepared {
    target: PathBuf,
    before: Option<Metadata>,
    temporary: Temporary,
    file: File,
}

impl Prepared {
    fn new(path: &Path) -> Result<Prepared, ReplaceError> {
        // A link stays a link, to a new file.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let before = fs::metadata(&target).ok();
        if let Some(before) = before.as_ref().filter(|before| !before.is_file()) {
            let found = if before.is_dir() { "a folder" } else { "something that is not a file" };
            return Err(ReplaceError::Kind(found));
        }
        if target.file_name().is_none() {
            return Err(ReplaceError::Kind("a path without a name"));
        }
        // A user who may not write a file may not replace it either, even in a folder of their own.
        if before.is_some() {
            OpenOptions::new().write(true).open(&target).map_err(ReplaceError::Contents)?;
        }
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        remove_stale(folder);
        let (temporary, file) = temporary(folder).map_err(ReplaceError::Folder)?;
        Ok(Prepared { target, before, temporary, file })
    }
}

/// Writes a text to a file, as [`replace`] does. A target that is no regular file but takes text,
/// such as a named pipe, is written directly.
pub fn replace_text(path: &Path, text: &str) -> Result<(), ReplaceError> {
    let takes_text = |found: Metadata| !found.is_file() && !found.is_dir();
    if fs::metadata(path).is_ok_and(takes_text) {
        let open = OpenOptions::new().write(true).open(path);
        return open.and_then(|mut device| device.write_all(text.as_bytes())).map_err(ReplaceError::Contents);
    }
    replace(path, |output| output.write_all(text.as_bytes()))
}

/// Writes the contents of a file that has no name yet, down to the disk. Returns it, still open.
fn fill(
    file: File,
    before: Option<&Metadata>,
    encode: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<File> {
    let mut output = BufWriter::with_capacity(1 << 16, file);
    encode(&mut output)?;
    let file = output.into_inner().map_err(io::IntoInnerError::into_error)?;
    if let Some(before) = before {
        keep_owner(&file, before);
        file.set_permissions(before.permissions())?;
    }
    file.sync_all()?;
    Ok(file)
}

/// A file that the administrator writes keeps its owner. Others cannot give files away, and need
/// not.
#[cfg(unix)]
fn keep_owner(file: &File, before: &Metadata) {
    use std::os::unix::fs::MetadataExt;
    let _ = std::os::unix::fs::fchown(file, Some(before.uid()), Some(before.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) {}

/// A file that is removed unless it has been renamed.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing left to remove.
        let _ = fs::remove_file(&self.0);
    }
}

/// A new file in a folder.
fn temporary(folder: &Path) -> io::Result<(Temporary, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".broadloom-{}-{number}.part", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            // Left behind by a process that was stopped.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                // Where there are no locks, no file ever counts as left behind.
                let _ = file.lock();
                return Ok((Temporary(path), file));
            }
        }
    }
}

/// Removes the files in a folder that were left behind by processes that ended while they wrote:
/// they are old, and no process holds their lock.
fn remove_stale(folder: &Path) {
    let is_ours = |name: &str| name.starts_with(".broadloom-") && name.ends_with(".part");
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(is_ours) {
            continue;
        }
        let Ok(file) = OpenOptions::new().write(true).open(entry.path()) else { continue };
        let age = file.metadata().and_then(|found| found.modified()).map(|time| time.elapsed());
        if matches!(age, Ok(Ok(age)) if age >= YOUNG) && file.try_lock().is_ok() {
            let _ = fs::remove_file(entry.path());
        }
    }
}
