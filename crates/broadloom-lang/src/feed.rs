//! Batches on their way from streams into a session: those to come are read in the background.

use broadloom::{Array, Dtype, GivenValues, Session, Tensor};
use broadloom_diagnostics::{Diagnostic, Span};

use crate::codes;
use crate::plan::Plan;
use crate::program::Origins;
use crate::progress::Progress;
use crate::stream::{Batches, HAS_STREAMS, Stream};

/// The number of batches that are read ahead.
#[cfg(not(target_family = "wasm"))]
const AHEAD: usize = 2;

/// The progress of the streams of a program.
#[derive(Default)]
pub(crate) struct Feeds {
    feeds: Vec<Feed>,
    /// True once their notices have been passed on.
    pub announced: bool,
}

/// The progress of a stream.
#[derive(Default)]
struct Feed {
    /// The number of batches that were taken.
    taken: u64,
    /// The batch that the data has now.
    now: Option<u64>,
    reader: Option<Reader>,
}

impl Feeds {
    pub fn of(plan: &Plan) -> Feeds {
        Feeds { feeds: plan.streams.iter().map(|_| Feed::default()).collect(), announced: false }
    }

    /// Goes to the batch that a run at a place would have come to.
    pub fn go_to(&mut self, plan: &Plan, place: &Progress) {
        for (at, feed) in self.feeds.iter_mut().enumerate() {
            feed.taken = place.taken(plan, at);
        }
    }

    /// Gives data the batch that was taken last, or the first.
    pub fn current(
        &mut self,
        plan: &Plan,
        session: &mut Session,
        given: &[Tensor],
    ) -> Result<(), Box<Diagnostic>> {
        for (at, stream) in plan.streams.iter().enumerate().filter(|_| HAS_STREAMS) {
            let batch = self.feeds[at].taken.saturating_sub(1);
            self.give(at, stream, batch, session, given)?;
        }
        Ok(())
    }

    /// Gives data the next batch of a stream.
    pub fn next(
        &mut self,
        plan: &Plan,
        at: usize,
        session: &mut Session,
        given: &[Tensor],
    ) -> Result<(), Box<Diagnostic>> {
        let batch = self.feeds[at].taken;
        self.give(at, &plan.streams[at], batch, session, given)?;
        self.feeds[at].taken = batch + 1;
        Ok(())
    }

    fn give(
        &mut self,
        at: usize,
        stream: &Stream,
        batch: u64,
        session: &mut Session,
        given: &[Tensor],
    ) -> Result<(), Box<Diagnostic>> {
        let feed = &mut self.feeds[at];
        let is_fed = |tensor: &Tensor| !given.contains(tensor);
        let has_values = |tensor: &Tensor| session.has_values(*tensor);
        let mut fed = stream.data.iter().map(|(tensor, _)| tensor).filter(|tensor| is_fed(tensor));
        if feed.now == Some(batch) && fed.all(has_values) {
            return Ok(());
        }
        let seed = session.seed();
        let reader = feed.reader.take().filter(|reader| reader.next == batch && reader.seed == seed);
        let mut reader = reader.unwrap_or_else(|| Reader::begin(stream, seed, batch));
        let read = reader.read();
        feed.reader = Some(reader);
        let unread = |message: String| Box::new(Diagnostic::error(codes::FILE, message, stream.span, ""));
        let mut arrays = read.map_err(unread)?;
        for ((tensor, array), values) in stream.data.iter().zip(&mut arrays) {
            // Numbers that were written as text are integers where they look up rows.
            let is_text = stream.arrays[*array].dtype.is_none();
            if is_text && values.is_whole() && session.dtype(*tensor).is_ok_and(|dtype| !dtype.is_float()) {
                *values = values.convert(Dtype::I64);
            }
        }
        let inputs: Vec<(Tensor, GivenValues<'_>)> = stream
            .data
            .iter()
            .zip(&arrays)
            .filter(|((tensor, _), _)| is_fed(tensor))
            .map(|((tensor, _), values)| (*tensor, GivenValues::Copied(values)))
            .collect();
        session.give(&inputs).map_err(|error| refused(&error, batch, stream.span))?;
        feed.now = Some(batch);
        Ok(())
    }
}

/// A batch that does not fit the data.
fn refused(error: &broadloom::Error, batch: u64, span: Span) -> Box<Diagnostic> {
    let wrong = crate::eval::diagnosed(error, span, &Origins::default());
    Box::new(wrong.with_note(format!("in batch {} of the stream", batch + 1)))
}

/// Reads one batch after another.
struct Reader {
    /// The batch that comes next.
    next: u64,
    seed: u64,
    from: Reading,
}

enum Reading {
    /// Batches that are read on demand.
    Here(Box<Batches>),
    /// In a thread, which ends when its batches are not taken any more.
    #[cfg(not(target_family = "wasm"))]
    Ahead(std::sync::mpsc::Receiver<Result<Vec<Array>, String>>),
}

impl Reader {
    fn begin(stream: &Stream, seed: u64, next: u64) -> Reader {
        let from = match stream.is_read() {
            true => ahead(stream, seed, next),
            false => Reading::Here(Box::new(Batches::new(stream.clone(), seed))),
        };
        Reader { next, seed, from }
    }

    fn read(&mut self) -> Result<Vec<Array>, String> {
        let batch = self.next;
        self.next += 1;
        match &mut self.from {
            Reading::Here(batches) => batches.read(batch),
            #[cfg(not(target_family = "wasm"))]
            Reading::Ahead(receiver) => {
                receiver.recv().unwrap_or_else(|_| Err("the thread that reads batches has ended".into()))
            }
        }
    }
}

#[cfg(target_family = "wasm")]
fn ahead(stream: &Stream, seed: u64, _: u64) -> Reading {
    Reading::Here(Box::new(Batches::new(stream.clone(), seed)))
}

/// Reads in a thread, or when they are asked for if there can be none.
#[cfg(not(target_family = "wasm"))]
fn ahead(stream: &Stream, seed: u64, first: u64) -> Reading {
    let mut batches = Batches::new(stream.clone(), seed);
    let (sender, receiver) = std::sync::mpsc::sync_channel(AHEAD);
    let read = move || {
        let _ = (first..).try_for_each(|batch| sender.send(batches.read(batch)));
    };
    match std::thread::Builder::new().name("batches".into()).spawn(read) {
        Ok(_) => Reading::Ahead(receiver),
        Err(_) => Reading::Here(Box::new(Batches::new(stream.clone(), seed))),
    }
}
