//! The JSON objects that commands print: one a run, described in `docs/schema.json`.

use broadloom::{Axis, Kind, PartialAxis, PartialShape, Shape};
use broadloom_diagnostics::{Diagnostic, Shown, Sources};
use serde::Serialize;

/// The version of the format. It changes when a key changes its meaning or goes away.
pub(crate) const VERSION: u32 = 1;

#[derive(Serialize)]
struct Envelope<'a, T: Serialize> {
    broadloom: u32,
    command: &'a str,
    diagnostics: Vec<Shown<'a>>,
    #[serde(flatten)]
    data: T,
}

/// Nothing but the envelope.
#[derive(Serialize)]
pub(crate) struct Nothing {}

/// One object, on one line: what every command says, and what this one says.
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

/// An axis: a size, or what a shape shows in its place: `"_"`, `"3:rgb"`, `"?"`, `"..."`.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum JsonAxis {
    Size(u64),
    Text(String),
}

/// The rows of a shape.
#[derive(Serialize)]
pub(crate) struct JsonRows {
    batch: Vec<JsonAxis>,
    input: Vec<JsonAxis>,
    output: Vec<JsonAxis>,
}

impl From<&Axis> for JsonAxis {
    fn from(axis: &Axis) -> JsonAxis {
        match axis {
            Axis::Sized(size, None) => JsonAxis::Size(*size),
            other => JsonAxis::Text(other.to_string()),
        }
    }
}

impl From<&PartialAxis> for JsonAxis {
    fn from(axis: &PartialAxis) -> JsonAxis {
        match axis {
            PartialAxis::Known(axis) => axis.into(),
            PartialAxis::Sized(size) => JsonAxis::Size(*size),
            PartialAxis::Unknown => JsonAxis::Text("?".into()),
        }
    }
}

impl From<&Shape> for JsonRows {
    fn from(shape: &Shape) -> JsonRows {
        let row = |kind| shape.row(kind).iter().map(JsonAxis::from).collect();
        JsonRows { batch: row(Kind::Batch), input: row(Kind::Input), output: row(Kind::Output) }
    }
}

impl From<&PartialShape> for JsonRows {
    fn from(shape: &PartialShape) -> JsonRows {
        let [batch, input, output] = shape.rows.each_ref().map(|row| {
            let dots = row.open.then(|| JsonAxis::Text("...".into()));
            row.lead
                .iter()
                .map(JsonAxis::from)
                .chain(dots)
                .chain(row.trail.iter().map(JsonAxis::from))
                .collect()
        });
        JsonRows { batch, input, output }
    }
}
