//! Axis groups: the axes that loops join, and axes that are the highest digit of another one.

use crate::access::{AxisAddressing, Kind, accesses};
use crate::{Axis, Routine};

/// The axes of some tensors, in groups.
#[derive(Clone, Debug)]
pub struct Groups {
    /// The sizes of each tensor.
    sizes: Vec<Vec<u64>>,
    /// The number of the first axis of each tensor.
    first: Vec<usize>,
    /// A union-find over the numbers of axes.
    parent: Vec<usize>,
    /// Axes whose positions have digits, each with an axis that the highest digit goes along: `y[4i + j] = x[i]`.
    digits: Vec<(Axis, Axis)>,
}

impl Groups {
    /// The axis groups of routines over tensors with these sizes.
    pub fn new(sizes: Vec<Vec<u64>>, routines: &[Routine<'_>]) -> Groups {
        let mut first = Vec::with_capacity(sizes.len());
        let mut count = 0;
        for each in &sizes {
            first.push(count);
            count += each.len();
        }
        let mut groups = Groups { sizes, first, parent: (0..count).collect(), digits: Vec::new() };
        routines.iter().for_each(|routine| groups.join(routine));
        groups
    }

    /// Joins the axes that loops of a routine join.
    fn join(&mut self, routine: &Routine<'_>) {
        for access in accesses(routine.program) {
            if access.kind == Kind::Check {
                continue;
            }
            let (mut joined, mut split) = (Vec::new(), Vec::new());
            for cell in [access.cell].into_iter().chain(&access.reads) {
                let tensor = routine.tensors[cell.buffer.index()];
                for (place, index) in cell.index.iter().enumerate() {
                    let axis = Axis { tensor, place };
                    match access.way(index, self.size(axis)) {
                        AxisAddressing::Along(var) => match joined.iter().find(|(known, _)| *known == var) {
                            Some((_, other)) => self.unite(self.number(*other), self.number(axis)),
                            None => joined.push((var, axis)),
                        },
                        AxisAddressing::Highest(var) => split.push((var, axis)),
                        AxisAddressing::Other => {}
                    }
                }
            }
            for (var, axis) in split {
                let along = joined.iter().find(|(known, _)| *known == var);
                self.digits.extend(along.map(|(_, highest)| (axis, *highest)));
            }
        }
    }

    /// Axes whose positions have digits, each with an axis that the highest digit goes along.
    pub(crate) fn digits(&self) -> &[(Axis, Axis)] {
        &self.digits
    }

    fn number(&self, axis: Axis) -> usize {
        self.first[axis.tensor] + axis.place
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        // The first axis stands for its group, so that answers do not depend on the order of joining.
        self.parent[a.max(b)] = a.min(b);
    }

    fn root(&mut self, mut axis: usize) -> usize {
        while self.parent[axis] != axis {
            self.parent[axis] = self.parent[self.parent[axis]];
            axis = self.parent[axis];
        }
        axis
    }

    /// The number of the group of an axis. Equal numbers are equal groups.
    pub fn of(&self, axis: Axis) -> usize {
        let mut at = self.number(axis);
        while self.parent[at] != at {
            at = self.parent[at];
        }
        at
    }

    /// The size of an axis.
    pub fn size(&self, axis: Axis) -> u64 {
        self.sizes[axis.tensor][axis.place]
    }

    /// The sizes of each tensor.
    pub fn sizes(&self) -> &[Vec<u64>] {
        &self.sizes
    }

    /// All axes of all tensors.
    pub fn axes(&self) -> impl Iterator<Item = Axis> + '_ {
        let axes =
            |(tensor, sizes): (usize, &Vec<u64>)| (0..sizes.len()).map(move |place| Axis { tensor, place });
        self.sizes.iter().enumerate().flat_map(axes)
    }
}
