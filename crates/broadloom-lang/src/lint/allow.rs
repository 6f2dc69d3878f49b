//! Comments that silence a lint: `# allow W0505`, at the
//! end of the line or on a line of its own above it.

use broadloom_diagnostics::{Diagnostic, Sources};

/// Returns true if a comment on the line, or directly above it, allows the diagnostic.
pub(super) fn allowed(sources: &Sources, diagnostic: &Diagnostic) -> bool {
    let Some(label) = diagnostic.primary() else { return false };
    let source = sources.get(label.span.source);
    let line = source.line_of(label.span.start);
    let allows = |line: u32| comment(source.line(line)).is_some_and(|text| names(text, diagnostic.code));
    let alone = |line: &u32| source.line(*line).trim_start().starts_with('#');
    allows(line) || (1..line).rev().take_while(alone).any(allows)
}

/// The comment of a line: the text after the first `#` outside quotes.
fn comment(line: &str) -> Option<&str> {
    let mut quoted = false;
    let start = line.find(|letter: char| {
        quoted ^= letter == '"';
        letter == '#' && !quoted
    })?;
    Some(line[start + 1..].trim())
}

/// Returns true if a comment allows a code.
fn names(comment: &str, code: &str) -> bool {
    let Some(codes) = comment.strip_prefix("allow ") else { return false };
    codes.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == code)
}
