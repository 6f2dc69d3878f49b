//! The numbers among the parts of composed axes, and the labels that only repeat: facts of the text alone.
//!
//! In `b (h 2) => b (h k)` the operand has a part of size 2 without a name, and `k` is a label that nothing but its size says anything about.

use broadloom_spec::{Axis, AxisId, Part, PartKind, Shape, Spec};

/// The product of the parts of a composed axis that are numbers.
pub(crate) fn literal(parts: &[Part]) -> u64 {
    let sizes = parts.iter().filter_map(|part| match part.kind {
        PartKind::Size(size) => Some(size.get()),
        PartKind::Label(_) | PartKind::Row(_) => None,
    });
    sizes.fold(1, u64::saturating_mul)
}

/// The number of elements that the numbers among the parts of composed axes of the operands stand for: they have no names, and are
/// in no result.
pub(crate) fn unnamed(spec: &Spec) -> u64 {
    let axes = spec.operands.iter().flat_map(Shape::axes);
    axes.map(|axis| literal(axis.parts())).fold(1, u64::saturating_mul)
}

/// The labels that only composed axes of results have.
pub(crate) fn repeating(spec: &Spec) -> Vec<AxisId> {
    let composed = |axis: &&Axis| !axis.parts().is_empty();
    let results = || spec.results.iter().flat_map(Shape::axes);
    let others = results().filter(|axis| !composed(axis)).chain(spec.operands.iter().flat_map(Shape::axes));
    let others: Vec<AxisId> = others.flat_map(Axis::labels).collect();
    let mut found: Vec<AxisId> =
        results().filter(composed).flat_map(Axis::labels).filter(|label| !others.contains(label)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The labels that operands have in composed axes only: nothing else says of them what they are.
pub(crate) fn factors(spec: &Spec) -> Vec<AxisId> {
    let axes = || spec.operands.iter().flat_map(Shape::axes);
    let plain = axes().filter(|axis| axis.parts().is_empty());
    let plain: Vec<AxisId> = plain.flat_map(Axis::labels).collect();
    let parts = axes().filter(|axis| !axis.parts().is_empty()).flat_map(Axis::labels);
    parts.filter(|label| !plain.contains(label)).collect()
}
