//! Comparing the shapes of arrays with patterns: sizes and rows are found at their first place, and compared at all others.
//!
//! An array with two rows of unknown length, or a size with two unknown names, waits until the other arguments were seen.
//! What is still open then is no mistake: an annotation may leave it open.

use super::pattern::{Pattern, PatternItem};
use super::size_expr::{SizeExpr, Solved};
use smallvec::SmallVec;

/// The axes of a row.
type Axes = SmallVec<[i64; 4]>;

/// The place where a size was found: the array's place in the list of annotated arrays, and the axis.
pub type Origin = (u32, u32);

/// The sizes and rows found so far.
#[derive(Clone, Debug, Default)]
pub struct MatchedSizes {
    /// Sizes of labels; -1 if unknown.
    sizes: SmallVec<[i64; 8]>,
    origins: SmallVec<[Origin; 8]>,
    rows: SmallVec<[Option<(Axes, Origin)>; 2]>,
    /// Arrays that could not be matched yet: the slot and the shape.
    pub waiting: Vec<(usize, Vec<i64>)>,
}

/// A misfit between an array and its pattern.
#[derive(Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The number of axes.
    Rank { wanted: usize, at_least: bool },
    /// An axis whose size is written.
    Size { axis: usize, item: usize, wanted: i64 },
    /// A label that has another size elsewhere.
    Label { axis: usize, label: usize, wanted: i64, origin: Origin },
    /// Arithmetic over labels.
    Expr { axis: usize, item: usize, wanted: Option<i64> },
    /// A row that has other axes elsewhere.
    Row { axis: usize, length: usize, row: usize, wanted: Vec<i64>, origin: Origin },
    /// A size outside its range.
    Range { axis: usize, label: usize, lo: i64, hi: i64 },
}

/// The outcome for one array.
pub enum Outcome {
    Fits,
    Waits,
}

impl MatchedSizes {
    /// Nothing found, for so many labels and rows.
    pub fn new(labels: usize, rows: usize) -> MatchedSizes {
        MatchedSizes {
            sizes: SmallVec::from_elem(-1, labels),
            origins: SmallVec::from_elem((0, 0), labels),
            rows: SmallVec::from_elem(None, rows),
            waiting: Vec::new(),
        }
    }

    /// The size of a label, if it is known.
    pub fn size(&self, label: usize) -> Option<i64> {
        Some(self.sizes[label]).filter(|size| *size >= 0)
    }

    /// The place where the size of a label was found, if it is known.
    pub fn origin(&self, label: usize) -> Origin {
        self.origins[label]
    }

    /// The axes of a row, if they are known.
    pub fn row(&self, row: usize) -> Option<&[i64]> {
        self.rows[row].as_ref().map(|(axes, _)| axes.as_slice())
    }

    /// Compares a shape with a pattern.
    pub fn fit(&mut self, pattern: &Pattern, shape: &[i64], slot: usize) -> Result<Outcome, Misfit> {
        let spare = match shape.len().checked_sub(pattern.fixed) {
            Some(spare) => spare,
            None => return Err(Misfit::Rank { wanted: pattern.fixed, at_least: pattern.rows > 0 }),
        };
        match pattern.rows {
            0 if spare > 0 => Err(Misfit::Rank { wanted: pattern.fixed, at_least: false }),
            0 | 1 => self.walk(pattern, shape, slot, spare),
            _ => match self.open_row(pattern, spare)? {
                Some(length) => self.walk(pattern, shape, slot, length),
                None => Ok(Outcome::Waits),
            },
        }
    }

    /// The length of the only row whose length is unknown; `None` if there are several.
    fn open_row(&self, pattern: &Pattern, spare: usize) -> Result<Option<usize>, Misfit> {
        let (mut known, mut open) = (0, 0);
        for item in &pattern.items {
            match item {
                PatternItem::Row(row) => match self.row(*row) {
                    Some(axes) => known += axes.len(),
                    None => open += 1,
                },
                PatternItem::AnyRow => open += 1,
                _ => {}
            }
        }
        let wanted = pattern.fixed + known;
        match (spare.checked_sub(known), open) {
            (None, _) => Err(Misfit::Rank { wanted, at_least: open > 0 }),
            (Some(0), 0) => Ok(Some(0)),
            (Some(_), 0) => Err(Misfit::Rank { wanted, at_least: false }),
            (Some(rest), 1) => Ok(Some(rest)),
            // Nothing is left for them: all are empty.
            (Some(0), _) => Ok(Some(0)),
            (Some(_), _) => Ok(None),
        }
    }

