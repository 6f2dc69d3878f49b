//! The world around a command: where input comes from, how output looks, who watches it work.

use std::io::Read;

use broadloom_diagnostics::{Paint, Table};

/// The world around a command.
pub struct Console<'a> {
    /// Standard input.
    pub stdin: &'a mut dyn Read,
    /// What messages call it.
    pub stdin_name: &'static str,
    /// Where to write what cannot wait for the end.
    pub live: &'a mut dyn Live,
    /// What standard output is connected to.
    pub stdout: Stream,
    /// What standard error is connected to.
    pub stderr: Stream,
    /// Whether `NO_COLOR` is set.
    pub no_color: bool,
    /// What the arguments say of colours.
    color: Option<bool>,
}

/// Who sees what a command says while it still works.
pub trait Live {
    /// A piece of standard output.
    fn stdout(&mut self, text: &str);
    /// A piece of standard error.
    fn stderr(&mut self, text: &str);
    /// From now on a first Ctrl-C asks to stop and does not end the process; a second one does.
    fn hold_interrupts(&mut self) {}
    /// Why to stop at the next good place, if there is a reason.
    fn stops(&mut self) -> Option<Stop> {
        None
    }
}

/// Why a command that still works should stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Someone wants it.
    Interrupted,
    /// Nobody reads standard output any more, or nothing can be written to it.
    Unread,
}

/// Nobody watches.
#[derive(Debug)]
pub struct Silent;

impl Live for Silent {
    fn stdout(&mut self, _: &str) {}
    fn stderr(&mut self, _: &str) {}
}

/// What a stream is connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// Whether it is a terminal.
    pub terminal: bool,
    /// How many columns it has, if it is one.
    pub columns: Option<usize>,
}

/// How output on a stream looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether it is coloured.
    pub color: bool,
    /// Whether it is a terminal.
    pub terminal: bool,
    /// How wide lines may be; anything goes where nobody looks.
    pub columns: Option<usize>,
}

/// The columns of a terminal that does not tell.
const USUAL_COLUMNS: usize = 80;

impl<'a> Console<'a> {
    /// A world without a terminal.
    pub fn new(stdin: &'a mut dyn Read, live: &'a mut dyn Live) -> Console<'a> {
        let (stdout, stderr) = (Stream::default(), Stream::default());
        Console { stdin, stdin_name: "<stdin>", live, stdout, stderr, no_color: false, color: None }
    }

    /// Says whether to use colours, whatever the streams are.
    pub(crate) fn set_color(&mut self, color: Option<bool>) {
        self.color = color;
    }

    /// How standard output looks.
    pub fn stdout(&self) -> Look {
        self.look(self.stdout)
    }

    /// How standard error looks.
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
