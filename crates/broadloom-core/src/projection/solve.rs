//! From classes to loops: the product space and the index maps of an operation.
//!
//! The first stratum labels classes (Def. 7.3): a pinned class has its pin, a class that is visited and
//! longer than one has a loop, everything else is read at 0. The second stratum computes the indices of
//! affine axes and of concatenations from those labels.
//!
//! Loops are ordered by contract: the axes of the result in memory order, then reductions by first
//! appearance in the operands. The components of a concatenation are coupled: they form one factor of the
//! product space, whose loops run one after another.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::classes::{AxisId, ConcatPart, Derived, Equations, Failure};
use super::maps::Component;
use super::scratch::{Label, Pin, Scratch};
use crate::affine::Padding;
use crate::size::Size;

/// A loop of the product space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loop {
    /// The number of its iterations.
    pub extent: Size,
    /// The factor of the product space it belongs to. Loops of one factor run one after another.
    pub factor: u32,
    /// An axis that it drives, for its name.
    pub axis: AxisId,
}

/// The index of one axis of one tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AxisIndex {
    /// A sum of loops; a constant and a single loop are sums too.
    Sum(Component),
    /// A number supplied when the program runs.
    Symbol(u32),
    /// One of several loops, whichever runs: each with the place where its part begins.
    Concat(SmallVec<[Segment; 2]>),
}

/// A part of a concatenated axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The loop that drives it.
    pub index: u32,
    /// The position at which it begins on the axis.
    pub offset: Size,
}

/// The product space and index maps of an operation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Projection {
    /// The loops, outermost first; those of one factor stand together.
    pub loops: Vec<Loop>,
    /// The index maps: of the results, then of the operands, as they were asked for.
    pub maps: Vec<Vec<AxisIndex>>,
}

impl Projection {
    /// The extents of the loops, as numbers.
    pub fn extents(&self) -> Vec<u64> {
        self.loops.iter().map(|each| each.extent.get()).collect()
    }

    /// The loops that a map does not mention: for the result's map, the reductions (Def. 7.5).
    pub fn missing(&self, map: usize) -> Vec<u32> {
        let mut mentioned = vec![false; self.loops.len()];
        self.each_mentioned(map, |index| mentioned[index as usize] = true);
        (0..).zip(mentioned).filter(|(_, mentioned)| !mentioned).map(|(index, _)| index).collect()
    }

    /// Visits the loops that a map mentions, some perhaps more than once.
    pub fn each_mentioned(&self, map: usize, mut visit: impl FnMut(u32)) {
        for axis in &self.maps[map] {
            match axis {
                AxisIndex::Sum(sum) => sum.terms.iter().for_each(|(_, index)| visit(*index)),
                AxisIndex::Symbol(_) => {}
                AxisIndex::Concat(segments) => segments.iter().for_each(|segment| visit(segment.index)),
            }
        }
    }

    /// True if a map mentions a loop.
    pub fn mentions(&self, map: usize, index: u32) -> bool {
        let mut found = false;
        self.each_mentioned(map, |known| found |= known == index);
        found
    }

    /// True if a map depends on a factor of several loops, and so is only there while one of them runs.
    pub fn depends_on(&self, map: usize, factor: u32) -> bool {
        let mut found = false;
        self.each_mentioned(map, |index| found |= self.loops[index as usize].factor == factor);
        found
    }
}

struct Solving<'a> {
    equations: &'a Equations,
    scratch: Scratch,
    projection: Projection,
}

impl Equations {
    /// Solves the equations for tensors with these axes: results first, each in memory order.
    pub fn solve(&mut self, tensors: &[&[AxisId]]) -> Result<Projection, Failure> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.reset(self.len());
        let mut solver = Solving { equations: self, scratch, projection: Projection::default() };
        let outcome = solver.run(tensors);
        let Solving { scratch, projection, .. } = solver;
        self.scratch = scratch;
        outcome.map(|()| projection)
    }
}

