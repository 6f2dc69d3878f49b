//! Safetensors: named arrays and a map of text.
//!
//! Eight bytes give the length of a header in JSON, which gives type, shape and place of every
//! array; then come the numbers. The header is read, and checked against itself, by the
//! `safetensors` crate; the length of the file is compared here, so that the message has both
//! numbers.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::path::Path;

use crate::{Array, Dtype};
use safetensors::Dtype as Foreign;
use safetensors::tensor::Metadata;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{FileError, FileErrorKind, Stored, bytes_of, read, to_bytes, write, write_values};

/// The longest header that readers accept.
pub(super) const LONGEST_HEADER: u64 = 100_000_000;
/// The key of the text in the header, which no array may have.
pub(super) const TEXT_KEY: &str = "__metadata__";

/// The contents of a safetensors file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tensors {
    /// The arrays with their names, in the order of the names.
    pub arrays: Vec<(String, Array)>,
    /// Text that goes with them.
    pub metadata: BTreeMap<String, String>,
}

impl Tensors {
    /// The array of a name.
    pub fn get(&self, name: &str) -> Option<&Array> {
        let place = self.arrays.binary_search_by(|(other, _)| other.as_str().cmp(name)).ok()?;
        self.arrays.get(place).map(|(_, array)| array)
    }
}

/// Reads all arrays of a safetensors file with their names, in the order of the names.
pub fn read_safetensors(path: impl AsRef<Path>) -> Result<Tensors, FileError> {
    read(path.as_ref(), safetensors_from_bytes)
}

/// Writes arrays with their names, and some text, to a safetensors file. The order does not matter: equal
/// contents make equal files. Names must be different.
pub fn write_safetensors<N: AsRef<str>, A: Borrow<Array>>(
    path: impl AsRef<Path>,
    arrays: impl IntoIterator<Item = (N, A)>,
    metadata: &BTreeMap<String, String>,
) -> Result<(), FileError> {
    let arrays: Vec<(N, A)> = arrays.into_iter().collect();
    let (header, order) = header(&arrays, metadata).map_err(|error| error.in_file(path.as_ref()))?;
    write(path.as_ref(), |output| encode(&header, &order, output))
}

/// The contents of a safetensors file.
///
/// ```
/// use std::collections::BTreeMap;
/// use broadloom_array::Array;
/// use broadloom_array::files::{safetensors_from_bytes, safetensors_to_bytes};
///
/// let w = Array::from_slice(&[1, 2], &[0.5f32, 1.5])?;
/// let text = BTreeMap::from([("epoch".to_owned(), "7".to_owned())]);
/// let bytes = safetensors_to_bytes([("w", &w)], &text)?;
/// let back = safetensors_from_bytes(&bytes)?;
/// assert_eq!((back.get("w"), &back.metadata), (Some(&w), &text));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn safetensors_to_bytes<N: AsRef<str>, A: Borrow<Array>>(
    arrays: impl IntoIterator<Item = (N, A)>,
    metadata: &BTreeMap<String, String>,
) -> Result<Vec<u8>, FileError> {
    let arrays: Vec<(N, A)> = arrays.into_iter().collect();
    let (header, order) = header(&arrays, metadata)?;
    Ok(to_bytes(|output| encode(&header, &order, output)))
}

