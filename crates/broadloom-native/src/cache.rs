//! The cache of compiled code: a folder that only this user can write to.
//!
//! Its contents are loaded and run, so nobody else may have put them there. Before the folder is
//! used, it has to be a real folder that belongs to this user (or to the administrator) and that
//! nobody else can write to or put another in the place of; an open file in it has to belong to the
//! same user. The bytes of the file are then read once and compared with their checksum, and a
//! private copy of exactly these bytes is loaded: later changes of the file do not matter. The
//! checksum detects accidents, not forgery; only the permissions of the folder protect against that.
//!
//! A cache that cannot be used never stops a program: a private folder for this process takes its place.
//!
//! `<key>.c` is the source, for readers; `<key>-<sum>.so` is the code, with the checksum of its
//! bytes in its name; `<key>.sum` says which code to take and is written last. Every file is
//! written under another name first and then renamed, so that processes can race. Code with a wrong
//! checksum or another source is compiled again. If the cache grows larger than its limit, the
//! least recently used code is removed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use broadloom_array::shown_path;

use crate::scratch::{Scratch, is_stale, private, remove_stale};

/// The limit in bytes, unless it is set otherwise.
const USUAL_LIMIT: u64 = 1 << 30;
/// The prefix of folders in which something is built.
const WORK: &str = "work-";
/// The file that says that a folder is a cache, and how it begins: the convention of the Cache Directory Tagging Specification.
const TAG: &str = "CACHEDIR.TAG";
const TAG_BEGINS: &str = "Signature: 8a477f597d28d172789f06886806bc55";
/// The prefix of folders that replace a cache.
const INSTEAD: &str = "broadloom-";
/// The length of a key.
const KEY: usize = 32;

/// A folder for compiled code.
#[derive(Debug)]
pub struct Cache {
    wanted: PathBuf,
    place: OnceLock<Chosen>,
}

/// The folder that is really used.
#[derive(Debug)]
enum Chosen {
    Wanted,
    /// A private folder instead of the wanted one, which cannot be used for this reason.
    Instead(Option<Scratch>, String),
}

/// The contents and the limit of a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheUsage {
    /// Its folder.
    pub folder: PathBuf,
    /// The number of compiled pieces of code.
    pub entries: usize,
    /// Their size in bytes, sources included.
    pub bytes: u64,
    /// The most bytes that are kept.
    pub limit: u64,
    /// The reason why it is not used, if it is not.
    pub unusable: Option<String>,
}

/// The files of one piece of code.
#[derive(Default)]
struct Entry {
    files: Vec<PathBuf>,
    bytes: u64,
    used: Option<SystemTime>,
}

impl Cache {
    /// The cache of the user: `BROADLOOM_CACHE`, or `broadloom` in the folder for caches.
    pub fn usual() -> Cache {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = set("BROADLOOM_CACHE")
            .or_else(|| Some(set("XDG_CACHE_HOME")?.join("broadloom")))
            .or_else(|| Some(set("HOME")?.join(".cache").join("broadloom")));
        Cache::at(folder.unwrap_or_else(|| std::env::temp_dir().join(format!("broadloom-of-{}", user()))))
    }

    /// A cache in a folder, which is made when it is needed.
    pub fn at(folder: impl Into<PathBuf>) -> Cache {
        // A slash at the end would follow a link.
        let folder: PathBuf = folder.into().components().collect();
        Cache { wanted: std::path::absolute(&folder).unwrap_or(folder), place: OnceLock::new() }
    }

    /// The folder that was asked for.
    pub fn folder(&self) -> &Path {
        &self.wanted
    }

    /// The reason why the folder that was asked for is not used, if it is not.
    pub fn unusable(&self) -> Option<&str> {
        match self.place() {
            Chosen::Wanted => None,
            Chosen::Instead(_, reason) => Some(reason),
        }
    }

    /// The mistake in the limit that the user has set, and the limit that holds instead.
    pub fn wrong_limit(&self) -> Option<String> {
        limit().err().map(|reason| format!("{reason}; that many are kept"))
    }

