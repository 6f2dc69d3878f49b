//! Random numbers as a function of a key and a position: Threefry-2x32 with 20 rounds (Salmon et al., *Parallel
//! Random Numbers: As Easy as 1, 2, 3*). Nothing is carried from one number to the next, so order and
//! threads do not matter.

/// Rotations of the eight rounds that repeat.
const ROTATIONS: [u32; 8] = [13, 15, 26, 6, 17, 29, 16, 24];

/// The two words that belong to a key and a position.
pub fn threefry(key: u64, position: u64) -> [u32; 2] {
    let [k0, k1] = [key as u32, (key >> 32) as u32];
    let keys = [k0, k1, k0 ^ k1 ^ 0x1BD1_1BDA];
    let mut x = [(position as u32).wrapping_add(k0), ((position >> 32) as u32).wrapping_add(k1)];
    for round in 0..20 {
        x[0] = x[0].wrapping_add(x[1]);
        x[1] = x[1].rotate_left(ROTATIONS[round % 8]) ^ x[0];
        if round % 4 == 3 {
            let turn = round / 4 + 1;
            x[0] = x[0].wrapping_add(keys[turn % 3]);
            x[1] = x[1].wrapping_add(keys[(turn + 1) % 3]).wrapping_add(turn as u32);
        }
    }
    x
}

/// A number in `[0, 1)` with 24 random bits.
pub fn uniform_f32(key: u64, position: u64) -> f32 {
    (threefry(key, position)[0] >> 8) as f32 / (1u32 << 24) as f32
}

/// A number in `[0, 1)` with 53 random bits.
pub fn uniform_f64(key: u64, position: u64) -> f64 {
    let [x0, x1] = threefry(key, position);
    ((u64::from(x0) << 21) | u64::from(x1 >> 11)) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of Random123.
    #[test]
    fn known_answers() {
        assert_eq!(threefry(0, 0), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry(u64::MAX, u64::MAX), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(threefry(0x0370_7344_1319_8a2e, 0x85a3_08d3_243f_6a88), [0xc492_3a9c, 0x483d_f7a0]);
    }
}
