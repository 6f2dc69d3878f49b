//! Observers of runs.

use broadloom::Session;

/// Watches a program run. A `Vec<String>` collects the lines that are printed.
pub trait Observer {
    /// Called for each printed line.
    fn printed(&mut self, line: &str);
    /// Called after a repetition of the outermost loop,
    /// with the number done, the total, and the losses.
    fn repeated(&mut self, _done: u64, _of: u64, _losses: &[(String, f64)]) {}
    /// Called before a run goes on from where another had come, with the number of calls of `repeated` there, and of the losses
    /// that it was called with.
    fn resumed(&mut self, _repetitions: u64, _losses: u64) {}
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

impl Observer for Vec<String> {
    fn printed(&mut self, line: &str) {
        self.push(line.to_string());
    }
}

/// Passes on the notices of a session that are new.
pub(crate) fn notice(session: &Session, told: &mut usize, observer: &mut dyn Observer) {
    session.notices().iter().skip(*told).for_each(|notice| observer.notice(notice));
    *told = session.notices().len();
}
