//! Safetensors files that are opened once: their headers are read, and then one array at a time.
//!
//! A checkpoint of a large model is one file, or several with an index, `model.safetensors.index.json`, which says in which of
//! them each array is. Only what is asked for is read, from its place in a file that stays open. A type of numbers that arrays
//! do not have, such as floats of 8 bits, is no mistake until its array is read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};

use super::safetensors::{LONGEST_HEADER, TEXT_KEY, another_format, name_twice};
use super::{FileError, FileErrorKind, Stored, bytes_of};
use crate::Array;

/// The arrays of one or several safetensors files, of which only the headers have been read.
#[derive(Debug)]
pub struct OpenTensors {
    path: PathBuf,
    files: Vec<(PathBuf, Mutex<File>)>,
    arrays: BTreeMap<String, Described>,
    metadata: BTreeMap<String, String>,
}

/// An array in a file: what its header says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Described {
    /// The sizes of its axes.
    pub sizes: Vec<u64>,
    /// The type of its numbers, as the file has it: `F32`, `BF16`, `F8_E4M3`.
    pub stored_as: String,
    pub(super) stored: Option<Stored>,
    file: usize,
    pub(super) start: u64,
    bytes: u64,
}

impl Described {
    /// Returns true if its numbers are of a type that arrays have.
    pub fn is_readable(&self) -> bool {
        self.stored.is_some()
    }
}

impl OpenTensors {
    /// Opens a `.safetensors` file, or all files of a `.safetensors.index.json`, and reads the headers.
    ///
    /// ```
    /// use broadloom_array::{Array, files};
    ///
    /// # let folder = std::env::temp_dir().join(format!("broadloom-doc-opened-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("model.safetensors");
    /// files::write_safetensors(&path, [("w", Array::zeros(broadloom_array::Dtype::F32, &[2, 3])?)], &Default::default())?;
    /// let opened = files::OpenTensors::open(&path)?;
    /// assert_eq!(opened.get("w").map(|w| w.sizes.clone()), Some(vec![2, 3]));
    /// assert_eq!(opened.read("w")?.map(|w| w.len()), Some(6));
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<OpenTensors, FileError> {
        let path = path.as_ref();
        let mut opened = OpenTensors {
            path: path.to_owned(),
            files: Vec::new(),
            arrays: BTreeMap::new(),
            metadata: BTreeMap::new(),
        };
        match path.to_string_lossy().ends_with(".index.json") {
            true => opened.add_indexed(path)?,
            false => opened.add(path)?,
        }
        Ok(opened)
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of all arrays, in order, with what their headers say.
    pub fn arrays(&self) -> impl Iterator<Item = (&str, &Described)> {
        self.arrays.iter().map(|(name, described)| (name.as_str(), described))
    }

    /// The description of an array in the header.
    pub fn get(&self, name: &str) -> Option<&Described> {
        self.arrays.get(name)
    }

    /// The text of a key beside the arrays.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).map(String::as_str)
    }

