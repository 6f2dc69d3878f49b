//! Times programs of equal blocks, from their text to every final shape, beside onnx on the same computation.
//!
//! Three families of decoder-only transformers. `library` is `decoder_only` of the standard library; `written` is the
//! computation of `onnx/infer.py` in functions that the program defines, with parameters for each block; `tied` applies one
//! block again and again, so that parameters are made once. No loop nest is derived.
//!
//! Each case runs in a process of its own, because the peak of memory is that of a process. Times are minima of the time that
//! processors spend on it, so that neighbours on a shared machine do less harm.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use broadloom_bench::measures::{operations, processor_time};
use broadloom_bench::onnx;
use broadloom_lang::{Options, Program, infer};

const USAGE: &str = "\
usage: blocks [--onnx PYTHON] [--sizes N,N,...]
       blocks --only FAMILY BLOCKS     one program once, for profilers
       blocks --case FAMILY BLOCKS     one line of the table

families: library, written, tied
";

const FAMILIES: [&str; 3] = ["library", "written", "tied"];
const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];

/// Runs are repeated until they add up to this time, but at least and at most these numbers of times.
const BUDGET: Duration = Duration::from_secs(3);
const MIN_RUNS: usize = 3;
const MAX_RUNS: usize = 100;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["--only", family, blocks] => parsed(family, blocks).and_then(|(family, blocks)| {
            println!("{}", run(family, blocks)?);
            Ok(())
        }),
        ["--case", family, blocks] => {
            parsed(family, blocks).and_then(|(family, blocks)| measure(family, blocks))
        }
        ref options => all(options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{}", message.trim_end());
            ExitCode::FAILURE
        }
    }
}

fn parsed<'a>(family: &'a str, blocks: &str) -> Result<(&'a str, usize), String> {
    let blocks = blocks.parse().map_err(|_| USAGE.to_string())?;
    if FAMILIES.contains(&family) { Ok((family, blocks)) } else { Err(USAGE.into()) }
}

/// The table.
fn all(options: &[&str]) -> Result<(), String> {
    let (mut python, mut sizes) = (None, SIZES.to_vec());
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match (*option, options.next()) {
            ("--onnx", Some(path)) => python = Some(*path),
            ("--sizes", Some(list)) => {
                let read = list.split(',').map(|size| size.parse().map_err(|_| USAGE.to_string()));
                sizes = read.collect::<Result<_, _>>()?;
            }
            _ => return Err(USAGE.into()),
        }
    }
    println!(
        "| family | blocks | operations | µs/op | ms | peak MB | bytes/op | bodies walked | replayed | constraints/op |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    for family in FAMILIES {
        for blocks in &sizes {
            let status = Command::new(&program).args(["--case", family, &blocks.to_string()]).status();
            if !status.map_err(|error| error.to_string())?.success() {
                return Err(format!("{family} {blocks} failed"));
            }
        }
    }
    let Some(python) = python else { return Ok(()) };
    println!("\n| onnx, blocks | nodes | µs/node | less codec (median) |\n|---:|---:|---:|---:|");
    for blocks in sizes {
        if let Some(theirs) = onnx::measure(python, "decoder", blocks)? {
            let (nodes, least, inference) = (theirs.nodes, theirs.minimum, theirs.inference());
            println!("| {blocks} | {nodes} | {least:.2} | {inference:.2} |");
        }
    }
    Ok(())
}

/// The counts of a program after inference.
struct Counts {
    operations: usize,
    walked: usize,
    replayed: usize,
    constraints: usize,
    bytes: u64,
}

