//! Arrays in files: NumPy's `.npy` and `.npz`, safetensors, and numbers in CSV.
//!
//! Readers compare the whole file with its header: a file that is cut off, or longer than the
//! header says, is an error with the file, the expected and the found contents. Writers use a
//! temporary file beside the target, which takes the target's place when everything is on the disk;
//! a write that fails leaves the old file.
//!
//! | stored | read as |
//! |---|---|
//! | `f16`, `bf16`, `f32`, `f64`, `u8`, `i8`, `i16`, `i32`, `i64`, `bool` | the same |
//! | unsigned 16-bit integers | `i32` |
//! | unsigned 32-bit integers | `i64` |
//! | unsigned 64-bit integers | `i64`, if every number fits |
//! | anything else | an error |
//!
//! ```
//! use broadloom_array::{Array, files};
//!
//! # let folder = std::env::temp_dir().join(format!("broadloom-doc-files-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let path = folder.join("w.npy");
//! let w = Array::from_slice(&[2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
//! files::write_npy(&path, &w)?;
//! assert_eq!(files::read_npy(&path)?, w);
//!
//! let error = files::read_npy(folder.join("v.npy")).expect_err("there is no such file");
//! assert_eq!(error.kind(), files::FileErrorKind::Missing);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod any;
mod csv;
mod npy;
mod npz;
mod opened;
mod rows;
mod safetensors;

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::replace::{check_replace, replace, replace_text};
use crate::{Dtype, Element, Values, bf16, f16, shown_path};

pub use crate::replace::ReplaceError;
pub use any::{read_array, read_arrays, read_wanted};
pub use csv::{CsvHeader, Table, csv_from_text, read_csv, write_csv};
pub use npy::{npy_from_bytes, npy_to_bytes, read_npy, write_npy};
pub use npz::{npz_from_bytes, npz_to_bytes, read_npz, write_npz};
pub use opened::{Described, OpenTensors};
pub use rows::{OpenRows, Rows};
pub use safetensors::{
    Tensors, read_safetensors, safetensors_from_bytes, safetensors_to_bytes, write_safetensors,
};

/// The kind of problem that a [`FileError`] is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// The file, or the folder to write into, does not exist.
    Missing,
    /// The system refuses to read or to write.
    Access,
    /// The file is of another format.
    Format,
    /// The file ends too early.
    Truncated,
    /// The file continues where it should end.
    Surplus,
    /// The header is not well written, or contradicts itself.
    Header,
    /// The numbers are of a type that arrays do not have.
    Dtype,
    /// A feature of the format that is not supported.
    Unsupported,
    /// The contents are not those that were written.
    Checksum,
    /// A number that is not well written, or does not fit its type.
    Number,
    /// Rows of different lengths, or an array that a format cannot hold.
    Shape,
    /// A name that occurs twice, or that a format cannot hold.
    Name,
}

/// The error for a file that cannot be read or written: the file, the expected and the found
/// contents.
///
/// ```
/// use broadloom_array::files::{CsvHeader, csv_from_text};
///
/// let error = csv_from_text("x,y\n1,2\n3,four\n", CsvHeader::Present).expect_err("a word");
/// assert_eq!(error.to_string(), "the text: line 3, column 2 (`y`): expected a number, found `four`");
/// assert_eq!(error.place(), Some((3, 2)));
/// ```
pub struct FileError(Box<Data>);

#[derive(Debug)]
struct Data {
    kind: FileErrorKind,
    /// `None` if it is not known yet, or if the contents have no file.
    file: Option<PathBuf>,
    /// The words for contents without a file.
    contents: &'static str,
    part: Option<String>,
    place: Option<(u64, u64)>,
    expected: String,
    found: String,
    source: Option<io::Error>,
}

impl FileError {
    fn new(kind: FileErrorKind, expected: impl Into<String>, found: impl Into<String>) -> FileError {
        FileError(Box::new(Data {
            kind,
            file: None,
            contents: "the bytes",
            part: None,
            place: None,
            expected: expected.into(),
            found: found.into(),
            source: None,
        }))
    }

    /// An error of the system.
    fn system(error: io::Error, expected: &str) -> FileError {
        let (kind, found) = match error.kind() {
            io::ErrorKind::NotFound => (FileErrorKind::Missing, "none".to_owned()),
            _ => (FileErrorKind::Access, format!("an error of the system: {error}")),
        };
        let mut error_ = FileError::new(kind, expected, found);
        error_.0.source = Some(error);
        error_
    }

    fn in_file(mut self, file: &Path) -> FileError {
        self.0.file = Some(file.to_owned());
        self
    }

    /// Adds the part of the file that it is about; the innermost part is added first.
    fn in_part(mut self, part: impl fmt::Display) -> FileError {
        self.0.part = Some(match self.0.part {
            Some(inner) => format!("{part}: {inner}"),
            None => part.to_string(),
        });
        self
    }

