//! Two known sizes that one step brings together, where the solver found the conflict further away.
//!
//! In `skip + conv2d(8, padding = "valid")(skip)` the solver may refuse the window of the convolution, because the sum fixed
//! the size of its result first. The reason is that an axis of 14 meets one of 12, and that is what the message says.

use broadloom_core::Padding;
use broadloom_diagnostics::{Fact, Help};
use broadloom_spec::{AxisKind, Kind};

use super::ends::said_end;
use super::{Case, is_joined};
use crate::Graph;
use crate::error::{Error, ErrorKind, MessageLine, Remedy};
use crate::spec_axis::{AxisPlace, Rule, Spot, row_spots, spec_axes};
use crate::step::{Op, Tensor};

/// An axis with its size.
type Side = (u64, AxisPlace);

/// Two axes that a step takes as one.
struct Meeting {
    /// The label that stands for both, if a spec has one.
    label: Option<String>,
    sides: [Side; 2],
}

impl Graph {
    /// Explains two known sizes that the refused step brings together.
    pub(super) fn explain_meeting(&self, case: Case<'_>) -> Option<Error> {
        let Meeting { label, sides } = self.meeting(case)?;
        let [first, second] = sides.map(|(size, _)| size.to_string());
        let message = match &label {
            Some(_) if let Some(message) = self.of_one_size(case.refused, [&first, &second]) => message,
            Some(label) => format!("`{label}` cannot be both {first} and {second}"),
            None => format!("{first} and {second} do not agree"),
        };
        let mut error = self.error_at(ErrorKind::Mismatch, case.refused, &message);
        error = error.with_fact(Fact::Sizes(sides.map(|(size, _)| size)));
        if label.is_some() {
            error = error.with_fact(Fact::NamedAxis { of: None });
        }
        error = match (self.op(case.refused)?, self.repair(case.refused)) {
            (Op::Einsum { name, .. }, _) if is_joined(name) => {
                error.with_help(self.joined_advice(case.refused, [&first, &second]))
            }
            (Op::Einsum { .. }, _) => {
                error.with_remedy(Remedy::Spec, self.spec_advice(case, [&first, &second]))
            }
            (Op::Pointwise(_), Some(help)) => error.with_help(help),
            (Op::Pointwise(_), None) => {
                error.with_help(Help::rule(format!("make both {first} or both {second}")))
            }
            _ => error,
        };
        Some(sides.into_iter().fold(error, |error, (size, place)| {
            error.with_end(self.met_end(case, size, place).with_size(size))
        }))
    }

    fn meeting(&self, case: Case<'_>) -> Option<Meeting> {
        let step = case.refused;
        match self.op(step)? {
            Op::Einsum { name, .. } if is_joined(name) => self.parts_that_meet(step),
            Op::Einsum { .. } => self.labels_that_meet(step),
            Op::Pointwise(_) => {
                let operands = self.step_operands(step);
                let others = |at: usize| operands[at + 1..].iter().map(move |other| (operands[at], *other));
                let mut pairs = (0..operands.len()).flat_map(others);
                pairs.find_map(|(a, b)| {
                    Kind::ALL
                        .into_iter()
                        .find_map(|kind| self.rows_that_meet((a, kind), (b, kind), |_| false))
                })
            }
            Op::Compose | Op::ComposeAccumulate => {
                let own = case.core.constraints.iter().filter(|id| self.origin(**id).step == step);
                let rows: Vec<(Tensor, Kind)> = own.flat_map(|id| self.rows_read(*id)).collect();
                let &[a, b] = &rows[..] else { return None };
                self.rows_that_meet(a, b, |_| false)
            }
            _ => None,
        }
    }

    /// Two sizes that face each other in rows which are matched from the last axis backwards.
    fn rows_that_meet(
        &self,
        a: (Tensor, Kind),
        b: (Tensor, Kind),
        may_differ: impl Fn(AxisPlace) -> bool,
    ) -> Option<Meeting> {
        let side = |(tensor, kind): (Tensor, Kind), at: usize| {
            let place = AxisPlace { tensor, kind, spot: Spot::Back(at) };
            Some((self.claimed_size(place)?, place))
        };
        let written = |row: (Tensor, Kind)| self.partial_row(self.rows(row.0)[row.1 as usize]);
        let most = [a, b].map(written).iter().map(|row| row.lead.len() + row.trail.len()).min()?;
        (0..most).find_map(|at| {
            let sides = [side(a, at)?, side(b, at)?];
            (sides[0].0 != sides[1].0 && !may_differ(sides[0].1)).then_some(Meeting { label: None, sides })
        })
    }

