//! Files: those that NumPy and the `safetensors` package for Python wrote (`files/make.py`), files
//! cut off at every length or changed at every byte, and round trips of arrays.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use broadloom_array::files::{self, CsvHeader, FileError, FileErrorKind};
use broadloom_array::{Array, Dtype, Values, bf16, f16};
use proptest::prelude::*;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

/// The names of the files that Python wrote.
fn fixtures() -> Vec<String> {
    let entries = fs::read_dir(fixture("")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names: BTreeSet<String> = names.filter(|name| !name.ends_with(".py")).collect();
    assert!(names.len() > 30, "the files are there");
    names.into_iter().collect()
}

/// Reads the contents of a file by its ending.
fn decode(name: &str, bytes: &[u8]) -> Result<Vec<(String, Array)>, FileError> {
    match name.rsplit_once('.').unwrap().1 {
        "npy" => files::npy_from_bytes(bytes).map(|array| vec![(String::new(), array)]),
        "npz" => files::npz_from_bytes(bytes),
        "safetensors" => files::safetensors_from_bytes(bytes).map(|tensors| tensors.arrays),
        other => panic!("nothing reads .{other}"),
    }
}

/// A folder of its own for a test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("broadloom-files-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names of all files in it.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn grid(from: i32, dtype: Dtype) -> Array {
    Array::new(&[2, 3], (from..from + 6).collect::<Vec<i32>>()).unwrap().convert(dtype)
}

#[test]
fn every_type_of_numpy() {
    let read = |name: &str| files::read_npy(fixture(name)).unwrap();
    let types = [
        ("f2", -2, Dtype::F16),
        ("f4", -2, Dtype::F32),
        ("f8", -2, Dtype::F64),
        ("i2", -2, Dtype::I16),
        ("u2", 0, Dtype::I32),
        ("i4", -2, Dtype::I32),
        ("u4", 0, Dtype::I64),
        ("i8", -2, Dtype::I64),
        ("u8", 0, Dtype::I64),
    ];
    for (name, from, dtype) in types {
        for order in ["little", "big"] {
            assert_eq!(read(&format!("{order}_{name}.npy")), grid(from, dtype), "{order} {name}");
        }
    }
    assert_eq!(read("i1.npy"), grid(-2, Dtype::I8));
    assert_eq!(read("u1.npy"), grid(250, Dtype::U8));
    assert_eq!(read("b1.npy"), Array::from_slice(&[2, 3], &[false, true, false, true, false, true]).unwrap());
}

#[test]
fn every_form_of_numpy() {
    let read = |name: &str| files::read_npy(fixture(name)).unwrap();
    let counted: Vec<f32> = (0..24u8).map(f32::from).collect();
    assert_eq!(read("fortran.npy"), Array::from_slice(&[2, 3, 4], &counted).unwrap());
    assert_eq!(read("scalar.npy"), Array::scalar(2.5f64));
    assert_eq!(read("empty.npy"), Array::zeros(Dtype::F32, &[0, 3]).unwrap());
    assert_eq!(read("version_2.npy"), grid(0, Dtype::I32));
    assert_eq!(read("version_3.npy"), grid(0, Dtype::I32));
}

#[test]
fn what_is_not_read() {
    let error = |name: &str| decode(name, &fs::read(fixture(name)).unwrap()).unwrap_err();
    for (name, found) in [
        ("complex.npy", "`<c16`"),
        ("text.npy", "`<U1`"),
        ("record.npy", "`[('a', '<i4'), ('b', '<f4')], 'fortran_order': False, 'shape…`"),
        ("bf16.npy", "`<V2`, which may be bf16: use safetensors"),
        ("eight.safetensors", "F8_E4M3"),
    ] {
        let error = error(name);
        assert_eq!((error.kind(), error.found()), (FileErrorKind::Dtype, found), "{name}");
    }
    assert_eq!(error("large_u8.npy").kind(), FileErrorKind::Number);
    assert_eq!(
        error("bzip2.npz").to_string(),
        "the bytes: array `a`: expected stored or deflated contents, found compression method 12"
    );
    assert_eq!(
        error("other.npz").to_string(),
        "the bytes: expected an archive of .npy files only, found `readme.txt`"
    );
}

#[test]
fn archives_of_numpy() {
    let expected = [
        ("w".to_owned(), grid(0, Dtype::F32)),
        ("größe".to_owned(), Array::from_slice(&[1], &[7i64]).unwrap()),
        ("layer/b".to_owned(), Array::zeros(Dtype::F64, &[40]).unwrap()),
    ];
    for name in ["stored.npz", "deflated.npz", "wide.npz"] {
        assert_eq!(files::read_npz(fixture(name)).unwrap(), expected, "{name}");
        let rows = files::OpenRows::open(fixture(name)).unwrap();
        for (at, (_, array)) in expected.iter().enumerate() {
            let last = array.sizes()[0] - 1;
            assert_eq!(rows.arrays()[at].is_held(), name != "stored.npz", "{name}");
            assert_eq!(rows.read(at, &[last, 0]).unwrap(), array.rows(&[last, 0]).unwrap(), "{name}");
        }
    }
}

