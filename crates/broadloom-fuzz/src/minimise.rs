//! Minimisation: smaller inputs that end a process in the same way.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Kind;
use crate::child::end_of;

/// The longest time to look for a smaller input.
const PATIENCE: Duration = Duration::from_secs(30);

/// Removes parts that are not needed: first large groups
/// of lines, then small ones, then groups of bytes.
pub(crate) fn smallest(kind: Kind, input: &[u8], end: &str, scratch: &Path) -> io::Result<Vec<u8>> {
    let file = scratch.join("smaller");
    let deadline = Instant::now() + PATIENCE;
    let mut still_ends = |parts: &[Vec<u8>]| -> io::Result<bool> {
        std::fs::write(&file, parts.concat())?;
        Ok(end_of(kind, &file, scratch)?.as_deref() == Some(end))
    };
    if !still_ends(&[input.to_vec()])? {
        // The end depends on something besides the input, so the input is kept whole.
        return Ok(input.to_vec());
    }
    let lines = input.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let lines = left_out(lines, deadline, &mut still_ends)?;
    let bytes = lines.concat().into_iter().map(|byte| vec![byte]).collect();
    Ok(left_out(bytes, deadline, &mut still_ends)?.concat())
}

/// Removes runs of parts, at first half of them, then shorter and shorter ones, as long as the rest
/// still ends the process.
fn left_out(
    mut parts: Vec<Vec<u8>>,
    deadline: Instant,
    still_ends: &mut impl FnMut(&[Vec<u8>]) -> io::Result<bool>,
) -> io::Result<Vec<Vec<u8>>> {
    let mut length = parts.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        while at < parts.len() && Instant::now() < deadline {
            let end = (at + length).min(parts.len());
            let rest = [&parts[..at], &parts[end..]].concat();
            if still_ends(&rest)? {
                parts = rest;
            } else {
                at = end;
            }
        }
        if length == 1 {
            return Ok(parts);
        }
        length = length.div_ceil(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_is_left_out() {
        let parts: Vec<Vec<u8>> = (0..100u8).map(|byte| vec![byte]).collect();
        let mut needs = |parts: &[Vec<u8>]| Ok(parts.contains(&vec![3]) && parts.contains(&vec![77]));
        let left = left_out(parts, Instant::now() + PATIENCE, &mut needs).expect("no files");
        assert_eq!(left, [[3], [77]]);
    }
}
