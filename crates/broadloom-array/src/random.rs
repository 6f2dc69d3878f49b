//! Random numbers as a function of a key and a position.
//!
//! There is no generator with a state: number 17 of a key is always the same number, whatever
//! numbers were computed before, in any order, on any number of threads. The definitions here are a
//! contract: the numbers stay the same from version to version.
//!
//! - [`threefry`]: Threefry-2x32 with 20 rounds (Salmon et al., *Parallel Random Numbers: As Easy as 1, 2, 3*), as
//!   in Random123. The low halves of key and position are the first words.
//! - [`uniform_f32`] and [`uniform_f64`]: the upper 24 bits of the first word, or 32 bits of the first and
//!   21 of the second, as a fraction.
//! - [`normal_f64`]: Box and Muller's transformation of two uniform numbers.
//! - [`key_of`]: a key from a seed and a name.
//!
//! ```
//! use broadloom_array::random::{key_of, uniform_f32};
//!
//! let key = key_of(42, "w");
//! let numbers: Vec<f32> = (0..3).map(|position| uniform_f32(key, position)).collect();
//! assert_eq!(uniform_f32(key, 2), numbers[2]);
//! assert_ne!(uniform_f32(key_of(42, "v"), 2), numbers[2]);
//! ```

pub use crate::threefry::{threefry, uniform_f32, uniform_f64};

/// A normal number, with mean 0 and deviation 1: `√(−2 ln(1 − u)) · cos(2π v)`, where `u` and `v` are
/// the uniform 64-bit floats of the positions `2 position` and `2 position + 1`.
///
/// Its last bit depends on how the platform computes logarithm and cosine.
///
/// ```
/// let numbers = (0..10_000).map(|position| broadloom_array::random::normal_f64(1, position));
/// assert!((numbers.sum::<f64>() / 10_000.0).abs() < 0.05);
/// ```
pub fn normal_f64(key: u64, position: u64) -> f64 {
    let first = position.wrapping_mul(2);
    let (u, v) = (uniform_f64(key, first), uniform_f64(key, first.wrapping_add(1)));
    // 1 − u is never 0.
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// The key of a named tensor, under a seed: `mix(mix(seed) ^ hash(name))`.
///
/// `hash` is FNV-1a with 64 bits over the bytes of the name in UTF-8. `mix` is one step of
/// SplitMix64: it adds 0x9E3779B97F4A7C15, then mixes by two multiplications (0xBF58476D1CE4E5B9
/// after a shift of 30, 0x94D049BB133111EB after 27) and a last shift of 31. Under one name
/// different seeds have different keys; under one seed different names have, unless their hashes
/// collide.
///
/// ```
/// assert_eq!(broadloom_array::random::key_of(0, "w"), 0xb7be_8ebb_704b_8fdf);
/// ```
pub fn key_of(seed: u64, name: &str) -> u64 {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    mix(mix(seed) ^ hash)
}

/// One step of SplitMix64 (Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*).
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_numbers_are_the_upper_bits() {
        assert_eq!(uniform_f32(0, 0), 0x6b_2001 as f32 / 16_777_216.0);
        assert_eq!(uniform_f64(0, 0), (0x6b20_0159_99ba_4efe_u64 >> 11) as f64 / 9_007_199_254_740_992.0);
        for position in 0..100_000 {
            assert!((0.0..1.0).contains(&uniform_f32(7, position)));
            assert!((0.0..1.0).contains(&uniform_f64(7, position)));
        }
    }

    /// Computed from the definitions in another language.
    #[test]
    fn keys_and_normal_numbers_stay_the_same() {
        assert_eq!(key_of(0, ""), 0x5b21_f68f_fa77_f14c);
        assert_eq!(key_of(0, "w"), 0xb7be_8ebb_704b_8fdf);
        assert_eq!(key_of(42, "layer.1/größe"), 0xecdd_a3d8_cef1_3c8c);
        assert_eq!(key_of(u64::MAX, "w"), 0x5ece_703b_fdc9_c96c);
        assert_eq!(threefry(key_of(42, "w"), 7), [0xd054_4e0f, 0xcabd_4fda]);
        let expected = [(0, 1.030341268855071), (1, 0.6878907304705207), (12345, 1.1085892698121476)];
        for (position, expected) in expected {
            assert!((normal_f64(key_of(42, "w"), position) - expected).abs() < 1e-14);
        }
    }

    /// The moments of many numbers: mean, variance, and no relation between neighbours.
    #[test]
    fn normal_numbers_have_their_moments() {
        let count = 200_000u32;
        let numbers: Vec<f64> = (0..u64::from(count)).map(|position| normal_f64(3, position)).collect();
        let mean = |f: &dyn Fn(f64) -> f64| numbers.iter().map(|x| f(*x)).sum::<f64>() / f64::from(count);
        assert!(mean(&|x| x).abs() < 0.01);
        assert!((mean(&|x| x * x) - 1.0).abs() < 0.02);
        assert!(mean(&|x| x.powi(3)).abs() < 0.05);
        assert!((mean(&|x| x.powi(4)) - 3.0).abs() < 0.15);
        let neighbours = numbers.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / f64::from(count);
        assert!(neighbours.abs() < 0.01);
    }
}
