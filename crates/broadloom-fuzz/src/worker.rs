//! The child process: it checks inputs until one of them ends it, or the time is over.
//!
//! Each input is written to a file before it is checked, so that it survives a crash.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use broadloom_testing::Dice;

use crate::limits::{self, Watch};
use crate::mutate::mutate;
use crate::{Kind, corpus};

/// The largest number of inputs with a new outcome that are kept in memory.
const MOST_KEPT: usize = 4000;

/// The task of a worker.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The kind of input.
    pub kind: Kind,
    /// The seed of the mutations.
    pub seed: u64,
    /// The time for mutating; the corpus is always replayed.
    pub time: Duration,
    /// The largest number of mutations, independent of the time.
    pub runs: Option<u64>,
}

/// The numbers of a worker that has finished.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// The number of inputs of the corpus that were checked.
    pub replayed: u64,
    /// The number of mutations that were checked.
    pub mutated: u64,
    /// The number of different outcomes.
    pub outcomes: u64,
}

/// Checks one input under the limits; ends the process if there is a find.
pub fn one(kind: Kind, input: Vec<u8>) {
    confined(move |watch| _ = checked(kind, &input, watch));
}

/// Replays the corpus and mutates it, under the limits;
/// `current` is the file for the current input.
pub fn work(task: Task, current: &Path) -> io::Result<Counts> {
    let kept: Vec<Vec<u8>> = corpus::read(task.kind)?.into_iter().map(|(_, input)| input).collect();
    let mut current = File::create(current)?;
    let mut counts = Counts::default();
    confined(|watch| -> io::Result<Counts> {
        let mut pool = Pool::default();
        for input in kept {
            note(&mut current, &input)?;
            let outcome = checked(task.kind, &input, watch);
            counts.replayed += 1;
            pool.outcomes.insert(outcome);
            pool.inputs.push(input);
        }
        let end = Instant::now() + task.time;
        let mut dice = Dice::new(task.seed);
        while Instant::now() < end && task.runs.is_none_or(|runs| counts.mutated < runs) {
            let input = pool.next(task.kind, &mut dice);
            note(&mut current, &input)?;
            let outcome = checked(task.kind, &input, watch);
            counts.mutated += 1;
            pool.keep(input, outcome);
        }
        counts.outcomes = pool.outcomes.len() as u64;
        Ok(counts)
    })
}

/// Inputs to mutate: the corpus, and inputs that had a new outcome.
#[derive(Default)]
struct Pool {
    inputs: Vec<Vec<u8>>,
    outcomes: HashSet<u64>,
    /// The text that is being edited.
    last: Vec<u8>,
}

impl Pool {
    /// Makes the next input. Edits continue in one text for a while.
    fn next(&mut self, kind: Kind, dice: &mut Dice) -> Vec<u8> {
        if kind == Kind::Edits && dice.below(30) > 0 && !self.last.is_empty() {
            return mutate(kind, &self.last, &self.inputs, dice);
        }
        let parent = dice.any(&self.inputs).cloned().unwrap_or_default();
        mutate(kind, &parent, &self.inputs, dice)
    }

    fn keep(&mut self, input: Vec<u8>, outcome: u64) {
        if self.outcomes.insert(outcome) && self.inputs.len() < MOST_KEPT {
            self.inputs.push(input.clone());
        }
        self.last = input;
    }
}

/// Runs a function with a small stack, limited memory, and a watchdog.
fn confined<T: Send>(run: impl FnOnce(&Watch) -> T + Send) -> T {
    limits::limit_memory();
    let watch = Watch::begin();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("input".into()).stack_size(limits::STACK);
        let thread = thread.spawn_scoped(scope, || run(watch)).expect("a thread");
        match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Checks an input. A panic, whose message has been printed by then, ends the process.
fn checked(kind: Kind, input: &[u8], watch: &Watch) -> u64 {
    watch.over(|| match std::panic::catch_unwind(|| kind.check(input)) {
        Ok(outcome) => outcome,
        Err(_) => std::process::exit(limits::PANICS),
    })
}

/// Writes an input over the one before.
fn note(file: &mut File, input: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(input)
}
