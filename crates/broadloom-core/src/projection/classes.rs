//! Equations between axes and their solution: classes, pins, and the classes that are iterated
//! (Formal Core, Defs. 7.1-7.3).
//!
//! An *axis* here is one axis of one occurrence of a tensor in one operation, or a label of its spec.
//! Equations put axes into classes that share a loop, pin a class to an index, or ask for a loop. The
//! solution does not depend on the order of the equations (Thm. 7.4): the classes are the least
//! equivalence, pins and requests belong to classes, and the only freedom is the naming of loops.

use smallvec::SmallVec;

use super::scratch::{Pin, Scratch};
use crate::affine::Affine;
use crate::size::Size;

/// An axis of an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AxisId(pub(crate) u32);

/// The reason why equations have no solution (Thm. 7.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// (a) Two axes of one class have different sizes.
    Sizes(AxisId, AxisId),
    /// (b) and (c) An axis would be read at two different indices.
    Pins(AxisId, Pin, Pin),
    /// A position lies outside the axis.
    OutOfBounds(AxisId, u64),
    /// An axis has two derived indices that differ.
    Derived(AxisId),
    /// An axis is two parts of one concatenation.
    Repeated(AxisId),
    /// A part of a concatenation has an index of its own.
    PinnedPart(AxisId),
    /// The distance by which a window reaches beyond an axis depends on a size that is no number.
    Margins(AxisId),
}

/// An axis whose index is computed from others (the second stratum, Conjecture 8.2).
#[derive(Clone, Debug)]
pub(crate) enum Derived {
    /// The index of an affine form.
    Affine { target: u32, form: Affine, over: u32, kernel: Option<u32> },
    /// Two axes as one, the second running faster.
    Joined { target: u32, slow: u32, fast: u32 },
    /// One component after another; literal components are gaps.
    Concat { target: u32, parts: SmallVec<[ConcatPart; 4]> },
}

impl Derived {
    pub fn target(&self) -> u32 {
        match self {
            Derived::Affine { target, .. }
            | Derived::Joined { target, .. }
            | Derived::Concat { target, .. } => *target,
        }
    }
}

/// A component of a concatenation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConcatPart {
    /// As long as this axis, and driven by it.
    Axis(AxisId),
    /// A number of elements that are neither read nor written.
    Gap(u64),
}

/// The equations of one operation.
///
/// ```
/// use broadloom_core::projection::Equations;
/// // c[i, j] += a[i, k] * b[k, j]
/// let mut equations = Equations::default();
/// let (ai, ak) = (equations.axis(2), equations.axis(3));
/// let (bk, bj) = (equations.axis(3), equations.axis(4));
/// let (ci, cj) = (equations.axis(2), equations.axis(4));
/// equations.equal(ai, ci);
/// equations.equal(ak, bk);
/// equations.equal(bj, cj);
/// [ai, ak, bk, bj].map(|axis| equations.iterate(axis));
/// let solved = equations.solve(&[&[ci, cj], &[ai, ak], &[bk, bj]]).unwrap();
/// // Result axes in memory order, then the reduction.
/// assert_eq!(solved.extents(), [2, 4, 3]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Equations {
    sizes: Vec<Size>,
    parents: Vec<u32>,
    pins: Vec<Option<Pin>>,
    iterated: Vec<bool>,
    pub(crate) derived: SmallVec<[Derived; 2]>,
    failure: Option<Failure>,
    /// Memory of the solution, reused.
    pub(crate) scratch: Scratch,
}

impl Equations {
    /// Removes all equations, and keeps the memory.
    pub fn clear(&mut self) {
        self.sizes.clear();
        self.parents.clear();
        self.pins.clear();
        self.iterated.clear();
        self.derived.clear();
        self.failure = None;
    }

    /// A new axis.
    pub fn axis(&mut self, size: impl Into<Size>) -> AxisId {
        let id = self.parents.len() as u32;
        self.sizes.push(size.into());
        self.parents.push(id);
        self.pins.push(None);
        self.iterated.push(false);
        AxisId(id)
    }

