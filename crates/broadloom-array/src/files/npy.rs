//! NumPy's `.npy`: one array.
//!
//! The format (NumPy Enhancement Proposal 1, `numpy.lib.format`): six bytes of magic, two of version, the length of
//! the header in two bytes (version 1) or four (versions 2 and 3), the header, the numbers. The header is a
//! Python dictionary, padded with spaces and ended by a newline:
//!
//! ```text
//! {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//! ```

use std::io::{self, Write};
use std::path::Path;

use crate::{Array, Dtype, Element, Values};

use super::{
    FileError, FileErrorKind, Stored, bytes_of, check_magic, quote, read, to_bytes, write, write_values,
};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads a `.npy` file of version 1, 2 or 3, in any order of bytes and of axes.
///
/// Numbers in Fortran order are put into row-major order.
pub fn read_npy(path: impl AsRef<Path>) -> Result<Array, FileError> {
    read(path.as_ref(), npy_from_bytes)
}

/// Writes a `.npy` file. The format has no name for `bf16`: such numbers are written as 32-bit floats, which
/// hold them exactly.
pub fn write_npy(path: impl AsRef<Path>, array: &Array) -> Result<(), FileError> {
    write(path.as_ref(), |output| encode(array, output))
}

/// The contents of a `.npy` file.
pub fn npy_to_bytes(array: &Array) -> Vec<u8> {
    to_bytes(|output| encode(array, output))
}

/// The array in the contents of a `.npy` file.
///
/// ```
/// use broadloom_array::files::{npy_from_bytes, npy_to_bytes};
///
/// let bytes = npy_to_bytes(&broadloom_array::Array::scalar(7i64));
/// assert_eq!(npy_from_bytes(&bytes)?.item(), Some(7.0));
///
/// let error = npy_from_bytes(&bytes[..bytes.len() - 3]).expect_err("cut off");
/// assert_eq!(error.to_string(), "the bytes: expected 8 bytes of numbers for () of `<i8`, found 5 bytes");
/// # Ok::<(), broadloom_array::files::FileError>(())
/// ```
pub fn npy_from_bytes(bytes: &[u8]) -> Result<Array, FileError> {
    let Layout { sizes, stored, big_endian, fortran_order, start } = layout(bytes, bytes.len() as u64)?;
    let numbers = &bytes[start as usize..];
    let values = stored.decode(numbers, big_endian)?;
    let values = if fortran_order && sizes.len() > 1 { row_major(&sizes, &values) } else { values };
    Array::new(&sizes, values).map_err(|error| {
        FileError::new(FileErrorKind::Header, "as many numbers as the shape says", error.message)
    })
}

/// An array as its header describes it.
pub(super) struct Layout {
    pub sizes: Vec<u64>,
    pub stored: Stored,
    pub big_endian: bool,
    /// True if the first axis is the fastest.
    pub fortran_order: bool,
    /// The place of the first number.
    pub start: u64,
}

