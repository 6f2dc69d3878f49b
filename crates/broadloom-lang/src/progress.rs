//! How far a run has come, beside the values that it saves: to go on from there.

use std::path::Path;

use broadloom::Session;
use broadloom_diagnostics::Diagnostic;

use crate::codes;
use crate::plan::Action;
use crate::ready::Ready;
use crate::run::Observer;

/// A place in a program that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The action of the program that is being carried out, or the number of all if they are done.
    pub action: usize,
    /// If it is a loop, the number of repetitions that are done.
    pub repetitions: u64,
}

/// The keys of texts beside saved values.
const KEYS: [&str; 2] = ["broadloom.action", "broadloom.repetitions"];

impl Progress {
    /// Notes it in a session, to be saved with the values.
    pub(crate) fn note(self, session: &mut Session) {
        session.set_text(KEYS[0], self.action.to_string());
        session.set_text(KEYS[1], self.repetitions.to_string());
    }

    fn noted(session: &Session) -> Option<Progress> {
        let [action, repetitions] = KEYS.map(|key| session.text(key));
        Some(Progress { action: action?.parse().ok()?, repetitions: repetitions?.parse().ok()? })
    }
}

impl Ready {
    /// The place behind all actions.
    pub(crate) fn end(&self) -> Progress {
        Progress { action: self.plan.actions.len(), repetitions: 0 }
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
        let total = match self.plan.actions.get(place.action) {
            Some(Action::Repeat(repeat)) => repeat.total(),
            _ => 0,
        };
        if place.action > self.plan.actions.len() || place.repetitions > total {
            let message = format!("{} is of a run of another program", file.display());
            return refused(message, "the program has changed since: begin with its values, `--load`");
        }
        if place.repetitions > 0 {
            observer.notice(&format!(
                "{} goes on after repetition {} of {total}",
                file.display(),
                place.repetitions
            ));
        }
        Ok(place)
    }
}
