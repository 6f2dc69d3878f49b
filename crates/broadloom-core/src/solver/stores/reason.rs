//! The reasons for facts: one small record per event, kept apart from the hot state.
//!
//! A [`ReasonId`] is either a constraint (no record needed) or an index into the solver's list of
//! [`Reason`]s. Reading reasons is rare and happens in `explain`; writing one is a push.

use crate::ids::{AdjacencyId, ArithId, ClauseId, RowConId, StepId, SupportId, ids};
use crate::term::{ConstraintId, DimTerm, DimVar, RowVar};

/// The reason why a leaf had to give way: two leaves with different caps, and the adjacencies
/// between them.
#[derive(Clone)]
pub(crate) struct Rivalry {
    pub leaves: Vec<DimVar>,
    pub edges: Vec<AdjacencyId>,
}

ids! {
    /// A constraint, or the number of a [`Reason`].
    pub(crate) ReasonId "reason";
}

impl ReasonId {
    const CONSTRAINT: u32 = 1 << 31;

    /// The reason that consists of one constraint.
    pub fn constraint(id: ConstraintId) -> ReasonId {
        ReasonId(Self::CONSTRAINT | id.0)
    }

    /// The constraint, if the reason is one.
    pub fn as_constraint(self) -> Option<ConstraintId> {
        (self.0 & Self::CONSTRAINT != 0).then_some(ConstraintId(self.0 & !Self::CONSTRAINT))
    }
}

/// The outer edge from which positions of an alignment are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A recorded step that is not simply a constraint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// Row constraint `con` aligned its two rows at position `at` from `side`.
    Align { con: RowConId, side: Side, at: u32 },
    /// The same, where the operand's axis is an atom: so the result's axis is that atom.
    Pinned { con: RowConId, side: Side, at: u32 },
    /// An atom moved down adjacency `edge` from the class whose value was recorded at `from`.
    FlowDown { edge: AdjacencyId, from: DimVar },
    /// A value moved up adjacency `edge` from the class whose value was recorded at `from`.
    FlowUp { edge: AdjacencyId, from: DimVar },
    /// A cap moved up along adjacency `edge` from the class whose cap was recorded at `from`.
    FlowCap { edge: AdjacencyId, from: DimVar },
    /// DI-cap collapse: the cap recorded at `node` met a different one.
    TwoCaps { node: DimVar, second: ReasonId },
    /// The known front and back of `row` share axis `at` once its rank is fixed.
    Overlap { row: RowVar, at: u32 },
    /// Row constraint `con` of a row with itself relates its flanks, because policy step `step` assumes a residue of the rank.
    Chain { con: RowConId, step: StepId },
    /// A policy step; the index of a [`Policy`].
    Policy(StepId),
    /// The upper end of adjacency `edge` claims a size, so the lower end equals it.
    Claimed { edge: AdjacencyId },
    /// The class claims a size, so it is the cap recorded at `node`.
    ClaimedCap { node: DimVar },
    /// Arithmetic constraint `con`, from what it knows of everything it mentions.
    Arith { con: ArithId },
    /// The bounds on the size of the class of `node` leave only the unit, or only one size.
    OnlyUnit { node: DimVar },
    /// No operand can claim a size at the axis of `clause`, so it is the unit.
    Unsupported { clause: ClauseId },
    /// Only one operand can: because the axis claims a size, or lies below the operand by `edge`, they are one.
    Sole { clause: ClauseId, edge: AdjacencyId },
}

/// A choice among solutions (policy step, Lemma 5.1), as opposed to an entailed fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// A leaf row takes as many axes as the join of its caps has (Def. 6.1, step 1).
    LeafRank,
    /// A row takes no further axes (Def. 6.1, step 3).
    LeastRank,
    /// A rank found by search, after a smaller one failed.
    SearchRank,
    /// A marker at its preferred place.
    PreferredMarker,
    /// A marker found by search, after the preferred place failed.
    SearchMarker,
    /// A leaf dimension takes the join of its caps.
    LeafCap,
    /// Leaves whose commitments conflict relax to the unit together.
    RelaxedLeaf,
    /// A row whose elements are counted, or whose axes are listed, takes no further axes, or as many as
    /// the others leave.
    CountedRank,
    /// A known size takes the default basis; a size of one that arithmetic gave is an explicit one.
    DefaultBasis,
    /// Several equations together leave one size.
    JointSizes,
    /// A dimension that arithmetic leaves open takes the least size that fits.
    GuessedSize,
    /// A named size without a value stays symbolic.
    Symbolic,
}

impl Policy {
    /// True if the step was taken because another one failed.
    pub fn is_search(self) -> bool {
        matches!(self, Policy::SearchRank | Policy::SearchMarker)
    }
}

/// A limit that a solver reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// Branches of the search ([`Budget::branches`](crate::Budget::branches)).
    Branches,
    /// Axes to lay out ([`Budget::axes`](crate::Budget::axes)).
    Axes,
    /// Moves of ranks that raise each other.
    RankMoves,
    /// Ranks to try: the bound that would make the search exact is out of reach.
    RankBound,
    /// Sizes to try: arithmetic leaves a size without an upper bound.
    SizeBound,
    /// Expressions over symbols: which size something has depends on theirs, in a way that no expression
    /// says.
    Expressions,
}

/// Two facts that cannot both hold; where the walk for the core begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conflict {
    /// The class of `node` has one ground value and `reason` demands another.
    Value { node: DimVar, have: DimTerm, want: DimTerm, reason: ReasonId },
    /// The class of `node` has an atom cap and `reason` gives it a different atom.
    Cap { node: DimVar, cap: DimTerm, want: DimTerm, reason: ReasonId },
    /// Two valued classes are equated.
    Merge { a: DimVar, b: DimVar, reason: ReasonId },
    /// Two ground terms are compared and disagree.
    Ground { a: DimTerm, b: DimTerm, reason: ReasonId },
    /// The least rank of `row` exceeds the greatest.
    Rank { row: RowVar, lo: u32, hi: u32 },
    /// A positive cycle of rank facts through `row`, closed by constraint `con`.
    RankCycle { row: RowVar, con: RowConId },
    /// One row of constraint `con` writes more axes than the other can have.
    Overflow { con: RowConId },
    /// The class of `node` claims a size and `reason` makes it the unit.
    Claim { node: DimVar, reason: ReasonId },
    /// The bounds on the size of the class of `node` exclude each other, or its value, or its cap.
    Size { node: DimVar },
    /// The known sizes of its dimensions contradict an arithmetic constraint.
    Arith { con: ArithId },
    /// A ground dimension is smaller than `reason` asks for.
    TooSmall { size: u64, least: u64, reason: ReasonId },
    /// A ground dimension is larger than `reason` allows.
    TooLarge { size: u64, most: u64, reason: ReasonId },
    /// The classes of `a` and `b` belong to different symbols, and `reason` equates them.
    Symbols { a: DimVar, b: DimVar, reason: ReasonId },
    /// A flank asks for what no axis that faces it can be, at any rank.
    Contents,
    /// Not a contradiction: closing gives the last axes of a supported row to none of its operands.
    Short { support: SupportId },
    /// Not a contradiction: a limit is reached.
    TooMuch(Limit),
}

/// The outcome of a propagation step.
pub(crate) type Outcome<T = ()> = Result<T, Conflict>;

/// A recorded policy step.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub policy: Policy,
    /// The row variable it is about, or `NIL`.
    pub row: RowVar,
}
