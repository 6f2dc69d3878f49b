//! Pieces of a program in messages: on one line, and short.

/// The longest piece of a program that a message quotes.
pub(crate) const LONGEST_QUOTE: usize = 48;

/// A piece of a program as a message can quote it: none if it is empty, too long, or has a quote of its own.
pub(crate) fn quotable(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let can_be = !text.is_empty() && text.chars().count() <= LONGEST_QUOTE && !text.contains('`');
    can_be.then_some(text)
}

/// A piece of a program for a message, or `…` if it cannot be quoted.
pub(crate) fn quoted(text: &str) -> String {
    quotable(text).unwrap_or_else(|| "…".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_pieces_are_quoted() {
        assert_eq!(quotable("a\n  + b").as_deref(), Some("a + b"));
        assert_eq!(quotable(&"x".repeat(LONGEST_QUOTE)), Some("x".repeat(LONGEST_QUOTE)));
        for other in ["", "  ", "`x`", &"é".repeat(LONGEST_QUOTE + 1)] {
            assert_eq!((quotable(other), quoted(other).as_str()), (None, "…"), "{other}");
        }
        // Three dots are a piece like any other.
        assert_eq!(quotable("…").as_deref(), Some("…"));
    }
}
