//! The progress of a run, saved beside its values so that it can be resumed.

use broadloom::Session;

use crate::plan::{Action, Plan, Repeat};

/// A place in a program that runs: nothing if it is the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The action of the program that is being carried out; if it is a loop, the one within its repetition that is under way,
    /// if that is a loop in which something is done already; and so on.
    pub steps: Vec<Step>,
}

/// An action that is being carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its index, or the number of all actions if they are done.
    pub action: usize,
    /// If it is a loop, the number of repetitions that are done.
    pub repetitions: u64,
}

/// The keys of texts beside saved values.
const KEYS: [&str; 2] = ["broadloom.action", "broadloom.repetitions"];

impl Progress {
    /// The place where an action of the program begins.
    pub(crate) fn at(action: usize) -> Progress {
        Progress { steps: vec![Step { action, repetitions: 0 }] }
    }

    /// Notes it in a session, to be saved with the values.
    pub(crate) fn note(&self, session: &mut Session) {
        let listed = |number: &dyn Fn(&Step) -> u64| {
            let numbers: Vec<String> = self.steps.iter().map(|step| number(step).to_string()).collect();
            if numbers.is_empty() { "0".into() } else { numbers.join(",") }
        };
        session.set_text(KEYS[0], listed(&|step| step.action as u64));
        session.set_text(KEYS[1], listed(&|step| step.repetitions));
    }

    pub(crate) fn noted(session: &Session) -> Option<Progress> {
        let [actions, repetitions] = KEYS.map(|key| session.text(key));
        let numbers =
            |text: &str| -> Option<Vec<u64>> { text.split(',').map(|number| number.parse().ok()).collect() };
        let (actions, repetitions) = (numbers(actions?)?, numbers(repetitions?)?);
        let step = |(action, repetitions): (u64, u64)| Step { action: action as usize, repetitions };
        let steps = actions.iter().copied().zip(repetitions.iter().copied()).map(step).collect();
        (actions.len() == repetitions.len()).then_some(Progress { steps })
    }

    /// The loops on the way to this place, with their steps, or `None` if the program has no such place.
    pub(crate) fn loops<'p>(&self, plan: &'p Plan) -> Option<Vec<(&'p Repeat, Step)>> {
        let (mut loops, mut actions) = (Vec::new(), &plan.actions[..]);
        for (depth, step) in self.steps.iter().enumerate() {
            match actions.get(step.action) {
                Some(Action::Repeat(repeat)) => {
                    let is_last = depth + 1 == self.steps.len();
                    if step.repetitions > repeat.total() || (!is_last && step.repetitions == repeat.total()) {
                        return None;
                    }
                    loops.push((repeat, *step));
                    actions = &repeat.body;
                }
                _ if depth == 0 && step.action <= actions.len() && self.steps.len() == 1 => {}
                _ => return None,
            }
        }
        Some(loops)
    }
}
