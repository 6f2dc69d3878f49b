//! The loops of a program that take batches of streams, and the number of batches that they take.

use broadloom::{Graph, Tensor};
use broadloom_diagnostics::Diagnostic;
use rustc_hash::FxHashSet;

use crate::codes;
use crate::plan::{Action, Plan, PrintedPiece, Repeat};
use crate::program::Program;
use crate::progress::Progress;
use crate::stream::{HAS_STREAMS, Stream};

impl Plan {
    /// The number of batches of a stream that some actions take.
    pub(crate) fn taken(actions: &[Action], stream: usize) -> u64 {
        let of = |action: &Action| match action {
            Action::Repeat(repeat) => repeat.total().saturating_mul(repeat.taken(stream)),
            Action::Run { .. } | Action::Print { .. } | Action::Save { .. } => 0,
        };
        actions.iter().map(of).fold(0, u64::saturating_add)
    }
}

impl Progress {
    /// The number of batches of a stream that a run has taken when it has come here.
    pub(crate) fn taken(&self, plan: &Plan, stream: usize) -> u64 {
        let (mut taken, mut actions) = (0u64, &plan.actions[..]);
        for (depth, step) in self.steps.iter().enumerate() {
            taken = taken.saturating_add(Plan::taken(actions.get(..step.action).unwrap_or(actions), stream));
            let Some(Action::Repeat(repeat)) = actions.get(step.action) else { break };
            taken = taken.saturating_add(repeat.taken(stream).saturating_mul(step.repetitions));
            // A repetition that is under way has taken its batch already.
            let under_way = depth + 1 < self.steps.len() && repeat.streams.contains(&stream);
            taken = taken.saturating_add(u64::from(under_way));
            actions = &repeat.body;
        }
        taken
    }
}

impl Repeat {
    /// The number of batches of a stream that each repetition takes.
    pub(crate) fn taken(&self, stream: usize) -> u64 {
        u64::from(self.streams.contains(&stream)).saturating_add(Plan::taken(&self.body, stream))
    }
}

impl Program {
    /// Decides which loops take batches: the innermost ones that use the data of a stream. Looks at the last batch of an epoch,
    /// which may be smaller.
    pub(crate) fn look_at_streams(&mut self) {
        if !HAS_STREAMS || self.plan.streams.is_empty() {
            return;
        }
        let mut actions = std::mem::take(&mut self.plan.actions);
        Uses { plan: &self.plan, graph: &self.graph }.assign(&mut actions);
        self.plan.actions = actions;
        if !self.is_ok() {
            return;
        }
        let wrong: Vec<Diagnostic> =
            self.plan.streams.iter().filter_map(|stream| self.wrong_last(stream)).collect();
        self.diagnostics.extend(wrong);
    }

    /// Reports a last batch that the program cannot be run with.
    fn wrong_last(&self, stream: &Stream) -> Option<Diagnostic> {
        let name = stream.named.as_ref().filter(|_| stream.smaller_last && stream.rest() > 0)?;
        let (rest, size) = (stream.rest(), stream.size);
        let error = self.graph.clone().set_sizes(&[(name, rest)]).err()?;
        let rows = if rest == 1 { "1 row".to_string() } else { format!("{rest} rows") };
        let message = format!("the last batch of an epoch has {rows}, and `{name}` cannot be {rest}");
        let wrong = Diagnostic::error(codes::VALUE, message, stream.span, "");
        let wrong = wrong.with_note(error.message().to_string());
        Some(wrong.with_help(format!(
            "for batches of {size} alone, which leave out {rows}, write {size} in place of `{name}`"
        )))
    }
}

/// Finds out which actions use which streams.
struct Uses<'p> {
    plan: &'p Plan,
    graph: &'p Graph,
}

