//! Rows: what a sequence of axes claims, and where it grows.
//!
//! A row `l·◇·r` has a leading flank, a marker and a trailing flank. Used where
//! more axes are needed, it is padded with units at the marker, so both of its
//! outer edges stay aligned with the result.
//!
//! The flanks are stored end to end with the marker's position beside them. The
//! flat sequence, which most judgements read, is thus one slice, and
//! componentwise equality of the flanks is equality of the two fields.
//!
//! ```
//! use broadloom_core::order::{Dim, Row};
//!
//! let [three, four, five] = [3, 4, 5].map(Dim::sized);
//! let caps = [Row::new([three], [five, four]), Row::new([three, five], [four])];
//!
//! // Both end in 4 and start with 3; between the edges they promise nothing in common.
//! assert_eq!(caps[0].join(&caps[1]), Row::new([three], [four]));
//! ```

use smallvec::SmallVec;

use super::dim::Dim;

/// Storage for the axes of one row; ranks above four are rare enough to allocate.
pub(super) type Axes = SmallVec<[Dim; 4]>;

/// A ground row `l·◇·r` (Formal Core, Def. 2.1).
///
/// `==` is identity, which sees the marker. The equality that row equations mean
/// is [`flat_eq`](Row::flat_eq).
///
/// ```
/// use broadloom_core::order::{Dim, Row};
///
/// let (three, four) = (Dim::sized(3), Dim::sized(4));
/// let row = Row::new([three], [four]);
/// assert_ne!(row, Row::new([three, four], []));
/// assert!(row.flat_eq(&Row::new([three, four], [])));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Row {
    /// The leading flank followed by the trailing flank.
    axes: Axes,
    /// The length of the leading flank; at most `axes.len()`.
    marker: usize,
}

impl Row {
    /// The row with the given leading and trailing flanks (Formal Core, Def. 2.1).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// let row = Row::new([Dim::sized(3)], [Dim::sized(4)]);
    /// assert_eq!(row.lead(), [Dim::sized(3)]);
    /// assert_eq!(row.trail(), [Dim::sized(4)]);
    /// ```
    pub fn new(lead: impl IntoIterator<Item = Dim>, trail: impl IntoIterator<Item = Dim>) -> Row {
        let mut axes: Axes = lead.into_iter().collect();
        let marker = axes.len();
        axes.extend(trail);
        Row { axes, marker }
    }

    /// The row that grows at its left edge, `[]·◇·r`: the placement when none is
    /// declared (Formal Core, Remark 2.15(iii)).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// assert_eq!(Row::trailing([Dim::sized(3)]), Row::new([], [Dim::sized(3)]));
    /// ```
    pub fn trailing(axes: impl IntoIterator<Item = Dim>) -> Row {
        Row { axes: axes.into_iter().collect(), marker: 0 }
    }

    /// The row with the given flat sequence and its marker before the axis at
    /// `marker`, or `None` if that lies beyond the end (Formal Core, Def. 2.9).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// let (three, four) = (Dim::sized(3), Dim::sized(4));
    /// assert_eq!(Row::marked_at([three, four], 1), Some(Row::new([three], [four])));
    /// assert_eq!(Row::marked_at([three, four], 3), None);
    /// ```
    pub fn marked_at(axes: impl IntoIterator<Item = Dim>, marker: usize) -> Option<Row> {
        let axes: Axes = axes.into_iter().collect();
        (marker <= axes.len()).then_some(Row { axes, marker })
    }

    /// The row without axes, which is the top of the order (Formal Core, Prop. 2.6).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// assert!(Row::new([Dim::sized(3)], [Dim::Unit]).refines(&Row::empty()));
    /// ```
    pub fn empty() -> Row {
        Row::default()
    }

    /// The leading flank (Formal Core, Def. 2.1).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// assert_eq!(Row::new([Dim::sized(3)], []).lead(), [Dim::sized(3)]);
    /// ```
    pub fn lead(&self) -> &[Dim] {
        &self.axes[..self.marker]
    }

    /// The trailing flank (Formal Core, Def. 2.1).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// assert_eq!(Row::new([Dim::sized(3)], []).trail(), []);
    /// ```
    pub fn trail(&self) -> &[Dim] {
        &self.axes[self.marker..]
    }

    /// The number of axes (Formal Core, Def. 2.1).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// assert_eq!(Row::new([Dim::sized(3)], [Dim::Unit]).rank(), 2);
    /// ```
    pub fn rank(&self) -> usize {
        self.axes.len()
    }

    /// The marker's position: the number of axes before it (Formal Core, Def. 2.1).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// assert_eq!(Row::new([Dim::sized(3)], [Dim::Unit]).marker(), 1);
    /// ```
    pub fn marker(&self) -> usize {
        self.marker
    }

