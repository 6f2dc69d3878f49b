//! The result of a command.

/// The output of a command, and its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// For pipes.
    pub stdout: String,
    /// For people.
    pub stderr: String,
    /// For scripts.
    pub status: Status,
}

impl Output {
    /// An empty output.
    pub fn new(status: Status) -> Output {
        Output { stdout: String::new(), stderr: String::new(), status }
    }
}

/// The way a command ended; the worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nothing is wrong.
    Fine,
    /// The program has errors.
    Wrong,
    /// A file cannot be read or written, or the arguments are wrong.
    Unusable,
    /// A limit of the solver was reached.
    GaveUp,
    /// The user has interrupted it.
    Interrupted,
    /// The reader of its output has closed the pipe.
    Unread,
}

impl Status {
    /// The exit status of the process.
    pub fn code(self) -> u8 {
        match self {
            // The status that a shell reports for a process ended by the signal.
            Status::Interrupted => 130,
            Status::Unread => 141,
            status => status as u8,
        }
    }
}
