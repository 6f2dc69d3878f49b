//! The volume of random tests: environment variables ask for other seeds, or for more of them.

use std::ops::Range;

/// The number that an environment variable asks for. A text that is no number is a mistake, and said.
pub fn asked(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) => panic!("{variable} is \"{text}\", which is no number"),
    }
}

/// The number that an environment variable asks for, or the usual one.
pub fn setting(variable: &str, usual: u64) -> u64 {
    asked(variable).unwrap_or(usual)
}

/// The seeds of random programs: `BROADLOOM_PROGRAMS` of them, or the usual number, from `BROADLOOM_SEED` on.
pub fn seeds(usual: u64) -> Range<u64> {
    let first = setting("BROADLOOM_SEED", 0);
    first..first + setting("BROADLOOM_PROGRAMS", usual)
}
