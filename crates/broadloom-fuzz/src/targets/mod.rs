//! The entry functions, one module for each kind of input.

pub(crate) mod data;
pub(crate) mod edits;
pub(crate) mod loom;
pub(crate) mod rows;

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

/// A number that stands for a value.
fn fingerprint(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A number of things, roughly: only its order of magnitude counts.
fn about(count: usize) -> u32 {
    count.checked_ilog2().map_or(0, |digits| digits + 1)
}
