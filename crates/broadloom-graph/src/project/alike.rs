//! Steps that are alike: their loop nests are the same but for the tensors.
//!
//! A nest follows from the operation and from the sizes of everything in it; that two operands are one tensor makes no
//! difference, because every occurrence has axes of its own. A model of many equal blocks has few nests that differ,
//! so each is derived once and shared.

use broadloom_spec::Kind;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Projected;
use crate::Graph;
use crate::shape::Shapes;
use crate::step::{Op, Tensor, place};

/// The end of a row.
const END: u32 = u32::MAX;

/// The nests that are known, by what they follow from.
#[derive(Default)]
pub(super) struct Alike(FxHashMap<NestKey, Projected>);

/// Everything that the loop nest of a step follows from.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct NestKey {
    /// The operation, without the places of the labels and rows of this step.
    op: Op,
    /// The dimensions of the axes of each tensor by kind, each row ended by [`END`]; then the dimensions of labels, or the
    /// places of the markers of operands.
    dims: SmallVec<[u32; 24]>,
}

impl NestKey {
    /// The key of a step, from the tensors that it reads and all of its tensors.
    pub fn of(graph: &Graph, shapes: &Shapes, op: Op, read: &[Tensor], tensors: &[Tensor]) -> NestKey {
        let mut dims = SmallVec::new();
        for (tensor, kind) in tensors.iter().flat_map(|tensor| Kind::ALL.map(|kind| (*tensor, kind))) {
            dims.extend_from_slice(shapes.places(tensor, kind));
            dims.push(END);
        }
        let op = match op {
            Op::Einsum { id, spec, labels, choice, accumulate, combine, .. } => {
                let count = graph.spec_ref(spec).spec.names.axes.len();
                dims.extend_from_slice(shapes.label_places(labels as usize, count));
                Op::Einsum { id, spec, labels: 0, rows: 0, choice, accumulate, combine }
            }
            other => {
                let marker = |tensor: &Tensor, kind: Kind| graph.marker(graph.rows(*tensor)[place(kind)]);
                dims.extend(read.iter().flat_map(|tensor| Kind::ALL.map(|kind| marker(tensor, kind))));
                other
            }
        };
        NestKey { op, dims }
    }
}

impl Alike {
    pub fn get(&self, key: &NestKey) -> Option<&Projected> {
        self.0.get(key)
    }

    pub fn insert(&mut self, key: NestKey, nest: &Projected) {
        self.0.insert(key, nest.clone());
    }
}
