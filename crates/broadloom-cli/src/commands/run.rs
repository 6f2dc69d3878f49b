//! `broadloom run`: runs a program. Its output goes to standard output at once. On a terminal a
//! line below shows the progress of its loops, and a plot at the end shows the losses.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use broadloom::files::{check_writable, write_text};
use broadloom::{Backend, Precision, Settings};
use broadloom_diagnostics::{Diagnostic, Severity, escaped};
use broadloom_ide::{Analysis, Text, arrays};
use broadloom_lang::{Observer, Program, Repeated, RunOptions, codes};
use clap::ValueEnum;
use serde::Serialize;

use crate::console::{Console, Live, Look, Stop};
use crate::data::{self, ArraySource};
use crate::json;
use crate::log::Log;
use crate::mesh::MeshArgs;
use crate::output::{Output, Status};
use crate::plot::Curve;
use crate::plot::svg::svg;
use crate::precision::precision;
use crate::processes::ProcessArgs;
use crate::program::{ProgramArgs, at_least_one, overwrites, reason, shown_path, status, unusable};
use crate::progress::Progress;

/// The arguments of `run`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    program: ProgramArgs,
    /// Seed for initial values and random numbers
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed)]
    seed: u64,
    /// Backend: `auto` (machine code if a C compiler is found), `native`, `reference` (slow) or `xla` (through Python with JAX)
    #[arg(
        long,
        value_name = "auto|native|reference|xla",
        default_value = "auto",
        hide_possible_values = true
    )]
    backend: WantedBackend,
    /// The precision with which XLA multiplies 32-bit floats: `highest` (the default), `high`, `default` or `bf16` (see below)
    #[arg(long, value_name = "highest|high|default|bf16", value_parser = precision)]
    precision: Option<Precision>,
    /// Number of threads (default: number of processors)
    #[arg(long, value_name = "N", value_parser = at_least_one::<u32>)]
    threads: Option<u32>,
    /// Values of `data`: a `.npz`, `.safetensors`, `.npy` or `.csv` file with arrays, or one array as `NAME=FILE`; may be repeated
    #[arg(long, alias = "inputs", value_name = "FILE", value_parser = data::source)]
    data: Vec<ArraySource>,
    /// Start from the parameters and states in a `.safetensors` file
    #[arg(long, value_name = "FILE")]
    load: Option<PathBuf>,
    /// Save parameters and states to a `.safetensors` file when the run ends
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Also save them after every N steps, in inner loops as well
    #[arg(long, value_name = "N", requires = "save", value_parser = at_least_one::<u64>)]
    save_every: Option<u64>,
    /// Resume from the checkpoint that `--save` wrote
    #[arg(long, requires = "save", conflicts_with = "load")]
    resume: bool,
    /// Write the losses after each step to a `.csv` file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Plot the losses to an `.svg` file
    #[arg(long, value_name = "FILE.svg")]
    curve: Option<PathBuf>,
    /// Continue when a loss is infinite or not a number
    #[arg(long)]
    keep_going: bool,
    /// Plot the losses even if standard error is not a terminal
    #[arg(long)]
    plot: bool,
    /// Do not show progress or a plot
    #[arg(long, conflicts_with = "plot")]
    quiet: bool,
    /// Report the time that it took
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    mesh: MeshArgs,
    #[command(flatten)]
    processes: ProcessArgs,
}

/// The choice of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WantedBackend {
    Auto,
    Native,
    Reference,
    Xla,
}

pub(crate) const HELP: &str = "\
Lines that the program prints go to standard output; warnings, progress and the plot of the losses go to standard
error. Equal seeds give equal numbers, with any number of threads.

`--data` accepts the same files as `verify --inputs`: each array holds the values of the `data` of its name. The array of a `.npy`
file and the table of a `.csv` file have the name of the file. If a name is given several times, the last one counts.

A loss that is infinite or not a number ends a run: the error names the first tensor that is not finite, and `--save` saves the
values from before. `--keep-going` continues instead.

`--backend xla` runs routines as StableHLO modules on the devices that JAX has: CPU, GPU or TPU. It needs Python with JAX: `python3`,
or the one that BROADLOOM_PYTHON names. `--mesh` and `--shard` divide the program over these devices, as `check --mesh` shows it; a mesh of the
program does the same, and other backends leave it out. On a CPU, JAX simulates as many devices as the mesh has.

