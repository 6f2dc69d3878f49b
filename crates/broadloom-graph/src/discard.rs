//! The components of a concatenation that an operation may do without.
//!
//! In `a^b => a` the part `b` is projected away, so it may be empty: what the operand has beyond `a` may be
//! nothing. In `a; b => a^b` neither part may be, for each is an operand. The test is that of *Shape
//! inference and projection inference*, "Invalid variables in Block specs": a component of a concatenation
//! on one side is discardable if for **all** shapes of the other side there is **an** axis such that
//! **all** components of that axis share a label with the component's siblings.
//!
//! The siblings of a component are all labels of its concatenation but its own. So each concatenation is compared with the other side
//! once: an axis there that all its labels cover is covered by the siblings of a component, unless it needs that component's label.

use broadloom_spec::{Axis, AxisId, AxisKind, ComponentKind, Shape, Spec};
use rustc_hash::{FxHashMap, FxHashSet};

/// Marks the labels of a spec that may have size zero, by their ids. A label that is also an axis
/// of its own may not: axes have elements.
pub(crate) fn discardable(spec: &Spec) -> Vec<bool> {
    let mut found = vec![false; spec.names.axes.len()];
    for (side, other) in [(&spec.operands, &spec.results), (&spec.results, &spec.operands)] {
        let mut concatenations = side.iter().flat_map(Shape::axes).filter_map(concatenated).peekable();
        if concatenations.peek().is_none() {
            continue;
        }
        let other = SpecSide::new(other);
        for components in concatenations {
            for label in other.done_without(&components) {
                found[label.0 as usize] = true;
            }
        }
    }
    let alone = spec.shapes().flat_map(|shape| shape.axes()).filter(|axis| concatenated(axis).is_none());
    for label in alone.flat_map(|axis| axis.labels()) {
        found[label.0 as usize] = false;
    }
    found
}

/// The axes of one side of a spec, to be found by their labels.
struct SpecSide<'a> {
    shapes: usize,
    /// Each with the shape that it belongs to.
    axes: Vec<(usize, &'a Axis)>,
    by_label: FxHashMap<AxisId, Vec<usize>>,
}

impl<'a> SpecSide<'a> {
    fn new(shapes: &'a [Shape<Axis>]) -> SpecSide<'a> {
        let axes: Vec<(usize, &Axis)> = shapes
            .iter()
            .enumerate()
            .flat_map(|(at, shape)| shape.axes().map(move |axis| (at, axis)))
            .collect();
        let mut by_label: FxHashMap<AxisId, Vec<usize>> = FxHashMap::default();
        for (at, (_, axis)) in axes.iter().enumerate() {
            for label in axis.labels().collect::<FxHashSet<AxisId>>() {
                by_label.entry(label).or_default().push(at);
            }
        }
        SpecSide { shapes: shapes.len(), axes, by_label }
    }

    /// The labels of a concatenation that this side does without: all its shapes have an axis that the others cover.
    fn done_without(&self, components: &[Option<AxisId>]) -> Vec<AxisId> {
        let mut times: FxHashMap<AxisId, u32> = FxHashMap::default();
        components.iter().flatten().for_each(|label| *times.entry(*label).or_default() += 1);
        let touched: FxHashSet<usize> =
            times.keys().filter_map(|label| self.by_label.get(label)).flatten().copied().collect();
        // How many axes of each shape all labels cover, and how many of them need a certain one.
        let mut covered: FxHashMap<usize, u32> = FxHashMap::default();
        let mut needing: FxHashMap<(usize, AxisId), u32> = FxHashMap::default();
        for (shape, axis) in touched.into_iter().map(|at| self.axes[at]) {
            let known = |label: &AxisId| times.contains_key(label);
            let needed: FxHashSet<AxisId> = match concatenated(axis) {
                Some(parts) if parts.iter().all(|part| part.as_ref().is_some_and(known)) => {
                    parts.into_iter().flatten().collect()
                }
                Some(_) => continue,
                // One of several labels will do.
                None => {
                    let own: FxHashSet<AxisId> = axis.labels().filter(known).collect();
                    if own.len() == 1 { own } else { FxHashSet::default() }
                }
            };
            *covered.entry(shape).or_default() += 1;
            needed.into_iter().for_each(|label| *needing.entry((shape, label)).or_default() += 1);
        }
        if covered.len() < self.shapes {
            return Vec::new();
        }
        // What is written twice is among its own siblings.
        let missed: FxHashSet<AxisId> = needing
            .into_iter()
            .filter(|((shape, label), axes)| times[label] == 1 && covered.get(shape) == Some(axes))
            .map(|((_, label), _)| label)
            .collect();
        times.into_keys().filter(|label| !missed.contains(label)).collect()
    }
}

/// The label of each component of a concatenation; sizes and wildcards have none.
fn concatenated(axis: &Axis) -> Option<Vec<Option<AxisId>>> {
    let AxisKind::Concat(components) = &axis.kind else { return None };
    let label = |kind: ComponentKind| if let ComponentKind::Label(label) = kind { Some(label) } else { None };
    Some(components.iter().map(|component| label(component.kind)).collect())
}

#[cfg(test)]
mod tests {
    use super::{concatenated, discardable};
    use broadloom_spec::{AxisId, Spec};

