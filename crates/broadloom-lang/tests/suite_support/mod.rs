//! Reads, runs and compares the programs of the Markdown suites; also used by `front_end.rs`.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod markdown;
pub mod orders;
pub mod run;
pub mod treatments;
