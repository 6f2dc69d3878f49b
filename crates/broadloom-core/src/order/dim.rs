//! Dimensions: what one axis claims about itself.
//!
//! A dimension is either the unit, which claims nothing, or an atom, which claims
//! one size in one basis. The unit broadcasts into everything; an atom fits only
//! itself. Adding a bottom for "contradictory claims" gives a lattice of height
//! two: the atoms lie side by side between the bottom and the unit.
//!
//! ```
//! use broadloom_core::order::{Bounded, Dim};
//!
//! let (two, three) = (Dim::sized(2), Dim::sized(3));
//! assert!(three.refines(Dim::Unit));
//! assert!(!three.refines(two));
//! assert_eq!(two.join(three), Dim::Unit);
//! assert_eq!(Bounded::from(two).meet(three.into()), Bounded::Bottom);
//! ```

use crate::ids::{numbers, words};

/// The tag that distinguishes axes of equal size (Formal Core, Def. 1.1).
///
/// It is an index that the caller hands out; the core never sees the name.
///
/// ```
/// use broadloom_core::order::{Basis, Dim};
///
/// let rgb = Basis(1);
/// assert_ne!(Dim::atom(3, rgb), Dim::atom(3, Basis::DEFAULT));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Basis(pub u32);

words!(Basis);

impl Basis {
    /// The basis of an axis that names none (Formal Core, Def. 1.1).
    ///
    /// ```
    /// use broadloom_core::order::Basis;
    ///
    /// assert_eq!(Basis::DEFAULT, Basis(0));
    /// ```
    pub const DEFAULT: Basis = Basis(0);
}

/// A size in a basis: the only thing a dimension can claim (Formal Core, Def. 1.1).
///
/// An atom of size 1 is a claim like any other and does not broadcast. The theory
/// has sizes of at least 1. The order compares sizes only for equality, so it
/// holds unchanged for the size 0 that a concatenation component may have.
///
/// ```
/// use broadloom_core::order::{Atom, Basis, Dim};
///
/// let atom = Atom { size: 3, basis: Basis::DEFAULT };
/// assert_eq!(Dim::from(atom), Dim::sized(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Atom {
    /// The number of elements along the axis.
    pub size: u64,
    /// The basis: the kind of thing that the elements count.
    pub basis: Basis,
}

/// An expression over symbols, by its place among those of a solver
/// ([`Solver::form`](crate::Solver::form)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormId(pub u32);

numbers!(FormId);

/// A symbolic size in a basis: a claim like an atom's, of a size that is known by name only
/// (*Tensor Dimension Inference*, "Named").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symbolic {
    /// The expression, in normal form: the same size has the same expression.
    pub form: FormId,
    /// The basis: the kind of thing that the elements count.
    pub basis: Basis,
}

/// A dimension: the set D of Formal Core, Def. 1.1.
///
/// ```
/// use broadloom_core::order::Dim;
///
/// // The unit is one wide but claims nothing; the explicit 1 is a claim.
/// assert_ne!(Dim::Unit, Dim::sized(1));
/// assert!(Dim::sized(1).refines(Dim::Unit));
/// assert!(!Dim::Unit.refines(Dim::sized(1)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// The claim-free axis of size one: the top of the order.
    Unit,
    /// A claimed size.
    Atom(Atom),
    /// A claimed size that is known by name. To the order it is an atom like any other.
    Symbolic(Symbolic),
}

impl Dim {
    /// The atom of the given size in the default basis (Formal Core, Def. 1.1).
    ///
    /// ```
    /// use broadloom_core::order::{Basis, Dim};
    ///
    /// assert_eq!(Dim::sized(3), Dim::atom(3, Basis::DEFAULT));
    /// ```
    pub const fn sized(size: u64) -> Dim {
        Dim::atom(size, Basis::DEFAULT)
    }

    /// The atom of the given size and basis (Formal Core, Def. 1.1).
    ///
    /// ```
    /// use broadloom_core::order::{Atom, Basis, Dim};
    ///
    /// assert_eq!(Dim::atom(3, Basis(1)), Dim::Atom(Atom { size: 3, basis: Basis(1) }));
    /// ```
    pub const fn atom(size: u64, basis: Basis) -> Dim {
        Dim::Atom(Atom { size, basis })
    }

    /// The broadcast order (Formal Core, Def. 1.2): `res.refines(opnd)` is `res ⊑ opnd`.
    ///
    /// ```
    /// use broadloom_core::order::Dim;
    ///
    /// assert!(Dim::sized(3).refines(Dim::Unit));
    /// assert!(Dim::sized(3).refines(Dim::sized(3)));
    /// assert!(!Dim::sized(3).refines(Dim::sized(4)));
    /// ```
    pub fn refines(self, operand: Dim) -> bool {
        operand == Dim::Unit || self == operand
    }

    /// The least upper bound (Formal Core, Prop. 1.3): what two dimensions both claim.
    ///
    /// ```
    /// use broadloom_core::order::Dim;
    ///
    /// assert_eq!(Dim::sized(3).join(Dim::sized(3)), Dim::sized(3));
    /// assert_eq!(Dim::sized(3).join(Dim::sized(4)), Dim::Unit);
    /// ```
    #[must_use]
    pub fn join(self, other: Dim) -> Dim {
        if self == other { self } else { Dim::Unit }
    }

