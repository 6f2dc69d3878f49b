//! The JSON objects that commands print: one per run, described in `docs/schema.json`.

use broadloom_diagnostics::{Diagnostic, Shown, Sources};
use serde::Serialize;

/// The version of the format. It changes when a key changes its meaning or is removed.
pub(crate) const VERSION: u32 = 1;

#[derive(Serialize)]
struct Envelope<'a, T: Serialize> {
    broadloom: u32,
    command: &'a str,
    diagnostics: Vec<Shown<'a>>,
    #[serde(flatten)]
    data: T,
}

/// No data besides the envelope.
#[derive(Serialize)]
pub(crate) struct Nothing {}

/// One object on one line: the envelope that all commands share, and the data of this command.
pub(crate) fn object(
    command: &str,
    sources: &Sources,
    diagnostics: &[Diagnostic],
    data: impl Serialize,
) -> String {
    let diagnostics = diagnostics.iter().map(|diagnostic| Shown::new(sources, diagnostic)).collect();
    line(&Envelope { broadloom: VERSION, command, diagnostics, data })
}

/// A value on a line of its own.
pub(crate) fn line(value: &impl Serialize) -> String {
    // Strings, numbers, and maps with string keys: serialisation cannot fail.
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}