#[test]
fn safetensors_of_python() {
    let tensors = files::read_safetensors(fixture("types.safetensors")).unwrap();
    let (half, brain) = ([0.5, -1.5].map(f16::from_f32), [1.5, -3.0].map(bf16::from_f32));
    let expected = [
        ("brain", Array::from_slice(&[2], &brain)),
        ("byte", Array::from_slice(&[2], &[250u8, 255])),
        ("double", Ok(Array::scalar(2.5f64))),
        ("flag", Array::from_slice(&[2], &[true, false])),
        ("half", Array::from_slice(&[2], &half)),
        ("int", Array::from_slice(&[1, 1], &[7i32])),
        ("long", Array::from_slice(&[2], &[1i64 << 40, -1])),
        ("none", Array::zeros(Dtype::F32, &[2, 0])),
        ("short", Array::from_slice(&[2], &[-300i16, 300])),
        ("small", Array::from_slice(&[2], &[-128i8, 127])),
        ("w", Ok(grid(0, Dtype::F32))),
    ];
    let expected = expected.map(|(name, array)| (name.to_owned(), array.unwrap()));
    assert_eq!(tensors.arrays, expected);
    assert_eq!(tensors.metadata, BTreeMap::from([("made by".to_owned(), "numpy".to_owned())]));

    // The package and we write the same bytes.
    let plain = files::read_safetensors(fixture("plain.safetensors")).unwrap();
    let written = files::safetensors_to_bytes(plain.arrays, &BTreeMap::new()).unwrap();
    assert_eq!(written, fs::read(fixture("plain.safetensors")).unwrap());
}

/// We write the same bytes as NumPy, where NumPy uses the same type.
#[test]
fn numpy_writes_the_same() {
    for name in ["little_f2", "little_f4", "little_f8", "little_i4", "little_i8", "scalar", "empty"] {
        let bytes = fs::read(fixture(&format!("{name}.npy"))).unwrap();
        assert_eq!(files::npy_to_bytes(&files::npy_from_bytes(&bytes).unwrap()), bytes, "{name}");
    }
}

#[test]
fn files_that_are_cut_off_are_refused() {
    for name in fixtures() {
        let bytes = fs::read(fixture(&name)).unwrap();
        for length in 0..bytes.len() {
            let error = decode(&name, &bytes[..length]).expect_err("a part of a file");
            // Where the header is whole, a type that is not read comes first.
            let early = matches!(error.kind(), FileErrorKind::Truncated);
            let unread = decode(&name, &bytes).err().map(|error| error.kind());
            assert!(early || Some(error.kind()) == unread, "{name} at {length}: {error}");
        }
        let longer = [&bytes[..], b"!"].concat();
        assert!(decode(&name, &longer).is_err(), "{name} with one byte more");
    }
}

/// Reading ends, with an array or with an error, if any one byte is changed.
#[test]
fn files_with_a_changed_byte_are_no_surprise() {
    for name in fixtures() {
        let bytes = fs::read(fixture(&name)).unwrap();
        for place in 0..bytes.len() {
            for change in [1, 0x20, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[place] ^= change;
                let _ = decode(&name, &changed);
            }
        }
    }
}

#[test]
fn errors_name_the_file() {
    let folder = Folder::new();
    let path = folder.file("cut.npy");
    let bytes = fs::read(fixture("little_f4.npy")).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 4]).unwrap();
    let error = files::read_npy(&path).unwrap_err();
    assert_eq!((error.kind(), error.file()), (FileErrorKind::Truncated, Some(path.as_path())));
    assert_eq!(
        error.to_string(),
        format!("{}: expected 24 bytes of numbers for (2, 3) of `<f4`, found 20 bytes", path.display())
    );

    let missing = folder.file("missing.npz");
    let error = files::read_npz(&missing).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: expected a file to read, found none", missing.display()));
    assert_eq!(error.kind(), FileErrorKind::Missing);
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(files::read_safetensors(&folder.0).unwrap_err().kind(), FileErrorKind::Access);
    assert_eq!(files::read_csv(&path, CsvHeader::Detect).unwrap_err().file(), Some(path.as_path()));
}

