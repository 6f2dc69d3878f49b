//! Times the inference of whole programs, and of the same programs by onnx.
//!
//! A run makes a new graph, adds every operation (inferring as it goes: *build*) and asks for all
//! final shapes (*close*). *µs/op* is the median over several runs of both together, divided by the
//! number of operations; *build* and *close* are those of the median run. Freeing the graph is not
//! included and has its own column. Bytes are those of the graph's stores and of its solver's after
//! closing.
//!
//! With `--onnx` each case is followed by onnx's on the same computation. *less codec* is onnx's time without
//! reading and writing the model; the last columns divide that by ours, by operation and for the whole
//! program (which has fewer operations here: see `programs.rs` of the library).

use std::process::ExitCode;
use std::time::{Duration, Instant};

use broadloom::{Graph, Stats};
use broadloom_bench::onnx::{self, Reference};
use broadloom_bench::programs::{FAMILIES, Family, check, family, operations};

const USAGE: &str = "\
usage: programs [--json] [--onnx PYTHON]
       programs --only FAMILY SIZE

  --json              print one JSON object a line instead of a table
  --onnx PYTHON       also run onnx/infer.py, with this interpreter
  --only FAMILY SIZE  build and close one program once, for profilers

families:
";

/// Runs are repeated until they add up to this time, but at least and at most these numbers of
/// times.
const BUDGET: Duration = Duration::from_secs(3);
const MIN_RUNS: usize = 5;
const MAX_RUNS: usize = 200;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match parse(&args) {
        Some(Task::Help) => {
            print!("{}", usage());
            Ok(())
        }
        Some(Task::Only(family, size)) => only(family, size),
        Some(Task::All { json, python }) => all(json, python),
        None => Err(usage()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{}", message.trim_end());
            ExitCode::FAILURE
        }
    }
}

/// The task that the command line asks for.
enum Task<'a> {
    Help,
    Only(&'static Family, usize),
    All { json: bool, python: Option<&'a str> },
}

fn parse(args: &[String]) -> Option<Task<'_>> {
    let (mut json, mut python) = (false, None);
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "--help" | "-h" => return Some(Task::Help),
            "--only" => return Some(Task::Only(family(args.next()?)?, args.next()?.parse().ok()?)),
            "--json" => json = true,
            "--onnx" => python = Some(args.next()?),
            _ => return None,
        }
    }
    Some(Task::All { json, python })
}

fn usage() -> String {
    let families = FAMILIES.iter().map(|family| format!("  {:8} {}\n", family.name, family.about));
    families.fold(USAGE.into(), |text, line| text + &line)
}

/// One program once, without the checks that would show in a profile.
fn only(family: &Family, size: usize) -> Result<(), String> {
    let (graph, _) = run(family, size)?;
    println!("{} {size}: {} operations, {:?}", family.name, operations(&graph), graph.stats());
    Ok(())
}

fn all(json: bool, python: Option<&str>) -> Result<(), String> {
    if !json {
        print_header(python.is_some());
    }
    let mut measured = Vec::new();
    for family in &FAMILIES {
        for &size in family.sizes {
            let ours = measure(family, size)?;
            let theirs = python.map(|python| onnx::measure(python, family.name, size)).transpose()?;
            let line = if json { json_line(&ours, theirs.flatten()) } else { table_line(&ours, theirs) };
            println!("{line}");
            measured.push(ours);
        }
    }
    if !json {
        print_flatness(&measured);
    }
    Ok(())
}

/// The times of one run.
#[derive(Clone, Copy)]
struct Times {
    build: Duration,
    close: Duration,
    /// All loop nests, from the shapes.
    project: Duration,
    free: Duration,
}

impl Times {
    fn total(&self) -> Duration {
        self.build + self.close
    }
}

/// One family at one size.
struct Measured {
    family: &'static str,
    size: usize,
    operations: f64,
    runs: usize,
    median: Times,
    minimum: Duration,
    /// Median and minimum in a graph that was used before and keeps its memory.
    reused: (Duration, Duration),
    stats: Stats,
}

impl Measured {
    /// Microseconds per operation.
    fn each(&self, time: Duration) -> f64 {
        time.as_nanos() as f64 / 1e3 / self.operations
    }

    /// The times of [`TIMES`].
    fn times(&self) -> [f64; TIMES.len()] {
        let Times { build, close, project, free } = self.median;
        let (reused, least) = self.reused;
        [self.median.total(), self.minimum, build, close, free, project, reused, least]
            .map(|time| self.each(time))
    }

    /// A count per operation.
    fn per_operation(&self, count: u64) -> f64 {
        count as f64 / self.operations
    }
}

/// The measured times, in microseconds per operation: the head of the column and the key in JSON.
const TIMES: [(&str, &str); 8] = [
    ("µs/op", "us_per_op"),
    ("min", "us_per_op_min"),
    ("build", "build_us_per_op"),
    ("close", "close_us_per_op"),
    ("free", "free_us_per_op"),
    ("loops", "project_us_per_op"),
    ("reused", "reused_us_per_op"),
    ("min", "reused_us_per_op_min"),
];

