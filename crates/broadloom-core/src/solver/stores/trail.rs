//! The trail: what lets closing and search be undone.
//!
//! Every mutable word of the solver's state is addressed by a [`Cell`] and an index. While a mark
//! is open, the old word is logged before it is overwritten; without one, logging is a single
//! branch, so the monotone online phase pays nothing. Vectors that only grow are cut back to the
//! lengths noted in the mark.

use crate::ids::Word;

/// The column of the state that a logged word belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cell {
    Parent,
    Size,
    Value,
    Cap,
    UpHead,
    UpTail,
    DownHead,
    DownTail,
    NextUp,
    NextDown,
    Forest,
    ForestReason,
    /// The bound, and what moved it.
    Lo,
    Hi,
    /// The place of a row's axes, and the row constraint whose literals they are.
    Axes,
    Partial,
    /// The marker, and the policy step that set it.
    Marker,
    /// The progress of an alignment from the left and from the right; it was not done.
    Progress,
    Axis,
    Front,
    Back,
    /// The record of sizes of a class.
    Extra,
    /// Bounds on a size, low word first.
    SizeLo,
    SizeHi,
    Claims,
    Basis,
    Tag,
    History,
    WatchHead,
    WatchTail,
    WatchNext,
    /// True if the axes of a supported row have clauses; they had none.
    Spread,
    /// The flags of an arithmetic constraint (settled, axes watched), and how often it pushed.
    Arith,
}

#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub cell: Cell,
    pub at: u32,
    pub old: u32,
    /// The second word of cells that have two.
    pub more: u32,
}

/// The log of overwritten words.
#[derive(Clone, Default)]
pub(crate) struct Trail {
    pub entries: Vec<Entry>,
    open: u32,
    /// Nodes, edges and axes made since the innermost mark vanish with it: their words need no log.
    pub floor: Floor,
}

/// The numbers of nodes, edges and axes at the innermost mark.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Floor {
    pub nodes: u32,
    pub edges: u32,
    pub axes: u32,
}

impl Trail {
    /// Logs a word about to be overwritten, if anybody may want it back.
    #[inline]
    pub fn save(&mut self, cell: Cell, at: impl Word, old: impl Word) {
        self.save_pair(cell, at, old, 0);
    }

    /// Logs the two words of a cell about to be overwritten.
    #[inline]
    pub fn save_pair(&mut self, cell: Cell, at: impl Word, old: impl Word, more: impl Word) {
        let (at, old, more) = (at.word(), old.word(), more.word());
        if self.open > 0 && at < self.floor_of(cell) {
            self.entries.push(Entry { cell, at, old, more });
        }
    }

    /// Constant for each call site, so the match costs nothing.
    #[inline(always)]
    fn floor_of(&self, cell: Cell) -> u32 {
        use Cell::*;
        match cell {
            Parent | Size | Value | Cap | UpHead | UpTail | DownHead | DownTail | Forest | ForestReason
            | Extra => self.floor.nodes,
            NextUp | NextDown => self.floor.edges,
            Axis => self.floor.axes,
            _ => u32::MAX,
        }
    }

    /// Opens a mark; returns the log position to return to.
    pub fn open(&mut self) -> usize {
        self.open += 1;
        self.entries.len()
    }

    /// Closes the innermost mark.
    pub fn close(&mut self) {
        self.open -= 1;
    }
}

/// Stores `new` through `slot`, logging the old word.
macro_rules! set {
    ($trail:expr, $cell:ident, $at:expr, $slot:expr, $new:expr) => {{
        let (at, new) = ($at, $new);
        let slot = &mut $slot;
        if *slot != new {
            $trail.save($crate::solver::stores::trail::Cell::$cell, at, *slot);
            *slot = new;
        }
    }};
}
pub(crate) use set;
