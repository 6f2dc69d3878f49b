//! The environment of a command: its input, the look of its output, and its live streams.

use std::io::Read;

use broadloom_diagnostics::{Paint, Table};

/// The world around a command.
pub struct Console<'a> {
    /// Standard input.
    pub stdin: &'a mut dyn Read,
    /// The name of standard input in messages.
    pub stdin_name: &'static str,
    /// The streams for output that cannot wait for the end.
    pub live: &'a mut dyn Live,
    /// The connection of standard output.
    pub stdout: Stream,
    /// The connection of standard error.
    pub stderr: Stream,
    /// True if `NO_COLOR` is set.
    pub no_color: bool,
    /// The choice of colours in the arguments, if any.
    color: Option<bool>,
}

/// Receives the output of a command while it still works.
pub trait Live {
    /// Writes a piece of standard output.
    fn stdout(&mut self, text: &str);
    /// Writes a piece of standard error.
    fn stderr(&mut self, text: &str);
    /// From now on a first Ctrl-C requests a stop and
    /// does not end the process; a second one ends it.
    fn hold_interrupts(&mut self) {}
    /// Returns a reason to stop at the next good place, if there is one.
    fn stops(&mut self) -> Option<Stop> {
        None
    }
}

/// A reason to stop a command before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The user has interrupted it.
    Interrupted,
    /// Standard output has no reader any more, or cannot be written to.
    Unread,
}

/// Drops live output.
#[derive(Debug)]
pub struct Silent;

impl Live for Silent {
    fn stdout(&mut self, _: &str) {}
    fn stderr(&mut self, _: &str) {}
}

/// The connection of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// True if it is a terminal.
    pub terminal: bool,
    /// The number of columns of the terminal.
    pub columns: Option<usize>,
}

/// The look of output on a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// True if it is coloured.
    pub color: bool,
    /// True if it is a terminal.
    pub terminal: bool,
    /// The greatest width of lines; unlimited if it is not a terminal.
    pub columns: Option<usize>,
}

/// The columns of a terminal whose width is not known.
const USUAL_COLUMNS: usize = 80;

impl<'a> Console<'a> {
    /// An environment without a terminal.
    pub fn new(stdin: &'a mut dyn Read, live: &'a mut dyn Live) -> Console<'a> {
        let (stdout, stderr) = (Stream::default(), Stream::default());
        Console { stdin, stdin_name: "<stdin>", live, stdout, stderr, no_color: false, color: None }
    }

    /// Turns colours on or off for all streams; `None` leaves it to each stream.
    pub(crate) fn set_color(&mut self, color: Option<bool>) {
        self.color = color;
    }

    /// The look of standard output.
    pub fn stdout(&self) -> Look {
        self.look(self.stdout)
    }

    /// The look of standard error.
    pub fn stderr(&self) -> Look {
        self.look(self.stderr)
    }

    fn look(&self, stream: Stream) -> Look {
        let color = self.color.unwrap_or(stream.terminal && !self.no_color);
        let columns = stream.terminal.then(|| stream.columns.unwrap_or(USUAL_COLUMNS));
        Look { color, terminal: stream.terminal, columns }
    }
}

impl Look {
    /// The text in its colour.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        paint.on(text, self.color)
    }

    /// A table, as wide as it may be.
    pub(crate) fn table<const N: usize>(self, table: &Table<N>) -> String {
        table.show(self.columns, self.color)
    }
}
