//! The progress of a run, saved beside its values so that it can be resumed.

use std::path::Path;

use broadloom::Session;
use broadloom_diagnostics::Diagnostic;

use crate::codes;
use crate::plan::{Action, Plan, Repeat};
use crate::ready::Ready;
use crate::run::Observer;

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

    fn noted(session: &Session) -> Option<Progress> {
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

impl Ready {
    /// Returns true for the place behind all actions.
    pub(crate) fn is_end(&self, place: &Progress) -> bool {
        *place == Progress::at(self.plan.actions.len())
    }

    /// Loads what a run has saved, and says where it has come. Without a file, a run begins at its beginning.
    pub(crate) fn resume(
        &mut self,
        file: &Path,
        observer: &mut dyn Observer,
    ) -> Result<Progress, Box<Diagnostic>> {
        if !file.exists() {
            observer.notice(&format!("there is no {} yet: the run begins", file.display()));
            return Ok(Progress::default());
        }
        self.session.load(file).map_err(|error| self.about_file(&error))?;
        self.pass_on(observer);
        let refused = |message: String, help: &str| {
            Err(Box::new(
                Diagnostic::new(broadloom_diagnostics::Severity::Error, codes::FILE, message).with_help(help),
            ))
        };
        let Some(place) = Progress::noted(&self.session) else {
            let message = format!("{} does not say how far its run had come", file.display());
            return refused(message, "begin with its values instead: `--load`");
        };
        let Some(loops) = place.loops(&self.plan) else {
            let message = format!("{} is of a run of another program", file.display());
            return refused(message, "the program has changed since: begin with its values, `--load`");
        };
        let done = loops
            .iter()
            .map(|(repeat, step)| format!("repetition {} of {}", step.repetitions, repeat.total()));
        let done: Vec<String> = done.collect();
        if loops.iter().any(|(_, step)| step.repetitions > 0) {
            let within = if done.len() > 1 { ", inside of the next" } else { "" };
            observer.notice(&format!("{} goes on after {}{within}", file.display(), done.join(" and ")));
        }
        let (repetitions, losses) = self.reported(&place);
        observer.resumed(repetitions, losses);
        Ok(place)
    }

    /// The number of repetitions, and of losses, that an observer has been told when a run has come to a place.
    fn reported(&self, place: &Progress) -> (u64, u64) {
        let Some(step) = place.steps.first() else { return (0, 0) };
        let (mut repetitions, mut losses) = (0u64, 0u64);
        for (at, action) in self.plan.actions.iter().enumerate().take(step.action + 1) {
            let Action::Repeat(repeat) = action else { continue };
            let done = if at < step.action { repeat.total() } else { step.repetitions };
            repetitions = repetitions.saturating_add(done);
            losses = losses.saturating_add(done.saturating_mul(repeat.losses.len() as u64));
        }
        (repetitions, losses)
    }
}
