//! Index maps: the cell that each point of a box of loops addresses, and tests that the map is
//! one-to-one and onto.
//!
//! A map has one affine component per axis: `offset + Σ coefficient·loop`. Both questions are
//! answered exactly: two points share a cell iff the difference of their loops is a solution of the
//! homogeneous equations inside the box of differences, and a map that is one-to-one is onto iff it
//! has as many points as there are cells. A question that cannot be settled within a budget has the
//! answer [`Verdict::Unsettled`], which code treats as "no": then it accumulates and initialises.

use std::ops::RangeInclusive;

use smallvec::SmallVec;

use crate::size::Size;

/// The id of a loop: its place in a box of loops.
pub trait LoopId: Copy + Ord {
    /// The place.
    fn index(self) -> usize;
}

impl LoopId for u32 {
    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

/// A sum of loops and a constant: one component of an index map. The loops are those of a projection, by their places; loop
/// programs have sums of their variables.
///
/// ```
/// use broadloom_core::projection::Component;
/// // Position 2·i + k − 1 of a padded axis.
/// let read = Component::new(-1, [(2, 0), (1, 1)]);
/// assert_eq!(read.at(&[3, 2]), 7);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Component<L = u32> {
    /// The constant that is added.
    pub offset: Size,
    /// Coefficients and loops: no loop twice, no coefficient zero, loops ascending.
    pub terms: SmallVec<[(Size, L); 2]>,
}

impl<L: LoopId> Default for Component<L> {
    fn default() -> Component<L> {
        Component::fixed(0)
    }
}

impl<L: LoopId> Component<L> {
    /// A constant.
    pub fn fixed(offset: impl Into<Size>) -> Component<L> {
        Component { offset: offset.into(), terms: SmallVec::new() }
    }

    /// One loop.
    pub fn iterate(index: L) -> Component<L> {
        Component::new(0, [(1, index)])
    }

    /// A sum; terms of the same loop are added up.
    pub fn new<C: Into<Size>>(
        offset: impl Into<Size>,
        terms: impl IntoIterator<Item = (C, L)>,
    ) -> Component<L> {
        let mut sum: SmallVec<[(Size, L); 2]> =
            terms.into_iter().map(|(coefficient, index)| (coefficient.into(), index)).collect();
        sum.sort_by_key(|(_, index)| *index);
        sum.dedup_by(|next, first| {
            let same = next.1 == first.1;
            if same {
                first.0 += next.0;
            }
            same
        });
        sum.retain(|(coefficient, _)| *coefficient != 0);
        Component { offset: offset.into(), terms: sum }
    }

    /// The sum of two.
    pub fn plus(&self, other: &Component<L>) -> Component<L> {
        Component::new(self.offset + other.offset, self.terms.iter().chain(&other.terms).copied())
    }

    /// A multiple.
    pub fn scaled(&self, by: Size) -> Component<L> {
        Component::new(self.offset * by, self.terms.iter().map(|(c, index)| (*c * by, *index)))
    }

    /// The position at a point, of a sum in which all sizes are numbers.
    pub fn at(&self, point: &[u64]) -> i64 {
        let number = |size: Size| size.as_number().unwrap_or(0);
        let term = |(c, index): &(Size, L)| number(*c) * point[index.index()] as i64;
        number(self.offset) + self.terms.iter().map(term).sum::<i64>()
    }

    /// The least and the greatest position over a box of loops, each of which runs at least once.
    /// `None` if the sign of a coefficient is not known for all sizes, or if a loop has no extent.
    pub fn range(&self, extent: impl Fn(L) -> Option<Size>) -> Option<(Size, Size)> {
        let (mut low, mut high) = (self.offset, self.offset);
        for (coefficient, index) in &self.terms {
            let reach = *coefficient * (extent(*index)? - 1);
            if Size::ZERO.at_most(*coefficient) {
                high += reach;
            } else if coefficient.at_most(Size::ZERO) {
                low += reach;
            } else {
                return None;
            }
        }
        Some((low, high))
    }