    /// The kind of problem.
    pub fn kind(&self) -> FileErrorKind {
        self.0.kind
    }

    /// The file, unless the contents came from elsewhere.
    pub fn file(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// The part of the file: an array, a line.
    pub fn part(&self) -> Option<&str> {
        self.0.part.as_deref()
    }

    /// Line and column of a cell, counted from 1.
    pub fn place(&self) -> Option<(u64, u64)> {
        self.0.place
    }

    /// The expected contents.
    pub fn expected(&self) -> &str {
        &self.0.expected
    }

    /// The contents that were found.
    pub fn found(&self) -> &str {
        &self.0.found
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Data { file, contents, part, expected, found, .. } = &*self.0;
        match file {
            Some(file) => write!(f, "{}: ", shown_path(file))?,
            None => write!(f, "{contents}: ")?,
        }
        if let Some(part) = part {
            write!(f, "{part}: ")?;
        }
        write!(f, "expected {expected}, found {found}")
    }
}

impl fmt::Debug for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

/// Reads a file and decodes its contents.
fn read<T>(path: &Path, decode: impl FnOnce(&[u8]) -> Result<T, FileError>) -> Result<T, FileError> {
    let contents = fs::read(path).map_err(|error| FileError::system(error, "a file to read"));
    contents.and_then(|bytes| decode(&bytes)).map_err(|error| error.in_file(path))
}

/// Writes a file so that it is either complete or absent: an old file stays until then.
fn write(path: &Path, encode: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), FileError> {
    replace(path, encode).map_err(|error| unwritten(error).in_file(path))
}

/// Writes a text to a file so that it is either complete or absent: an old file stays until then.
pub fn write_text(path: impl AsRef<Path>, text: &str) -> Result<(), ReplaceError> {
    replace_text(path.as_ref(), text)
}

/// Checks that a file could be written, as far as that is known in advance, so that a program does
/// not fail after hours of work.
pub fn check_writable(path: impl AsRef<Path>) -> Result<(), ReplaceError> {
    check_replace(path.as_ref())
}

fn unwritten(error: ReplaceError) -> FileError {
    match error {
        ReplaceError::Kind(found) => FileError::new(FileErrorKind::Access, "a file to write", found),
        ReplaceError::Folder(error) => FileError::system(error, "a folder to write into"),
        ReplaceError::Contents(error) => FileError::system(error, "room for the file"),
    }
}

/// A type of numbers as files store them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stored {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Stored {
    fn bytes(self) -> usize {
        match self {
            Stored::Bool | Stored::I8 | Stored::U8 => 1,
            Stored::I16 | Stored::U16 | Stored::F16 | Stored::Bf16 => 2,
            Stored::I32 | Stored::U32 | Stored::F32 => 4,
            Stored::I64 | Stored::U64 | Stored::F64 => 8,
        }
    }

    /// The type of the numbers once they are read.
    fn dtype(self) -> Dtype {
        match self {
            Stored::Bool => Dtype::Bool,
            Stored::I8 => Dtype::I8,
            Stored::U8 => Dtype::U8,
            Stored::I16 => Dtype::I16,
            Stored::U16 | Stored::I32 => Dtype::I32,
            Stored::U32 | Stored::I64 | Stored::U64 => Dtype::I64,
            Stored::F16 => Dtype::F16,
            Stored::Bf16 => Dtype::Bf16,
            Stored::F32 => Dtype::F32,
            Stored::F64 => Dtype::F64,
        }
    }

    /// The number of bytes that an array takes, unless it overflows.
    fn size(self, sizes: &[u64]) -> Option<u64> {
        if sizes.contains(&0) {
            return Some(0);
        }
        sizes.iter().try_fold(self.bytes() as u64, |product, size| product.checked_mul(*size))
    }

