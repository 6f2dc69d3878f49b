//! Programs for every size: one text of C in which some sizes are arguments.
//!
//! A family of programs is a function from sizes to programs. Its text is written for several large sizes, and the
//! texts are laid on top of each other: they must agree in everything but numbers, and every number must be a
//! [polynomial](crate::native::polynomial) in the sizes. Then the text with these polynomials in place of the numbers
//! is the text for all sizes.
//!
//! ```c
//! for (int64_t i = 0; i < 10007; i++)  |
//! for (int64_t i = 0; i < 10009; i++)  | becomes    for (int64_t i = 0; i < size_0; i++)
//! ```
//!
//! A size that is always a multiple of a number is an argument divided by it: halves of an even size are then whole.
//!
//! If they do not agree, because something is decided by a size, there is no such text: programs are then compiled for
//! each size by itself. What is decided at large sizes holds at small ones too: nests are written for loops that may
//! run any number of times, and only large sizes are rid of special cases.

use crate::native::Error;
use crate::native::arena::{self, Need};
use crate::native::file::{File, file};
use crate::native::plan::Sizing;
use crate::native::polynomial::{Interpolation, Polynomial, large};
use crate::native::runtime::Kernels;
use crate::native::types::Real;
use crate::{Buffer, BufferId, Program};

/// The text of a family, and what has to be known of its members.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub source: String,
    pub kernels: Vec<Real>,
    /// How many numbers are supplied to a run.
    pub symbols: usize,
    /// What each size is a multiple of.
    multiples: Vec<u64>,
    /// The buffers, at some sizes.
    buffers: Vec<Buffer>,
    /// The sizes of each buffer.
    sizes: Vec<Vec<Polynomial>>,
    pub needs: Vec<Need>,
    checks: Vec<(BufferId, Polynomial, BufferId)>,
}

/// What a member of a family needs.
pub(crate) struct Member {
    pub buffers: Vec<Buffer>,
    /// Where local buffers lie, in the order of the needs, and at last the bytes of all.
    pub offsets: Vec<i64>,
    pub checks: Vec<(BufferId, u64, BufferId)>,
}

