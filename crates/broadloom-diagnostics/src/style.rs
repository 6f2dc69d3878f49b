//! The style of rendered messages.

/// The style of rendered diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// True to colour with ANSI escape sequences.
    pub color: bool,
    /// The greatest number of characters of a line that an excerpt shows.
    pub width: usize,
    /// True to show the steps of chains, false to count them only.
    pub chain: bool,
    /// True to show a single line between two with labels rather than dots. False suits an excerpt
    /// that lists only the lines that matter.
    pub between: bool,
}

/// Without colour, 100 characters of a line, chains counted, lines in between shown.
impl Default for Style {
    fn default() -> Style {
        Style { color: false, width: 100, chain: false, between: true }
    }
}
