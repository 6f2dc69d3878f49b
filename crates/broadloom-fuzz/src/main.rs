//! `broadloom-fuzz`: fuzzing on a stable toolchain; see `fuzz/README.md`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

use broadloom_fuzz::worker::{self, Task};
use broadloom_fuzz::{Kind, campaign};
use clap::{Args, Parser, Subcommand};

/// Replays the kept corpus of inputs and mutates it; nothing may panic, hang, or run out of memory.
#[derive(Parser)]
#[command(name = "broadloom-fuzz", args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Subtask>,
    /// The kinds of input (default: all)
    kinds: Vec<Kind>,
    #[command(flatten)]
    effort: Effort,
}

#[derive(Args)]
struct Effort {
    /// Seconds to mutate inputs of each kind (default: BROADLOOM_FUZZ_SECONDS, or 60)
    #[arg(long)]
    seconds: Option<f64>,
    /// Seed of mutations (default: BROADLOOM_FUZZ_SEED, or 1); equal seeds make equal inputs in the same order
    #[arg(long)]
    seed: Option<u64>,
    /// Stop after this many mutations, even if time is left
    #[arg(long)]
    runs: Option<u64>,
}

#[derive(Subcommand)]
enum Subtask {
    /// Check one input, such as a find
    Replay { kind: Kind, file: PathBuf },
    /// Check inputs until one of them ends the process (for the runner itself)
    #[command(hide = true)]
    Work {
        kind: Kind,
        current: PathBuf,
        #[command(flatten)]
        effort: Effort,
    },
}

impl Effort {
    fn task(&self, kind: Kind) -> Result<Task, String> {
        let seconds = match self.seconds {
            Some(seconds) => seconds,
            None => variable("BROADLOOM_FUZZ_SECONDS", 60.0)?,
        };
        let seed = match self.seed {
            Some(seed) => seed,
            None => variable("BROADLOOM_FUZZ_SEED", 1)?,
        };
        let time = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
        Ok(Task { kind, seed, time, runs: self.runs })
    }
}

/// A variable of the environment as a number, or a default if it is not set.
fn variable<T: FromStr>(name: &str, otherwise: T) -> Result<T, String> {
    match std::env::var(name) {
        Ok(text) => text.trim().parse().map_err(|_| format!("{name} is not a number: {text}")),
        Err(_) => Ok(otherwise),
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match obey(&cli) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Carries out the command. Returns true if nothing was found.
fn obey(cli: &Cli) -> Result<bool, String> {
    match &cli.command {
        None => campaigns(&cli.kinds, &cli.effort),
        Some(Subtask::Replay { kind, file }) => {
            let input = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
            worker::one(*kind, input);
            println!("{}: nothing is wrong", file.display());
            Ok(true)
        }
        Some(Subtask::Work { kind, current, effort }) => {
            let counts = worker::work(effort.task(*kind)?, current).map_err(|error| error.to_string())?;
            println!("{} {} {}", counts.replayed, counts.mutated, counts.outcomes);
            Ok(true)
        }
    }
}

/// Runs all kinds, and prints a line for each and some
/// for each find. Returns true if there were none.
fn campaigns(kinds: &[Kind], effort: &Effort) -> Result<bool, String> {
    let mut clean = true;
    for &kind in if kinds.is_empty() { &Kind::ALL[..] } else { kinds } {
        let task = effort.task(kind)?;
        let report = campaign::run(task).map_err(|error| error.to_string())?;
        let (counts, seconds) = (report.counts, report.time.as_secs_f64());
        println!(
            "{:<5}  {} kept inputs, {} mutations in {seconds:.0} s (seed {}), {} outcomes, {} finds",
            kind.name(),
            counts.replayed,
            counts.mutated,
            task.seed,
            counts.outcomes,
            report.finds.len(),
        );
        for find in &report.finds {
            println!("  {}", find.end);
            println!(
                "    cargo run --release -p broadloom-fuzz -- replay {} {}",
                kind.name(),
                find.file.display()
            );
        }
        clean &= report.finds.is_empty();
    }
    Ok(clean)
}
