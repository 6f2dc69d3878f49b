//! Facts about leaves and steps that runs need and shapes do not, as data.

use std::sync::Arc;

use broadloom_array::{Array, Dtype};
use broadloom_core::{DimTerm, RowVar};
use broadloom_loops::MatrixFunction;
use broadloom_spec::Kind;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::along::Along;
use crate::initial::Initial;
use crate::step::{Captured, StepId, Tensor};

/// Facts about leaves and steps that runs need and shapes do not.
#[derive(Clone, Default)]
pub(crate) struct Facts {
    /// The sum that each mean is made of, whose spec its sizes are captured from.
    pub means: FxHashMap<Tensor, Tensor>,
    /// Sums on the way to a mean, which may be too large for the type of the mean.
    pub wide: FxHashSet<Tensor>,
    /// Rows of tensors that fill any shape and were given one.
    pub shaped: FxHashSet<RowVar>,
    /// Captured sizes that are used as numbers.
    pub sizes: Vec<Captured>,
    /// The gradients that were asked for, by the tensor they belong to.
    pub gradients: FxHashMap<Tensor, Tensor>,
    /// The steps that do more than their specs say.
    pub special: FxHashMap<StepId, Special>,
    pub precisions: FxHashMap<Tensor, Dtype>,
    pub default_precision: Dtype,
    pub initials: FxHashMap<Tensor, Initial>,
    /// Assignments as they were written, by step.
    pub texts: FxHashMap<StepId, Box<str>>,
    /// Shapes that tensors were declared with, as they were written, by step; and how many names the graph had then.
    pub stated: FxHashMap<StepId, (Box<str>, u32)>,
    /// Tensors without a name that were written in another way than they are made: messages call them so.
    pub shown: FxHashMap<Tensor, Box<str>>,
    /// Tensors that a function made, by the text of its application. Only messages call them so: listings say how they are
    /// computed.
    pub applied: FxHashMap<Tensor, Box<str>>,
    /// The values of data that brings its own.
    pub arrays: FxHashMap<Tensor, Arc<Array>>,
    pub scans: Scans,
}

/// The work of a step that its spec does not say: the spec has its shapes only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// It looks something up, by integers.
    Lookup(Lookup),
    /// It sorts.
    Sort(Sorting),
    /// It computes a function of matrices.
    Matrix(MatrixFunction),
}

impl Special {
    /// The axis that a step looks up, if that is its work.
    pub fn lookup(self) -> Option<Lookup> {
        if let Special::Lookup(lookup) = self { Some(lookup) } else { None }
    }

    /// The order in which a step sorts, if that is its work.
    pub fn sorting(self) -> Option<Sorting> {
        if let Special::Sort(sorting) = self { Some(sorting) } else { None }
    }

    /// The function of matrices that a step computes, if that is its work.
    pub fn matrix(self) -> Option<MatrixFunction> {
        if let Special::Matrix(function) = self { Some(function) } else { None }
    }
}

/// The axis that the integers of the second operand are positions on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup {
    /// An axis of the first operand, which is read.
    Taken(Along),
    /// The first batch axis of the result, which is written.
    Scattered,
}

impl Lookup {
    /// The axis that is looked up.
    pub fn axis(self) -> Along {
        match self {
            Lookup::Taken(along) => along,
            Lookup::Scattered => Along::first(Kind::Batch),
        }
    }
}

/// The axis along which a step sorts, and the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sorting {
    /// The axis.
    pub along: Along,
    /// True if the greatest comes first.
    pub descending: bool,
}

/// A tensor that is carried from turn to turn.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// The tensor, as a turn reads it.
    pub tensor: Tensor,
    /// The step that gives it its first value.
    pub first: StepId,
    /// The value that a turn computes for the next one.
    pub next: Tensor,
}

/// A finished scan. Steps of its body that depend neither on the turn nor on what is carried are not among its steps: they are
/// computed once, before.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The tensors that are carried.
    pub carried: Vec<Carried>,
    /// The tensor whose leading batch axis has a position for each turn.
    pub over: Tensor,
    /// The tensor by which the counter of the turns is known: `over`, or the element of a turn if the scan is inside of another one, which may go
    /// through the same tensor.
    pub counter: Tensor,
    /// The steps of a turn, in order, those of scans inside of it among them.
    pub body: Vec<StepId>,
    /// The steps that collect the values of all turns.
    pub collected: Vec<StepId>,
    /// The steps that take the last values.
    pub last: Vec<StepId>,
    /// The tensors from outside that it reads.
    pub outer: Vec<Tensor>,
    /// The number of turns after which its gradients note again what is carried, if it was said.
    pub checkpoint_every: Option<u64>,
}

/// The scans of a graph.
#[derive(Clone, Default)]
pub(crate) struct Scans {
    pub all: Vec<Arc<Scan>>,
    /// The innermost scan that a step belongs to.
    pub of_step: FxHashMap<StepId, u32>,
    /// For each scan, the one that it is a part of.
    pub around: Vec<Option<u32>>,
    /// The scans whose bodies are being made, the innermost last.
    pub open: Vec<OpenTurns>,
}

/// The turns of a scan whose body is being made.
#[derive(Clone, Copy)]
pub(crate) struct OpenTurns {
    /// The number of turns.
    pub turns: DimTerm,
    /// The first step that belongs to the scan.
    pub start: StepId,
}

impl Scans {
    /// Adds a scan, with the steps of the tensors that it carries.
    pub fn add(&mut self, scan: Scan, leaves: &[StepId]) {
        let at = self.all.len() as u32;
        let firsts = scan.carried.iter().map(|carried| &carried.first);
        let steps = scan.body.iter().chain(&scan.collected).chain(&scan.last).chain(firsts);
        for step in steps.chain(leaves) {
            // Scans inside of this one have ended before, and keep their steps.
            let Some(inner) = self.of_step.get(step) else {
                self.of_step.insert(*step, at);
                continue;
            };
            let outermost = self.outermost(*inner);
            if let Some(around) = self.around.get_mut(outermost as usize) {
                *around = Some(at);
            }
        }
        self.all.push(Arc::new(scan));
        self.around.push(None);
    }

    /// The scan around all others that a scan is a part of.
    fn outermost(&self, scan: u32) -> u32 {
        let mut at = scan;
        while let Some(around) = self.around.get(at as usize).copied().flatten() {
            at = around;
        }
        at
    }

    /// The scan directly inside of another one, or inside of none, that a step belongs to.
    pub fn within(&self, step: StepId, around: Option<&Scan>) -> Option<&Arc<Scan>> {
        let mut at = *self.of_step.get(&step)?;
        loop {
            let scan = self.all.get(at as usize)?;
            let parent = self.around.get(at as usize).copied().flatten();
            match (parent, around) {
                (None, None) => return Some(scan),
                (None, Some(_)) => return None,
                (Some(parent), Some(around)) if std::ptr::eq(&**self.all.get(parent as usize)?, around) => {
                    return Some(scan);
                }
                (Some(parent), _) => at = parent,
            }
        }
    }
}
