//! The holes and guesses that closing left, as data.

use broadloom_core::Unfilled;
use broadloom_spec as spec;

use crate::step::StepId;

/// The holes and guesses that closing left.
#[derive(Default, Debug)]
pub(crate) struct Open {
    /// Positions of parameters without a size.
    pub holes: Vec<Unfilled>,
    /// Labels and shapes that a guess decided.
    pub guesses: Vec<Guess>,
}

/// A label or a shape that only a guess decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guess {
    /// A label of the spec of a step.
    Label(StepId, spec::AxisId),
    /// The shape of what a step converts into.
    Shape(StepId),
    /// The shape of the leaf that a step converts.
    Source(StepId),
}

impl Guess {
    /// The step that it belongs to.
    pub fn step(self) -> StepId {
        match self {
            Guess::Label(step, _) | Guess::Shape(step) | Guess::Source(step) => step,
        }
    }
}
