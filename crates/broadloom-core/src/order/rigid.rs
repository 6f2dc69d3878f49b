//! Rigid rows, and the order that compares them with marked ones.
//!
//! A rigid row is a flat sequence with no marker: it has a rank and keeps it. It
//! stands for a row that only ever is a result. The order has two sorts: a rigid
//! result may refine a marked operand, but nothing marked refines a rigid operand,
//! because a marked row may still grow and a rigid one cannot follow.
//!
//! ```
//! use broadloom_core::order::{AnyRow, Dim, Row};
//!
//! let row = Row::trailing([Dim::sized(3)]);
//! let (marked, rigid) = (AnyRow::from(row.clone()), AnyRow::from(row.rigid()));
//! assert!(rigid.refines(&marked));
//! assert!(!marked.refines(&rigid));
//! assert!(marked.flat_eq(&rigid));
//! ```

use super::dim::Dim;
use super::row::{Axes, Row, axes_refine, pointwise_refine};

/// A rigid row `F•`: a flat sequence with no marker (Formal Core, Def. 2.12).
///
/// `==` is flat equality, as there is no marker to tell rigid rows apart.
///
/// ```
/// use broadloom_core::order::{Dim, Rigid, Row};
///
/// let (three, four) = (Dim::sized(3), Dim::sized(4));
/// assert_eq!(Row::new([three], [four]).rigid(), Rigid::new([three, four]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rigid {
    axes: Axes,
}

impl Rigid {
    /// The rigid row with the given axes (Formal Core, Def. 2.12).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Rigid};
    ///
    /// assert_eq!(Rigid::new([Dim::sized(3)]).axes(), [Dim::sized(3)]);
    /// ```
    pub fn new(axes: impl IntoIterator<Item = Dim>) -> Rigid {
        Rigid::from_axes(axes.into_iter().collect())
    }

    pub(super) fn from_axes(axes: Axes) -> Rigid {
        Rigid { axes }
    }

    /// The number of axes (Formal Core, Def. 2.12).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Rigid};
    ///
    /// assert_eq!(Rigid::new([Dim::sized(3), Dim::Unit]).rank(), 2);
    /// ```
    pub fn rank(&self) -> usize {
        self.axes.len()
    }

    /// The flat sequence (Formal Core, Def. 2.12).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Rigid};
    ///
    /// assert_eq!(Rigid::new([Dim::Unit]).axes(), [Dim::Unit]);
    /// ```
    pub fn axes(&self) -> &[Dim] {
        &self.axes
    }

    /// The expansion `F•↑n`, defined only at the row's own rank (Formal Core, Def. 2.12).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Rigid};
    ///
    /// let rigid = Rigid::new([Dim::sized(3)]);
    /// assert_eq!(rigid.expand(1), Some([Dim::sized(3)].as_slice()));
    /// assert_eq!(rigid.expand(2), None);
    /// ```
    pub fn expand(&self, n: usize) -> Option<&[Dim]> {
        (n == self.rank()).then_some(self.axes())
    }

    /// Clause (b) of the two-sorted order (Formal Core, Def. 2.12): equal rank and
    /// refinement axis by axis.
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Rigid};
    ///
    /// let result = Rigid::new([Dim::sized(3)]);
    /// assert!(result.refines(&Rigid::new([Dim::Unit])));
    /// assert!(!result.refines(&Rigid::new([])));
    /// ```
    pub fn refines(&self, operand: &Rigid) -> bool {
        self.rank() == operand.rank() && pointwise_refine(self.axes.iter(), operand.axes.iter())
    }

    /// Clause (c) of the two-sorted order (Formal Core, Def. 2.12): a rank of at
    /// least the operand's, and refinement of its expansion axis by axis.
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Rigid, Row};
    ///
    /// let [three, four, five] = [3, 4, 5].map(Dim::sized);
    /// let operand = Row::new([three], [four]);
    /// assert!(Rigid::new([three, five, four]).refines_row(&operand));
    /// assert!(!Rigid::new([three, four, five]).refines_row(&operand));
    /// ```
    pub fn refines_row(&self, operand: &Row) -> bool {
        axes_refine(&self.axes, operand)
    }
}

