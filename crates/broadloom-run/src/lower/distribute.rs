//! Work that turns of scans need not do one after another: it is done for all of them at once, with tensors that hold something of every turn.
//!
//! `broadloom_loops::optimise::distribute` says which work that is. It is done here, and not when a program is optimised, so that `memory` lists these
//! tensors, and a division over devices sees them.

use broadloom_graph::lowering::Face;
use broadloom_graph::{Graph, Tensor};
use broadloom_loops::BufferId;
use broadloom_loops::optimise::{Distributed, OfTurns, distribute};

use super::segments::Noted;
use super::{Content, Layout, Lowered};

/// The part of a tensor that is held of each turn.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Held {
    /// Its value.
    Value,
    /// Its gradient.
    Gradient,
    /// The sums of its value, if its own numbers are too narrow to add up in.
    Sum,
}

impl Held {
    /// The same part of a tensor, as each turn makes it.
    pub fn in_a_turn(self, tensor: Tensor) -> Content {
        match self {
            Held::Value => Content::Value(tensor),
            Held::Gradient => Content::Gradient(tensor),
            Held::Sum => Content::Wide(tensor),
        }
    }
}

/// The part of a tensor of a scan that a buffer holds, if it holds one.
fn held(graph: &Graph, node: Content) -> Option<(Tensor, Held)> {
    let (tensor, part) = match node {
        Content::Value(tensor) => (tensor, Held::Value),
        Content::Gradient(tensor) => (tensor, Held::Gradient),
        Content::Wide(tensor) => (tensor, Held::Sum),
        _ => return None,
    };
    graph.scan_of(graph.made_by(tensor)).map(|_| (tensor, part))
}

impl Lowered {
    /// The same routine, with work of all turns done at once.
    pub(super) fn distributed(self, graph: &Graph, layout: &Layout) -> Lowered {
        let part_of = |buffer: BufferId| held(graph, *self.nodes.get(buffer.index())?);
        let Distributed { program, origins, of_turns } =
            distribute(&self.program, &|buffer| part_of(buffer).is_some());
        let new = of_turns.iter().filter_map(|OfTurns { of, in_segment }| {
            let (tensor, part) = part_of(*of)?;
            let noted = if *in_segment { Noted::InSegment } else { Noted::EachTurn };
            Some(Content::OfTurns(tensor, part, noted))
        });
        let nodes: Vec<Content> = self.nodes.iter().copied().chain(new).collect();
        debug_assert!(
            nodes
                .iter()
                .zip(&program.buffers)
                .skip(self.nodes.len())
                .all(|(node, buffer)| { layout.buffer(graph, *node).sizes == buffer.sizes })
        );
        let last = self.steps.last().copied().unwrap_or_default();
        let steps = origins.iter().map(|at| self.steps.get(*at).copied().unwrap_or(last)).collect();
        Lowered { program, nodes, steps, ..self }
    }
}
