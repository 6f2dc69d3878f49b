//! The arithmetic of an axis of a spec in words: windows, concatenations, fixed indices.

use broadloom_spec::{self as spec, AxisKind, Coefficient, ComponentKind};

use crate::Graph;
use crate::error::{Error, ErrorKind};
use crate::graph::KnownSpec;
use crate::step::{Op, Step};

impl Graph {
    /// The text of an axis of the spec of a step, and the rule for its size.
    pub(crate) fn spec_axis_text(&self, step: u32, at: u16) -> Option<(String, String)> {
        let known = self.spec_of_step(step)?;
        let axis = known.spec.shapes().flat_map(|shape| shape.axes()).nth(at as usize)?;
        let text = axis.span.slice(&known.text).trim().to_string();
        let rule = match &axis.kind {
            AxisKind::Fixed(index) => {
                format!("is read at index {index}, so its size is at least {}", index + 1)
            }
            AxisKind::Concat(components) => {
                format!(
                    "has the size {}",
                    components.iter().map(|part| component(&known, part)).collect::<Vec<_>>().join(" + ")
                )
            }
            AxisKind::Affine(affine) => format!("has the size {}", formula(&known, affine)),
            AxisKind::Label(_) | AxisKind::Wildcard => return None,
        };
        Some((text, rule))
    }

    fn spec_of_step(&self, step: u32) -> Option<std::rc::Rc<KnownSpec>> {
        match self.steps.get(step as usize)? {
            Step::Op { op: Op::Einsum { spec, .. }, .. } => Some(self.spec(*spec)),
            _ => None,
        }
    }

    /// Sizes that do not fit a window or a concatenation.
    pub(crate) fn explain_axis(&self, step: u32, at: u16, sizes: &[Option<u64>]) -> Error {
        let text = self.step_text(step);
        let fallback = || Error::new(ErrorKind::Arithmetic, format!("`{text}`: the sizes do not fit"));
        let Some(known) = self.spec_of_step(step) else { return fallback() };
        let Some(axis) = known.spec.shapes().flat_map(|shape| shape.axes()).nth(at as usize) else {
            return fallback();
        };
        let shown = axis.span.slice(&known.text).trim();
        let labels: Vec<&str> = axis.labels().map(|label| known.spec.names.axes.text(label)).collect();
        let whole = sizes.first().copied().flatten();
        let parts = labels.iter().zip(sizes.iter().skip(1));
        let named: Vec<String> =
            parts.filter_map(|(label, size)| Some(format!("{label} = {}", (*size)?))).collect();
        let given = if named.is_empty() { String::new() } else { format!(" with {}", named.join(", ")) };
        let size = whole.map_or("an axis".into(), |size| format!("an axis of size {size}"));
        let message = format!("`{text}`: {size} does not fit `{shown}`{given}");
        let error = Error::new(ErrorKind::Arithmetic, message);
        let Some((_, rule)) = self.spec_axis_text(step, at) else { return error };
        let error = error.with_end(format!("`{shown}` {rule}"));
        match &axis.kind {
            AxisKind::Affine(affine) => {
                let stride = coefficient(&known, affine.over.coefficient);
                let over = known.spec.names.axes.text(affine.over.label);
                error.with_help(format!(
                    "`{over}` must come out as a whole number: change the size of the axis, the window or the stride ({stride})"
                ))
            }
            AxisKind::Concat(_) => {
                error.with_help("the parts of a concatenation add up to the whole, and have one basis")
            }
            _ => error,
        }
    }
}

fn coefficient(known: &KnownSpec, coefficient: Coefficient) -> String {
    match coefficient {
        Coefficient::Literal(value) => value.to_string(),
        Coefficient::Named(id) => known.spec.names.coefficients.text(id).into(),
    }
}

fn component(known: &KnownSpec, component: &spec::Component) -> String {
    match component.kind {
        ComponentKind::Label(label) => known.spec.names.axes.text(label).into(),
        ComponentKind::Size(size) => size.to_string(),
        ComponentKind::Wildcard => "_".into(),
    }
}

/// The size of an affine axis, written out.
fn formula(known: &KnownSpec, affine: &spec::Affine) -> String {
    let times = |term: &spec::Term, label: String| match term.coefficient {
        Coefficient::Literal(one) if one.get() == 1 => label,
        other => format!("{}·{label}", coefficient(known, other)),
    };
    let name = |term: &spec::Term| known.spec.names.axes.text(term.label).to_string();
    let over = &affine.over;
    match &affine.kernel {
        None => {
            let stride = coefficient(known, over.coefficient);
            let extra = stride.parse::<u64>().map_or(0, |stride| (affine.offset + 1).saturating_sub(stride));
            let size = times(over, name(over));
            if extra > 0 { format!("{size} + {extra}") } else { size }
        }
        Some(kernel) if kernel.padding == spec::Padding::Valid => {
            let (over, window) = (
                times(over, format!("({} − 1)", name(over))),
                times(&kernel.term, format!("({} − 1)", name(&kernel.term))),
            );
            let offset = if affine.offset > 0 { format!(" + {}", affine.offset) } else { String::new() };
            format!("{over} + {window} + 1{offset}")
        }
        Some(_) => times(over, name(over)),
    }
}
