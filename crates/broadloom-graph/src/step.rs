//! The parts of a graph: tensors, the steps that made them, and the origin of each constraint.

use broadloom_core::{DimTerm, Hole, Padding, RowTerm, RowVar};
use broadloom_spec::Kind;

use crate::operation::id::OperationId;
use crate::spec_options::{Accumulate, Combine, SliceIndex};

/// A tensor of a [`Graph`](crate::Graph): a cheap handle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Tensor(pub(crate) u32);

impl Tensor {
    /// A tensor that no graph has, as a placeholder after a mistake.
    pub const NONE: Tensor = Tensor(u32::MAX);

    /// Position in the order in which the graph's tensors were made.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A step of a [`Graph`](crate::Graph): a leaf, an operation, or a statement about sizes. It is a cheap handle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct StepId(pub(crate) u32);

impl StepId {
    /// The step at a place.
    pub(crate) fn new(place: usize) -> StepId {
        StepId(place as u32)
    }

    /// Its place in the order in which the graph's steps were made, from zero. A step that was refused has the place that it
    /// would have had: [`Graph::steps`](crate::Graph::steps) of the graph without it.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The steps from this one to before another one, in order.
    pub(crate) fn up_to(self, end: StepId) -> impl DoubleEndedIterator<Item = StepId> + Clone + use<> {
        (self.0..end.0).map(StepId)
    }
}

/// The size of a [`Graph`](crate::Graph) at some time: so many tensors, steps and labels. What was made by then stays as it is, so that two graphs
/// that go on from a copy have the same beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Beginning {
    pub(crate) tensors: u32,
    pub(crate) steps: u32,
    pub(crate) labels: u32,
}

/// A row of a tensor: axes in the graph's arena around a hole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowRef {
    pub start: u32,
    pub lead: u16,
    pub trail: u16,
    pub hole: Option<RowVar>,
}

impl RowRef {
    /// No axes.
    pub const EMPTY: RowRef = RowRef { start: 0, lead: 0, trail: 0, hole: None };

    pub fn var(var: RowVar) -> RowRef {
        RowRef { hole: Some(var), ..RowRef::EMPTY }
    }

    pub fn is_empty(self) -> bool {
        self.hole.is_none() && self.lead + self.trail == 0
    }

    /// The number of axes that are written out.
    pub fn len(self) -> u32 {
        u32::from(self.lead + self.trail)
    }

    /// The axes written out: those before the hole, those after it.
    pub fn flanks(self, axes: &[DimTerm]) -> (&[DimTerm], &[DimTerm]) {
        let start = self.start as usize;
        axes[start..start + (self.lead + self.trail) as usize].split_at(self.lead as usize)
    }

    /// The row as a term.
    pub fn term(self, axes: &[DimTerm]) -> RowTerm<'_> {
        let (lead, trail) = self.flanks(axes);
        RowTerm { lead, hole: self.hole.map_or(Hole::Marker, Hole::Var), trail }
    }
}

/// The rows of a tensor, in the order of [`Kind::ALL`].
pub(crate) type Rows = [RowRef; 3];

/// The place of a kind in [`Rows`].
pub(crate) fn place(kind: Kind) -> usize {
    kind as usize
}

/// The kind of a leaf.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Leaf {
    /// Values from outside.
    Data,
    /// A parameter.
    Param,
    /// One value in the shape that its context asks for.
    Constant(f64),
    /// A single number.
    Number(f64),
    /// A captured size as a number: its place among the graph's.
    Size(u32),
    /// The gradient of a tensor.
    Gradient(Tensor),
    /// Set to 0 before the first run, and kept from run to run.
    State,
    /// A value carried from the previous turn of a scan.
    Carried,
    /// Positions: 0, 1, 2, … in memory order.
    Range,
    /// Random numbers in `[0, 1)`, new ones in every run.
    Uniform,
    /// Random numbers with mean 0 and deviation 1, new ones in every run.
    Normal,
}

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A function of elements that face each other.
    Pointwise(OperationId),
    /// Composition: the input of the first is contracted with the output of the second.
    Compose,
    /// A composition and a sum with a third operand.
    ComposeAccumulate,
    /// Inputs and outputs change places.
    Transpose,
    /// The index of the spec, of the first label and of the first row variable; and the number of
    /// the options it was used with among the graph's choices, counted from 1, or 0 for none.
    Einsum {
        /// The operation that was written.
        id: OperationId,
        /// The spec, among those of the graph.
        spec: u32,
        /// The place of its first label among those of the graph.
        labels: u32,
        /// The place of its first row variable.
        rows: u32,
        /// The number of its options among the graph's.
        choice: u16,
        /// The operation that accumulates results.
        accumulate: Accumulate,
        /// The operation that combines operands.
        combine: Combine,
    },
    /// A part of a tensor at a place of its first axis.
    Slice(SliceIndex),
    /// The values of all turns of a scan, on a new leading batch axis.
    Collect,
    /// Elements in memory order under another shape.
    Convert {
        /// The number of elements of the result for each `divisor` elements of the operand.
        factor: u64,
        /// See `factor`.
        divisor: u64,
    },
}

