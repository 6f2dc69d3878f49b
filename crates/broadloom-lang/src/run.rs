//! Running a program.

use std::path::PathBuf;

use broadloom::files::{write_csv, write_npy};
use broadloom::{Array, Error, ErrorKind, Session, Settings, Tensor};
use broadloom_diagnostics::{Diagnostic, Span};

use crate::codes;
use crate::eval::diagnosed;
use crate::plan::{Action, Drawn, Piece, Plan, Repeat};
use crate::program::{Made, Origin, Program};
use crate::show;

/// Options for running a program.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Backend, seed, threads.
    pub settings: Settings,
    /// The file of parameters and states to begin with.
    pub load: Option<PathBuf>,
    /// The file for parameters and states after the run.
    pub save: Option<PathBuf>,
    /// Values of data, by name, in place of those that the program gives.
    pub inputs: Vec<(String, Array)>,
    /// True to go on when a loss is not finite.
    pub keep_going: bool,
}

/// Watches a program run. A `Vec<String>` collects the lines that are printed.
pub trait Observer {
    /// Called for each printed line.
    fn printed(&mut self, line: &str);
    /// Called after a repetition of the outermost loop,
    /// with the number done, the total, and the losses.
    fn repeated(&mut self, _done: u64, _of: u64, _losses: &[(String, f64)]) {}
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

impl Program {
    /// Runs the program, and returns the session with all its numbers. The program is compiled for
    /// all sizes at once: named sizes are those that were set, or follow from data given from
    /// outside, or are as declared.
    pub fn run(
        mut self,
        options: &RunOptions,
        observer: &mut dyn Observer,
    ) -> Result<Session, Box<Diagnostic>> {
        if let Some(wrong) = self.check_sizes() {
            return Err(Box::new(wrong));
        }
        let main = Span::empty(self.main, 0);
        let origins = self.origins;
        let told = |error: Error, span: Span| Box::new(diagnosed(&error, span, &origins));
        let own = |error: &Error| {
            error.step().and_then(|step| origins.get(step)).map_or(main, |origin| origin.span)
        };
        let mut session = Session::with(self.graph, options.settings.clone()).map_err(|error| {
            let span = own(&error);
            told(error, span)
        })?;
        let mut noticed = 0;
        notice(&session, &mut noticed, observer);
        let sizes: Vec<(&str, u64)> = self.sizes.iter().map(|(name, size)| (name.as_str(), *size)).collect();
        session.set_sizes(&sizes).map_err(|error| told(error, main))?;
        let found = |name: &str| self.made.iter().rev().find(|made| made.name == *name);
        let inputs = options.inputs.iter().filter_map(|(name, values)| Some((found(name)?, values)));
        let inputs: Vec<(&Made, &Array)> = inputs.collect();
        let given: Vec<(Tensor, &Array)> =
            inputs.iter().map(|(made, values)| (made.tensor, *values)).collect();
        let named = |error: &Error| {
            let about = error.tensor().map(|(tensor, _)| tensor);
            let is_about = |(made, _): &&(&Made, &Array)| Some(made.tensor) == about;
            inputs.iter().find(is_about).map_or(main, |(made, _)| made.span)
        };
        session.set_all(&given).map_err(|error| {
            let at = named(&error);
            told(error, at)
        })?;
        let wrong = inputs.iter().find_map(|(made, _)| changed(&mut session, &sizes, made));
        if let Some(wrong) = wrong {
            return Err(Box::new(wrong));
        }
        for drawn in
            self.plan.drawn.iter().filter(|drawn| given.iter().all(|(tensor, _)| *tensor != drawn.tensor))
        {
            draw(&mut session, drawn, options.settings.seed).map_err(|error| told(error, drawn.span))?;
        }
        if let Some(file) = &options.load {
            session.load(file).map_err(|error| about_file(&error, main, &origins))?;
            notice(&session, &mut noticed, observer);
        }
        let mut running = Running {
            plan: &self.plan,
            origins: &origins,
            session,
            observer,
            values: vec![0; self.plan.counters as usize],
            depth: 0,
            noticed,
            ran: false,
            stopped: false,
            keep_going: options.keep_going,
            turns: Vec::new(),
        };
        let outcome = running.all();
        let Running { mut session, observer, ran, stopped, .. } = running;
        // The values from before a loss that was not finite are kept.
        let lost = outcome.as_ref().is_err_and(|wrong| wrong.code != codes::NOT_FINITE || !ran);
        if lost {
            return outcome.map(|()| session);
        }
        if let Some(file) = &options.save {
            if stopped && !ran {
                // A file from an earlier run is worth more than initial values.
                observer
                    .notice(&format!("stopped before the first step: {} stays as it was", file.display()));
                return Ok(session);
            }
            session.save(file).map_err(|error| about_file(&error, main, &origins))?;
            if outcome.is_err() {
                observer.notice(&format!("{} has the values before the last step", file.display()));
            }
            if stopped {
                observer
                    .notice(&format!("stopped early: {} has the values after the last step", file.display()));
            }
        }
        outcome.map(|()| session)
    }
}

/// Reports an error about a file from outside: at the
/// parameter that does not fit, or without a place.
fn about_file(error: &Error, main: Span, origins: &[Origin]) -> Box<Diagnostic> {
    let mut steps = error.ends().iter().filter_map(|end| end.step);
    let place = steps.find_map(|step| origins.get(step)).map(|origin| origin.span);
    let mut wrong = diagnosed(error, place.unwrap_or(main), origins);
    if place.is_none() {
        wrong.labels.clear();
    }
    Box::new(wrong)
}

/// Passes on the notices of a session that are new.
fn notice(session: &Session, told: &mut usize, observer: &mut dyn Observer) {
    session.notices().iter().skip(*told).for_each(|notice| observer.notice(notice));
    *told = session.notices().len();
}

/// Reports data that would change a size that was set.
fn changed(session: &mut Session, set: &[(&str, u64)], made: &Made) -> Option<Diagnostic> {
    let now: Vec<(&str, u64)> = session.sizes().ok()?.collect();
    let other =
        |(name, wanted): &&(&str, u64)| now.iter().any(|(known, size)| known == name && size != wanted);
    let (name, wanted) = set.iter().find(other)?;
    let size = now.iter().find(|(known, _)| known == name).map_or(0, |(_, size)| *size);
    let message = format!("`{name}` is set to {wanted}, but the values for `{}` make it {size}", made.name);
    let wrong = Diagnostic::error(codes::VALUE, message, made.span, "");
    Some(wrong.with_help(format!("leave `{name}` open: it follows the data")))
}

/// Draws the numbers of data, at its current sizes.
fn draw(session: &mut Session, drawn: &Drawn, seed: u64) -> Result<(), Error> {
    let [batch, output, input] = session.rows_of(drawn.tensor)?;
    let (fan_in, fan_out) = (input.iter().product(), output.iter().product());
    let (sizes, dtype) = ([batch, output, input].concat(), session.dtype(drawn.tensor)?);
    let values = drawn.initial.values(&drawn.name, seed, &sizes, fan_in, fan_out, dtype)?;
    session.set(drawn.tensor, &values)
}

struct Running<'p> {
    plan: &'p Plan,
    origins: &'p [Origin],
    session: Session,
    observer: &'p mut dyn Observer,
    /// The current numbers of the repetitions, by counter.
    values: Vec<i64>,
    /// The number of loops around the current action.
    depth: usize,
    /// The number of the session's notices that have been passed on.
    noticed: usize,
    /// True once a routine that may have changed saved values has ended.
    ran: bool,
    /// True once the observer has stopped the run.
    stopped: bool,
    /// True if the run goes on when a loss is not finite.
    keep_going: bool,
    /// The current repetitions, outermost first: the number of each, from 1, and the total.
    turns: Vec<(u64, u64)>,
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
            done => done,
        }
    }

    /// Carries out actions; `turn` is the number of the repetition around them, from 0.
    fn actions(&mut self, actions: &[Action], turn: u64) -> Result<(), Box<Diagnostic>> {
        for action in actions {
            match action {
                Action::Run(routine, span) => {
                    self.routine(*routine, *span)?;
                    self.ran = true;
                }
                Action::Print { routine, pieces, every, span } => {
                    if every.is_none_or(|every| (turn + 1).is_multiple_of(every) || turn == 0) {
                        self.print(*routine, pieces, *span)?;
                    }
                }
                Action::Save { routine, tensor, path, span } => self.save(*routine, *tensor, path, *span)?,
                Action::Repeat(repeat) => self.repeat(repeat)?,
            }
            // Inside a loop a step ends with the repetition.
            self.stopped = self.stopped || (self.depth == 0 && self.observer.stops());
            if self.stopped {
                break;
            }
        }
        Ok(())
    }

    fn told<T>(&self, made: Result<T, Error>, span: Span) -> Result<T, Box<Diagnostic>> {
        made.map_err(|error| Box::new(diagnosed(&error, span, self.origins)))
    }

    fn routine(&mut self, routine: usize, span: Span) -> Result<(), Box<Diagnostic>> {
        for (slice, position) in &self.plan.slices {
            if let Some(at) = position.at(&self.values).and_then(|at| u64::try_from(at).ok()) {
                let set = self.session.set_position(*slice, at);
                self.told(set, span)?;
            }
        }
        let routine = &self.plan.routines[routine];
        let ran = match self.keep_going {
            true => self.session.run(&routine.unchecked()),
            false => self.session.run(routine),
        };
        // Notices about compilation appear when a routine runs first.
        notice(&self.session, &mut self.noticed, self.observer);
        let not_finite = ran.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFinite);
        self.told(ran, span)
            .map_err(|wrong| if not_finite { Box::new(self.after_steps(*wrong)) } else { wrong })
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

    fn repeat(&mut self, repeat: &Repeat) -> Result<(), Box<Diagnostic>> {
        let total = repeat.to.saturating_sub(repeat.from).max(0) as u64;
        self.depth += 1;
        for (turn, number) in (repeat.from..repeat.to).enumerate() {
            self.values[repeat.counter.0 as usize] = number;
            if let Some(leaf) = repeat.leaf {
                let set = self.set_number(leaf, number);
                self.told(set, repeat.span)?;
            }
            self.turns.push((turn as u64 + 1, total));
            self.actions(&repeat.body, turn as u64)?;
            self.turns.pop();
            if self.depth == 1 {
                let losses = self.losses(repeat);
                self.observer.repeated(turn as u64 + 1, total, &losses);
            }
            self.stopped = self.stopped || self.observer.stops();
            if self.stopped {
                break;
            }
        }
        self.depth -= 1;
        if self.depth == 0 {
            self.observer.ended();
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

    fn print(&mut self, routine: Option<usize>, pieces: &[Piece], span: Span) -> Result<(), Box<Diagnostic>> {
        if let Some(routine) = routine {
            self.routine(routine, span)?;
        }
        let (mut line, mut after_block) = (String::new(), false);
        for piece in pieces {
            let text = match piece {
                Piece::Text(text) => text.clone(),
                Piece::Position(position) => show::number(position.number(&self.values).unwrap_or(f64::NAN)),
                Piece::Tensor(tensor) => {
                    let values = self.session.get(*tensor);
                    show::array(&self.told(values, span)?)
                }
            };
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
        let values = self.told(values, span)?;
        let written = match path.ends_with(".csv") {
            true => write_csv::<&str>(path, &[], &values),
            false => write_npy(path, &values),
        };
        self.told(written.map_err(Error::from), span)
    }
}
