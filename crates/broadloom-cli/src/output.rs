//! What a command says in the end.

/// What to print, and how it ended.
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
    /// Nothing to print.
    pub fn new(status: Status) -> Output {
        Output { stdout: String::new(), stderr: String::new(), status }
    }
}

/// How a command ended; the worst is the greatest.
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
    /// Someone has stopped it.
    Interrupted,
    /// Nobody reads what it prints.
    Unread,
}

impl Status {
    /// The exit status of the process.
    pub fn code(self) -> u8 {
        match self {
            // As a shell says of a process that was ended by the signal.
            Status::Interrupted => 130,
            Status::Unread => 141,
            status => status as u8,
        }
    }
}