    /// The definition, word by word.
    fn defined(spec: &Spec) -> Vec<bool> {
        let mut found = vec![false; spec.names.axes.len()];
        for (side, other) in [(&spec.operands, &spec.results), (&spec.results, &spec.operands)] {
            for components in side.iter().flat_map(|shape| shape.axes()).filter_map(concatenated) {
                for (at, component) in components.iter().enumerate() {
                    let others = components.iter().enumerate().filter(|(i, _)| *i != at);
                    let siblings: Vec<AxisId> = others.filter_map(|(_, label)| *label).collect();
                    let covers = other.iter().all(|shape| {
                        shape.axes().any(|axis| match concatenated(axis) {
                            Some(parts) => {
                                parts.iter().all(|part| part.is_some_and(|label| siblings.contains(&label)))
                            }
                            None => axis.labels().any(|label| siblings.contains(&label)),
                        })
                    });
                    if let (true, Some(label)) = (covers, component) {
                        found[label.0 as usize] = true;
                    }
                }
            }
        }
        let alone = spec.shapes().flat_map(|shape| shape.axes()).filter(|axis| concatenated(axis).is_none());
        alone.flat_map(|axis| axis.labels()).for_each(|label| found[label.0 as usize] = false);
        found
    }

    /// All specs of a few axes over a few labels.
    #[test]
    fn as_it_is_defined() {
        let axes = ["a", "b", "a^b", "b^c", "a^b^c", "a^a", "a^3", "2*a+b", "_", "a^_"];
        let mut shapes: Vec<String> = axes.map(String::from).to_vec();
        shapes.extend(axes.iter().flat_map(|first| axes.map(|second| format!("{first}, {second}"))));
        let mut tried = 0;
        for (at, operand) in shapes.iter().enumerate() {
            for result in &shapes {
                for text in [
                    format!("{operand} => {result}"),
                    format!("{operand}; {} => {result}", shapes[at * 7 % shapes.len()]),
                ] {
                    let Ok(spec) = broadloom_spec::parse_spec(&text) else { continue };
                    assert_eq!(discardable(&spec), defined(&spec), "{text}");
                    tried += 1;
                }
            }
        }
        assert!(tried > 10_000, "{tried}");
    }

    fn names(text: &str) -> Vec<String> {
        let spec = broadloom_spec::parse_spec(text).expect("a spec");
        let found = discardable(&spec);
        let all = spec.names.axes.iter().zip(found);
        all.filter(|(_, may)| *may).map(|((_, name), _)| name.text.to_string()).collect()
    }

    /// All examples of "Invalid variables in Block specs", and the open question.
    #[test]
    fn the_four_quantifier_test() {
        assert_eq!(names("a^b => a"), ["b"]);
        assert_eq!(names("a^b => b"), ["a"]);
        assert!(names("a^b => a^b").is_empty());
        assert!(names("b^c => a").is_empty());
        assert!(names("a; b => a^b").is_empty());
        assert!(names("a; b => a^c").is_empty());
        assert_eq!(names("a; b => a^b^c"), ["c"]);
    }

    #[test]
    fn an_axis_of_its_own_is_never_empty() {
        assert!(names("a^b, b => a").is_empty());
    }

    #[test]
    fn integer_components_cover_nothing() {
        assert!(names("3^a => a").is_empty());
        assert_eq!(names("a^b^3 => a"), ["b"]);
    }
}
