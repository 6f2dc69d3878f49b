//! Projections (Formal Core, §7): how the axes of one operation map to loops.

mod maps;

pub use maps::{Component, Verdict, is_injective, is_surjective};
