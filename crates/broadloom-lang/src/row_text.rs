//! The rows of a shape in a text that somebody wrote, where the notation of specs does not read it: axes in groups, or those
//! of a parameter beside an array.

/// The texts of the rows: batch, input and output.
pub(crate) fn rows(text: &str) -> [&str; 3] {
    let (batch, rest) = text.split_once('|').unwrap_or(("", text));
    let (input, output) = rest.split_once("->").unwrap_or(("", rest));
    [batch, input, output]
}
