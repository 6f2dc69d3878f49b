//! Files of arrays whose rows are read when they are asked for, so that an array may be larger than the memory.
//!
//! A row is a part along the first axis. The headers of a file are read when it is opened, and then the rows that are asked
//! for, from their places:
//!
//! | file | rows |
//! |---|---|
//! | `.npy`, `.safetensors`, `.npz` as `numpy.savez` writes it | at their places in the file |
//! | `.csv` | at the beginnings of their lines, which are found by reading the file once |
//! | `.npz` as `numpy.savez_compressed` writes it, `.npy` in Fortran order | have no places: the array is held in memory |
//!
//! Checksums of archives are of whole arrays: those of rows that are read from their places are not looked at.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::csv::{BYTE_ORDER_MARK, Integers, Reader};
use super::npy::{self, Layout};
use super::npz::{self, Member, Place};
use super::opened::{read_exactly, unreadable};
use super::{CsvHeader, FileError, FileErrorKind, OpenTensors, Stored};
use crate::{Array, Dtype};

/// The most bytes at the beginning of a `.npy` file that its header may take.
const LONGEST_HEADER: u64 = 70_000;

/// The arrays of a file, of which rows can be read.
#[derive(Debug)]
pub struct OpenRows {
    path: PathBuf,
    file: Shared,
    arrays: Vec<Rows>,
}

/// An array in an open file.
pub struct Rows {
    /// Its name; empty if it is the whole of the file.
    pub name: String,
    /// The sizes of its axes; the first is the number of rows.
    pub sizes: Vec<u64>,
    /// The type of its numbers; `None` for a table of text, which says none.
    pub dtype: Option<Dtype>,
    from: From,
}

/// The place of the numbers of an array.
enum From {
    /// In row-major order from a place in the file on.
    Place {
        start: u64,
        stored: Stored,
        big_endian: bool,
    },
    /// In the lines that begin at these places: all columns, or one.
    Lines {
        table: std::sync::Arc<Lines>,
        column: Option<usize>,
    },
    /// In memory, once a row has been asked for.
    Member(Member, OnceLock<Array>),
    Turned(OnceLock<Array>),
}

/// The lines of a table.
struct Lines {
    /// The place of each row, and the number of its line.
    places: Vec<(u64, u64)>,
    columns: usize,
    dtype: Dtype,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?} {:?}", self.name, self.sizes, self.dtype)
    }
}

impl Rows {
    /// Returns true if all of it is held in memory, because its rows have no places in the file.
    pub fn is_held(&self) -> bool {
        matches!(self.from, From::Member(..) | From::Turned(_))
    }
}

impl OpenRows {
    /// Opens a `.npy`, `.npz`, `.safetensors` or `.csv` file. The array of a `.npy` file and the table of a `.csv` file have no
    /// name, and come first; the columns of a table follow by their names.
    ///
    /// ```
    /// use broadloom_array::{Array, files};
    ///
    /// # let folder = std::env::temp_dir().join(format!("broadloom-doc-rows-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// let path = folder.join("train.npz");
    /// let x = Array::from_slice(&[3, 2], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// files::write_npz(&path, [("x", &x)])?;
    /// let opened = files::OpenRows::open(&path)?;
    /// assert_eq!((&*opened.arrays()[0].name, &opened.arrays()[0].sizes[..]), ("x", &[3, 2][..]));
    /// assert_eq!(opened.read(0, &[2, 0])?.to_f64s(), [5.0, 6.0, 1.0, 2.0]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<OpenRows, FileError> {
        let path = path.as_ref();
        let opened = || {
            let file = Shared::open(path)?;
            let arrays = match path.extension().and_then(|ending| ending.to_str()) {
                Some("npy") => vec![whole(&file)?],
                Some("npz") => members(&file)?,
                Some("safetensors") => tensors(path)?,
                Some("csv") => table(&file)?,
                ending => {
                    let found =
                        ending.map_or("one without an ending".into(), |ending| format!("`.{ending}`"));
                    let expected = "a `.npy`, `.npz`, `.safetensors` or `.csv` file";
                    return Err(FileError::new(FileErrorKind::Unsupported, expected, found));
                }
            };
            Ok(OpenRows { path: path.to_owned(), file, arrays })
        };
        opened().map_err(|error: FileError| error.in_file(path))
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its arrays.
    pub fn arrays(&self) -> &[Rows] {
        &self.arrays
    }

