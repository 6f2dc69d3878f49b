//! Programs while they are typed: `broadloom_fuzz::Kind::Edits` under libFuzzer.
#![no_main]

use broadloom_fuzz::Kind;
use broadloom_fuzz_targets::mutated;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|bytes: &[u8]| {
    Kind::Edits.check(bytes);
});

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    mutated(Kind::Edits, data, size, most, seed)
});
