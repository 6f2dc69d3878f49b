//! The entry functions, one module for each kind of input.

pub(crate) mod data;
pub(crate) mod edits;
pub(crate) mod loom;
pub(crate) mod rows;

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

/// A hash of a value.
fn fingerprint(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The order of magnitude of a count.
fn about(count: usize) -> u32 {
    count.checked_ilog2().map_or(0, |digits| digits + 1)
}
