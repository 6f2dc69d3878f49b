//! Programs, given to the front end and to the commands: `broadloom_fuzz::Kind::Loom` under libFuzzer.
#![no_main]

use broadloom_fuzz::Kind;
use broadloom_fuzz_targets::mutated;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|bytes: &[u8]| {
    Kind::Loom.check(bytes);
});

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    mutated(Kind::Loom, data, size, most, seed)
});
