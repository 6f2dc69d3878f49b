//! Terms and constraints (Formal Core, Defs. 3.1 and 3.4): what a caller says to the solver.
//!
//! A dimension term is one machine word: a variable, an atom, or the unit. A row term is two
//! flanks around a hole, borrowed from the caller; the solver copies it once.
//!
//! ```
//! use broadloom_core::{Constraint, DimTerm, Role, RowTerm, Solver};
//! let mut solver = Solver::new();
//! let row = solver.row_var(Role::Leaf);
//! let (three, four) = (solver.size(3), solver.size(4));
//! // [..r.., 4] ~ [3, 4]
//! solver.add(Constraint::RowEq(RowTerm::open(&[], row, &[four]), RowTerm::closed(&[three, four])));
//! assert_eq!(solver.observe_row(row).rank, Some(1));
//! ```

use std::fmt;

use crate::affine::Affine;
use crate::ids::{AtomId, ids, words};

ids! {
    /// A dimension variable of a [`Solver`](crate::Solver), made by the caller or by the solver itself: a node of its
    /// classes.
    pub DimVar "d";
    /// A row variable of a [`Solver`](crate::Solver).
    pub RowVar "r";
    /// A constraint of a [`Solver`](crate::Solver), numbered in the order of addition.
    pub ConstraintId "c";
}

/// A dimension term (Def. 3.1): a variable, an atom or the unit, packed in one word.
///
/// Atoms are interned per solver; make them with [`Solver::size`](crate::Solver::size) or
/// [`Solver::atom`](crate::Solver::atom).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DimTerm(pub(crate) u32);

words!(DimTerm);

impl DimTerm {
    const GROUND: u32 = 1 << 31;
    /// The claim-free unit, top of the broadcast order.
    pub const UNIT: DimTerm = DimTerm(Self::GROUND);
    /// Not a term: an axis that nothing has mentioned yet.
    pub(crate) const NONE: DimTerm = DimTerm(u32::MAX);

    pub(crate) fn interned(atom: AtomId) -> DimTerm {
        DimTerm(Self::GROUND + 1 + atom.0)
    }

    pub(crate) fn is_none(self) -> bool {
        self == Self::NONE
    }

    pub(crate) fn is_ground(self) -> bool {
        self.0 & Self::GROUND != 0
    }

    /// The interned atom, if the term is one.
    pub(crate) fn atom(self) -> Option<AtomId> {
        (self.is_ground() && self != Self::UNIT && !self.is_none()).then(|| AtomId(self.0 - Self::GROUND - 1))
    }

    /// A small number for a ground term, the same for the same dimension; the place of the dimension in
    /// [`Closed::dims`](crate::Closed::dims).
    pub fn ground_index(self) -> Option<usize> {
        (self.is_ground() && !self.is_none()).then(|| (self.0 - Self::GROUND) as usize)
    }

    /// The variable, if the term is one.
    pub fn var(self) -> Option<DimVar> {
        (!self.is_ground()).then_some(DimVar(self.0))
    }
}

impl From<DimVar> for DimTerm {
    fn from(var: DimVar) -> DimTerm {
        DimTerm(var.0)
    }
}

impl fmt::Debug for DimTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.var(), self.atom()) {
            (Some(var), _) => var.fmt(f),
            (None, Some(atom)) => atom.fmt(f),
            (None, None) if self.is_none() => f.write_str("?"),
            (None, None) => f.write_str("_"),
        }
    }
}

/// The middle of a row term, between its flanks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hole {
    /// The marker: the row is closed, and broadcasts here.
    Marker,
    /// A row variable: the row grows here.
    Var(RowVar),
}

/// A row term (Def. 3.1): leading flank, hole, trailing flank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowTerm<'a> {
    /// The axes before the hole, outermost first.
    pub lead: &'a [DimTerm],
    /// The marker or the row variable.
    pub hole: Hole,
    /// The axes after the hole.
    pub trail: &'a [DimTerm],
}

impl<'a> RowTerm<'a> {
    /// A closed row with its marker at the left edge: how a literal shape is written.
    pub fn closed(axes: &'a [DimTerm]) -> Self {
        RowTerm { lead: &[], hole: Hole::Marker, trail: axes }
    }

    /// A closed row with its marker between the flanks.
    pub fn marked(lead: &'a [DimTerm], trail: &'a [DimTerm]) -> Self {
        RowTerm { lead, hole: Hole::Marker, trail }
    }