/// Prints a line of the table.
fn measure(family: &str, blocks: usize) -> Result<(), String> {
    let start = Instant::now();
    let before = peak();
    let (mut best, counts) = counted(family, blocks)?;
    // The peak is that of the first run: later ones find memory that is not given back.
    let peak = peak().saturating_sub(before);
    let mut runs = 1;
    while runs < MIN_RUNS || (runs < MAX_RUNS && start.elapsed() < BUDGET) {
        best = best.min(counted(family, blocks)?.0);
        runs += 1;
    }
    let Counts { operations, walked, replayed, constraints, bytes } = counts;
    let each = |count: f64| count / operations as f64;
    println!(
        "| {family} | {blocks} | {operations} | {:.2} | {:.1} | {:.1} | {:.0} | {walked} | {replayed} | {:.1} |",
        each(best.as_secs_f64() * 1e6),
        best.as_secs_f64() * 1e3,
        peak as f64 / 1e6,
        each(bytes as f64),
        each(constraints as f64),
    );
    Ok(())
}

fn counted(family: &str, blocks: usize) -> Result<(Duration, Counts), String> {
    let text = text(family, blocks);
    let start = processor_time();
    let program = infer("blocks.loom", &text, &Options::default());
    let took = processor_time().saturating_sub(start);
    Ok((took, counts(program)?))
}

/// Checks a program, and counts.
fn counts(mut program: Program) -> Result<Counts, String> {
    check(&mut program)?;
    let stats = program.graph.stats();
    Ok(Counts {
        operations: operations(&program.graph),
        walked: program.walked,
        replayed: program.replayed,
        constraints: stats.constraints,
        bytes: stats.bytes,
    })
}

/// One program, with its counts as a text. Nothing reads a clock: some profilers do not map it.
fn run(family: &str, blocks: usize) -> Result<String, String> {
    let program = infer("blocks.loom", &text(family, blocks), &Options::default());
    let Counts { operations, walked, replayed, constraints, bytes } = counts(program)?;
    Ok(format!(
        "{family} {blocks}: {operations} operations, {walked} bodies walked, {replayed} replayed, {constraints} constraints, {bytes} bytes in the graph"
    ))
}

/// Compares the shapes that are inferred with those that are expected.
fn check(program: &mut Program) -> Result<(), String> {
    if let Some(wrong) = program.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        return Err(wrong.message.clone());
    }
    let result = program.find("y").ok_or("there is no `y`")?;
    let shape = program.graph.final_shape(result).map_err(|error| error.to_string())?.to_string();
    if shape == "2, 16 | 64" || shape == "2, 16 | 1000" { Ok(()) } else { Err(format!("`y` is `{shape}`")) }
}

/// The greatest amount of memory that this process has had, in bytes; nothing where the system does not say.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// The program of a family.
fn text(family: &str, blocks: usize) -> String {
    match family {
        "library" => format!(
            "data tokens : 2, 16 |\nlet y = tokens |> decoder_only(1000, 64, layers = {blocks}, heads = 4, hidden = 128)\n"
        ),
        "written" => format!("{WRITTEN}let y = x |> [block(4, 128) for i in 0..{blocks}]\n"),
        _ => format!("{WRITTEN}let one = block(4, 128)\nlet y = x |> [one for i in 0..{blocks}]\n"),
    }
}

/// The blocks of `onnx/infer.py`: 42 operations and 16 parameters each.
const WRITTEN: &str = r#"data x : 2, 16 | 64
data mask : 16 | 16 ->

def norm()(x) =
  let centred = x - mean("... | ..d..", x)
  let deviation = sqrt(mean("... | ..d..", centred * centred) + 0.00001)
  {gain : ...} * (centred / deviation) + {shift : ...}

def heads(count)(x) = {weight : ... -> count, 16} @ x + {bias : count, 16}

def attend(count)(x) =
  let queries, keys, values = [heads(count) for i in 0..3]
  let scores = einsum("... s | h d; ... t | h d => ... s | t -> h", queries(x), keys(x)) * 0.25 + mask
  let e = exp(scores - max("... | t -> ...", scores))
  let p = e / sum("... | t -> ...", e)
  let mixed = einsum("... s | t -> h; ... t | h d => ... s | h d", p, values(x))
  {out : ... -> 64} @ mixed + {out_bias : 64}

def block(count, hidden)(x) =
  let y = x + attend(count)(norm()(x))
  let up = relu({up : ... -> hidden} @ norm()(y) + {up_bias : hidden})
  y + ({down : ... -> 64} @ up + {down_bias : 64})

"#;
