//! Numbers in CSV: one row a line, cells separated by commas, with or without a row of names.
//!
//! Cells may stand in double quotes (a quote inside is written twice) and between spaces; a cell
//! does not continue in the next line. Empty lines are skipped. Every row has as many cells as the
//! first.

use std::io::{self, Write};
use std::path::Path;

use crate::{Array, Dtype, Values};

use super::{FileError, FileErrorKind, quote, read, write};

/// The treatment of the first row, which may have the names of the columns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CsvHeader {
    /// It has names if it holds no number at all.
    #[default]
    Detect,
    /// It has names.
    Present,
    /// It has numbers.
    Absent,
}

/// The contents of a CSV file.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// The names of the columns; none if there is no row of names.
    pub names: Vec<String>,
    /// Rows and columns: 64-bit floats, or integers if all numbers are and floats do not hold them all.
    pub values: Array,
}

impl Table {
    /// The numbers of a column, by its name.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        self.column_array(name).map(|array| array.to_f64s())
    }

    /// A column as an array, by its name.
    pub(super) fn column_array(&self, name: &str) -> Option<Array> {
        let column = self.names.iter().position(|other| other == name)?;
        let (rows, step) = (*self.values.sizes().first()?, self.names.len());
        match (self.values.as_slice::<f64>(), self.values.as_slice::<i64>()) {
            (Some(numbers), _) => Array::new(&[rows], every(numbers, column, step)),
            (_, Some(numbers)) => Array::new(&[rows], every(numbers, column, step)),
            _ => return None,
        }
        .ok()
    }
}

/// Every so many numbers, from one on.
fn every<T: Copy>(numbers: &[T], from: usize, step: usize) -> Vec<T> {
    numbers.iter().skip(from).step_by(step).copied().collect()
}

/// Reads a CSV file of numbers.
pub fn read_csv(path: impl AsRef<Path>, header: CsvHeader) -> Result<Table, FileError> {
    read(path.as_ref(), |bytes| from_bytes(bytes, header))
}

/// The numbers in CSV.
///
/// ```
/// use broadloom_array::files::{CsvHeader, csv_from_text};
///
/// let table = csv_from_text("height, width\n1, 2.5\n3, 4e2\n", CsvHeader::Detect)?;
/// assert_eq!(table.values.sizes(), [2, 2]);
/// assert_eq!(table.column("width"), Some(vec![2.5, 400.0]));
/// # Ok::<(), broadloom_array::files::FileError>(())
/// ```
pub fn csv_from_text(text: &str, header: CsvHeader) -> Result<Table, FileError> {
    from_bytes(text.as_bytes(), header).map_err(|mut error| {
        error.0.contents = "the text";
        error
    })
}

/// Writes an array of one or two axes as CSV, with a row of names unless there are none. One axis is one column.
pub fn write_csv<N: AsRef<str>>(path: impl AsRef<Path>, names: &[N], array: &Array) -> Result<(), FileError> {
    let columns = columns(names, array).map_err(|error| error.in_file(path.as_ref()))?;
    write(path.as_ref(), |output| encode(names, columns, array, output))
}

fn from_bytes(bytes: &[u8], header: CsvHeader) -> Result<Table, FileError> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut reader = Reader::new(header);
    let mut numbers = Vec::new();
    let mut integers = Integers::default();
    let mut rows = 0;
    for (line, text) in (1u64..).zip(bytes.split(|byte| *byte == b'\n')) {
        rows += u64::from(reader.read(line, text, &mut numbers, &mut integers)?);
    }
    let sizes = [rows, reader.columns()?];
    let values = match integers.needed() {
        Some(integers) => Array::new(&sizes, integers),
        None => Array::new(&sizes, numbers),
    };
    let values =
        values.map_err(|error| FileError::new(FileErrorKind::Shape, "rows of one length", error.message))?;
    Ok(Table { names: reader.names, values })
}

