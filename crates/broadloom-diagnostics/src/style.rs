//! The style of rendered messages.

/// The style of rendered diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// True to colour with ANSI escape sequences.
    pub color: bool,
    /// The greatest number of characters of a line that an excerpt shows.
    pub width: usize,
    /// The way in which the steps of chains are shown.
    pub chain: Chain,
    /// True to show a single line between two with labels rather than dots. False suits an excerpt
    /// that lists only the lines that matter.
    pub between: bool,
    /// True to begin with the severity and the code. False suits an exception, whose class says it.
    pub header: bool,
    /// True to say in which file and line the first excerpt is. False suits a text of one line without a name.
    pub place: bool,
}

/// The way in which the steps of chains are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    /// Their number, and what has to be said for them to be shown.
    ShownBy(&'static str),
    /// All of them.
    Shown,
}

/// Without colour, 100 characters of a line, chains counted, lines in between and all places shown, for the command, whose `--chain` shows chains.
impl Default for Style {
    fn default() -> Style {
        Style {
            color: false,
            width: 100,
            chain: Chain::ShownBy("--chain"),
            between: true,
            header: true,
            place: true,
        }
    }
}
