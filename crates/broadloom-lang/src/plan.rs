//! The plan of a program: its routines, in order, and the output between them.

use broadloom::{Initial, Routine, Tensor};
use broadloom_diagnostics::Span;

use crate::on_mesh::MeshBlock;
use crate::position::{Counter, Position};
use crate::stream::Stream;

/// The plan of a program: everything that happens when it runs.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The routines: each computes a group of actions at once.
    pub routines: Vec<Routine>,
    /// The spans of the actions of each routine.
    pub places: Vec<Vec<Span>>,
    /// The tensors that are minimised, and the spans of the statements.
    pub minimised: Vec<(Tensor, Span)>,
    /// The tensors of `backward` statements, and the spans of these.
    pub backward: Vec<(Tensor, Span)>,
    /// The actions, in order.
    pub actions: Vec<Action>,
    /// Slices whose position is known only when they run.
    pub slices: Vec<(Tensor, Position)>,
    /// Data whose numbers are drawn before anything runs.
    pub drawn: Vec<Drawn>,
    /// Data of which a batch is taken at a time.
    pub streams: Vec<Stream>,
    /// The devices that the program is divided over, if it says so.
    pub mesh: Option<MeshBlock>,
    /// The number of repetitions that count.
    pub counters: u32,
}

impl Plan {
    /// The files that are written, and the spans of the statements.
    pub fn saves(&self) -> Vec<(&str, Span)> {
        let (mut found, mut waiting) = (Vec::new(), vec![self.actions.iter()]);
        while let Some(actions) = waiting.last_mut() {
            match actions.next() {
                Some(Action::Save { path, span, .. }) => found.push((path.as_str(), *span)),
                Some(Action::Repeat(repeat)) => waiting.push(repeat.body.iter()),
                Some(Action::Run { .. } | Action::Print { .. }) => {}
                None => _ = waiting.pop(),
            }
        }
        found
    }
}

/// Data whose numbers are drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The data.
    pub tensor: Tensor,
    /// Its name, on which the numbers depend.
    pub name: String,
    /// The distribution.
    pub initial: Initial,
    /// The span of its declaration.
    pub span: Span,
}

/// One action.
#[derive(Clone, Debug)]
pub enum Action {
    /// Runs a routine.
    Run {
        /// The routine.
        routine: usize,
        /// Runs it only in repetitions whose number is a multiple of this, counted from 1.
        every: Option<u64>,
        /// The span of the statement.
        span: Span,
    },
    /// Prints a line.
    Print {
        /// The routine for the printed tensors that have not been computed yet.
        routine: Option<usize>,
        /// The parts of the line.
        pieces: Vec<PrintedPiece>,
        /// Prints in the first repetition and in every
        /// repetition whose number is a multiple of this.
        every: Option<u64>,
        /// The span of the statement.
        span: Span,
    },
    /// Writes a tensor to a file.
    Save {
        /// The routine for the tensor, if it has not been computed yet.
        routine: Option<usize>,
        /// The tensor.
        tensor: Tensor,
        /// The file.
        path: String,
        /// The span of the statement.
        span: Span,
    },
    /// Repeats actions.
    Repeat(Repeat),
}

impl Action {
    /// Returns true if it runs a routine, by itself or in a loop.
    pub(crate) fn runs(&self, wanted: usize) -> bool {
        let mut waiting = vec![self];
        while let Some(action) = waiting.pop() {
            match action {
                Action::Run { routine, .. } if *routine == wanted => return true,
                Action::Repeat(repeat) => waiting.extend(&repeat.body),
                Action::Run { .. } | Action::Print { .. } | Action::Save { .. } => {}
            }
        }
        false
    }
}

/// Actions that are repeated.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// The counter of the repetitions.
    pub counter: Counter,
    /// The tensor that holds their number, if a tensor is computed from it.
    pub leaf: Option<Tensor>,
    /// The first number.
    pub from: i64,
    /// The number after the last one.
    pub to: i64,
    /// The actions of each repetition.
    pub body: Vec<Action>,
    /// The streams of which each repetition takes the next batch, as indices into [`Plan::streams`].
    pub streams: Vec<usize>,
    /// The losses minimised in the body itself, not in loops in it, with their names, so that they can be shown as it runs.
    pub losses: Vec<(String, Tensor)>,
    /// True if gradients from before it are used in it or behind it. They are in memory only, so that no run can go on from
    /// inside of it.
    pub holds: bool,
    /// The span of the statement.
    pub span: Span,
}

/// A part of a printed line.
#[derive(Clone, Debug)]
pub enum PrintedPiece {
    /// Fixed text.
    Text(String),
    /// The numbers of a tensor.
    Tensor(Tensor),
    /// A number computed from the current repetition.
    Position(Position),
    /// Parts of one text, with nothing between them.
    Filled(Vec<PrintedPiece>),
}

impl PrintedPiece {
    /// The tensors whose numbers it shows.
    pub(crate) fn tensors(&self) -> Vec<Tensor> {
        match self {
            PrintedPiece::Tensor(tensor) => vec![*tensor],
            PrintedPiece::Filled(pieces) => pieces.iter().flat_map(PrintedPiece::tensors).collect(),
            PrintedPiece::Text(_) | PrintedPiece::Position(_) => Vec::new(),
        }
    }
}
