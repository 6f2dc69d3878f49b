//! Affine axes: how the size of an axis follows from what is iterated over it, and which of its
//! positions each iteration visits.
//!
//! Size and index of each form are defined side by side, so that the two cannot disagree: every index
//! of [`Affine::index`] lies inside the size of [`Affine::size`] (plus the margins, where the axis is
//! padded). That is checked by enumeration in the tests.

use crate::size::Size;

/// An affine axis `stride·over + dilation·kernel + offset`.
///
/// ```
/// use broadloom_core::{Affine, Padding, Size};
/// // A 3-wide window at stride 2, inside the axis: 4 positions need 2·3 + 3 = 9 elements.
/// let window = Affine::strided(2).with_kernel(1, Padding::Valid);
/// assert_eq!(window.size(4.into(), Some(3.into())), 9);
/// // Padded, the kernel does not matter: the margins hold what the window reads beyond the ends.
/// let padded = Affine::strided(2).with_kernel(1, Padding::Padded);
/// assert_eq!(padded.size(4.into(), Some(3.into())), 8);
/// assert_eq!(padded.margins(3.into()), Some((Size::ONE, Size::ZERO)));
/// // The same for all sizes.
/// let n = Size::argument(0, 1);
/// assert_eq!(window.size(n, Some(3.into())), n * 2 + 1);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Affine {
    /// The step of the iteration; at least one.
    pub stride: u64,
    /// Added to every index.
    pub offset: u64,
    /// The window that moves along, if there is one.
    pub window: Option<Window>,
}

/// The window of a convolution or of pooling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The distance of neighbouring kernel positions on the axis; at least one.
    pub dilation: u64,
    /// The treatment of the ends of the axis.
    pub padding: Padding,
}

/// The treatment of the ends of an axis by a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Padding {
    /// Windows may reach beyond the ends; the axis is read with margins.
    Padded,
    /// Every window lies inside the axis, and the last one ends where the axis does.
    Valid,
    /// Every window lies inside the axis; what is left at its end is too little for another one.
    Dropped,
}

impl Affine {
    /// Every `stride`-th position, without a window.
    pub fn strided(stride: u64) -> Affine {
        Affine { stride, offset: 0, window: None }
    }

    /// The same with an offset.
    pub fn with_offset(self, offset: u64) -> Affine {
        Affine { offset, ..self }
    }

    /// The same with a window.
    pub fn with_kernel(self, dilation: u64, padding: Padding) -> Affine {
        Affine { window: Some(Window { dilation, padding }), ..self }
    }

    /// The size of the axis as `stride·over + kernel_coefficient·kernel + constant`: the second and the
    /// third number.
    ///
    /// - strided: `stride·over`, and as much more as an offset beyond the stride asks for;
    /// - padded: `stride·over`, whatever the kernel and the offset;
    /// - valid: `stride·(over − 1) + 1 + dilation·(kernel − 1) + offset`;
    /// - dropped: the same, and up to [`Affine::slack`] more.
    pub fn equation(&self) -> (u64, i128) {
        let (stride, offset) = (i128::from(self.stride), i128::from(self.offset));
        match self.window {
            None => (0, (offset + 1 - stride).max(0)),
            Some(Window { padding: Padding::Padded, .. }) => (0, 0),
            Some(Window { padding: Padding::Valid | Padding::Dropped, dilation }) => {
                (dilation, 1 + offset - stride - i128::from(dilation))
            }
        }
    }

    /// The number of elements the axis may have beyond its equation: those that a window drops.
    pub fn slack(&self) -> u64 {
        match self.window {
            Some(Window { padding: Padding::Dropped, .. }) => self.stride.saturating_sub(1),
            _ => 0,
        }
    }

    /// The size of the axis, of which nothing is dropped; a form without a window ignores the kernel.
    pub fn size(&self, over: Size, kernel: Option<Size>) -> Size {
        let (coefficient, constant) = self.equation();
        let constant = i64::try_from(constant).map_or_else(|_| Size::unknown(), Size::from);
        over * self.stride + kernel.unwrap_or(Size::ONE) * coefficient + constant
    }

    /// The position on the axis, unpadded, that iteration `over` and kernel position `kernel` visit;
    /// negative or beyond the end where a padded window reaches into a margin.
    pub fn index(&self, over: u64, kernel: u64, kernel_size: u64) -> i64 {
        let start = (self.stride * over + self.offset) as i64;
        match self.window {
            None => start,
            Some(Window { dilation, .. }) => {
                let left = self.margins(kernel_size.into()).map_or(0, |(left, _)| left.get());
                start + (dilation * kernel) as i64 - left as i64
            }
        }
    }

    /// The margins that a padded window reads before the first and beyond the last element; zeros elsewhere. `None` if they
    /// cannot be expressed for all sizes of the kernel.
    pub fn margins(&self, kernel: Size) -> Option<(Size, Size)> {
        match self.window {
            Some(Window { padding: Padding::Padded, dilation }) => {
                let span = (kernel - 1).greatest(Size::ZERO)? * dilation + 1;
                let (left, _) = span.divided_with_rest(2)?;
                let right = (span + self.offset - left - self.stride).greatest(Size::ZERO)?;
                Some((left, right))
            }
            _ => Some((Size::ZERO, Size::ZERO)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms() -> impl Iterator<Item = Affine> {
        let windows = (1..4).flat_map(|dilation| {
            [Padding::Padded, Padding::Valid, Padding::Dropped]
                .map(|padding| Some(Window { dilation, padding }))
        });
        let windows: Vec<_> = windows.chain([None]).collect();
        (1..4).flat_map(move |stride| {
            let windows = windows.clone();
            (0..5).flat_map(move |offset| {
                windows.clone().into_iter().map(move |window| Affine { stride, offset, window })
            })
        })
    }

    #[test]
    fn every_index_lies_inside_the_size_and_the_margins() {
        for form in forms() {
            for (over, kernel) in (1..5).flat_map(|over| (1..5).map(move |kernel| (over, kernel))) {
                let size = form.size(over.into(), Some(kernel.into())).get() as i64;
                let (left, right) = form.margins(kernel.into()).expect("numbers have margins");
                let (left, right) = (left.get(), right.get());
                let kernels = if form.window.is_some() { kernel } else { 1 };
                let all = (0..over).flat_map(|o| (0..kernels).map(move |k| form.index(o, k, kernel)));
                let (least, greatest) = all.fold((i64::MAX, i64::MIN), |(lo, hi), i| (lo.min(i), hi.max(i)));
                assert!(least >= -(left as i64), "{form:?} over {over}, kernel {kernel}");
                assert!(greatest < size + right as i64, "{form:?} over {over}, kernel {kernel}");
                // A valid window wastes nothing: its last position is the last element.
                if let Some(Window { padding: Padding::Valid | Padding::Dropped, .. }) = form.window {
                    assert_eq!(greatest, size - 1, "{form:?} over {over}, kernel {kernel}");
                }
            }
        }
    }
}
