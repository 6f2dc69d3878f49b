//! Running a program.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use broadloom::files::{write_csv, write_npy};
use broadloom::{Array, Backend, Error, ErrorKind, GivenValues, Session, Settings, Tensor};
use broadloom_diagnostics::{Diagnostic, Severity, Span};

use crate::codes;
use crate::eval::diagnosed;
use crate::feed::Feeds;
use crate::front::{Words, worded};
use crate::observer::{Observer, Repeated, notice};
use crate::on_mesh::OnMesh;
use crate::plan::{Action, Plan, PrintedPiece, Repeat};
use crate::program::{HAS_FILES, Origins, Program};
use crate::progress::{Progress, Step};
use crate::ready::Ready;
use crate::show;
use crate::steps::Steps;
use crate::stream::{HAS_STREAMS, Stream};

/// Options for running a program.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Backend, seed, threads.
    pub settings: Settings,
    /// The file of parameters and states to begin with.
    pub load: Option<PathBuf>,
    /// The file for parameters and states after the run.
    pub save: Option<PathBuf>,
    /// The number of steps after which they are saved, each time.
    pub save_every: Option<u64>,
    /// True to go on from where the run that wrote the file to be saved to has come.
    pub resume: bool,
    /// Values of data, by name, in place of those that the program gives.
    pub inputs: Vec<(String, Array)>,
    /// True to go on when a loss is not finite.
    pub keep_going: bool,
    /// The devices that the program is divided over, in place of those of its own `mesh`. Only XLA has several.
    pub mesh: Option<OnMesh>,
}

impl Program {
    /// Runs the program, and returns the session with all its numbers. The program is compiled for
    /// all sizes at once: named sizes are those that were set, or follow from data given from
    /// outside, or are as declared.
    pub fn run(self, options: &RunOptions, observer: &mut dyn Observer) -> Result<Session, Box<Diagnostic>> {
        if let Some(wrong) = self.missing_folder() {
            return Err(Box::new(wrong));
        }
        let is_read = self.weights.outside;
        let left_out = self.weights.left_out(&self.graph);
        if let Some(first) = left_out.first() {
            let names = if left_out.len() == 1 {
                first.clone()
            } else {
                format!("{first} and {} others", left_out.len() - 1)
            };
            observer.notice(&format!("no weights are loaded into {names}: they begin as the program says"));
        }
        for unused in self.weights.unused.iter().filter(|unused| !crate::lint::is_allowed(&self, unused)) {
            observer.notice(&unused.message);
        }
        let is_own = options.mesh.is_none();
        let mut on = self.devices(options.mesh.as_ref()).cloned();
        // What the program says is left out where it cannot be had; what its user asks for is not.
        if options.settings.backend != Backend::Xla
            && let Some(left_out) = on.take_if(|_| is_own)
        {
            observer.notice(&self.without_devices(&left_out));
        }
        let mut devices = on.as_ref().map(|on| self.session_devices(on));
        let mut ready = self.ready(&options.settings)?;
        ready.pass_on(observer);
        let inputs: Vec<(&str, GivenValues<'_>)> = options
            .inputs
            .iter()
            .map(|(name, values)| (name.as_str(), GivenValues::Copied(values)))
            .collect();
        ready.give(&inputs)?;
        if let Some(devices) = &mut devices {
            ready.divide(devices)?;
        }
        if let Some(file) = options.load.as_ref().filter(|_| HAS_FILES && !is_read) {
            ready.session.load(file).map_err(|error| ready.about_file(&error))?;
            ready.pass_on(observer);
        }
        let mut way = RunControl { keep_going: options.keep_going, ..RunControl::default() };
        if let Some(file) = &options.save {
            way.checkpoints = options.save_every.map(|every| (file.clone(), every));
            if options.resume {
                way.from = ready.resume(file, observer)?;
                if ready.is_end(&way.from) {
                    observer.notice(&format!("{} is of a run that has come to its end", file.display()));
                    return Ok(ready.session);
                }
            }
        }
        let Ended { outcome, ran, stopped, place, saved } = ready.go(&way, observer);
        // The values from before a loss that was not finite are kept.
        let lost = outcome.as_ref().is_err_and(|wrong| wrong.code != codes::NOT_FINITE || !ran);
        if lost {
            if let (Some(file), Some(saved)) = (&options.save, saved) {
                observer.notice(&format!(
                    "{} has the values after {saved}; the run can go on from there",
                    file.display()
                ));
            }
            return outcome.map(|()| ready.session);
        }
        if let Some(file) = &options.save {
            if stopped && !ran {
                // A file from an earlier run is worth more than initial values.
                observer
                    .notice(&format!("stopped before the first step: {} stays as it was", file.display()));
                return Ok(ready.session);
            }
            place.note(&mut ready.session);
            ready.session.save(file).map_err(|error| ready.about_file(&error))?;
            if outcome.is_err() {
                observer.notice(&format!("{} has the values before the last step", file.display()));
            }
            if stopped {
                observer
                    .notice(&format!("stopped early: {} has the values after the last step", file.display()));
            }
        }
        outcome.map(|()| ready.session)
    }
}

impl Program {
    /// Reports a file that cannot be written because its folder is missing, before anything is computed.
    fn missing_folder(&self) -> Option<Diagnostic> {
        self.plan.saves().into_iter().find_map(|(path, span)| {
            let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty())?;
            let shown = folder.display();
            let message = format!("there is no folder `{shown}` to write `{path}` into");
            let diagnostic = Diagnostic::error(codes::FILE, message, span, "");
            (!folder.is_dir())
                .then(|| diagnostic.with_help(format!("make it before the program runs: `mkdir -p {shown}`")))
        })
    }
}

