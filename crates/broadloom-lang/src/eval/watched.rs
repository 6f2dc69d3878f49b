//! The graph of an evaluation, which notices who looks at it.
//!
//! A body can be done again without walking it only if nothing of it depends on what the graph already knows. Whoever
//! reads or changes the graph in the usual way [touches](Watched::touch) it; only what is recorded, or known to give the same
//! answer again, asks [quietly](Watched::quiet).

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

use broadloom::Graph;

/// A graph, and whether it has been looked at.
#[derive(Clone, Default)]
pub(crate) struct Watched {
    graph: Graph,
    is_touched: Cell<bool>,
}

impl Watched {
    /// The graph, for whoever gets the same answer whenever a body is applied, or has it checked when that is replayed.
    pub fn quiet(&self) -> &Graph {
        &self.graph
    }

    /// The graph, for changes that are recorded.
    pub fn quiet_mut(&mut self) -> &mut Graph {
        &mut self.graph
    }

    /// Notes that something depends on the graph, or changes it without being recorded.
    pub fn touch(&self) {
        self.is_touched.set(true);
    }

    /// Returns true if it was touched since this was last asked.
    pub fn take_touch(&self) -> bool {
        self.is_touched.replace(false)
    }

    /// The graph, at the end of the evaluation.
    pub fn into_inner(self) -> Graph {
        self.graph
    }
}

impl Deref for Watched {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        self.touch();
        &self.graph
    }
}

impl DerefMut for Watched {
    fn deref_mut(&mut self) -> &mut Graph {
        self.touch();
        &mut self.graph
    }
}