/// The arrays in the contents of a safetensors file.
pub fn safetensors_from_bytes(bytes: &[u8]) -> Result<Tensors, FileError> {
    let Some((length, rest)) = bytes.split_first_chunk() else {
        let found =
            if bytes.is_empty() { "an empty file".to_owned() } else { bytes_of(bytes.len() as u64, "") };
        return Err(FileError::new(FileErrorKind::Truncated, "a safetensors file", found));
    };
    let length = u64::from_le_bytes(*length);
    // Another format, in all likelihood: it would have to start with a length, and then with a brace.
    if length > LONGEST_HEADER || rest.first().is_some_and(|byte| *byte != b'{') {
        return Err(another_format(bytes));
    }
    let split = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
    let Some((header, numbers)) = split else {
        let found = bytes_of(rest.len() as u64, "");
        return Err(FileError::new(FileErrorKind::Truncated, bytes_of(length, " of header"), found));
    };
    let unread = |found: String| {
        FileError::new(
            FileErrorKind::Header,
            "a header in JSON, of types, shapes and places that agree",
            found,
        )
    };
    let text = str::from_utf8(header).map_err(|error| unread(error.to_string()))?;
    // Of two arrays of one name the crate would take the last, where another reader may take the
    // first.
    if let Some(name) = name_twice(text) {
        return Err(FileError::new(FileErrorKind::Name, "different names", format!("`{name}` twice")));
    }
    let header: Metadata = serde_json::from_str(text).map_err(|error| unread(error.to_string()))?;
    let (wanted, found) = (header.data_len() as u64, numbers.len() as u64);
    if wanted != found {
        let kind = if found < wanted { FileErrorKind::Truncated } else { FileErrorKind::Surplus };
        return Err(FileError::new(kind, bytes_of(wanted, " of numbers"), bytes_of(found, "")));
    }

    let mut tensors = Tensors::default();
    for (name, info) in header.tensors() {
        let array = || {
            let stored = stored(info.dtype)?;
            let (start, end) = info.data_offsets;
            let outside =
                || FileError::new(FileErrorKind::Header, "a place in the file", format!("{start}..{end}"));
            let values = stored.decode(numbers.get(start..end).ok_or_else(outside)?, false)?;
            let sizes: Vec<u64> = info.shape.iter().map(|size| *size as u64).collect();
            Array::new(&sizes, values).map_err(|error| {
                FileError::new(FileErrorKind::Header, "as many numbers as the shape says", error.message)
            })
        };
        let array = array().map_err(|error| error.in_part(format!("array `{name}`")))?;
        tensors.arrays.push((name, array));
    }
    tensors.arrays.sort_by(|a, b| a.0.cmp(&b.0));
    let metadata = header.metadata().iter().flatten();
    tensors.metadata = metadata.map(|(key, value)| (key.clone(), value.clone())).collect();
    Ok(tensors)
}

/// The error for bytes that are no safetensors file, by how they start.
pub(super) fn another_format(bytes: &[u8]) -> FileError {
    let expected = "a safetensors file: the length of the header, of at most 100 MB, and the header in JSON";
    let start = super::quote(&bytes[..bytes.len().min(12)]);
    FileError::new(FileErrorKind::Format, expected, format!("one that starts with {start}"))
}

/// A name that a header has twice.
pub(super) fn name_twice(header: &str) -> Option<String> {
    serde_json::from_str::<Twice>(header).ok().and_then(|twice| twice.0)
}

/// A name that an object in JSON has twice.
struct Twice(Option<String>);

impl<'de> Deserialize<'de> for Twice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Twice, D::Error> {
        deserializer.deserialize_map(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Twice;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Twice, A::Error> {
        let (mut seen, mut twice) = (HashSet::new(), None);
        while let Some((name, _)) = map.next_entry::<String, IgnoredAny>()? {
            if seen.contains(&name) {
                twice.get_or_insert(name);
            } else {
                seen.insert(name);
            }
        }
        Ok(Twice(twice))
    }
}

/// The type of numbers in the file.
fn stored(dtype: Foreign) -> Result<Stored, FileError> {
    Ok(match dtype {
        Foreign::BOOL => Stored::Bool,
        Foreign::I8 => Stored::I8,
        Foreign::U8 => Stored::U8,
        Foreign::I16 => Stored::I16,
        Foreign::U16 => Stored::U16,
        Foreign::I32 => Stored::I32,
        Foreign::U32 => Stored::U32,
        Foreign::I64 => Stored::I64,
        Foreign::U64 => Stored::U64,
        Foreign::F16 => Stored::F16,
        Foreign::BF16 => Stored::Bf16,
        Foreign::F32 => Stored::F32,
        Foreign::F64 => Stored::F64,
        other => {
            let expected = "floats of 16, 32 or 64 bits, BF16, integers or BOOL";
            return Err(FileError::new(FileErrorKind::Dtype, expected, other.to_string()));
        }
    })
}

fn foreign(dtype: Dtype) -> Foreign {
    match dtype {
        Dtype::Bool => Foreign::BOOL,
        Dtype::U8 => Foreign::U8,
        Dtype::I8 => Foreign::I8,
        Dtype::I16 => Foreign::I16,
        Dtype::I32 => Foreign::I32,
        Dtype::I64 => Foreign::I64,
        Dtype::Bf16 => Foreign::BF16,
        Dtype::F16 => Foreign::F16,
        Dtype::F32 => Foreign::F32,
        Dtype::F64 => Foreign::F64,
    }
}

/// The header, and the arrays in the order in which they are written: by alignment, so that all are
/// aligned, then by name. The crate writes the same, except for the order of the text, which varies
/// there.
fn header<'a, N: AsRef<str>, A: Borrow<Array>>(
    arrays: &'a [(N, A)],
    metadata: &BTreeMap<String, String>,
) -> Result<(String, Vec<&'a Array>), FileError> {
    let mut order: Vec<(&str, &Array)> =
        arrays.iter().map(|(name, array)| (name.as_ref(), array.borrow())).collect();
    order.sort_by_key(|(name, array)| (std::cmp::Reverse(foreign(array.dtype())), *name));

    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut entries = Vec::new();
    if !metadata.is_empty() {
        let text: Vec<String> =
            metadata.iter().map(|(key, value)| format!("{}:{}", quoted(key), quoted(value))).collect();
        entries.push(format!("\"{TEXT_KEY}\":{{{}}}", text.join(",")));
    }
    let mut seen = HashSet::new();
    let mut offset = 0;
    for (name, array) in &order {
        if *name == TEXT_KEY {
            return Err(FileError::new(FileErrorKind::Name, "names of arrays", format!("`{TEXT_KEY}`")));
        }
        if !seen.insert(*name) {
            return Err(FileError::new(FileErrorKind::Name, "different names", format!("`{name}` twice")));
        }
        let end = offset + array.len() * array.dtype().bytes();
        let (name, dtype) = (quoted(name), foreign(array.dtype()));
        let sizes: Vec<String> = array.sizes().iter().map(u64::to_string).collect();
        let sizes = sizes.join(",");
        entries.push(format!(
            "{name}:{{\"dtype\":\"{dtype}\",\"shape\":[{sizes}],\"data_offsets\":[{offset},{end}]}}"
        ));
        offset = end;
    }
    let mut header = format!("{{{}}}", entries.join(","));
    // The numbers start at a multiple of eight bytes.
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    if header.len() as u64 > LONGEST_HEADER {
        let found = bytes_of(header.len() as u64, "");
        return Err(FileError::new(FileErrorKind::Name, "a header of at most 100 MB", found));
    }
    Ok((header, order.into_iter().map(|(_, array)| array).collect()))
}