/// The way to carry out a plan.
#[derive(Clone, Debug, Default)]
pub struct RunControl {
    /// True to go on when a loss is not finite.
    pub keep_going: bool,
    /// The number of repetitions of the outermost loops, if it is not that of the program.
    pub steps: Option<u64>,
    /// The place at which to begin.
    pub from: Progress,
    /// The file to which parameters and states are saved while the program runs, and the number of steps between.
    pub checkpoints: Option<(PathBuf, u64)>,
}

/// The end of a run: its outcome, and its progress.
pub struct Ended {
    /// The mistake that ended it, if there was one.
    pub outcome: Result<(), Box<Diagnostic>>,
    /// True if a routine that may have changed lasting values has ended.
    pub ran: bool,
    /// True if the observer has stopped the run.
    pub stopped: bool,
    /// The progress that it made.
    pub place: Progress,
    /// The repetition after which values were last saved on the way, in words, if they were.
    pub saved: Option<String>,
}

impl Ready {
    /// Carries out the plan of the program: everything that it does when it runs. Parameters and states begin as they are now.
    pub fn go(&mut self, way: &RunControl, observer: &mut dyn Observer) -> Ended {
        if HAS_STREAMS && way.from != Progress::default() {
            self.feeds.go_to(&self.plan, &way.from);
        }
        self.go_on(way, observer)
    }

    /// Goes on with a run that an observer has stopped, from the place where it ended. Meanwhile tensors may have been
    /// [computed](Ready::compute) from other arrays, if those of the run are [given](Ready::give) again.
    pub fn go_on(&mut self, way: &RunControl, observer: &mut dyn Observer) -> Ended {
        if HAS_STREAMS && !std::mem::replace(&mut self.feeds.announced, true) {
            let notices = self.plan.streams.iter().flat_map(Stream::notices);
            notices.for_each(|notice| observer.notice(&notice));
        }
        let wrong = self.unfit_steps(way).map(Box::new).or_else(|| self.draw().err());
        let wrong = wrong.or_else(|| self.feeds.current(&self.plan, &mut self.session, &self.given).err());
        if let Some(wrong) = wrong {
            let place = way.from.clone();
            return Ended { outcome: Err(wrong), ran: false, stopped: false, place, saved: None };
        }
        let mut running = Running {
            plan: &self.plan,
            origins: &self.origins,
            words: self.words,
            session: &mut self.session,
            observer,
            values: vec![0; self.plan.counters as usize],
            depth: 0,
            noticed: &mut self.noticed,
            feeds: &mut self.feeds,
            given: &self.given,
            ran: false,
            stopped: false,
            way: way.clone(),
            turns: Vec::new(),
            resuming: way.from.steps.clone(),
            place: way.from.clone(),
            steps: Steps::default(),
            done: 0,
            of: 0,
            held: 0,
            saved: None,
        };
        let outcome = running.all();
        let Running { ran, stopped, place, saved, .. } = running;
        Ended { outcome, ran, stopped, place, saved }
    }

