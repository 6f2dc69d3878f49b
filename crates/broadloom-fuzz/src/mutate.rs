//! Mutations: small changes of an input that keep most of its interesting properties.
//!
//! | kind | what changes |
//! |---|---|
//! | rows, loom | words, lines, sizes, splices of two inputs, and now and then bytes |
//! | edits | the edits of a person who types: a word typed, letters deleted, a line cut or pasted |
//! | data | bytes, numbers in binary and in digits, splices, ends cut off |

use std::ops::Range;

use broadloom_testing::Dice;

use crate::Kind;
use crate::pieces::{DATA, LOOM, ROWS, SIZES};

/// The longest input that mutations make.
const LONGEST: usize = 6000;

/// Changes an input in a few places; parts of `others` are mixed in.
pub fn mutate(kind: Kind, input: &[u8], others: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut made = input.to_vec();
    let changes = if kind == Kind::Edits { 1 } else { 1 + dice.below(4) };
    let none = Vec::new();
    for _ in 0..changes {
        let other = dice.any(others).unwrap_or(&none);
        match kind {
            Kind::Rows => change_text(&mut made, other, ROWS, dice),
            Kind::Loom => change_text(&mut made, other, LOOM, dice),
            Kind::Edits => type_on(&mut made, other, dice),
            Kind::Data => change_bytes(&mut made, other, dice),
        }
    }
    made.truncate(LONGEST);
    made
}

/// Changes words, lines or sizes of a text.
fn change_text(text: &mut Vec<u8>, other: &[u8], pieces: &[&str], dice: &mut Dice) {
    match dice.below(16) {
        0 => remove(text, dice, words),
        1 => swap(text, dice, words),
        2..=4 => insert_piece(text, pieces, dice),
        5 => replace_piece(text, pieces, dice),
        6 | 7 => extreme_size(text, dice),
        8 => remove(text, dice, lines),
        9 => swap(text, dice, lines),
        10 => repeat(text, dice, lines),
        11 | 12 => borrow(text, other, dice, lines),
        13 => borrow(text, other, dice, words),
        14 => splice(text, other, dice),
        _ => change_byte(text, dice),
    }
}

/// Changes a text as a person does who types it.
fn type_on(text: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    match dice.below(10) {
        0..=2 => insert_piece(text, LOOM, dice),
        3 | 4 => remove(text, dice, letters),
        5 => remove(text, dice, words),
        6 => remove(text, dice, lines),
        7 => borrow(text, other, dice, lines),
        8 => extreme_size(text, dice),
        _ => repeat(text, dice, lines),
    }
}

/// Changes bytes, or numbers in binary.
fn change_bytes(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    match dice.below(9) {
        0 | 1 => change_byte(bytes, dice),
        2 => binary_number(bytes, dice),
        3 => extreme_size(bytes, dice),
        4 => bytes.truncate(dice.below(bytes.len() + 1)),
        5 => remove(bytes, dice, runs),
        6 => repeat(bytes, dice, runs),
        7 => splice(bytes, other, dice),
        _ => insert_piece(bytes, DATA, dice),
    }
}

/// A way to split an input into consecutive parts.
type Parts = fn(&[u8]) -> Vec<Range<usize>>;

