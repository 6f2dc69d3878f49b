//! The arena: the memory of local buffers, which share it when they are not needed at the same
//! time.
//!
//! A buffer is needed from the first nest that mentions it to the last. If that is a nest of a repeat, and the buffer is also
//! mentioned outside of it or a turn reads what the one before wrote, the buffer is needed during the whole repeat. Large buffers are placed
//! first, each at the lowest offset where it overlaps no other buffer that is needed at the same
//! time.

use std::ops::Range;

use broadloom_loops::{Buffer, BufferId, Program, Storage};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::flat::{Flat, FlatStatement};

/// The places of local buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arena {
    /// The offset of each, in bytes; a multiple of 64.
    pub offsets: FxHashMap<BufferId, u64>,
    /// The size of the arena.
    pub bytes: u64,
    /// For each nest, the buffers that are first mentioned there.
    pub first_used: Vec<Vec<BufferId>>,
}

/// The nests that need a buffer.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    pub buffer: BufferId,
    first: usize,
    last: usize,
}

/// The number of bytes that a buffer, whose sizes are numbers, takes in an arena or in a block of
/// its own.
pub fn bytes_of(buffer: &Buffer) -> u64 {
    let bytes = (buffer.cells() * buffer.dtype.bytes() as u64).get().max(1);
    bytes.checked_next_multiple_of(64).unwrap_or(u64::MAX)
}

/// The range of nests that needs each local buffer of a program, except some.
pub(crate) fn needs(program: &Program, nests: &[Flat], except: &FxHashSet<BufferId>) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    let mut known: FxHashMap<BufferId, usize> = FxHashMap::default();
    for (number, nest) in nests.iter().enumerate() {
        let mut see = |buffer: BufferId| {
            if program.buffer(buffer).storage == Storage::Kept || except.contains(&buffer) {
                return;
            }
            let place = *known.entry(buffer).or_insert_with(|| {
                needs.push(Need { buffer, first: number, last: number });
                needs.len() - 1
            });
            needs[place].last = number;
        };
        for step in &nest.body {
            step.each(&mut |step| {
                step.each_access(&mut |_, access| see(access.buffer));
                if let FlatStatement::Margins { buffer, .. } = step {
                    see(*buffer);
                }
            });
        }
    }
    for repeat in &program.repeats {
        let Range { start, end } = repeat.nests.clone();
        let read_first = program.read_first(start..end);
        for need in &mut needs {
            let inside = need.first < end && need.last >= start;
            let outside = need.first < start || need.last >= end;
            if inside && (outside || read_first.contains(&need.buffer)) {
                need.first = need.first.min(start);
                need.last = need.last.max(end - 1);
            }
        }
    }
    needs
}

/// Places buffers of known sizes.
pub(crate) fn pack(needs: &[Need], bytes: impl Fn(BufferId) -> u64) -> Arena {
    let nests = needs.iter().map(|need| need.last + 1).max().unwrap_or(0);
    let mut arena = Arena { first_used: vec![Vec::new(); nests], ..Arena::default() };
    for need in needs {
        arena.first_used[need.first].push(need.buffer);
    }
    let mut needs: Vec<(u64, &Need)> = needs.iter().map(|need| (bytes(need.buffer), need)).collect();
    needs.sort_by_key(|(bytes, need)| (std::cmp::Reverse(*bytes), need.first));
    let mut placed: Vec<(u64, u64, &Need)> = Vec::new();
    for (bytes, need) in needs {
        let meets = |(.., other): &&(u64, u64, &Need)| need.first <= other.last && other.first <= need.last;
        // In order of offset: the lowest gap that is large enough.
        let mut offset = 0u64;
        for (place, other, _) in placed.iter().filter(meets) {
            if offset.saturating_add(bytes) <= *place {
                break;
            }
            offset = offset.max(place.saturating_add(*other));
        }
        arena.bytes = arena.bytes.max(offset.saturating_add(bytes));
        arena.offsets.insert(need.buffer, offset);
        let at = placed.partition_point(|(place, ..)| *place <= offset);
        placed.insert(at, (offset, bytes, need));
    }
    arena
}