    /// The greatest lower bound (Formal Core, Prop. 1.3): what satisfies both claims.
    ///
    /// `None` is the bottom, which is not a dimension: two distinct atoms clash.
    ///
    /// ```
    /// use broadloom_core::order::Dim;
    ///
    /// assert_eq!(Dim::sized(3).meet(Dim::Unit), Some(Dim::sized(3)));
    /// assert_eq!(Dim::sized(3).meet(Dim::sized(4)), None);
    /// ```
    pub fn meet(self, other: Dim) -> Option<Dim> {
        match (self, other) {
            (dim, Dim::Unit) | (Dim::Unit, dim) => Some(dim),
            _ => (self == other).then_some(self),
        }
    }
}

impl From<Atom> for Dim {
    fn from(atom: Atom) -> Dim {
        Dim::Atom(atom)
    }
}

/// A dimension or the bottom: the lattice D⊥ of Formal Core, Def. 1.1.
///
/// No axis is ever the bottom. It names the outcome of contradictory claims, so
/// that [`meet`](Bounded::meet) and [`join`](Bounded::join) are total and the laws
/// can be stated. The lattice is modular but not distributive (Prop. 1.4).
///
/// ```
/// use broadloom_core::order::{Bounded, Dim};
///
/// let [a, b, c] = [1, 2, 3].map(|size| Bounded::Dim(Dim::sized(size)));
/// assert_eq!(a.meet(b.join(c)), a);
/// assert_eq!(a.meet(b).join(a.meet(c)), Bounded::Bottom);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bounded {
    /// The contradiction, below every dimension.
    Bottom,
    /// A dimension.
    Dim(Dim),
}

impl Bounded {
    /// The greatest element, the unit (Formal Core, Prop. 1.3).
    ///
    /// ```
    /// use broadloom_core::order::{Bounded, Dim};
    ///
    /// assert!(Bounded::Dim(Dim::sized(3)).refines(Bounded::TOP));
    /// assert!(Bounded::Bottom.refines(Bounded::TOP));
    /// ```
    pub const TOP: Bounded = Bounded::Dim(Dim::Unit);

    /// The dimension, or `None` at the bottom (Formal Core, Def. 1.1).
    ///
    /// ```
    /// use broadloom_core::order::{Bounded, Dim};
    ///
    /// assert_eq!(Bounded::Dim(Dim::Unit).dim(), Some(Dim::Unit));
    /// assert_eq!(Bounded::Bottom.dim(), None);
    /// ```
    pub fn dim(self) -> Option<Dim> {
        match self {
            Bounded::Bottom => None,
            Bounded::Dim(dim) => Some(dim),
        }
    }

    /// The broadcast order with the bottom below everything (Formal Core, Def. 1.2).
    ///
    /// ```
    /// use broadloom_core::order::{Bounded, Dim};
    ///
    /// let three = Bounded::Dim(Dim::sized(3));
    /// assert!(Bounded::Bottom.refines(three));
    /// assert!(!three.refines(Bounded::Bottom));
    /// ```
    pub fn refines(self, operand: Bounded) -> bool {
        match (self, operand) {
            (Bounded::Bottom, _) => true,
            (Bounded::Dim(_), Bounded::Bottom) => false,
            (Bounded::Dim(result), Bounded::Dim(operand)) => result.refines(operand),
        }
    }

    /// The greatest lower bound (Formal Core, Prop. 1.3).
    ///
    /// ```
    /// use broadloom_core::order::{Bounded, Dim};
    ///
    /// let (three, four) = (Bounded::Dim(Dim::sized(3)), Bounded::Dim(Dim::sized(4)));
    /// assert_eq!(three.meet(four), Bounded::Bottom);
    /// assert_eq!(three.meet(Bounded::TOP), three);
    /// ```
    #[must_use]
    pub fn meet(self, other: Bounded) -> Bounded {
        match (self, other) {
            (Bounded::Bottom, _) | (_, Bounded::Bottom) => Bounded::Bottom,
            (Bounded::Dim(one), Bounded::Dim(two)) => one.meet(two).map_or(Bounded::Bottom, Bounded::Dim),
        }
    }

    /// The least upper bound (Formal Core, Prop. 1.3).
    ///
    /// ```
    /// use broadloom_core::order::{Bounded, Dim};
    ///
    /// let (three, four) = (Bounded::Dim(Dim::sized(3)), Bounded::Dim(Dim::sized(4)));
    /// assert_eq!(three.join(four), Bounded::TOP);
    /// assert_eq!(three.join(Bounded::Bottom), three);
    /// ```
    #[must_use]
    pub fn join(self, other: Bounded) -> Bounded {
        match (self, other) {
            (Bounded::Bottom, bound) | (bound, Bounded::Bottom) => bound,
            (Bounded::Dim(one), Bounded::Dim(two)) => Bounded::Dim(one.join(two)),
        }
    }
}

impl From<Dim> for Bounded {
    fn from(dim: Dim) -> Bounded {
        Bounded::Dim(dim)
    }
}

/// `_` for the unit, `3` for an atom of the default basis, `3:#1` for one of another (names of bases
/// live in the fronts).
impl std::fmt::Display for Dim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Dim::Unit => f.write_str("_"),
            Dim::Atom(Atom { size, basis: Basis::DEFAULT }) => write!(f, "{size}"),
            Dim::Atom(Atom { size, basis }) => write!(f, "{size}:#{}", basis.0),
            // The core knows no names.
            Dim::Symbolic(Symbolic { form, basis: Basis::DEFAULT }) => write!(f, "${}", form.0),
            Dim::Symbolic(Symbolic { form, basis }) => write!(f, "${}:#{}", form.0, basis.0),
        }
    }
}