/// Reads the layout of a `.npy` file of a given length from its first bytes, or from all of them.
pub(super) fn layout(bytes: &[u8], length: u64) -> Result<Layout, FileError> {
    check_magic(bytes, MAGIC, "a .npy file")?;
    let too_short = |expected: &str| {
        FileError::new(FileErrorKind::Truncated, expected, format!("{} in all", bytes_of(length, "")))
    };
    // The bytes from a place on, those that were not read included.
    let length_after = |rest: &[u8]| length.saturating_sub((bytes.len() - rest.len()) as u64);
    let rest = &bytes[MAGIC.len()..];
    let [major, minor, rest @ ..] = rest else {
        return Err(too_short("the version of the .npy format"));
    };
    let (header_length, rest) = match (major, rest) {
        (1, [a, b, rest @ ..]) => (u64::from(u16::from_le_bytes([*a, *b])), rest),
        (2 | 3, [a, b, c, d, rest @ ..]) => (u64::from(u32::from_le_bytes([*a, *b, *c, *d])), rest),
        (1..=3, _) => return Err(too_short("the length of the header")),
        _ => {
            let found = format!("version {major}.{minor}");
            return Err(FileError::new(
                FileErrorKind::Unsupported,
                "a .npy file of version 1, 2 or 3",
                found,
            ));
        }
    };
    let split = usize::try_from(header_length).ok().and_then(|length| rest.split_at_checked(length));
    let Some((header, numbers)) = split else {
        let found = bytes_of(length_after(rest), "");
        return Err(FileError::new(FileErrorKind::Truncated, bytes_of(header_length, " of header"), found));
    };

    let Header { descr, fortran_order, sizes } = Parser { text: header, at: 0 }.header()?;
    let (stored, big_endian) = stored(&descr)?;
    let found = length_after(numbers);
    let wanted = stored.size(&sizes);
    if wanted != Some(found) {
        let shown = format!(" of numbers for {} of `{descr}`", tuple(&sizes));
        let expected = match wanted {
            Some(wanted) => bytes_of(wanted, &shown),
            None => format!("more bytes{shown} than can be counted"),
        };
        let less = wanted.is_none_or(|wanted| found < wanted);
        let kind = if less { FileErrorKind::Truncated } else { FileErrorKind::Surplus };
        return Err(FileError::new(kind, expected, bytes_of(found, "")));
    }
    let start = (bytes.len() - numbers.len()) as u64;
    Ok(Layout { sizes, stored, big_endian, fortran_order, start })
}

/// Writes header and numbers.
pub(super) fn encode(array: &Array, output: &mut dyn Write) -> io::Result<()> {
    let wide;
    let array = match array.dtype() {
        Dtype::Bf16 => {
            wide = array.convert(Dtype::F32);
            &wide
        }
        _ => array,
    };
    let descr = match array.dtype() {
        Dtype::Bool => "|b1",
        Dtype::U8 => "|u1",
        Dtype::I8 => "|i1",
        Dtype::I16 => "<i2",
        Dtype::I32 => "<i4",
        Dtype::I64 => "<i8",
        Dtype::F16 => "<f2",
        Dtype::Bf16 | Dtype::F32 => "<f4",
        Dtype::F64 => "<f8",
    };
    let shape = tuple(array.sizes());
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // The numbers start at a multiple of 64 bytes; the header ends with a newline.
    let start = |fixed: usize| (fixed + header.len() + 1).next_multiple_of(64);
    let small = start(10) - 10 <= usize::from(u16::MAX);
    let fixed = if small { 10 } else { 12 };
    let length = start(fixed) - fixed;
    header.extend(std::iter::repeat_n(' ', length - header.len() - 1));
    output.write_all(MAGIC)?;
    if small {
        output.write_all(&[1, 0])?;
        output.write_all(&(length as u16).to_le_bytes())?;
    } else {
        output.write_all(&[2, 0])?;
        output.write_all(&(length as u32).to_le_bytes())?;
    }
    output.write_all(header.as_bytes())?;
    output.write_all(b"\n")?;
    write_values(array.values(), output)
}

