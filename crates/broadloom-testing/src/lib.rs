//! Tools that the tests of several crates share: random choices from a seed, so that failures can be repeated, the volume of
//! random tests, and the modules of a crate with their uses.
//!
//! ```
//! use broadloom_testing::Dice;
//! let mut dice = Dice::new(7);
//! let word = dice.pick(&["relu", "exp", "sin"]);
//! assert_eq!(word, Dice::new(7).pick(&["relu", "exp", "sin"]));
//! assert!((2..=5).contains(&dice.between((2, 5))));
//! ```

pub mod module_reader;
mod volume;

pub use volume::{asked, seeds, setting};

/// Random choices, the same for the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The choices of a seed.
    pub fn new(seed: u64) -> Dice {
        // Neighbouring seeds would otherwise give the same numbers, one place apart.
        Dice(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// The choices of the seed of a random function, which the test of signatures is counted by.
    pub fn of_function(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    /// The choices from a state of the generator, which the programs of loops are counted by.
    pub fn from_state(state: u64) -> Dice {
        Dice(state)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit; 0 if the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.roll(limit as u64) as usize
    }

    /// Like [`below`](Dice::below), for large numbers.
    pub fn roll(&mut self, limit: u64) -> u64 {
        self.bits() % limit.max(1)
    }

    /// A number of an inclusive range.
    pub fn between(&mut self, (least, most): (usize, usize)) -> usize {
        least + self.below(most - least + 1)
    }

    /// A number from -1 to 1.
    pub fn signed(&mut self) -> f64 {
        self.below(2_000_001) as f64 / 1e6 - 1.0
    }

    /// True with a probability of this many percent.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// True once in this many times, on average.
    pub fn chance(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of a list that is not empty.
    pub fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        self.one(items).clone()
    }

    /// A reference to one of a list that is not empty.
    pub fn one<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A reference to one of a list, if it has any.
    pub fn any<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// Puts a list into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Prints a text if the test panics while this is alive: the input of a call that panics in the program under test.
pub struct ShownInPanic<F: Fn() -> String>(pub F);

impl<F: Fn() -> String> Drop for ShownInPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", (self.0)());
        }
    }
}
