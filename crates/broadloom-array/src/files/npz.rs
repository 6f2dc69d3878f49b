//! NumPy's `.npz`: a zip archive of `.npy` files, one for each array.
//!
//! A zip archive is read from its end: the end record has the place of the directory, and the
//! directory has the place, length, compression and checksum of each member. Stored and deflated
//! members are read, as `numpy.savez` and `numpy.savez_compressed` write them; members are written
//! stored. Archives beyond 4 GiB have the 64-bit fields of zip64 (PKWARE's APPNOTE, 4.5.3), only
//! where they are needed.

use std::borrow::{Borrow, Cow};
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use crate::Array;

use super::npy;
use super::{FileError, FileErrorKind, bytes_of, check_magic, npy_from_bytes, quote, read, to_bytes, write};

const LOCAL: &[u8; 4] = b"PK\x03\x04";
const CENTRAL: &[u8; 4] = b"PK\x01\x02";
const END: &[u8; 4] = b"PK\x05\x06";
const END64: &[u8; 4] = b"PK\x06\x06";
const LOCATOR64: &[u8; 4] = b"PK\x06\x07";

/// The value of a 32-bit field whose number is elsewhere, in 64 bits.
const ELSEWHERE: u64 = 0xffff_ffff;

/// Reads all arrays of a `.npz` file with their names, in the order of the archive.
pub fn read_npz(path: impl AsRef<Path>) -> Result<Vec<(String, Array)>, FileError> {
    read(path.as_ref(), npz_from_bytes)
}

/// Writes arrays with their names to a `.npz` file, in this order and without compression.
///
/// Numbers of `bf16` are written as 32-bit floats. Names must be different.
pub fn write_npz<N: AsRef<str>, A: Borrow<Array>>(
    path: impl AsRef<Path>,
    arrays: impl IntoIterator<Item = (N, A)>,
) -> Result<(), FileError> {
    let arrays: Vec<(N, A)> = arrays.into_iter().collect();
    check_names(&arrays).map_err(|error| error.in_file(path.as_ref()))?;
    write(path.as_ref(), |output| encode(&arrays, ELSEWHERE, output))
}

/// The contents of a `.npz` file.
///
/// ```
/// use broadloom_array::Array;
/// use broadloom_array::files::{npz_from_bytes, npz_to_bytes};
///
/// let (w, b) = (Array::from_slice(&[2], &[1.0f32, 2.0])?, Array::scalar(3i32));
/// let bytes = npz_to_bytes([("w", &w), ("b", &b)])?;
/// assert_eq!(npz_from_bytes(&bytes)?, [("w".to_owned(), w), ("b".to_owned(), b)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn npz_to_bytes<N: AsRef<str>, A: Borrow<Array>>(
    arrays: impl IntoIterator<Item = (N, A)>,
) -> Result<Vec<u8>, FileError> {
    let arrays: Vec<(N, A)> = arrays.into_iter().collect();
    check_names(&arrays)?;
    Ok(to_bytes(|output| encode(&arrays, ELSEWHERE, output)))
}

/// Reads one array of a `.npz` file, the one of this name or the only one, and the names of all.
/// Only that one is inflated.
pub(super) fn read_one(path: &Path, name: &str) -> Result<(Option<Array>, Vec<String>), FileError> {
    read(path, |bytes| {
        let members = members(bytes)?;
        let found = members.iter().find(|(known, _)| members.len() == 1 || known == name);
        let array = found.map(|(name, member)| member.named(name, bytes)).transpose()?;
        Ok((array, members.into_iter().map(|(name, _)| name).collect()))
    })
}

/// Reads the arrays of a `.npz` file whose names are wanted, and the names of the others.
pub(super) fn read_wanted(
    path: &Path,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(String, Option<Array>)>, FileError> {
    read(path, |bytes| {
        let members = members(bytes)?.into_iter();
        let inflated = |(name, member): (String, Member)| {
            let array = wanted(&name).then(|| member.named(&name, bytes)).transpose()?;
            Ok((name, array))
        };
        members.map(inflated).collect()
    })
}

/// The arrays in the contents of a `.npz` file, in the order of the archive.
pub fn npz_from_bytes(bytes: &[u8]) -> Result<Vec<(String, Array)>, FileError> {
    let members = members(bytes)?.into_iter();
    members.map(|(name, member)| member.named(&name, bytes).map(|array| (name, array))).collect()
}

/// A place that holds the bytes of an archive: memory or a file.
pub(super) trait Place {
    /// The number of bytes.
    fn length(&self) -> u64;
    /// Some bytes, if they are there.
    fn part(&self, start: u64, length: u64) -> Option<Cow<'_, [u8]>>;
}

impl Place for [u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn part(&self, start: u64, length: u64) -> Option<Cow<'_, [u8]>> {
        self.get(range(start, length)?).map(Cow::Borrowed)
    }
}