    /// The flat sequence `l·r` as a slice (Formal Core, Def. 2.9).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// let row = Row::new([Dim::sized(3)], [Dim::sized(4)]);
    /// assert_eq!(row.axes(), [Dim::sized(3), Dim::sized(4)]);
    /// ```
    pub fn axes(&self) -> &[Dim] {
        &self.axes
    }

    /// The flat sequence `l·r`, axis by axis (Formal Core, Def. 2.9).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// let row = Row::new([Dim::sized(3)], [Dim::Unit]);
    /// assert!(row.flat().eq([Dim::sized(3), Dim::Unit]));
    /// ```
    pub fn flat(&self) -> impl DoubleEndedIterator<Item = Dim> + ExactSizeIterator {
        self.axes.iter().copied()
    }

    /// The expansion `R↑n` (Formal Core, Def. 2.2): the flat sequence of length `n`
    /// with units inserted at the marker. `None` if `n` is below the rank.
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// let (three, four) = (Dim::sized(3), Dim::sized(4));
    /// let row = Row::new([three], [four]);
    /// assert_eq!(row.expand(4), Some(vec![three, Dim::Unit, Dim::Unit, four]));
    /// assert_eq!(row.expand(1), None);
    /// ```
    pub fn expand(&self, n: usize) -> Option<Vec<Dim>> {
        Some(self.expansion(n)?.collect())
    }

    /// The expansion `R↑n` of [`expand`](Row::expand), axis by axis and without
    /// allocation (Formal Core, Def. 2.2).
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// let row = Row::trailing([Dim::sized(3)]);
    /// let padded = row.expansion(2).into_iter().flatten();
    /// assert!(padded.eq([Dim::Unit, Dim::sized(3)]));
    /// ```
    pub fn expansion(&self, n: usize) -> Option<impl DoubleEndedIterator<Item = Dim>> {
        let padding = n.checked_sub(self.rank())?;
        let units = std::iter::repeat_n(Dim::Unit, padding);
        let lead = self.lead().iter().copied();
        Some(lead.chain(units).chain(self.trail().iter().copied()))
    }

    /// The marked order (Formal Core, Def. 2.3): `res.refines(opnd)` is `res ⊑ opnd`.
    ///
    /// Both flanks of the operand fit inside those of the result, and the result
    /// refines the operand's expansion axis by axis. Flank-fit keeps the two
    /// aligned however far either grows, which makes this a partial order
    /// (Prop. 2.5). Under flank-fit no axis of one flank can meet the other flank,
    /// so this is the product of two flank orders: one aligned at the front, one
    /// at the back.
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// let [two, three, four] = [2, 3, 4].map(Dim::sized);
    /// let result = Row::new([three], [two, four]);
    /// assert!(result.refines(&Row::new([three], [four])));
    /// assert!(!result.refines(&Row::new([three, four], [])));
    /// ```
    pub fn refines(&self, operand: &Row) -> bool {
        let flanks_fit =
            operand.lead().len() <= self.lead().len() && operand.trail().len() <= self.trail().len();
        flanks_fit && self.refines_once(operand)
    }

    /// The one-shot relation (Formal Core, Remark 2.15(ii)): `res ⊑¹ opnd`, that is
    /// `flat(res)• ⊑ opnd`.
    ///
    /// The result has at least the operand's rank, and its flat axes refine the
    /// operand expanded at the *operand's* marker. The result's own marker is not
    /// consulted.
    ///
    /// The relation is reflexive, holds wherever [`refines`](Row::refines) does,
    /// and holds in both directions exactly for [flat-equal](Row::flat_eq) rows. It
    /// is **not transitive**: the middle row of a chain grows at its own marker in
    /// the first step and is compared without it in the second.
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// let (three, five) = (Dim::sized(3), Dim::sized(5));
    /// let result = Row::trailing([three, five]);
    /// let middle = Row::new([three], []);
    /// let operand = Row::new([], [three]);
    /// assert!(result.refines_once(&middle) && middle.refines_once(&operand));
    /// assert!(!result.refines_once(&operand));
    /// ```
    ///
    /// The relation does compose in these cases, for `a ⊑¹ b ⊑¹ c`:
    ///
    /// * If `a` and `b` have equal rank, then `a ⊑¹ c`.
    /// * If `b ⊑ c` in the marked order, then `a ⊑¹ c`. In general `c` inherits
    ///   every result of `b` exactly if `b↑n` refines `c↑n` at every `n`.
    /// * A cycle keeps the rank, so all rows on it are flat-equal.
    pub fn refines_once(&self, operand: &Row) -> bool {
        axes_refine(&self.axes, operand)
    }

    /// Flat equivalence `≈` (Formal Core, Def. 2.9): equal axes, markers ignored.
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// let (three, four) = (Dim::sized(3), Dim::sized(4));
    /// assert!(Row::new([three], [four]).flat_eq(&Row::trailing([three, four])));
    /// ```
    pub fn flat_eq(&self, other: &Row) -> bool {
        self.axes == other.axes
    }

