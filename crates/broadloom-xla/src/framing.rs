//! Messages between processes: each part of one after its length.

use std::io::{self, Read, Write};

/// Reads bytes with their length before them.
pub(crate) fn read_part(output: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    output.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let mut bytes = Vec::new();
    output.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Writes bytes with their length before them.
pub(crate) fn with_length(input: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    input.write_all(&(bytes.len() as u64).to_le_bytes())?;
    input.write_all(bytes)
}