impl Solving<'_> {
    fn run(&mut self, tensors: &[&[AxisId]]) -> Result<(), Failure> {
        let solver = self;
        solver.mark_derived()?;
        solver.couple()?;
        solver.name_loops(tensors);
        for axes in tensors {
            let map: Result<Vec<AxisIndex>, Failure> =
                axes.iter().map(|axis| solver.index(*axis, 0)).collect();
            solver.projection.maps.push(map?);
        }
        solver.check_derived()
    }

    /// Classes whose index is computed have no loop of their own.
    fn mark_derived(&mut self) -> Result<(), Failure> {
        for (at, derived) in self.equations.derived.iter().enumerate() {
            let root = self.equations.find(derived.target());
            if self.equations.pin_of(root).is_some() {
                return Err(Failure::Derived(AxisId(derived.target())));
            }
            if self.scratch.labels[root as usize] == Label::Unknown {
                self.scratch.labels[root as usize] = Label::Derived(at as u32);
            }
            let driving = match derived {
                Derived::Affine { over, kernel, .. } => [Some(*over), *kernel],
                Derived::Joined { slow, fast, .. } => [Some(*slow), Some(*fast)],
                Derived::Concat { .. } => [None, None],
            };
            for axis in driving.into_iter().flatten() {
                self.scratch.drives[self.equations.find(axis) as usize] = true;
            }
        }
        Ok(())
    }

    /// Components of a concatenation run one after another: they and everything coupled with them form
    /// one factor.
    fn couple(&mut self) -> Result<(), Failure> {
        for derived in &self.equations.derived {
            let Derived::Concat { parts, .. } = derived else { continue };
            let classes: SmallVec<[u32; 4]> = parts
                .iter()
                .filter_map(|part| {
                    if let ConcatPart::Axis(axis) = part { Some(self.equations.find(axis.0)) } else { None }
                })
                .collect();
            let mut known = FxHashSet::default();
            for class in &classes {
                if !known.insert(*class) {
                    return Err(Failure::Repeated(AxisId(*class)));
                }
                if self.equations.pin_of(*class).is_some() {
                    return Err(Failure::PinnedPart(AxisId(*class)));
                }
            }
            let groups: FxHashSet<u32> = classes
                .iter()
                .map(|class| self.scratch.coupled[*class as usize])
                .filter(|group| *group != u32::MAX)
                .collect();
            let target = groups.iter().copied().chain(classes.iter().copied()).min().unwrap_or(0);
            for class in &classes {
                self.scratch.coupled[*class as usize] = target;
            }
            if !groups.is_empty() {
                for group in self.scratch.coupled.iter_mut().filter(|group| groups.contains(group)) {
                    *group = target;
                }
            }
        }
        Ok(())
    }

    /// Names the loops: classes in the order of the tensors' axes, each once.
    fn name_loops(&mut self, tensors: &[&[AxisId]]) {
        for axes in tensors {
            for axis in *axes {
                self.reach(axis.0, 0);
            }
        }
        // Labels that only a derived index mentions were reached with it; nothing else needs a loop.
        let order = std::mem::take(&mut self.scratch.order);
        let mut groups: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for class in &order {
            let group = self.scratch.coupled[*class as usize];
            if group != u32::MAX {
                groups.entry(group).or_default().push(*class);
            }
        }
        for class in &order {
            if self.scratch.labels[*class as usize] == Label::Unknown {
                self.open_factor(*class, &groups);
            }
        }
        self.scratch.order = order;
    }

    /// Notes the classes an axis depends on, in order.
    fn reach(&mut self, axis: u32, depth: u32) {
        let root = self.equations.find(axis);
        if let Label::Derived(at) = self.scratch.labels[root as usize] {
            // A derived axis of a derived axis is as deep as there are equations.
            if depth > self.equations.derived.len() as u32 {
                return;
            }
            match &self.equations.derived[at as usize] {
                Derived::Affine { over, kernel, .. } => {
                    self.reach(*over, depth + 1);
                    if let Some(kernel) = kernel {
                        self.reach(*kernel, depth + 1);
                    }
                }
                Derived::Joined { slow, fast, .. } => {
                    self.reach(*slow, depth + 1);
                    self.reach(*fast, depth + 1);
                }
                Derived::Concat { parts, .. } => {
                    for part in parts {
                        if let ConcatPart::Axis(axis) = part {
                            self.reach(axis.0, depth + 1);
                        }
                    }
                }
            }
        } else if !std::mem::replace(&mut self.scratch.reached[root as usize], true) {
            self.scratch.order.push(root);
        }
    }

    /// Labels a class (Def. 7.3), and with it the classes it is coupled with.
    fn open_factor(&mut self, class: u32, groups: &FxHashMap<u32, Vec<u32>>) {
        let group = self.scratch.coupled[class as usize];
        if group == u32::MAX {
            let size = self.equations.size(AxisId(class));
            self.scratch.labels[class as usize] = match self.equations.pin_of(class) {
                Some(pin) => Label::Pin(pin),
                None if size != 1 && size != 0 && self.wants_loop(class) => {
                    let factor = self.next_factor();
                    self.new_loop(class, size, factor)
                }
                None => Label::Pin(Pin::At(0)),
            };
            return;
        }
        let factor = self.next_factor();
        // In the order of the result's axes, like all loops.
        for member in groups.get(&group).into_iter().flatten().copied() {
            let size = self.equations.size(AxisId(member));
            // Components keep their loops even at size one, and have none at size zero.
            self.scratch.labels[member as usize] =
                if size == 0 { Label::Pin(Pin::At(0)) } else { self.new_loop(member, size, factor) };
        }
    }

    /// True if a class is visited: asked for, or driving a derived index.
    fn wants_loop(&self, class: u32) -> bool {
        self.equations.is_iterated(class) || self.scratch.drives[class as usize]
    }

    fn next_factor(&self) -> u32 {
        self.projection.loops.last().map_or(0, |last| last.factor + 1)
    }

    fn new_loop(&mut self, class: u32, extent: Size, factor: u32) -> Label {
        self.projection.loops.push(Loop { extent, factor, axis: AxisId(class) });
        Label::Loop(self.projection.loops.len() as u32 - 1)
    }

    /// The index of an axis.
    fn index(&self, axis: AxisId, depth: u32) -> Result<AxisIndex, Failure> {
        let root = self.equations.find(axis.0);
        Ok(match self.scratch.labels[root as usize] {
            Label::Unknown => AxisIndex::Sum(Component::fixed(0)),
            Label::Pin(Pin::At(at)) => AxisIndex::Sum(Component::fixed(at)),
            Label::Pin(Pin::Symbol(symbol)) => AxisIndex::Symbol(symbol),
            Label::Loop(index) => AxisIndex::Sum(Component::iterate(index)),
            Label::Derived(at) => return self.derived_index(at, axis, depth),
        })
    }

    fn derived_index(&self, at: u32, axis: AxisId, depth: u32) -> Result<AxisIndex, Failure> {
        if depth > self.equations.derived.len() as u32 {
            return Err(Failure::Derived(axis));
        }
        match &self.equations.derived[at as usize] {
            Derived::Affine { form, over, kernel, .. } => {
                let over = self.sum_of(AxisId(*over), depth)?;
                let window = kernel.map(|kernel| self.sum_of(AxisId(kernel), depth)).transpose()?;
                let size = kernel.map_or(Size::ONE, |kernel| self.equations.size(AxisId(kernel)));
                let padded = form.window.is_some_and(|window| window.padding == Padding::Padded);
                let kernel_size = match size.as_number() {
                    None if padded => return Err(Failure::Margins(axis)),
                    _ => size.get(),
                };
                let dilation = form.window.map_or(0, |window| window.dilation);
                let mut sum =
                    over.scaled(form.stride.into()).plus(&Component::fixed(form.index(0, 0, kernel_size)));
                if let Some(window) = &window {
                    sum = sum.plus(&window.scaled(dilation.into()));
                }
                Ok(AxisIndex::Sum(sum))
            }
            Derived::Joined { slow, fast, .. } => {
                let (slow, size) = (self.sum_of(AxisId(*slow), depth)?, self.equations.size(AxisId(*fast)));
                Ok(AxisIndex::Sum(slow.scaled(size).plus(&self.sum_of(AxisId(*fast), depth)?)))
            }
            Derived::Concat { parts, .. } => {
                let (mut segments, mut offset) = (SmallVec::new(), Size::ZERO);
                for part in parts {
                    match part {
                        ConcatPart::Gap(size) => offset += *size,
                        ConcatPart::Axis(part) => {
                            let root = self.equations.find(part.0);
                            if let Label::Loop(index) = self.scratch.labels[root as usize] {
                                segments.push(Segment { index, offset });
                            }
                            offset += self.equations.size(*part);
                        }
                    }
                }
                Ok(AxisIndex::Concat(segments))
            }
        }
    }

    /// The index of an axis that an affine form is built on.
    fn sum_of(&self, axis: AxisId, depth: u32) -> Result<Component, Failure> {
        match self.index(axis, depth + 1)? {
            AxisIndex::Sum(sum) => Ok(sum),
            AxisIndex::Symbol(_) | AxisIndex::Concat(_) => Err(Failure::Derived(axis)),
        }
    }

    /// Deferred checks: an axis with several derived indices has them all the same.
    fn check_derived(&self) -> Result<(), Failure> {
        for (at, derived) in self.equations.derived.iter().enumerate() {
            let target = AxisId(derived.target());
            if self.derived_index(at as u32, target, 0)? != self.index(target, 0)? {
                return Err(Failure::Derived(target));
            }
        }
        Ok(())
    }
}
