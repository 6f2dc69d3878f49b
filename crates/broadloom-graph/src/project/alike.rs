//! Steps that are alike: their loop nests are the same but for the tensors.
//!
//! A nest follows from the operation and from the sizes of everything in it; that two operands are one tensor makes no
//! difference, because every occurrence has axes of its own. A model of many equal blocks has few nests that differ,
//! so each is derived once and shared.

use broadloom_core::Size;
use broadloom_spec::Kind;
use rustc_hash::FxHashMap;

use super::Projected;
use crate::Graph;
use crate::shape::Shapes;
use crate::step::{Op, Tensor, place};

/// The nests that are known, by what they follow from.
#[derive(Default)]
pub(super) struct Alike(FxHashMap<Form, Projected>);

/// Everything that the loop nest of a step follows from.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Form {
    /// The operation, without the places of the labels and rows of this step.
    op: Op,
    /// The sizes of the axes of each tensor by kind, each row ended by `None`; then the sizes of labels, or the
    /// places of the markers of operands.
    sizes: Vec<Option<Size>>,
}

impl Form {
    /// What the nest of a step follows from, by the tensors that it reads and all of its tensors.
    pub fn of(graph: &Graph, shapes: &Shapes, op: Op, read: &[Tensor], tensors: &[Tensor]) -> Form {
        let mut sizes: Vec<Option<Size>> = Vec::with_capacity(6 * tensors.len());
        for (tensor, kind) in tensors.iter().flat_map(|tensor| Kind::ALL.map(|kind| (*tensor, kind))) {
            sizes.extend(shapes.extents(tensor, kind).map(Some));
            sizes.push(None);
        }
        let op = match op {
            Op::Einsum { name, spec, labels, choice, accumulate, combine, .. } => {
                let count = graph.spec_ref(spec).spec.names.axes.len();
                sizes.extend((0..count).map(|at| Some(shapes.label(labels as usize + at))));
                Op::Einsum { name, spec, labels: 0, rows: 0, choice, accumulate, combine }
            }
            other => {
                let marker = |tensor: &Tensor, kind: Kind| graph.marker(graph.rows(*tensor)[place(kind)]);
                let markers = read.iter().flat_map(|tensor| Kind::ALL.map(|kind| marker(tensor, kind)));
                sizes.extend(markers.map(|marker| Some(Size::from(u64::from(marker)))));
                other
            }
        };
        Form { op, sizes }
    }
}

impl Alike {
    pub fn get(&self, form: &Form) -> Option<&Projected> {
        self.0.get(form)
    }

    pub fn insert(&mut self, form: Form, nest: &Projected) {
        self.0.insert(form, nest.clone());
    }
}
