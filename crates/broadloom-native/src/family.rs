//! Programs whose sizes are arguments: the data that is needed to run them at given sizes.
//!
//! The code of such a program is compiled once. The offsets of its local buffers depend on the
//! sizes: they are computed here, and passed to the code together with the sizes.

use broadloom_loops::{Buffer, BufferId, Derived, Program, Progression, Size};

use crate::Error;
use crate::arena::{self, Need};
use crate::emit::File;

/// The facts about a program that hold for all sizes.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    /// The numbers that each argument can be.
    arguments: Vec<Progression>,
    derived: Vec<Derived>,
    buffers: Vec<Buffer>,
    needs: Vec<Need>,
    checks: Vec<(BufferId, Size, BufferId)>,
}

/// The data that the program needs at given sizes.
pub(crate) struct Member {
    /// The numbers that are passed to the code.
    pub symbols: Vec<u64>,
    pub buffers: Vec<Buffer>,
    /// The offsets of local buffers, in the order of the needs, followed by the size of the arena.
    pub offsets: Vec<i64>,
    pub checks: Vec<(BufferId, u64, BufferId)>,
}

impl Family {
    /// The family of a program that was written as a file, or None if it has no arguments.
    pub fn of(program: &Program, file: &File) -> Option<Family> {
        let known = || Family {
            arguments: program.arguments.clone(),
            derived: program.derived.clone(),
            buffers: file.buffers.clone(),
            needs: file.needs.clone(),
            checks: file.checks.clone(),
        };
        (!program.arguments.is_empty()).then(known)
    }

    /// The data that the program needs at some sizes of its arguments.
    pub fn member(&self, sizes: &[u64]) -> Result<Member, Error> {
        let symbols = self.symbols(sizes)?;
        let large = || Error::Sizes { message: "its arrays would be too large".into() };
        let mut buffers = self.buffers.clone();
        for buffer in &mut buffers {
            for size in &mut buffer.sizes {
                *size = size.at(&symbols).ok_or_else(large)?.into();
            }
            if !(buffer.cells() * buffer.dtype.bytes() as u64).is_moderate() {
                return Err(large());
            }
        }
        let placed = arena::pack(&self.needs, |buffer| arena::bytes_of(&buffers[buffer.index()]));
        let place = |need: &Need| placed.offsets.get(&need.buffer).copied().unwrap_or(0) as i64;
        let offsets = self.needs.iter().map(place).chain([placed.bytes as i64]).collect();
        let check = |(buffer, below, of): &(BufferId, Size, BufferId)| {
            Ok((*buffer, below.at(&symbols).ok_or_else(large)?, *of))
        };
        let checks = self.checks.iter().map(check).collect::<Result<_, Error>>()?;
        Ok(Member { symbols, buffers, offsets, checks })
    }

    /// The places of the arguments among the numbers that they can be, and the derived sizes.
    fn symbols(&self, sizes: &[u64]) -> Result<Vec<u64>, Error> {
        if sizes.len() != self.arguments.len() {
            let message = format!("it has {} sizes, {} given", self.arguments.len(), sizes.len());
            return Err(Error::Sizes { message });
        }
        let symbol = |(size, of): (&u64, &Progression)| match of.place_of(*size) {
            Some(place) => Ok(place),
            None => Err(Error::Sizes { message: format!("{size} is not {of}") }),
        };
        let mut symbols: Vec<u64> =
            sizes.iter().zip(&self.arguments).map(symbol).collect::<Result<_, _>>()?;
        for derived in &self.derived {
            let large = || Error::Sizes { message: "its sizes would be too large".into() };
            symbols.push(derived.at(&symbols).ok_or_else(large)?);
        }
        Ok(symbols)
    }
}