    /// Returns true if there is neither a cache nor a temporary folder to compile in.
    pub fn is_nowhere(&self) -> bool {
        self.used().is_none()
    }

    /// The folder that is used, or None if not even a private one could be made.
    fn used(&self) -> Option<&Path> {
        match self.place() {
            Chosen::Wanted => Some(&self.wanted),
            Chosen::Instead(scratch, _) => scratch.as_ref().map(Scratch::path),
        }
    }

    fn place(&self) -> &Chosen {
        self.place.get_or_init(|| {
            let made = private().recursive(true).create(&self.wanted);
            let refused = match made {
                // If something exists there, its kind and owner decide.
                Err(error) if fs::symlink_metadata(&self.wanted).is_err() => Some(error.to_string()),
                _ => distrust(&self.wanted).map(str::to_string),
            };
            let Some(reason) = refused else {
                mark(&self.wanted);
                return Chosen::Wanted;
            };
            let common = std::env::temp_dir();
            remove_stale(&common, |name| is_random(name, INSTEAD));
            Chosen::Instead(Scratch::new(&common, INSTEAD).ok(), reason)
        })
    }

    /// A private folder to build in: in the cache, or in the common temporary folder if there is no
    /// room.
    pub(super) fn scratch(&self) -> io::Result<Scratch> {
        let here = self.used().and_then(|folder| Scratch::new(folder, WORK).ok());
        here.filter(Scratch::has_room).map_or_else(|| Scratch::new(&std::env::temp_dir(), INSTEAD), Ok)
    }

    /// The code of a key, if its source and its checksum are right.
    pub(super) fn find(&self, key: &str, source: &str, ending: &str) -> Option<Vec<u8>> {
        let folder = self.used()?;
        let note = folder.join(format!("{key}.sum"));
        let sum = String::from_utf8(read_own(&note)?).ok()?;
        if !sum.bytes().all(|c| c.is_ascii_hexdigit()) {
            return None;
        }
        let known = read_own(&folder.join(format!("{key}.c")))?;
        let code = read_own(&folder.join(format!("{key}-{sum}.{ending}")))?;
        if known != source.as_bytes() || digest([code.as_slice()].into_iter()) != sum {
            return None;
        }
        // A recent time keeps it from being trimmed. Failing to set it is fine: a cache may be
        // read-only.
        let _ = File::options().write(true).open(&note).and_then(|file| file.set_modified(SystemTime::now()));
        Some(code)
    }

    /// Keeps code. Failures are ignored.
    pub(super) fn keep(&self, key: &str, source: &str, ending: &str, code: &[u8]) {
        let Some(folder) = self.used() else { return };
        let Ok(scratch) = Scratch::new(folder, WORK) else { return };
        let sum = digest([code].into_iter());
        let code_name = format!("{key}-{sum}.{ending}");
        let files: [(String, &[u8]); 3] = [
            (code_name, code),
            (format!("{key}.c"), source.as_bytes()),
            // Last, because it says that the others are complete.
            (format!("{key}.sum"), sum.as_bytes()),
        ];
        let put = |(name, bytes): &(String, &[u8])| {
            let path = scratch.path().join(name);
            fs::write(&path, bytes).and_then(|()| fs::rename(&path, folder.join(name)))
        };
        if files.iter().try_for_each(put).is_ok() {
            let limit = limit().unwrap_or(USUAL_LIMIT);
            trim(folder, limit, key);
        }
        remove_stale(folder, is_work);
    }

    /// The usage of the folder that was asked for.
    pub fn usage(&self) -> Result<CacheUsage, String> {
        let limit = limit()?;
        let exists = fs::symlink_metadata(&self.wanted).is_ok();
        let unusable = if exists { distrust(&self.wanted).map(str::to_string) } else { None };
        let entries = if unusable.is_none() { entries(&self.wanted) } else { BTreeMap::new() };
        let bytes = entries.values().map(|entry| entry.bytes).sum();
        Ok(CacheUsage { folder: self.wanted.clone(), entries: entries.len(), bytes, limit, unusable })
    }