impl Uses<'_> {
    /// Gives loops the streams that they take batches of. Returns the streams that the actions use themselves, and those that
    /// loops among them use. Blocks are nested no deeper than the parser allows.
    fn assign(&self, actions: &mut [Action]) -> (FxHashSet<usize>, FxHashSet<usize>) {
        let (mut own, mut inside) = (FxHashSet::default(), FxHashSet::default());
        for action in actions {
            match action {
                Action::Run { routine, .. } => self.routine(Some(*routine), &mut own),
                Action::Print { routine, pieces, .. } => {
                    self.routine(*routine, &mut own);
                    let shown = pieces.iter().filter_map(|piece| match piece {
                        PrintedPiece::Tensor(tensor) => Some(*tensor),
                        PrintedPiece::Text(_) | PrintedPiece::Position(_) => None,
                    });
                    self.note(&shown.collect::<Vec<_>>(), &mut own);
                }
                Action::Save { routine, tensor, .. } => {
                    self.routine(*routine, &mut own);
                    self.note(&[*tensor], &mut own);
                }
                Action::Repeat(repeat) => {
                    let (used, within) = self.assign(&mut repeat.body);
                    repeat.streams = used.difference(&within).copied().collect();
                    repeat.streams.sort_unstable();
                    inside.extend(used.into_iter().chain(within));
                }
            }
        }
        (own, inside)
    }

    fn routine(&self, routine: Option<usize>, used: &mut FxHashSet<usize>) {
        if let Some(routine) = routine.and_then(|routine| self.plan.routines.get(routine)) {
            self.note(&routine.asked(self.graph), used);
        }
    }

    /// Notes the streams that tensors are computed from.
    fn note(&self, tensors: &[Tensor], used: &mut FxHashSet<usize>) {
        for tensor in self.graph.computed_from(tensors) {
            let streams = self.plan.streams.iter().enumerate();
            used.extend(streams.filter(|(_, stream)| stream.feeds(tensor)).map(|(at, _)| at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadloom_diagnostics::SourceId;

    fn stream(rows: u64, size: u64, shuffled: bool, smaller_last: bool) -> Stream {
        let array = Array::new(&[rows], (0..rows as i64).collect::<Vec<i64>>()).unwrap();
        let from = PartFrom::Memory(Arc::new(array));
        let part = Part { name: String::new(), sizes: vec![rows], dtype: None, from };
        let mut graph = Graph::new();
        let data = vec![(graph.number(0.0), 0)];
        let (name, span) = ("numbers".to_string(), Span::empty(SourceId::default(), 0));
        Stream { name, arrays: vec![part], rows, size, shuffled, smaller_last, named: None, data, span }
    }

    fn epoch(stream: &Stream, epoch: u64, seed: u64) -> Vec<f64> {
        let mut batches = Batches::new(stream.clone(), seed);
        let first = epoch * stream.batches();
        let all = first..first + stream.batches();
        all.flat_map(|batch| batches.read(batch).unwrap()[0].to_f64s()).collect()
    }

    #[test]
    fn an_epoch_has_every_row_once() {
        let plain: Vec<f64> = (0..103).map(f64::from).collect();
        assert_eq!(epoch(&stream(103, 10, false, true), 3, 0), plain);
        assert_eq!(epoch(&stream(103, 10, false, false), 3, 0), plain[..100]);
        let shuffled = stream(103, 10, true, true);
        let mut seen = epoch(&shuffled, 1, 7);
        assert_ne!(seen, plain);
        assert_ne!(seen, epoch(&shuffled, 2, 7), "another order in each epoch");
        assert_ne!(seen, epoch(&shuffled, 1, 8), "another order for another seed");
        seen.sort_by(f64::total_cmp);
        assert_eq!(seen, plain);
    }

    /// A batch does not depend on the batches that were read before it.
    #[test]
    fn batches_are_a_function_of_their_number() {
        let stream = stream(50, 8, true, false);
        let mut forward = Batches::new(stream.clone(), 1);
        let all: Vec<_> = (0..20).map(|batch| forward.read(batch).unwrap()).collect();
        for batch in [19, 3, 11, 0] {
            assert_eq!(Batches::new(stream.clone(), 1).read(batch).unwrap(), all[batch as usize]);
        }
    }

    /// Every row is as likely in every place: chi-squared over 2,000 epochs of 6 rows, 25 degrees of freedom.
    #[test]
    fn orders_are_even() {
        let mut counts = [[0u32; 6]; 6];
        for epoch in 0..2000 {
            let order = order(6, epoch, 5);
            order.iter().enumerate().for_each(|(place, row)| counts[place][*row as usize] += 1);
        }
        let expected = 2000.0 / 6.0;
        let chi: f64 =
            counts.iter().flatten().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
        assert!(chi < 52.6, "{chi}: less than one in a thousand");
    }
}
