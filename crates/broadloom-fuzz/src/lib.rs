//! Fuzzing: strange inputs for everything that reads input.
//!
//! A [`Kind`] is one kind of input. Its entry function, [`Kind::check`], takes any bytes, asserts
//! the laws that hold for all of them, and returns a number for the outcome. Nothing may panic,
//! hang, or use more memory than [`limits`] allow. The libFuzzer targets in the folder `fuzz` call
//! the same functions and use the same [mutations](mutate::mutate).
//!
//! The runner needs no special toolchain. [`campaign`] replays the kept corpus and then mutates it,
//! in a child process ([`worker`]) whose crash is a find; [`minimise`] makes the input smaller as
//! long as the child crashes in the same way.
//!
//! ```
//! use broadloom_fuzz::Kind;
//!
//! let fine = Kind::Loom.check(b"data x : 3\nlet y = x + 1\n");
//! let wrong = Kind::Loom.check(b"data x : 3\nlet y = z + 1\n");
//! assert_ne!(fine, wrong, "they end in different ways");
//! ```

pub use broadloom_testing::Dice;

pub mod campaign;
mod child;
pub mod corpus;
pub mod limits;
pub mod minimise;
pub mod mutate;
mod pieces;
mod targets;
pub mod worker;

use clap::ValueEnum;

/// A kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Systems of constraints, read and solved.
    Rows,
    /// Programs, given to the front end and to the commands.
    Loom,
    /// Programs while somebody types: every state of the text is read, and so are its beginnings.
    Edits,
    /// Arrays in files: `.npy`, `.npz`, `.safetensors` and `.csv`.
    Data,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::Rows, Kind::Loom, Kind::Edits, Kind::Data];

    /// The name of the kind, which is the name of its folder too.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Rows => "rows",
            Kind::Loom => "loom",
            Kind::Edits => "edits",
            Kind::Data => "data",
        }
    }

    /// Returns true if inputs are texts.
    pub fn is_text(self) -> bool {
        self != Kind::Data
    }

    /// Checks one input and returns a number for the
    /// outcome: inputs with a new number are worth keeping.
    ///
    /// # Panics
    /// If a law does not hold, or the code under test panics: that is a find.
    pub fn check(self, bytes: &[u8]) -> u64 {
        match self {
            Kind::Rows => targets::rows::check(bytes),
            Kind::Loom => targets::loom::check(bytes),
            Kind::Edits => targets::edits::check(bytes),
            Kind::Data => targets::data::check(bytes),
        }
    }
}
