//! The arena: where local buffers lie in memory, sharing it when they are not needed at the same time.
//!
//! A buffer is needed from the first nest that mentions it to the last. Large buffers are placed first, each at the
//! lowest place where it overlaps no other that is needed at the same time.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::native::flat::{Flat, Step};
use crate::{BufferId, Program, Storage};

/// Where local buffers lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arena {
    /// The offset of each, in bytes; a multiple of 64.
    pub offsets: FxHashMap<BufferId, u64>,
    /// The size of all.
    pub bytes: u64,
    /// For each nest, the buffers that are mentioned there first.
    pub born: Vec<Vec<BufferId>>,
}

/// The nests that need a buffer.
struct Need {
    buffer: BufferId,
    bytes: u64,
    first: usize,
    last: usize,
}

/// Places the local buffers of a program, except some.
pub(crate) fn place(program: &Program, nests: &[Flat], except: &FxHashSet<BufferId>) -> Arena {
    let mut needs: Vec<Need> = Vec::new();
    let mut known: FxHashMap<BufferId, usize> = FxHashMap::default();
    for (number, nest) in nests.iter().enumerate() {
        let mut see = |buffer: BufferId| {
            if program.buffer(buffer).storage == Storage::Kept || except.contains(&buffer) {
                return;
            }
            let place = *known.entry(buffer).or_insert_with(|| {
                let shape = program.buffer(buffer);
                let bytes = shape.cells() * shape.dtype.bytes() as u64;
                needs.push(Need {
                    buffer,
                    bytes: bytes.max(1).next_multiple_of(64),
                    first: number,
                    last: number,
                });
                needs.len() - 1
            });
            needs[place].last = number;
        };
        for step in &nest.body {
            step.each(&mut |step| {
                step.each_access(&mut |_, access| see(access.buffer));
                if let Step::Margins { buffer, .. } = step {
                    see(*buffer);
                }
            });
        }
    }
    let mut arena = Arena { born: vec![Vec::new(); nests.len()], ..Arena::default() };
    for need in &needs {
        arena.born[need.first].push(need.buffer);
    }
    needs.sort_by_key(|need| (std::cmp::Reverse(need.bytes), need.first));
    let mut placed: Vec<(u64, Need)> = Vec::new();
    for need in needs {
        let meets = |(_, other): &&(u64, Need)| need.first <= other.last && other.first <= need.last;
        // In order of place: the lowest gap that is large enough.
        let mut offset = 0;
        for (place, other) in placed.iter().filter(meets) {
            if offset + need.bytes <= *place {
                break;
            }
            offset = offset.max(place + other.bytes);
        }
        arena.bytes = arena.bytes.max(offset + need.bytes);
        arena.offsets.insert(need.buffer, offset);
        let at = placed.partition_point(|(place, _)| *place <= offset);
        placed.insert(at, (offset, need));
    }
    arena
}