    /// The sum as a formula, with a name for each loop: `2*i + k - 1`.
    ///
    /// ```
    /// use broadloom_core::projection::Component;
    /// let read = Component::new(-1, [(2, 0), (1, 1)]);
    /// assert_eq!(read.text(&|index| ["i", "k"][index as usize].to_string()), "2*i + k - 1");
    /// ```
    pub fn text(&self, name: &dyn Fn(L) -> String) -> String {
        let mut text = String::new();
        // The text between the sum so far and its next part, and that part without its sign.
        let signed = |text: &str, size: Size| match (text.is_empty(), size.as_number().is_some_and(|n| n < 0))
        {
            (true, false) => ("", size),
            (true, true) => ("-", -size),
            (false, false) => (" + ", size),
            (false, true) => (" - ", -size),
        };
        for (coefficient, index) in &self.terms {
            let (sign, factor) = signed(&text, *coefficient);
            text.push_str(sign);
            if factor != 1 {
                text.push_str(&format!("{factor}*"));
            }
            text.push_str(&name(*index));
        }
        if text.is_empty() || self.offset != 0 {
            let (sign, offset) = signed(&text, self.offset);
            text.push_str(&format!("{sign}{offset}"));
        }
        text
    }

    /// The coefficient of a loop; 0 if it is not mentioned.
    pub fn coefficient(&self, index: L) -> Size {
        let at = self.terms.binary_search_by_key(&index, |(_, known)| *known);
        at.map_or(Size::ZERO, |at| self.terms[at].0)
    }

    /// The same with numbers for the symbols in it.
    pub fn with(&self, symbols: &[u64]) -> Option<Component<L>> {
        let terms: Option<Vec<(Size, L)>> =
            self.terms.iter().map(|(c, index)| Some((c.with(symbols)?, *index))).collect();
        Some(Component::new(self.offset.with(symbols)?, terms?))
    }
}

/// The answer to a question about a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It holds.
    Yes,
    /// It does not.
    No,
    /// It was not settled within the budget; code must assume that it does not hold.
    Unsettled,
}

impl Verdict {
    /// The answer in a word.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Yes => "yes",
            Verdict::No => "no",
            Verdict::Unsettled => "unsettled",
        }
    }

    /// True if it is certain.
    pub fn holds(self) -> bool {
        self == Verdict::Yes
    }

    fn and(self, other: impl FnOnce() -> Verdict) -> Verdict {
        match self {
            Verdict::Yes => other(),
            settled => settled,
        }
    }
}

/// The greatest number of nodes of a search, or of cells of an image.
const BUDGET: usize = 1 << 16;

/// True if no two points of the box address the same cell. Where sizes have names, it holds for all of them, or it is not
/// settled.
///
/// ```
/// use broadloom_core::projection::{Component, Verdict, is_injective};
/// // 3a + 4b over 3 × 2 hits 0, 3, 4, 6, 7, 10: no number twice.
/// let map = [Component::new(0, [(3, 0), (4, 1)])];
/// assert_eq!(is_injective(&map, &[3, 2]), Verdict::Yes);
/// // A loop that the map does not mention is a reduction.
/// assert_eq!(is_injective(&map, &[3, 2, 5]), Verdict::No);
/// ```
pub fn is_injective<E: Into<Size> + Copy>(map: &[Component], extents: &[E]) -> Verdict {
    let extents: Vec<Size> = extents.iter().map(|extent| (*extent).into()).collect();
    match (plain_map(map), plain_sizes(&extents)) {
        (Some(map), Some(extents)) => clusters(&map, &extents)
            .iter()
            .fold(Verdict::Yes, |all, part| all.and(|| part.is_injective(&map, &extents))),
        _ => {
            let free = |index: u32| map.iter().all(|sum| sum.coefficient(index) == 0);
            if (0..).zip(&extents).any(|(index, extent)| *extent != 1 && free(index)) {
                return Verdict::No;
            }
            if is_positional(map, &extents) { Verdict::Yes } else { Verdict::Unsettled }
        }
    }
}