    /// Removes all code from the folder that was asked for, and makes the folder private if it
    /// belongs to this user. Returns the usage that was removed. Other files stay, and so do
    /// folders that a process is working in.
    pub fn clear(&self) -> Result<CacheUsage, String> {
        let folder = &self.wanted;
        let Ok(found) = fs::symlink_metadata(folder) else { return self.usage() };
        if !found.is_dir() || !is_trusted_owner(&found) {
            let reason = distrust(folder).unwrap_or("it cannot be used");
            return Err(format!("{reason}; remove it, or name another folder in BROADLOOM_CACHE"));
        }
        if is_of_others(folder) {
            return Err(
                "it is no cache: it holds other files, and no compiled code; nothing was changed".into()
            );
        }
        make_private(folder, &found).map_err(|error| error.to_string())?;
        let removed = self.usage()?;
        for path in entries(folder).into_values().flat_map(|entry| entry.files) {
            fs::remove_file(&path).map_err(|error| format!("{}: {error}", shown_path(&path)))?;
        }
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let ours = entry.file_name().to_str().is_some_and(is_work);
            if ours && is_stale(&entry.path(), Duration::ZERO) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(removed)
    }
}

/// The most bytes that are kept.
fn limit() -> Result<u64, String> {
    let Some(text) = std::env::var_os("BROADLOOM_CACHE_LIMIT").filter(|text| !text.is_empty()) else {
        return Ok(USUAL_LIMIT);
    };
    let number = text.to_str().and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| {
        format!(
            "BROADLOOM_CACHE_LIMIT is {text:?}, but it has to be a number of bytes, such as {USUAL_LIMIT}"
        )
    })
}

/// Returns true if a name is this prefix followed by a random number.
fn is_random(name: &str, beginning: &str) -> bool {
    let random = name.strip_prefix(beginning);
    random.is_some_and(|random| random.len() == 32 && random.bytes().all(|c| c.is_ascii_hexdigit()))
}

/// Returns true if a folder of this name is one to build in, of this version or an earlier one.
fn is_work(name: &str) -> bool {
    is_random(name, WORK) || name.split_once('.').is_some_and(|(key, _)| key_of(key).is_some())
}

/// The key that the name of a file begins with.
fn key_of(name: &str) -> Option<&str> {
    let key = name.get(..KEY)?;
    let ends = name[KEY..].chars().next().is_none_or(|c| matches!(c, '.' | '-'));
    (ends && key.bytes().all(|c| c.is_ascii_hexdigit())).then_some(key)
}

/// Marks a folder as a cache, for `cache --clear` and for programs that make backups. A cache that cannot be written to stays unmarked.
fn mark(folder: &Path) {
    let tag = folder.join(TAG);
    if fs::symlink_metadata(&tag).is_err() {
        let text = format!(
            "{TAG_BEGINS}\n# Compiled code of Broadloom programs, which is made again when it is missing.\n"
        );
        let _ = fs::write(tag, text);
    }
}

/// Returns true if a folder holds files, and nothing of a cache.
fn is_of_others(folder: &Path) -> bool {
    let mut names =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).peekable();
    let is_ours = |name: &std::ffi::OsString| {
        name.to_str().is_some_and(|name| name == TAG || key_of(name).is_some() || is_work(name))
    };
    names.peek().is_some() && !names.any(|name| is_ours(&name))
}

/// All code in a folder, by key. Files with other names do not belong to the cache.
fn entries(folder: &Path) -> BTreeMap<String, Entry> {
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = file.file_name();
        let Some(name) = name.to_str() else { continue };
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
        let (Some(key), Some("c" | "o" | "so" | "sum")) = (key_of(name), ending) else { continue };
        let Some(found) = file.metadata().ok().filter(|found| found.is_file()) else { continue };
        let entry = entries.entry(key.to_string()).or_default();
        entry.files.push(file.path());
        entry.bytes += found.len();
        entry.used = entry.used.max(found.modified().ok());
    }
    entries
}