    /// Refuses a number of repetitions that the program cannot have.
    fn unfit_steps(&self, way: &RunControl) -> Option<Diagnostic> {
        let steps = way.steps?;
        let loops = self.plan.actions.iter().filter_map(|action| match action {
            Action::Repeat(repeat) => Some(repeat),
            Action::Run { .. } | Action::Print { .. } | Action::Save { .. } => None,
        });
        let loops: Vec<&Repeat> = loops.collect();
        if loops.is_empty() {
            let message = "the program repeats nothing, so it has no steps";
            let help =
                "write what is to be repeated below `repeat 100:`, or run it without a number of steps";
            return Some(Diagnostic::new(Severity::Error, codes::VALUE, message).with_help(help));
        }
        let positions = self.plan.slices.iter().map(|(_, position)| position);
        let counted = |repeat: &&&Repeat| positions.clone().any(|position| position.mentions(repeat.counter));
        let averaged = loops.iter().find_map(|repeat| {
            let every = |action: &Action| match action {
                Action::Run { every, span, .. } => every.map(|every| (every, *span)),
                Action::Print { .. } | Action::Save { .. } | Action::Repeat(_) => None,
            };
            repeat.body.iter().filter_map(every).find(|(every, _)| !steps.is_multiple_of(*every))
        });
        if let Some((every, span)) = averaged {
            let message =
                format!("{steps} steps are no multiple of the {every} whose gradients are averaged here");
            let help = format!("ask for {} steps", steps.next_multiple_of(every));
            return Some(Diagnostic::error(codes::VALUE, message, span, "").with_help(help));
        }
        let short = loops.iter().filter(counted).find(|repeat| steps > repeat.total())?;
        let message = format!("{steps} steps are more than the {} that this loop can have", short.total());
        let wrong = Diagnostic::error(codes::VALUE, message, short.span, "");
        Some(wrong.with_help("its number says which part of the data is read: ask for fewer steps"))
    }
}

impl Repeat {
    /// The number of repetitions, as the program says.
    pub(crate) fn total(&self) -> u64 {
        self.to.saturating_sub(self.from).max(0) as u64
    }
}

struct Running<'p> {
    plan: &'p Plan,
    origins: &'p Origins,
    words: Words,
    session: &'p mut Session,
    observer: &'p mut dyn Observer,
    /// The current numbers of the repetitions, by counter.
    values: Vec<i64>,
    /// The number of loops around the current action.
    depth: usize,
    /// The number of the session's notices that have been passed on.
    noticed: &'p mut usize,
    feeds: &'p mut Feeds,
    /// The data whose values are from outside.
    given: &'p [Tensor],
    /// True once a routine that may have changed saved values has ended.
    ran: bool,
    /// True once the observer has stopped the run.
    stopped: bool,
    way: RunControl,
    /// The current repetitions, outermost first: the number of each, from 1, and the total.
    turns: Vec<(u64, u64)>,
    /// The rest of the way to the place where it begins; nothing once it is there.
    resuming: Vec<Step>,
    /// The progress so far.
    place: Progress,
    /// The unit of progress: what counts as a step in the outermost loop that is under way.
    steps: Steps,
    /// The number of its steps that are done, and of all of them.
    done: u64,
    of: u64,
    /// The number of loops around that hold gradients from before them.
    held: usize,
    /// The repetition after which values were last saved on the way.
    saved: Option<String>,
}