impl Family {
    /// The family of programs that `make` gives for sizes that are multiples of some numbers.
    pub fn new(
        multiples: &[u64],
        mut make: impl FnMut(&[u64]) -> Result<Program, Error>,
    ) -> Result<Family, Error> {
        let mut written = Vec::new();
        let mut refused = none("there are too many named sizes");
        // Most programs have products of few sizes, and fewer points are enough for them.
        for degree in [2, 3, 4] {
            let Some(interpolation) = Interpolation::new(multiples.len(), degree) else { break };
            for point in &interpolation.points()[written.len()..] {
                written.push(write(point, multiples, &mut make)?);
            }
            match Family::laid(multiples, &interpolation, &written) {
                Ok(family) => return Ok(family),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// The family of programs that were written at some points.
    fn laid(
        multiples: &[u64],
        interpolation: &Interpolation,
        written: &[(Program, File)],
    ) -> Result<Family, Error> {
        let find = |values: Vec<i64>| {
            let refused =
                "a number in it is no polynomial in its sizes, or one with products of too many of them";
            interpolation.find(&values).ok_or_else(|| none(refused))
        };
        let texts: Vec<&str> = written.iter().map(|(_, file)| file.source.as_str()).collect();
        let source = laid_together(&texts, find)?;
        let (_, first) = &written[0];
        if !written.iter().all(|(_, file)| alike(file, first)) {
            return Err(none("it needs other memory at other sizes"));
        }
        let axis = |buffer: usize, axis: usize| {
            find(written.iter().map(|(_, file)| file.buffers[buffer].sizes[axis] as i64).collect())
        };
        let sizes = (0..first.buffers.len())
            .map(|buffer| (0..first.buffers[buffer].sizes.len()).map(|each| axis(buffer, each)).collect())
            .collect::<Result<_, _>>()?;
        let checks = (0..first.checks.len())
            .map(|check| {
                let (buffer, _, of) = first.checks[check];
                let below = find(written.iter().map(|(_, file)| file.checks[check].1 as i64).collect())?;
                Ok((buffer, below, of))
            })
            .collect::<Result<_, Error>>()?;
        Ok(Family {
            source,
            kernels: first.kernels.clone(),
            symbols: written[0].0.symbols.len(),
            multiples: multiples.to_vec(),
            buffers: first.buffers.clone(),
            sizes,
            needs: first.needs.clone(),
            checks,
        })
    }

    /// The arguments for some sizes.
    pub fn arguments(&self, sizes: &[u64]) -> Result<Vec<u64>, Error> {
        if sizes.len() != self.multiples.len() {
            let message = format!("it has {} sizes, {} given", self.multiples.len(), sizes.len());
            return Err(Error::Sizes { message });
        }
        let argument = |(size, of): (&u64, &u64)| match size.is_multiple_of(*of) {
            true => Ok(size / of),
            false => Err(Error::Sizes { message: format!("{size} is no multiple of {of}") }),
        };
        sizes.iter().zip(&self.multiples).map(argument).collect()
    }

    /// What the member with some arguments needs.
    pub fn member(&self, arguments: &[u64]) -> Result<Member, Error> {
        let large = || Error::Sizes { message: "its arrays would be too large".into() };
        let at = |polynomial: &Polynomial| {
            polynomial.at(arguments).and_then(|value| u64::try_from(value).ok()).ok_or_else(large)
        };
        let mut buffers = self.buffers.clone();
        for (buffer, sizes) in buffers.iter_mut().zip(&self.sizes) {
            buffer.sizes = sizes.iter().map(at).collect::<Result<_, _>>()?;
            let bytes = buffer.padded().try_fold(buffer.dtype.bytes() as u64, u64::checked_mul);
            bytes.filter(|bytes| *bytes < 1 << 62).ok_or_else(large)?;
        }
        let placed = arena::pack(&self.needs, |buffer| arena::bytes_of(&buffers[buffer.index()]));
        let place = |need: &Need| placed.offsets.get(&need.buffer).copied().unwrap_or(0) as i64;
        let offsets = self.needs.iter().map(place).chain([placed.bytes as i64]).collect();
        let checks = self
            .checks
            .iter()
            .map(|(buffer, below, of)| Ok((*buffer, at(below)?, *of)))
            .collect::<Result<_, Error>>()?;
        Ok(Member { buffers, offsets, checks })
    }
}

fn none(why: &str) -> Error {
    Error::Sizes { message: why.into() }
}

/// Writes the program at a point.
fn write(
    point: &[u64],
    multiples: &[u64],
    make: &mut impl FnMut(&[u64]) -> Result<Program, Error>,
) -> Result<(Program, File), Error> {
    let sizes = point.iter().zip(multiples);
    let sizes: Option<Vec<u64>> =
        sizes.map(|(argument, of)| argument.checked_mul(*of).filter(|size| *size > 0)).collect();
    let program = make(&sizes.ok_or_else(|| none("its sizes would be too large"))?)?;
    let sizing = Sizing::Arguments { count: multiples.len(), least: large(multiples.len()) };
    // These sizes are larger than any that is asked for: what does not fit them may still be compiled.
    let file = file(&program, "broadloom", None, Kernels::Outside, sizing)
        .map_err(|error| none(&format!("at large sizes, {error}")))?;
    Ok((program, file))
}

/// Whether two files need the same memory, sizes aside. What lies on the stack has one size.
fn alike(one: &File, other: &File) -> bool {
    let buffers = |(a, b): (&Buffer, &Buffer)| {
        a.margins == b.margins && a.sizes.len() == b.sizes.len() && a.storage == b.storage
    };
    one.needs.len() == other.needs.len()
        && one.checks.len() == other.checks.len()
        && one.buffers.len() == other.buffers.len()
        && one.rows == other.rows
        && one.needs.iter().zip(&other.needs).all(|(a, b)| a.same_time(b))
        && one.buffers.iter().zip(&other.buffers).all(buffers)
}

/// A piece of a text: a run of digits with what belongs to it, or anything between.
fn pieces(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = *rest.as_bytes().first()?;
        let word = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.');
        let is_word = |c: &u8| c.is_ascii_alphabetic() || *c == b'_';
        let bytes = rest.as_bytes();
        let length = if first.is_ascii_digit() || is_word(&first) {
            bytes.iter().position(|c| !word(c)).unwrap_or(bytes.len())
        } else {
            bytes.iter().position(|c| c.is_ascii_digit() || is_word(c)).unwrap_or(bytes.len())
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some((first.is_ascii_digit(), piece))
    })
}

/// Texts that differ in numbers only, as one text with polynomials in place of the numbers.
fn laid_together(
    texts: &[&str],
    find: impl Fn(Vec<i64>) -> Result<Polynomial, Error>,
) -> Result<String, Error> {
    let different = || Error::Sizes { message: "something in it is decided by a size".into() };
    let mut all: Vec<_> = texts.iter().map(|text| pieces(text)).collect();
    let Some((first, others)) = all.split_first_mut() else { return Err(different()) };
    let mut merged = String::new();
    for (is_number, piece) in first {
        let same: Vec<&str> = others
            .iter_mut()
            .map(|pieces| pieces.next().map(|(_, piece)| piece).ok_or_else(different))
            .collect::<Result<_, _>>()?;
        if same.iter().all(|other| *other == piece) {
            merged.push_str(piece);
            continue;
        }
        let values: Option<Vec<i64>> =
            std::iter::once(&piece).chain(&same).map(|piece| piece.parse().ok()).collect();
        match values {
            Some(values) if is_number => merged.push_str(&find(values)?.text()),
            _ => return Err(different()),
        }
    }
    match others.iter_mut().all(|pieces| pieces.next().is_none()) {
        true => Ok(merged),
        false => Err(different()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_laid_together() {
        let find = |values: Vec<i64>| {
            assert_eq!(values, [10, 20]);
            Ok(Polynomial::constant(7))
        };
        let merged = laid_together(&["nest_2(x, 10) + 1.5f;", "nest_2(x, 20) + 1.5f;"], find);
        assert_eq!(merged.expect("they differ in one number"), "nest_2(x, 7) + 1.5f;");
        for other in ["nest_3(x, 10) + 1.5f;", "nest_2(x, 10) + 2.5f;", "nest_2(x, 10) + 1.5f; more"] {
            assert!(laid_together(&["nest_2(x, 10) + 1.5f;", other], find).is_err(), "{other}");
        }
    }
}
