//! The steps of a run: what its progress, its log and its saves count.
//!
//! A step is a repetition of a loop that computes gradients itself, so that each `minimise` is one, however deep it stands. An
//! outermost loop in which nothing is minimised counts the repetitions of its innermost loops.

use crate::plan::{Action, Plan, Repeat};
use crate::progress::Progress;

/// A number of steps, and of the losses that they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub steps: u64,
    pub losses: u64,
}

impl Counted {
    fn and(self, other: Counted) -> Counted {
        let (steps, losses) = (self.steps, self.losses);
        Counted { steps: steps.saturating_add(other.steps), losses: losses.saturating_add(other.losses) }
    }

    pub fn times(self, number: u64) -> Counted {
        let (steps, losses) = (self.steps, self.losses);
        Counted { steps: steps.saturating_mul(number), losses: losses.saturating_mul(number) }
    }
}

/// The loops of an outermost loop whose repetitions are steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Steps {
    /// Those that compute gradients themselves.
    #[default]
    Minimising,
    /// Those without another loop inside, because none computes gradients.
    Innermost,
}

impl Steps {
    /// The loops that count in an outermost loop.
    pub fn of(outermost: &Repeat) -> Steps {
        let (mut waiting, mut minimises) = (vec![outermost], false);
        while let Some(repeat) = waiting.pop() {
            minimises |= !repeat.losses.is_empty();
            waiting.extend(repeat.loops());
        }
        if minimises { Steps::Minimising } else { Steps::Innermost }
    }

    /// Returns true if each repetition of a loop is a step.
    pub fn count(self, repeat: &Repeat) -> bool {
        match self {
            Steps::Minimising => !repeat.losses.is_empty(),
            Steps::Innermost => repeat.loops().next().is_none(),
        }
    }

    /// The steps of one repetition of a loop.
    pub fn each(self, repeat: &Repeat) -> Counted {
        let own = match self.count(repeat) {
            true => Counted { steps: 1, losses: repeat.losses.len() as u64 },
            false => Counted::default(),
        };
        own.and(self.all(&repeat.body))
    }

    /// The steps of some actions of a loop. Blocks are nested no deeper than the parser allows.
    fn all(self, actions: &[Action]) -> Counted {
        loops(actions)
            .map(|repeat| self.each(repeat).times(repeat.total()))
            .fold(Counted::default(), Counted::and)
    }
}

fn loops(actions: &[Action]) -> impl Iterator<Item = &Repeat> {
    actions.iter().filter_map(|action| match action {
        Action::Repeat(repeat) => Some(repeat),
        Action::Run { .. } | Action::Print { .. } | Action::Save { .. } => None,
    })
}

impl Repeat {
    /// The loops that stand in its body.
    pub(crate) fn loops(&self) -> impl Iterator<Item = &Repeat> {
        loops(&self.body)
    }
}

impl Plan {
    /// The number of loops around the deepest steps.
    pub fn depth_of_steps(&self) -> usize {
        let outermost = loops(&self.actions).map(|repeat| (repeat, 1, Steps::of(repeat)));
        let (mut waiting, mut deepest) = (outermost.collect::<Vec<_>>(), 0);
        while let Some((repeat, depth, steps)) = waiting.pop() {
            deepest = deepest.max(if steps.count(repeat) { depth } else { 0 });
            waiting.extend(repeat.loops().map(|inner| (inner, depth + 1, steps)));
        }
        deepest
    }
}

impl Progress {
    /// The steps of a run that has come to this place: all of them, and those of the outermost loop that is under way.
    pub(crate) fn counted(&self, plan: &Plan) -> (Counted, Counted) {
        let (mut before, mut within) = (Counted::default(), Counted::default());
        let (mut actions, mut counts) = (&plan.actions[..], None);
        for step in &self.steps {
            let done = actions.get(..step.action).unwrap_or(actions);
            match counts {
                Some(steps) => within = within.and(Steps::all(steps, done)),
                None => {
                    let all = |repeat: &Repeat| Steps::of(repeat).each(repeat).times(repeat.total());
                    before = loops(done).map(all).fold(before, Counted::and);
                }
            }
            let Some(Action::Repeat(repeat)) = actions.get(step.action) else { break };
            let steps = *counts.get_or_insert_with(|| Steps::of(repeat));
            within = within.and(steps.each(repeat).times(step.repetitions));
            actions = &repeat.body;
        }
        (before.and(within), within)
    }
}