/// The options with which a spec was used: kept once for all its uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub padding: Option<Padding>,
    pub coefficients: Vec<(Box<str>, u64)>,
}

/// A label or a row variable of a spec or of a declared shape, captured by [`Graph::captured`](crate::Graph::captured), or a named size,
/// captured by [`Graph::captured_dim`](crate::Graph::captured_dim): a size to be set, compared or read. The size of a row is the product of its
/// axes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Captured {
    pub(crate) owner: SizeOwner,
    /// The place of the label among the labels of its spec or shape, of the row among its rows, or of the named or stated
    /// size among the graph's.
    pub(crate) index: u32,
    pub(crate) is_row: bool,
}

/// The place where a captured size is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum SizeOwner {
    /// It is a named size of the graph.
    Named,
    /// A [stated](crate::Graph::state_shape) signature has it.
    Stated,
    /// The spec that made a tensor has it, or the shape that the tensor was declared with.
    Tensor(Tensor),
}

impl Captured {
    /// A size without a tensor.
    pub(crate) fn of_graph(owner: SizeOwner, index: u32) -> Captured {
        Captured { owner, index, is_row: false }
    }

    /// The tensor whose spec or shape has the size; `None` for a named or a stated one.
    pub(crate) fn tensor(self) -> Option<Tensor> {
        match self.owner {
            SizeOwner::Tensor(tensor) => Some(tensor),
            SizeOwner::Named | SizeOwner::Stated => None,
        }
    }
}

/// One step in the construction of a graph.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Leaf {
        leaf: Leaf,
        tensor: u32,
    },
    Op {
        op: Op,
        /// The place of the first operand; `arity` is the number of operands.
        operands: u32,
        arity: u16,
        /// The number of results.
        results: u16,
        /// The first result.
        result: u32,
    },
    Set(Captured, u64),
    Equal(Captured, Captured),
    Scale(Captured, u64, Captured),
    /// A captured size as an expression over others; its text is among the texts of the graph's
    /// steps.
    Sum(Captured),
    Square(Tensor),
    /// The shape of an existing tensor; its text is among the texts of the graph's steps.
    Declared(Tensor),
    /// A named size and the range it was declared with, by its place among the graph's.
    Dim(u32, (u64, Option<u64>)),
    /// A named size and the number it was given.
    Size(u32, u64),
}

/// The subject of a constraint of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Aspect {
    /// The rows of one kind of an operand and of the result (or of the spec).
    Row(Kind),
    /// The rows that one kind of the result is made of.
    Made(Kind),
    /// The rows that a composition contracts.
    Contract,
    /// An axis of the spec, by its place among all axes of all shapes.
    Axis(u16),
    /// Anything else; the step has only one constraint.
    Whole,
}

/// The origin of a constraint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub step: StepId,
    /// The number of the operand; the operands of a spec are followed by its results.
    pub slot: u16,
    pub part: Aspect,
}

#[derive(Clone)]
pub(crate) struct TensorData {
    pub rows: Rows,
    pub step: StepId,
    /// The index of its name, or [`NONE`].
    pub name: u32,
    /// True if an operation reads it.
    pub used: bool,
}

/// The value of [`TensorData::name`] for a tensor without a name.
pub(crate) const NONE: u32 = u32::MAX;

/// The rows that broadcast into the result's row of a kind: operand and kind of each. This is the
/// only definition of the relations of broadcasting operations; sizes read it as an order,
/// projections as an equivalence.
pub(crate) fn sources(op: Op, arity: usize, kind: Kind) -> impl Iterator<Item = (usize, Kind)> + Clone {
    // The operands, and the kind of their rows; the third operand of a composition, the summand,
    // comes last.
    let (slots, sum, from) = match (op, kind) {
        (Op::Pointwise(_), _) => (0..arity, 0..0, kind),
        (Op::Transpose, Kind::Batch) => (0..1, 0..0, Kind::Batch),
        (Op::Transpose, Kind::Input) => (0..1, 0..0, Kind::Output),
        (Op::Transpose, Kind::Output) => (0..1, 0..0, Kind::Input),
        (Op::Compose | Op::ComposeAccumulate, Kind::Batch) => (0..2, 2..arity, kind),
        (Op::Compose | Op::ComposeAccumulate, Kind::Input) => (1..2, 2..arity, kind),
        (Op::Compose | Op::ComposeAccumulate, Kind::Output) => (0..1, 2..arity, kind),
        (Op::Einsum { .. } | Op::Slice(_) | Op::Collect | Op::Convert { .. }, _) => (0..0, 0..0, kind),
    };
    slots.chain(sum).map(move |slot| (slot, from))
}

/// Rows of operands that broadcast into one of the result, with the operands they belong to.
pub(crate) type Sources = smallvec::SmallVec<[(usize, RowRef); 3]>;

/// The rows that a composition contracts: the first refines the second.
pub(crate) fn contraction(op: Op) -> Option<[(usize, Kind); 2]> {
    matches!(op, Op::Compose | Op::ComposeAccumulate).then_some([(0, Kind::Input), (1, Kind::Output)])
}