`--precision` says how exactly XLA computes sums of products of 32-bit floats, which GPUs and TPUs do several times faster with short
factors. Sums have 32 bits in any case, and so has everything else. On a Hopper GPU a product of two matrices errs by
  highest   2e-6: all digits of the factors count, on every device
  high      3e-4, as `default`; on TPUs it is between `highest` and `default`
  default   3e-4: the GPU rounds factors to tf32, with 10 bits after the point; TPUs round to bf16; CPUs do not round
  bf16      3e-3: factors are rounded to bf16, with 7 bits, on every device, in convolutions, too
Products of 64-bit floats are exact with any of them, and those of `bf16` tensors are as fast with any of them.

`--processes 2` divides the devices of the mesh among two processes on this machine. On several machines, run the same command on
each, with `--process 0` on the first one and `--process 1` on the next; `--coordinator` is the name of the first machine, and a port
that is free there. Process 0 reads, prints and saves; the others lend their devices. If a process is lost, the run ends with an
error, and `--resume` continues from the last checkpoint, with any number of devices and processes.

With `--save`, Ctrl-C ends a run after the current step, and saves its values; a second Ctrl-C ends it at once. The file is either
complete or unchanged, whatever happens. It also records the progress of the run: the same command with `--resume` continues from
there, with the numbers that the run would have had without the break. `--save-every 100` saves after every hundred steps, for runs
that may be killed. A step is a repetition of a loop that minimises something, whatever loops are around it.

Data of `batches(\"train.npz\", 32)` is read from the file one batch at a time, two batches ahead. Rows that do not fill a batch are
left out in each epoch, and a note gives their number. `--resume` continues with the next batch.

`--log run.csv` has a line for each loss after each step: the repetition, the loss, its value. If steps are inside of several loops,
the columns are the step, the repetitions of the outermost loop and of inner ones, the loss and its value. `--resume` appends to it.
`--curve run.svg` plots the same losses, twice a minute and at the end; with `--resume`, those of earlier runs are included if `--log`
has them.

Exit status: 0 success, 1 the program has errors or cannot be run, 2 a file cannot be read or written, 130 interrupted,
141 standard output was closed.

