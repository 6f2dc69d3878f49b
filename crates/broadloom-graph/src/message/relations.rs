//! Captured sizes that were set or related, and do not come out.

use std::fmt;

use broadloom_diagnostics::{Fact, Help, Wording};
use broadloom_spec::{AxisKind, Kind, RowVariable};

use super::ends;
use crate::error::{self, Error, ErrorKind};
use crate::spec_axis::{AxisPlace, spec_axes};
use crate::step::{Captured, Step, StepId, Tensor};
use crate::{Graph, captured, names, spec_axis};

/// Explains a statement about captured sizes, with the sizes that they have.
pub(super) fn explain_captured(graph: &Graph, step: StepId, sizes: &[Option<u64>]) -> Option<Error> {
    let shown: Vec<String> =
        sizes.iter().map(|size| size.map_or("?".into(), |size| size.to_string())).collect();
    let subject = names::subject(graph, step);
    let mut facts = Vec::new();
    let (message, about, help) = match graph.steps.get(step.index())? {
        Step::Set(captured, size) => {
            let (name, axes) = (names::captured_text(graph, *captured), shown.join(", "));
            let all = sizes.iter().try_fold(1u64, |all, size| all.checked_mul((*size)?));
            let help = all.map(|all| Help::rule(format!("set it to {all}, or change its axes")));
            (format!("{name} cannot have {size} elements: its axes are {axes}"), vec![*captured], help)
        }
        Step::Scale(large, factor, small) => match sizes {
            [Some(size), None] => {
                let multiples = Multiples::new(*size, *factor);
                facts = multiples.facts();
                (
                    format!(
                        "{} is {size}, which is not a multiple of {factor}",
                        names::captured_text(graph, *large)
                    ),
                    vec![*large],
                    Some(multiples.to_string().into()),
                )
            }
            _ => {
                let [.., Some(size)] = sizes else { return None };
                let help = Wording::new("`")
                    .name(captured::captured_name(graph, *large))
                    .words(format!("` = {} would do", factor.saturating_mul(*size)));
                let message = format!("{subject} does not hold: they are {}", shown.join(" and "));
                (message, vec![*large, *small], Some(help.into()))
            }
        },
        Step::Equal(a, b) => {
            (format!("{subject} does not hold: the sizes are {}", shown.join(", ")), vec![*a, *b], None)
        }
        _ => return None,
    };
    let mut error = facts.into_iter().fold(Error::new(ErrorKind::Arithmetic, message), Error::with_fact);
    for captured in about {
        if let Some(end) = captured_end(graph, captured) {
            error = error.with_end(end);
        }
    }
    Some(if let Some(help) = help { error.with_help(help) } else { error })
}

/// The declaration that a captured size comes from, if a declared operand of the spec has it.
fn captured_end(graph: &Graph, captured: Captured) -> Option<error::MessageLine> {
    let tensor = captured.tensor()?;
    let step = graph.tensors.get(tensor.index())?.step;
    if graph.declarations.contains_key(&tensor.0) {
        return Some(super::declared_end(graph, tensor));
    }
    let (known, _) = spec_axis::spec_of_step(graph, step)?;
    let declared = |slot: usize| {
        let tensor = spec_axis::slot_tensor(graph, step, slot)?;
        graph.declarations.contains_key(&tensor.0).then_some(tensor)
    };
    let name = captured::captured_name(graph, captured);
    if captured.is_row {
        let row = |(slot, kind): (usize, Kind)| {
            let hole = known.spec.operands.get(slot)?.row(kind)?.hole()?;
            let RowVariable::Named(id) = hole.variable else { return None };
            (3 + id.0 == captured.index).then_some((declared(slot)?, kind))
        };
        let slots = 0..known.spec.operands.len();
        let (tensor, kind): (Tensor, Kind) =
            slots.flat_map(|slot| Kind::ALL.map(|kind| (slot, kind))).find_map(row)?;
        let text = format!("`{name}`: in {}", ends::written_text(graph, tensor, kind, None));
        return Some(super::about_tensor(graph, tensor, text));
    }
    spec_axes(&known.spec).find_map(|(axis, slot, kind, spot)| {
        let tensor = declared(slot)
            .filter(|_| matches!(axis.kind, AxisKind::Label(label) if label.0 == captured.index))?;
        let size = spec_axis::size_at(graph, AxisPlace { tensor, kind, spot })?;
        let end = ends::written_end(graph, tensor, kind, Some(spot), &format!("`{name}` = {size}"));
        Some(end.with_short(format!("{name} = {size}")))
    })
}

/// The number of divisors that are tried on either side: sizes may be large.
const NEIGHBOURS: usize = 1000;

/// The multiples of a factor next to a size, and the divisors of the size next to the factor: what to write in place of
/// either.
///
/// ```
/// let multiples = broadloom_graph::Multiples::new(64, 6);
/// assert_eq!(multiples.to_string(), "4 or 8 in place of 6 would do, or 60 or 66 in place of 64");
/// ```
pub struct Multiples {
    size: u64,
    factor: u64,
    sizes: Vec<u64>,
    factors: Vec<u64>,
}

impl Multiples {
    /// Those for a size that is no multiple of a factor.
    pub fn new(size: u64, factor: u64) -> Multiples {
        let below = size / factor * factor;
        let sizes = [below, below.saturating_add(factor)].into_iter().filter(|size| *size > 0).collect();
        let divides = |other: &u64| size.is_multiple_of(*other);
        let less = factor / 2..factor;
        let more = factor.saturating_add(1)..=factor.saturating_mul(2).min(size);
        let less = less.rev().take(NEIGHBOURS).find(|other| *other > 1 && divides(other));
        let more = more.into_iter().take(NEIGHBOURS).find(divides);
        Multiples { size, factor, sizes, factors: less.into_iter().chain(more).collect() }
    }

    /// The numbers that would do in place of the factor or the size, the likeliest first: a larger one before
    /// a smaller one, and another factor before another size.
    pub fn facts(&self) -> Vec<Fact> {
        let instead = |written: u64| move |fits: &u64| Fact::Instead { written, fits: *fits };
        let factors = self.factors.iter().rev().map(instead(self.factor));
        factors.chain(self.sizes.iter().rev().map(instead(self.size))).collect()
    }
}

impl fmt::Display for Multiples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Multiples { size, factor, .. } = self;
        let either = |all: &[u64]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
        let sizes = either(&self.sizes);
        match self.factors.is_empty() {
            true => write!(f, "{sizes} in place of {size} would do"),
            false => write!(
                f,
                "{} in place of {factor} would do, or {sizes} in place of {size}",
                either(&self.factors)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Multiples;

    fn multiples(size: u64, factor: u64) -> String {
        Multiples::new(size, factor).to_string()
    }

    #[test]
    fn large_sizes_are_answered_at_once() {
        assert_eq!(multiples(64, 6), "4 or 8 in place of 6 would do, or 60 or 66 in place of 64");
        assert_eq!(multiples(7, 1 << 40), "1099511627776 in place of 7 would do");
        assert_eq!(
            multiples(u64::MAX, u64::MAX - 1),
            "18446744073709551615 in place of 18446744073709551614 would do, or 18446744073709551614 or 18446744073709551615 in place of 18446744073709551615"
        );
    }
}