    /// The size of an axis.
    pub fn size(&self, axis: AxisId) -> Size {
        self.sizes[axis.0 as usize]
    }

    /// `Eq(Proj p, Proj q)`: the two axes share a loop.
    pub fn equal(&mut self, a: AxisId, b: AxisId) {
        if self.size(a) != self.size(b) {
            self.failure.get_or_insert(Failure::Sizes(a, b));
            return;
        }
        let (root_a, root_b) = (self.find_shorter(a.0), self.find_shorter(b.0));
        if root_a == root_b {
            return;
        }
        let (keep, gone) = (root_a.min(root_b) as usize, root_a.max(root_b) as usize);
        self.parents[gone] = keep as u32;
        self.iterated[keep] |= self.iterated[gone];
        if let Some(pin) = self.pins[gone] {
            self.pin(AxisId(keep as u32), pin);
        }
    }

    /// `Eq(Proj p, Sol i)`: the axis is read at an index of its own.
    pub fn pin(&mut self, axis: AxisId, pin: Pin) {
        if let Pin::At(at) = pin
            && self.size(axis).at_most(at.into())
        {
            self.failure.get_or_insert(Failure::OutOfBounds(axis, at));
        }
        let root = self.find_shorter(axis.0) as usize;
        match self.pins[root] {
            Some(other) if other != pin => {
                self.failure.get_or_insert(Failure::Pins(axis, other, pin));
            }
            _ => self.pins[root] = Some(pin),
        }
    }

    /// `Iter(Proj p)`: the axis is visited even if nothing matches it.
    pub fn iterate(&mut self, axis: AxisId) {
        let root = self.find_shorter(axis.0) as usize;
        self.iterated[root] = true;
    }

    /// The index of `target` is an affine form of others.
    pub fn affine(&mut self, target: AxisId, form: Affine, over: AxisId, kernel: Option<AxisId>) {
        let kernel = kernel.map(|axis| axis.0);
        self.derived.push(Derived::Affine { target: target.0, form, over: over.0, kernel });
    }

    /// A new axis that goes through two others, the second running faster.
    pub fn joined(&mut self, slow: AxisId, fast: AxisId) -> AxisId {
        let target = self.axis(self.size(slow) * self.size(fast));
        self.derived.push(Derived::Joined { target: target.0, slow: slow.0, fast: fast.0 });
        target
    }

    /// `target` is the concatenation of the parts.
    pub fn concat(&mut self, target: AxisId, parts: impl IntoIterator<Item = ConcatPart>) {
        self.derived.push(Derived::Concat { target: target.0, parts: parts.into_iter().collect() });
    }

    /// `res ⊑ opnd` between two axes (P2 and P3): a size of one is severed and read at 0, anything else
    /// shares a loop. Either way the result is visited.
    pub fn refine(&mut self, res: AxisId, opnd: AxisId) {
        if self.size(opnd) == 1 {
            self.pin(opnd, Pin::At(0));
        } else {
            self.equal(res, opnd);
        }
        self.iterate(res);
    }

    /// True if two axes are in one class.
    pub fn same(&self, a: AxisId, b: AxisId) -> bool {
        self.find(a.0) == self.find(b.0)
    }

    /// The axis that stands for the class of an axis.
    pub fn class(&self, axis: AxisId) -> AxisId {
        AxisId(self.find(axis.0))
    }

    /// The failure, if there is one.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// The class of an axis, with a shorter way to it from now on.
    fn find_shorter(&mut self, axis: u32) -> u32 {
        let root = self.find(axis);
        let mut at = axis;
        while at != root {
            at = std::mem::replace(&mut self.parents[at as usize], root);
        }
        root
    }

    pub(crate) fn find(&self, mut axis: u32) -> u32 {
        while self.parents[axis as usize] != axis {
            axis = self.parents[axis as usize];
        }
        axis
    }

    pub(crate) fn pin_of(&self, root: u32) -> Option<Pin> {
        self.pins[root as usize]
    }

    pub(crate) fn is_iterated(&self, root: u32) -> bool {
        self.iterated[root as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.parents.len()
    }
}
