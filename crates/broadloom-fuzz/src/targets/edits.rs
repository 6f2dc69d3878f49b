//! Programs while they are typed: the whole text, the text
//! cut off at some places, and the text up to a line.

use broadloom_diagnostics::decode;

use super::loom::{laid_out, read, reads_files};
use super::{about, fingerprint};

/// The number of beginnings of a text that are read.
const BEGINNINGS: u64 = 3;

pub(crate) fn check(bytes: &[u8]) -> u64 {
    let Ok(text) = decode(bytes.to_vec()) else { return 0 };
    laid_out(&text);
    if reads_files(&text) {
        return fingerprint("files");
    }
    let print = fingerprint(&text);
    for turn in 0..BEGINNINGS {
        let cut = fingerprint((print, turn)) as usize % (text.len() + 1);
        let cut = text.floor_char_boundary(cut);
        laid_out(&text[..cut]);
        read(&text[..cut], None);
    }
    let lines = text.lines().count() as u64;
    let until = print % (lines + 1) + 1;
    read(&text, Some(until as u32));
    let program = read(&text, None);
    let last = program.diagnostics.last().map(|diagnostic| diagnostic.code);
    fingerprint((last, about(program.diagnostics.len()), about(program.graph.steps())))
}