/// The members of an archive, by the names of their arrays.
pub(super) fn members<P: Place + ?Sized>(archive: &P) -> Result<Vec<(String, Member)>, FileError> {
    // An archive without members starts with its end.
    let first = archive.part(0, archive.length().min(LOCAL.len() as u64)).unwrap_or_default();
    if !first.starts_with(END) {
        check_magic(&first, LOCAL, "a .npz file")?;
    }
    let members = directory(archive)?;
    let mut named: Vec<(String, Member)> = Vec::with_capacity(members.len());
    let mut seen = HashSet::new();
    for member in members {
        let Some(name) = member.name.strip_suffix(".npy") else {
            let found = quote(member.name.as_bytes());
            return Err(FileError::new(FileErrorKind::Unsupported, "an archive of .npy files only", found));
        };
        let name = name.to_owned();
        if !seen.insert(name.clone()) {
            return Err(FileError::new(FileErrorKind::Name, "different names", format!("`{name}` twice")));
        }
        named.push((name, member));
    }
    Ok(named)
}

/// A member of an archive, as the directory describes it.
pub(super) struct Member {
    name: String,
    flags: u16,
    method: u16,
    checksum: u32,
    /// The size in the archive.
    packed: u64,
    /// The size after decompression.
    size: u64,
    /// The place where its local header starts.
    offset: u64,
}

/// The members in the directory at the end of an archive.
fn directory<P: Place + ?Sized>(archive: &P) -> Result<Vec<Member>, FileError> {
    let lost =
        |what: &str| FileError::new(FileErrorKind::Truncated, format!("{what} of the archive"), "none");
    let broken = |what: &str| {
        FileError::new(FileErrorKind::Header, format!("{what} of the archive"), "something else")
    };
    let all = archive.length();
    // The end record is followed by a comment, whose length is its last field.
    let earliest = all.saturating_sub(22 + u64::from(u16::MAX));
    let tail = archive.part(earliest, all - earliest).ok_or_else(|| lost("the end record"))?;
    let is_end = |at: &usize| {
        let record = Fields(&tail[*at..]);
        record.starts_with(END) && record.u16(20).map(usize::from) == Some(tail.len() - at - 22)
    };
    let last = tail.len().checked_sub(22).ok_or_else(|| lost("the end record"))?;
    let end = (0..=last).rev().find(is_end).ok_or_else(|| lost("the end record"))?;
    let record = Fields(&tail[end..]);
    let end = earliest + end as u64;
    let field = |at: usize| record.u32(at).map(u64::from);
    let mut count = record.u16(10).map(u64::from);
    let (mut length, mut start) = (field(12), field(16));
    let mut disks = record.u16(4).map(u32::from);
    let locator = end.checked_sub(20).and_then(|at| archive.part(at, 20));
    if let Some(locator) = locator.as_deref().map(Fields).filter(|locator| locator.starts_with(LOCATOR64)) {
        let wide = locator.u64(8).and_then(|at| archive.part(at, 56.min(end.checked_sub(at)?)));
        let wide = wide.as_deref().map(Fields).filter(|wide| wide.starts_with(END64));
        let wide = wide.ok_or_else(|| broken("the wide end record"))?;
        (count, length, start) = (wide.u64(32), wide.u64(40), wide.u64(48));
        disks = wide.u32(16);
    }
    if disks != Some(0) {
        return Err(FileError::new(
            FileErrorKind::Unsupported,
            "an archive in one file",
            "one of several parts",
        ));
    }
    let listed = start.zip(length).and_then(|(start, length)| archive.part(start, length));
    let listed = listed.ok_or_else(|| broken("the directory"))?;
    let mut rest = &listed[..];
    let mut members = Vec::new();
    let mut packed = 0u64;
    for _ in 0..count.unwrap_or(0) {
        let (member, after) = Member::read(rest).ok_or_else(|| broken("an entry in the directory"))?;
        packed = packed.saturating_add(member.packed);
        members.push(member);
        rest = after;
    }
    // Members that share their bytes could unpack to far more than the file.
    if packed > all {
        let (expected, found) = (bytes_of(packed, " in members"), bytes_of(all, " in all"));
        return Err(FileError::new(FileErrorKind::Header, expected, found));
    }
    Ok(members)
}