    /// Reads the numbers of an array, if there is one of that name.
    pub fn read(&self, name: &str) -> Result<Option<Array>, FileError> {
        let Some(array) = self.arrays.get(name) else { return Ok(None) };
        let (path, file) = &self.files[array.file];
        let values = || {
            let unread = || {
                let expected = "floats of 16, 32 or 64 bits, BF16, integers or BOOL";
                FileError::new(FileErrorKind::Dtype, expected, array.stored_as.as_str())
            };
            let stored = array.stored.ok_or_else(unread)?;
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(array.start)).map_err(unreadable)?;
            let bytes = read_exactly(&mut file, array.bytes)?;
            Array::new(&array.sizes, stored.decode(&bytes, false)?).map_err(|error| {
                FileError::new(FileErrorKind::Header, "as many numbers as the shape says", error.message)
            })
        };
        values().map(Some).map_err(|error| error.in_part(format!("array `{name}`")).in_file(path))
    }

    /// Adds the arrays of one file.
    fn add(&mut self, path: &Path) -> Result<(), FileError> {
        self.read_header(path).map_err(|error| error.in_file(path))
    }

    fn read_header(&mut self, path: &Path) -> Result<(), FileError> {
        let mut file = File::open(path).map_err(|error| FileError::system(error, "a file to read"))?;
        let length = file.metadata().map_err(unreadable)?.len();
        let (header, start) = header_of(&mut file, length)?;
        let numbers = length.saturating_sub(start);
        let mut end = 0;
        for (name, entry) in header {
            if name == TEXT_KEY {
                self.metadata.extend(texts(&entry));
                continue;
            }
            let place = (self.files.len(), start, numbers);
            let (described, last) =
                described(&entry, place).map_err(|error| error.in_part(format!("array `{name}`")))?;
            end = end.max(last);
            if self.arrays.insert(name.clone(), described).is_some() {
                let found = format!("`{name}` in two files");
                return Err(FileError::new(FileErrorKind::Name, "different names", found));
            }
        }
        if end != numbers {
            let kind = if numbers < end { FileErrorKind::Truncated } else { FileErrorKind::Surplus };
            return Err(FileError::new(kind, bytes_of(end, " of numbers"), bytes_of(numbers, "")));
        }
        self.files.push((path.to_owned(), Mutex::new(file)));
        Ok(())
    }

    /// Adds the arrays of all files that an index names, and compares them with what the index says.
    fn add_indexed(&mut self, path: &Path) -> Result<(), FileError> {
        let indexed = index_of(path).map_err(|error| error.in_file(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut names: Vec<&str> = indexed.values().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        for name in &names {
            self.add(&folder.join(name))?;
        }
        for (array, file) in &indexed {
            let found = self.arrays.get(array).map(|array| names[array.file]);
            if found != Some(file) {
                let found = found.map_or("none".to_string(), |found| format!("one in {found}"));
                let expected = format!("an array `{array}` in {file}");
                return Err(FileError::new(FileErrorKind::Header, expected, found).in_file(path));
            }
        }
        Ok(())
    }
}

/// The header of a file, and the place where its numbers begin.
fn header_of(file: &mut File, length: u64) -> Result<(Map<String, Value>, u64), FileError> {
    let mut first = Vec::new();
    file.take(20).read_to_end(&mut first).map_err(unreadable)?;
    let Some((size, rest)) = first.split_first_chunk::<8>() else {
        let found = if length == 0 { "an empty file".to_owned() } else { bytes_of(length, "") };
        return Err(FileError::new(FileErrorKind::Truncated, "a safetensors file", found));
    };
    let size = u64::from_le_bytes(*size);
    if size > LONGEST_HEADER || rest.first().is_some_and(|byte| *byte != b'{') {
        return Err(another_format(&first));
    }
    if size > length.saturating_sub(8) {
        let found = bytes_of(length.saturating_sub(8), "");
        return Err(FileError::new(FileErrorKind::Truncated, bytes_of(size, " of header"), found));
    }
    file.seek(SeekFrom::Start(8)).map_err(unreadable)?;
    let bytes = read_exactly(file, size)?;
    let text = str::from_utf8(&bytes).map_err(|error| not_json(error.to_string()))?;
    if let Some(name) = name_twice(text) {
        return Err(FileError::new(FileErrorKind::Name, "different names", format!("`{name}` twice")));
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(header)) => Ok((header, 8 + size)),
        Ok(_) => Err(not_json("no object".into())),
        Err(error) => Err(not_json(error.to_string())),
    }
}

/// Reads an entry of a header: the description of an array, and the end of its numbers. The place is the
/// number of its file, and start and length of the numbers there.
fn described(
    entry: &Value,
    (file, first, numbers): (usize, u64, u64),
) -> Result<(Described, u64), FileError> {
    let wrong = || not_json(entry.to_string().chars().take(80).collect());
    let whole =
        |key: &str| -> Option<Vec<u64>> { entry.get(key)?.as_array()?.iter().map(Value::as_u64).collect() };
    let stored_as = entry.get("dtype").and_then(Value::as_str).ok_or_else(wrong)?.to_string();
    let sizes = whole("shape").ok_or_else(wrong)?;
    let offsets = whole("data_offsets").ok_or_else(wrong)?;
    let [start, end] = offsets[..] else { return Err(wrong()) };
    let stored = stored(&stored_as);
    let is_long_enough = stored.is_none_or(|stored| stored.size(&sizes) == end.checked_sub(start));
    if start > end || !is_long_enough {
        return Err(wrong());
    }
    if end > numbers {
        return Err(FileError::new(
            FileErrorKind::Truncated,
            bytes_of(end, " of numbers"),
            bytes_of(numbers, ""),
        ));
    }
    Ok((Described { sizes, stored_as, stored, file, start: first + start, bytes: end - start }, end))
}