/// Some programs begin a text with it.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads lines, one after another.
pub(super) struct Reader {
    header: CsvHeader,
    pub names: Vec<String>,
    columns: Option<usize>,
}

impl Reader {
    pub fn new(header: CsvHeader) -> Reader {
        Reader { header, names: Vec::new(), columns: None }
    }

    /// The number of columns, if there was a line that is not empty.
    pub fn columns(&self) -> Result<u64, FileError> {
        let none = || FileError::new(FileErrorKind::Format, "rows of numbers", "nothing but empty lines");
        self.columns.map(|columns| columns as u64).ok_or_else(none)
    }

    /// Adds the numbers of a line. Returns false if it has none: it is empty, or has the names.
    pub fn read(
        &mut self,
        line: u64,
        text: &[u8],
        numbers: &mut Vec<f64>,
        integers: &mut Integers,
    ) -> Result<bool, FileError> {
        let Some(cells) = self.cells(line, text)? else { return Ok(false) };
        for (column, cell) in (1u64..).zip(&cells) {
            let number = cell.parse::<f64>().map_err(|_| self.no_number(cell, line, column))?;
            integers.read(cell, number);
            numbers.push(number);
        }
        Ok(true)
    }

    fn cells(&mut self, line: u64, text: &[u8]) -> Result<Option<Vec<String>>, FileError> {
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.trim_ascii().is_empty() {
            return Ok(None);
        }
        let at_line = |error: FileError| error.in_part(format!("line {line}"));
        let not_text = || FileError::new(FileErrorKind::Format, "text in UTF-8", quote(text));
        let text = str::from_utf8(text).map_err(|_| at_line(not_text()))?;
        let cells = cells(text).map_err(at_line)?;
        let first = self.columns.is_none();
        let wanted = *self.columns.get_or_insert(cells.len());
        if cells.len() != wanted {
            let count = |cells: usize| format!("{cells} {}", if cells == 1 { "cell" } else { "cells" });
            return Err(at_line(FileError::new(FileErrorKind::Shape, count(wanted), count(cells.len()))));
        }
        let named = first
            && match self.header {
                CsvHeader::Present => true,
                CsvHeader::Absent => false,
                CsvHeader::Detect => cells.iter().all(|cell| cell.parse::<f64>().is_err()),
            };
        if named {
            self.names = cells;
            return Ok(None);
        }
        Ok(Some(cells))
    }

    fn no_number(&self, cell: &str, line: u64, column: u64) -> FileError {
        let found = if cell.is_empty() { "an empty cell".to_owned() } else { quote(cell.as_bytes()) };
        let name = self.names.get(column as usize - 1).map(|name| format!(" (`{name}`)")).unwrap_or_default();
        let mut error = FileError::new(FileErrorKind::Number, "a number", found);
        error.0.place = Some((line, column));
        error.in_part(format!("line {line}, column {column}{name}"))
    }
}

/// The numbers of a table as integers, as long as all of them are.
#[derive(Default)]
pub(super) struct Integers {
    numbers: Vec<i64>,
    /// Set if there is a number that is no integer of 64 bits.
    others: bool,
    /// Set if there is one that no 64-bit float holds.
    long: bool,
}

impl Integers {
    fn read(&mut self, cell: &str, number: f64) {
        match cell.parse::<i64>() {
            Ok(integer) if !self.others => {
                self.long |= integer.unsigned_abs() > 1 << 53 && number as i128 != i128::from(integer);
                self.numbers.push(integer);
            }
            _ => self.others = true,
        }
    }

    /// The integers that were read.
    pub fn all(self) -> Vec<i64> {
        self.numbers
    }

    /// Forgets the numbers that were read, and keeps what they have shown.
    pub fn forget(&mut self) {
        self.numbers.clear();
    }

    /// The integers, if the digits of some would be lost in floats.
    pub fn needed(self) -> Option<Vec<i64>> {
        (self.long && !self.others).then_some(self.numbers)
    }
}