    /// Goes through the axes; rows of unknown length have `length` axes.
    fn walk(
        &mut self,
        pattern: &Pattern,
        shape: &[i64],
        slot: usize,
        length: usize,
    ) -> Result<Outcome, Misfit> {
        let mut axis = 0;
        let mut waits = false;
        let alone = pattern.rows == 1;
        for (at, item) in pattern.items.iter().enumerate() {
            match item {
                PatternItem::Any => {}
                PatternItem::Size(size) if *size == shape[axis] => {}
                PatternItem::Size(size) => return Err(Misfit::Size { axis, item: at, wanted: *size }),
                PatternItem::Label(label) => self.label(*label, shape[axis], (slot as u32, axis as u32))?,
                PatternItem::Both(label, size) => {
                    if *size != shape[axis] {
                        return Err(Misfit::Size { axis, item: at, wanted: *size });
                    }
                    self.label(*label, shape[axis], (slot as u32, axis as u32))?;
                }
                PatternItem::Expr(expr) => waits |= !self.expr(expr, shape[axis], slot, axis, at)?,
                PatternItem::AnyRow => {
                    axis += length;
                    continue;
                }
                PatternItem::Row(row) => {
                    let taken = match self.row(*row) {
                        Some(axes) if !alone => axes.len(),
                        _ => length,
                    };
                    self.take_row(*row, &shape[axis..axis + taken], (slot as u32, axis as u32))?;
                    axis += taken;
                    continue;
                }
            }
            axis += 1;
        }
        Ok(if waits { Outcome::Waits } else { Outcome::Fits })
    }

    fn label(&mut self, label: usize, size: i64, origin: Origin) -> Result<(), Misfit> {
        match self.sizes[label] {
            -1 => {
                self.sizes[label] = size;
                self.origins[label] = origin;
                Ok(())
            }
            known if known == size => Ok(()),
            wanted => {
                Err(Misfit::Label { axis: origin.1 as usize, label, wanted, origin: self.origins[label] })
            }
        }
    }

    fn take_row(&mut self, row: usize, axes: &[i64], origin: Origin) -> Result<(), Misfit> {
        match &self.rows[row] {
            None => {
                self.rows[row] = Some((Axes::from_slice(axes), origin));
                Ok(())
            }
            Some((known, _)) if known.as_slice() == axes => Ok(()),
            Some((known, first)) => Err(Misfit::Row {
                axis: origin.1 as usize,
                length: axes.len(),
                row,
                wanted: known.to_vec(),
                origin: *first,
            }),
        }
    }

    /// Compares a size with arithmetic; false if too little is known.
    fn expr(
        &mut self,
        expr: &SizeExpr,
        size: i64,
        slot: usize,
        axis: usize,
        item: usize,
    ) -> Result<bool, Misfit> {
        let known = |label: usize| self.size(label);
        match expr.solve(size, &known) {
            Solved::Fits => Ok(true),
            Solved::Is(label, value) => self.label(label, value, (slot as u32, axis as u32)).map(|()| true),
            Solved::Never => Err(Misfit::Expr { axis, item, wanted: expr.value(&known) }),
            Solved::Open => Ok(false),
        }
    }

    /// The first label outside its range, and where it was found.
    pub fn outside(&self, ranges: &[(usize, i64, i64)]) -> Option<(Misfit, Origin)> {
        ranges.iter().find_map(|(label, lo, hi)| {
            let size = self.size(*label)?;
            let origin = self.origins[*label];
            let misfit = Misfit::Range { axis: origin.1 as usize, label: *label, lo: *lo, hi: *hi };
            (size < *lo || size > *hi).then_some((misfit, origin))
        })
    }
}