    /// The rows of an array at these positions, in this order.
    pub fn read(&self, array: usize, rows: &[u64]) -> Result<Array, FileError> {
        let Some(of) = self.arrays.get(array) else {
            let found = format!("{} arrays", self.arrays.len());
            return Err(FileError::new(FileErrorKind::Name, format!("an array {array}"), found));
        };
        let named = |error: FileError| match of.name.is_empty() {
            true => error,
            false => error.in_part(format!("array `{}`", of.name)),
        };
        self.rows_of(of, rows).map_err(|error| named(error).in_file(&self.path))
    }

    fn rows_of(&self, of: &Rows, rows: &[u64]) -> Result<Array, FileError> {
        let count = of.sizes.first().copied().unwrap_or(0);
        if let Some(outside) = rows.iter().find(|row| **row >= count) {
            let found = format!("row {outside} to be asked for");
            return Err(FileError::new(FileErrorKind::Shape, format!("rows below {count}"), found));
        }
        let sizes: Vec<u64> =
            std::iter::once(rows.len() as u64).chain(of.sizes.iter().skip(1).copied()).collect();
        match &of.from {
            From::Place { start, stored, big_endian } => {
                let width = stored.size(&of.sizes[1..]).unwrap_or(0);
                let mut bytes = Vec::new();
                for (first, count) in runs(rows) {
                    bytes.extend(self.file.read(start + first * width, count * width)?);
                }
                shaped(&sizes, stored.decode(&bytes, *big_endian)?)
            }
            From::Lines { table, column } => {
                let values = table.read(&self.file, rows)?;
                let Some(column) = column else { return Ok(values) };
                let part = values.arranged(*column as u64, &[(rows.len() as u64, table.columns as u64)]);
                part.map_err(misshapen)
            }
            From::Member(member, held) => held_rows(held, rows, || member.array(&self.file)),
            From::Turned(held) => {
                held_rows(held, rows, || npy::npy_from_bytes(&self.file.read(0, self.file.length())?))
            }
        }
    }
}

/// Rows of an array that is read when it is needed first.
fn held_rows(
    held: &OnceLock<Array>,
    rows: &[u64],
    read: impl FnOnce() -> Result<Array, FileError>,
) -> Result<Array, FileError> {
    let array = match held.get() {
        Some(array) => array,
        None => {
            let array = read()?;
            held.get_or_init(|| array)
        }
    };
    array.rows(rows).map_err(misshapen)
}

/// Rows that lie one behind the other: the first of them, and how many there are.
fn runs(rows: &[u64]) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for row in rows {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == *row => *count += 1,
            _ => runs.push((*row, 1)),
        }
    }
    runs
}

fn shaped(sizes: &[u64], values: crate::Values) -> Result<Array, FileError> {
    Array::new(sizes, values).map_err(misshapen)
}

fn misshapen(error: crate::ArrayError) -> FileError {
    FileError::new(FileErrorKind::Header, "as many numbers as the shape says", error.message)
}

/// The array of a `.npy` file.
fn whole(file: &Shared) -> Result<Rows, FileError> {
    let first = file.read(0, file.length().min(LONGEST_HEADER))?;
    let layout = npy::layout(&first, file.length())?;
    Ok(described(String::new(), layout, 0, || From::Turned(OnceLock::new())))
}

/// The arrays of a `.npz` file.
fn members(file: &Shared) -> Result<Vec<Rows>, FileError> {
    let describe = |(name, member): (String, Member)| {
        let about = |error: FileError| error.in_part(format!("array `{name}`"));
        let (first, length) = member.beginning(file, LONGEST_HEADER).map_err(about)?;
        let layout = npy::layout(&first, length).map_err(about)?;
        let place = match member.is_compressed().map_err(about)? {
            false => member.place(file),
            true => None,
        };
        Ok(match place {
            Some(place) => described(name.clone(), layout, place, || From::Member(member, OnceLock::new())),
            None => Rows {
                name: name.clone(),
                sizes: layout.sizes,
                dtype: Some(layout.stored.dtype()),
                from: From::Member(member, OnceLock::new()),
            },
        })
    };
    npz::members(file)?.into_iter().map(describe).collect()
}

/// The arrays of a `.safetensors` file.
fn tensors(path: &Path) -> Result<Vec<Rows>, FileError> {
    let opened = OpenTensors::open(path)?;
    let readable = opened.arrays().filter_map(|(name, array)| Some((name, array, array.stored?)));
    let described = readable.map(|(name, array, stored)| Rows {
        name: name.to_string(),
        sizes: array.sizes.clone(),
        dtype: Some(stored.dtype()),
        from: From::Place { start: array.start, stored, big_endian: false },
    });
    Ok(described.collect())
}