#[test]
fn writing_leaves_the_old_file_or_the_new_one() {
    let folder = Folder::new();
    let path = folder.file("a.npy");
    files::write_npy(&path, &grid(0, Dtype::F32)).unwrap();
    files::write_npy(&path, &grid(1, Dtype::F64)).unwrap();
    assert_eq!(files::read_npy(&path).unwrap(), grid(1, Dtype::F64));
    assert_eq!(folder.names(), ["a.npy"], "nothing else is left");

    // Refused before anything is written.
    let twice = [("a", grid(0, Dtype::F32)), ("a", grid(1, Dtype::F32))];
    assert_eq!(files::write_npz(&path, twice.clone()).unwrap_err().kind(), FileErrorKind::Name);
    let error = files::write_safetensors(&path, twice, &BTreeMap::new()).unwrap_err();
    assert_eq!((error.kind(), error.file()), (FileErrorKind::Name, Some(path.as_path())));
    assert_eq!(files::read_npy(&path).unwrap(), grid(1, Dtype::F64));

    let nowhere = folder.file("no/such/folder/a.npy");
    let error = files::write_npy(&nowhere, &grid(0, Dtype::F32)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: expected a folder to write into, found none", nowhere.display())
    );
    let error = files::write_npy(&folder.0, &grid(0, Dtype::F32)).unwrap_err();
    assert_eq!((error.kind(), error.found()), (FileErrorKind::Access, "a folder"));
    assert_eq!(folder.names(), ["a.npy"]);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = Folder::new();
    let (real, link) = (folder.file("real.npy"), folder.file("link.npy"));
    files::write_npy(&real, &grid(0, Dtype::F32)).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    files::write_npy(&link, &grid(1, Dtype::F32)).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(files::read_npy(&real).unwrap(), grid(1, Dtype::F32));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

/// A device is no file to be replaced.
#[cfg(target_os = "linux")]
#[test]
fn devices_stay() {
    let error = files::write_npy("/dev/full", &grid(0, Dtype::F32)).unwrap_err();
    assert_eq!(error.to_string(), "/dev/full: expected a file to write, found something that is not a file");
}

#[test]
fn numbers_in_csv() {
    let folder = Folder::new();
    let path = folder.file("a.csv");
    let array = Array::from_slice(&[2, 2], &[0.1f64, -1e-300, f64::INFINITY, 3.0]).unwrap();
    files::write_csv(&path, &["a \"b\"", "c, d"], &array).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "\"a \"\"b\"\"\",\"c, d\"\n0.1,-1e-300\ninf,3.0\n");
    let table = files::read_csv(&path, CsvHeader::Detect).unwrap();
    assert_eq!((table.names.len(), &table.values), (2, &array));
    assert_eq!(table.column("c, d"), Some(vec![-1e-300, 3.0]));
    assert_eq!(table.column("e"), None);

    let none: [&str; 0] = [];
    let column = Array::from_slice(&[3], &[0.1f32, 0.2, 0.3]).unwrap();
    files::write_csv(&path, &none, &column).unwrap();
    let table = files::read_csv(&path, CsvHeader::Absent).unwrap();
    assert_eq!(table.values.convert(Dtype::F32).reshape(&[3]).unwrap(), column);

    let error = files::write_csv(&path, &["one"], &array).unwrap_err();
    assert_eq!((error.kind(), error.found()), (FileErrorKind::Name, "1 names"));
    let error = files::write_csv(&path, &none, &Array::scalar(1i32)).unwrap_err();
    assert_eq!(error.kind(), FileErrorKind::Shape);
    assert_eq!(files::read_csv(&path, CsvHeader::Absent).unwrap().values.len(), 3, "still the old file");
}

/// Arrays of any type and up to four axes, some without numbers.
fn arrays() -> impl Strategy<Value = Array> {
    let sizes = proptest::collection::vec(0u64..5, 0..5);
    (sizes, 0..Dtype::ALL.len()).prop_flat_map(|(sizes, dtype)| {
        let count = sizes.iter().product::<u64>() as usize;
        proptest::collection::vec(any::<u64>(), count).prop_map(move |words| {
            // Any bits, but no NaN, which would not be equal to itself.
            fn finite<T: Copy>(
                words: &[u64],
                from: impl Fn(u64) -> T,
                is_nan: impl Fn(T) -> bool,
                zero: T,
            ) -> Vec<T> {
                let number = |word: &u64| Some(from(*word)).filter(|number| !is_nan(*number)).unwrap_or(zero);
                words.iter().map(number).collect()
            }
            let values = match Dtype::ALL[dtype] {
                Dtype::Bool => Values::Bool(words.iter().map(|word| word % 2 == 1).collect()),
                Dtype::U8 => Values::U8(words.iter().map(|word| *word as u8).collect()),
                Dtype::I8 => Values::I8(words.iter().map(|word| *word as i8).collect()),
                Dtype::I16 => Values::I16(words.iter().map(|word| *word as i16).collect()),
                Dtype::I32 => Values::I32(words.iter().map(|word| *word as i32).collect()),
                Dtype::I64 => Values::I64(words.iter().map(|word| *word as i64).collect()),
                Dtype::Bf16 => Values::Bf16(finite(
                    &words,
                    |word| bf16::from_bits(word as u16),
                    bf16::is_nan,
                    bf16::ZERO,
                )),
                Dtype::F16 => {
                    Values::F16(finite(&words, |word| f16::from_bits(word as u16), f16::is_nan, f16::ZERO))
                }
                Dtype::F32 => {
                    Values::F32(finite(&words, |word| f32::from_bits(word as u32), f32::is_nan, 0.0))
                }
                Dtype::F64 => Values::F64(finite(&words, f64::from_bits, f64::is_nan, 0.0)),
            };
            Array::new(&sizes, values).unwrap()
        })
    })
}

