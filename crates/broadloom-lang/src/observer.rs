//! Observers of runs.

use broadloom::Session;

/// Watches a program run. A `Vec<String>` collects the lines that are printed.
pub trait Observer {
    /// Called for each printed line.
    fn printed(&mut self, line: &str);
    /// Called after a step: a repetition of a loop that minimises something, whatever loops are around it. In an outermost loop
    /// that minimises nothing, the repetitions of the innermost loops are steps.
    fn repeated(&mut self, _step: &Repeated<'_>) {}
    /// Called before a run goes on from where another had come, with the number of calls of `repeated` there, and of the losses
    /// that it was called with.
    fn resumed(&mut self, _steps: u64, _losses: u64) {}
    /// Called before a routine is compiled, which may take long: its number, from 1, and the number of all routines. They are
    /// compiled when they are needed first.
    fn compiling(&mut self, _number: usize, _of: usize) {}
    /// Called when that routine has been compiled, or could not be.
    fn compiled(&mut self) {}
    /// Called when the outermost loop has ended.
    fn ended(&mut self) {}
    /// Called with a remark about the run, such as one about the compiler.
    fn notice(&mut self, _text: &str) {}
    /// Returns true to stop at the end of the current step.
    /// Called after every repetition and every action.
    fn stops(&mut self) -> bool {
        false
    }
}

/// A step that is done.
#[derive(Clone, Copy, Debug)]
pub struct Repeated<'a> {
    /// The number of steps that are done in the outermost loop.
    pub done: u64,
    /// The number of its steps.
    pub of: u64,
    /// The repetitions that the step belongs to, outermost first: the number of each, from 1, and the total.
    pub turns: &'a [(u64, u64)],
    /// The losses that were minimised, by name.
    pub losses: &'a [(String, f64)],
}

impl Observer for Vec<String> {
    fn printed(&mut self, line: &str) {
        self.push(line.to_string());
    }
}

/// Passes on the notices of a session that are new.
pub(crate) fn notice(session: &Session, passed_on: &mut usize, observer: &mut dyn Observer) {
    session.notices().iter().skip(*passed_on).for_each(|notice| observer.notice(notice));
    *passed_on = session.notices().len();
}