fn range(start: u64, length: u64) -> Option<std::ops::Range<usize>> {
    Some(usize::try_from(start).ok()?..usize::try_from(start.checked_add(length)?).ok()?)
}

impl Member {
    /// Its array; errors mention its name.
    fn named(&self, name: &str, bytes: &[u8]) -> Result<Array, FileError> {
        self.array(bytes).map_err(|error| error.in_part(format!("array `{name}`")))
    }

    /// Reads an entry of the directory; the bytes after it are returned too.
    fn read(bytes: &[u8]) -> Option<(Member, &[u8])> {
        let entry = Fields(bytes);
        if !entry.starts_with(CENTRAL) {
            return None;
        }
        let lengths = [entry.u16(28)?, entry.u16(30)?, entry.u16(32)?].map(usize::from);
        let (name, rest) = bytes.get(46..)?.split_at_checked(lengths[0])?;
        let (mut extra, rest) = rest.split_at_checked(lengths[1])?;
        let rest = rest.get(lengths[2]..)?;
        let mut member = Member {
            name: str::from_utf8(name).ok()?.to_owned(),
            flags: entry.u16(8)?,
            method: entry.u16(10)?,
            checksum: entry.u32(16)?,
            packed: entry.u32(20)?.into(),
            size: entry.u32(24)?.into(),
            offset: entry.u32(42)?.into(),
        };
        // Fields with a mark have their numbers here, in this order.
        while let Some((header, after)) = extra.split_at_checked(4) {
            let (id, length) = (Fields(header).u16(0)?, Fields(header).u16(2)?);
            let (body, after) = after.split_at_checked(length.into())?;
            extra = after;
            if id == 1 {
                let mut at = 0;
                for field in [&mut member.size, &mut member.packed, &mut member.offset] {
                    if *field == ELSEWHERE {
                        *field = Fields(body).u64(at)?;
                        at += 8;
                    }
                }
            }
        }
        Some((member, rest))
    }

    /// The array of this member.
    pub(super) fn array<P: Place + ?Sized>(&self, archive: &P) -> Result<Array, FileError> {
        let place = self.place(archive).and_then(|start| archive.part(start, self.packed));
        let packed = place.ok_or_else(|| self.cut_off(archive.length()))?;
        let unpacked;
        let bytes = match self.is_compressed()? {
            false => &packed[..],
            true => {
                let limit = usize::try_from(self.size).unwrap_or(usize::MAX);
                let result = miniz_oxide::inflate::decompress_to_vec_with_limit(&packed, limit);
                unpacked = result.map_err(|error| {
                    let expected = format!("{} in deflate compression", bytes_of(self.size, ""));
                    let found =
                        format!("{:?} after {}", error.status, bytes_of(error.output.len() as u64, ""));
                    FileError::new(FileErrorKind::Checksum, expected, found)
                })?;
                &unpacked
            }
        };
        if bytes.len() as u64 != self.size {
            let found = bytes_of(bytes.len() as u64, "");
            return Err(FileError::new(FileErrorKind::Header, bytes_of(self.size, ""), found));
        }
        let mut checksum = Checksum::default();
        checksum.add(bytes);
        if checksum.value() != self.checksum {
            let [expected, found] = [self.checksum, checksum.value()].map(|sum| format!("{sum:08x}"));
            return Err(FileError::new(FileErrorKind::Checksum, format!("the checksum {expected}"), found));
        }
        npy_from_bytes(bytes)
    }

    /// Returns true if its bytes are deflated. Other ways to pack them are refused.
    pub(super) fn is_compressed(&self) -> Result<bool, FileError> {
        let refused =
            |expected: &str, found: String| Err(FileError::new(FileErrorKind::Unsupported, expected, found));
        match self.method {
            _ if self.flags & 1 != 0 => refused("an array that is not encrypted", "one that is".into()),
            0 => Ok(false),
            8 => Ok(true),
            method => refused("stored or deflated contents", format!("compression method {method}")),
        }
    }

    /// The place of its bytes in the archive.
    pub(super) fn place<P: Place + ?Sized>(&self, archive: &P) -> Option<u64> {
        let header = archive.part(self.offset, 30)?;
        let header = Fields(&header);
        if !header.starts_with(LOCAL) {
            return None;
        }
        let before = 30 + u64::from(header.u16(26)?) + u64::from(header.u16(28)?);
        self.offset.checked_add(before)
    }

