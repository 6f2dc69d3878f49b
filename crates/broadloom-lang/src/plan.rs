//! What a program does when it runs: routines, in order, and what is shown between them.

use broadloom::{Initial, Routine, Tensor};
use broadloom_diagnostics::Span;

use crate::position::{Counter, Position};

/// What a program does when it runs.
#[derive(Debug, Default)]
pub struct Plan {
    /// What is computed at once.
    pub routines: Vec<Routine>,
    /// Where the actions of each routine are written.
    pub places: Vec<Vec<Span>>,
    /// What is minimised, and where.
    pub minimised: Vec<(Tensor, Span)>,
    /// What is done, in order.
    pub actions: Vec<Action>,
    /// Slices whose position is known when they run.
    pub slices: Vec<(Tensor, Position)>,
    /// Data whose numbers are drawn before anything runs.
    pub drawn: Vec<Drawn>,
    /// How many repetitions count.
    pub counters: u32,
}

/// Data whose numbers are drawn.
#[derive(Debug)]
pub struct Drawn {
    /// The data.
    pub tensor: Tensor,
    /// Its name, on which the numbers depend.
    pub name: String,
    /// How they are drawn.
    pub initial: Initial,
    /// Where it is written.
    pub span: Span,
}

/// One thing that is done.
#[derive(Debug)]
pub enum Action {
    /// Runs a routine.
    Run(usize, Span),
    /// Prints a line.
    Print {
        /// What computes what is printed and has not been computed yet.
        routine: Option<usize>,
        /// What is printed.
        pieces: Vec<Piece>,
        /// In which repetitions: every so many.
        every: Option<u64>,
        /// Where it is written.
        span: Span,
    },
    /// Writes a tensor to a file.
    Save {
        /// What computes it.
        routine: Option<usize>,
        /// The tensor.
        tensor: Tensor,
        /// The file.
        path: String,
        /// Where it is written.
        span: Span,
    },
    /// Does something again and again.
    Repeat(Repeat),
}

/// Something that is done again and again.
#[derive(Debug)]
pub struct Repeat {
    /// What counts the repetitions.
    pub counter: Counter,
    /// The tensor that holds their number, if a tensor is computed from it.
    pub leaf: Option<Tensor>,
    /// The first number.
    pub from: i64,
    /// The number after the last one.
    pub to: i64,
    /// What is done.
    pub body: Vec<Action>,
    /// What is minimised, to be shown on the way: name and tensor.
    pub losses: Vec<(String, Tensor)>,
    /// Where it is written.
    pub span: Span,
}

/// A part of a printed line.
#[derive(Debug)]
pub enum Piece {
    /// Words.
    Text(String),
    /// The numbers of a tensor.
    Tensor(Tensor),
    /// The number of a repetition.
    Position(Position),
}
