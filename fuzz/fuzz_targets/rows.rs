//! Systems of constraints, read and solved: `broadloom_fuzz::Kind::Rows` under libFuzzer.
#![no_main]

use broadloom_fuzz::Kind;
use broadloom_fuzz_targets::mutated;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|bytes: &[u8]| {
    Kind::Rows.check(bytes);
});

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    mutated(Kind::Rows, data, size, most, seed)
});