fn encode(header: &str, order: &[&Array], output: &mut dyn Write) -> io::Result<()> {
    output.write_all(&(header.len() as u64).to_le_bytes())?;
    output.write_all(header.as_bytes())?;
    order.iter().try_for_each(|array| write_values(array.values(), output))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn file(header: &str, numbers: &[u8]) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), numbers].concat()
    }

    fn check(bytes: &[u8], expect: Expect) {
        let error = safetensors_from_bytes(bytes).unwrap_err();
        expect.assert_eq(&format!("{:?}: {error}", error.kind()));
    }

    /// The same as the crate writes, where the crate always writes the same.
    #[test]
    fn the_crate_writes_the_same() {
        let arrays = [
            ("w", Array::from_slice(&[2, 1], &[1.0f32, 2.0]).unwrap()),
            ("b \"quoted\" ü", Array::zeros(Dtype::Bf16, &[3]).unwrap()),
            ("a", Array::scalar(5i64)),
            ("c", Array::zeros(Dtype::F64, &[0, 2]).unwrap()),
        ];
        let text = BTreeMap::from([("key\n".to_owned(), "value".to_owned())]);
        let ours = safetensors_to_bytes(arrays.iter().map(|(name, array)| (name, array)), &text).unwrap();

        let mut contents = Vec::new();
        for (name, array) in &arrays {
            let shape: Vec<usize> = array.sizes().iter().map(|size| *size as usize).collect();
            let bytes = to_bytes(|output| write_values(array.values(), output));
            contents.push((*name, foreign(array.dtype()), shape, bytes));
        }
        let views = contents.iter().map(|(name, dtype, shape, bytes)| {
            (name, safetensors::tensor::TensorView::new(*dtype, shape.clone(), bytes).unwrap())
        });
        let theirs = safetensors::serialize(views, Some(text.clone().into_iter().collect())).unwrap();
        assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs));
        let back = safetensors_from_bytes(&ours).unwrap();
        assert_eq!(back.metadata, text);
        assert!(arrays.iter().all(|(name, array)| back.get(name) == Some(array)));
        assert_eq!(back.get("nothing"), None);
    }

    #[test]
    fn files_that_are_wrong() {
        check(b"", expect!["Truncated: the bytes: expected a safetensors file, found an empty file"]);
        check(
            b"PK\x03\x04 and more",
            expect![[
                r#"Format: the bytes: expected a safetensors file: the length of the header, of at most 100 MB, and the header in JSON, found one that starts with `PK\x03\x04 and mor`"#
            ]],
        );
        check(
            b"\x93NUMPY\x01\x00",
            expect![[
                r#"Format: the bytes: expected a safetensors file: the length of the header, of at most 100 MB, and the header in JSON, found one that starts with `\x93NUMPY\x01\x00`"#
            ]],
        );
        check(
            &file("{}", b"more"),
            expect!["Surplus: the bytes: expected 0 bytes of numbers, found 4 bytes"],
        );
        check(
            &file("{\"a\":", b""),
            expect![
                "Header: the bytes: expected a header in JSON, of types, shapes and places that agree, found EOF while parsing a value at line 1 column 5"
            ],
        );
        let entry = |dtype: &str, shape: &str, offsets: &str| {
            format!("{{\"a\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":{offsets}}}}}")
        };
        check(
            &file(&entry("F32", "[2]", "[0,8]"), &[0; 7]),
            expect!["Truncated: the bytes: expected 8 bytes of numbers, found 7 bytes"],
        );
        check(
            &file(&entry("F32", "[3]", "[0,8]"), &[0; 8]),
            expect![
                "Header: the bytes: expected a header in JSON, of types, shapes and places that agree, found invalid shape, data type, or offset for tensor"
            ],
        );
        check(
            &file(&entry("F32", "[2]", "[4,12]"), &[0; 12]),
            expect![
                "Header: the bytes: expected a header in JSON, of types, shapes and places that agree, found invalid offset for tensor `a`"
            ],
        );
        check(
            &file(&entry("F8_E4M3", "[2]", "[0,2]"), &[0; 2]),
            expect![
                "Dtype: the bytes: array `a`: expected floats of 16, 32 or 64 bits, BF16, integers or BOOL, found F8_E4M3"
            ],
        );
        check(
            &file(&entry("F31", "[2]", "[0,8]"), &[0; 8]),
            expect![
                "Header: the bytes: expected a header in JSON, of types, shapes and places that agree, found unknown variant `F31`, expected one of `BOOL`, `F4`, `F6_E2M3`, `F6_E3M2`, `U8`, `I8`, `F8_E5M2`, `F8_E4M3`, `F8_E8M0`, `F8_E4M3FNUZ`, `F8_E5M2FNUZ`, `I16`, `U16`, `F16`, `BF16`, `I32`, `U32`, `F32`, `C64`, `F64`, `I64`, `U64` at line 1 column 54"
            ],
        );
        check(
            &file(&entry("U64", "[1]", "[0,8]"), &[255; 8]),
            expect![
                "Number: the bytes: array `a`: expected numbers of at most 2⁶³ − 1, found 18446744073709551615 in unsigned 64-bit integers"
            ],
        );
        check(
            &file(&entry("F32", "[4611686018427387904,8]", "[0,8]"), &[0; 8]),
            expect![
                "Header: the bytes: expected a header in JSON, of types, shapes and places that agree, found overflow computing buffer size from shape and/or element type"
            ],
        );
    }

    /// Two arrays of one name are the mistake that is said, whatever their places are.
    #[test]
    fn names_that_occur_twice() {
        let entry = |start: u64| {
            format!("\"a\":{{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[{start},{}]}}", start + 4)
        };
        for second in [0, 4, 400] {
            check(
                &file(&format!("{{{},{}}}", entry(0), entry(second)), &[0; 8]),
                expect!["Name: the bytes: expected different names, found `a` twice"],
            );
        }
    }

    /// Places whose sum, with the header, is too large to count.
    #[test]
    fn very_long_arrays() {
        let size = (1u64 << 61) - 1;
        let entry = |index: u64| {
            let (start, end) = (index * size, (index + 1) * size);
            format!("\"a{index}\":{{\"dtype\":\"U8\",\"shape\":[{size}],\"data_offsets\":[{start},{end}]}}")
        };
        let header = format!("{{{}}}", (0..8).map(entry).collect::<Vec<_>>().join(","));
        check(
            &file(&header, &[]),
            expect!["Truncated: the bytes: expected 18446744073709551608 bytes of numbers, found 0 bytes"],
        );
    }

    #[test]
    fn names_that_cannot_be() {
        let one = || Array::scalar(1.0f32);
        let error = |names: [&str; 2]| {
            safetensors_to_bytes(names.map(|name| (name, one())), &BTreeMap::new()).unwrap_err().to_string()
        };
        assert_eq!(error(["a", "a"]), "the bytes: expected different names, found `a` twice");
        assert_eq!(error(["a", "__metadata__"]), "the bytes: expected names of arrays, found `__metadata__`");
    }
}