impl Running<'_> {
    /// Carries out the whole plan, or the part before the observer stops it.
    fn all(&mut self) -> Result<(), Box<Diagnostic>> {
        let plan = self.plan;
        match self.actions(&plan.actions, 0) {
            // The signal that stops a program may have stopped its compiler too.
            Err(_) if self.observer.stops() => {
                self.stopped = true;
                Ok(())
            }
            Ok(()) if !self.stopped => {
                self.place = Progress::at(plan.actions.len());
                Ok(())
            }
            done => done,
        }
    }

    /// Saves parameters and states after a step, if it is time.
    fn checkpoint(&mut self, span: Span) -> Result<(), Box<Diagnostic>> {
        let Some((file, every)) = &self.way.checkpoints else { return Ok(()) };
        if !self.done.is_multiple_of(*every) || self.held > 0 {
            return Ok(());
        }
        self.place.note(self.session);
        let saved = self.session.save(file);
        self.diagnosed(saved, span)?;
        let turns = self.turns.iter().rev().map(|(turn, _)| format!("repetition {turn}"));
        self.saved = Some(turns.collect::<Vec<_>>().join(" inside of "));
        Ok(())
    }

    /// Carries out actions; `turn` is the number of the repetition around them, from 0, counted over all repetitions of the loops
    /// around that.
    fn actions(&mut self, actions: &[Action], turn: u64) -> Result<(), Box<Diagnostic>> {
        let begin = self.resuming.get(self.depth).copied();
        if self.resuming.len() <= self.depth + 1 {
            self.resuming.clear();
        }
        for (at, action) in actions.iter().enumerate().skip(begin.map_or(0, |begin| begin.action)) {
            let done = begin.filter(|begin| begin.action == at).map_or(0, |begin| begin.repetitions);
            let is_loop = matches!(action, Action::Repeat(_));
            if is_loop || self.depth == 0 {
                self.place.steps.truncate(self.depth);
                self.place.steps.push(Step { action: at, repetitions: done });
            }
            match action {
                Action::Run { routine, every, span } => {
                    if every.is_none_or(|every| (turn + 1).is_multiple_of(every)) {
                        self.routine(*routine, *span)?;
                        self.ran = true;
                    }
                }
                Action::Print { routine, pieces, every, span } => {
                    if every.is_none_or(|every| (turn + 1).is_multiple_of(every) || turn == 0) {
                        self.print(*routine, pieces, *span)?;
                    }
                }
                Action::Save { routine, tensor, path, span } => self.save(*routine, *tensor, path, *span)?,
                Action::Repeat(repeat) => {
                    if self.depth == 0 {
                        self.steps = Steps::of(repeat);
                        let is_begun = begin.is_some_and(|begin| begin.action == at);
                        let (_, within) = self.way.from.counted(self.plan);
                        self.done = if is_begun { within.steps } else { 0 };
                        let total = self.way.steps.unwrap_or(repeat.total());
                        self.of = self.steps.each(repeat).times(total).steps;
                    }
                    self.repeat(repeat, done, turn)?;
                }
            }
            // Inside a loop a step ends with the repetition.
            if self.depth == 0 && !self.stopped && self.observer.stops() {
                self.stopped = true;
                self.place = Progress::at(at + 1);
            }
            if self.stopped {
                break;
            }
        }
        Ok(())
    }

    fn diagnosed<T>(&self, made: Result<T, Error>, span: Span) -> Result<T, Box<Diagnostic>> {
        made.map_err(|error| Box::new(worded(diagnosed(&error, span, self.origins), self.words)))
    }

    fn routine(&mut self, routine: usize, span: Span) -> Result<(), Box<Diagnostic>> {
        for (slice, position) in &self.plan.slices {
            if let Some(at) = position.at(&self.values).and_then(|at| u64::try_from(at).ok()) {
                let set = self.session.set_position(*slice, at);
                self.diagnosed(set, span)?;
            }
        }
        let (number, of) = (routine + 1, self.plan.routines.len());
        let routine = match self.way.keep_going {
            true => Cow::Owned(self.plan.routines[routine].unchecked()),
            false => Cow::Borrowed(&self.plan.routines[routine]),
        };
        if !self.session.is_compiled(&routine) {
            self.observer.compiling(number, of);
            let compiled = self.session.compile(&routine);
            self.observer.compiled();
            self.diagnosed(compiled, span)?;
        }
        let ran = self.session.run(&routine);
        // Notices about compilation appear when a routine runs first.
        notice(self.session, self.noticed, self.observer);
        let Err(error) = &ran else { return Ok(()) };
        if error.kind() != ErrorKind::NotFinite {
            return self.diagnosed(ran, span);
        }
        // A routine may minimise several losses.
        let minimised =
            |(loss, _): &&(Tensor, Span)| error.tensor().is_some_and(|(tensor, _)| tensor == *loss);
        let span = self.plan.minimised.iter().find(minimised).map_or(span, |(_, span)| *span);
        self.diagnosed(ran, span).map_err(|wrong| Box::new(self.after_steps(*wrong)))
    }

    /// Adds how far the program had come when a loss was not finite, and advice.
    fn after_steps(&self, wrong: Diagnostic) -> Diagnostic {
        let steps: Vec<String> =
            self.turns.iter().map(|(turn, total)| format!("{turn} of {total}")).collect();
        let wrong = match steps.is_empty() {
            true => wrong,
            false => wrong.with_note(format!(
                "in repetition {}; parameters are as they were before it",
                steps.join(", repetition ")
            )),
        };
        wrong.with_help("keep the function inside of where it has a value, or learn more slowly")
    }

    /// Repeats actions, after so many repetitions that are done, in a repetition of the loops around.
    fn repeat(&mut self, repeat: &Repeat, done: u64, around: u64) -> Result<(), Box<Diagnostic>> {
        self.depth += 1;
        self.held += usize::from(repeat.holds);
        let total = self.way.steps.filter(|_| self.depth == 1).unwrap_or(repeat.total());
        let numbers = (repeat.from..repeat.from.saturating_add_unsigned(total)).enumerate();
        for (turn, number) in numbers.skip(usize::try_from(done).unwrap_or(usize::MAX)) {
            self.begin_turn(repeat, number)?;
            self.turns.push((turn as u64 + 1, total));
            self.actions(&repeat.body, around.saturating_mul(total).saturating_add(turn as u64))?;
            if self.stopped {
                self.turns.pop();
                break;
            }
            self.place.steps.truncate(self.depth);
            if let Some(step) = self.place.steps.last_mut() {
                step.repetitions = turn as u64 + 1;
            }
            if self.steps.count(repeat) {
                self.done += 1;
                let losses = self.losses(repeat);
                let (done, of, turns) = (self.done, self.of, &self.turns[..]);
                self.observer.repeated(&Repeated { done, of, turns, losses: &losses });
                self.checkpoint(repeat.span)?;
            }
            self.turns.pop();
            // Nobody can go on from here while gradients are needed that no file has.
            self.stopped = self.observer.stops() && self.held == 0;
            if self.stopped {
                break;
            }
        }
        self.held -= usize::from(repeat.holds);
        self.depth -= 1;
        if self.depth == 0 {
            self.observer.ended();
        }
        Ok(())
    }

    /// Sets the number of a repetition, and takes the next batches, unless the repetition was under way before.
    fn begin_turn(&mut self, repeat: &Repeat, number: i64) -> Result<(), Box<Diagnostic>> {
        self.values[repeat.counter.0 as usize] = number;
        if let Some(leaf) = repeat.leaf {
            let set = self.set_number(leaf, number);
            self.diagnosed(set, repeat.span)?;
        }
        let goes_on = self.resuming.len() > self.depth;
        for stream in repeat.streams.iter().filter(|_| HAS_STREAMS && !goes_on) {
            self.feeds.next(self.plan, *stream, self.session, self.given)?;
        }
        Ok(())
    }

    fn set_number(&mut self, leaf: Tensor, number: i64) -> Result<(), Error> {
        let dtype = self.session.dtype(leaf)?;
        let values = Array::full(dtype, &[], number as f64)?;
        self.session.set(leaf, &values)
    }

    /// The losses of a repetition that have a value.
    fn losses(&mut self, repeat: &Repeat) -> Vec<(String, f64)> {
        let found = repeat
            .losses
            .iter()
            .filter_map(|(name, tensor)| Some((name.clone(), self.session.item(*tensor).ok()?)));
        found.collect()
    }

    fn print(
        &mut self,
        routine: Option<usize>,
        pieces: &[PrintedPiece],
        span: Span,
    ) -> Result<(), Box<Diagnostic>> {
        if let Some(routine) = routine {
            self.routine(routine, span)?;
        }
        let (mut line, mut after_block) = (String::new(), false);
        for piece in pieces {
            let text = self.shown(piece, span)?;
            let is_block = text.contains('\n');
            if !line.is_empty() {
                // An array of several lines starts on a new line, and so does the text after it.
                line.push(if is_block || after_block { '\n' } else { ' ' });
            }
            line.push_str(&text);
            after_block = is_block;
        }
        self.observer.printed(&line);
        Ok(())
    }

    /// A part of a printed line as text.
    fn shown(&mut self, piece: &PrintedPiece, span: Span) -> Result<String, Box<Diagnostic>> {
        Ok(match piece {
            PrintedPiece::Text(text) => show::text(text),
            PrintedPiece::Position(position) => {
                show::number(position.number(&self.values).unwrap_or(f64::NAN))
            }
            PrintedPiece::Tensor(tensor) => {
                let values = self.session.get(*tensor);
                show::array(&self.diagnosed(values, span)?)
            }
            PrintedPiece::Filled(pieces) => {
                let (mut text, mut after_block) = (String::new(), false);
                for piece in pieces {
                    let shown = self.shown(piece, span)?;
                    // An array of several lines has lines of its own.
                    let is_block = shown.contains('\n');
                    if !text.is_empty() && !shown.is_empty() && (is_block || after_block) {
                        text.push('\n');
                    }
                    text.push_str(&shown);
                    after_block = is_block;
                }
                text
            }
        })
    }

    fn save(
        &mut self,
        routine: Option<usize>,
        tensor: Tensor,
        path: &str,
        span: Span,
    ) -> Result<(), Box<Diagnostic>> {
        if let Some(routine) = routine {
            self.routine(routine, span)?;
        }
        let values = self.session.get(tensor);
        let values = self.diagnosed(values, span)?;
        let written = match path.ends_with(".csv") {
            true => write_csv::<&str>(path, &[], &values),
            false => write_npy(path, &values),
        };
        self.diagnosed(written.map_err(Error::from), span)
    }
}