    /// A row with a row variable between the flanks.
    pub fn open(lead: &'a [DimTerm], var: RowVar, trail: &'a [DimTerm]) -> Self {
        RowTerm { lead, hole: Hole::Var(var), trail }
    }

    /// A bare row variable.
    pub fn var(var: RowVar) -> Self {
        RowTerm::open(&[], var, &[])
    }
}

/// A part of a sequence of axes: one axis, or all axes of a row variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// One axis.
    Dim(DimTerm),
    /// The axes of a row variable.
    Row(RowVar),
}

/// The number of elements that some axes must have together: `coeff·over / denom`, where `over` counts
/// as one if it is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numerator {
    /// A literal factor; at least one.
    pub coeff: u64,
    /// A dimension to multiply by.
    pub over: Option<DimTerm>,
    /// A literal divisor; at least one.
    pub denom: u64,
}

impl Numerator {
    /// A literal number of elements.
    pub fn literal(count: u64) -> Numerator {
        Numerator { coeff: count, over: None, denom: 1 }
    }
}

/// An atomic constraint: those of Def. 3.4, and the arithmetic on sizes that convolutions,
/// concatenation, fixed indices and element counts need.
///
/// Arithmetic is about sizes: the unit counts as one, and bases are left alone, except that the axis,
/// the dimension iterated over it and the components of a concatenation have one basis.
#[derive(Clone, Copy, Debug)]
pub enum Constraint<'a> {
    /// The two dimensions are identical.
    DimEq(DimTerm, DimTerm),
    /// The result refines the operand: they agree, or the operand is the unit.
    DimLe {
        /// The dimension below.
        res: DimTerm,
        /// The dimension above, which may broadcast.
        opnd: DimTerm,
    },
    /// The rows have the same flat sequence (`≈`); markers are not consulted.
    RowEq(RowTerm<'a>, RowTerm<'a>),
    /// The result refines the operand in the one-shot order (Remark 2.15(ii)).
    RowLe {
        /// The row below.
        res: RowTerm<'a>,
        /// The row above, which broadcasts at its own marker.
        opnd: RowTerm<'a>,
    },
    /// The row is made of these: it has no more axes than the longest of them, and wherever it claims a
    /// size, one of them claims it at the place that faces it. Together with a [`RowLe`](Self::RowLe) for
    /// each, the row is exactly what they broadcast to.
    MadeOf {
        /// The result.
        res: RowVar,
        /// The operands; with none of them, the row has no axes.
        opnds: &'a [RowTerm<'a>],
    },
    /// The axis has the size of an affine form over `over` and `kernel`. All of them claim a size: none
    /// is the unit.
    Affine {
        /// The axis that is read or written.
        axis: DimTerm,
        /// Stride, offset, window.
        form: Affine,
        /// The dimension that is iterated.
        over: DimTerm,
        /// The size of the window, if the form has one.
        kernel: Option<DimTerm>,
    },
    /// The axis is the concatenation of the components and of `literal` further elements: sizes add.
    Concat {
        /// The whole.
        axis: DimTerm,
        /// The parts. Those made by [`Solver::discardable_var`](crate::Solver::discardable_var) may be
        /// empty.
        components: &'a [DimTerm],
        /// Sizes of components written as numbers.
        literal: u64,
    },
    /// The size is at least a number: the axis is read at a fixed index.
    AtLeast(DimTerm, u64),
    /// The size is at most a number: the upper end of a range.
    AtMost(DimTerm, u64),
    /// The pieces have together as many elements as the numerator says, divided by the product of
    /// `divided_by`.
    Count {
        /// The axes counted.
        pieces: &'a [Piece],
        /// The number of elements.
        numerator: Numerator,
        /// Dimensions that divide the number.
        divided_by: &'a [DimTerm],
        /// The row that takes what the other rows leave, where a choice is needed.
        rest: Option<RowVar>,
    },
    /// The pieces, one after another, are exactly these axes.
    Exact {
        /// The rows and axes described.
        pieces: &'a [Piece],
        /// The axes they have.
        axes: &'a [DimTerm],
        /// The row that takes what the other rows leave, where a choice is needed.
        rest: Option<RowVar>,
    },
}

/// The kind of tensor that a variable belongs to; decides how it is closed (Def. 6.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Role {
    /// A result: closes upward, to the unit and to no further axes.
    #[default]
    Interior,
    /// A leaf without a shape of its own, such as a constant: closes after all others, and none of them
    /// takes its shape from it.
    Filler,
    /// A terminal tensor: closes downward, to what its uses have in common.
    Leaf,
    /// A leaf whose sizes must be known: a hole is an error.
    Param,
}
