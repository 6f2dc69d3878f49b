//! Declarations of leaves, and the names of stated signatures, as data.

use std::sync::Arc;

use broadloom_core::RowVar;
use broadloom_spec::ShapeDecl;

/// The names of a signature, and what they stand for in one application of it.
#[derive(Clone, Debug, Default)]
pub struct StatedNames {
    /// In the order in which they were stated; sizes by their numbers among those of the graph.
    pub(crate) axes: Vec<(Box<str>, u32)>,
    pub(crate) rows: Vec<(Box<str>, RowVar)>,
    /// The sizes that an expression mentioned before any shape did, by the same numbers.
    pub(crate) computed: Vec<u32>,
}

/// The declaration of a leaf.
#[derive(Clone)]
pub(crate) struct Declaration {
    /// Its shape, as it was written.
    pub shape: Box<str>,
    /// The same as data, with the places of the text; none where the text has an expression for a size.
    pub decl: Option<Arc<ShapeDecl>>,
    pub given: BufferFacts,
    /// The names in it; none if everything is a number.
    pub named: Option<Box<Named>>,
}

/// The names of a declaration, and the places in the graph of the labels and rows they stand for.
#[derive(Clone)]
pub(crate) struct Named {
    /// The declaration that has them, with a label for each expression.
    pub decl: Arc<ShapeDecl>,
    /// Marks the rows that have a plain `...`.
    pub plain: [bool; 3],
    /// The first of its labels among the graph's, and of its rows.
    pub labels: u32,
    pub rows: u32,
}

/// Knowledge about the buffer of a leaf besides its shape.
#[derive(Clone)]
pub(crate) enum BufferFacts {
    Nothing,
    /// Its axes in memory order.
    Axes(Box<[u64]>),
    /// The named size that its first axis is, and the other axes.
    Rows(Box<str>, Box<[u64]>),
    /// The number of its elements.
    Count(u64),
}