/// True if every cell of an array of these sizes is addressed by some point. Where sizes have names, it holds for all of
/// them, or it is not settled.
///
/// ```
/// use broadloom_core::projection::{Component, Verdict, is_surjective};
/// // (i + j, i) over 2 × 3 addresses 6 of the 8 cells of 4 × 2.
/// let map = [Component::new(0, [(1, 0), (1, 1)]), Component::iterate(0)];
/// assert_eq!(is_surjective(&map, &[2, 3], &[4, 2]), Verdict::No);
/// ```
pub fn is_surjective<E: Into<Size> + Copy, S: Into<Size> + Copy>(
    map: &[Component],
    extents: &[E],
    sizes: &[S],
) -> Verdict {
    let extents: Vec<Size> = extents.iter().map(|extent| (*extent).into()).collect();
    let sizes: Vec<Size> = sizes.iter().map(|size| (*size).into()).collect();
    let constant = |(component, size): (&Component, &Size)| {
        !component.terms.is_empty() || (*size == 1 && component.offset == 0)
    };
    if !map.iter().zip(&sizes).all(constant) {
        return Verdict::No;
    }
    if let (Some(map), Some(extents), Some(sizes)) =
        (plain_map(map), plain_sizes(&extents), plain_sizes(&sizes))
    {
        return clusters(&map, &extents)
            .iter()
            .fold(Verdict::Yes, |all, part| all.and(|| part.is_surjective(&map, &extents, &sizes)));
    }
    // As many points as cells, no cell twice, and none outside.
    let inside = |(sum, size): (&Component, &Size)| {
        let range = sum.range(|index| extents.get(index as usize).copied());
        range.is_some_and(|(low, high)| Size::ZERO.at_most(low) && high.below(*size))
    };
    let all = extents.iter().copied().product::<Size>() == sizes.iter().copied().product::<Size>();
    match all && map.iter().zip(&sizes).all(inside) && is_positional(map, &extents) {
        true => Verdict::Yes,
        false => Verdict::Unsettled,
    }
}

/// Returns true if the indices determine the point like the digits of a number: on an axis at `6i +
/// 2j + k` with `j` below 3 and `k` below 2, say. This is the common case, decided without a
/// search, and for all sizes.
pub fn is_positional(map: &[Component], extents: &[Size]) -> bool {
    let mut determined: Vec<bool> = extents.iter().map(|extent| *extent == 1).collect();
    for sum in map {
        let digits = sum.terms.iter().map(|(factor, index)| (*factor, extents[*index as usize]));
        if is_in_order(Size::ZERO, digits) {
            sum.terms.iter().for_each(|(_, index)| determined[*index as usize] = true);
        }
    }
    determined.iter().all(|determined| *determined)
}

/// Returns true if steps of some lengths, each taken fewer times than its extent, lead to a
/// different place for each choice: in order of length, each is longer than the sum of all shorter
/// ones and `reach`.
pub fn is_in_order(reach: Size, steps: impl IntoIterator<Item = (Size, Size)>) -> bool {
    let steps: Option<Vec<(Size, Size)>> =
        steps.into_iter().map(|(step, extent)| Some((step.distance()?, extent))).collect();
    let Some(mut steps) = steps else { return false };
    steps.sort_by_key(|(step, _)| step.typical());
    let mut reach = reach;
    steps.into_iter().all(|(step, extent)| {
        let beyond = reach.below(step);
        reach += step * (extent - 1);
        beyond
    })
}

/// A [`Component`] in which all sizes are numbers.
struct Plain {
    offset: i64,
    terms: SmallVec<[(i64, u32); 2]>,
}

/// A map in which all sizes are numbers, if it is one.
fn plain_map(map: &[Component]) -> Option<Vec<Plain>> {
    let plain = |sum: &Component| {
        let terms: Option<SmallVec<_>> =
            sum.terms.iter().map(|(c, index)| Some((c.as_number()?, *index))).collect();
        Some(Plain { offset: sum.offset.as_number()?, terms: terms? })
    };
    map.iter().map(plain).collect()
}

/// Sizes as numbers, if they all are.
fn plain_sizes(sizes: &[Size]) -> Option<Vec<u64>> {
    sizes.iter().map(|size| u64::try_from(size.as_number()?).ok()).collect()
}

impl Plain {
    fn at(&self, point: &[u64]) -> i64 {
        self.terms.iter().fold(self.offset, |sum, (c, index)| sum + c * point[*index as usize] as i64)
    }

    fn range(&self, extents: &[u64]) -> (i64, i64) {
        self.terms.iter().fold((self.offset, self.offset), |(lo, hi), (c, index)| {
            let reach = c * (extents[*index as usize] as i64 - 1);
            (lo + reach.min(0), hi + reach.max(0))
        })
    }

    fn coefficient(&self, index: u32) -> i64 {
        let at = self.terms.binary_search_by_key(&index, |(_, known)| *known);
        at.map_or(0, |at| self.terms[at].0)
    }
}

/// Loops and axes that are independent of the others: each part is judged by itself.
struct Cluster {
    loops: Vec<u32>,
    axes: Vec<usize>,
}