Example:
  $ cat line.loom
  data x : 8 | 1 = [[0], [1], [2], [3], [4], [5], [6], [7]]
  let loss = mean(\"... | ... => 0\", ({a} * x + {b} - (2 * x + 1)) ** 2)
  repeat 500:
    minimise loss by sgd(0.01)
    print \"loss\", loss every 100
  $ broadloom run line.loom --seed 7 --save line.safetensors";

/// Runs a program.
pub fn run(args: &Args, console: &mut Console<'_>) -> Output {
    if args.backend == WantedBackend::Xla
        && let Some(output) = args.processes.follow(args.program.json)
    {
        return output;
    }
    let text = match args.program.read("run", console) {
        Ok(text) => Text { load: args.load.clone(), ..text },
        Err(output) => return output,
    };
    if let Some(message) = args.unusable_files() {
        return unusable("run", message, args.program.json);
    }
    if text.text.trim().is_empty() && !args.program.json {
        let message = format!("{} is empty: there is nothing to run\n", text.name);
        return Output { stderr: message, ..Output::new(Status::Fine) };
    }
    let start = Instant::now();
    let mut program = Analysis::open(&text).program;
    let look = console.stderr();
    let mut output = Output::new(status(&program.diagnostics));
    let (options, foreign) = match args.options(&program) {
        Ok(options) => options,
        Err(_) if output.status != Status::Fine => (RunOptions::default(), Vec::new()),
        Err(message) => return unusable("run", message, args.program.json),
    };
    let mut diagnostics = program.diagnostics.clone();
    if output.status == Status::Fine {
        diagnostics.extend(broadloom_lang::warnings(&mut program));
        diagnostics.extend(foreign);
    }
    let sources = program.sources.clone();
    let mut watcher = Watcher::new(args, look, console.live);
    let mut shown = 0;
    if output.status == Status::Fine {
        let depth = program.plan.depth_of_steps();
        watcher.log = args.log.as_ref().map(|path| Log::new(path, depth));
        if args.save.is_some() {
            watcher.live.hold_interrupts();
        }
        if !args.program.json {
            // Warnings are printed before a long run, not after it.
            watcher.live.stderr(&args.program.render(&sources, &diagnostics, look));
            shown = diagnostics.len();
        }
        output.status = carry_out(program, &options, &mut watcher, &mut diagnostics);
    }
    let seconds = start.elapsed().as_secs_f64();
    if args.program.json {
        let data = Data {
            file: &text.name,
            seed: args.seed,
            printed: &watcher.printed,
            notices: &watcher.notices,
            losses: watcher.curves.iter().map(Loss::new).collect(),
            seconds: args.verbose.then_some(seconds),
        };
        output.stdout = json::object("run", &sources, &diagnostics, data);
        return output;
    }
    if args.plot || (look.terminal && !args.quiet) {
        watcher.curves.iter().for_each(|curve| output.stderr.push_str(&curve.draw(look)));
    }
    if args.verbose {
        output.stderr.push_str(&format!("{seconds:.3} s\n"));
    }
    output.stderr.push_str(&args.program.render(&sources, &diagnostics[shown..], look));
    output
}

/// Runs a program that has no errors, and completes the files that the run writes.
fn carry_out(
    program: Program,
    options: &RunOptions,
    watcher: &mut Watcher<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Status {
    let mut status = Status::Fine;
    if let Err(wrong) = program.run(options, watcher) {
        diagnostics.push(*wrong);
        status = self::status(diagnostics);
    } else if let Some(stopped) = watcher.stopped {
        status = match stopped {
            Stop::Interrupted => Status::Interrupted,
            Stop::Unread => Status::Unread,
        };
    }
    watcher.clear();
    if let Some(wrong) = watcher.log.take().and_then(Log::close) {
        diagnostics.push(wrong);
        status = Status::Unusable;
    }
    if watcher.picture.is_some() && watcher.curves.is_empty() && status == Status::Fine {
        watcher.notice("no loop minimises anything, so there is no curve to draw");
    }
    if let Some(wrong) = watcher.draw() {
        diagnostics.push(wrong);
        status = Status::Unusable;
    }
    status
}

/// Parses a seed.
fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a seed is a whole number from 0, such as `--seed 7`".to_string())
}

impl Args {
    /// The options for running, and diagnostics about arrays that the program does not use.
    fn options(&self, program: &Program) -> Result<(RunOptions, Vec<Diagnostic>), String> {
        let backend = match self.backend {
            WantedBackend::Auto => Backend::Auto,
            WantedBackend::Native => Backend::Native,
            WantedBackend::Reference => Backend::Reference,
            WantedBackend::Xla => Backend::Xla,
        };
        let mesh = self.mesh.on(program)?;
        if self.mesh.is_given() && backend != Backend::Xla {
            return Err("only XLA runs programs on several devices: write `--backend xla --mesh …`".into());
        }
        if self.precision.is_some() && backend != Backend::Xla {
            return Err("only XLA has a choice of precision: write `--backend xla --precision …`".into());
        }
        let precision = self.precision.unwrap_or_default();
        let threads = self.threads.map(|threads| threads as usize);
        let processes = self.processes.several();
        if processes.is_some() && program.is_ok() && program.devices(mesh.as_ref()).is_none() {
            return Err("`--processes` shares out the devices of a mesh: write `--mesh data=4`, or `mesh(data = 4)` in the program".into());
        }
        let seed = self.seed;
        let settings = Settings { backend, seed, threads, precision, processes, ..Settings::default() };
        for name in self.data.iter().filter_map(|source| source.name.as_ref()) {
            if arrays::declared(program).all(|made| made.name != *name) {
                let known: Vec<String> =
                    arrays::declared(program).map(|made| format!("`{}`", made.name)).collect();
                let known = match known.is_empty() {
                    true => "it has no data".to_string(),
                    false => format!("it has {}", known.join(", ")),
                };
                return Err(format!("the program has no `data {name}` that could be given; {known}"));
            }
        }
        let mut given = data::read_all(&self.data, program)?;
        arrays::type_tables(program, &mut given);
        let foreign = arrays::foreign(program, &given, program.words);
        let inputs = arrays::used(program, &given)
            .filter_map(|used| Some((used.name.clone(), used.array.clone()?)))
            .collect();
        let options = RunOptions {
            settings,
            load: self.load.clone(),
            save: self.save.clone(),
            save_every: self.save_every,
            resume: self.resume,
            inputs,
            keep_going: self.keep_going,
            // The program has its own mesh itself, and leaves it out on backends that have one device.
            mesh: mesh.filter(|_| self.mesh.is_changed()),
        };
        Ok((options, foreign))
    }

    /// A message about a file that cannot be used: it should come before a long run, not after it.
    fn unusable_files(&self) -> Option<String> {
        if let Some(load) = &self.load
            && let Err(error) = std::fs::File::open(load)
        {
            return Some(format!("cannot read {}: {}", shown_path(load), reason(&error)));
        }
        if let Some(load) = &self.load
            && load
                .extension()
                .is_some_and(|ending| ["npy", "npz", "csv"].iter().any(|other| ending == *other))
        {
            let load = shown_path(load);
            return Some(format!(
                "`--load` reads parameters from a `.safetensors` file, and {load} is of another kind; in a program, `{{w = load(\"{load}\")}}` takes its numbers"
            ));
        }
        let read = || {
            std::iter::once(self.program.file.as_path())
                .chain(self.data.iter().map(|source| source.file.as_path()))
        };
        let written = self.save.iter().chain(&self.log).chain(&self.curve);
        if let Some(message) = written.clone().find_map(|output| overwrites(output, read())) {
            return Some(message);
        }
        let named = [("--save", &self.save), ("--log", &self.log), ("--curve", &self.curve)];
        for (at, (option, file)) in named.iter().enumerate() {
            let same = |(_, other): &&(&str, &Option<PathBuf>)| file.is_some() && *other == *file;
            if let (Some((other, _)), Some(file)) = (named[..at].iter().find(same), file) {
                return Some(format!("`{other}` and `{option}` would both write {}", shown_path(file)));
            }
        }
        written.into_iter().find_map(unwritable)
    }
}

/// A message about a file that cannot be written.
fn unwritable(file: &PathBuf) -> Option<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => {
            Some(format!("cannot write {}: there is no folder {}", shown_path(file), shown_path(folder)))
        }
        _ if file.is_dir() => Some(format!("cannot write {}: it is a folder", shown_path(file))),
        _ => {
            let error = check_writable(file).err()?;
            Some(format!("cannot write {}: {error}", shown_path(file)))
        }
    }
}