    /// Two sizes of parts that are put together, in an axis in which they agree.
    fn parts_that_meet(&self, step: u32) -> Option<Meeting> {
        let (known, _) = self.spec_of_step(step)?;
        let joined = known.spec.results.first()?.rows().find_map(|(kind, row)| {
            let (_, spot) = row_spots(row).find(|(axis, _)| matches!(axis.kind, AxisKind::Concat(_)))?;
            Some((kind, spot))
        });
        let (first, others) = self.step_operands(step).split_first()?;
        let is_joined = |kind: Kind, place: AxisPlace| {
            let count = self.known_row(*first, kind).map(|row| row.len());
            let (own, spot) = joined?;
            let spot = match spot {
                Spot::Front(at) => Spot::Back(count?.checked_sub(at + 1)?),
                spot => spot,
            };
            Some(own == kind && place.spot == spot)
        };
        let is_joined = |kind: Kind, place: AxisPlace| is_joined(kind, place).unwrap_or(false);
        others.iter().find_map(|other| {
            Kind::ALL.into_iter().find_map(|kind| {
                self.rows_that_meet((*first, kind), (*other, kind), |place| is_joined(kind, place))
            })
        })
    }

    /// Two sizes of one label of a spec.
    fn labels_that_meet(&self, step: u32) -> Option<Meeting> {
        let (known, _) = self.spec_of_step(step)?;
        let operands = self.step_operands(step);
        let mut seen = Vec::new();
        for (axis, slot, kind, spot) in spec_axes(&known.spec) {
            let (AxisKind::Label(label), Some(tensor)) = (&axis.kind, operands.get(slot)) else { continue };
            let place = AxisPlace { tensor: *tensor, kind, spot };
            let Some(size) = self.claimed_size(place) else { continue };
            match seen.iter().find(|(other, _)| other == label) {
                Some((_, first)) if *first != (size, place) => {
                    let first: Side = *first;
                    if first.0 == size {
                        continue;
                    }
                    let label = Some(known.spec.names.axes.text(*label).to_string());
                    return Some(Meeting { label, sides: [first, (size, place)] });
                }
                Some(_) => {}
                None => seen.push((*label, (size, place))),
            }
        }
        None
    }

    /// The size of an axis that does not broadcast.
    fn claimed_size(&self, place: AxisPlace) -> Option<u64> {
        self.size_at(place).filter(|size| *size > 1)
    }

    /// A side of a meeting, as an end of a conflict.
    fn met_end(&self, case: Case<'_>, size: u64, place: AxisPlace) -> MessageLine {
        let AxisPlace { tensor, kind, spot } = place;
        let ((source, from), _) = self.walk_back((tensor, kind));
        if self.declarations.contains_key(&source.0) {
            return self.written_end(source, from, Some(spot), &size.to_string());
        }
        if let Some(reason) = self.windowed(place) {
            let (step, axis) = (self.tensors[tensor.index()].step, self.place_text(place));
            return said_end(step, &size.to_string(), format!("{axis}: {reason}"));
        }
        // A tensor with a name is called by it, unless its own step computes the size.
        let own = |step: u32| self.tensors[tensor.index()].step == step || self.name_of(tensor).is_none();
        match self.computed(case, size).filter(|(step, _)| own(*step)) {
            Some((step, text)) => said_end(step, &size.to_string(), text),
            None => self.written_end(tensor, kind, Some(spot), &size.to_string()),
        }
    }

    /// Describes the windows that made an axis from a longer one, through operations that keep its size.
    fn windowed(&self, place: AxisPlace) -> Option<String> {
        let AxisPlace { tensor, kind, spot } = place;
        let (size, step) = (self.size_at(place)?, self.tensors.get(tensor.index())?.step);
        match self.op(step)? {
            Op::Pointwise(_) => {
                let row = self.partial_row(self.rows(tensor)[kind as usize]);
                let spot = match spot {
                    Spot::Front(at) if !row.open => Spot::Back(row.lead.len().checked_sub(at + 1)?),
                    spot => spot,
                };
                let operands = self.step_operands(step).iter();
                let mut places = operands.map(|operand| AxisPlace { tensor: *operand, kind, spot });
                self.windowed(places.find(|place| self.size_at(*place) == Some(size))?)
            }
            Op::Einsum { .. } => self.window_of(step, kind, size),
            _ => None,
        }
    }

    /// The windows of a spec that have so many places in its result.
    fn window_of(&self, step: u32, kind: Kind, size: u64) -> Option<String> {
        let (known, _) = self.spec_of_step(step)?;
        let result = known.spec.results.first()?;
        let made: Vec<&str> = row_spots(result.row(kind)?)
            .filter_map(|(axis, _)| match axis.kind {
                AxisKind::Label(label) => Some(known.spec.names.axes.text(label)),
                _ => None,
            })
            .collect();
        let count = spec_axes(&known.spec).count() as u16;
        (0..count).filter_map(|at| self.sized_axis(step, at)).find_map(|axis| {
            let Rule::Window(form) = axis.rule else { return None };
            let ([(over, _), (_, Some(kernel)), ..], Some(whole)) = (&axis.parts[..], axis.whole) else {
                return None;
            };
            let inside = form.window.is_some_and(|window| window.padding != Padding::Padded);
            let same = axis.rest(0) == Some(size) && made.contains(&over.as_str());
            let stride =
                if form.stride == 1 { String::new() } else { format!(" with stride {}", form.stride) };
            (inside && same).then(|| format!("windows of {kernel}{stride} have {size} places in {whole}"))
        })
    }
}
