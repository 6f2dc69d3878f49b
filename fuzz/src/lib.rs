//! Code that the libFuzzer targets share: mutations, half of them libFuzzer's own.

use broadloom_fuzz::Kind;
use broadloom_fuzz::Dice;
use broadloom_fuzz::mutate::mutate;

/// Changes the first `size` bytes of `data` in place, and returns their new number, at most `most`.
pub fn mutated(kind: Kind, data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut dice = Dice::new(u64::from(seed));
    if dice.percent(50) {
        return libfuzzer_sys::fuzzer_mutate(data, size, most);
    }
    let made = mutate(kind, &data[..size], &[], &mut dice);
    let length = made.len().min(most);
    data[..length].copy_from_slice(&made[..length]);
    length
}