/// The connected components of loops and axes: loops that no axis mentions first, then the others in the order of their last axes. Loops of
/// one iteration do not matter.
fn clusters(map: &[Plain], extents: &[u64]) -> Vec<Cluster> {
    // Axes that mention the same loop belong together; the last of them stands for all.
    let mut last: Vec<usize> = (0..map.len()).collect();
    let mut mentioned: Vec<Option<usize>> = vec![None; extents.len()];
    for (axis, component) in map.iter().enumerate() {
        for (_, index) in component.terms.iter().filter(|(_, index)| extents[*index as usize] > 1) {
            if let Some(other) = mentioned[*index as usize].replace(axis) {
                let other = last_of(&mut last, other);
                last[other] = axis;
            }
        }
    }
    let mut parts: Vec<Cluster> = Vec::new();
    let mut loops: Vec<Vec<u32>> = vec![Vec::new(); map.len()];
    for (index, _) in extents.iter().enumerate().filter(|(_, extent)| **extent > 1) {
        match mentioned[index] {
            Some(axis) => loops[last_of(&mut last, axis)].push(index as u32),
            None => parts.push(Cluster { loops: vec![index as u32], axes: Vec::new() }),
        }
    }
    let mut axes: Vec<Vec<usize>> = vec![Vec::new(); map.len()];
    for axis in 0..map.len() {
        axes[last_of(&mut last, axis)].push(axis);
    }
    for (axis, (loops, axes)) in loops.into_iter().zip(axes).enumerate() {
        if !loops.is_empty() {
            parts.push(connected(map, loops, axes));
        } else if axes == [axis] && !map[axis].terms.is_empty() {
            // Only loops of one iteration: a constant.
            parts.push(Cluster { loops, axes });
        }
    }
    parts
}

/// The last axis of those that an axis belongs with, and a shorter way to it.
fn last_of(last: &mut [usize], axis: usize) -> usize {
    let mut end = axis;
    while last[end] != end {
        end = last[end];
    }
    let mut at = axis;
    while at != end {
        at = std::mem::replace(&mut last[at], end);
    }
    end
}

/// Loops and axes that are connected, as one part: in the order in which axes connect loops.
fn connected(map: &[Plain], loops: Vec<u32>, axes: Vec<usize>) -> Cluster {
    if let [only] = loops[..] {
        return Cluster { loops: vec![only], axes };
    }
    let mut parts: Vec<Cluster> =
        loops.into_iter().map(|index| Cluster { loops: vec![index], axes: Vec::new() }).collect();
    for axis in axes {
        let mentions = |part: &Cluster| part.loops.iter().any(|index| map[axis].coefficient(*index) != 0);
        let (mut joined, rest): (Vec<Cluster>, Vec<Cluster>) = parts.into_iter().partition(mentions);
        parts = rest;
        if let Some(mut first) = joined.pop() {
            for part in joined {
                first.loops.extend(part.loops);
                first.axes.extend(part.axes);
            }
            first.axes.push(axis);
            parts.push(first);
        }
    }
    parts.pop().unwrap_or(Cluster { loops: Vec::new(), axes: Vec::new() })
}

impl Cluster {
    fn points(&self, extents: &[u64]) -> u128 {
        self.loops.iter().map(|index| u128::from(extents[*index as usize])).product()
    }

    fn is_injective(&self, map: &[Plain], extents: &[u64]) -> Verdict {
        if self.axes.is_empty() {
            return Verdict::No;
        }
        // The loop with the largest coefficients first: it leaves the least to choose for the others.
        let mut order = self.loops.clone();
        let weight = |index: &u32| self.axes.iter().map(|axis| map[*axis].coefficient(*index).abs()).max();
        order.sort_by_key(|index| std::cmp::Reverse(weight(index)));
        let mut search = Collision { map, extents, axes: &self.axes, order: &order, left: BUDGET };
        match search.exists(0, &mut vec![0; self.axes.len()], false) {
            Some(true) => Verdict::No,
            Some(false) => Verdict::Yes,
            None => Verdict::Unsettled,
        }
    }