/// Sizes as Python writes them.
fn tuple(sizes: &[u64]) -> String {
    match sizes {
        [size] => format!("({size},)"),
        sizes => format!("({})", sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The type of numbers that `descr` means, and true if the high byte comes first.
fn stored(descr: &str) -> Result<(Stored, bool), FileError> {
    let (order, name) = match descr.as_bytes() {
        [order @ (b'<' | b'>' | b'|' | b'='), ..] => (*order, &descr[1..]),
        _ => (b'=', descr),
    };
    let stored = match name {
        "b1" => Some(Stored::Bool),
        "i1" => Some(Stored::I8),
        "u1" => Some(Stored::U8),
        "i2" => Some(Stored::I16),
        "u2" => Some(Stored::U16),
        "i4" => Some(Stored::I32),
        "u4" => Some(Stored::U32),
        "i8" => Some(Stored::I64),
        "u8" => Some(Stored::U64),
        "f2" => Some(Stored::F16),
        "f4" => Some(Stored::F32),
        "f8" => Some(Stored::F64),
        _ => None,
    };
    // Without an order, only single bytes have the same meaning everywhere.
    match stored {
        Some(stored) if stored.bytes() == 1 || matches!(order, b'<' | b'>') => Ok((stored, order == b'>')),
        _ => Err(unsupported(
            descr.as_bytes(),
            if name == "V2" { ", which may be bf16: use safetensors" } else { "" },
        )),
    }
}

fn unsupported(descr: &[u8], note: &str) -> FileError {
    let expected = "numbers of type f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 or b1";
    FileError::new(FileErrorKind::Dtype, expected, format!("{}{note}", quote(descr)))
}

/// Numbers whose first axis is the fastest, in row-major order.
fn row_major(sizes: &[u64], values: &Values) -> Values {
    fn permute<T: Element>(sizes: &[u64], numbers: &[T]) -> Values {
        // The sizes multiply to the number of numbers, so that nothing overflows.
        let mut strides = Vec::with_capacity(sizes.len());
        let mut stride = 1;
        for size in sizes {
            strides.push(stride);
            stride *= *size as usize;
        }
        let mut point = vec![0u64; sizes.len()];
        let mut from = 0;
        let mut result = Vec::with_capacity(numbers.len());
        while result.len() < numbers.len() {
            result.push(numbers[from]);
            for axis in (0..sizes.len()).rev() {
                point[axis] += 1;
                from += strides[axis];
                if point[axis] < sizes[axis] {
                    break;
                }
                from -= strides[axis] * sizes[axis] as usize;
                point[axis] = 0;
            }
        }
        T::values(result)
    }
    if values.is_empty() {
        return values.clone();
    }
    match values {
        Values::Bool(numbers) => permute(sizes, numbers),
        Values::U8(numbers) => permute(sizes, numbers),
        Values::I8(numbers) => permute(sizes, numbers),
        Values::I16(numbers) => permute(sizes, numbers),
        Values::I32(numbers) => permute(sizes, numbers),
        Values::I64(numbers) => permute(sizes, numbers),
        Values::Bf16(numbers) => permute(sizes, numbers),
        Values::F16(numbers) => permute(sizes, numbers),
        Values::F32(numbers) => permute(sizes, numbers),
        Values::F64(numbers) => permute(sizes, numbers),
    }
}

/// The contents of the header.
struct Header {
    descr: String,
    fortran_order: bool,
    sizes: Vec<u64>,
}

/// Reads the header: a Python dictionary with three keys, in any order.
struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn header(mut self) -> Result<Header, FileError> {
        let (mut descr, mut fortran_order, mut sizes) = (None, None, None);
        self.sign(b'{')?;
        while self.peek() != Some(b'}') {
            let key = self.string("a key")?;
            self.sign(b':')?;
            let again = match key.as_str() {
                "descr" => {
                    if matches!(self.peek(), Some(b'[' | b'(' | b'{')) {
                        return Err(unsupported(&self.text[self.at..], ""));
                    }
                    descr.replace(self.string("a type in quotes")?).is_some()
                }
                "fortran_order" => fortran_order.replace(self.truth()?).is_some(),
                "shape" => sizes.replace(self.sizes()?).is_some(),
                _ => {
                    return Err(
                        self.wrong("a key `descr`, `fortran_order` or `shape`", quote(key.as_bytes()))
                    );
                }
            };
            if again {
                return Err(self.wrong("each key once", format!("`{key}` again")));
            }
            if self.peek() != Some(b'}') {
                self.sign(b',')?;
            }
        }
        self.sign(b'}')?;
        if self.peek().is_some() {
            return Err(self.expected("nothing after the dictionary"));
        }
        let lacks = |key: &str| {
            FileError::new(FileErrorKind::Header, format!("a header with the key `{key}`"), "none")
        };
        Ok(Header {
            descr: descr.ok_or_else(|| lacks("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| lacks("fortran_order"))?,
            sizes: sizes.ok_or_else(|| lacks("shape"))?,
        })
    }

    /// The next sign that is not a space.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn sign(&mut self, sign: u8) -> Result<(), FileError> {
        if self.peek() != Some(sign) {
            return Err(self.expected(&format!("`{}`", char::from(sign))));
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self, what: &str) -> Result<String, FileError> {
        let Some(mark @ (b'\'' | b'"')) = self.peek() else {
            return Err(self.expected(what));
        };
        let rest = &self.text[self.at + 1..];
        let end = rest.iter().position(|byte| *byte == mark);
        let text = end.and_then(|end| str::from_utf8(&rest[..end]).ok()).filter(|text| !text.contains('\\'));
        let Some(text) = text else {
            return Err(self.expected(what));
        };
        self.at += text.len() + 2;
        Ok(text.to_owned())
    }

    fn truth(&mut self) -> Result<bool, FileError> {
        self.peek();
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.expected("`True` or `False`"))
    }

    fn sizes(&mut self) -> Result<Vec<u64>, FileError> {
        self.sign(b'(')?;
        let mut sizes = Vec::new();
        while self.peek() != Some(b')') {
            let rest = &self.text[self.at..];
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let size = str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse().ok());
            sizes.push(size.ok_or_else(|| self.expected("a size"))?);
            self.at += digits;
            // Python 2 wrote long integers this way.
            if self.text.get(self.at) == Some(&b'L') {
                self.at += 1;
            }
            if self.peek() != Some(b')') {
                self.sign(b',')?;
            }
        }
        self.sign(b')')?;
        Ok(sizes)
    }

    fn expected(&self, what: &str) -> FileError {
        let rest = self.text[self.at..].trim_ascii_end();
        let found = if rest.is_empty() { "its end".to_owned() } else { quote(rest) };
        self.wrong(what, found)
    }

    fn wrong(&self, expected: &str, found: String) -> FileError {
        FileError::new(FileErrorKind::Header, expected, found)
            .in_part(format!("byte {} of the header", self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// A file of version 1 with this header and these numbers.
    fn file(header: &str, numbers: &[u8]) -> Vec<u8> {
        let length = (header.len() as u16).to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), numbers].concat()
    }

    fn check(header: &str, numbers: &[u8], expect: Expect) {
        let text = match npy_from_bytes(&file(header, numbers)) {
            Ok(array) => format!("{:?} {} {array}", array.sizes(), array.dtype()),
            Err(error) => format!("{:?}: {error}", error.kind()),
        };
        expect.assert_eq(&text);
    }

    #[test]
    fn headers_that_others_write() {
        check(
            "{'shape': (2L,), \"descr\": \"|u1\", 'fortran_order':True}",
            &[7, 255],
            expect!["[2] u8 [  7 255]"],
        );
        check("{'descr':'>i2','fortran_order':False,'shape':()}\n", &[1, 2], expect!["[] i16 258"]);
        check("{'descr': '|b1', 'fortran_order': False, 'shape': (3, 0), }", &[], expect!["[3, 0] bool []"]);
        let fortran = "{'descr': 'i1', 'fortran_order': True, 'shape': (2, 3)}";
        check(
            fortran,
            &[1, 4, 2, 5, 3, 6],
            expect![[r#"
            [2, 3] i8 [[1 2 3]
             [4 5 6]]"#]],
        );
    }

    #[test]
    fn headers_that_are_wrong() {
        let with = |descr: &str, shape: &str| {
            format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}")
        };
        check(
            &with("'<f4'", "(2,)"),
            &[0; 9],
            expect!["Surplus: the bytes: expected 8 bytes of numbers for (2,) of `<f4`, found 9 bytes"],
        );
        check(
            &with("'<f4'", "(2,)"),
            &[0; 1],
            expect!["Truncated: the bytes: expected 8 bytes of numbers for (2,) of `<f4`, found 1 byte"],
        );
        check(
            &with("'<f4'", "(9999999999, 9999999999)"),
            &[],
            expect![
                "Truncated: the bytes: expected more bytes of numbers for (9999999999, 9999999999) of `<f4` than can be counted, found 0 bytes"
            ],
        );
        check(
            &with("'<f4'", "(99999999999999999999,)"),
            &[],
            expect![
                "Header: the bytes: byte 51 of the header: expected a size, found `99999999999999999999,)}`"
            ],
        );
        check(
            &with("'<f4'", "(-1,)"),
            &[],
            expect!["Header: the bytes: byte 51 of the header: expected a size, found `-1,)}`"],
        );
        check(
            &with("'<f4'", "3"),
            &[],
            expect!["Header: the bytes: byte 50 of the header: expected `(`, found `3}`"],
        );
        check(
            &with("'<c8'", "()"),
            &[],
            expect![
                "Dtype: the bytes: expected numbers of type f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 or b1, found `<c8`"
            ],
        );
        check(
            &with("'|V2'", "()"),
            &[],
            expect![
                "Dtype: the bytes: expected numbers of type f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 or b1, found `|V2`, which may be bf16: use safetensors"
            ],
        );
        check(
            &with("[('a', '<f4')]", "()"),
            &[],
            expect![
                "Dtype: the bytes: expected numbers of type f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 or b1, found `[('a', '<f4')], 'fortran_order': False, 'shape': ()}`"
            ],
        );
        check(
            &with("'<u8'", "(1,)"),
            &[255; 8],
            expect![
                "Number: the bytes: expected numbers of at most 2⁶³ − 1, found 18446744073709551615 in unsigned 64-bit integers"
            ],
        );
        check(
            "{'descr': '<f4', 'descr': '<f4'}",
            &[],
            expect!["Header: the bytes: byte 31 of the header: expected each key once, found `descr` again"],
        );
        check(
            "{'descr': '<f4'}",
            &[],
            expect!["Header: the bytes: expected a header with the key `fortran_order`, found none"],
        );
        check(
            "{'order': 'C'}",
            &[],
            expect![
                "Header: the bytes: byte 9 of the header: expected a key `descr`, `fortran_order` or `shape`, found `order`"
            ],
        );
        check(
            "{'descr",
            &[],
            expect!["Header: the bytes: byte 1 of the header: expected a key, found `'descr`"],
        );
        check("", &[], expect!["Header: the bytes: byte 0 of the header: expected `{`, found its end"]);
        check(
            "{} 1",
            &[],
            expect![
                "Header: the bytes: byte 3 of the header: expected nothing after the dictionary, found `1`"
            ],
        );
    }

    #[test]
    fn files_that_are_something_else() {
        let error = |bytes: &[u8]| npy_from_bytes(bytes).unwrap_err().to_string();
        assert_eq!(
            error(b"PK\x03\x04more"),
            "the bytes: expected a .npy file, which starts with `\\x93NUMPY`, found `PK\\x03\\x04mo`"
        );
        assert_eq!(error(b""), "the bytes: expected a .npy file, found an empty file");
        assert_eq!(error(b"\x93NUM"), "the bytes: expected a .npy file, found 4 bytes");
        assert_eq!(
            error(b"\x93NUMPY\x04\x00"),
            "the bytes: expected a .npy file of version 1, 2 or 3, found version 4.0"
        );
        assert_eq!(
            error(b"\x93NUMPY\x01\x00\x76\x00{"),
            "the bytes: expected 118 bytes of header, found 1 byte"
        );
    }

    #[test]
    fn long_headers_are_of_version_2() {
        let sizes = vec![1; 30_000];
        let array = Array::new(&sizes, vec![2.5f32]).unwrap();
        let bytes = npy_to_bytes(&array);
        assert_eq!((bytes[6], (bytes.len() - 4) % 64), (2, 0));
        assert_eq!(npy_from_bytes(&bytes).unwrap(), array);
    }

    #[test]
    fn axes_in_the_other_order() {
        // a[i, j, k] = 100 i + 10 j + k, the first axis fastest.
        let sizes = [2u64, 3, 4];
        let mut numbers = Vec::new();
        for k in 0..4 {
            for j in 0..3 {
                for i in 0..2 {
                    numbers.push(100 * i + 10 * j + k);
                }
            }
        }
        let array = Array::new(&sizes, row_major(&sizes, &Values::I32(numbers))).unwrap();
        assert_eq!(array.get(&[1, 2, 3]), Some(123.0));
        assert_eq!(array.as_slice::<i32>().unwrap()[..6], [0, 1, 2, 3, 10, 11]);
    }
}