    /// The first bytes of its `.npy` file, and the length of all of them.
    pub(super) fn beginning<P: Place + ?Sized>(
        &self,
        archive: &P,
        most: u64,
    ) -> Result<(Vec<u8>, u64), FileError> {
        let place = self.place(archive).and_then(|start| archive.part(start, self.packed.min(most)));
        let packed = place.ok_or_else(|| self.cut_off(archive.length()))?;
        let first = match self.is_compressed()? {
            false => packed.into_owned(),
            // What is cut off is an error, and its beginning is there.
            true => match miniz_oxide::inflate::decompress_to_vec_with_limit(&packed, most as usize) {
                Ok(all) => all,
                Err(error) => error.output,
            },
        };
        Ok((first, self.size))
    }

    fn cut_off(&self, length: u64) -> FileError {
        let expected = format!("{} at byte {}", bytes_of(self.packed, ""), self.offset);
        FileError::new(FileErrorKind::Truncated, expected, bytes_of(length, " in all"))
    }
}

/// Numbers in bytes, the low byte first.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn starts_with(self, signature: &[u8; 4]) -> bool {
        self.0.starts_with(signature)
    }

    fn word<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..)?.first_chunk().copied()
    }

    fn u16(self, at: usize) -> Option<u16> {
        self.word(at).map(u16::from_le_bytes)
    }

    fn u32(self, at: usize) -> Option<u32> {
        self.word(at).map(u32::from_le_bytes)
    }

    fn u64(self, at: usize) -> Option<u64> {
        self.word(at).map(u64::from_le_bytes)
    }
}

/// Checks that names are different, and fit.
fn check_names<N: AsRef<str>, A>(arrays: &[(N, A)]) -> Result<(), FileError> {
    let mut seen = HashSet::new();
    for (name, _) in arrays {
        let name = name.as_ref();
        if !seen.insert(name) {
            return Err(FileError::new(FileErrorKind::Name, "different names", format!("`{name}` twice")));
        }
        if name.len() + ".npy".len() > usize::from(u16::MAX) {
            let found = bytes_of(name.len() as u64, "");
            return Err(FileError::new(FileErrorKind::Name, "names of at most 65531 bytes", found));
        }
    }
    Ok(())
}

/// Writes an archive. Numbers of `limit` and more go into 64-bit fields; the tests make it small.
fn encode<N: AsRef<str>, A: Borrow<Array>>(
    arrays: &[(N, A)],
    limit: u64,
    output: &mut dyn Write,
) -> io::Result<()> {
    let narrow = |number: u64| (if number < limit { number } else { ELSEWHERE }) as u32;
    let wide = |numbers: &[u64]| {
        let wide: Vec<u8> =
            numbers.iter().filter(|number| **number >= limit).flat_map(|n| n.to_le_bytes()).collect();
        let header = [1, wide.len() as u16].map(u16::to_le_bytes).concat();
        if wide.is_empty() { wide } else { [header, wide].concat() }
    };
    let mut directory = Vec::new();
    let mut offset = 0;
    for (name, array) in arrays {
        let name = format!("{}.npy", name.as_ref());
        let mut checksum = Checksum::default();
        npy::encode(array.borrow(), &mut checksum)?;
        let size = checksum.length;
        // The version that is needed to read it, names in UTF-8, stored, on the first day of 1980.
        let extra = wide(&[size, size]);
        let version: u16 = if extra.is_empty() && offset < limit { 20 } else { 45 };
        let flags: u16 = if name.is_ascii() { 0 } else { 0x800 };
        let common = |extra: &[u8]| {
            let mut fields = [version, flags, 0, 0, 0x21].map(u16::to_le_bytes).concat();
            fields.extend([checksum.value(), narrow(size), narrow(size)].map(u32::to_le_bytes).concat());
            fields.extend([name.len() as u16, extra.len() as u16].map(u16::to_le_bytes).concat());
            fields
        };
        let local = [&LOCAL[..], &common(&extra), name.as_bytes(), &extra].concat();
        output.write_all(&local)?;
        npy::encode(array.borrow(), output)?;

        let extra = wide(&[size, size, offset]);
        directory.extend(CENTRAL);
        directory.extend(version.to_le_bytes());
        directory.extend(common(&extra));
        // No comment, the first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(narrow(offset).to_le_bytes());
        directory.extend(name.as_bytes());
        directory.extend(extra);
        offset += local.len() as u64 + size;
    }
    output.write_all(&directory)?;
    let (count, length) = (arrays.len() as u64, directory.len() as u64);
    if count >= 0xffff || length >= limit || offset >= limit {
        let record = [count, count, length, offset].map(u64::to_le_bytes).concat();
        // The record's length after this field, versions, disks; then where the record is, on one disk.
        let head = [&END64[..], &44u64.to_le_bytes(), &[45, 0, 45, 0], &[0; 8]].concat();
        let locator = [&LOCATOR64[..], &[0; 4], &(offset + length).to_le_bytes(), &[1, 0, 0, 0]].concat();
        output.write_all(&[head, record, locator].concat())?;
    }
    let count = count.min(0xffff) as u16;
    output.write_all(END)?;
    output.write_all(&[0, 0, count, count].map(u16::to_le_bytes).concat())?;
    output.write_all(&[narrow(length), narrow(offset)].map(u32::to_le_bytes).concat())?;
    output.write_all(&[0, 0])
}