    /// The least upper bound in the marked order (Formal Core, Prop. 2.7).
    ///
    /// Each flank is as long as the shorter of the two, joined axis by axis from
    /// its outer edge. The join is above both rows in the
    /// [one-shot relation](Row::refines_once) as well, but not least there:
    /// `[3]·◇·[]` and `[]·◇·[3]` join to the empty row although they are flat-equal.
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// let [three, four, five] = [3, 4, 5].map(Dim::sized);
    /// let join = Row::new([three], [five, four]).join(&Row::new([five], [four]));
    /// assert_eq!(join, Row::new([Dim::Unit], [four]));
    /// ```
    #[must_use]
    pub fn join(&self, other: &Row) -> Row {
        let joined = |(one, two): (&Dim, &Dim)| one.join(*two);
        let length = self.trail().len().min(other.trail().len());
        let trails = last(self.trail(), length).iter().zip(last(other.trail(), length));
        let leads = self.lead().iter().zip(other.lead());
        Row::new(leads.map(joined), trails.map(joined))
    }

    /// The greatest lower bound in the marked order, where there is one.
    ///
    /// Each flank is as long as the longer of the two, met axis by axis from its
    /// outer edge. `None` means that two atoms clash at the same distance from the
    /// same edge. Since every lower bound would have to refine both, the rows then
    /// have no common lower bound at all: a greatest lower bound exists exactly if
    /// some lower bound does, and rows with a bottom adjoined are a lattice.
    ///
    /// The Formal Core states no meet of rows; it follows from Def. 2.3 as the dual
    /// of Prop. 2.7. The same condition decides whether rows have a
    /// [one-shot](Row::refines_once) result in common, but such a result may have
    /// fewer axes than the meet: `[3]·◇·[]` and `[]·◇·[3]` share the result `[3]`.
    ///
    /// ```
    /// use broadloom_core::order::{Dim, Row};
    ///
    /// let [three, four, five] = [3, 4, 5].map(Dim::sized);
    /// let row = Row::new([three], []);
    /// assert_eq!(row.meet(&Row::new([], [four])), Some(Row::new([three], [four])));
    /// assert_eq!(row.meet(&Row::new([five], [four])), None);
    /// ```
    pub fn meet(&self, other: &Row) -> Option<Row> {
        let mut axes = Axes::new();
        let (longer, shorter) = by_length(self.lead(), other.lead());
        for (i, &dim) in longer.iter().enumerate() {
            axes.push(shorter.get(i).map_or(Some(dim), |&claim| dim.meet(claim))?);
        }
        let marker = axes.len();
        let (longer, shorter) = by_length(self.trail(), other.trail());
        let (inner, outer) = longer.split_at(longer.len() - shorter.len());
        axes.extend_from_slice(inner);
        for (&dim, &claim) in outer.iter().zip(shorter) {
            axes.push(dim.meet(claim)?);
        }
        Some(Row { axes, marker })
    }
}

/// Clause (c) of Formal Core, Def. 2.12: `result• ⊑ operand`. The units that the
/// expansion inserts are refined by everything, so only the flanks are compared.
pub(super) fn axes_refine(result: &[Dim], operand: &Row) -> bool {
    let backwards = operand.trail().iter().rev();
    result.len() >= operand.rank()
        && pointwise_refine(result.iter(), operand.lead().iter())
        && pointwise_refine(result.iter().rev(), backwards)
}

/// True if each result axis refines the operand axis at the same place, up to the
/// end of the shorter sequence (Formal Core, Def. 1.2).
pub(super) fn pointwise_refine<'a>(
    results: impl Iterator<Item = &'a Dim>,
    operands: impl Iterator<Item = &'a Dim>,
) -> bool {
    results.zip(operands).all(|(res, opnd)| res.refines(*opnd))
}

/// The last `n` axes, or all if there are fewer.
fn last(axes: &[Dim], n: usize) -> &[Dim] {
    &axes[axes.len().saturating_sub(n)..]
}

/// The two flanks, the longer one first.
fn by_length<'a>(one: &'a [Dim], two: &'a [Dim]) -> (&'a [Dim], &'a [Dim]) {
    if one.len() >= two.len() { (one, two) } else { (two, one) }
}

/// `[3, <>, 4]`; a marker at the left edge is left out.
impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[")?;
        for (at, axis) in self.flat().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let marker = if at > 0 && at == self.marker() { "<>, " } else { "" };
            write!(f, "{comma}{marker}{axis}")?;
        }
        if self.rank() > 0 && self.marker() == self.rank() {
            f.write_str(", <>")?;
        }
        f.write_str("]")
    }
}