fn named() -> impl Strategy<Value = BTreeMap<String, Array>> {
    proptest::collection::btree_map("[a-zé./_ \"\\\\]{0,6}", arrays(), 0..5)
}

/// The array as `.npy` holds it: with 32-bit floats instead of `bf16`.
fn without_bf16(array: &Array) -> Array {
    if array.dtype() == Dtype::Bf16 { array.convert(Dtype::F32) } else { array.clone() }
}

proptest! {
    #[test]
    fn npy_comes_back(array in arrays()) {
        let bytes = files::npy_to_bytes(&array);
        prop_assert_eq!(files::npy_from_bytes(&bytes).unwrap(), without_bf16(&array));
    }

    #[test]
    fn npz_comes_back(arrays in named()) {
        let bytes = files::npz_to_bytes(&arrays).unwrap();
        let expected: Vec<_> = arrays.iter().map(|(name, array)| (name.clone(), without_bf16(array))).collect();
        prop_assert_eq!(files::npz_from_bytes(&bytes).unwrap(), expected);
    }

    #[test]
    fn safetensors_come_back(arrays in named(), text in proptest::collection::btree_map(".{0,4}", ".{0,4}", 0..4)) {
        let bytes = files::safetensors_to_bytes(&arrays, &text).unwrap();
        let back = files::safetensors_from_bytes(&bytes).unwrap();
        prop_assert_eq!(&back.metadata, &text);
        prop_assert_eq!(back.arrays.clone(), arrays.clone().into_iter().collect::<Vec<_>>());
        // Equal contents make equal files, whatever their order.
        prop_assert_eq!(files::safetensors_to_bytes(back.arrays.into_iter().rev(), &text).unwrap(), bytes);
    }

    #[test]
    fn files_come_back(arrays in named()) {
        let folder = Folder::new();
        let (npz, safetensors) = (folder.file("a.npz"), folder.file("a.safetensors"));
        files::write_npz(&npz, &arrays).unwrap();
        files::write_safetensors(&safetensors, &arrays, &BTreeMap::new()).unwrap();
        prop_assert_eq!(files::read_npz(&npz).unwrap().len(), arrays.len());
        let back = files::read_safetensors(&safetensors).unwrap();
        prop_assert!(arrays.iter().all(|(name, array)| back.get(name) == Some(array)));
        prop_assert_eq!(folder.names(), ["a.npz", "a.safetensors"]);
    }

    #[test]
    fn csv_comes_back(
        columns in 1u64..4,
        numbers in proptest::collection::vec(proptest::num::f64::ANY.prop_filter("a number", |x| !x.is_nan()), 0..20),
    ) {
        let rows = numbers.len() as u64 / columns;
        let array = Array::from_slice(&[rows, columns], &numbers[..(rows * columns) as usize]).unwrap();
        let folder = Folder::new();
        let names: Vec<String> = (0..columns).map(|column| format!("column {column}")).collect();
        files::write_csv(folder.file("a.csv"), &names, &array).unwrap();
        let table = files::read_csv(folder.file("a.csv"), CsvHeader::Detect).unwrap();
        prop_assert_eq!((table.names, table.values), (names, array));
    }

    #[test]
    fn no_text_is_a_surprise(text in "[0-9a,\"\n. ]{0,20}") {
        for header in [CsvHeader::Detect, CsvHeader::Present, CsvHeader::Absent] {
            if let Err(error) = files::csv_from_text(&text, header) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }

    /// Headers made of the right pieces in the wrong places.
    #[test]
    fn no_header_is_a_surprise(pieces in proptest::collection::vec(0usize..18, 0..14)) {
        const PIECES: [&str; 18] = [
            "{", "}", "(", ")", ",", ":", "'descr'", "'fortran_order'", "'shape'", "'<f4'", "'>i8'", "True", "False",
            "2", "0", " ", "\"", "\u{e9}",
        ];
        let header: String = pieces.iter().map(|piece| PIECES[*piece]).collect();
        let length = (header.len() as u16).to_le_bytes();
        let _ = files::npy_from_bytes(&[b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &[0; 8]].concat());
    }
}
