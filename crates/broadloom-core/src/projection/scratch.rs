//! Indices that are given from outside, and the working memory in which classes are labelled.

/// An index that the operation does not range over itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pin {
    /// A position.
    At(u64),
    /// A number supplied when the program runs.
    Symbol(u32),
}

/// The solution of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Label {
    Unknown,
    Pin(Pin),
    Loop(u32),
    Derived(u32),
}

/// Working memory of a solution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// By class.
    pub(super) labels: Vec<Label>,
    /// The group of coupled classes a class belongs to, or `u32::MAX`.
    pub(super) coupled: Vec<u32>,
    /// Classes in the order in which they get loops.
    pub(super) order: Vec<u32>,
    /// True if a class is in that order.
    pub(super) reached: Vec<bool>,
    /// True if an index is computed from a class.
    pub(super) drives: Vec<bool>,
}

impl Scratch {
    pub(super) fn reset(&mut self, axes: usize) {
        self.labels.clear();
        self.labels.resize(axes, Label::Unknown);
        self.coupled.clear();
        self.coupled.resize(axes, u32::MAX);
        self.order.clear();
        for flags in [&mut self.reached, &mut self.drives] {
            flags.clear();
            flags.resize(axes, false);
        }
    }
}
