//! The parent process: it gives work to children, and reports their crashes as finds.

use std::fs;
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustc_hash::FxHasher;

use crate::child::ended;
use crate::worker::{Counts, Task};
use crate::{Kind, corpus, minimise};

/// The result for one kind of input.
#[derive(Debug)]
pub struct Report {
    /// The kind.
    pub kind: Kind,
    /// The work done, by all children together.
    pub counts: Counts,
    /// The time it took.
    pub time: Duration,
    /// The finds, all different.
    pub finds: Vec<Find>,
}

/// An input that crashes a process.
#[derive(Clone, Debug)]
pub struct Find {
    /// The way the process ends: finds with the same end are the same find.
    pub end: String,
    /// A file with the smallest input that ends it in this way.
    pub file: PathBuf,
}

/// The number of times that a find may come again before the campaign is stopped.
const MOST_REPEATED: u32 = 20;

/// A folder for one campaign, removed at the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Replays the corpus of a kind and mutates it until the time is over. After a find it continues
/// with other seeds.
pub fn run(task: Task) -> io::Result<Report> {
    let folder = std::env::temp_dir().join(format!("broadloom-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let scratch = Scratch(folder);
    let (start, mut seed, mut repeated) = (Instant::now(), task.seed, 0);
    let mut report =
        Report { kind: task.kind, counts: Counts::default(), time: task.time, finds: Vec::new() };
    loop {
        let time = task.time.saturating_sub(start.elapsed());
        let current = scratch.0.join("input");
        let (end, counts) = child(Task { seed, time, ..task }, &current, &scratch.0)?;
        report.counts.replayed = report.counts.replayed.max(counts.replayed);
        report.counts.mutated += counts.mutated;
        report.counts.outcomes = report.counts.outcomes.max(counts.outcomes);
        let Some(end) = end else { break };
        let known = report.finds.iter().any(|find| find.end == end);
        if !known {
            let input = minimise::smallest(task.kind, &fs::read(&current)?, &end, &scratch.0)?;
            report.finds.push(Find { file: keep(task.kind, &input)?, end });
        }
        repeated += u32::from(known);
        if start.elapsed() >= task.time || repeated == MOST_REPEATED {
            break;
        }
        seed = seed.wrapping_add(1);
    }
    report.time = start.elapsed();
    Ok(report)
}

/// Runs a worker. Returns its end, unless it finished normally, and its work.
fn child(task: Task, current: &Path, scratch: &Path) -> io::Result<(Option<String>, Counts)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("work").arg(task.kind.name()).arg(current);
    command.arg(format!("--seed={}", task.seed)).arg(format!("--seconds={}", task.time.as_secs_f64()));
    command.args(task.runs.map(|runs| format!("--runs={runs}")));
    let (end, printed) = ended(command, scratch)?;
    let mut numbers = printed.split_whitespace().filter_map(|word| word.parse().ok());
    let mut number = || numbers.next().unwrap_or_default();
    Ok((end, Counts { replayed: number(), mutated: number(), outcomes: number() }))
}

/// Writes a find to a permanent file.
fn keep(kind: Kind, input: &[u8]) -> io::Result<PathBuf> {
    let folder = corpus::folder().join("artifacts").join(kind.name());
    fs::create_dir_all(&folder)?;
    let mut hasher = FxHasher::default();
    hasher.write(input);
    let ending = if kind == Kind::Data { "bin" } else { "txt" };
    let file = folder.canonicalize()?.join(format!("find-{:08x}.{ending}", hasher.finish() as u32));
    fs::write(&file, input)?;
    Ok(file)
}