/// The cells of a line.
fn cells(line: &str) -> Result<Vec<String>, FileError> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let Some(quoted) = rest.trim_start().strip_prefix('"') else {
            let (cell, after) = match rest.split_once(',') {
                Some((cell, after)) => (cell, Some(after)),
                None => (rest, None),
            };
            cells.push(cell.trim().to_owned());
            match after {
                Some(after) => rest = after,
                None => return Ok(cells),
            }
            continue;
        };
        // Two quotes are one; one quote ends the cell.
        let mut cell = String::new();
        let mut tail = quoted;
        let after = loop {
            let Some((before, after)) = tail.split_once('"') else {
                return Err(FileError::new(FileErrorKind::Format, "a closing quote", quote(rest.as_bytes())));
            };
            cell.push_str(before);
            match after.strip_prefix('"') {
                Some(after) => {
                    cell.push('"');
                    tail = after;
                }
                None => break after.trim_start(),
            }
        };
        cells.push(cell.trim().to_owned());
        match after.strip_prefix(',') {
            Some(after) => rest = after,
            None if after.is_empty() => return Ok(cells),
            None => {
                let found = quote(after.as_bytes());
                return Err(FileError::new(FileErrorKind::Format, "a comma after the closing quote", found));
            }
        }
    }
}

/// The number of columns of an array, if it can be written with these names.
fn columns<N: AsRef<str>>(names: &[N], array: &Array) -> Result<usize, FileError> {
    let columns = match array.sizes() {
        [_] => 1,
        [_, columns] if *columns > 0 => *columns as usize,
        sizes => {
            let found = format!("sizes {sizes:?}");
            return Err(FileError::new(
                FileErrorKind::Shape,
                "an array of rows and at least one column",
                found,
            ));
        }
    };
    if !names.is_empty() && names.len() != columns {
        let found = format!("{} names", names.len());
        return Err(FileError::new(
            FileErrorKind::Name,
            format!("a name for each of {columns} columns"),
            found,
        ));
    }
    if let Some(name) = names.iter().map(N::as_ref).find(|name| name.contains(['\n', '\r'])) {
        return Err(FileError::new(FileErrorKind::Name, "names in one line", quote(name.as_bytes())));
    }
    Ok(columns)
}

