//! Errors for numbers that are not finite: the first such tensor, and its operands.

use broadloom_array::Array;
use broadloom_graph::lowering::{Face, Leaf};
use broadloom_graph::{Error, ErrorKind, MessageLine, Tensor};
use broadloom_loops::reference::Stop;

use super::{Content, Session};
use crate::routine::Routine;

impl Session {
    /// The tensor whose [check](Routine::check_finite) has ended a run.
    pub(super) fn not_finite(&self, at: usize, stop: &Stop) -> Option<Tensor> {
        let Stop::Index { buffer, .. } = stop else { return None };
        match self.prepared[at].lowered.nodes.get(buffer.index()) {
            Some(Content::NotFinite(tensor)) => Some(*tensor),
            _ => None,
        }
    }

    /// The error that a tensor is not finite, with the first intermediate tensor that is not.
    pub(super) fn where_not_finite(&mut self, tensor: Tensor) -> Error {
        let computed = self.on_the_way_to(tensor);
        let name = self.graph.label_of(tensor);
        let found = computed.iter().find(|(known, _)| *known == tensor).and_then(|(_, values)| flaw(values));
        let value = found.map_or("not finite".to_string(), |(_, value)| number(value));
        let error =
            Error::new(ErrorKind::NotFinite, format!("`{name}` is {value}")).about_values_of(tensor, &name);
        match self.first_not_finite(&computed) {
            Some((first, values)) => self.explained(error, tensor, first, values, &computed),
            None => error,
        }
    }

    /// All intermediate values of a tensor in the order they are computed, leaves first. Nothing is
    /// assigned to.
    fn on_the_way_to(&mut self, tensor: Tensor) -> Vec<(Tensor, Array)> {
        let mut routine = Routine::new("the first that is not finite");
        routine.forward(tensor);
        let guarded = std::mem::replace(&mut self.settings.guard, true);
        // If there is no room for all values at once, the error says less.
        let _ = self.run(&routine);
        self.settings.guard = guarded;
        let tensors: Vec<Tensor> = self.graph.tensors().collect();
        let mut computed = Vec::new();
        for tensor in tensors {
            let node = Content::Value(tensor);
            // What cannot be read says nothing, and the error says less.
            let seen = self.store.seen(node).ok().flatten();
            let values = seen.or_else(|| self.store.read(node).ok().flatten());
            computed.extend(values.map(|values| (tensor, values)));
        }
        computed
    }

    /// The first tensor that is not finite although all its operands are.
    fn first_not_finite<'c>(&self, computed: &'c [(Tensor, Array)]) -> Option<(Tensor, &'c Array)> {
        let is_flawed = |tensor: &Tensor| match self.graph.leaf(*tensor) {
            Some(Leaf::Number(value) | Leaf::Constant(value)) => !value.is_finite(),
            _ => computed.iter().any(|(known, values)| known == tensor && flaw(values).is_some()),
        };
        let first = computed.iter().find(|(tensor, values)| {
            let operands = self.graph.step_operands(self.graph.made_by(*tensor));
            let given = self.graph.leaf(*tensor).is_some();
            flaw(values).is_some() && (given || !operands.iter().any(is_flawed))
        });
        first.map(|(tensor, values)| (*tensor, values))
    }

    fn explained(
        &self,
        error: Error,
        tensor: Tensor,
        first: Tensor,
        values: &Array,
        computed: &[(Tensor, Array)],
    ) -> Error {
        let Some((place, value)) = flaw(values) else { return error };
        let (name, value) = (self.graph.label_of(first), number(value));
        let of = if first == tensor { "" } else { ", the first that is not finite" };
        let place = if place.is_empty() { String::new() } else { format!(" at {}", list(&place)) };
        let error = error
            .with_end(MessageLine::at(self.graph.made_by(first), format!("`{name}` is {value}{place}{of}")));
        let ranges = self.graph.step_operands(self.graph.made_by(first)).iter().filter_map(|operand| {
            let values = &computed.iter().find(|(known, _)| known == operand)?.1;
            let (name, (low, high)) = (self.graph.label_of(*operand), range(values)?);
            let range = match low == high {
                true => format!("is {}", short(low)),
                false => format!("lies between {} and {}", short(low), short(high)),
            };
            Some(MessageLine::at(self.graph.made_by(*operand), format!("`{name}` {range}")))
        });
        ranges.fold(error, Error::with_end)
    }
}

/// The first element that is not finite, with its position.
fn flaw(values: &Array) -> Option<(Vec<u64>, f64)> {
    let numbers = values.to_f64s();
    let at = numbers.iter().position(|number| !number.is_finite())?;
    let (mut rest, mut place) = (at as u64, vec![0; values.sizes().len()]);
    for (index, size) in place.iter_mut().zip(values.sizes()).rev() {
        *index = rest % size;
        rest /= size;
    }
    Some((place, numbers[at]))
}

fn range(values: &Array) -> Option<(f64, f64)> {
    let numbers = values.to_f64s();
    let (low, high) =
        numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
    (low <= high).then_some((low, high))
}

/// A number that is not finite, in words.
fn number(value: f64) -> String {
    if value.is_nan() {
        "not a number".into()
    } else {
        format!("{}infinite", if value < 0.0 { "minus " } else { "" })
    }
}

/// A finite number in a few digits.
fn short(value: f64) -> String {
    if value == 0.0 || (1e-4..1e6).contains(&value.abs()) {
        let digits = format!("{value:.4}");
        digits.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        format!("{value:.3e}")
    }
}

fn list(place: &[u64]) -> String {
    format!("[{}]", place.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
}