/// Checks a program, which also warms up, and then times it.
fn measure(family: &Family, size: usize) -> Result<Measured, String> {
    let operations = check(family, size)? as f64;
    let start = Instant::now();
    let mut runs = Vec::new();
    let stats = loop {
        let (graph, mut times) = run(family, size)?;
        let stats = graph.stats();
        let freeing = Instant::now();
        drop(graph);
        times.free = freeing.elapsed();
        runs.push(times);
        if runs.len() >= MAX_RUNS || (runs.len() >= MIN_RUNS && start.elapsed() >= BUDGET) {
            break stats;
        }
    };
    runs.sort_by_key(Times::total);
    let (median, minimum) = (runs[runs.len() / 2], runs[0].total());
    let reused = measure_reused(family, size)?;
    Ok(Measured { family: family.name, size, operations, runs: runs.len(), median, minimum, reused, stats })
}

/// Median and minimum of a program built again and again in one graph.
fn measure_reused(family: &Family, size: usize) -> Result<(Duration, Duration), String> {
    let start = Instant::now();
    let (mut graph, mut runs) = (Graph::new(), Vec::new());
    while runs.len() < MIN_RUNS || (runs.len() < MAX_RUNS && start.elapsed() < BUDGET) {
        graph.clear();
        runs.push(fill(&mut graph, family, size)?.total());
    }
    runs.sort_unstable();
    Ok((runs[runs.len() / 2], runs[0]))
}

/// Builds a program and asks for its shapes.
fn run(family: &Family, size: usize) -> Result<(Graph, Times), String> {
    let mut graph = Graph::new();
    let times = fill(&mut graph, family, size)?;
    Ok((graph, times))
}

/// Builds a program in an empty graph and asks for its shapes.
fn fill(graph: &mut Graph, family: &Family, size: usize) -> Result<Times, String> {
    let start = Instant::now();
    (family.build)(graph, size).map_err(|error| error.to_string())?;
    let build = start.elapsed();
    graph.final_shapes().map_err(|error| error.to_string())?;
    let close = start.elapsed() - build;
    let projecting = Instant::now();
    let nests = graph.projections().map_err(|error| error.to_string())?;
    let project = projecting.elapsed();
    drop(nests);
    Ok(Times { build, close, project, free: Duration::ZERO })
}

fn print_header(with_onnx: bool) {
    let (mut head, mut rule) = (String::from("| family | size | ops |"), String::from("|---|---:|---:|"));
    let counts = ["bytes/op", "constraints/op", "steps/op", "branches"];
    let onnx = ["onnx nodes", "µs/node", "min", "less codec", "ratio/op", "ratio, whole"];
    let own = TIMES.iter().map(|(head, _)| head).chain(&counts);
    for column in own.chain(if with_onnx { &onnx[..] } else { &[] }) {
        head += &format!(" {column} |");
        rule += "---:|";
    }
    println!("{head}\n{rule}");
}

/// Prints the ratio between the times of an operation in a large program and in a small one.
fn print_flatness(measured: &[Measured]) {
    for small in measured.iter().filter(|case| case.size == 10) {
        let large = measured.iter().find(|case| case.family == small.family && case.size == 10_000);
        if let Some(large) = large {
            let median = large.each(large.median.total()) / small.each(small.median.total());
            let minimum = large.each(large.minimum) / small.each(small.minimum);
            let reused = large.each(large.reused.1) / small.each(small.reused.1);
            println!(
                "\n{}: µs/op at 10,000 is {median:.2} times that at 10 (minima: {minimum:.2}, reused: {reused:.2})",
                small.family
            );
        }
    }
}

/// A line of the table; `Some(None)` means that the program is too large for onnx.
fn table_line(ours: &Measured, theirs: Option<Option<Reference>>) -> String {
    let stats = ours.stats;
    let times: String = ours.times().map(|time| format!(" {time:.2} |")).concat();
    let own = format!(
        "| {} | {} | {} |{times} {:.0} | {:.1} | {:.1} | {} |",
        ours.family,
        ours.size,
        ours.operations,
        ours.per_operation(stats.bytes),
        ours.per_operation(stats.constraints as u64),
        ours.per_operation(stats.steps),
        stats.branches,
    );
    match theirs {
        None => own,
        Some(None) => own + " – | – | – | – | – | – |",
        Some(Some(theirs)) => {
            let ratio = theirs.inference() / ours.each(ours.median.total());
            own + &format!(
                " {} | {:.2} | {:.2} | {:.2} | {:.1} | {:.1} |",
                theirs.nodes,
                theirs.median,
                theirs.minimum,
                theirs.inference(),
                ratio,
                ratio * theirs.nodes / ours.operations,
            )
        }
    }
}

fn json_line(ours: &Measured, theirs: Option<Reference>) -> String {
    let stats = ours.stats;
    let onnx = theirs.map_or("null".into(), |onnx| {
        let (nodes, median, minimum, codec) = (onnx.nodes, onnx.median, onnx.minimum, onnx.codec);
        format!(
            r#"{{"nodes": {nodes}, "us_per_node": {median}, "us_per_node_min": {minimum}, "codec_us_per_node": {codec}}}"#
        )
    });
    let keyed = TIMES.iter().zip(ours.times());
    let times: Vec<String> = keyed.map(|((_, key), time)| format!(r#""{key}": {time:.4}"#)).collect();
    format!(
        r#"{{"family": "{}", "size": {}, "operations": {}, "runs": {}, {}, "bytes": {}, "constraints": {}, "steps": {}, "branches": {}, "onnx": {onnx}}}"#,
        ours.family,
        ours.size,
        ours.operations,
        ours.runs,
        times.join(", "),
        stats.bytes,
        stats.constraints,
        stats.steps,
        stats.branches,
    )
}