/// The time between two pictures of a run that goes on.
const BETWEEN_PICTURES: Duration = Duration::from_secs(30);

/// Watches the program run.
struct Watcher<'c> {
    live: &'c mut dyn Live,
    /// True if lines are printed at once; otherwise they are kept.
    prints: bool,
    /// The width of the progress line, if one is shown.
    columns: Option<usize>,
    start: Instant,
    progress: Progress,
    /// The text of the progress line, below the output.
    below: String,
    /// The progress line that was there before something is compiled, and comes again.
    covered: String,
    printed: Vec<String>,
    notices: Vec<String>,
    curves: Vec<Curve>,
    /// The number of steps before a run that goes on.
    before: u64,
    /// The picture of the curves, if one is drawn, and when that was done last.
    picture: Option<(PathBuf, Instant)>,
    /// The file of losses, if one is written.
    log: Option<Log>,
    /// The reason why the program was asked to stop.
    stopped: Option<Stop>,
}

impl<'c> Watcher<'c> {
    fn new(args: &Args, look: Look, live: &'c mut dyn Live) -> Watcher<'c> {
        let shows = look.terminal && !args.quiet && !args.program.json;
        Watcher {
            live,
            prints: !args.program.json,
            columns: look.columns.filter(|_| shows),
            start: Instant::now(),
            progress: Progress::default(),
            below: String::new(),
            covered: String::new(),
            printed: Vec::new(),
            notices: Vec::new(),
            curves: Vec::new(),
            before: 0,
            picture: args.curve.clone().map(|file| (file, Instant::now())),
            log: None,
            stopped: None,
        }
    }

    /// Draws the losses, if there are any and a picture is wanted. Returns what went wrong, if anything did.
    fn draw(&mut self) -> Option<Diagnostic> {
        let (file, drawn) = self.picture.as_mut().filter(|_| !self.curves.is_empty())?;
        *drawn = Instant::now();
        let error = write_text(&*file, &svg(&self.curves, "Losses")).err()?;
        let message = format!("cannot write {}: {error}", shown_path(file));
        Some(Diagnostic::new(Severity::Error, codes::FILE, message))
    }

    /// Clears the progress line.
    fn clear(&mut self) {
        if !self.below.is_empty() {
            self.live.stderr("\r\u{1b}[K");
            self.below.clear();
        }
    }

    /// Prints something above the progress line.
    fn above(&mut self, print: impl FnOnce(&mut dyn Live)) {
        let below = self.below.clone();
        self.clear();
        print(self.live);
        if !below.is_empty() {
            self.show(below);
        }
    }

    fn show(&mut self, line: String) {
        self.live.stderr(&format!("\r{line}\u{1b}[K"));
        self.below = line;
    }
}

impl Observer for Watcher<'_> {
    fn printed(&mut self, line: &str) {
        if !self.prints {
            self.printed.push(line.to_string());
            return;
        }
        self.above(|live| live.stdout(&format!("{line}\n")));
    }