    fn is_surjective(&self, map: &[Plain], extents: &[u64], sizes: &[u64]) -> Verdict {
        if self.axes.is_empty() {
            return Verdict::Yes;
        }
        let cells: u128 = self.axes.iter().map(|axis| u128::from(sizes[*axis])).product();
        let points = self.points(extents);
        if points < cells {
            return Verdict::No;
        }
        let inside = |axis: &usize| {
            let (least, greatest) = map[*axis].range(extents);
            least >= 0 && greatest < sizes[*axis] as i64
        };
        // As many points as cells, no cell twice, and none outside.
        if self.axes.iter().all(inside) && self.is_injective(map, extents) == Verdict::Yes {
            return if points == cells { Verdict::Yes } else { Verdict::No };
        }
        if cells > BUDGET as u128 || points > BUDGET as u128 * 16 {
            return Verdict::Unsettled;
        }
        if self.image(map, extents, sizes) == cells as usize { Verdict::Yes } else { Verdict::No }
    }

    /// The number of cells that the part's points address.
    fn image(&self, map: &[Plain], extents: &[u64], sizes: &[u64]) -> usize {
        let cells: usize = self.axes.iter().map(|axis| sizes[*axis] as usize).product();
        let mut hit = vec![false; cells];
        let mut point = vec![0; extents.len()];
        loop {
            let address = self.axes.iter().try_fold(0usize, |address, axis| {
                let at =
                    usize::try_from(map[*axis].at(&point)).ok().filter(|at| *at < sizes[*axis] as usize)?;
                Some(address * sizes[*axis] as usize + at)
            });
            if let Some(address) = address {
                hit[address] = true;
            }
            let next = self.loops.iter().find(|index| {
                let at = &mut point[**index as usize];
                *at = (*at + 1) % extents[**index as usize];
                *at != 0
            });
            if next.is_none() {
                return hit.iter().filter(|hit| **hit).count();
            }
        }
    }
}

/// The search for two points with the same cell: a difference of loops, not all zero, that every axis
/// of the part maps to zero.
struct Collision<'a> {
    map: &'a [Plain],
    extents: &'a [u64],
    axes: &'a [usize],
    order: &'a [u32],
    left: usize,
}

impl Collision<'_> {
    /// True if the differences chosen so far, which sum up to `sums` on the axes, can be completed. None if
    /// the budget ran out.
    fn exists(&mut self, depth: usize, sums: &mut [i64], moved: bool) -> Option<bool> {
        let Some(index) = self.order.get(depth).copied() else {
            return Some(moved && sums.iter().all(|sum| *sum == 0));
        };
        self.left = self.left.checked_sub(1)?;
        for difference in self.differences(depth, index, sums, moved) {
            self.shift(index, difference, sums);
            let found = if self.within_reach(depth + 1, sums) {
                self.exists(depth + 1, sums, moved || difference != 0)
            } else {
                Some(false)
            };
            self.shift(index, -difference, sums);
            if found != Some(false) {
                return found;
            }
        }
        Some(false)
    }

    /// The differences of a loop that leave no axis further from zero than the loops after it reach.
    fn differences(&self, depth: usize, index: u32, sums: &[i64], moved: bool) -> RangeInclusive<i64> {
        let most = self.extents[index as usize] as i64 - 1;
        // A difference and its negative are the same collision: the first to move moves up.
        let (mut low, mut high) = (if moved { -most } else { 0 }, most);
        for (axis, sum) in self.axes.iter().zip(sums) {
            let (factor, reach) = (self.map[*axis].coefficient(index), self.reach(*axis, depth + 1));
            if factor != 0 {
                // −reach ≤ sum + factor·difference ≤ reach
                let sum = sum * factor.signum();
                low = low.max(-(reach + sum).div_euclid(factor.abs()));
                high = high.min((reach - sum).div_euclid(factor.abs()));
            }
        }
        low..=high
    }

    /// The distance that the loops from some depth on move on an axis.
    fn reach(&self, axis: usize, depth: usize) -> i64 {
        let reach = |index: &u32| {
            self.map[axis].coefficient(*index).abs() * (self.extents[*index as usize] as i64 - 1)
        };
        self.order[depth..].iter().map(reach).sum()
    }

    fn shift(&self, index: u32, difference: i64, sums: &mut [i64]) {
        for (sum, axis) in sums.iter_mut().zip(self.axes) {
            *sum += self.map[*axis].coefficient(index) * difference;
        }
    }

    /// True if the loops still to choose can bring every sum back to zero.
    fn within_reach(&self, depth: usize, sums: &[i64]) -> bool {
        self.axes.iter().zip(sums).all(|(axis, sum)| sum.abs() <= self.reach(*axis, depth))
    }
}
