//! Going on from where another run had come.

use std::path::Path;

use broadloom_diagnostics::{Diagnostic, Setting, Severity};

use crate::codes;
use crate::front::{naming_setting, worded};
use crate::observer::Observer;
use crate::program::HAS_FILES;
use crate::progress::Progress;
use crate::ready::Ready;

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
        if !HAS_FILES || !file.exists() {
            observer.notice(&format!("there is no {} yet: the run begins", file.display()));
            return Ok(Progress::default());
        }
        self.session.load(file).map_err(|error| self.about_file(&error))?;
        self.pass_on(observer);
        let words = self.words;
        let refused = |message: String, help: &str| {
            let wrong = Diagnostic::new(Severity::Error, codes::FILE, message);
            Err(Box::new(worded(wrong.with_help(naming_setting(help, Setting::Load, "")), words)))
        };
        let Some(place) = Progress::noted(&self.session) else {
            let message = format!("{} does not say how far its run had come", file.display());
            return refused(message, "begin with its values instead: ");
        };
        let Some(loops) = place.loops(&self.plan) else {
            let message = format!("{} is of a run of another program", file.display());
            return refused(message, "the program has changed since: begin with its values, ");
        };
        let done = loops
            .iter()
            .map(|(repeat, step)| format!("repetition {} of {}", step.repetitions, repeat.total()));
        let done: Vec<String> = done.collect();
        if loops.iter().any(|(_, step)| step.repetitions > 0) {
            let within = if done.len() > 1 { ", inside of the next" } else { "" };
            observer.notice(&format!("{} goes on after {}{within}", file.display(), done.join(" and ")));
        }
        let (all, _) = place.counted(&self.plan);
        observer.resumed(all.steps, all.losses);
        Ok(place)
    }
}
