//! The purposes of tensors in memory.

/// The purpose of a tensor in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryRole {
    /// A parameter.
    Parameter,
    /// The gradient of a parameter.
    Gradient,
    /// A state of an optimiser or of the program itself.
    State,
    /// Data from outside.
    Data,
    /// Any computed tensor, or the gradient of one.
    Activation,
}