/// The checksum of zip archives (CRC-32 with the polynomial 0xEDB88320), eight bytes at a time.
struct Checksum {
    state: u32,
    /// The number of bytes that were added.
    length: u64,
}

/// `TABLES[k][b]`: the effect of the byte `b` on the checksum when `k` more bytes follow it.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut value, mut bit) = (byte as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        tables[0][byte] = value;
        byte += 1;
    }
    let mut place = 256;
    while place < 8 * 256 {
        let before = tables[place / 256 - 1][place % 256];
        tables[place / 256][place % 256] = before >> 8 ^ tables[0][(before & 0xff) as usize];
        place += 1;
    }
    tables
}

impl Default for Checksum {
    fn default() -> Checksum {
        Checksum { state: !0, length: 0 }
    }
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        let (chunks, rest) = bytes.as_chunks::<8>();
        for chunk in chunks {
            let word = u64::from_le_bytes(*chunk) ^ u64::from(self.state);
            let each = |k: usize| TABLES[7 - k][(word >> (8 * k) & 0xff) as usize];
            self.state = (0..8).fold(0, |state, k| state ^ each(k));
        }
        for byte in rest {
            self.state = self.state >> 8 ^ TABLES[0][((self.state ^ u32::from(*byte)) & 0xff) as usize];
        }
    }

    fn value(&self) -> u32 {
        !self.state
    }
}

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<(String, Array)> {
        let array = |count: u64| Array::new(&[count], (0..count as i64).collect::<Vec<_>>()).unwrap();
        vec![("a".to_owned(), array(3)), ("größe/2".to_owned(), array(0)), ("c".to_owned(), array(20))]
    }

    #[test]
    fn checksums() {
        let sum = |bytes: &[u8]| {
            let mut checksum = Checksum::default();
            checksum.add(bytes);
            checksum.value()
        };
        assert_eq!(sum(b"123456789"), 0xcbf4_3926);
        assert_eq!(sum(b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
        assert_eq!(sum(b""), 0);
    }

    /// Numbers beyond the limit are in 64-bit fields: sizes, places, the directory.
    #[test]
    fn wide_fields() {
        let arrays = sample();
        let narrow = npz_to_bytes(arrays.clone()).unwrap();
        for limit in [0, 100, 150, 250, 300, 400, 600, 700, 1000, ELSEWHERE] {
            let bytes = to_bytes(|output| encode(&arrays, limit, output));
            assert_eq!(npz_from_bytes(&bytes).unwrap(), arrays, "limit {limit}");
            assert!(bytes != narrow || limit > 600, "limit {limit}");
            assert!(bytes == narrow || limit < narrow.len() as u64, "limit {limit}");
        }
    }

    #[test]
    fn changed_bytes_are_noticed() {
        let bytes = npz_to_bytes(sample()).unwrap();
        let place = bytes.windows(6).position(|window| window == b"NUMPY\x01").unwrap();
        let mut changed = bytes.clone();
        changed[place + 130] ^= 1;
        let error = npz_from_bytes(&changed).unwrap_err();
        assert_eq!((error.kind(), error.part()), (FileErrorKind::Checksum, Some("array `a`")));
    }

    #[test]
    fn names_are_different() {
        let error = npz_to_bytes([("a", Array::scalar(1i32)), ("a", Array::scalar(2i32))]).unwrap_err();
        assert_eq!(error.to_string(), "the bytes: expected different names, found `a` twice");
    }

    #[test]
    fn an_archive_may_be_empty() {
        let bytes = npz_to_bytes(Vec::<(&str, Array)>::new()).unwrap();
        assert_eq!(bytes.len(), 22);
        assert!(npz_from_bytes(&bytes).unwrap().is_empty());
    }
}