    /// The numbers in a file.
    fn decode(self, bytes: &[u8], big_endian: bool) -> Result<Values, FileError> {
        fn each<const N: usize, T: Element>(
            bytes: &[u8],
            big_endian: bool,
            number: fn([u8; N]) -> T,
        ) -> Values {
            let read = |chunk: &[u8]| {
                let mut word = [0; N];
                word.copy_from_slice(chunk);
                if big_endian {
                    word.reverse();
                }
                number(word)
            };
            T::values(bytes.chunks_exact(N).map(read).collect())
        }
        Ok(match self {
            Stored::Bool => each(bytes, false, |[byte]| byte != 0),
            Stored::I8 => each(bytes, false, i8::from_le_bytes),
            Stored::U8 => each(bytes, false, u8::from_le_bytes),
            Stored::I16 => each(bytes, big_endian, i16::from_le_bytes),
            Stored::U16 => each(bytes, big_endian, |word| i32::from(u16::from_le_bytes(word))),
            Stored::I32 => each(bytes, big_endian, i32::from_le_bytes),
            Stored::U32 => each(bytes, big_endian, |word| i64::from(u32::from_le_bytes(word))),
            Stored::I64 => each(bytes, big_endian, i64::from_le_bytes),
            Stored::U64 => {
                let values = each(bytes, big_endian, i64::from_le_bytes);
                // A number that does not fit has the sign bit.
                if let Some(large) = i64::numbers(&values).and_then(|all| all.iter().find(|one| **one < 0)) {
                    let found = format!("{} in unsigned 64-bit integers", large.cast_unsigned());
                    return Err(FileError::new(FileErrorKind::Number, "numbers of at most 2⁶³ − 1", found));
                }
                values
            }
            Stored::F16 => each(bytes, big_endian, f16::from_le_bytes),
            Stored::Bf16 => each(bytes, big_endian, bf16::from_le_bytes),
            Stored::F32 => each(bytes, big_endian, f32::from_le_bytes),
            Stored::F64 => each(bytes, big_endian, f64::from_le_bytes),
        })
    }
}

/// Writes numbers as they are, the low byte first.
fn write_values(values: &Values, output: &mut dyn Write) -> io::Result<()> {
    fn each<const N: usize, T: Copy>(
        numbers: &[T],
        output: &mut dyn Write,
        bytes: fn(T) -> [u8; N],
    ) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(4096 * N);
        for chunk in numbers.chunks(4096) {
            buffer.clear();
            buffer.extend(chunk.iter().flat_map(|number| bytes(*number)));
            output.write_all(&buffer)?;
        }
        Ok(())
    }
    match values {
        Values::Bool(numbers) => each(numbers, output, |holds| [u8::from(holds)]),
        Values::U8(numbers) => each(numbers, output, u8::to_le_bytes),
        Values::I8(numbers) => each(numbers, output, i8::to_le_bytes),
        Values::I16(numbers) => each(numbers, output, i16::to_le_bytes),
        Values::I32(numbers) => each(numbers, output, i32::to_le_bytes),
        Values::I64(numbers) => each(numbers, output, i64::to_le_bytes),
        Values::Bf16(numbers) => each(numbers, output, bf16::to_le_bytes),
        Values::F16(numbers) => each(numbers, output, f16::to_le_bytes),
        Values::F32(numbers) => each(numbers, output, f32::to_le_bytes),
        Values::F64(numbers) => each(numbers, output, f64::to_le_bytes),
    }
}

/// The written bytes, in memory.
fn to_bytes(encode: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes).expect("memory takes whatever is written");
    bytes
}

/// A number of bytes in words.
fn bytes_of(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} byte{plural}{what}")
}

/// Some bytes, as text if they are text.
fn quote(bytes: &[u8]) -> String {
    const LONGEST: usize = 60;
    let text = |byte: &u8| match byte {
        b' '..=b'~' => char::from(*byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    let shown: String = match str::from_utf8(bytes) {
        Ok(shown) if !shown.contains(char::is_control) => shown.chars().take(LONGEST).collect(),
        _ => bytes.iter().take(LONGEST).map(text).collect(),
    };
    format!("`{shown}{}`", if bytes.len() > LONGEST { "…" } else { "" })
}

/// Checks the first bytes of a file. The error distinguishes a start that is cut off from another
/// format.
fn check_magic(bytes: &[u8], magic: &[u8], format: &str) -> Result<(), FileError> {
    let shared = bytes.len().min(magic.len());
    if bytes[..shared] != magic[..shared] {
        let expected = format!("{format}, which starts with {}", quote(magic));
        return Err(FileError::new(FileErrorKind::Format, expected, quote(&bytes[..shared])));
    }
    if bytes.len() < magic.len() {
        let found =
            if bytes.is_empty() { "an empty file".to_owned() } else { bytes_of(bytes.len() as u64, "") };
        return Err(FileError::new(FileErrorKind::Truncated, format, found));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that is full after a few bytes.
    #[test]
    fn a_write_that_fails_leaves_what_was_there() {
        let folder = std::env::temp_dir().join(format!("broadloom-write-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a");
        write(&path, |output| output.write_all(b"old")).unwrap();
        let fail = |output: &mut dyn Write| {
            output.write_all(&[0; 100_000])?;
            Err(io::ErrorKind::StorageFull.into())
        };
        let error = write(&path, fail).unwrap_err();
        let fresh = write(&folder.join("b"), fail).unwrap_err();
        assert_eq!((error.kind(), fresh.kind()), (FileErrorKind::Access, FileErrorKind::Access));
        assert_eq!(
            error.to_string(),
            format!(
                "{}: expected room for the file, found an error of the system: no storage space",
                path.display()
            )
        );
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
