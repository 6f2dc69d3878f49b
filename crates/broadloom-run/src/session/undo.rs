//! Runs that a check ends change nothing: what was written before the check is put back.

use broadloom_array::Array;
use broadloom_graph::Error;
use broadloom_graph::lowering::{Face, Leaf};
use broadloom_loops::{Nest, Statement};

use super::Session;
use crate::lower::{Content, Lowered};

impl Session {
    /// The parameters and states that a routine writes before its last check.
    pub(super) fn written_early(&self, lowered: &Lowered) -> Vec<Content> {
        let nests = &lowered.program.nests;
        let Some(last) = nests.iter().rposition(has_check) else { return Vec::new() };
        let mut early = Vec::new();
        for statement in nests[..=last].iter().flat_map(|nest| &nest.body) {
            statement.each(&mut |inner| {
                let written = match inner {
                    Statement::Store { cell, .. } => cell.buffer,
                    Statement::Fill { buffer, .. } => *buffer,
                    _ => return,
                };
                let node = lowered.nodes[written.index()];
                if self.lasts(node) && !early.contains(&node) {
                    early.push(node);
                }
            });
        }
        early
    }

    fn lasts(&self, node: Content) -> bool {
        matches!(node, Content::Value(tensor) if matches!(self.graph.leaf(tensor), Some(Leaf::Param | Leaf::State)))
    }

    /// The values that a run may have to put back. XLA returns new values, and keeps the old ones until it has them.
    pub(super) fn before(&mut self, at: usize) -> Result<Vec<(Content, Array)>, Error> {
        let prepared = &self.prepared[at];
        if prepared.code.keeps_old_values() {
            return Ok(Vec::new());
        }
        let mut before = Vec::new();
        for node in prepared.early.clone() {
            before.extend(self.store.read(node)?.map(|values| (node, values)));
        }
        Ok(before)
    }

    /// Puts values back.
    pub(super) fn put_back(&mut self, before: Vec<(Content, Array)>) -> Result<(), Error> {
        for (node, values) in before {
            self.store.write(&self.graph, &self.layout, node, &values)?;
        }
        Ok(())
    }
}

fn has_check(nest: &Nest) -> bool {
    let mut found = false;
    for statement in &nest.body {
        statement.each(&mut |inner| found |= matches!(inner, Statement::Check { .. }));
    }
    found
}
