//! Shapes as data: rows of axes, each a size or a text.

use broadloom::{Axis, Graph, How, Kind, LeafKind, Node, PartialAxis, PartialShape, Shape, Tensor};
use serde::Serialize;

/// An axis: a size, or the text that a shape shows instead: `"_"`, `"3:rgb"`, `"?"`, `"..."`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum AxisText {
    /// A size.
    Size(u64),
    /// Anything else.
    Text(String),
}

/// The rows of a shape.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Rows {
    /// Before `|`.
    pub batch: Vec<AxisText>,
    /// Before `->`.
    pub input: Vec<AxisText>,
    /// The rest.
    pub output: Vec<AxisText>,
}

impl From<&Axis> for AxisText {
    fn from(axis: &Axis) -> AxisText {
        match axis {
            Axis::Sized(size, None) => AxisText::Size(*size),
            other => AxisText::Text(other.to_string()),
        }
    }
}

impl From<&PartialAxis> for AxisText {
    fn from(axis: &PartialAxis) -> AxisText {
        match axis {
            PartialAxis::Known(axis) => axis.into(),
            PartialAxis::Sized(size) => AxisText::Size(*size),
            PartialAxis::Unknown => AxisText::Text("?".into()),
        }
    }
}

impl From<&Shape> for Rows {
    fn from(shape: &Shape) -> Rows {
        let row = |kind| shape.row(kind).iter().map(AxisText::from).collect();
        Rows { batch: row(Kind::Batch), input: row(Kind::Input), output: row(Kind::Output) }
    }
}

impl From<&PartialShape> for Rows {
    fn from(shape: &PartialShape) -> Rows {
        let [batch, input, output] = shape.rows.each_ref().map(|row| {
            let dots = row.open.then(|| AxisText::Text("...".into()));
            row.lead
                .iter()
                .map(AxisText::from)
                .chain(dots)
                .chain(row.trail.iter().map(AxisText::from))
                .collect()
        });
        Rows { batch, input, output }
    }
}

/// The kind of a tensor, in a word.
pub fn kind(graph: &Graph, tensor: Tensor) -> &'static str {
    match graph.node(tensor) {
        Some(Node::Leaf { kind: LeafKind::Data }) => "data",
        Some(Node::Leaf { kind: LeafKind::Param }) => "parameter",
        Some(Node::Leaf { kind: LeafKind::State }) => "state",
        Some(Node::Leaf { kind: LeafKind::Gradient(_) }) => "gradient",
        Some(Node::Leaf { .. }) => "constant",
        Some(Node::Operation { .. }) | None => "value",
    }
}

/// The reason why a shape is known: a word for programs, and the rule if it was chosen.
pub fn how(how: &How) -> (&'static str, Option<String>) {
    match how {
        How::Declared => ("declared", None),
        How::Forced => ("forced", None),
        How::Chosen(rule) => ("chosen", Some(rule.to_string())),
    }
}