fn encode<N: AsRef<str>>(
    names: &[N],
    columns: usize,
    array: &Array,
    output: &mut dyn Write,
) -> io::Result<()> {
    let name = |name: &N| match name.as_ref() {
        // Spaces at the ends are lost, but an empty line would be skipped.
        name if name.is_empty() || name.contains([',', '"']) => format!("\"{}\"", name.replace('"', "\"\"")),
        name => name.to_owned(),
    };
    if !names.is_empty() {
        writeln!(output, "{}", names.iter().map(name).collect::<Vec<_>>().join(","))?;
    }
    // The shortest text that is read as the same number, in its own type.
    let wide;
    let values = match array.values() {
        Values::Bf16(_) | Values::F16(_) => {
            wide = array.convert(Dtype::F32);
            wide.values()
        }
        values => values,
    };
    for place in 0..array.len() {
        match values {
            Values::Bool(numbers) => write!(output, "{}", u8::from(numbers[place]))?,
            Values::U8(numbers) => write!(output, "{}", numbers[place])?,
            Values::I8(numbers) => write!(output, "{}", numbers[place])?,
            Values::I16(numbers) => write!(output, "{}", numbers[place])?,
            Values::I32(numbers) => write!(output, "{}", numbers[place])?,
            Values::I64(numbers) => write!(output, "{}", numbers[place])?,
            Values::F32(numbers) => write!(output, "{:?}", numbers[place])?,
            Values::F64(numbers) => write!(output, "{:?}", numbers[place])?,
            Values::Bf16(numbers) => write!(output, "{:?}", numbers[place])?,
            Values::F16(numbers) => write!(output, "{:?}", numbers[place])?,
        }
        output.write_all(if (place + 1) % columns == 0 { b"\n" } else { b"," })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, header: CsvHeader, expect: Expect) {
        let text = match csv_from_text(text, header) {
            Ok(Table { names, values }) => format!("{names:?} {:?} {values}", values.sizes()),
            Err(error) => format!("{:?}: {error}", error.kind()),
        };
        expect.assert_eq(&text);
    }

    #[test]
    fn rows_of_numbers() {
        use CsvHeader::{Absent, Detect, Present};
        check(
            "1,2\n3,4",
            Absent,
            expect![[r#"
            [] [2, 2] [[1.0 2.0]
             [3.0 4.0]]"#]],
        );
        check(
            "\u{feff}1, -2e3\r\n\r\n inf ,\"4\"\r\n",
            Detect,
            expect![[r#"
            [] [2, 2] [[    1.0 -2000.0]
             [    inf     4.0]]"#]],
        );
        check(
            "\"a, b\",\"c \"\"d\"\"\"\n1,2\n",
            Detect,
            expect![[r#"["a, b", "c \"d\""] [1, 2] [[1.0 2.0]]"#]],
        );
        check("a,b\n", Present, expect![[r#"["a", "b"] [0, 2] []"#]]);
        check("2020,2021\n1,2\n", Present, expect![[r#"["2020", "2021"] [1, 2] [[1.0 2.0]]"#]]);
        check(
            "1\n2\n3\n",
            Detect,
            expect![[r#"
            [] [3, 1] [[1.0]
             [2.0]
             [3.0]]"#]],
        );
    }

    #[test]
    fn mistakes() {
        use CsvHeader::{Absent, Detect, Present};
        check(
            "a,b\n1,2\n",
            Absent,
            expect!["Number: the text: line 1, column 1: expected a number, found `a`"],
        );
        check(
            "a,b\n1,\n",
            Detect,
            expect!["Number: the text: line 2, column 2 (`b`): expected a number, found an empty cell"],
        );
        check(
            "a,1\n1,2\n",
            Detect,
            expect!["Number: the text: line 1, column 1: expected a number, found `a`"],
        );
        check(
            "a,b\n\n1,2\n3,4x\n",
            Present,
            expect!["Number: the text: line 4, column 2 (`b`): expected a number, found `4x`"],
        );
        check("1,2\n3\n", Detect, expect!["Shape: the text: line 2: expected 2 cells, found 1 cell"]);
        check("1,2\n3,4,5\n", Detect, expect!["Shape: the text: line 2: expected 2 cells, found 3 cells"]);
        check(
            "",
            Detect,
            expect!["Format: the text: expected rows of numbers, found nothing but empty lines"],
        );
        check(
            "\"a\n1\n",
            Present,
            expect![[r#"Format: the text: line 1: expected a closing quote, found `"a`"#]],
        );
        check(
            "\"a\"b\n1\n",
            Present,
            expect!["Format: the text: line 1: expected a comma after the closing quote, found `b`"],
        );
    }

    #[test]
    fn bytes_that_are_not_text() {
        let error = from_bytes(b"1,2\n\xff,3\n", CsvHeader::Absent).unwrap_err();
        assert_eq!(error.to_string(), "the bytes: line 2: expected text in UTF-8, found `\\xff,3`");
    }

    #[test]
    fn integers_that_floats_do_not_hold_stay_what_they_are() {
        let table =
            csv_from_text("a,b\n9007199254740993,-1\n2,9223372036854775807\n", CsvHeader::Detect).unwrap();
        assert_eq!(table.values.as_slice::<i64>(), Some(&[9_007_199_254_740_993, -1, 2, i64::MAX][..]));
        let b = table.column_array("b").unwrap();
        assert_eq!(b.as_slice::<i64>(), Some(&[-1, i64::MAX][..]));
        for floats in ["9007199254740992,1", "9007199254740993,1.5", "9223372036854775808,1"] {
            assert_eq!(
                csv_from_text(floats, CsvHeader::Absent).unwrap().values.dtype(),
                Dtype::F64,
                "{floats}"
            );
        }
    }
}