/// Words: names and numbers, runs of spaces, and single marks.
fn words(text: &[u8]) -> Vec<Range<usize>> {
    let class = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => 0,
        b' ' => 1,
        _ => 2,
    };
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, &byte) in text.iter().enumerate() {
        match found.last_mut() {
            Some(word) if class(byte) < 2 && class(text[word.start]) == class(byte) => word.end = at + 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

/// Lines with their ends.
fn lines(text: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    let piece = |line: &[u8]| {
        start += line.len();
        start - line.len()..start
    };
    text.split_inclusive(|byte| *byte == b'\n').map(piece).collect()
}

/// Single bytes. A text may be cut inside a letter; then the reader refuses it.
fn letters(text: &[u8]) -> Vec<Range<usize>> {
    (0..text.len()).map(|at| at..at + 1).collect()
}

/// Runs of eight bytes.
fn runs(bytes: &[u8]) -> Vec<Range<usize>> {
    (0..bytes.len()).step_by(8).map(|at| at..(at + 8).min(bytes.len())).collect()
}

/// Runs of digits.
fn numbers(text: &[u8]) -> Vec<Range<usize>> {
    let is_number = |range: &Range<usize>| text[range.clone()].iter().all(u8::is_ascii_digit);
    words(text).into_iter().filter(is_number).collect()
}

fn remove(text: &mut Vec<u8>, dice: &mut Dice, parts: Parts) {
    if let Some(part) = dice.any(&parts(text)) {
        text.drain(part.clone());
    }
}

fn repeat(text: &mut Vec<u8>, dice: &mut Dice, parts: Parts) {
    if let Some(part) = dice.any(&parts(text)) {
        let again = text[part.clone()].repeat(1 + dice.below(3));
        text.splice(part.end..part.end, again);
    }
}

fn swap(text: &mut Vec<u8>, dice: &mut Dice, parts: Parts) {
    let parts = parts(text);
    let (Some(one), Some(other)) = (dice.any(&parts), dice.any(&parts)) else { return };
    let (first, second) = if one.start < other.start { (one, other) } else { (other, one) };
    if first.end <= second.start {
        let pieces = [&text[second.clone()], &text[first.end..second.start], &text[first.clone()]].concat();
        text.splice(first.start..second.end, pieces);
    }
}

/// Inserts a part of another input before a part of this one, or in its place.
fn borrow(text: &mut Vec<u8>, other: &[u8], dice: &mut Dice, parts: Parts) {
    let (theirs, ours) = (parts(other), parts(text));
    let (Some(from), Some(to)) = (dice.any(&theirs), dice.any(&ours)) else { return };
    let end = if dice.percent(50) { to.start } else { to.end };
    text.splice(to.start..end, other[from.clone()].iter().copied());
}

/// Joins the beginning of this input and the end of another, cut between lines if there are any.
fn splice(text: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let cut = |bytes: &[u8], dice: &mut Dice| match dice.any(&lines(bytes)) {
        Some(line) if bytes.contains(&b'\n') => line.start,
        _ => dice.below(bytes.len() + 1),
    };
    let (end, start) = (cut(text, dice), cut(other, dice));
    text.truncate(end);
    text.extend_from_slice(&other[start..]);
}

fn insert_piece(text: &mut Vec<u8>, pieces: &[&str], dice: &mut Dice) {
    let at = match dice.any(&words(text)) {
        Some(word) => word.start,
        None => 0,
    };
    if let Some(piece) = dice.any(pieces) {
        text.splice(at..at, piece.bytes());
    }
}

fn replace_piece(text: &mut Vec<u8>, pieces: &[&str], dice: &mut Dice) {
    if let (Some(word), Some(piece)) = (dice.any(&words(text)), dice.any(pieces)) {
        text.splice(word.clone(), piece.bytes());
    }
}

/// Replaces a number that is written in digits.
fn extreme_size(text: &mut Vec<u8>, dice: &mut Dice) {
    if let (Some(number), Some(size)) = (dice.any(&numbers(text)), dice.any(SIZES)) {
        text.splice(number.clone(), size.bytes());
    }
}

fn change_byte(bytes: &mut [u8], dice: &mut Dice) {
    let at = dice.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte = if dice.percent(50) { *byte ^ (1 << dice.below(8)) } else { dice.below(256) as u8 };
    }
}

/// Replaces two, four or eight bytes by an unusual number.
fn binary_number(bytes: &mut [u8], dice: &mut Dice) {
    let numbers =
        [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 40, i64::MAX as u64, 1 << 63, u64::MAX];
    let number = dice.any(&numbers).copied().unwrap_or_default();
    let width = [2, 4, 8][dice.below(3)];
    let at = dice.below(bytes.len());
    for (place, byte) in bytes.iter_mut().skip(at).zip(&number.to_le_bytes()[..width]) {
        *place = *byte;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal seeds give equal inputs, and no change panics, even on an empty input.
    #[test]
    fn mutations_are_the_same_each_time() {
        let others = [b"data y : 3\nlet z = y\n".to_vec(), Vec::new(), b"\xff".to_vec()];
        for kind in Kind::ALL {
            for start in ["", "x", "data x : 12 | 3\nlet y = x + 1\n"] {
                let chain = |seed| {
                    let mut dice = Dice::new(seed);
                    (0..200)
                        .fold(start.as_bytes().to_vec(), |text, _| mutate(kind, &text, &others, &mut dice))
                };
                assert_eq!(chain(7), chain(7));
                assert_ne!(chain(7), chain(8));
            }
        }
    }

    #[test]
    fn parts_cover_the_text() {
        let text = "let y12 = x + 3\n\n  é".as_bytes();
        for parts in [words, lines, letters, runs] {
            let whole: Vec<u8> = parts(text).into_iter().flat_map(|part| text[part].to_vec()).collect();
            assert_eq!(whole, text);
        }
        assert_eq!(numbers(text).len(), 1);
    }
}