impl Row {
    /// The flattening `flat(R)•` (Formal Core, Remark 2.15(ii)): the same axes, with
    /// no place left to grow. It lies directly below the row.
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Rigid, Row};
    ///
    /// let (three, four) = (Dim::sized(3), Dim::sized(4));
    /// assert_eq!(Row::new([three], [four]).rigid(), Rigid::new([three, four]));
    /// ```
    pub fn rigid(&self) -> Rigid {
        Rigid::new(self.axes().iter().copied())
    }
}

/// A row of either sort (Formal Core, Def. 2.12).
///
/// ```
/// use broadloom_core::order::{AnyRow, Dim, Rigid};
///
/// let row = AnyRow::from(Rigid::new([Dim::sized(3)]));
/// assert_eq!(row.rank(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AnyRow {
    /// A row that grows at its marker.
    Marked(Row),
    /// A row that does not grow.
    Rigid(Rigid),
}

impl AnyRow {
    /// The number of axes (Formal Core, Def. 2.1 and 2.12).
    ///
    /// ```
    /// use broadloom_core::order::{AnyRow, Row};
    ///
    /// assert_eq!(AnyRow::from(Row::empty()).rank(), 0);
    /// ```
    pub fn rank(&self) -> usize {
        self.axes().len()
    }

    /// The flat sequence (Formal Core, Def. 2.9 and 2.12).
    ///
    /// ```
    /// use broadloom_core::order::{AnyRow, Dim, Row};
    ///
    /// let row = AnyRow::from(Row::new([Dim::sized(3)], [Dim::Unit]));
    /// assert_eq!(row.axes(), [Dim::sized(3), Dim::Unit]);
    /// ```
    pub fn axes(&self) -> &[Dim] {
        match self {
            AnyRow::Marked(row) => row.axes(),
            AnyRow::Rigid(rigid) => rigid.axes(),
        }
    }

    /// The two-sorted order (Formal Core, Def. 2.12): `res.refines(opnd)` is `res ⊑ opnd`.
    ///
    /// ```
    /// use broadloom_core::order::{AnyRow, Dim, Rigid, Row};
    ///
    /// let marked = AnyRow::from(Row::trailing([Dim::sized(3)]));
    /// let rigid = AnyRow::from(Rigid::new([Dim::sized(5), Dim::sized(3)]));
    /// assert!(rigid.refines(&marked));
    /// assert!(!marked.refines(&rigid));
    /// ```
    pub fn refines(&self, operand: &AnyRow) -> bool {
        match (self, operand) {
            // (a)
            (AnyRow::Marked(result), AnyRow::Marked(operand)) => result.refines(operand),
            // (b)
            (AnyRow::Rigid(result), AnyRow::Rigid(operand)) => result.refines(operand),
            // (c)
            (AnyRow::Rigid(result), AnyRow::Marked(operand)) => result.refines_row(operand),
            // (d): the result may still grow, and the operand could not follow.
            (AnyRow::Marked(_), AnyRow::Rigid(_)) => false,
        }
    }

    /// Content equality (Formal Core, Remark 2.14): equal axes, whatever the sorts
    /// and markers.
    ///
    /// ```
    /// use broadloom_core::order::{AnyRow, Dim, Rigid, Row};
    ///
    /// let marked = AnyRow::from(Row::trailing([Dim::sized(3)]));
    /// assert!(marked.flat_eq(&AnyRow::from(Rigid::new([Dim::sized(3)]))));
    /// ```
    pub fn flat_eq(&self, other: &AnyRow) -> bool {
        self.axes() == other.axes()
    }
}

impl From<Row> for AnyRow {
    fn from(row: Row) -> AnyRow {
        AnyRow::Marked(row)
    }
}

impl From<Rigid> for AnyRow {
    fn from(rigid: Rigid) -> AnyRow {
        AnyRow::Rigid(rigid)
    }
}