/// The arrays that an index names, and the file of each.
fn index_of(path: &Path) -> Result<BTreeMap<String, String>, FileError> {
    let text = std::fs::read_to_string(path).map_err(|error| FileError::system(error, "a file to read"))?;
    let wrong = |found: String| {
        let expected = "an index in JSON, with the file of each array in `weight_map`";
        FileError::new(FileErrorKind::Header, expected, found)
    };
    let index: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let files = index.get("weight_map").and_then(Value::as_object).ok_or_else(|| wrong("none".into()))?;
    // The files of an index lie beside it.
    let is_plain = |file: &&str| !file.is_empty() && !file.contains(['/', '\\']) && *file != "..";
    let entry = |(array, file): (&String, &Value)| match file.as_str().filter(is_plain) {
        Some(file) => Ok((array.clone(), file.to_string())),
        None => Err(wrong(format!("{file} for `{array}`"))),
    };
    files.iter().map(entry).collect()
}

/// The texts beside the arrays.
fn texts(entry: &Value) -> impl Iterator<Item = (String, String)> {
    let texts = entry.as_object().into_iter().flatten();
    texts.filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_string())))
}

/// The type of numbers that a header names.
fn stored(name: &str) -> Option<Stored> {
    Some(match name {
        "BOOL" => Stored::Bool,
        "I8" => Stored::I8,
        "U8" => Stored::U8,
        "I16" => Stored::I16,
        "U16" => Stored::U16,
        "I32" => Stored::I32,
        "U32" => Stored::U32,
        "I64" => Stored::I64,
        "U64" => Stored::U64,
        "F16" => Stored::F16,
        "BF16" => Stored::Bf16,
        "F32" => Stored::F32,
        "F64" => Stored::F64,
        _ => return None,
    })
}

/// Reads so many bytes. Memory is taken as they arrive, not as a damaged header says.
pub(super) fn read_exactly(file: &mut File, bytes: u64) -> Result<Vec<u8>, FileError> {
    let mut read = Vec::new();
    file.take(bytes).read_to_end(&mut read).map_err(unreadable)?;
    match read.len() as u64 == bytes {
        true => Ok(read),
        false => Err(FileError::new(
            FileErrorKind::Truncated,
            bytes_of(bytes, ""),
            bytes_of(read.len() as u64, ""),
        )),
    }
}

pub(super) fn unreadable(error: std::io::Error) -> FileError {
    FileError::system(error, "a file to read")
}