/// An array whose header is at a place of the file. In Fortran order its rows have no places.
fn described(name: String, layout: Layout, place: u64, turned: impl FnOnce() -> From) -> Rows {
    let Layout { sizes, stored, big_endian, fortran_order, start } = layout;
    let from = match fortran_order && sizes.len() > 1 {
        true => turned(),
        false => From::Place { start: place + start, stored, big_endian },
    };
    Rows { name, sizes, dtype: Some(stored.dtype()), from }
}

/// The table of a `.csv` file, and its columns. Every line is read once, so that nothing is wrong later.
fn table(file: &Shared) -> Result<Vec<Rows>, FileError> {
    let mut reader = Reader::new(CsvHeader::Detect);
    let (mut numbers, mut integers) = (Vec::new(), Integers::default());
    let mut places = Vec::new();
    let mut locked = file.file.lock().unwrap_or_else(PoisonError::into_inner);
    locked.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    let (mut lines, mut text, mut place) = (BufReader::new(&mut *locked), Vec::new(), 0u64);
    for line in 1.. {
        text.clear();
        let length = lines.read_until(b'\n', &mut text).map_err(unreadable)? as u64;
        if length == 0 {
            break;
        }
        let mut words = text.strip_suffix(b"\n").unwrap_or(&text);
        if line == 1 {
            words = words.strip_prefix(BYTE_ORDER_MARK).unwrap_or(words);
        }
        if reader.read(line, words, &mut numbers, &mut integers)? {
            places.push((place, line));
        }
        place += length;
        numbers.clear();
        integers.forget();
    }
    let (columns, count) = (reader.columns()?, places.len() as u64);
    let long = integers.needed().is_some();
    let dtype = if long { Dtype::I64 } else { Dtype::F64 };
    let table = std::sync::Arc::new(Lines { places, columns: columns as usize, dtype });
    let array = |name: String, sizes: Vec<u64>, column: Option<usize>| Rows {
        name,
        sizes,
        dtype: long.then_some(Dtype::I64),
        from: From::Lines { table: table.clone(), column },
    };
    let named = reader.names.into_iter().enumerate();
    let columns_of = named.map(|(at, name)| array(name, vec![count], Some(at)));
    Ok(std::iter::once(array(String::new(), vec![count, columns], None)).chain(columns_of).collect())
}

impl Lines {
    /// Reads rows, all columns of each.
    fn read(&self, file: &Shared, rows: &[u64]) -> Result<Array, FileError> {
        let mut reader = Reader::new(CsvHeader::Absent);
        let (mut numbers, mut whole) = (Vec::new(), Vec::new());
        let mut locked = file.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = Vec::new();
        for (first, count) in runs(rows) {
            let places = &self.places[first as usize..(first + count) as usize];
            let Some((place, _)) = places.first() else { continue };
            locked.seek(SeekFrom::Start(*place)).map_err(unreadable)?;
            let mut lines = BufReader::new(&mut *locked);
            let (mut read, mut at) = (0, places.iter());
            let mut next = at.next();
            while let Some((start, line)) = next {
                text.clear();
                let length = lines.read_until(b'\n', &mut text).map_err(unreadable)? as u64;
                let words = text.strip_suffix(b"\n").unwrap_or(&text);
                // Lines without numbers lie between rows.
                if place + read == *start {
                    let words = words.strip_prefix(BYTE_ORDER_MARK).unwrap_or(words);
                    let mut integers = Integers::default();
                    if !reader.read(*line, words, &mut numbers, &mut integers)? {
                        return Err(changed(*line));
                    }
                    whole.extend(integers.all());
                    next = at.next();
                } else if length == 0 {
                    return Err(changed(*line));
                }
                read += length;
            }
        }
        let sizes = [rows.len() as u64, self.columns as u64];
        match self.dtype {
            Dtype::I64 => shaped(&sizes, whole.into()),
            _ => shaped(&sizes, numbers.into()),
        }
    }
}

fn changed(line: u64) -> FileError {
    let expected = "the rows that it had when it was opened";
    FileError::new(FileErrorKind::Truncated, expected, "others").in_part(format!("line {line}"))
}

/// A file that several threads read from.
#[derive(Debug)]
struct Shared {
    file: Mutex<File>,
    length: u64,
}

impl Shared {
    fn open(path: &Path) -> Result<Shared, FileError> {
        let file = File::open(path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        Ok(Shared { file: Mutex::new(file), length })
    }

    fn read(&self, start: u64, bytes: u64) -> Result<Vec<u8>, FileError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
        read_exactly(&mut file, bytes)
    }
}