/// Removes the least recently used code until the rest fits. The newest always stays.
fn trim(folder: &Path, limit: u64, newest: &str) {
    let mut entries: Vec<(String, Entry)> = entries(folder).into_iter().collect();
    let mut bytes: u64 = entries.iter().map(|(_, entry)| entry.bytes).sum();
    entries.sort_by_key(|(_, entry)| entry.used);
    for (_, entry) in entries.into_iter().filter(|(key, _)| key != newest) {
        if bytes <= limit {
            break;
        }
        // Files that cannot be removed now are removed another time.
        entry.files.iter().for_each(|file| _ = fs::remove_file(file));
        bytes -= entry.bytes;
    }
}

/// Reads a regular file that belongs to this user. The open file is checked, so that it cannot be
/// exchanged in between.
fn read_own(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let found = file.metadata().ok()?;
    if !found.is_file() || !is_trusted_owner(&found) {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The reason why code from a folder cannot be trusted, if it cannot.
fn distrust(folder: &Path) -> Option<&'static str> {
    let Ok(found) = fs::symlink_metadata(folder) else { return Some("it cannot be looked at") };
    if found.is_symlink() {
        return Some("it is a link, which may lead anywhere");
    }
    if !found.is_dir() {
        return Some("it is not a folder");
    }
    if !is_trusted_owner(&found) {
        return Some("it belongs to another user");
    }
    if others_may_write(&found) {
        return Some("other users may write to it");
    }
    let above = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let replaceable = above.ancestors().skip(1).any(|above| fs::metadata(above).is_ok_and(anyone_may_rename));
    replaceable.then_some("a folder above it is open to all users, who may put another in its place")
}

#[cfg(unix)]
fn user() -> String {
    rustix::process::geteuid().as_raw().to_string()
}

#[cfg(not(unix))]
fn user() -> String {
    std::env::var("USERNAME").unwrap_or_default()
}

/// Returns true if it belongs to this user, or to the administrator, who can do everything anyway.
#[cfg(unix)]
fn is_trusted_owner(found: &fs::Metadata) -> bool {
    let owner = std::os::unix::fs::MetadataExt::uid(found);
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_trusted_owner(_: &fs::Metadata) -> bool {
    true
}

#[cfg(unix)]
fn others_may_write(found: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(found) & 0o022 != 0
}

#[cfg(not(unix))]
fn others_may_write(_: &fs::Metadata) -> bool {
    false
}

/// Returns true if every user may rename what is in a folder. In a common temporary folder, which has the sticky bit, only owners may. Groups do not
/// count: on many systems the folders of a user are open to a group that has no other member.
#[cfg(unix)]
fn anyone_may_rename(found: fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(&found) & 0o1002 == 0o0002
}

#[cfg(not(unix))]
fn anyone_may_rename(_: fs::Metadata) -> bool {
    false
}

/// Removes the permission of others to write to a folder.
#[cfg(unix)]
fn make_private(folder: &Path, found: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    match others_may_write(found) {
        true => fs::set_permissions(folder, PermissionsExt::from_mode(found.permissions().mode() & !0o022)),
        false => Ok(()),
    }
}

#[cfg(not(unix))]
fn make_private(_: &Path, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// 128 bits that depend on all bytes. They detect accidents and name files. They are no protection,
/// because anyone who can write to the folder could write checksums too: the permissions of the
/// folder are.
pub(super) fn digest<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let (mut low, mut high) = (DefaultHasher::new(), DefaultHasher::new());
    high.write_u8(1);
    for part in parts {
        for hasher in [&mut low, &mut high] {
            hasher.write_usize(part.len());
            hasher.write(part);
        }
    }
    format!("{:016x}{:016x}", low.finish(), high.finish())
}
