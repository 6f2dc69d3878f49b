//! Comments that silence what lint says: `# allow W0505`, at the end of the line or by itself above it.

use broadloom_diagnostics::{Diagnostic, Sources};

/// Whether the program says that something is meant.
pub(super) fn allowed(sources: &Sources, diagnostic: &Diagnostic) -> bool {
    let Some(label) = diagnostic.primary() else { return false };
    let source = sources.get(label.span.source);
    let line = source.line_of(label.span.start);
    let allows = |line: u32| comment(source.line(line)).is_some_and(|text| names(text, diagnostic.code));
    let alone = |line: &u32| source.line(*line).trim_start().starts_with('#');
    allows(line) || (1..line).rev().take_while(alone).any(allows)
}

/// The comment of a line.
fn comment(line: &str) -> Option<&str> {
    let mut quoted = false;
    let start = line.find(|letter: char| {
        quoted ^= letter == '"';
        letter == '#' && !quoted
    })?;
    Some(line[start + 1..].trim())
}

/// Whether a comment allows a code.
fn names(comment: &str, code: &str) -> bool {
    let Some(codes) = comment.strip_prefix("allow ") else { return false };
    codes.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == code)
}
