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
                    let shown = pieces.iter().flat_map(PrintedPiece::tensors);
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