impl Place for Shared {
    fn length(&self) -> u64 {
        self.length
    }

    fn part(&self, start: u64, length: u64) -> Option<Cow<'_, [u8]>> {
        // Memory is taken for what the file has, not for what a damaged header says.
        (start.checked_add(length)? <= self.length).then(|| self.read(start, length).ok().map(Cow::Owned))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{read_array, write_npy, write_npz, write_safetensors};
    use std::collections::BTreeMap;

    /// A folder for a test, which is removed in the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("broadloom-rows-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Rows that are read from their places are those of the whole array.
    fn same_as_whole(path: &Path) {
        let opened = OpenRows::open(path).unwrap();
        for (at, rows) in opened.arrays().iter().enumerate() {
            let whole = match rows.name.as_str() {
                "" => read_array(path, "").unwrap().0.unwrap(),
                name => {
                    let all = crate::files::read_arrays(path).unwrap();
                    all.into_iter().find(|(known, _)| known == name).unwrap().1
                }
            };
            assert_eq!(rows.sizes, whole.sizes(), "{}", path.display());
            if let Some(dtype) = rows.dtype {
                assert_eq!(dtype, whole.dtype());
            }
            for asked in [&[0, 1, 2][..], &[4, 0, 1], &[3], &[], &[2, 2, 4]] {
                assert_eq!(opened.read(at, asked).unwrap(), whole.rows(asked).unwrap(), "{}", path.display());
            }
            assert!(opened.read(at, &[5]).is_err());
        }
        assert!(opened.read(opened.arrays().len(), &[0]).is_err());
    }

    #[test]
    fn rows_of_all_files() {
        let folder = Folder::new("all");
        let path = |name: &str| folder.0.join(name);
        let x = Array::new(&[5, 2, 3], (0..30).map(|at| at as f32 / 4.0).collect::<Vec<f32>>()).unwrap();
        let y = Array::from_slice(&[5], &[7u8, 3, 255, 0, 1]).unwrap();
        write_npy(path("x.npy"), &x).unwrap();
        write_npz(path("xy.npz"), [("x", &x), ("y", &y)]).unwrap();
        let b = x.convert(Dtype::Bf16);
        write_safetensors(path("xy.safetensors"), [("b", &b), ("y", &y)], &BTreeMap::new()).unwrap();
        std::fs::write(path("t.csv"), "a,b\n1,2\n3,4.5\n\n \n5,6\r\n7,8\n9,10").unwrap();
        std::fs::write(path("u.csv"), "\u{feff}1\n2\n3\n4\n9007199254740993\n").unwrap();
        for name in ["x.npy", "xy.npz", "xy.safetensors", "t.csv", "u.csv"] {
            same_as_whole(&path(name));
        }
        let held = |name: &str| OpenRows::open(path(name)).unwrap().arrays().iter().any(Rows::is_held);
        assert!(!["x.npy", "xy.npz", "xy.safetensors", "t.csv"].into_iter().any(held));
    }

    #[test]
    fn arrays_without_places_are_held() {
        let folder = Folder::new("held");
        let path = folder.0.join("f.npy");
        let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (5, 2)}";
        let numbers: Vec<u8> = (0..10i16).flat_map(i16::to_be_bytes).collect();
        let length = (header.len() as u16).to_le_bytes();
        let bytes = [b"\x93NUMPY", &[1, 0][..], &length, header.as_bytes(), &numbers].concat();
        std::fs::write(&path, bytes).unwrap();
        same_as_whole(&path);
        assert!(OpenRows::open(&path).unwrap().arrays()[0].is_held());
    }

    #[test]
    fn files_that_change() {
        let folder = Folder::new("changed");
        let path = folder.0.join("x.npy");
        let x = Array::zeros(Dtype::F32, &[100, 100]).unwrap();
        write_npy(&path, &x).unwrap();
        let opened = OpenRows::open(&path).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4000).unwrap();
        assert_eq!(opened.read(0, &[99]).unwrap_err().kind(), FileErrorKind::Truncated);
        assert_eq!(OpenRows::open(&path).unwrap_err().kind(), FileErrorKind::Truncated);
        let path = folder.0.join("t.csv");
        std::fs::write(&path, "1,2\n3,4\n").unwrap();
        let opened = OpenRows::open(&path).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4).unwrap();
        assert_eq!(opened.read(0, &[1]).unwrap_err().kind(), FileErrorKind::Truncated);
        std::fs::write(&path, "1,2\n3,x\n").unwrap();
        assert_eq!(OpenRows::open(&path).unwrap_err().place(), Some((2, 2)));
    }
}