fn not_json(found: String) -> FileError {
    FileError::new(FileErrorKind::Header, "a header in JSON, of types, shapes and places that agree", found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;
    use crate::files::write_safetensors;
    use expect_test::{Expect, expect};

    /// A folder for a test, which is removed in the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("broadloom-opened-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn write(&self, name: &str, contents: &[u8]) -> PathBuf {
            let path = self.0.join(name);
            std::fs::write(&path, contents).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn file(header: &str, numbers: &[u8]) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), numbers].concat()
    }

    fn entry(dtype: &str, shape: &str, offsets: &str) -> String {
        format!("{{\"a\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":{offsets}}}}}")
    }

    fn check(bytes: &[u8], expect: Expect) {
        let folder = Folder::new(&format!("wrong-{}", bytes.len()));
        let path = folder.write("a.safetensors", bytes);
        let error = OpenTensors::open(&path).unwrap_err();
        let told = error.to_string();
        expect.assert_eq(&format!("{:?}: {}", error.kind(), told.split_once(": ").unwrap().1));
    }

    #[test]
    fn arrays_are_read_one_at_a_time() {
        let folder = Folder::new("one");
        let path = folder.0.join("m.safetensors");
        let (a, b) = (
            Array::from_slice(&[2, 2], &[1.0f32, 2.0, 3.0, 4.0]).unwrap(),
            Array::zeros(Dtype::Bf16, &[3]).unwrap(),
        );
        let text = BTreeMap::from([("key".to_string(), "value".to_string())]);
        write_safetensors(&path, [("a", &a), ("b", &b)], &text).unwrap();
        let opened = OpenTensors::open(&path).unwrap();
        assert_eq!(opened.arrays().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((opened.read("a").unwrap(), opened.read("b").unwrap()), (Some(a), Some(b)));
        assert_eq!((opened.read("c").unwrap(), opened.text("key")), (None, Some("value")));
    }

    #[test]
    fn files_of_an_index() {
        let folder = Folder::new("index");
        let one = Array::from_slice(&[1], &[1.0f32]).unwrap();
        for (file, name) in [("m-1.safetensors", "a"), ("m-2.safetensors", "b")] {
            write_safetensors(folder.0.join(file), [(name, &one)], &BTreeMap::new()).unwrap();
        }
        let index = |map: &str| folder.write("m.safetensors.index.json", map.as_bytes());
        let path = index(r#"{"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}"#);
        assert_eq!(OpenTensors::open(&path).unwrap().read("b").unwrap(), Some(one));
        let told = |map: &str| {
            let told = OpenTensors::open(index(map)).unwrap_err().to_string();
            told.split_once(": ").unwrap().1.to_string()
        };
        assert_eq!(
            told(r#"{"weight_map": {"b": "m-1.safetensors"}}"#),
            "expected an array `b` in m-1.safetensors, found none"
        );
        assert_eq!(
            told(r#"{"weight_map": {"a": "m-1.safetensors", "c": "m-9.safetensors"}}"#),
            "expected a file to read, found none"
        );
        assert_eq!(
            told(r#"{"weight_map": {"a": "../m-1.safetensors"}}"#),
            "expected an index in JSON, with the file of each array in `weight_map`, found \"../m-1.safetensors\" for `a`"
        );
        assert_eq!(
            told("[1]"),
            "expected an index in JSON, with the file of each array in `weight_map`, found none"
        );
    }

    #[test]
    fn types_that_arrays_do_not_have() {
        let folder = Folder::new("types");
        let path = folder.write("a.safetensors", &file(&entry("F8_E4M3", "[2]", "[0,2]"), &[0; 2]));
        let opened = OpenTensors::open(&path).unwrap();
        assert!(!opened.get("a").unwrap().is_readable());
        let told = opened.read("a").unwrap_err();
        assert_eq!((told.kind(), told.found()), (FileErrorKind::Dtype, "F8_E4M3"));
    }

    #[test]
    fn files_that_are_wrong() {
        check(b"", expect!["Truncated: expected a safetensors file, found an empty file"]);
        check(b"abc", expect!["Truncated: expected a safetensors file, found 3 bytes"]);
        check(
            b"PK\x03\x04 and more",
            expect![[
                r#"Format: expected a safetensors file: the length of the header, of at most 100 MB, and the header in JSON, found one that starts with `PK\x03\x04 and mor`"#
            ]],
        );
        check(&file("{}", b"more"), expect!["Surplus: expected 0 bytes of numbers, found 4 bytes"]);
        check(
            &file(&entry("F32", "[2]", "[0,8]"), &[0; 7]),
            expect!["Truncated: array `a`: expected 8 bytes of numbers, found 7 bytes"],
        );
        check(
            &file(&entry("F32", "[3]", "[0,8]"), &[0; 8]),
            expect![[
                r#"Header: array `a`: expected a header in JSON, of types, shapes and places that agree, found {"data_offsets":[0,8],"dtype":"F32","shape":[3]}"#
            ]],
        );
        check(
            &file(&entry("F32", "[4611686018427387904,8]", "[0,8]"), &[0; 9]),
            expect![[
                r#"Header: array `a`: expected a header in JSON, of types, shapes and places that agree, found {"data_offsets":[0,8],"dtype":"F32","shape":[4611686018427387904,8]}"#
            ]],
        );
        check(
            &file(&entry("F32", "[1]", "[8,4]"), &[0; 10]),
            expect![[
                r#"Header: array `a`: expected a header in JSON, of types, shapes and places that agree, found {"data_offsets":[8,4],"dtype":"F32","shape":[1]}"#
            ]],
        );
    }

    /// A file that is cut off anywhere, or has a byte changed, is refused or read, and nothing else.
    #[test]
    fn damaged_files() {
        let folder = Folder::new("damaged");
        let whole = file(&entry("F32", "[2]", "[0,8]"), &[7; 8]);
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x15;
            for bytes in [&whole[..at], &changed] {
                if let Ok(opened) = OpenTensors::open(folder.write("a.safetensors", bytes)) {
                    let _ = opened.read("a");
                }
            }
        }
    }
}