    fn repeated(&mut self, step: &Repeated<'_>) {
        for (name, loss) in step.losses {
            let at = self.curves.iter().position(|curve| curve.name == *name).unwrap_or_else(|| {
                self.curves.push(Curve::new(name).after(self.before));
                self.curves.len() - 1
            });
            self.curves[at].push(*loss);
            if let Some(log) = &mut self.log {
                log.add(step, name, *loss);
            }
        }
        if self.picture.as_ref().is_some_and(|(_, drawn)| drawn.elapsed() >= BETWEEN_PICTURES) {
            // What cannot be written now may be in the end.
            let _ = self.draw();
        }
        let Some(columns) = self.columns else { return };
        let now: Duration = self.start.elapsed();
        if let Some(line) = self.progress.after(now, (step.done, step.of), step.losses, columns) {
            self.show(line);
        }
    }

    fn resumed(&mut self, steps: u64, losses: u64) {
        self.before = steps;
        let Some(log) = &mut self.log else { return };
        log.go_on(losses);
        for (name, loss) in log.losses() {
            let at = self.curves.iter().position(|curve| curve.name == name).unwrap_or_else(|| {
                self.curves.push(Curve::new(&name));
                self.curves.len() - 1
            });
            self.curves[at].push(loss);
        }
    }

    fn compiling(&mut self, number: usize, of: usize) {
        if self.columns.is_some() {
            self.covered = std::mem::take(&mut self.below);
            self.show(format!("compiling {number} of {of}"));
        }
    }

    fn compiled(&mut self) {
        self.clear();
        match std::mem::take(&mut self.covered) {
            line if line.is_empty() => {}
            line => self.show(line),
        }
    }

    fn ended(&mut self) {
        self.clear();
        self.progress.restart();
    }

    fn notice(&mut self, text: &str) {
        match self.prints {
            true => self.above(|live| live.stderr(&format!("note: {}\n", escaped(text)))),
            false => self.notices.push(text.to_string()),
        }
    }

    fn stops(&mut self) -> bool {
        self.stopped = self.stopped.or_else(|| self.live.stops());
        self.stopped.is_some()
    }
}

#[derive(Serialize)]
struct Data<'a> {
    file: &'a str,
    seed: u64,
    printed: &'a [String],
    notices: &'a [String],
    losses: Vec<Loss<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

#[derive(Serialize)]
struct Loss<'a> {
    name: &'a str,
    repetitions: u64,
    /// `None`, which is `null` in JSON, if it is not finite.
    first: Option<f64>,
    last: Option<f64>,
    least: Option<f64>,
    /// Pairs of a repetition, from 1, and the loss after it; only a part of them for long runs.
    curve: Vec<(u64, Option<f64>)>,
}

impl<'a> Loss<'a> {
    fn new(curve: &'a Curve) -> Loss<'a> {
        let finite = |loss: f64| Some(loss).filter(|loss| loss.is_finite());
        Loss {
            name: &curve.name,
            repetitions: curve.last.0,
            first: curve.points.first().and_then(|(_, loss)| finite(*loss)),
            last: finite(curve.last.1),
            least: curve.least.and_then(|(_, loss)| finite(loss)),
            curve: curve.points.iter().map(|(at, loss)| (*at, finite(*loss))).collect(),
        }
    }
}
