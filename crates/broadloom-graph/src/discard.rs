//! The components of a concatenation that an operation may do without.
//!
//! In `a^b => a` the part `b` is projected away, so it may be empty: what the operand has beyond `a` may be
//! nothing. In `a; b => a^b` neither part may be, for each is an operand. The test is that of *Shape
//! inference and projection inference*, "Invalid variables in Block specs": a component of a concatenation
//! on one side is discardable if for **all** shapes of the other side there is **an** axis such that
//! **all** components of that axis share a label with the component's siblings.

use broadloom_spec::{AxisId, AxisKind, ComponentKind, Shape, Spec};

type Labels = Vec<AxisId>;

/// Marks the labels of a spec that may have size zero, by their ids. A label that is also an axis
/// of its own may not: axes have elements.
pub(crate) fn discardable(spec: &Spec) -> Vec<bool> {
    let mut found = vec![false; spec.names.axes.len()];
    for (side, other) in [(&spec.operands, &spec.results), (&spec.results, &spec.operands)] {
        for components in side.iter().flat_map(|shape| shape.axes()).filter_map(concatenated) {
            for (at, component) in components.iter().enumerate() {
                let siblings: Labels = components
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| *i != at)
                    .flat_map(|(_, c)| c.clone())
                    .collect();
                if other.iter().all(|shape| has_covered_axis(shape, &siblings)) {
                    component.iter().for_each(|label| found[label.0 as usize] = true);
                }
            }
        }
    }
    let alone = spec.shapes().flat_map(|shape| shape.axes()).filter(|axis| concatenated(axis).is_none());
    for label in alone.flat_map(|axis| axis.labels()) {
        found[label.0 as usize] = false;
    }
    found
}

/// Returns true if some axis of the shape has all its components covered by the labels.
fn has_covered_axis(shape: &Shape<broadloom_spec::Axis>, labels: &Labels) -> bool {
    shape.axes().any(|axis| {
        let components = concatenated(axis).unwrap_or_else(|| vec![axis.labels().collect()]);
        components.iter().all(|component| component.iter().any(|label| labels.contains(label)))
    })
}

/// The labels of each component of a concatenation; sizes and wildcards have none.
fn concatenated(axis: &broadloom_spec::Axis) -> Option<Vec<Labels>> {
    let AxisKind::Concat(components) = &axis.kind else { return None };
    let label =
        |kind: ComponentKind| if let ComponentKind::Label(label) = kind { vec![label] } else { vec![] };
    Some(components.iter().map(|component| label(component.kind)).collect())
}

#[cfg(test)]
mod tests {
    use super::discardable;

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
